/* fit.h - how well a unit of text fits a span of sound, frame by frame: the best way through its states.
 * Threads: one per FitScratch. */
#ifndef MYXTTS_FIT_H
#define MYXTTS_FIT_H

#include <stdint.h>

#include "base/err.h"
#include "corpus/follow.h"

typedef struct FitScratch {
    float *scores, *best;
    uint8_t *from;  /* [frames, states of the unit] */
    uint16_t *path; /* [frames]: state of each frame, after fit_unit */
    size_t scores_cap, best_cap, from_cap, path_cap;
} FitScratch;
void fit_scratch_free(FitScratch *s);

#define FIT_NEVER (-10.0f) /* the score of what cannot fit; nothing else is as low */

typedef struct Fit {
    float score;        /* mean gain of the frames with sound over all speech; about 1 where all is right */
    float worst;        /* the same of the worst second of it: a word that was read differently */
    int64_t begin, end; /* frames with sound, end exclusive */
} Fit;

/* text: the unit whose states are laid over the frames of `where`. ERR_NOMEM. A text that cannot fit (more
 * states than frames) scores FIT_NEVER. */
int fit_unit(FitScratch *s, Fit *fit, const Listening *l, const PhoneModels *m, const Chain *c, int text,
             const Found *where, Err *err);

#endif
