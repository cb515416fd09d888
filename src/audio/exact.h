/* exact.h - arithmetic that gives the same bits on the CPU and on the GPU.
 * Every operation is one IEEE operation, rounded to nearest even: no fused multiply-add, no reordering, no
 * library function (libm and CUDA round exp and log differently). exact_exp and exact_log are good to about
 * 1e-11, far below the float that they end in. Included by C files and by .cu files; in the latter the
 * functions are device functions. */
#ifndef MYXTTS_EXACT_H
#define MYXTTS_EXACT_H

#include <stdint.h>

#ifdef __CUDACC__

#define EXACT static __device__ __forceinline__
EXACT double exact_add(double a, double b) { return __dadd_rn(a, b); }
EXACT double exact_sub(double a, double b) { return __dsub_rn(a, b); }
EXACT double exact_mul(double a, double b) { return __dmul_rn(a, b); }
EXACT double exact_div(double a, double b) { return __ddiv_rn(a, b); }
EXACT float exact_addf(float a, float b) { return __fadd_rn(a, b); }
EXACT float exact_subf(float a, float b) { return __fsub_rn(a, b); }
EXACT float exact_mulf(float a, float b) { return __fmul_rn(a, b); }
EXACT float exact_divf(float a, float b) { return __fdiv_rn(a, b); }
EXACT uint64_t exact_bits(double a) { return (uint64_t)__double_as_longlong(a); }
EXACT double exact_of_bits(uint64_t a) { return __longlong_as_double((long long)a); }
EXACT uint32_t exact_bitsf(float a) { return __float_as_uint(a); }

#else

#include <string.h>

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

#define EXACT static inline
EXACT double exact_add(double a, double b) { return a + b; }
EXACT double exact_sub(double a, double b) { return a - b; }
EXACT double exact_mul(double a, double b) { return a * b; }
EXACT double exact_div(double a, double b) { return a / b; }
EXACT float exact_addf(float a, float b) { return a + b; }
EXACT float exact_subf(float a, float b) { return a - b; }
EXACT float exact_mulf(float a, float b) { return a * b; }
EXACT float exact_divf(float a, float b) { return a / b; }
EXACT uint64_t exact_bits(double a)
{
    uint64_t u;
    memcpy(&u, &a, sizeof u);
    return u;
}
EXACT double exact_of_bits(uint64_t u)
{
    double a;
    memcpy(&a, &u, sizeof a);
    return a;
}
EXACT uint32_t exact_bitsf(float a)
{
    uint32_t u;
    memcpy(&u, &a, sizeof u);
    return u;
}

#endif

/* Natural logarithm of a normal positive number; the operations of logarithm() in mel_kernel.c, one by
 * one. */
EXACT double exact_log(double x)
{
    uint64_t bits = exact_bits(x),
             e = (bits + (0x3FF0000000000000u - 0x3FE6A09E667F3BCDu)) >> 52; /* exponent + 1023 */
    double m = exact_of_bits(bits - ((e - 1023) << 52));
    double exponent = exact_sub(exact_of_bits(e | 0x4330000000000000u), 4503599627370496.0 + 1023.0);
    double s = exact_div(exact_sub(m, 1.0), exact_add(m, 1.0)), q = exact_mul(s, s);
    double tail = 1.0 / 13;
    tail = exact_add(tail, exact_mul(q, 1.0 / 15));
    tail = exact_add(1.0 / 11, exact_mul(q, tail));
    tail = exact_add(1.0 / 9, exact_mul(q, tail));
    tail = exact_add(1.0 / 7, exact_mul(q, tail));
    tail = exact_add(1.0 / 5, exact_mul(q, tail));
    tail = exact_add(1.0 / 3, exact_mul(q, tail));
    tail = exact_mul(q, tail);
    double log_m = exact_mul(2.0, exact_add(s, exact_mul(s, tail)));
    return exact_add(exact_mul(exponent, 0.69314718055994530942), log_m);
}

/* exp of x, which is taken to lie within -60 .. 60: x = k ln 2 + r with |r| <= 0.35, then the series of exp r
 * up to r^11. ln 2 is taken in two parts, so that k times the first is without error. */
EXACT double exact_exp(double x)
{
    const double shift = 6755399441055744.0; /* 1.5 * 2^52: added, it leaves the integer in the low bits */
    x = x < -60.0 ? -60.0 : x > 60.0 ? 60.0 : x;
    double t = exact_add(exact_mul(x, 1.4426950408889634074), shift), k = exact_sub(t, shift);
    double r = exact_sub(exact_sub(x, exact_mul(k, 0x1.62e42feep-1)), exact_mul(k, 0x1.a39ef35793c76p-33));
    double y = 1.0 / 39916800;
    y = exact_add(1.0 / 3628800, exact_mul(r, y));
    y = exact_add(1.0 / 362880, exact_mul(r, y));
    y = exact_add(1.0 / 40320, exact_mul(r, y));
    y = exact_add(1.0 / 5040, exact_mul(r, y));
    y = exact_add(1.0 / 720, exact_mul(r, y));
    y = exact_add(1.0 / 120, exact_mul(r, y));
    y = exact_add(1.0 / 24, exact_mul(r, y));
    y = exact_add(1.0 / 6, exact_mul(r, y));
    y = exact_add(0.5, exact_mul(r, y));
    y = exact_add(1.0, exact_mul(r, y));
    y = exact_add(1.0, exact_mul(r, y));
    return exact_mul(y, exact_of_bits((exact_bits(t) - exact_bits(shift) + 1023) << 52));
}

/* sqrt(re^2 + im^2); the operations of magnitude() in mel_kernel.c. */
EXACT double exact_magnitude(double re, double im)
{
    double x = exact_add(exact_mul(re, re), exact_mul(im, im)), half = exact_mul(x, 0.5);
    double y = exact_of_bits(0x5FE6EB50C7B537A9u - (exact_bits(x) >> 1));
    y = exact_mul(y, exact_sub(1.5, exact_mul(exact_mul(half, y), y)));
    y = exact_mul(y, exact_sub(1.5, exact_mul(exact_mul(half, y), y)));
    y = exact_mul(y, exact_sub(1.5, exact_mul(exact_mul(half, y), y)));
    return exact_mul(x, y);
}

/* 64 random-looking bits out of three numbers (the finaliser of splitmix64, twice). */
EXACT uint64_t exact_hash(uint64_t seed, uint64_t a, uint64_t b)
{
    uint64_t z = seed + 0x9E3779B97F4A7C15u * (a + 1);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z = (z ^ (z >> 31)) + 0x9E3779B97F4A7C15u * (b + 1);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

#endif
