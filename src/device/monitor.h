/* monitor.h - samples the state of GPUs by NVML in a thread, every `interval` seconds. Without NVML (no
 * driver) it logs one line and measures nothing: all calls are allowed and all counts are 0. GPUs have the
 * numbers that CUDA gives them under CUDA_VISIBLE_DEVICES. What a GPU does not report (PCIe throughput on
 * some virtual machines) has no values. Threads: one opens and closes it; any may call the rest. */
#ifndef MYXTTS_MONITOR_H
#define MYXTTS_MONITOR_H

#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "base/stats.h"

typedef enum {
    MONITOR_UTILISATION, /* percent of time in which a kernel ran */
    MONITOR_MEMORY,      /* bytes in use, by all processes */
    MONITOR_POWER,       /* watts */
    MONITOR_CLOCK,       /* MHz, of the SMs */
    MONITOR_PCIE_IN,     /* bytes/s to the GPU */
    MONITOR_PCIE_OUT,    /* bytes/s from the GPU */
    MONITOR_TEMPERATURE, /* degrees Celsius */
    MONITOR_COUNT
} MonitorValue;

#define MONITOR_HISTORY 1024 /* samples kept for plots; older ones are only in the summary */

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
/* gpu_indices: [n], n may be 0. Returns 0 even if NVML or a GPU is missing; a line of the log
 * then says so. */
int monitor_open(Monitor **m, const int *gpu_indices, int n, double interval, Log *log, Err *err);
/* As monitor_open, with the caller's functions in place of NVML; NULL: as if there were no NVML. */
int monitor_open_with(Monitor **m, const struct Nvml *nvml, const int *gpu_indices, int n, double interval,
                      Log *log, Err *err);
/* Monitors the GPUs among these devices, each once, in this order. *m stays NULL if there is none. */
struct Device;
int monitor_open_devices(Monitor **m, struct Device *const *devices, int n, double interval, Log *log,
                         Err *err);
void monitor_close(Monitor *m);         /* NULL is allowed */
int monitor_measures(const Monitor *m); /* 1 if at least one GPU is measured */
/* gpu: index in gpu_indices. */
void monitor_summary(Monitor *m, int gpu, MonitorSummary *s);
void monitor_restart(Monitor *m); /* resets the summaries (after the warm-up), not the history */
/* Writes the last samples, at most cap, to out, oldest first; returns how many. */
int monitor_history(Monitor *m, int gpu, MonitorSample *out, int cap);

#endif
