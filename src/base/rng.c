/* rng.c - see rng.h. */
#include "base/rng.h"

#include <math.h>

#include "base/check.h"

/* splitmix64 (Steele, Lea and Flood): spreads any seed, even 0, over all bits. */
static uint64_t splitmix(uint64_t *x)
{
    uint64_t z = (*x += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

void rng_seed(Rng *r, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        r->s[i] = splitmix(&seed);
}

/* Both numbers are mixed, so that (seed, 1) and (seed, 2) give unrelated results. The order of the arguments
 * matters. */
uint64_t rng_mix(uint64_t a, uint64_t b)
{
    uint64_t x = a;
    uint64_t y = splitmix(&x) ^ b;
    return splitmix(&y);
}

static uint64_t rotl(uint64_t x, int k) { return x << k | x >> (64 - k); }

/* xoshiro256** 1.0, as in the reference by Blackman and Vigna. */
uint64_t rng_u64(Rng *r)
{
    uint64_t *s = r->s;
    const uint64_t result = rotl(s[1] * 5, 7) * 9;
    const uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

/* x % n of any x would favour small results, unless 2^64 is a multiple of n. So the smallest 2^64 mod n
 * values of x are rejected and drawn again; the number of those left is a multiple of n. */
uint64_t rng_below(Rng *r, uint64_t n)
{
    ASSERT(n > 0);
    const uint64_t reject_below = -n % n; /* 2^64 mod n, as unsigned -n is 2^64 - n */
    uint64_t x;
    do {
        x = rng_u64(r);
    } while (x < reject_below);
    return x % n;
}

/* A multiple of 2^-53 in [0, 1): a double has 53 bits of precision. */
double rng_uniform(Rng *r) { return (double)(rng_u64(r) >> 11) * 0x1p-53; }

/* Box-Muller; the second value is not kept, so that the state stays four words. */
double rng_normal(Rng *r)
{
    double u = 1 - rng_uniform(r); /* in (0, 1]: log(0) cannot happen */
    double v = rng_uniform(r);
    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

/* Fisher-Yates, from the end. */
void rng_shuffle_u32(Rng *r, uint32_t *items, uint64_t n)
{
    for (uint64_t i = n; i > 1; i--) {
        uint64_t j = rng_below(r, i);
        uint32_t t = items[i - 1];
        items[i - 1] = items[j];
        items[j] = t;
    }
}
