/* fuzz_yaml.c - any bytes as a configuration file: a Config that keeps its own rules, or an error with a
 * sentence. */
#include <stdint.h>
#include <string.h>

#include "base/check.h"
#include "config/config.h"

static int names_a_lexicon(const uint8_t *data, size_t size)
{
    return memmem(data, size, "lexicon", 7) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Config cfg;
    Err err = {0};
    if (size > 65536)
        return 0;
    int rc = config_load_text(&cfg, "fuzz.yaml", data, size, 0, NULL, &err);
    if (rc) {
        /* A lexicon that it names may be no file that can be read. */
        ASSERT(rc == ERR_CONFIG || (rc == ERR_IO && names_a_lexicon(data, size)));
        ASSERT(err.code == rc && err.msg[0]);
        ASSERT(!cfg.state);
    } else {
        ASSERT(cfg.batch_size >= 1 && cfg.win_length <= cfg.n_fft && cfg.supported_languages.count >= 1);
        for (int i = 0; i < config_row_count(); i++) {
            ConfigRow row;
            config_row(&cfg, i, &row);
            ASSERT(row.value[0] && row.origin[0] && strlen(row.value) < sizeof row.value);
        }
    }
    config_close(&cfg);
    return 0;
}
