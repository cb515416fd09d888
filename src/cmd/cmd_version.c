/* cmd_version.c - myxtts --version: what this program is, and what it was built and runs with. */
#include <dlfcn.h>
#include <espeak-ng/speak_lib.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unicode/uversion.h>

#include "base/json.h"
#include "cmd/cmd.h"
#include "cmd/commands.h"
#include "cmd/line/output.h"
#include "device/device.h"
#include "lib/myxtts.h"

/* The Makefile knows it where the sources are a git checkout. */
#ifndef MYXTTS_REVISION
#define MYXTTS_REVISION ""
#endif

/* "usable", or why there is none: no library, no driver, no GPU. Nothing is computed. */
static void cuda_fact(char *out, size_t cap)
{
    Device *d = NULL;
    Err err = {0};
    if (device_open(&d, "0", &(DeviceOptions){0}, &err)) {
        snprintf(out, cap, "not usable: %s", err.msg);
        return;
    }
    snprintf(out, cap, "usable: %s", d->model);
    device_close(d);
}

/* --json is the only option. */
int cmd_version(int argc, char **argv, Log *log)
{
    char cuda[300], icu[U_MAX_VERSION_STRING_LENGTH];
    const char *data_path = NULL, *espeak = espeak_Info(&data_path);
    UVersionInfo version;
    Err err = {0};
    int json = argc == 2 && strcmp(argv[1], "--json") == 0;
    if (argc > 1 && !json) {
        err_set(&err, ERR_USAGE, "--version takes no arguments except --json");
        log_err(log, &err);
        return err_exit_code(err.code);
    }
    u_getVersion(version);
    u_versionToString(version, icu);
    cuda_fact(cuda, sizeof cuda);
    if (json) {
        json_t *o = json_pack("{s:s, s:o, s:s, s:o, s:s, s:s}", "version", myxtts_version(), "revision",
                              *MYXTTS_REVISION ? json_string(MYXTTS_REVISION) : json_null(), "compiler",
                              __VERSION__, "cuda", json_from_text(cuda), "espeak_ng", espeak, "icu", icu);
        return output_print(o, 6, &err) ? 3 : 0;
    }
    printf("myxtts %s%s%s\n", myxtts_version(), *MYXTTS_REVISION ? ", git " : "", MYXTTS_REVISION);
    printf("  compiler   %s\n  CUDA       %s\n  espeak-ng  %s\n  ICU        %s\n", __VERSION__, cuda, espeak,
           icu);
    return 0;
}
