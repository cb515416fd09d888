/* rank_numbers.h - the arithmetic of sums over ranks, on the host. Threads: any. */
#ifndef MYXTTS_RANK_NUMBERS_H
#define MYXTTS_RANK_NUMBERS_H

#include <stdint.h>

#include "ranks/ranks.h"

/* sum [n]: parts [count], each n numbers of `type`, added one after the other. sum may be a part. */
void rank_numbers_add(float *sum, const void *const *parts, int count, int64_t n, SumType type);
void rank_numbers_round(uint16_t *to, const float *from, int64_t n); /* to bf16 */
void rank_numbers_widen(float *to, const uint16_t *from, int64_t n); /* from bf16 */

#endif
