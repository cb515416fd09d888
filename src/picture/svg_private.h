/* svg_private.h - what the parts of a chart share: svg.c has axes and lines, svg_bars.c histograms and bars.
 */
#ifndef MYXTTS_SVG_PRIVATE_H
#define MYXTTS_SVG_PRIVATE_H

#include "picture/svg.h"

#define SVG_WIDTH 400
#define SVG_HEIGHT 230
#define SVG_SERIES 12 /* at most */

typedef struct Values {
    const char *name;
    double *x, *y; /* [x_n], [n]; without x: 0 .. n-1 */
    size_t n, x_n;
} Values;

typedef struct Plot {
    Buf *out;
    const json_t *chart;
    Values series[SVG_SERIES];
    int count;
    const char *x_label, *y_label;
    double left, top, right, bottom; /* of the drawing area */
    double x0, x1, y0, y1;           /* values at its edges */
} Plot;

double svg_x_of(const Values *v, size_t i); /* NaN where x is shorter than y */
double svg_px(const Plot *p, double x);
double svg_py(const Plot *p, double y);
double svg_round_step(double raw); /* 1, 2, 5 times a power of ten, or 25, 250 ...; >= raw */
void svg_widen(double *lo, double *hi, int with_zero); /* gives a range a width; with_zero: 0 is in it */
void svg_text(Buf *out, const char *s);                /* escaped */
void svg_label(Buf *out, double x, double y, const char *class, const char *anchor, const char *s);
/* As many decimals as the step between ticks needs. */
void svg_tick_text(char out[32], double v, double step);
void svg_open(Plot *p, double height);
/* Widens y0 .. y1 to round numbers; the left edge makes room for the longest of them. */
void svg_y_axis(Plot *p);
void svg_x_axis(Plot *p, int whole);
void svg_marks(Plot *p, double shift); /* shift: from a mark's x to where it stands */
void svg_no_data(Plot *p);

int svg_histogram(Plot *p); /* 0 or ERR_NOMEM */
void svg_bars(Plot *p, int stacked);

#endif
