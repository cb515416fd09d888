/* monitor.c - see monitor.h. */
#include "device/monitor.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "device/device.h"
#include "device/nvml.h"

#define MOST_DEVICES 2 /* of one program: data and model */

/* One GPU that was asked for, measured or not. */
typedef struct MonitoredGpu {
    void *handle; /* NULL: not measured */
    MonitorSummary summary;
    MonitorSample *history; /* [MONITOR_HISTORY], sample k at k % MONITOR_HISTORY */
    uint64_t taken;         /* samples, ever */
} MonitoredGpu;

struct Monitor {
    Nvml nvml;
    int initialised; /* nvml.init went well */
    MonitoredGpu *gpus;
    int count, measured;
    double interval, opened;
    Thread thread;
    pthread_mutex_t mutex; /* of the gpus' numbers and of stop */
    pthread_cond_t wake;
    int stop;
};

static const char *const value_names[MONITOR_COUNT] = {"utilisation", "memory",   "power",      "clock",
                                                       "pcie_in",     "pcie_out", "temperature"};

const char *monitor_value_name(MonitorValue v)
{
    ASSERT(v >= 0 && v < MONITOR_COUNT);
    return value_names[v];
}

/* ---- one look at one GPU ---- */

/* What NVML does not report is a NaN. */
static float value_or_none(int result, double value) { return result == 0 ? (float)value : NAN; }

/* NVML gives milliwatts and KB/s; samples hold watts and bytes/s. */
static void take_sample(const Nvml *nvml, void *handle, MonitorSample *s, double *memory_total)
{
    NvmlUtilization u = {0};
    NvmlMemory m = {0};
    unsigned x = 0;
    int rc = nvml->utilization(handle, &u);
    s->values[MONITOR_UTILISATION] = value_or_none(rc, u.gpu);
    rc = nvml->memory(handle, &m);
    s->values[MONITOR_MEMORY] = value_or_none(rc, (double)m.used);
    *memory_total = rc == 0 ? (double)m.total : 0;
    rc = nvml->power(handle, &x);
    s->values[MONITOR_POWER] = value_or_none(rc, x * 1e-3);
    rc = nvml->clock(handle, NVML_CLOCK_SM, &x);
    s->values[MONITOR_CLOCK] = value_or_none(rc, x);
    rc = nvml->pcie(handle, NVML_PCIE_RX, &x);
    s->values[MONITOR_PCIE_IN] = value_or_none(rc, x * 1e3);
    rc = nvml->pcie(handle, NVML_PCIE_TX, &x);
    s->values[MONITOR_PCIE_OUT] = value_or_none(rc, x * 1e3);
    rc = nvml->temperature(handle, NVML_TEMPERATURE_GPU, &x);
    s->values[MONITOR_TEMPERATURE] = value_or_none(rc, x);
}

/* The newest samples in a ring for plots, all of them in the summary. */
static void keep_sample(MonitoredGpu *g, const MonitorSample *s, double memory_total)
{
    g->history[g->taken++ % MONITOR_HISTORY] = *s;
    g->summary.samples++;
    g->summary.memory_total = memory_total;
    for (int v = 0; v < MONITOR_COUNT; v++)
        if (!isnan(s->values[v]))
            stats_add(&g->summary.values[v], s->values[v]);
}

/* ---- the thread ---- */

/* Until `when`, or the end; the mutex is held. */
static void wait_until(Monitor *m, double when)
{
    struct timespec t = {(time_t)when, (long)((when - floor(when)) * 1e9)};
    while (!m->stop && pthread_cond_timedwait(&m->wake, &m->mutex, &t) != ETIMEDOUT) {
    }
}

/* NVML is asked without the lock: a call may take milliseconds, and summaries are wanted meanwhile. */
static void *monitor_main(void *arg)
{
    Monitor *m = arg;
    double next = clock_now();
    pthread_mutex_lock(&m->mutex);
    while (!m->stop) {
        for (int i = 0; i < m->count && !m->stop; i++) {
            MonitoredGpu *g = &m->gpus[i];
            if (!g->handle)
                continue;
            pthread_mutex_unlock(&m->mutex);
            MonitorSample s = {.at = clock_now() - m->opened};
            double memory_total;
            take_sample(&m->nvml, g->handle, &s, &memory_total);
            pthread_mutex_lock(&m->mutex);
            keep_sample(g, &s, memory_total);
        }
        /* Looking may take longer than the interval: then there is no pause. */
        next = fmax(next + m->interval,
                    clock_now()); /* looking may take longer than the interval: then it is the interval */
        wait_until(m, next);
    }
    pthread_mutex_unlock(&m->mutex);
    return NULL;
}

/* ---- opening ---- */

/* The handle of one GPU; without one it is not measured, and the log says why. */
static void find_gpu(Monitor *m, MonitoredGpu *g, int index, Log *log)
{
    Err why = {0};
    if (nvml_find_gpu(&m->nvml, index, &g->handle, &why)) {
        g->handle = NULL;
        log_info(log, "cannot measure the GPU's utilisation: %s", why.msg);
        return;
    }
    m->measured++;
}

/* If NVML does not start, that is not an error: training does not depend on it. */
static int start(Monitor *m, const int *gpu_indices, Log *log, Err *err)
{
    int rc = m->nvml.init();
    if (rc) {
        log_info(log, "cannot measure GPU utilisation: NVML does not start (%s)", m->nvml.error_string(rc));
        return 0;
    }
    m->initialised = 1;
    for (int i = 0; i < m->count; i++)
        find_gpu(m, &m->gpus[i], gpu_indices[i], log);
    return m->measured ? thread_start(&m->thread, "monitor", monitor_main, m, err) : 0;
}

/* Without NVML it opens anyway and measures nothing. */
int monitor_open_with(Monitor **out, const Nvml *nvml, const int *gpu_indices, int n, double interval,
                      Log *log, Err *err)
{
    *out = NULL;
    ASSERT(interval > 0);
    Monitor *m = mem_calloc(1, sizeof *m);
    if (!m)
        return err_set(err, ERR_NOMEM, "no memory for the GPU monitor");
    m->interval = interval;
    m->opened = clock_now();
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    /* wait_until uses the monotonic clock. */
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&m->mutex, NULL);
    pthread_cond_init(&m->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    int rc = 0;
    m->gpus = mem_calloc((size_t)n, sizeof *m->gpus);
    if (!m->gpus)
        goto no_memory;
    m->count = n;
    for (int i = 0; i < n; i++) {
        m->gpus[i].history = mem_calloc(MONITOR_HISTORY, sizeof(MonitorSample));
        if (!m->gpus[i].history)
            goto no_memory;
    }
    if (nvml)
        m->nvml = *nvml;
    if (nvml && n > 0)
        rc = start(m, gpu_indices, log, err);
    if (rc)
        goto fail;
    *out = m;
    return 0;
no_memory:
    rc = err_set(err, ERR_NOMEM, "no memory for the GPU monitor");
fail:
    m->nvml.library = NULL; /* still the caller's */
    monitor_close(m);
    return rc;
}

/* With the system's NVML, or with none. */
int monitor_open(Monitor **m, const int *gpu_indices, int n, double interval, Log *log, Err *err)
{
    Nvml nvml;
    Err why = {0};
    if (n == 0)
        return monitor_open_with(m, NULL, gpu_indices, n, interval, log, err);
    if (nvml_load(&nvml, &why)) {
        log_info(log, "cannot measure GPU utilisation: no NVML (%s)", why.msg);
        return monitor_open_with(m, NULL, gpu_indices, n, interval, log, err);
    }
    int rc = monitor_open_with(m, &nvml, gpu_indices, n, interval, log, err);
    if (rc)
        nvml_unload(&nvml);
    return rc;
}

int monitor_open_devices(Monitor **m, struct Device *const *devices, int n, double interval, Log *log,
                         Err *err)
{
    int gpus[MOST_DEVICES], count = 0;
    *m = NULL;
    ASSERT_CMP(n, <=, MOST_DEVICES);
    for (int i = 0; i < n; i++) {
        int seen = !devices[i]->traits.nvml;
        for (int k = 0; k < count; k++)
            seen |= gpus[k] == devices[i]->index;
        if (!seen)
            gpus[count++] = devices[i]->index;
    }
    return count ? monitor_open(m, gpus, count, interval, log, err) : 0;
}

void monitor_close(Monitor *m)
{
    if (!m)
        return;
    pthread_mutex_lock(&m->mutex);
    m->stop = 1;
    pthread_cond_broadcast(&m->wake);
    pthread_mutex_unlock(&m->mutex);
    /* The thread calls NVML: it ends first. */
    thread_join(&m->thread);
    if (m->initialised)
        m->nvml.shutdown();
    nvml_unload(&m->nvml);
    for (int i = 0; i < m->count; i++)
        free(m->gpus[i].history);
    free(m->gpus);
    pthread_mutex_destroy(&m->mutex);
    pthread_cond_destroy(&m->wake);
    free(m);
}

/* ---- asking ---- */

int monitor_measures(const Monitor *m) { return m->measured > 0; }

/* A copy: the thread goes on adding to it. */
void monitor_summary(Monitor *m, int gpu, MonitorSummary *s)
{
    ASSERT(gpu >= 0 && gpu < m->count);
    pthread_mutex_lock(&m->mutex);
    *s = m->gpus[gpu].summary;
    pthread_mutex_unlock(&m->mutex);
}

/* The size of the memory is no measurement and stays. */
void monitor_restart(Monitor *m)
{
    pthread_mutex_lock(&m->mutex);
    for (int i = 0; i < m->count; i++)
        m->gpus[i].summary = (MonitorSummary){.memory_total = m->gpus[i].summary.memory_total};
    pthread_mutex_unlock(&m->mutex);
}

/* The last n of the ring, oldest first. */
int monitor_history(Monitor *m, int gpu, MonitorSample *out, int cap)
{
    ASSERT(gpu >= 0 && gpu < m->count);
    pthread_mutex_lock(&m->mutex);
    const MonitoredGpu *g = &m->gpus[gpu];
    uint64_t n = g->taken < MONITOR_HISTORY ? g->taken : MONITOR_HISTORY;
    if (n > (uint64_t)cap)
        n = (uint64_t)cap;
    for (uint64_t i = 0; i < n; i++)
        out[i] = g->history[(g->taken - n + i) % MONITOR_HISTORY];
    pthread_mutex_unlock(&m->mutex);
    return (int)n;
}
