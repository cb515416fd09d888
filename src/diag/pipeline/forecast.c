/* forecast.c - see forecast.h. */
#include "diag/pipeline/forecast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "pipeline/policy.h"
#include "pipeline/step_meter.h"

/* A device buffer that has been handed back: when, and when the device is done with it. */
typedef struct Freed {
    double at, consumed;
    int64_t order; /* of its batch; -1: new */
} Freed;

typedef struct Machine {
    const Observation *o;
    const ForecastSettings *s;
    int64_t n;
    double worker[POLICY_MOST_WORKERS]; /* free at */
    double disk, feeder, host, step_end;
    double stream[STREAM_PEER + 1]; /* of the feeder, free at */
    double loaded;                  /* all batches so far */
    double *slot_free;              /* [n] slot of batch k given back */
    double *ready;                  /* [n] batch k on the model device */
    double *taken;                  /* [n] the consumer has it */
    double *end;                    /* [n] of its step */
    double *consumed;               /* [n] */
    Freed free[POLICY_MOST_BUFFERS];
    int free_count, buffers;
    GrowWindow window;
    int slots, slots_wanted;
    double slots_added; /* when */
    SlotWindow slot_window;
    int starved;       /* the feeder waited for the slot of its last batch */
    int queued;        /* that batch stood behind another one at a stage */
    uint8_t *hungry;   /* [n] starved, of batch k */
    int64_t last_late; /* newest batch counted as waited for */
    double used[STAGE_COUNT], waited, aside;
} Machine;

void forecast_settings(ForecastSettings *s, const Observation *o)
{
    *s = (ForecastSettings){.workers = o->report.workers,
                            .slots = o->report.slots,
                            .most_slots = o->report.most_slots,
                            .start_buffers = o->from_start ? o->start_buffers : o->report.buffers,
                            .most_buffers = o->most_buffers,
                            .synchronous = o->synchronous,
                            .two_devices = o->two_devices,
                            .host_data = o->host_data,
                            .host_model = o->host_model,
                            .on_the_fly = o->on_the_fly,
                            .prefetch = o->prefetch,
                            .overlap = o->overlap,
                            .own_copy = o->own_copy,
                            .held = o->held,
                            .serial_disk = o->serial_disk,
                            .rows_factor = 1};
    for (int i = 0; i < STAGE_COUNT; i++)
        s->scale[i] = 1;
}

/* The stage whose speed-up a trace follows. */
static StageId stage_of(TraceId t)
{
    if (t == TRACE_READ)
        return STAGE_READ;
    ASSERT_CMP(t, <, TRACE_STAGE + STAGE_COUNT);
    return (StageId)(t - TRACE_STAGE);
}

/* The observed time, or the one to assume, scaled. */
static double time_of(const Machine *m, TraceId t, int64_t k)
{
    const float *x = m->s->instead[t] ? m->s->instead[t] : m->o->trace[t];
    return (double)x[k] * m->s->scale[stage_of(t)] * m->s->rows_factor;
}

static double stage_time(const Machine *m, StageId s, int64_t k)
{
    return time_of(m, (TraceId)(TRACE_STAGE + s), k);
}

/* Is it on a stream, and is there something to do with these devices? As feeder_does. */
static int feeder_has(const ForecastSettings *s, StageId stage)
{
    StageStream stream = stage_info(stage)->stream;
    return stream == STREAM_NONE ? 0 : stream == STREAM_PEER ? s->two_devices : !s->host_data;
}

/* What a worker computes for batch k once it is read. */
static double compute_time(const Machine *m, int64_t k)
{
    double sum = 0;
    for (int i = 0; i < STAGE_COUNT; i++) {
        const StageInfo *info = stage_info((StageId)i);
        if (info->workers && (info->stream == STREAM_NONE || m->s->host_data))
            sum += stage_time(m, (StageId)i, k);
    }
    return sum;
}

/* When batch k gets a slot: when the batch that had it before has been copied. */
static double slot_for(Machine *m, int64_t k)
{
    double open = k >= m->slots ? m->slot_free[k - m->slots] : 0;
    if (k < m->slots || open <= m->loaded)
        return fmax(open, m->slots_added);
    /* Everything was loaded before: the workers could have gone on, and add the slots that were asked for. */
    m->slot_window.full = 1;
    if (m->slots_wanted == m->slots)
        return open;
    m->slots = m->slots_wanted;
    m->slots_added = m->loaded;
    return m->loaded;
}

/* The workers fill the slot of batch k, some rows at a time, oldest batch first; returns when it is ready. */
static double load(Machine *m, int64_t k)
{
    const ForecastSettings *s = m->s;
    int count = (int)lround((double)m->o->rows[k] * s->rows_factor);
    int rows = policy_rows_at_once(count, s->workers, s->on_the_fly);
    double open = slot_for(m, k), ready = open;
    double disk = time_of(m, TRACE_DISK, k), read = time_of(m, TRACE_READ, k), decode = compute_time(m, k);
    count = count < 1 ? 1 : count;
    for (int first = 0; first < count; first += rows) {
        double part = (double)(rows < count - first ? rows : count - first) / count;
        /* The worker that is free first takes the next rows. */
        int w = 0;
        for (int i = 1; i < s->workers; i++)
            w = m->worker[i] < m->worker[w] ? i : w;
        double start = fmax(m->worker[w], open), read_end;
        /* One disk serves the readers one after the other. */
        if (s->serial_disk)
            read_end = m->disk = fmax(start, m->disk) + part * disk;
        else
            read_end = start + part * read;
        m->worker[w] = read_end + part * decode;
        ready = fmax(ready, m->worker[w]);
        m->used[STAGE_DECODE] += (m->worker[w] - start) / s->workers;
    }
    m->used[STAGE_READ] += s->serial_disk ? disk : read / s->workers;
    m->loaded = fmax(m->loaded, ready);
    return ready;
}

/* num_workers 0: the feeder's own thread reads and decodes. */
static double load_inline(Machine *m, int64_t k, double start)
{
    double read = time_of(m, m->s->serial_disk ? TRACE_DISK : TRACE_READ, k), decode = compute_time(m, k);
    m->used[STAGE_READ] += read;
    m->used[STAGE_DECODE] += read + decode;
    return start + read + decode;
}

static void put_free(Machine *m, Freed f)
{
    int at = m->free_count++;
    /* Queued in the order of being handed back. */
    for (; at > 0 && m->free[at - 1].at > f.at; at--)
        m->free[at] = m->free[at - 1];
    m->free[at] = f;
}

/* A batch is counted once, as the feeder does. */
static void count_wait(Machine *m, int64_t k)
{
    if (k > m->last_late)
        policy_buffer_late(&m->window, k, m->hungry[k]);
    m->last_late = k > m->last_late ? k : m->last_late;
}

/* A device buffer for batch k, wanted at t; returns when the feeder has it. */
static double take_buffer(Machine *m, int64_t k, double t)
{
    const int wanted = policy_buffers_wanted(&m->window, k, m->buffers, m->s->most_buffers);
    for (; m->buffers < wanted; m->buffers++) /* those that did not help do no harm either: they stay */
        put_free(m, (Freed){.at = t, .consumed = t, .order = -1});
    /* The buffer that was handed back first. */
    Freed f = m->free[0];
    memmove(m->free, m->free + 1, (size_t)--m->free_count * sizeof *m->free);
    double have = fmax(t, f.at);
    if (f.at > t || f.consumed > have)
        policy_buffer_short(&m->window, k > 0 && m->ready[k - 1] <= fmax(have, f.consumed), m->queued);
    have = fmax(have, f.consumed);
    /* As look_for_waiting in feeder.c: the device is done and its next batch is not there. */
    int64_t next = f.order + 1;
    if (f.order >= 0 && next < k && m->taken[next] <= have && m->ready[next] > have)
        count_wait(m, next);
    return have;
}

/* What the feeder's thread needed for the batch besides the copy: waking up, bookkeeping. On a stream that
 * copies share with the preprocessing it cannot be told from waiting for that. */
static double feeder_overhead(const Observation *o, int64_t k)
{
    double rest = (double)o->trace[TRACE_FEED][k] - (double)o->trace[TRACE_H2D][k];
    return o->host_data || !o->own_copy || rest < 0 ? 0 : rest;
}

/* Batch k from its slot, filled at `filled`, to the model device; returns when it was enqueued. */
static double feed(Machine *m, int64_t k, double filled)
{
    const ForecastSettings *s = m->s;
    double t = m->feeder;
    /* Settings that forbid running ahead, as in wait_for_turn. */
    if (!s->prefetch)
        t = fmax(t, fmax(m->host, m->step_end));
    if (!s->overlap && k > 0)
        t = fmax(t, fmax(m->host, m->consumed[k - 1]));
    m->starved = m->hungry[k] = filled > t;
    t = take_buffer(m, k, fmax(t, filled));
    /* From stage to stage; each stream is a separate server. */
    double done = t, copied = t;
    m->queued = 0;
    for (int i = 0; i < STAGE_COUNT; i++) {
        if (!feeder_has(s, (StageId)i))
            continue;
        StageStream stream = stage_info((StageId)i)->stream;
        double took = stage_time(m, (StageId)i, k),
               *server = &m->stream[stream == STREAM_COPY && !s->own_copy ? STREAM_WORK : stream];
        m->queued |= i != STAGE_H2D && k > 0 && *server >= done;
        done = fmax(done, *server) + took;
        *server = done;
        m->used[i] += took;
        if (i == STAGE_H2D)
            copied = done;
    }
    m->ready[k] = done;
    policy_buffer_counted(&m->window, m->queued);
    m->feeder = m->slot_free[k] = copied + feeder_overhead(m->o, k);
    return t;
}

/* When the device is free for batch k: not before the consumer, which does something else, asks for it. */
static double free_for(Machine *m, int64_t k)
{
    const double aside = (double)m->o->trace[TRACE_ASIDE][k];
    m->aside += aside;
    return m->step_end + aside;
}

/* The consumer's turn: its host may be ahead of its device. */
static void step(Machine *m, int64_t k, double enqueued)
{
    const ForecastSettings *s = m->s;
    const double is_free = free_for(m, k);
    double asked = s->prefetch && is_free <= m->step_end ? m->host : fmax(m->host, is_free);
    double t = fmax(asked, enqueued), took = time_of(m, TRACE_STEP, k), sum = time_of(m, TRACE_SUM, k);
    /* The host asks; its device may still be at work. */
    int idle = k == 0 || m->consumed[k - 1] <= asked;
    m->window.takes++;
    if (policy_device_waits(idle, enqueued <= asked && m->ready[k] <= t))
        count_wait(m, k);
    /* As the end of count_take in feeder.c. */
    if (m->starved && s->workers > 0 && enqueued > asked && (k == 0 || m->consumed[k - 1] <= enqueued) &&
        m->slots_wanted == m->slots)
        m->slots_wanted = policy_slots_wanted(&m->slot_window, k, m->slots, s->most_slots);
    m->taken[k] = t;
    if (k >= METER_LAG)
        t = fmax(t, m->end[k - METER_LAG]);
    /* The step begins when host, batch and device are ready. */
    double start = fmax(fmax(t, m->ready[k]), is_free);
    m->waited += start - is_free;
    m->end[k] = m->step_end = start + took + sum;
    m->consumed[k] = s->held ? m->end[k] : start;
    m->host = s->host_model ? m->end[k] : t;
    put_free(
        m,
        (Freed){.at = s->host_model && !s->held ? start : m->host, .consumed = m->consumed[k], .order = k});
    m->used[STAGE_STEP] += took;
    m->used[STAGE_SUM] += sum;
}

/* native_loading off: one thing after the other, in the consumer's thread. */
static void step_synchronous(Machine *m, int64_t k)
{
    double start = free_for(m, k), t = load_inline(m, k, start);
    for (int i = 0; i < STAGE_COUNT; i++)
        if (feeder_has(m->s, (StageId)i)) {
            double took = stage_time(m, (StageId)i, k);
            m->used[i] += took;
            t += took;
        }
    double took = time_of(m, TRACE_STEP, k), sum = time_of(m, TRACE_SUM, k);
    m->waited += t - start;
    m->used[STAGE_STEP] += took;
    m->used[STAGE_SUM] += sum;
    m->end[k] = m->step_end = t + took + sum;
}

/* total: the seconds of the window. */
static void sum_up(Forecast *f, const Machine *m, double total)
{
    const Observation *o = m->o;
    const int64_t n = m->n;
    Stats steps = {0};
    for (int64_t k = 0; k < n; k++) {
        double took = m->end[k] - (k ? m->end[k - 1] : 0) - (double)o->trace[TRACE_ASIDE][k];
        if (k >= o->from)
            stats_add(&steps, took);
        if (m->s->times)
            m->s->times[k] = (float)took;
    }
    f->variation = steps.mean > 0 ? stats_std(&steps) / steps.mean : 0;
    f->period = n > o->from ? total / (double)(n - o->from) : 0;
    f->wait_share = total > 0 ? m->waited / total : 0;
    for (int i = 0; i < STAGE_COUNT; i++)
        f->used[i] = total > 0 ? m->used[i] / total : 0;
    f->buffers = m->buffers;
    f->slots = m->slots;
    f->gain = 1;
}

/* Batch by batch; each of its times follows from those of earlier ones. */
int forecast_run(Forecast *f, const Observation *o, const ForecastSettings *s, Err *err)
{
    *f = (Forecast){0};
    int64_t n = o->n;
    Machine *m = mem_calloc(1, sizeof *m);
    double *memory = mem_calloc((size_t)n * 5 + 1, sizeof *memory);
    uint8_t *hungry = mem_calloc((size_t)n + 1, 1);
    if (!m || !memory || !hungry) {
        free(m);
        free(memory);
        free(hungry);
        return err_set(err, ERR_NOMEM, "no memory for a forecast");
    }
    *m = (Machine){.o = o,
                   .s = s,
                   .n = n,
                   .last_late = -1,
                   .buffers = s->start_buffers,
                   .slots = s->slots,
                   .slots_wanted = s->slots};
    /* One block for the five arrays. */
    m->slot_free = memory;
    m->ready = memory + n;
    m->taken = memory + 2 * n;
    m->end = memory + 3 * n;
    m->consumed = memory + 4 * n;
    m->hungry = hungry;
    for (int i = 0; i < m->buffers; i++)
        m->free[m->free_count++] = (Freed){.order = -1};
    double window = 0;
    for (int64_t k = 0; k < n; k++) {
        /* The window begins: what came before was filling up. */
        if (k == o->from) {
            window = m->step_end;
            m->waited = m->aside = 0;
            memset(m->used, 0, sizeof m->used);
        }
        if (s->synchronous) {
            step_synchronous(m, k);
            continue;
        }
        double filled =
            s->workers > 0
                ? load(m, k)
                : load_inline(m, k, fmax(m->feeder, k >= s->slots ? m->slot_free[k - s->slots] : 0));
        step(m, k, feed(m, k, filled));
    }
    sum_up(f, m, m->step_end - window - m->aside);
    free(m);
    free(memory);
    free(hungry);
    return 0;
}
/* Utterances per second against `base`: a larger batch may take longer and still gain. */
int forecast_gain(Forecast *f, const Observation *o, const ForecastSettings *s, const Forecast *base,
                  Err *err)
{
    int rc = forecast_run(f, o, s, err);
    if (!rc && f->period > 0)
        f->gain = base->period * s->rows_factor / f->period;
    return rc;
}
