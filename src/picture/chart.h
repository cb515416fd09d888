/* chart.h - line charts as PNG files or pixels: loss curves, learning rates, any y over x.
 * Values that are not finite (on a logarithmic axis also those not above zero) leave a gap in their line.
 * Files appear whole or not at all. Threads: any. */
#ifndef MYXTTS_CHART_H
#define MYXTTS_CHART_H

#include <stdint.h>

#include "base/err.h"
#include "picture/picture.h"

typedef struct ChartSeries {
    const char *name; /* for the legend; NULL: not in it */
    const double *x;  /* [n], in any order; NULL: 0 .. n-1 */
    const double *y;  /* [n]; NULL: an upright line at each x, with the name beside it */
    int64_t n;        /* 0 is fine */
    Rgb colour;
} ChartSeries;

/* The i-th of eight colours that are easy to tell apart on white; then they repeat. */
Rgb chart_colour(int i);

/* title and labels are ASCII, may be NULL. log_y: a logarithmic y axis. ERR_IO, ERR_NOSPACE, ERR_NOMEM. */
int chart_lines(const char *path, const char *title, const char *x_label, const char *y_label,
                const ChartSeries *series, int n_series, int log_y, Err *err);
/* The same in memory: *pixels [*h][*w], malloc'd; NULL after a failure. */
int chart_lines_pixels(Rgb **pixels, int *w, int *h, const char *title, const char *x_label,
                       const char *y_label, const ChartSeries *series, int n_series, int log_y, Err *err);

#endif
