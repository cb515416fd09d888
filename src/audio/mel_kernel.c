/* mel_kernel.c - window, Fourier transform, magnitudes, bands and logarithm of LANES frames at once, one
 * frame in each double of a vector register. The Makefile compiles this file once for each instruction set,
 * with -DINSTRUCTIONS=plain|avx2|avx512 and -DREGISTER_BYTES=16|32|64; variant_is_supported()
 * (base/variant.h) tells whether the processor has what such an object needs. Every variant computes the same
 * bits: the pragma below forbids fused multiply-adds, and sums have the same order in all of them. */
#include "audio/mel_kernel.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if REGISTER_BYTES > 16
#include <immintrin.h>
#endif

#include "audio/mel.h"
#include "base/variant.h"

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

#define REAL double
#define LANES (REGISTER_BYTES / 8)
#include "audio/fft_lanes.h"

typedef uint64_t LaneBits __attribute__((vector_size(8 * LANES)));
typedef float LanesF __attribute__((vector_size(4 * LANES)));

/* LANES floats to doubles. GCC 12 compiles __builtin_convertvector to three instructions; the intrinsic is
 * one. */
#if REGISTER_BYTES == 64
#define WIDEN(v) ((Lanes)_mm512_cvtps_pd((__m256)(v)))
#elif REGISTER_BYTES == 32
#define WIDEN(v) ((Lanes)_mm256_cvtps_pd((__m128)(v)))
#else
#define WIDEN(v) __builtin_convertvector(v, Lanes)
#endif

/* SHUFFLE picks four floats out of eight: 0 to 3 are those of a, 4 to 7 those of b. */
typedef float Four __attribute__((vector_size(16)));
#if defined(__clang__)
#define SHUFFLE(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
typedef int32_t FourIndex __attribute__((vector_size(16)));
#define SHUFFLE(a, b, i, j, k, l) __builtin_shuffle(a, b, (FourIndex){i, j, k, l})
#endif

/* Fills w->across with the segment transposed: sample j of hop m goes to [j][m]. Frame l begins with hop l,
 * so sample j + k * hop of frame l is sample j of hop k + l; for all frames, these are neighbours in row j
 * and load as one vector, at t->offset[j + k * hop]. Requires that hop divides n_fft. */
INLINE void transpose(const MelTables *t, MelWork *w, const float *x)
{
    size_t hop = (size_t)t->hop, row = (size_t)t->row_stride;
    size_t last = (size_t)(LANES + t->n_fft / t->hop - 2); /* number of the segment's last hop */
    /* Four hops at a time. If fewer are left, the last is repeated; the repetitions land in padding, since
     * row_stride is a multiple of 8. */
    for (size_t m = 0; m <= last; m += 4) {
        const float *x0 = x + m * hop;
        const float *x1 = x + (m + 1 < last ? m + 1 : last) * hop;
        const float *x2 = x + (m + 2 < last ? m + 2 : last) * hop;
        const float *x3 = x + (m + 3 < last ? m + 3 : last) * hop;
        float *to = w->across + m;
        size_t j = 0;
        /* Blocks of 4 x 4 in registers, then the samples that are left. */
        for (; j + 4 <= hop; j += 4, to += 4 * row) {
            Four a, b, c, d;
            memcpy(&a, x0 + j, sizeof a);
            memcpy(&b, x1 + j, sizeof b);
            memcpy(&c, x2 + j, sizeof c);
            memcpy(&d, x3 + j, sizeof d);
            Four ab = SHUFFLE(a, b, 0, 4, 1, 5), cd = SHUFFLE(c, d, 0, 4, 1, 5);
            Four ba = SHUFFLE(a, b, 2, 6, 3, 7), dc = SHUFFLE(c, d, 2, 6, 3, 7);
            Four r0 = SHUFFLE(ab, cd, 0, 1, 4, 5), r1 = SHUFFLE(ab, cd, 2, 3, 6, 7);
            Four r2 = SHUFFLE(ba, dc, 0, 1, 4, 5), r3 = SHUFFLE(ba, dc, 2, 3, 6, 7);
            memcpy(to, &r0, sizeof r0);
            memcpy(to + row, &r1, sizeof r1);
            memcpy(to + 2 * row, &r2, sizeof r2);
            memcpy(to + 3 * row, &r3, sizeof r3);
        }
        for (; j < hop; j++, to += row) {
            to[0] = x0[j];
            to[1] = x1[j];
            to[2] = x2[j];
            to[3] = x3[j];
        }
    }
}

/* Complex point i of all frames: samples 2i and 2i + 1, times the window. */
INLINE void load_point(Point *out, const MelTables *t, const MelWork *w, int i)
{
    LanesF even, odd;
    memcpy(&even, w->across + t->offset[2 * i], sizeof even);
    memcpy(&odd, w->across + t->offset[2 * i + 1], sizeof odd);
    out->re = WIDEN(even) * t->window[2 * i];
    out->im = WIDEN(odd) * t->window[2 * i + 1];
}

/* Windows the frames and runs the first pass of the transform on them in one sweep. For the usual case: hop
 * divides n_fft, n_fft is even and the first radix is 8. */
INLINE void load_with_first_pass(const MelTables *t, MelWork *w, const float *x)
{
    transpose(t, w, x);
    Point *z = (Point *)w->points;
    int m = t->fft.block;
    const double *twist = t->fft.passes[0].twist;
    for (int p = 0; p < m; p++, twist += 14) { /* seven complex factors per butterfly */
        Point in[8];
        load_point(&in[0], t, w, p);
        load_point(&in[1], t, w, p + m);
        load_point(&in[2], t, w, p + 2 * m);
        load_point(&in[3], t, w, p + 3 * m);
        load_point(&in[4], t, w, p + 4 * m);
        load_point(&in[5], t, w, p + 5 * m);
        load_point(&in[6], t, w, p + 6 * m);
        load_point(&in[7], t, w, p + 7 * m);
        butterfly8(z + p, t->fft.block_step, twist, in, 0);
    }
}

/* The same in two sweeps, for any hop, n_fft and radix. */
INLINE void load_then_first_pass(const MelTables *t, MelWork *w, const float *x)
{
    Point *z = (Point *)w->points;
    const FftPlan *f = &t->fft;
    for (int i = 0; i < f->n; i++) {
        /* Blocks have gaps between them, see fft.h. */
        Point *at = z + i / f->block * f->block_step + i % f->block;
        for (int part = 0; part < (t->packed ? 2 : 1); part++) {
            int j = t->packed ? 2 * i + part : i;
            Lanes v;
            for (int l = 0; l < LANES; l++)
                v[l] = (double)x[(size_t)l * (size_t)t->hop + (size_t)j];
            if (part == 0)
                at->re = v * t->window[j];
            else
                at->im = v * t->window[j];
        }
        if (!t->packed)
            at->im = (Lanes){0};
    }
    if (f->n_passes)
        run_pass(&f->passes[0], z, f->block_step, (Point *)w->spare);
}

/* sqrt(re^2 + im^2) with a relative error under 1e-10; zero gives zero. With x = re^2 + im^2, computed as
 * x * (1 / sqrt(x)): a first guess of the reciprocal root comes from the bit pattern of x (3.4 % off), and
 * three Newton steps refine it. These instructions are pipelined, which square roots are not, and give the
 * same bits on every processor. */
INLINE void magnitude(Lanes *out, const Lanes *re, const Lanes *im)
{
    Lanes x = *re * *re + *im * *im, half = x * 0.5, y;
    LaneBits bits;
    memcpy(&bits, &x, sizeof x);
    bits = 0x5FE6EB50C7B537A9u - (bits >> 1); /* halves and negates the exponent */
    memcpy(&y, &bits, sizeof y);
    y *= 1.5 - half * y * y;
    y *= 1.5 - half * y * y;
    y *= 1.5 - half * y * y;
    *out = x * y;
}

/* Magnitudes of the bins that any band uses, out of the finished transform. */
INLINE void magnitudes(const MelTables *t, MelWork *w)
{
    const Point *z = (const Point *)w->points;
    const int *place = t->fft.place;
    Lanes *out = (Lanes *)w->bins;
    int n = t->fft.n, bins = t->n_bins;
    if (!t->packed) {
        for (int k = 0; k < bins; k++)
            magnitude(&out[k], &z[place[k]].re, &z[place[k]].im);
        return;
    }
    /* Bin 0 and the highest bin are real. They are not halved, so the halving by the window is undone here.
     */
    const Lanes zero = {0};
    Lanes sum = (z[place[0]].re + z[place[0]].im) * 2.0, difference = (z[place[0]].re - z[place[0]].im) * 2.0;
    magnitude(&out[0], &sum, &zero);
    if (n < bins)
        magnitude(&out[n], &difference, &zero);
    /* Z is the transform of x[2j] + i x[2j + 1], X that of x. E and O, those of the even and the odd samples:
     *   E = (Z[k] + conj Z[n - k]) / 2      X[k]     = E + w O
     *   O = (Z[k] - conj Z[n - k]) / 2i     X[n - k] = conj(E - w O)     w = exp(-2 pi i k / 2n)
     * The halved window has already divided by 2. */
    for (int k = 1; k <= n / 2 && k < bins; k++) {
        Point a = z[place[k]], b = z[place[n - k]];
        Point even = {a.re + b.re, a.im - b.im};
        Point odd = {a.im + b.im, b.re - a.re}, turned = MUL(odd, t->unpack_twiddles + 2 * k);
        Point low = ADD(even, turned), high = SUB(even, turned);
        magnitude(&out[k], &low.re, &low.im);
        if (n - k < bins)
            magnitude(&out[n - k], &high.re, &high.im);
    }
}

/* Natural logarithm of normal positive numbers, relative error under 1e-11 everywhere, even next to 1, where
 * the result goes to 0. x = m * 2^e with m in [sqrt(1/2), sqrt(2)), so log x = e log 2 + log m; and
 * log m = 2 artanh(s) with s = (m - 1) / (m + 1), |s| < 0.1716, by its series up to s^15. */
INLINE void logarithm(Lanes *v)
{
    Lanes x = *v;
    LaneBits bits, e, mantissa;
    Lanes m, exponent;
    memcpy(&bits, &x, sizeof x);
    /* The exponent field steps up at powers of two. Adding the distance from sqrt(1/2) to 1, as bit patterns,
     * makes it step up at sqrt(1/2) times a power of two instead. */
    e = (bits + (0x3FF0000000000000u - 0x3FE6A09E667F3BCDu)) >> 52; /* exponent + 1023 */
    mantissa = bits - ((e - 1023) << 52);
    e |= 0x4330000000000000u; /* integer to double: these are the bits of 2^52 + e */
    memcpy(&m, &mantissa, sizeof m);
    memcpy(&exponent, &e, sizeof e);
    exponent -= 4503599627370496.0 + 1023.0; /* 2^52 + 1023 */
    Lanes s = (m - 1.0) / (m + 1.0), q = s * s;
    Lanes tail =
        q *
        (1.0 / 3 +
         q * (1.0 / 5 + q * (1.0 / 7 + q * (1.0 / 9 + q * (1.0 / 11 + q * (1.0 / 13 + q * (1.0 / 15)))))));
    *v = exponent * 0.69314718055994530942 + 2.0 * (s + s * tail);
}

/* The larger of *v and floor; NaN becomes floor. */
INLINE void at_least(Lanes *v, double floor)
{
    LaneBits above = (LaneBits)(*v > floor), bits, floor_bits;
    Lanes floors = (Lanes){0} + floor;
    memcpy(&bits, v, sizeof bits);
    memcpy(&floor_bits, &floors, sizeof floors);
    bits = (bits & above) | (floor_bits & ~above);
    memcpy(v, &bits, sizeof bits);
}

/* Log mel: the logarithm of each band's weighted sum of magnitudes. */
INLINE void sum_bands(const MelTables *t, MelWork *w)
{
    const Lanes *mag = (const Lanes *)w->bins;
    for (int b = 0; b < t->n_bands; b++) {
        const MelBand *band = &t->bands[b];
        const double *weight = t->weights + band->weight;
        Lanes sum = {0};
        for (int k = 0; k < band->count; k++)
            sum += mag[band->first + k] * weight[k];
        at_least(&sum, (double)MEL_FLOOR);
        logarithm(&sum);
        /* The only rounding to float. */
        LanesF v = __builtin_convertvector(sum, LanesF);
        memcpy(w->result + (size_t)b * LANES, &v, sizeof v);
    }
}

static void run(const MelTables *t, MelWork *w, const float *segment)
{
    /* With a block of 1, all twists of the only butterfly are 1 and run_pass skips the multiplications. */
    if (t->offset && t->fft.passes[0].radix == 8 && t->fft.block > 1)
        load_with_first_pass(t, w, segment);
    else
        load_then_first_pass(t, w, segment);
    finish_blocks(&t->fft, (Point *)w->points, (Point *)w->spare);
    magnitudes(t, w);
    sum_bands(t, w);
}

const MelVariant VARIANT(mel_kernel, INSTRUCTIONS) = {VARIANT_STRING(INSTRUCTIONS), LANES, run};
