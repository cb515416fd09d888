/* fft.c - factors and tables. Every table entry is computed on its own, from an exactly reduced angle. */
#include "audio/fft.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"

/* exp(-2 pi i k / n), exact at the quarter turns. */
static void unit_root(double *out, int64_t k, int64_t n)
{
    k %= n;
    /* By quarter turns, so that sine and cosine only see angles below pi / 2. */
    int64_t quarter = 4 * k / n, rest = 4 * k - quarter * n; /* angle = quarter * pi/2 + (rest / n) * pi/2 */
    double a = M_PI_2 * (double)rest / (double)n;
    double c = cos(a), s = rest == 0 ? 0.0 : sin(a);
    switch (quarter) {
    case 0:
        out[0] = c;
        out[1] = -s;
        break;
    case 1:
        out[0] = -s;
        out[1] = -c;
        break;
    case 2:
        out[0] = -c;
        out[1] = s;
        break;
    default:
        out[0] = s;
        out[1] = c;
    }
}

/* Large radices make few passes over memory; what is left are the odd primes, the smallest first. */
static int next_radix(int n)
{
    if (n % 8 == 0)
        return 8;
    if (n % 4 == 0)
        return 4;
    for (int p = 2; p * p <= n; p++)
        if (n % p == 0)
            return p;
    return n;
}

/* The digits of the frequency, one per pass, say which way it went. Only the blocks of the first pass have
 * gaps between them. */
static int place_of(const FftPlan *f, int frequency)
{
    int at = 0;
    for (int i = 0; i < f->n_passes; i++) {
        int r = f->passes[i].radix;
        at += (frequency % r) * (i == 0 ? f->block_step : f->passes[i].length / r);
        frequency /= r;
    }
    return at;
}

int fft_plan_open(FftPlan *f, int n, Err *err)
{
    *f = (FftPlan){.n = n, .max_radix = 1};
    ASSERT(n >= 1);
    /* The factors, and how many table entries they need: twists and roots of every pass. */
    size_t need = 0;
    for (int left = n; left > 1;) {
        ASSERT_CMP(f->n_passes, <, FFT_MAX_PASSES);
        FftPass *pass = &f->passes[f->n_passes++];
        pass->radix = next_radix(left);
        pass->length = left;
        need += 2 * ((size_t)(left / pass->radix) * (size_t)(pass->radix - 1) + (size_t)pass->radix);
        if (pass->radix > f->max_radix)
            f->max_radix = pass->radix;
        left /= pass->radix;
    }
    /* A gap of one point behind every block of the first pass, see fft.h. */
    f->block = f->n_passes ? n / f->passes[0].radix : 1;
    f->block_step = f->block + 1;
    f->n_stored = n / f->block * f->block_step;
    f->place = mem_calloc((size_t)n, sizeof *f->place);
    f->tables = mem_aligned(64, need + 1, sizeof *f->tables);
    if (!f->place || !f->tables) {
        fft_plan_close(f);
        return err_set(err, ERR_NOMEM, "no memory for a Fourier transform of %d points", n);
    }
    /* Every pass has its part of one allocation. */
    double *t = f->tables;
    for (int i = 0; i < f->n_passes; i++) {
        FftPass *pass = &f->passes[i];
        pass->twist = t;
        for (int p = 0; p < pass->length / pass->radix; p++)
            for (int j = 1; j < pass->radix; j++, t += 2)
                unit_root(t, (int64_t)p * j, pass->length);
        pass->roots = t;
        for (int k = 0; k < pass->radix; k++, t += 2)
            unit_root(t, k, pass->radix);
    }
    /* Where every frequency ends up. */
    for (int k = 0; k < n; k++)
        f->place[k] = place_of(f, k);
    return 0;
}

void fft_plan_close(FftPlan *f)
{
    free(f->place);
    free(f->tables);
    *f = (FftPlan){0};
}
