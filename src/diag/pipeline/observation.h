/* observation.h - the times of a pipeline and its consumer over some batches: the only input of doctor and
 * forecast. observe() (trial.c) runs the real pipeline with the real training step (on simulated GPUs with a
 * step that only takes time) and writes no file. observation_from_pipeline() observes a run that exists
 * already. All times are in seconds. Threads: one. */
#ifndef MYXTTS_DIAG_OBSERVATION_H
#define MYXTTS_DIAG_OBSERVATION_H

#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "config/config.h"
#include "device/device.h"
#include "device/monitor.h"
#include "diag/ranks/exchange.h"
#include "pipeline/corpus.h"
#include "pipeline/pipeline.h"
#include "ranks/ranks.h"

#define OBSERVE_FEWEST 12 /* batches to observe at least */
#define OBSERVED_PHASES 4 /* of the training step: forward, loss, backward, optimiser (train/engine.h) */

typedef struct ObserveOptions {
    const Config *cfg;
    Device *data, *model; /* may be the same */
    Sim *sim;             /* NULL: none */
    const Corpus *corpus;
    /* Number of batches after the warm-up; 0: as many as `seconds` allow, and if steps are short, enough to
     * see periods of 50 steps. */
    int64_t batches;
    double seconds; /* about how long to observe; 0: 8 */
    int no_step;    /* the consumer takes no time: observe the pipeline alone */
    int alone;      /* of a simulated cluster: one rank as if there were no others */
    Ranks *ranks;   /* that train together: every step waits for all of them; NULL: alone */
    Log *log;
} ObserveOptions;

typedef struct Observation {
    /* Per batch, in order; index 0 is the oldest that is known. */
    int64_t n;      /* number of batches in the arrays */
    int64_t from;   /* first batch of the window that is judged; before it the pipeline filled up */
    int64_t first;  /* number of the batch of index 0, counted from the start of the pipeline */
    int from_start; /* 1: index 0 is the first batch of the pipeline */
    float *trace[TRACE_COUNT];        /* [n] */
    float *host_ready, *device_ready; /* [n] see TraceRow */
    int *rows, *frames;               /* [n] utterances of the batch, mel frames they are padded to */

    /* Over the window. */
    StageSnapshot stages[STAGE_COUNT];
    double period;                 /* seconds per batch */
    double wait_share, busy_share; /* of the time of the model device */
    double sum_share;              /* the rest of it: waiting for the sum over ranks */
    double step_mean, step_std;    /* of step times, end to end */
    double utterances_per_s, padding;
    double cpu_share; /* of all cores; < 0: not measured */
    double disturbed; /* seconds that threads waited for cores which other programs used, per second */
    int cores;
    int serial_disk; /* 1: overlapping reads take longer, so the disk serves one at a time */

    /* The settings in use. */
    PipelineReport report;
    int batch_size, num_workers, most_buffers, start_buffers;
    int synchronous, two_devices, host_data, host_model, on_the_fly, prefetch, overlap, own_copy;
    int held; /* 1: the consumer keeps a buffer until its step has ended; 0: until it has begun */
    int simulated;
    int ranks;                      /* that train together; 0 or 1: this one alone */
    int no_step;                    /* 1: the consumer took no time (profile data) */
    uint64_t h2d_bytes, peer_bytes; /* mean per batch */
    char data_name[16], model_name[16], model_model[96];

    /* Of the real training step. */
    int has_phases;
    double phase[OBSERVED_PHASES], phase_std[OBSERVED_PHASES]; /* mean, standard deviation */
    int64_t parameters;
    uint64_t engine_bytes;
    int graphs; /* 1: the step runs as captured graphs */

    Exchange exchange; /* of gradients, with ranks */

    /* From NVML. */
    int has_gpu;
    MonitorSummary gpu[2]; /* model device, data device */
    MonitorSample *gpu_history;
    int gpu_samples;
} Observation;

/* With a simulated cluster (`ranks` of --sim) all its ranks run, and rank 0 is observed (gang.h). */
int observe(Observation *o, const ObserveOptions *options, Err *err);
/* Observes a pipeline that has run, at its end. Returns 1 if there are too few batches to judge. held: see
 * Observation. */
int observation_from_pipeline(Observation *o, Pipeline *p, const Config *cfg, const Device *data,
                              const Device *model, int64_t skip, int held, Err *err);
void observation_close(Observation *o); /* a zeroed one is allowed */
/* Batches at the end of a run whose times are not complete yet. */
int64_t observation_tail(const PipelineReport *r);

double observation_mean(const Observation *o, TraceId t); /* mean of a trace over the window */
/* From the end of the step before to the end of batch k's: waiting, the step, and the sum over ranks. */
float observation_step(const Observation *o, int64_t k);

#endif
