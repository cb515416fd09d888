/* spectra.c - see spectra.h. */
#include "judge/spectra.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

enum { SHORTEST = 512, LONGEST = 2048, RESOLUTIONS = 3, HOPS = 4 };

/* In place, radix 2, decimation in time; n is a power of two. roots: exp(-2 pi i k / n). Accuracy does not
 * matter here, unlike in audio/fft.h. */
static void transform(double complex *x, int n, const double complex *roots)
{
    for (int i = 1, j = 0; i < n; i++) {
        int bit = n >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            const double complex y = x[i];
            x[i] = x[j];
            x[j] = y;
        }
    }
    for (int size = 2; size <= n; size *= 2)
        for (int from = 0; from < n; from += size)
            for (int k = 0; k < size / 2; k++) {
                const double complex a = x[from + k], b = x[from + k + size / 2] * roots[k * (n / size)];
                x[from + k] = a + b;
                x[from + k + size / 2] = a - b;
            }
}

/* Both sounds at once, one in the real and one in the imaginary part. */
static void add_frame(double *apart, double *all, const float *copy, const float *recording, int n,
                      double complex *x, const double complex *roots)
{
    for (int i = 0; i < n; i++) {
        const double window = 0.5 - 0.5 * creal(roots[i]);
        x[i] = window * (double)copy[i] + window * (double)recording[i] * I;
    }
    transform(x, n, roots);
    for (int k = 0; k <= n / 2; k++) {
        const double complex a = x[k], b = conj(x[(n - k) % n]);
        const double theirs = cabs(a - b) / 2, ours = cabs(a + b) / 2;
        *apart += (ours - theirs) * (ours - theirs);
        *all += theirs * theirs;
    }
}

int spectra_distance(double *out, const float *copy, const float *recording, int64_t n, Err *err)
{
    double complex *x = mem_calloc(2 * LONGEST, sizeof *x), *roots = x ? x + LONGEST : NULL;
    double sum = 0;
    if (!x)
        return err_set(err, ERR_NOMEM, "no memory to compare two sounds");
    for (int size = SHORTEST; size <= LONGEST; size *= 2) {
        double apart = 0, all = 0;
        for (int k = 0; k < size; k++)
            roots[k] = cexp(-2 * M_PI * I * k / size);
        for (int64_t at = 0; at + size <= n; at += size / HOPS)
            add_frame(&apart, &all, copy + at, recording + at, size, x, roots);
        sum += all > 0 ? sqrt(apart / all) : NAN;
    }
    *out = sum / RESOLUTIONS;
    free(x);
    return 0;
}
