/* observation.h - what a pipeline and its consumer did over some batches: the only input of doctor and
 * forecast. observe() runs the real pipeline into the real training step (on simulated GPUs: into a step that
 * takes the machine's time) and writes no file. observation_from_pipeline() looks at a run that exists
 * already. Seconds everywhere. Threads: one. */
#ifndef MYXTTS_DIAG_OBSERVATION_H
#define MYXTTS_DIAG_OBSERVATION_H

#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "config/config.h"
#include "device/device.h"
#include "device/monitor.h"
#include "pipeline/corpus.h"
#include "pipeline/pipeline.h"

#define OBSERVED_PHASES 4 /* of the training step: forward, loss, backward, optimiser (train/engine.h) */

typedef struct ObserveOptions {
    const Config *cfg;
    Device *data, *model; /* may be the same */
    Sim *sim;             /* NULL: none */
    const Corpus *corpus;
    int64_t batches; /* after the warm-up; 0: as many as `seconds` allow, and enough to see periods of 50
                        steps where a step is short */
    double seconds;  /* about how long; 0: 8 */
    int no_step;     /* the consumer takes no time: the pipeline alone */
    Log *log;
} ObserveOptions;

typedef struct Observation {
    /* per batch, in order; index 0 is the oldest that is known */
    int64_t n;                 /* batches in the arrays */
    int64_t from;              /* first one of the window that is judged: before it the pipeline filled up */
    int from_start;            /* index 0 is the first batch of the pipeline */
    float *trace[TRACE_COUNT]; /* [n] */
    float *host_ready, *device_ready;
    int *rows; /* [n] utterances of the batch */

    /* over the window */
    StageSnapshot stages[STAGE_COUNT];
    double period, wait_share, busy_share; /* s per batch; shares of the model device's time */
    double step_mean, step_std;            /* of step times, end to end */
    double utterances_per_s, padding;
    double cpu_share; /* of all cores; < 0: not measured */
    int cores;
    int serial_disk; /* reads that overlap take longer: one disk serves one after the other */

    /* settings in use */
    PipelineReport report;
    int batch_size, num_workers, most_buffers, start_buffers;
    int synchronous, two_devices, host_data, host_model, on_the_fly, prefetch, overlap, own_copy;
    int held; /* the consumer keeps a buffer until its step is over; else until it has begun */
    int simulated;
    uint64_t h2d_bytes, peer_bytes; /* of a batch, mean */
    char data_name[16], model_name[16], model_model[96];

    /* of the real training step */
    int has_phases;
    double phase[OBSERVED_PHASES], phase_std[OBSERVED_PHASES]; /* mean, deviation */
    int64_t parameters;
    uint64_t engine_bytes;
    int graphs; /* the step runs as captured graphs */

    /* NVML */
    int has_gpu;
    MonitorSummary gpu[2]; /* model device, data device */
    MonitorSample *gpu_history;
    int gpu_samples;
} Observation;

int observe(Observation *o, const ObserveOptions *options, Err *err);
/* Of a pipeline that has run, at its end. 1 when there are too few batches to say anything.
 * held: see above. */
int observation_from_pipeline(Observation *o, Pipeline *p, const Config *cfg, const Device *data,
                              const Device *model, int64_t skip, int held, Err *err);
void observation_close(Observation *o); /* safe on a zeroed one */

double observation_mean(const Observation *o, TraceId t); /* over the window */

#endif
