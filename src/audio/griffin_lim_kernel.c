/* griffin_lim_kernel.c - see griffin_lim_kernel.h.
 * Compiled once per instruction set, with -DINSTRUCTIONS=plain|avx2 and that set's flags: with AVX2 eight
 * frames fill one register, without it two. */
#include "audio/griffin_lim_kernel.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/variant.h"

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

#define REAL float
#define LANES GRIFFIN_LIM_LANES
#include "audio/fft_lanes.h"

typedef uint32_t LaneBits __attribute__((vector_size(4 * LANES)));

/* ---- bands to magnitudes */

/* gather[k] = per_bin[k] * sum over the bands of weight * ratio */
INLINE void spread(const GriffinLimTables *t, GriffinLimWork *w)
{
    const Lanes *ratio = (const Lanes *)w->ratio;
    Lanes *to = (Lanes *)w->gather;
    memset(to, 0, (size_t)t->mel->n_bins * sizeof *to);
    for (int b = 0; b < t->mel->n_bands; b++) {
        const MelBand *band = &t->mel->bands[b];
        const float *weight = t->weights + band->weight;
        for (int k = 0; k < band->count; k++)
            to[band->first + k] += ratio[b] * weight[k];
    }
    for (int k = 0; k < t->mel->n_bins; k++)
        to[k] *= t->per_bin[k];
}

/* ratio[b] = given / (sum of the band's magnitudes) */
INLINE void compare_bands(const GriffinLimTables *t, GriffinLimWork *w, const Lanes *given,
                          const Lanes *magnitudes)
{
    Lanes *ratio = (Lanes *)w->ratio;
    for (int b = 0; b < t->mel->n_bands; b++) {
        const MelBand *band = &t->mel->bands[b];
        const float *weight = t->weights + band->weight;
        Lanes sum = (Lanes){0} + 1e-20f;
        for (int k = 0; k < band->count; k++)
            sum += magnitudes[band->first + k] * weight[k];
        ratio[b] = given[b] / sum;
    }
}

/* Richardson-Lucy (Kullback-Leibler): every band's ratio of given to present goes back to its bins. It errs
 * by equal factors, not by equal amounts, as the logarithm of a mel should. */
static void invert(const GriffinLimTables *t, GriffinLimWork *w, float *magnitudes, const float *mel,
                   int updates)
{
    const Lanes *given = (const Lanes *)mel;
    Lanes *s = (Lanes *)magnitudes, *ratio = (Lanes *)w->ratio;
    const int bands = t->mel->n_bands, bins = t->mel->n_bins;
    for (int b = 0; b < bands; b++)
        ratio[b] = given[b] * t->per_band[b];
    spread(t, w);
    memcpy(s, w->gather, (size_t)bins * sizeof *s);
    for (int i = 0; i < updates; i++) {
        compare_bands(t, w, given, s);
        spread(t, w);
        for (int k = 0; k < bins; k++)
            s[k] *= ((const Lanes *)w->gather)[k];
    }
}

/* ---- one round */

/* Complex point i: samples 2i and 2i + 1, times the window. */
INLINE void load(const GriffinLimTables *t, GriffinLimWork *w, const GriffinLimRound *r)
{
    Point *z = (Point *)w->points;
    const FftPlan *f = &t->mel->fft;
    for (int i = 0; i < f->n; i++) {
        Point *at = z + t->natural[i];
        Lanes even, odd;
        memcpy(&even, r->in + r->offset[2 * i], sizeof even);
        memcpy(&odd, r->in + r->offset[2 * i + 1], sizeof odd);
        at->re = even * t->analysis[2 * i];
        at->im = odd * t->analysis[2 * i + 1];
    }
    if (f->n_passes)
        run_pass(&f->passes[0], z, f->block_step, (Point *)w->spare);
    finish_blocks(f, z, (Point *)w->spare);
}

/* 1 / sqrt by its bit pattern and three steps of Newton: the same on every processor. A large number for 0.
 */
INLINE void inverse_root(Lanes *out, const Lanes *x)
{
    Lanes half = *x * 0.5f, y;
    LaneBits bits;
    memcpy(&bits, x, sizeof bits);
    bits = 0x5F375A86u - (bits >> 1);
    memcpy(&y, &bits, sizeof y);
    y *= 1.5f - half * y * y;
    y *= 1.5f - half * y * y;
    y *= 1.5f - half * y * y;
    *out = y;
}

/* With Z the transform of even + i odd samples and n half of n_fft:
 *   E = (Z[k] + conj Z[n-k]) / 2, O = (Z[k] - conj Z[n-k]) / 2i, X[k] = E + exp(-2 pi i k / 2n) O, conj
 * X[n-k] = E - exp(...) O The halves are in the window. */
INLINE void unpack(const GriffinLimTables *t, GriffinLimWork *w)
{
    const Point *z = (const Point *)w->points;
    Point *s = (Point *)w->spectrum;
    const int *place = t->mel->fft.place, n = t->mel->fft.n, bins = t->mel->n_bins;
    const Lanes zero = {0};
    Point a = z[place[0]];
    s[0] = (Point){(a.re + a.im) * 2.0f, zero};
    if (n < bins)
        s[n] = (Point){(a.re - a.im) * 2.0f, zero};
    for (int k = 1; k <= n / 2 && k < bins; k++) {
        a = z[place[k]];
        Point b = z[place[n - k]], even = {a.re + b.re, a.im - b.im};
        Point half = {a.im + b.im, b.re - a.re}, odd = MUL(half, t->mel->unpack_twiddles + 2 * k);
        s[k] = ADD(even, odd);
        if (n - k < bins)
            s[n - k] = (Point){even.re - odd.re, odd.im - even.im};
    }
}

/* Back by the same relations. Real and imaginary parts change places: this makes the transform an inverse
 * one. */
INLINE void pack(const GriffinLimTables *t, GriffinLimWork *w)
{
    Point *z = (Point *)w->points;
    const Point *s = (const Point *)w->spectrum;
    const int n = t->mel->fft.n, bins = t->mel->n_bins;
    const Lanes zero = {0};
    const Point none = {zero, zero};
    Point last = n < bins ? s[n] : none;
    z[t->natural[0]] = (Point){s[0].re - last.re, s[0].re + last.re};
    for (int k = 1; k <= n / 2; k++) {
        const double *root = t->mel->unpack_twiddles + 2 * k, back[2] = {root[0], -root[1]};
        Point low = k < bins ? s[k] : none, high = n - k < bins ? s[n - k] : none;
        high.im = -high.im;
        Point even = ADD(low, high), half = SUB(low, high), odd = MUL(half, back);
        z[t->natural[k]] = (Point){even.im + odd.re, even.re - odd.im};     /* E + i O */
        z[t->natural[n - k]] = (Point){odd.re - even.im, even.re + odd.im}; /* conj(E - i O) */
    }
}

/* The new spectrum. Direction: that of x - momentum * previous; zero has none and stays zero. Length: the
 * geometric mean of the first guess and of the signal's own magnitudes after one update towards the given
 * bands. The guess alone ties every frequency to a smooth spectrum that no signal has; the signal alone
 * drifts away. After 32 rounds on 32 clips of LJSpeech the mean of |log mel difference| is 0.074 this way and
 * 0.095 with the guess alone (clips at half level, clear of the limit to -1 .. 1). */
INLINE void turn_bins(const GriffinLimTables *t, GriffinLimWork *w, const GriffinLimRound *r)
{
    Point *s = (Point *)w->spectrum, *previous = (Point *)r->previous;
    const Lanes *guess = (const Lanes *)r->magnitudes, *update = (const Lanes *)w->gather;
    Lanes *own = (Lanes *)w->own;
    for (int k = 0; k < t->mel->n_bins; k++) {
        Lanes square = s[k].re * s[k].re + s[k].im * s[k].im, y;
        inverse_root(&y, &square);
        own[k] = square * y;
    }
    compare_bands(t, w, (const Lanes *)r->mel, own);
    spread(t, w);
    for (int k = 0; k < t->mel->n_bins; k++) {
        Point d = {s[k].re - previous[k].re * r->momentum, s[k].im - previous[k].im * r->momentum};
        previous[k] = s[k];
        Lanes square = d.re * d.re + d.im * d.im, product = guess[k] * (own[k] * update[k]), y, root;
        inverse_root(&y, &square);
        inverse_root(&root, &product);
        y *= product * root;
        s[k].re = d.re * y;
        s[k].im = d.im * y;
    }
}

INLINE void store(const GriffinLimTables *t, GriffinLimWork *w, const GriffinLimRound *r)
{
    Point *z = (Point *)w->points;
    const FftPlan *f = &t->mel->fft;
    if (f->n_passes)
        run_pass(&f->passes[0], z, f->block_step, (Point *)w->spare);
    finish_blocks(f, z, (Point *)w->spare);
    for (int i = 0; i < f->n; i++) {
        const Point *at = z + f->place[i];
        float *even = r->out + r->offset[2 * i], *odd = r->out + r->offset[2 * i + 1];
        Lanes v;
        memcpy(&v, even, sizeof v);
        v += at->im * t->synthesis[2 * i];
        memcpy(even, &v, sizeof v);
        memcpy(&v, odd, sizeof v);
        v += at->re * t->synthesis[2 * i + 1];
        memcpy(odd, &v, sizeof v);
    }
}

static void turn(const GriffinLimTables *t, GriffinLimWork *w, const GriffinLimRound *r)
{
    size_t bytes = (size_t)t->mel->n_bins * sizeof(Point);
    if (r->in) {
        load(t, w, r);
        unpack(t, w);
        turn_bins(t, w, r);
    } else {
        memcpy(w->spectrum, r->previous, bytes);
        memset(r->previous, 0, bytes);
    }
    pack(t, w);
    store(t, w, r);
}

const GriffinLimVariant VARIANT(griffin_lim_kernel, INSTRUCTIONS) = {VARIANT_STRING(INSTRUCTIONS), invert,
                                                                     turn};
