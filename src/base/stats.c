/* stats.c - see stats.h. */
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>

/* Welford's method never subtracts two large sums, which would lose precision. */
void stats_add(Stats *s, double x)
{
    if (s->n == 0)
        s->min = s->max = x;
    s->n++;
    double d = x - s->mean;
    s->mean += d / (double)s->n;
    s->m2 += d * (x - s->mean);
    s->min = x < s->min ? x : s->min;
    s->max = x > s->max ? x : s->max;
}

double stats_std(const Stats *s) { return s->n < 2 ? 0 : sqrt(s->m2 / (double)s->n); }

/* For qsort; NaN is not expected. */
static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double stats_percentile(double *x, size_t n, double q)
{
    size_t sorted = 1; /* values in order; often another quantile has been asked for before */
    if (n == 0)
        return 0;
    while (sorted < n && x[sorted - 1] <= x[sorted])
        sorted++;
    if (sorted < n)
        qsort(x, n, sizeof *x, compare_doubles);
    /* The position of the quantile, between two neighbours of the sorted sample. */
    double at = q * (double)(n - 1);
    size_t i = (size_t)at;
    if (i + 1 >= n)
        return x[n - 1];
    return x[i] + (at - (double)i) * (x[i + 1] - x[i]);
}

/* The next step of 1, 2 or 5 times a power of ten that is not below `raw` or `min`, so that row borders are
 * round numbers. */
static double round_step(double raw, double min)
{
    if (raw <= min)
        return min;
    double p = pow(10, floor(log10(raw)));
    double m = raw / p;
    return (m <= 1.0001 ? 1 : m <= 2.0001 ? 2 : m <= 5.0001 ? 5 : 10) * p;
}

void stats_draw_histogram(Buf *out, const double *x, size_t n, int bins, int width, const char *unit)
{
    if (n == 0 || bins < 1)
        return;
    /* Find the range of the finite values, and whether all of them are whole numbers. */
    double lo = INFINITY, hi = -INFINITY;
    int whole = 1;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i]))
            continue;
        lo = x[i] < lo ? x[i] : lo;
        hi = x[i] > hi ? x[i] : hi;
        whole = whole && x[i] == floor(x[i]);
    }
    double step = round_step((hi - lo) / bins, whole ? 1 : 0.01);
    double first = floor(lo / step) * step, last = floor((hi - first) / step);
    /* If the values are so large that a step is lost in rounding, or none is finite, there is one row. */
    int rows = last >= 0 && last <= 2.0 * bins + 2 ? (int)last + 1 : 1;
    size_t *count = mem_calloc((size_t)rows, sizeof *count);
    if (!count) {
        out->failed = 1;
        return;
    }
    /* Count the values of each row; the comparison keeps NaN and infinities inside the table. */
    size_t most = 1;
    for (size_t i = 0; i < n; i++) {
        double at = floor((x[i] - first) / step);
        int r = !(at > 0) ? 0 : at >= rows ? rows - 1 : (int)at;
        count[r]++;
        most = count[r] > most ? count[r] : most;
    }
    /* Draw the bars in eighths of a column. A row that is not empty shows at least one eighth. */
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int digits = step >= 1 ? 0 : step >= 0.1 ? 1 : 2;
    for (int r = 0; r < rows; r++) {
        double a = first + r * step;
        buf_printf(out, "  %8.*f - %-8.*f%s ", digits, a, digits, a + step, unit);
        long units = lround((double)count[r] * width * 8 / (double)most);
        if (count[r] > 0 && units == 0)
            units = 1;
        for (long k = 0; k < units / 8; k++)
            buf_str(out, "█");
        buf_printf(out, "%s %zu\n", eighths[units % 8], count[r]);
    }
    free(count);
}
