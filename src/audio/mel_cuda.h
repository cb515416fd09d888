/* mel_cuda.h - the mel on a GPU: the same bits as mel_compute. For .cu files.
 * Every operation of mel_kernel.c is repeated in the same order, in double precision and without fused
 * multiply-add; only which thread computes which frame differs. Why double: see fft.h. An H200 does half as
 * many double as single operations, and the transform is held back by memory close to the processor as much
 * as by arithmetic, so it costs little there. mel_fast_frame: n_fft 1024. One warp computes one frame; three
 * passes of radix 8 over 512 points, 16 points in the registers of each thread, exchanged through shared
 * memory with one gap after every 8 points, so that no pass has bank conflicts. mel_any_frame: any other
 * length. One block computes one frame; as many passes as the length has factors, in shared memory. */
#ifndef MYXTTS_MEL_CUDA_H
#define MYXTTS_MEL_CUDA_H

#include <cuda_runtime.h>
#include <stdint.h>

#include "audio/exact.h"
#include "audio/mel.h"
#include "audio/mel_kernel.h"

#define MEL_FAST_N 512                                /* complex points of mel_fast_frame */
#define MEL_FAST_STORED (MEL_FAST_N + MEL_FAST_N / 8) /* points of shared memory that a frame needs */
#define MEL_FAST_WARPS 4                              /* frames of a block */

typedef struct MelCudaPass {
    int radix, length;
    const double2 *twist, *roots;
} MelCudaPass;

/* The tables on the GPU; handed to kernels by value. */
typedef struct MelCuda {
    int n_fft, hop, n_bands, n_bins, packed;
    int n; /* complex points */
    int n_passes;
    int out_of_place; /* some factor is not 2, 4 or 8: mel_any_frame needs a second buffer */
    const double *window;
    const double2 *unpack_twiddles;
    const int *place;  /* [n] where frequency f is after the last pass, without gaps between blocks */
    const int4 *bands; /* [n_bands] first bin, bins, first weight, 0 */
    const double *weights;
    MelCudaPass passes[FFT_MAX_PASSES];
} MelCuda;

static inline int mel_cuda_is_fast(const MelTables *t) { return t->packed && t->fft.n == MEL_FAST_N; }

/* Shared memory of a block, in bytes. */
static inline size_t mel_cuda_any_shared(const MelCuda *m)
{
    return (size_t)m->n * sizeof(double2) * (m->out_of_place ? 2 : 1) + (size_t)m->n_bins * sizeof(double);
}

/* The tables are laid out once on the host in one piece, then copied as they are. Fills m with addresses that
 * hold once `image` stands at `memory` on the GPU. image NULL: only counts. Returns the bytes of the image.
 */
size_t mel_cuda_layout(MelCuda *m, const MelTables *t, uint8_t *image, const uint8_t *memory);

/* ---- arithmetic ---- */

EXACT double2 mel_add(double2 a, double2 b) { return make_double2(exact_add(a.x, b.x), exact_add(a.y, b.y)); }
EXACT double2 mel_sub(double2 a, double2 b) { return make_double2(exact_sub(a.x, b.x), exact_sub(a.y, b.y)); }
EXACT double2 mel_sub_turn(double2 a, double2 b)
{
    return make_double2(exact_sub(a.y, b.y), exact_sub(b.x, a.x));
}
EXACT double2 mel_mul(double2 a, double2 w)
{
    return make_double2(exact_sub(exact_mul(a.x, w.x), exact_mul(a.y, w.y)),
                        exact_add(exact_mul(a.y, w.x), exact_mul(a.x, w.y)));
}

/* A transform of 8 points, in place, without the twists. */
EXACT void mel_butterfly8(double2 *v)
{
    const double h = 0.70710678118654752440;
    double2 e0 = mel_add(v[0], v[4]), o0 = mel_sub(v[0], v[4]), e1 = mel_add(v[1], v[5]),
            o1 = mel_sub(v[1], v[5]);
    double2 e2 = mel_add(v[2], v[6]), o2 = mel_sub_turn(v[2], v[6]), e3 = mel_add(v[3], v[7]),
            o3 = mel_sub(v[3], v[7]);
    double2 t1 = make_double2(exact_mul(exact_add(o1.x, o1.y), h), exact_mul(exact_sub(o1.y, o1.x), h));
    double2 t3 = make_double2(exact_mul(exact_sub(o3.y, o3.x), h), exact_mul(exact_add(o3.x, o3.y), -h));
    double2 s0 = mel_add(e0, e2), s1 = mel_add(e1, e3), d0 = mel_sub(e0, e2), d1 = mel_sub_turn(e1, e3);
    double2 u0 = mel_add(o0, o2), u1 = mel_add(t1, t3), w0 = mel_sub(o0, o2), w1 = mel_sub_turn(t1, t3);
    v[0] = mel_add(s0, s1);
    v[1] = mel_add(u0, u1);
    v[2] = mel_add(d0, d1);
    v[3] = mel_add(w0, w1);
    v[4] = mel_sub(s0, s1);
    v[5] = mel_sub(u0, u1);
    v[6] = mel_sub(d0, d1);
    v[7] = mel_sub(w0, w1);
}

EXACT void mel_twist8(double2 *v, const double2 *__restrict__ w)
{
#pragma unroll
    for (int j = 1; j < 8; j++)
        v[j] = mel_mul(v[j], __ldg(w + j - 1));
}

/* Bins k and n - k of a packed transform, from its points k and n - k. */
EXACT void mel_unpack(double *low, double *high, double2 a, double2 b, double2 twiddle)
{
    double2 even = make_double2(exact_add(a.x, b.x), exact_sub(a.y, b.y));
    double2 odd = mel_mul(make_double2(exact_add(a.y, b.y), exact_sub(b.x, a.x)), twiddle);
    double2 l = mel_add(even, odd), h = mel_sub(even, odd);
    *low = exact_magnitude(l.x, l.y);
    *high = exact_magnitude(h.x, h.y);
}

/* Log mel of one band from the magnitudes of its bins. */
EXACT float mel_band(const MelCuda &m, const double *magnitudes, int b)
{
    int4 band = __ldg(m.bands + b);
    const double *weight = m.weights + band.z;
    magnitudes += band.x;
    double sum = 0.0;
    for (int k = 0; k < band.y; k++)
        sum = exact_add(sum, exact_mul(magnitudes[k], __ldg(weight + k)));
    double floor = (double)MEL_FLOOR;
    return __double2float_rn(exact_log(sum > floor ? sum : floor));
}

/* Where numpy.pad(mode="reflect") takes sample i of a clip of n from. */
EXACT int64_t mel_cuda_reflect(int64_t i, int64_t n)
{
    if (i >= 0 && i < n)
        return i;
    if (n == 1)
        return 0;
    int64_t period = 2 * (n - 1);
    i %= period;
    if (i < 0)
        i += period;
    return i < n ? i : period - i;
}

/* ---- n_fft 1024: a warp and MEL_FAST_STORED points of shared memory for each frame ----
 * Samples: anything with `float at(int64_t i)` for i in 0 .. n - 1, `int64_t n`, and `const float
 * *direct(first, count)`, which is NULL or the samples as they lie in memory. */

/* The samples under the window, and the first pass over them: butterflies lane and lane + 32, of the points
 * p, p + 64, ... */
template <typename Samples>
EXACT void mel_fast_first(const MelCuda &m, double2 *z, const Samples &x, int64_t frame, int lane)
{
    const int64_t first = frame * m.hop - m.n_fft / 2;
    const float *direct = x.direct(first, 2 * MEL_FAST_N);
    const bool aligned = direct && (uintptr_t)direct % sizeof(float2) == 0;
    const double2 *window = (const double2 *)m.window;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int p = lane + 32 * half;
        double2 v[8];
#pragma unroll
        for (int k = 0; k < 8; k++) {
            int i = p + 64 * k;
            double2 w = __ldg(window + i);
            float2 s;
            if (aligned)
                s = __ldg((const float2 *)direct + i);
            else if (direct)
                s = make_float2(__ldg(direct + 2 * i), __ldg(direct + 2 * i + 1));
            else
                s = make_float2(x.at(mel_cuda_reflect(first + 2 * i, x.n)),
                                x.at(mel_cuda_reflect(first + 2 * i + 1, x.n)));
            v[k] = make_double2(exact_mul((double)s.x, w.x), exact_mul((double)s.y, w.y));
        }
        mel_butterfly8(v);
        mel_twist8(v, m.passes[0].twist + p * 7);
#pragma unroll
        for (int k = 0; k < 8; k++)
            z[p + (p >> 3) + 72 * k] = v[k];
    }
}

/* 8 blocks of 64 points, 8 butterflies each. */
EXACT void mel_fast_second(const MelCuda &m, double2 *z, int lane)
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int q = lane + 32 * half, at = (q >> 3) * 72 + (q & 7);
        double2 v[8];
#pragma unroll
        for (int k = 0; k < 8; k++)
            v[k] = z[at + 9 * k];
        mel_butterfly8(v);
        mel_twist8(v, m.passes[1].twist + (q & 7) * 7);
#pragma unroll
        for (int k = 0; k < 8; k++)
            z[at + 9 * k] = v[k];
    }
}

/* 64 blocks of 8 points; frequency f goes to f + f / 8, which is not where its points came from. */
EXACT void mel_fast_third(double2 *z, int lane)
{
    double2 v[2][8];
#pragma unroll
    for (int half = 0; half < 2; half++) {
#pragma unroll
        for (int k = 0; k < 8; k++)
            v[half][k] = z[9 * (lane + 32 * half) + k];
        mel_butterfly8(v[half]);
    }
    __syncwarp();
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int q = lane + 32 * half, at = (q >> 3) + 9 * (q & 7);
#pragma unroll
        for (int k = 0; k < 8; k++)
            z[at + 72 * k] = v[half][k];
    }
}

/* Leaves the magnitudes of a transform at the front of z. */
EXACT void mel_fast_magnitudes(const MelCuda &m, double2 *z, int lane)
{
    double low[8], high[8], middle = 0.0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        int k = lane + 32 * i, o = MEL_FAST_N - k;
        double2 a = z[k + (k >> 3)];
        if (k == 0) {
            low[i] = exact_magnitude(exact_mul(exact_add(a.x, a.y), 2.0), 0.0);
            high[i] = exact_magnitude(exact_mul(exact_sub(a.x, a.y), 2.0), 0.0);
        } else {
            mel_unpack(&low[i], &high[i], a, z[o + (o >> 3)], __ldg(m.unpack_twiddles + k));
        }
    }
    if (lane == 0) {
        double2 a = z[MEL_FAST_N / 2 + MEL_FAST_N / 16];
        double unused;
        mel_unpack(&unused, &middle, a, a, __ldg(m.unpack_twiddles + MEL_FAST_N / 2));
    }
    __syncwarp();
    double *magnitudes = (double *)z;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        int k = lane + 32 * i;
        magnitudes[k] = low[i];
        magnitudes[MEL_FAST_N - k] = high[i];
    }
    if (lane == 0)
        magnitudes[MEL_FAST_N / 2] = middle;
}

/* A frame's magnitudes, at the front of z. */
template <typename Samples>
EXACT void mel_fast_frame(const MelCuda &m, double2 *z, const Samples &x, int64_t frame, int lane)
{
    mel_fast_first(m, z, x, frame, lane);
    __syncwarp();
    mel_fast_second(m, z, lane);
    __syncwarp();
    mel_fast_third(z, lane);
    __syncwarp();
    mel_fast_magnitudes(m, z, lane);
    __syncwarp();
}

/* ---- any length: a block for each frame ---- */

EXACT void mel_pass(const MelCudaPass &pass, double2 *z, double2 *other, int n)
{
    const int radix = pass.radix, m = pass.length / radix;
    if (radix == 8 || radix == 4 || radix == 2) {
        for (int t = threadIdx.x; t < n / radix; t += blockDim.x) {
            int p = t % m;
            double2 *a = z + t / m * pass.length + p;
            const double2 *w = pass.twist + p * (radix - 1);
            if (radix == 8) {
                double2 v[8] = {a[0], a[m], a[2 * m], a[3 * m], a[4 * m], a[5 * m], a[6 * m], a[7 * m]};
                mel_butterfly8(v);
                if (m > 1)
                    mel_twist8(v, w);
#pragma unroll
                for (int k = 0; k < 8; k++)
                    a[k * m] = v[k];
            } else if (radix == 4) {
                double2 e0 = mel_add(a[0], a[2 * m]), o0 = mel_sub(a[0], a[2 * m]);
                double2 e1 = mel_add(a[m], a[3 * m]), o1 = mel_sub_turn(a[m], a[3 * m]);
                a[0] = mel_add(e0, e1);
                a[m] = mel_mul(mel_add(o0, o1), w[0]);
                a[2 * m] = mel_mul(mel_sub(e0, e1), w[1]);
                a[3 * m] = mel_mul(mel_sub(o0, o1), w[2]);
            } else {
                double2 s = mel_add(a[0], a[m]), d = mel_sub(a[0], a[m]);
                a[0] = s;
                a[m] = mel_mul(d, w[0]);
            }
        }
        return;
    }
    for (int t = threadIdx.x; t < n; t += blockDim.x) { /* by definition, one result each */
        int p = t % m, j = t % pass.length / m;
        const double2 *a = z + t / pass.length * pass.length + p;
        double2 y = a[0];
        for (int k = 1, at = j; k < radix; k++, at = at + j >= radix ? at + j - radix : at + j)
            y = mel_add(y, j == 0 ? a[k * m] : mel_mul(a[k * m], __ldg(pass.roots + at)));
        other[t] = j == 0 ? y : mel_mul(y, __ldg(pass.twist + p * (radix - 1) + j - 1));
    }
}

/* Leaves the magnitudes at *magnitudes; the whole block calls it, and a barrier is its last step. */
template <typename Samples>
EXACT void mel_any_frame(const MelCuda &m, double2 *shared, double **magnitudes, const Samples &x,
                         int64_t frame)
{
    const int n = m.n;
    const int64_t first = frame * m.hop - m.n_fft / 2;
    double2 *z = shared, *other = shared + n;
    double *out = (double *)(shared + (m.out_of_place ? 2 * n : n));
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        int j = m.packed ? 2 * i : i;
        double2 v =
            make_double2(exact_mul((double)x.at(mel_cuda_reflect(first + j, x.n)), __ldg(m.window + j)), 0.0);
        if (m.packed)
            v.y = exact_mul((double)x.at(mel_cuda_reflect(first + j + 1, x.n)), __ldg(m.window + j + 1));
        z[i] = v;
    }
    __syncthreads();
    for (int i = 0; i < m.n_passes; i++) {
        int radix = m.passes[i].radix;
        mel_pass(m.passes[i], z, other, n);
        __syncthreads();
        if (radix != 8 && radix != 4 && radix != 2) {
            double2 *swap = z;
            z = other;
            other = swap;
        }
    }
    if (!m.packed) {
        for (int k = threadIdx.x; k < m.n_bins; k += blockDim.x) {
            double2 a = z[__ldg(m.place + k)];
            out[k] = exact_magnitude(a.x, a.y);
        }
    } else {
        for (int k = threadIdx.x; k <= n / 2 && (k < m.n_bins || k == 0); k += blockDim.x) {
            double low, high;
            double2 a = z[__ldg(m.place + k)];
            if (k == 0) {
                low = exact_magnitude(exact_mul(exact_add(a.x, a.y), 2.0), 0.0);
                high = exact_magnitude(exact_mul(exact_sub(a.x, a.y), 2.0), 0.0);
            } else {
                mel_unpack(&low, &high, a, z[__ldg(m.place + n - k)], __ldg(m.unpack_twiddles + k));
            }
            if (k < m.n_bins && 2 * k != n)
                out[k] = low;
            if (n - k < m.n_bins)
                out[n - k] = high;
        }
    }
    *magnitudes = out;
    __syncthreads();
}

#endif
