/* draw.h - a canvas of pixels: rectangles, smooth lines, text. For pictures and charts (picture.h, chart.h).
 * Coordinates are pixels, x to the right and y down; the middle of the first pixel is (0.5, 0.5). Nothing
 * outside the canvas is touched. Lines and text are gathered by coverage and painted in one colour, so
 * that joints and overlaps of one drawing show no seams. Threads: a canvas belongs to one thread. */
#ifndef MYXTTS_DRAW_H
#define MYXTTS_DRAW_H

#include <stdint.h>

#include "base/err.h"
#include "picture/picture.h"

typedef struct Canvas {
    Rgb *pixels;       /* [h][w] */
    uint8_t *coverage; /* [h][w], zero outside of x0 .. x1, y0 .. y1: what stroke has drawn and paint has not
                          yet */
    int w, h;
    int x0, y0, x1, y1;
} Canvas;

int canvas_open(Canvas *c, int w, int h, Rgb paper, Err *err); /* ERR_NOMEM */
/* Hands the pixels over (free them with free()) and closes the canvas. */
Rgb *canvas_take(Canvas *c);
void canvas_close(Canvas *c); /* safe on a zeroed canvas */

void draw_fill(Canvas *c, int x, int y, int w, int h, Rgb colour);
/* A line with round ends; also a dot. Nothing shows before draw_paint. opacity is 0 .. 1. */
void draw_stroke(Canvas *c, double x0, double y0, double x1, double y1, double width);
void draw_paint(Canvas *c, Rgb colour, double opacity);

/* Text in UTF-8, in the letters of glyphs.h; any other character is drawn as a box. `size` is the pitch of
 * the letters' dots: capitals are 6 * size + stroke pixels high, 2 is good for labels. */
#define DRAW_TEXT_SIZE 2.0
typedef enum { DRAW_LEFT, DRAW_CENTRE, DRAW_RIGHT } DrawAlign;
int draw_has(uint32_t code_point); /* 1: it is not drawn as a box */
double draw_text_width(const char *s, double size);
/* x: where the text begins, has its middle or ends; y: the middle of the capitals. */
void draw_text(Canvas *c, double x, double y, const char *s, double size, DrawAlign align, Rgb colour);
/* The same, reading upwards, with the middle of the text at y and the middle of the capitals at x. */
void draw_text_up(Canvas *c, double x, double y, const char *s, double size, Rgb colour);

/* 1, 2 or 5 times a power of ten, at least `least` (> 0): distances of ticks. */
double draw_round_step(double least);

#endif
