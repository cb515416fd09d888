/* voice_watch.h - runs the voice doctor during training: examines the recordings before the run and the
 * curves after every validation, and has findings at the end. Warns about each cause once. Threads: that of
 * the run. */
#ifndef MYXTTS_DIAG_VOICE_WATCH_H
#define MYXTTS_DIAG_VOICE_WATCH_H

#include "base/log.h"
#include "diag/voice/voice_facts.h"

typedef struct VoiceWatch {
    const Config *cfg; /* its checkpoint_dir contains the log of the run */
    Log *log;
    VoiceFacts facts;
    VoiceFinding findings[VOICE_CAUSE_COUNT]; /* of the last look */
    int count;
    int warned[VOICE_CAUSE_COUNT];
    int64_t looked; /* step of the last look at the curves */
} VoiceWatch;

/* Examines the recordings and warns. If memory is short, it watches nothing; training does not
 * depend on it. */
void voice_watch_begin(VoiceWatch *w, const Config *cfg, const Corpus *train, const Corpus *validation,
                       Log *log);
/* 1: at this line of the log there was a validation since the last look. */
int voice_watch_is_due(const VoiceWatch *w, int64_t step);
/* Examines the curves up to this step, and warns. */
void voice_watch_step(VoiceWatch *w, int64_t step);
/* Updates w->findings at the end of the run, without warnings. */
void voice_watch_end(VoiceWatch *w);
void voice_watch_close(VoiceWatch *w); /* a zeroed one is allowed */

#endif
