/* fuzz_options.c - any bytes as a command line, an argument a line: options of the configuration, and the
 * description of a simulated machine. A Config that keeps its ranges or an error with a sentence. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "config/config.h"
#include "device/sim.h"

#define MOST 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_config(int argc, char **argv)
{
    Config cfg;
    Err err = {0};
    int rc = config_load_text(&cfg, "fuzz.yaml", "", 0, argc, argv, &err);
    ASSERT(!rc || (err.code == rc && err.msg[0]));
    for (int i = 0; !rc && i < config_row_count(); i++) {
        ConfigRow row;
        config_row(&cfg, i, &row);
        ASSERT(row.value[0] && row.origin[0] && strlen(row.value) < sizeof row.value);
        ASSERT(row.kind != KIND_FLOAT || isfinite(row.number));
    }
    config_close(&cfg);
}

static void check_sim(const char *spec)
{
    Sim sim = {0};
    Err err = {0};
    int rc = sim_parse(&sim, spec, &err);
    ASSERT(!rc || err.msg[0]);
    for (int stage = 0; !rc && stage < STAGE_COUNT; stage++) {
        double s = sim_seconds(&sim, (StageId)stage, 7, 1000);
        ASSERT(isfinite(s) && s >= 0);
        sim_fails(&sim, (StageId)stage, 7);
    }
    sim_close(&sim);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = calloc(1, size + 1), *argv[MOST + 1] = {0};
    int argc = 0;
    ASSERT(text);
    memcpy(text, data, size);
    for (char *line = strtok(text, "\n"); line && argc < MOST; line = strtok(NULL, "\n")) {
        argv[argc++] = line;
        check_sim(line);
    }
    if (argc) {
        int distance;
        config_nearest_key(argv[0], &distance);
    }
    check_config(argc, argv);
    free(text);
    return 0;
}
