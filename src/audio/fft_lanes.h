/* fft_lanes.h - the passes of a Fourier transform on LANES signals at once, in place: see fft.h for the plan
 * and the order of the output. All of it is inlined into the kernel that includes it, which first defines
 * REAL (double or float) and LANES (how many fit a vector) and forbids contraction by a pragma: every variant
 * computes the same bits. Private to src/audio. */
#ifndef MYXTTS_FFT_LANES_H
#define MYXTTS_FFT_LANES_H

#include <stddef.h>
#include <string.h>

#include "audio/fft.h"

#define INLINE static inline __attribute__((always_inline))

typedef REAL Lanes __attribute__((vector_size(sizeof(REAL) * LANES)));

typedef struct Point {
    Lanes re, im;
} Point;

/* Macros, because functions with 64-byte arguments draw warnings about calling conventions even where all is
 * inlined. */
#define ADD(a, b) ((Point){(a).re + (b).re, (a).im + (b).im})
#define SUB(a, b) ((Point){(a).re - (b).re, (a).im - (b).im})
#define SUB_TURN(a, b) ((Point){(a).im - (b).im, (b).re - (a).re}) /* (a - b) times -i */
#define MUL(a, w) \
    ((Point){(a).re * (REAL)(w)[0] - (a).im * (REAL)(w)[1], (a).im * (REAL)(w)[0] + (a).re * (REAL)(w)[1]})

/* Passes work on m butterflies whose points are `step` apart. */
INLINE void butterfly8(Point *a, ptrdiff_t step, const double *w, const Point *in, int last)
{
    const REAL h = (REAL)0.70710678118654752440; /* sqrt(1/2) */
    Point e0 = ADD(in[0], in[4]), o0 = SUB(in[0], in[4]);
    Point e1 = ADD(in[1], in[5]), o1 = SUB(in[1], in[5]);
    Point e2 = ADD(in[2], in[6]), o2 = SUB_TURN(in[2], in[6]);
    Point e3 = ADD(in[3], in[7]), o3 = SUB(in[3], in[7]);
    Point t1 = {(o1.re + o1.im) * h, (o1.im - o1.re) * h};
    Point t3 = {(o3.im - o3.re) * h, (o3.re + o3.im) * -h};
    Point s0 = ADD(e0, e2), s1 = ADD(e1, e3), d0 = SUB(e0, e2), d1 = SUB_TURN(e1, e3);
    Point u0 = ADD(o0, o2), u1 = ADD(t1, t3), v0 = SUB(o0, o2), v1 = SUB_TURN(t1, t3);
    Point y1 = ADD(u0, u1), y2 = ADD(d0, d1), y3 = ADD(v0, v1), y4 = SUB(s0, s1);
    Point y5 = SUB(u0, u1), y6 = SUB(d0, d1), y7 = SUB(v0, v1);
    a[0] = ADD(s0, s1);
    if (last) { /* all twists are 1 */
        a[step] = y1;
        a[2 * step] = y2;
        a[3 * step] = y3;
        a[4 * step] = y4;
        a[5 * step] = y5;
        a[6 * step] = y6;
        a[7 * step] = y7;
        return;
    }
    a[step] = MUL(y1, w);
    a[2 * step] = MUL(y2, w + 2);
    a[3 * step] = MUL(y3, w + 4);
    a[4 * step] = MUL(y4, w + 6);
    a[5 * step] = MUL(y5, w + 8);
    a[6 * step] = MUL(y6, w + 10);
    a[7 * step] = MUL(y7, w + 12);
}

INLINE void pass8(Point *z, int m, ptrdiff_t step, const double *w, int last)
{
    for (int p = 0; p < m; p++, w += 14) {
        Point *a = z + p;
        Point in[8] = {a[0],        a[step],     a[2 * step], a[3 * step],
                       a[4 * step], a[5 * step], a[6 * step], a[7 * step]};
        butterfly8(a, step, w, in, last);
    }
}

INLINE void pass4(Point *z, int m, ptrdiff_t step, const double *w)
{
    for (int p = 0; p < m; p++, w += 6) {
        Point *a = z + p;
        Point e0 = ADD(a[0], a[2 * step]), o0 = SUB(a[0], a[2 * step]);
        Point e1 = ADD(a[step], a[3 * step]), o1 = SUB_TURN(a[step], a[3 * step]);
        Point y1 = ADD(o0, o1), y2 = SUB(e0, e1), y3 = SUB(o0, o1);
        a[0] = ADD(e0, e1);
        a[step] = MUL(y1, w);
        a[2 * step] = MUL(y2, w + 2);
        a[3 * step] = MUL(y3, w + 4);
    }
}

INLINE void pass2(Point *z, int m, ptrdiff_t step, const double *w)
{
    for (int p = 0; p < m; p++, w += 2) {
        Point *a = z + p, s = ADD(a[0], a[step]), d = SUB(a[0], a[step]);
        a[0] = s;
        a[step] = MUL(d, w);
    }
}

/* Any radix, by definition. spare holds one butterfly. */
INLINE void pass_any(Point *z, int radix, int m, ptrdiff_t step, const double *w, const double *roots,
                     Point *spare)
{
    for (int p = 0; p < m; p++, w += 2 * (radix - 1)) {
        Point *a = z + p, sum = a[0];
        for (int k = 0; k < radix; k++)
            spare[k] = a[k * step];
        for (int k = 1; k < radix; k++)
            sum = ADD(sum, spare[k]);
        a[0] = sum;
        for (int j = 1; j < radix; j++) {
            Point y = spare[0];
            for (int k = 1, at = j; k < radix; k++, at = at + j >= radix ? at + j - radix : at + j) {
                Point term = MUL(spare[k], roots + 2 * at);
                y = ADD(y, term);
            }
            a[j * step] = MUL(y, w + 2 * (j - 1));
        }
    }
}

INLINE void run_pass(const FftPass *pass, Point *z, ptrdiff_t step, Point *spare)
{
    int m = pass->length / pass->radix;
    if (pass->radix == 8 && m == 1)
        pass8(z, 1, step, pass->twist, 1);
    else if (pass->radix == 8)
        pass8(z, m, step, pass->twist, 0);
    else if (pass->radix == 4)
        pass4(z, m, step, pass->twist);
    else if (pass->radix == 2)
        pass2(z, m, step, pass->twist);
    else
        pass_any(z, pass->radix, m, step, pass->twist, pass->roots, spare);
}

/* The first pass (run_pass, or one of the kernel's own) crosses all points; the blocks it leaves are finished
 * here, one by one, while they are in the nearest cache. */
INLINE void finish_blocks(const FftPlan *f, Point *z, Point *spare)
{
    for (int at = 0; at < f->n_stored; at += f->block_step)
        for (int i = 1; i < f->n_passes; i++)
            for (int b = 0; b < f->block; b += f->passes[i].length)
                run_pass(&f->passes[i], z + at + b, f->passes[i].length / f->passes[i].radix, spare);
}

#endif
