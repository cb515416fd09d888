/* schedule.h - the learning rate of each step. */
#ifndef MYXTTS_SCHEDULE_H
#define MYXTTS_SCHEDULE_H

#include <stdint.h>

#include "config/config.h"

/* step from 1; total: the last step of the run, where the cosine ends. Beyond it the rate stays. The warm-up
 * is warmup_steps long. */
double schedule_rate(const Config *cfg, int64_t step, int64_t total);
/* The same with a warm-up of this many steps. */
double schedule_rate_after(const Config *cfg, int64_t warm, int64_t step, int64_t total);

#endif
