/* fuzz_yaml_edit.c - any bytes as a configuration file: each edit is refused and changes nothing, or the text
 * has the new value and is sound; a repaired file that is said to load does. The first byte chooses what is
 * done. */
#include <stdint.h>
#include <string.h>

#include "../support/yaml_testing.h"
#include "base/check.h"
#include "config/schema.h"
#include "config/yaml_edit.h"

static void edit(const uint8_t *data, size_t size, int how)
{
    static const char *const keys[] = {"batch_size", "a", "num_workers", "<<"};
    YamlPlace at = {how & 8 ? NULL : how & 4 ? "model" : "data", keys[how & 3], how & 16 ? 2 : 0};
    Buf text = {0}, got = {0};
    Err err = {0};
    buf_add(&text, data, size);
    int rc = how & 32   ? yaml_edit_comment_out(&text, &at, &err)
             : how & 64 ? yaml_edit_rename(&text, &at, "renamed", &err)
                        : yaml_edit_set(&text, &at, "[7, x]", &err);
    if (rc) {
        ASSERT(err.code == rc && err.msg[0]);
        ASSERT(text.size == size && (!size || memcmp(text.data, data, size) == 0));
    } else if (!(how & 96)) {
        at.line = 0;
        if (how & 16) /* the first with the name may be another one */
            ASSERT(yaml_value(&got, &text, &(YamlPlace){at.section, at.key, 2}, &err) == 0);
        else
            ASSERT(yaml_value(&got, &text, &at, &err) == 0);
        ASSERT(strcmp(got.data, "[7, x]") == 0);
    }
    buf_free(&text);
    buf_free(&got);
}

static void repair(const uint8_t *data, size_t size)
{
    Buf text = {0}, twice = {0};
    SchemaReport report = {0}, second = {0};
    Config cfg;
    Err err = {0};
    buf_add(&text, data, size);
    ASSERT(schema_repair(&report, &text, "fuzz.yaml", 0, NULL, &err) == 0);
    int rc = config_load_text(&cfg, "fuzz.yaml", text.data, text.size, 0, NULL, &err);
    ASSERT(report.loads == (rc == 0));
    config_close(&cfg);
    if (report.loads) { /* what is right is left alone */
        buf_add(&twice, text.data, text.size);
        ASSERT(schema_repair(&second, &twice, "fuzz.yaml", 0, NULL, &err) == 0);
        ASSERT(second.count == 0 && second.loads && twice.size == text.size &&
               memcmp(twice.data, text.data, text.size) == 0);
    }
    for (size_t i = 0; i < report.count; i++)
        ASSERT(report.items[i].what[0]);
    schema_report_free(&report);
    schema_report_free(&second);
    buf_free(&text);
    buf_free(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > 16384)
        return 0;
    if (data[0] & 128)
        repair(data + 1, size - 1);
    else
        edit(data + 1, size - 1, data[0]);
    return 0;
}
