/* rng.h - random numbers from an explicit seed; the whole state is a small struct that can be saved.
 * xoshiro256** 1.0 (Blackman and Vigna, public domain reference), seeded through splitmix64. */
#ifndef MYXTTS_RNG_H
#define MYXTTS_RNG_H

#include <stdint.h>

typedef struct Rng {
    uint64_t s[4];
} Rng;

void rng_seed(Rng *r, uint64_t seed);
/* Derives a seed from two numbers. rng_mix(seed, epoch) and rng_mix(seed, epoch + 1) are unrelated. */
uint64_t rng_mix(uint64_t a, uint64_t b);
uint64_t rng_u64(Rng *r);
uint64_t rng_below(Rng *r, uint64_t n); /* 0 .. n-1, no modulo bias; n > 0 */
double rng_uniform(Rng *r);             /* [0, 1) */
double rng_normal(Rng *r);              /* mean 0, standard deviation 1 */
void rng_shuffle_u32(Rng *r, uint32_t *items, uint64_t n);

#endif
