/* step_meter.h - how long the consumer's steps take and how long it waits between them, from events on its
 * own stream. Nothing is synchronised to measure: the events of a step are read some steps later, when they
 * have happened. wait = start of a step - end of the one before: the time the model device had nothing to do.
 * Threads: the consumer's. */
#ifndef MYXTTS_STEP_METER_H
#define MYXTTS_STEP_METER_H

#include <stdint.h>

#include "base/err.h"
#include "base/stats.h"
#include "device/device.h"
#include "pipeline/counters.h"

#define METER_LAG 4      /* steps the host may be ahead of the device */
#define METER_KEEP 16384 /* newest samples kept for percentiles and plots */

typedef struct StepSample {
    float step, wait, busy; /* s: end to end, idle before it, the step's own work */
} StepSample;

typedef struct StepMeter {
    Device *device;
    Counters *counters;
    Event *start[METER_LAG], *end[METER_LAG];
    Event *previous_end; /* of the last step that was read */
    int has_previous;
    int64_t begun, read;
    Stats step, wait, busy; /* over all steps but the first `skip` */
    int64_t skip;
    StepSample *samples; /* [METER_KEEP] ring */
    int64_t sample_count;
} StepMeter;

/* skip: first steps that are not counted (filling the pipeline). counters may be NULL. */
int step_meter_open(StepMeter *m, Device *d, Counters *counters, int64_t skip, Err *err);
void step_meter_close(StepMeter *m); /* safe on a zeroed meter */
/* Around the step's work, on its stream, after the stream was told to wait for the batch. begin waits when
 * the host is METER_LAG ahead. */
int step_meter_begin(StepMeter *m, Stream *s, Err *err);
/* The same; what follows on the stream belongs to the batch, for a simulated device. */
int step_meter_begin_batch(StepMeter *m, Stream *s, int64_t batch, Err *err);
int step_meter_end(StepMeter *m, Stream *s, Err *err);
int step_meter_finish(StepMeter *m, Err *err); /* reads what is outstanding */
/* Waits of the newest samples: the q-quantile, in seconds. */
double step_meter_wait_quantile(const StepMeter *m, double q);

#endif
