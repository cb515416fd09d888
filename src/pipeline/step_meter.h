/* step_meter.h - measures how long the consumer's steps take and how long it waits between them, by events on
 * its own stream. Measuring synchronises nothing: the events of a step are read some steps later, when they
 * have happened. Between the end of a step and the start of the next the model device has nothing to do.
 * Until the consumer asks for its batch (step_meter_ask) it does something else, and the device stands aside;
 * from then on it waits for data. Steps that are not like the others are set apart: the first one after a
 * pause, and those that the consumer names (step_meter_set_apart). Threads: only the consumer's. */
#ifndef MYXTTS_STEP_METER_H
#define MYXTTS_STEP_METER_H

#include <stdint.h>

#include "base/err.h"
#include "base/stats.h"
#include "device/device.h"
#include "pipeline/counters.h"

#define METER_LAG 4      /* steps that the host may be ahead of the device */
#define METER_KEEP 16384 /* samples kept for percentiles and plots, the newest ones */

typedef struct StepSample {
    /* Seconds: from asking for the batch (or the end of the step before) to the end, waiting for data, work
     * of the step. What is left waited for ranks. */
    float step, wait, busy;
} StepSample;

typedef struct StepMeter {
    Device *device;
    Counters *counters;
    Event *start[METER_LAG], *end[METER_LAG];
    Event *sum_start[METER_LAG], *sum_end[METER_LAG];
    int summed[METER_LAG];      /* the step waited for a sum over ranks: by the events above, */
    double sum_took[METER_LAG]; /* or, where this is not 0, for this many seconds */
    int fresh[METER_LAG];       /* the time before the step is not to be counted */
    int is_fresh;               /* of the next step */
    /* One more: the next step asks while METER_LAG are under way. */
    Event *asked[METER_LAG + 1];
    int has_asked[METER_LAG + 1];
    int apart[METER_LAG];
    int had_data[METER_LAG]; /* the batch was there when it was asked for: nobody waited for it */
    Event *previous_end;     /* end of the last step that was read */
    int has_previous;
    int64_t begun, read;    /* number of steps begun, and of steps whose events were read */
    Stats step, wait, busy; /* of all steps but the first `skip` and those set apart */
    double aside;           /* seconds between steps in which the consumer did something else */
    double apart_seconds;   /* work of steps that were set apart by name, */
    int64_t apart_count;    /* and their number */
    int64_t skip;
    StepSample *samples; /* [METER_KEEP] ring */
    int64_t sample_count;
} StepMeter;

/* skip: number of steps at the start that are not counted (the pipeline fills up). counters may be NULL. */
int step_meter_open(StepMeter *m, Device *d, Counters *counters, int64_t skip, Err *err);
void step_meter_close(StepMeter *m); /* a zeroed meter is allowed */
/* Call it when the consumer turns to the next batch, before pipeline_take. Without it all the time between
 * two steps counts as waiting for data. */
int step_meter_ask(StepMeter *m, Stream *s, Err *err);
/* Call begin and end around the work of a step, on its stream, after pipeline_await. begin waits if the host
 * is METER_LAG steps ahead. */
int step_meter_begin(StepMeter *m, Stream *s, Err *err);
/* As step_meter_begin; also tells a simulated device which batch, of how many bytes, the following commands
 * belong to. */
int step_meter_begin_batch(StepMeter *m, Stream *s, int64_t batch, uint64_t bytes, Err *err);
/* Call with end 0 and 1 around the place where the stream waits for the sum over ranks, between begin and
 * end: that time is not counted as work of the step. */
int step_meter_sum(StepMeter *m, Stream *s, int end, Err *err);
/* The same for steps that measure it themselves: step (from 0) waited so long. Call it before METER_LAG more
 * steps begin. */
void step_meter_sum_took(StepMeter *m, int64_t step, double seconds);
int step_meter_end(StepMeter *m, Stream *s, Err *err);
/* Between begin and end: its batch was complete when the consumer asked for it. */
void step_meter_had_data(StepMeter *m);
/* Between begin and end: this step does more than train (it captures a graph, say), and tells nothing about
 * the others. */
void step_meter_set_apart(StepMeter *m);
/* Between two steps: what happens until the next one is not the pipeline's fault. */
void step_meter_pause(StepMeter *m);
int step_meter_finish(StepMeter *m, Err *err); /* waits for the steps that were not read yet */
/* The median of the newest steps, in seconds; NaN: none was measured. */
double step_meter_step_median(const StepMeter *m);
/* The q-quantile of the waits of the newest samples, in seconds. */
double step_meter_wait_quantile(const StepMeter *m, double q);

#endif
