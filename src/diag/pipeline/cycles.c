/* cycles.c - see cycles.h. */
#include "diag/pipeline/cycles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define CERTAIN 7.0    /* standard errors: of the tens of thousands of foldings none reaches it by chance */
#define STANDS_OUT 0.8 /* a stall adds at least this share of the usual time */
#define NEARLY_ALL 0.8 /* of the entries of the phase are long */
#define OTHERS 0.34    /* at most so many others, per entry of the phase, are as long */
#define LEAST_HITS 3
#define RESOLUTION 20e-6     /* s: what the clocks of threads tell apart */
#define OUTLIER_TIMES 3.0    /* the usual time, at least */
#define OUTLIER_SIGMAS 4.5   /* of the logarithms, from their quartiles */
#define OUTLIERS_AT_MOST 0.2 /* of all; more are not outliers */

/* Ascending. */
static int compare(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Sorted copy; NULL on no memory. */
static float *sorted(const float *x, int64_t n)
{
    float *s = mem_calloc((size_t)n + 1, sizeof *s);
    if (!s)
        return NULL;
    memcpy(s, x, (size_t)n * sizeof *s);
    qsort(s, (size_t)n, sizeof *s, compare);
    return s;
}

/* Of the distances from the mean, divided by their sum of squares. */
double cycle_autocorrelation(const float *x, int64_t n, int lag)
{
    double mean = 0, all = 0, shifted = 0;
    for (int64_t i = 0; i < n; i++)
        mean += (double)x[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        all += ((double)x[i] - mean) * ((double)x[i] - mean);
    for (int64_t i = lag; i < n; i++)
        shifted += ((double)x[i] - mean) * ((double)x[i - lag] - mean);
    return all > 1e-12 * (double)n * mean * mean ? shifted / all : 0; /* less is rounding */
}

/* From lag 2 on: neighbours are alike for many reasons. */
int cycle_best_lag(const float *x, int64_t n, int longest, double *correlation)
{
    int best = 0;
    *correlation = 0;
    for (int lag = 2; lag <= longest && lag < n / 2; lag++) {
        double c = cycle_autocorrelation(x, n, lag);
        if (c > *correlation) {
            *correlation = c;
            best = lag;
        }
    }
    return best;
}

/* Of the entries of one phase, or of all. */
typedef struct Sums {
    double sum, squares;
    int64_t count;
} Sums;

/* How far the entries of one phase stand out. */
static double standing_out(const Sums *on, const Sums *all, double usual, double *excess)
{
    double rest = (double)(all->count - on->count), mean = on->sum / (double)on->count;
    double off = (all->sum - on->sum) / rest, variance = (all->squares - on->squares) / rest - off * off;
    double deviation = sqrt(variance > 0 ? variance : 0), least = 1e-3 * usual + RESOLUTION;
    *excess = mean - usual;
    return (mean - off) / (fmax(deviation, least) / sqrt((double)on->count));
}

/* Nearly all entries of the phase are long, and hardly any other is. */
static int holds(const float *x, int64_t n, const Cycle *c)
{
    double level = c->usual + 0.5 * c->excess;
    int64_t on = 0, others = 0, all = 0;
    for (int64_t i = 0; i < n; i++) {
        int is_on = i % c->period == c->phase, is_long = (double)x[i] > level;
        all += is_on;
        on += is_on && is_long;
        others += !is_on && is_long;
    }
    return (double)on >= NEARLY_ALL * (double)all && (double)others <= OTHERS * (double)all &&
           on >= LEAST_HITS;
}

/* Foldings are many, so a finding must be far from chance. */
int cycle_find(Cycle *c, const float *x, int64_t n, int longest)
{
    *c = (Cycle){0};
    /* Too short a series has no cycle, and so has no memory. */
    float *s = n >= 3 * LEAST_HITS ? sorted(x, n) : NULL;
    Sums *phases = s ? mem_calloc((size_t)longest + 1, sizeof *phases) : NULL;
    if (!phases) {
        free(s);
        return 0;
    }
    /* Below the middle: every second entry may be slow. */
    double usual = (double)s[2 * n / 5];
    free(s);
    Sums all = {0};
    for (int64_t i = 0; i < n; i++) {
        all.sum += (double)x[i];
        all.squares += (double)x[i] * (double)x[i];
        all.count++;
    }
    /* Every period is folded; the most certain phase of all wins. */
    for (int period = 2; period <= longest && period <= n / LEAST_HITS; period++) {
        memset(phases, 0, (size_t)period * sizeof *phases);
        for (int64_t i = 0; i < n; i++) {
            Sums *p = &phases[i % period];
            p->sum += (double)x[i];
            p->squares += (double)x[i] * (double)x[i];
            p->count++;
        }
        for (int k = 0; k < period; k++) {
            double excess, certain = standing_out(&phases[k], &all, usual, &excess);
            Cycle found = {period, k, (int)phases[k].count, usual, excess, certain};
            if (certain >= CERTAIN && certain > c->certain && excess > STANDS_OUT * usual + 10 * RESOLUTION &&
                holds(x, n, &found))
                *c = found;
        }
    }
    free(phases);
    return c->period > 0;
}

/* The long entries of the phase become usual ones. */
void cycle_remove(float *out, const float *x, int64_t n, const Cycle *c)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = i % c->period == c->phase && (double)x[i] > c->usual ? (float)c->usual : x[i];
}

/* They become usual ones; returns how many there were. */
int64_t outliers_remove(float *out, const float *x, int64_t n, double *usual)
{
    memcpy(out, x, (size_t)n * sizeof *out);
    *usual = 0;
    float *s = n >= 8 ? sorted(x, n) : NULL;
    if (!s)
        return 0;
    double median = (double)s[n / 2], low = fmax((double)s[n / 4], 1e-9),
           high = fmax((double)s[3 * n / 4], 1e-9);
    free(s);
    *usual = median;
    /* Times are lopsided; their logarithms are nearly normal. The quartiles are not moved by a few long
     * ones. */
    double sigma = fmax(log(high / low) / 1.349, 0.05);
    double level = fmax(fmax(OUTLIER_TIMES * median, median * exp(OUTLIER_SIGMAS * sigma)), 20 * RESOLUTION);
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        if ((double)x[i] > level) {
            out[i] = (float)median;
            count++;
        }
    if ((double)count <= OUTLIERS_AT_MOST * (double)n)
        return count;
    memcpy(out, x, (size_t)n * sizeof *out);
    return 0;
}
