/* stats.h - running mean and standard deviation (Welford), percentiles and histograms of a sample. */
#ifndef MYXTTS_STATS_H
#define MYXTTS_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

typedef struct Stats { /* zero-initialise */
    uint64_t n;
    double mean, m2, min, max; /* m2: sum of squared deviations from the mean */
} Stats;
void stats_add(Stats *s, double x);
double stats_std(const Stats *s); /* population standard deviation; 0 for n < 2 */

/* The q-quantile, q in [0, 1], interpolated linearly; 0 for n == 0. Sorts x in place. */
double stats_percentile(double *x, size_t n, double q);

/* Appends a histogram of about `bins` rows of text: "  2.0 -  3.0 s  ████████  1234". Row borders are round
 * numbers. The longest bar has `width` columns. unit may be "". */
void stats_draw_histogram(Buf *out, const double *x, size_t n, int bins, int width, const char *unit);

#endif
