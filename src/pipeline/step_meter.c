/* step_meter.c - see step_meter.h. */
#include "pipeline/step_meter.h"

#include <math.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"

/* Closed after a failure. */
int step_meter_open(StepMeter *m, Device *d, Counters *counters, int64_t skip, Err *err)
{
    *m = (StepMeter){.device = d, .counters = counters, .skip = skip};
    m->samples = mem_calloc(METER_KEEP, sizeof *m->samples);
    int rc = m->samples ? d->ops->event_open(d, &m->previous_end, 1, err)
                        : err_set(err, ERR_NOMEM, "no memory for the step meter");
    for (int i = 0; i <= METER_LAG && !rc; i++)
        rc = d->ops->event_open(d, &m->asked[i], 1, err);
    for (int i = 0; i < METER_LAG && !rc; i++) {
        rc = d->ops->event_open(d, &m->start[i], 1, err);
        if (!rc)
            rc = d->ops->event_open(d, &m->end[i], 1, err);
        if (!rc)
            rc = d->ops->event_open(d, &m->sum_start[i], 1, err);
        if (!rc)
            rc = d->ops->event_open(d, &m->sum_end[i], 1, err);
    }
    if (rc)
        step_meter_close(m);
    else if (counters)
        atomic_store(&counters->stage[STAGE_STEP].threads, 1);
    return rc;
}

void step_meter_close(StepMeter *m)
{
    for (int i = 0; i < METER_LAG; i++) {
        Event *const all[] = {m->start[i], m->end[i], m->sum_start[i], m->sum_end[i]};
        for (int k = 0; k < 4; k++)
            if (all[k])
                m->device->ops->event_close(all[k]);
    }
    for (int i = 0; i <= METER_LAG; i++)
        if (m->asked[i])
            m->device->ops->event_close(m->asked[i]);
    if (m->previous_end)
        m->device->ops->event_close(m->previous_end);
    free(m->samples);
    *m = (StepMeter){0};
}

/* The time before step i in which the device had nothing to do, shared out between the consumer, which did
 * something else, and the data. Times below zero are the resolution of the events. */
static double idle_before(const StepMeter *m, int i, int asked, double *aside)
{
    const DeviceOps *ops = m->device->ops;
    const double idle = fmax(0, ops->event_seconds(m->previous_end, m->start[i]));
    *aside = m->had_data[i] ? idle : 0;
    if (m->has_asked[asked] && !m->had_data[i])
        *aside = fmin(idle, fmax(0, ops->event_seconds(m->previous_end, m->asked[asked])));
    return idle - *aside;
}

/* Reads the oldest outstanding step, waiting for its end. */
static int read_one(StepMeter *m, Err *err)
{
    const DeviceOps *ops = m->device->ops;
    int i = (int)(m->read % METER_LAG);
    int rc = ops->event_wait(m->end[i], err);
    if (rc)
        return rc;
    const int asked = (int)(m->read % (METER_LAG + 1));
    double aside = 0, sum = m->sum_took[i];
    if (m->summed[i] && !(sum > 0))
        sum = ops->event_seconds(m->sum_start[i], m->sum_end[i]);
    double busy = ops->event_seconds(m->start[i], m->end[i]) - sum;
    const int follows = m->has_previous && !m->fresh[i];
    const double wait = follows ? idle_before(m, i, asked, &aside) : 0;
    if (m->counters) {
        counters_trace_set(m->counters, m->read, TRACE_STEP, busy);
        counters_trace_set(m->counters, m->read, TRACE_SUM, sum);
        counters_trace_set(m->counters, m->read, TRACE_WAIT, wait);
        counters_trace_set(m->counters, m->read, TRACE_ASIDE, aside);
        if (m->apart[i] || !follows)
            counters_set_apart(m->counters, m->read);
    }
    m->aside += aside;
    if (m->apart[i]) {
        m->apart_seconds += busy;
        m->apart_count++;
    }
    /* The first steps fill the pipeline, and the first of all has no step before it. */
    if (m->read >= m->skip && follows && !m->apart[i]) {
        stats_add(&m->busy, busy);
        stats_add(&m->wait, wait);
        stats_add(&m->step, busy + wait + sum);
        m->samples[m->sample_count++ % METER_KEEP] =
            (StepSample){(float)(busy + wait + sum), (float)wait, (float)busy};
        if (m->counters) {
            counters_add(m->counters, STAGE_STEP, busy, wait, sum);
            counters_left(m->counters, STAGE_STEP, 0, 0);
        }
        if (m->counters && m->summed[i]) {
            counters_add(m->counters, STAGE_SUM, sum, busy + wait, 0);
            counters_left(m->counters, STAGE_SUM, 0, 0);
        }
    }
    m->summed[i] = 0;
    m->sum_took[i] = 0;
    m->apart[i] = 0;
    m->had_data[i] = 0;
    m->has_asked[asked] = 0;
    /* The end stays readable while its place in the ring is recorded again. */
    Event *kept = m->previous_end;
    m->previous_end = m->end[i];
    m->end[i] = kept;
    m->has_previous = 1;
    m->read++;
    return 0;
}

int step_meter_ask(StepMeter *m, Stream *s, Err *err)
{
    const int i = (int)(m->begun % (METER_LAG + 1));
    m->has_asked[i] = 1;
    return m->device->ops->event_record(m->asked[i], s, err);
}

/* The oldest outstanding step is read when its events are needed again. */
int step_meter_begin(StepMeter *m, Stream *s, Err *err)
{
    int rc = m->begun - m->read >= METER_LAG ? read_one(m, err) : 0;
    m->fresh[m->begun % METER_LAG] = m->is_fresh;
    m->is_fresh = 0;
    return rc ? rc : m->device->ops->event_record(m->start[m->begun % METER_LAG], s, err);
}

int step_meter_begin_batch(StepMeter *m, Stream *s, int64_t batch, uint64_t bytes, Err *err)
{
    m->device->ops->stream_batch(s, batch, bytes);
    return step_meter_begin(m, s, err);
}

int step_meter_sum(StepMeter *m, Stream *s, int end, Err *err)
{
    int i = (int)(m->begun % METER_LAG);
    m->summed[i] = 1;
    return m->device->ops->event_record(end ? m->sum_end[i] : m->sum_start[i], s, err);
}

void step_meter_sum_took(StepMeter *m, int64_t step, double seconds)
{
    ASSERT(step >= m->read && step < m->begun);
    m->summed[step % METER_LAG] = seconds > 0;
    m->sum_took[step % METER_LAG] = seconds;
}

/* The next begin uses the next pair of events. */
int step_meter_end(StepMeter *m, Stream *s, Err *err)
{
    int rc = m->device->ops->event_record(m->end[m->begun % METER_LAG], s, err);
    m->begun++;
    return rc;
}

void step_meter_had_data(StepMeter *m) { m->had_data[m->begun % METER_LAG] = 1; }

void step_meter_set_apart(StepMeter *m) { m->apart[m->begun % METER_LAG] = 1; }

void step_meter_pause(StepMeter *m) { m->is_fresh = 1; }

int step_meter_finish(StepMeter *m, Err *err)
{
    int rc = 0;
    while (m->read < m->begun && !rc)
        rc = read_one(m, err);
    return rc;
}

/* Over the samples that are kept. */
double step_meter_step_median(const StepMeter *m)
{
    enum { NEWEST = 101 };
    double x[NEWEST];
    const size_t n = (size_t)(m->sample_count < NEWEST ? m->sample_count : NEWEST);
    for (size_t i = 0; i < n; i++)
        x[i] = (double)m->samples[(m->sample_count - 1 - (int64_t)i) % METER_KEEP].step;
    return n ? stats_percentile(x, n, 0.5) : (double)NAN;
}

double step_meter_wait_quantile(const StepMeter *m, double q)
{
    size_t n = (size_t)(m->sample_count < METER_KEEP ? m->sample_count : METER_KEEP);
    double *x = mem_calloc(n, sizeof *x);
    if (!x)
        return 0;
    for (size_t i = 0; i < n; i++)
        x[i] = m->samples[i].wait;
    double out = stats_percentile(x, n, q);
    free(x);
    return out;
}
