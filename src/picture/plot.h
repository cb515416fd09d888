/* plot.h - what pictures of values have in common: cells of colour, a frame around them, ticks, a colour bar.
 * A Plot is a rectangle of a canvas; several may share one. Sizes are pixels.
 * Threads: a plot belongs to the thread of its canvas. */
#ifndef MYXTTS_PLOT_H
#define MYXTTS_PLOT_H

#include <stdint.h>

#include "picture/draw.h"

#define PLOT_LEFT 84 /* margins: room for ticks, a colour bar, a title, a label */
#define PLOT_RIGHT 108
#define PLOT_TOP 16
#define PLOT_BOTTOM 40
#define PLOT_TITLE 36
#define PLOT_LABEL 28
#define PLOT_TITLE_SIZE 2.5
#define PLOT_MOST_COLUMNS 3600

extern const Rgb plot_paper, plot_ink, plot_faint;

typedef struct Plot {
    Canvas *canvas;
    int x, y, w, h;  /* of the values inside the canvas */
    float low, high; /* values of the first and the last colour */
    Rgb colours[256];
} Plot;

/* Colours for the range of n values, which may be NULL; what is not finite does not count. */
void plot_range(Plot *p, const float *values, int64_t n);
/* Cells of colour. values: [along, across]: along goes to the right, across upwards, unless turned is set:
 * then rows go upwards. Where there are more cells than pixels, the mean of neighbours is drawn. */
void plot_values(Plot *p, const float *values, int64_t along, int64_t across, int turned);
void plot_frame(Plot *p);
void plot_tick_below(Plot *p, int x, const char *text);
void plot_tick_left(Plot *p, int y, const char *text);
/* The colours from low to high with round numbers, and what they are, as "log mel", beside them; it needs
 * PLOT_RIGHT pixels. */
void plot_colour_bar(Plot *p, const char *label);
/* Ticks in seconds, or in frames where seconds_per_frame is 0. */
void plot_time(Plot *p, int64_t frames, double seconds_per_frame);
/* Ticks in Hz for edges [bands + 2] as mel_edges, or in bands where edges is NULL. */
void plot_frequency(Plot *p, int bands, const double *edges);

#endif
