/* monitor.h - what the GPUs do while a program runs, from NVML, by a thread that looks every `interval`
 * seconds. Without NVML (no driver) it says so in one line and measures nothing: every call stays safe, every
 * count is 0, nothing is made up. GPUs are numbered as CUDA numbers them under CUDA_VISIBLE_DEVICES. What a
 * GPU does not report (PCIe throughput on some virtual machines) has no values. Threads: open and close from
 * one; the rest from any. */
#ifndef MYXTTS_MONITOR_H
#define MYXTTS_MONITOR_H

#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "base/stats.h"

typedef enum {
    MONITOR_UTILISATION, /* percent of time in which a kernel ran */
    MONITOR_MEMORY,      /* bytes in use, by everyone */
    MONITOR_POWER,       /* watts */
    MONITOR_CLOCK,       /* MHz, of the SMs */
    MONITOR_PCIE_IN,     /* bytes/s to the GPU */
    MONITOR_PCIE_OUT,    /* bytes/s from the GPU */
    MONITOR_TEMPERATURE, /* degrees Celsius */
    MONITOR_COUNT
} MonitorValue;

#define MONITOR_HISTORY 1024 /* samples kept for plots; older ones are in the summary alone */

typedef struct MonitorSample {
    double at;                   /* seconds since monitor_open */
    float values[MONITOR_COUNT]; /* NaN: not reported */
} MonitorSample;

typedef struct MonitorSummary {
    uint64_t samples;            /* 0: this GPU is not measured */
    Stats values[MONITOR_COUNT]; /* mean, min, max and n; n is 0 for what is not reported */
    double memory_total;         /* bytes; 0: unknown */
} MonitorSummary;

typedef struct Monitor Monitor;
struct Nvml;

const char *monitor_value_name(MonitorValue v); /* "utilisation", "memory", ... as in JSON and reports */
/* gpu_indices: [n], n may be 0. 0 also when NVML or a GPU is missing; then a line on the log says so. */
int monitor_open(Monitor **m, const int *gpu_indices, int n, double interval, Log *log, Err *err);
/* The same with the caller's functions in place of NVML; NULL: none. */
int monitor_open_with(Monitor **m, const struct Nvml *nvml, const int *gpu_indices, int n, double interval,
                      Log *log, Err *err);
/* The GPUs among these devices, each once, in this order. *m stays NULL when there is none. */
struct Device;
int monitor_open_devices(Monitor **m, struct Device *const *devices, int n, double interval, Log *log,
                         Err *err);
void monitor_close(Monitor *m);         /* NULL is fine */
int monitor_measures(const Monitor *m); /* 1 when at least one GPU is measured */
/* gpu: position in gpu_indices. */
void monitor_summary(Monitor *m, int gpu, MonitorSummary *s);
void monitor_restart(Monitor *m); /* summaries begin anew (after warming up); the history stays */
/* The last samples, oldest first, at most cap; returns how many. */
int monitor_history(Monitor *m, int gpu, MonitorSample *out, int cap);

#endif
