/* watch.h - runs the doctor during training: warns while the trainer is starved of data or its steps
 * are uneven without a reason (swings.h), and gives a verdict
 * at the end. It also has the voice doctor look at the log. The doctors run in a separate thread, one at a
 * time, so that no step waits for them. Threads: that of the run. */
#ifndef MYXTTS_DIAG_WATCH_H
#define MYXTTS_DIAG_WATCH_H

#include "base/disturbance.h"
#include "base/log.h"
#include "base/thread.h"
#include "diag/pipeline/doctor.h"
#include "diag/voice/voice_watch.h"
#include "train/trainer.h"

typedef struct Watch {
    const Config *cfg;
    const Device *data, *model;
    Log *log;
    int64_t warned;    /* step of the last look at the speed; 0: none */
    int64_t since;     /* batch: before it a step was another one */
    VoiceWatch *voice; /* gets every line; NULL: the voice is not watched */
    Disturbance begun; /* before the run; zeroed: what others do is not looked at */
    int writes;        /* 1: what is found goes into the log of the run, too (rank 0) */
    /* The look under way. */
    Thread thread;
    _Atomic int busy;
    int looks_at_voice, looks_at_speed;
    int64_t step;
    double wait; /* share of the time of the steps since the line before */
    Observation seen;
} Watch;

/* For TrainerOptions.watch; arg is a Watch. */
void watch_interval(void *arg, const TrainerView *view, int last);
void watch_end(Watch *w); /* waits for the look that is under way; call it before the run is closed */
/* The verdict on the newest batches of a run. Returns 0, 1 if there are too few batches, or
 * a negative code. */
int watch_verdict(Verdict *v, const Watch *w, Pipeline *p, Err *err);

/* Writes a verdict to the log of the run, where w->writes is set: {"event": "verdict"}. A log that cannot be
 * written is warned of. */
void watch_note(const Watch *w, int64_t step, const char *text);

#endif
