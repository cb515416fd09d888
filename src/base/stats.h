/* stats.h - running mean and deviation (Welford), percentiles and histograms of a sample. */
#ifndef MYXTTS_STATS_H
#define MYXTTS_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

typedef struct Stats {
    uint64_t n;
    double mean, m2, min, max;
} Stats;
void stats_add(Stats *s, double x); /* zero-initialise before the first */
double stats_std(const Stats *s);   /* population deviation; 0 for n < 2 */

/* q in [0, 1], linear between neighbours; sorts x in place. 0 for n == 0. */
double stats_percentile(double *x, size_t n, double q);

/* Draws `bins` rows of a horizontal histogram in text: "  2.0 -  3.0 s  ########  1234". Values outside count
 * in the first or last row. unit may be "". width: columns of the bar. */
void stats_draw_histogram(Buf *out, const double *x, size_t n, int bins, int width, const char *unit);

#endif
