/* philox.h - random bits as a function of (seed, index): Philox4x32 of Salmon et al., "Parallel random
 * numbers: as easy as 1, 2, 3" (2011). The same on every device, in any order. Usable from C and from CUDA.
 */
#ifndef MYXTTS_PHILOX_H
#define MYXTTS_PHILOX_H

#include <stdint.h>

#ifdef __CUDACC__
#define PHILOX_FN static __host__ __device__ __forceinline__
#else
#define PHILOX_FN static inline __attribute__((always_inline))
#endif

#define PHILOX_M0 0xD2511F53u
#define PHILOX_M1 0xCD9E8D57u
#define PHILOX_W0 0x9E3779B9u
#define PHILOX_W1 0xBB67AE85u
#define PHILOX_ROUNDS 7 /* the fewest that pass BigCrush, says the paper; dropout asks for no more */

/* Four words for one counter (the upper half of the 128-bit counter is zero); the seed is the key. */
PHILOX_FN void philox4x32(uint32_t out[4], uint64_t counter, uint64_t seed, int rounds)
{
    uint32_t a = (uint32_t)counter, b = (uint32_t)(counter >> 32), c = 0, d = 0;
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int i = 0; i < rounds; i++, k0 += PHILOX_W0, k1 += PHILOX_W1) {
        uint64_t p = (uint64_t)PHILOX_M0 * a, q = (uint64_t)PHILOX_M1 * c;
        a = (uint32_t)(q >> 32) ^ b ^ k0;
        b = (uint32_t)q;
        c = (uint32_t)(p >> 32) ^ d ^ k1;
        d = (uint32_t)p;
    }
    out[0] = a;
    out[1] = b;
    out[2] = c;
    out[3] = d;
}

/* Dropout of element i uses the i % 8th 16 bits of counter i / 8, the lower half of a word first. It is kept
 * when they are at least this: p rounded to a multiple of 2^-16. */
PHILOX_FN uint32_t philox_threshold(float p) { return (uint32_t)(p * 65536.0f + 0.5f); }

/* What a kept element is multiplied by. */
PHILOX_FN float philox_scale(uint32_t threshold) { return 65536.0f / (float)(65536 - threshold); }

/* The 16 bits of element j of a counter's eight. */
PHILOX_FN uint32_t philox_bits(const uint32_t w[4], int j) { return w[j / 2] >> 16 * (j % 2) & 0xFFFF; }

PHILOX_FN int philox_keep(uint64_t index, uint64_t seed, uint32_t threshold)
{
    uint32_t w[4];
    philox4x32(w, index / 8, seed, PHILOX_ROUNDS);
    return philox_bits(w, (int)(index % 8)) >= threshold;
}

#endif
