/* voice_watch.h - the voice doctor beside a training run: a look at the recordings before it, one at the
 * curves behind every validation, findings at its end. A cause is warned of once. Threads: the run's. */
#ifndef MYXTTS_DIAG_VOICE_WATCH_H
#define MYXTTS_DIAG_VOICE_WATCH_H

#include "base/log.h"
#include "diag/voice_facts.h"

typedef struct VoiceWatch {
    const Config *cfg; /* the log of the run is in its checkpoint_dir */
    Log *log;
    VoiceFacts facts;
    VoiceFinding findings[VOICE_CAUSE_COUNT]; /* of the last look */
    int count;
    int warned[VOICE_CAUSE_COUNT];
    int64_t looked; /* step of the last look at the curves */
} VoiceWatch;

/* Looks at the recordings and warns. Without memory for it nothing is watched; training does not depend on
 * this. */
void voice_watch_begin(VoiceWatch *w, const Config *cfg, const Corpus *train, const Corpus *validation,
                       Log *log);
/* Behind a line of the log: looks at the curves where a validation has come since. */
void voice_watch_step(VoiceWatch *w, int64_t step);
/* All that is known at the end, without warnings: in findings. */
void voice_watch_end(VoiceWatch *w);
void voice_watch_close(VoiceWatch *w); /* safe on a zeroed one */

#endif
