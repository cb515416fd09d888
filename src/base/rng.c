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

/* Both numbers go through the mixer, so that neighbours such as epochs 1 and 2 have nothing in common. */
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
    uint64_t *s = r->s, out = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return out;
}

/* Rejection instead of a bare remainder, which would prefer small numbers. */
uint64_t rng_below(Rng *r, uint64_t n)
{
    ASSERT(n > 0);
    uint64_t limit = -n % n, x; /* the values below 2^64 mod n would make small results likelier */
    do {
        x = rng_u64(r);
    } while (x < limit);
    return x % n;
}

/* The upper 53 bits are the most that a double between 0 and 1 can hold. */
double rng_uniform(Rng *r) { return (double)(rng_u64(r) >> 11) * 0x1p-53; }

/* Box-Muller; the second value is not kept, so that the state stays four words. */
double rng_normal(Rng *r)
{
    double u = 1 - rng_uniform(r), v = rng_uniform(r);
    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

/* Fisher and Yates, from the end. */
void rng_shuffle_u32(Rng *r, uint32_t *items, uint64_t n)
{
    for (uint64_t i = n; i > 1; i--) {
        uint64_t j = rng_below(r, i);
        uint32_t t = items[i - 1];
        items[i - 1] = items[j];
        items[j] = t;
    }
}
