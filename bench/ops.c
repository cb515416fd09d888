/* ops.c - speed of the host ops on the shapes of a training step: one forward and backward of each case. A
 * table, then a JSON line. build/bench/ops [--threads N] [--double] [--seconds S per case] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tests/support/ops_cases.h"
#include "base/mem.h"
#include "base/thread.h"

int main(int argc, char **argv)
{
    int threads = thread_cores();
    double budget = 0.2;
    const Ops *ops = &ops_host_f32;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
            threads = atoi(argv[++i]);
        else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            budget = atof(argv[++i]);
        else if (strcmp(argv[i], "--double") == 0)
            ops = &ops_host_f64;
        else {
            fprintf(stderr, "usage: %s [--threads N] [--double] [--seconds S]\n", argv[0]);
            return 2;
        }
    }
    Err err = {0};
    Device *device = NULL;
    Stream *stream = NULL;
    OpsContext c = {0};
    int rc = device_open(&device, "cpu", &(DeviceOptions){0}, &err);
    if (!rc)
        rc = device->ops->stream_open(device, &stream, "bench", &err);
    if (!rc)
        rc = ops_context_open(&c, ops, device, stream, threads, &err);
    if (rc) {
        fprintf(stderr, "%s\n", err.msg);
        return err_exit_code(rc);
    }
    const char *name = ops->real == REAL_F64 ? "double" : "single";
    printf("%s precision, %d thread%s; forward and backward\n%-36s %10s %10s %10s\n", name, threads,
           threads == 1 ? "" : "s", "case", "us", "GFLOP/s", "GB/s");
    Buf json = {0};
    for (int i = 0; i < ops_speed_case_count; i++) {
        const OpsCase *k = &ops_speed_cases[i];
        double bytes, seconds = ops_seconds(&c, k, budget, &bytes);
        if (seconds < 0) {
            fprintf(stderr, "%s could not be run\n", k->name);
            return 3;
        }
        if (k->flops)
            printf("%-36s %10.1f %10.1f\n", k->name, seconds * 1e6, k->flops(k->shape) / seconds * 1e-9);
        else
            printf("%-36s %10.1f %10s %10.1f\n", k->name, seconds * 1e6, "", bytes / seconds * 1e-9);
        buf_printf(&json, "%s\"%s\": %.2f", i ? ", " : "", k->name, seconds * 1e6);
    }
    printf("{\"bench\": \"ops\", \"real\": \"%s\", \"threads\": %d, \"us\": {%s}}\n", name, threads,
           json.data);
    buf_free(&json);
    ops_context_close(&c);
    device->ops->stream_close(stream);
    device_close(device);
    return 0;
}
