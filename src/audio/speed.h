/* speed.h - recordings faster or slower, and higher or lower with it: a windowed sinc over SPEED_REACH
 * samples on either side. Speeds are steps of 1 / SPEED_UNIT, so that every filter is in a table; nothing
 * folds back. A slower recording has nothing above the frequency that half of its sample rate has become.
 * Same input, same bits. Threads: read-only once open. */
#ifndef MYXTTS_SPEED_H
#define MYXTTS_SPEED_H

#include <stdint.h>

#include "base/err.h"

#define SPEED_UNIT 32  /* steps of a speed of 1 */
#define SPEED_REACH 24 /* samples on either side that a sample is made from */

typedef struct SpeedFilters SpeedFilters;

/* Speeds from 1 - share to 1 + share, 0 <= share <= 0.5. ERR_NOMEM. */
int speed_open(SpeedFilters **s, double share, Err *err);
void speed_close(SpeedFilters *s); /* NULL is fine */

/* The step next to a speed, as far as the share goes. */
int speed_step(const SpeedFilters *s, double speed);
/* Samples of the recording that lie under n samples at the step, and the most for any step. */
int64_t speed_span(int64_t n, int step);
int64_t speed_most(const SpeedFilters *s, int64_t n);
/* out [n] from `in`: sample i lies at i * step / SPEED_UNIT. SPEED_REACH samples before in[0] and behind the
 * span are read too. */
void speed_change(const SpeedFilters *s, float *out, int64_t n, const float *in, int step);

#endif
