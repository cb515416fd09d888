/* speed.c - the table of filters, and their sums. */
#include "audio/speed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"

#define TAPS (2 * SPEED_REACH)
#define LANES 8
#define PASSED 0.95 /* share of the band that is kept; the filter falls from here on */
#define BETA 7.0    /* of the Kaiser window: what is not to pass is 70 dB down */

typedef float Lanes __attribute__((vector_size(4 * LANES)));
_Static_assert(TAPS % LANES == 0, "taps are whole vectors");

struct SpeedFilters {
    int least, most; /* steps */
    float taps[];    /* [most - least + 1][SPEED_UNIT][TAPS]: by step and by what is left of a position */
};

/* The modified Bessel function of order 0. */
static double bessel(double x)
{
    double sum = 1, term = 1;
    for (int k = 1; term > 1e-12 * sum; k++) {
        term *= x / (2 * k) * (x / (2 * k));
        sum += term;
    }
    return sum;
}

/* Taps for a position `rest` samples behind that of tap SPEED_REACH - 1. */
static void make_filter(float out[TAPS], double rest, double band)
{
    double taps[TAPS], sum = 0;
    for (int i = 0; i < TAPS; i++) {
        const double t = i - (SPEED_REACH - 1) - rest, edge = t / SPEED_REACH, x = M_PI * band * t;
        const double window = edge * edge < 1 ? bessel(BETA * sqrt(1 - edge * edge)) / bessel(BETA) : 0;
        taps[i] = window * (fabs(x) < 1e-9 ? 1 : sin(x) / x);
        sum += taps[i];
    }
    for (int i = 0; i < TAPS; i++)
        out[i] = (float)(taps[i] / sum);
}

static const float *filters_of(const SpeedFilters *s, int step)
{
    return s->taps + (size_t)(step - s->least) * SPEED_UNIT * TAPS;
}

int speed_open(SpeedFilters **out, double share, Err *err)
{
    ASSERT(share >= 0 && share <= 0.5);
    const int least = (int)ceil(SPEED_UNIT * (1 - share) - 1e-9),
              most = (int)floor(SPEED_UNIT * (1 + share) + 1e-9);
    const size_t filters = (size_t)(most - least + 1) * SPEED_UNIT;
    SpeedFilters *s = *out = mem_calloc(1, sizeof *s + filters * TAPS * sizeof *s->taps);
    if (!s)
        return err_set(err, ERR_NOMEM, "no memory to change the speed of recordings");
    s->least = least;
    s->most = most;
    for (int step = least; step <= most; step++) {
        /* Faster: what would lie above half of the sample rate must not pass. */
        const double band = PASSED * (step > SPEED_UNIT ? (double)SPEED_UNIT / step : 1);
        for (int rest = 0; rest < SPEED_UNIT; rest++)
            make_filter(s->taps + ((size_t)(step - least) * SPEED_UNIT + (size_t)rest) * TAPS,
                        (double)rest / SPEED_UNIT, band);
    }
    return 0;
}

void speed_close(SpeedFilters *s) { free(s); }

int speed_step(const SpeedFilters *s, double speed)
{
    const int step = (int)lround(speed * SPEED_UNIT);
    return step < s->least ? s->least : step > s->most ? s->most : step;
}

int64_t speed_span(int64_t n, int step) { return n < 1 ? 0 : (n - 1) * step / SPEED_UNIT + 1; }

int64_t speed_most(const SpeedFilters *s, int64_t n) { return speed_span(n, s->most); }

void speed_change(const SpeedFilters *s, float *out, int64_t n, const float *in, int step)
{
    ASSERT(step >= s->least && step <= s->most);
    const float *filters = filters_of(s, step);
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = i * step;
        const float *x = in + at / SPEED_UNIT - (SPEED_REACH - 1), *taps = filters + at % SPEED_UNIT * TAPS;
        Lanes sums = {0};
        for (int k = 0; k < TAPS; k += LANES) {
            Lanes a, b;
            memcpy(&a, x + k, sizeof a);
            memcpy(&b, taps + k, sizeof b);
            sums += a * b;
        }
        out[i] = ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
    }
}
