/* svg.h - one chart of a report as inline SVG: lines, histograms, bars, stacked bars; with axes, ticks,
 * marks, values under the pointer. The drawing is 400 units wide, so that its text stays legible on a phone;
 * colours are the classes s0 .. s5 of the page's style sheet. Foreign text is escaped. Values that are not
 * finite leave a gap; a chart without any value is drawn with the words "no data". Threads: any. */
#ifndef MYXTTS_SVG_H
#define MYXTTS_SVG_H

#include <jansson.h>

#include "base/mem.h"

/* chart: {"kind": "line|histogram|bars|stacked", "title", "x_label", "y_label", "series": [{"name", "x": [],
 * "y": []}], "categories": [], "marks": [{"x", "label"}]}. line: y over x; without x, over 0, 1, 2 ... More
 * than 400 points are thinned to the lowest and the highest of each of 200 pieces, so that no peak is lost.
 * histogram: y counts; x the centres of as many bins, or all edges (one more). Without x, y are samples and
 * are counted here, all series into the same bins. bars, stacked: y[i] belongs to categories[i] (without
 * categories: to the x[i] of the first series). marks: a dashed line at x with its label (bars: x is as in
 * the series, else the number of the category). A failed append is seen in out->failed. */
void svg_chart(Buf *out, const json_t *chart);
/* Appends s with &, <, >, " and ' written as references and control characters as U+FFFD. */
void svg_escape(Buf *out, const char *s, size_t n);
/* "0.25", "1 200", "35k", "2.5M": about three digits. */
void svg_number(char out[32], double v);

#define SVG_COLOURS 6

#endif
