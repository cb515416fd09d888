/* schedule.h - the learning rate of each step. */
#ifndef MYXTTS_SCHEDULE_H
#define MYXTTS_SCHEDULE_H

#include <stdint.h>

#include "config/config.h"

/* step from 1; total: the last step of the run, where the cosine ends. Beyond it the rate stays. */
double schedule_rate(const Config *cfg, int64_t step, int64_t total);

#endif
