/* watch.h - the doctor beside a training run: a warning while the run is being starved, a verdict at its end;
 * the voice's doctor looks on through it. Threads: the run's. */
#ifndef MYXTTS_DIAG_WATCH_H
#define MYXTTS_DIAG_WATCH_H

#include "base/log.h"
#include "diag/doctor.h"
#include "diag/voice_watch.h"
#include "train/trainer.h"

typedef struct Watch {
    const Config *cfg;
    const Device *data, *model;
    Log *log;
    int64_t warned;    /* step of the last warning; 0: none */
    VoiceWatch *voice; /* told of every line; NULL: nobody watches the voice */
} Watch;

/* For TrainerOptions.watch; arg is a Watch. */
void watch_interval(void *arg, const TrainerView *view, int last);
/* The verdict over the newest batches of a run. 1 when there are too few, 0, or a negative code. */
int watch_verdict(Verdict *v, const Watch *w, Pipeline *p, Err *err);

#endif
