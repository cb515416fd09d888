/* chart.c - see chart.h. */
#include "picture/chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "picture/draw.h"

#define CHART_W 1120
#define CHART_H 640
#define LEFT 104
#define RIGHT 40
#define BOTTOM 76
#define TITLE_SIZE 2.6
#define LEGEND_ROW 26
#define LEGEND_LINE 26 /* pixels of line before a name */

static const Rgb paper = {255, 255, 255}, ink = {40, 40, 48}, soft = {96, 96, 106}, grid = {228, 229, 233},
                 axis = {150, 150, 160};

Rgb chart_colour(int i)
{
    /* OKLCH, lightness 0.56-0.70 and chroma 0.11-0.19, neighbours far apart in hue */
    static const Rgb colours[] = {{37, 99, 215},  {217, 83, 40},  {20, 140, 100}, {150, 70, 200},
                                  {200, 140, 10}, {20, 150, 190}, {205, 55, 120}, {110, 120, 130}};
    return colours[(unsigned)i % (sizeof colours / sizeof colours[0])];
}

typedef struct Axis {
    double low, high; /* of the values; their log10 when `log` is set */
    int log;
    int from, to; /* pixels of low and high */
} Axis;

typedef struct Chart {
    Canvas canvas;
    Axis x, y;
} Chart;

static double x_of(const ChartSeries *s, int64_t i) { return s->x ? s->x[i] : (double)i; }

/* A value in the units of the axis; NaN for one that cannot be shown. */
static double on_axis(const Axis *a, double v)
{
    if (!isfinite(v))
        return NAN;
    return !a->log ? v : v > 0.0 ? log10(v) : NAN;
}
static double pixel_of(const Axis *a, double on)
{
    return a->from + (on - a->low) / (a->high - a->low) * (a->to - a->from);
}

/* The range of all that can be shown, with a little room; never empty. */
static void find_ranges(Chart *c, const ChartSeries *series, int n_series)
{
    c->x.low = c->y.low = HUGE_VAL;
    c->x.high = c->y.high = -HUGE_VAL;
    for (int k = 0; k < n_series; k++)
        for (int64_t i = 0; i < series[k].n && series[k].y; i++) {
            double x = on_axis(&c->x, x_of(&series[k], i)), y = on_axis(&c->y, series[k].y[i]);
            if (isnan(x) || isnan(y))
                continue;
            c->x.low = fmin(c->x.low, x);
            c->x.high = fmax(c->x.high, x);
            c->y.low = fmin(c->y.low, y);
            c->y.high = fmax(c->y.high, y);
        }
    /* Neither axis may be empty: pixels are found by dividing by its range. */
    for (Axis *a = &c->x;; a = &c->y) {
        if (!(a->low <= a->high)) { /* nothing to show */
            a->low = 0.0;
            a->high = 1.0;
        }
        double range = a->high - a->low, least = 1e-9 * fmax(fabs(a->low), fabs(a->high));
        if (range <= least) { /* one value: in the middle */
            double room = a->log ? 0.5 : fmax(fabs(a->low) * 0.1, 1e-12);
            a->low -= room;
            a->high += room;
        }
        if (a == &c->y)
            break;
    }
    double room = 0.04 * (c->y.high - c->y.low);
    /* Where zero is near enough, it is shown. */
    int from_zero = !c->y.log && c->y.low >= 0.0 && c->y.low < 0.4 * c->y.high;
    c->y.low = from_zero ? 0.0 : c->y.low - room;
    c->y.high += room;
}

/* Short text for a tick; step tells how many digits matter, size (the largest on the axis) whether to count
 * in thousands. */
static void tick_text(char text[32], double v, double step, double size)
{
    if (fabs(v) < step * 1e-6)
        snprintf(text, 32, "0");
    else if (size >= 1e6 && size < 1e9 && step >= 1e4)
        snprintf(text, 32, "%gM", v / 1e6);
    else if (size >= 1e4 && size < 1e9 && step >= 100)
        snprintf(text, 32, "%gk", v / 1e3);
    else if (size >= 1e6 || step < 1e-4)
        snprintf(text, 32, "%.4g", v);
    else
        snprintf(text, 32, "%.*f", step >= 1 ? 0 : (int)ceil(-log10(step) - 1e-9), v);
}

/* A grid line, a tick and its number. */
static void tick_x(Chart *c, double v, double step)
{
    char text[32];
    int x = (int)lrint(pixel_of(&c->x, v));
    draw_fill(&c->canvas, x, c->y.to, 1, c->y.from - c->y.to, grid);
    draw_fill(&c->canvas, x, c->y.from, 1, 6, axis);
    tick_text(text, v, step, fmax(fabs(c->x.low), fabs(c->x.high)));
    draw_text(&c->canvas, x, c->y.from + 20, text, DRAW_TEXT_SIZE, DRAW_CENTRE, soft);
}

/* The same; without `named` only the grid line. */
static void tick_y(Chart *c, double v, double step, int named)
{
    char text[32];
    int y = (int)lrint(pixel_of(&c->y, on_axis(&c->y, v)));
    draw_fill(&c->canvas, c->x.from, y, c->x.to - c->x.from, 1, grid);
    if (!named)
        return;
    draw_fill(&c->canvas, c->x.from - 6, y, 6, 1, axis);
    tick_text(text, v, step, c->y.log ? v : fmax(fabs(c->y.low), fabs(c->y.high)));
    draw_text(&c->canvas, c->x.from - 12, y, text, DRAW_TEXT_SIZE, DRAW_RIGHT, soft);
}

/* Powers of ten; 2 and 5 times them where few decades leave room; every third decade where many leave none.
 */
static void ticks_log(Chart *c)
{
    double decades = c->y.high - c->y.low, per_decade = (c->y.from - c->y.to) / decades;
    /* A number needs 30 pixels. */
    int each = per_decade >= 30 ? 1 : (int)ceil(30 / per_decade);
    if (decades < 0.4) { /* less than a factor of 2.5: as on a linear axis */
        double low = pow(10, c->y.low), high = pow(10, c->y.high), step = draw_round_step((high - low) / 8);
        for (double v = ceil(low / step) * step; v <= high; v += step)
            tick_y(c, v, step, 1);
        return;
    }
    for (int d = (int)floor(c->y.low); d <= (int)ceil(c->y.high); d++)
        for (int k = 1; k < 10; k++) {
            double v = k * pow(10, d), on = on_axis(&c->y, v);
            int named = k == 1 ? d % each == 0 : (k == 2 || k == 5) ? per_decade >= 120 : per_decade >= 700;
            if (on >= c->y.low && on <= c->y.high && (k == 1 || per_decade >= 120))
                tick_y(c, v, pow(10, d), named);
        }
}

static void draw_axes(Chart *c, const char *x_label, const char *y_label)
{
    /* A number every 110 pixels across, every 56 down, at round values. */
    double step = draw_round_step((c->x.high - c->x.low) * 110 / (c->x.to - c->x.from));
    for (double k = ceil(c->x.low / step - 1e-9); k * step <= c->x.high + 1e-9 * step; k++)
        tick_x(c, k * step, step);
    if (c->y.log)
        ticks_log(c);
    else {
        step = draw_round_step((c->y.high - c->y.low) * 56 / (c->y.from - c->y.to));
        for (double k = ceil(c->y.low / step - 1e-9); k * step <= c->y.high + 1e-9 * step; k++)
            tick_y(c, k * step, step, 1);
    }
    draw_fill(&c->canvas, c->x.from, c->y.to, 1, c->y.from - c->y.to + 1, axis);
    draw_fill(&c->canvas, c->x.from, c->y.from, c->x.to - c->x.from, 1, axis);
    if (x_label)
        draw_text(&c->canvas, (c->x.from + c->x.to) / 2.0, CHART_H - 22, x_label, DRAW_TEXT_SIZE, DRAW_CENTRE,
                  ink);
    if (y_label)
        draw_text_up(&c->canvas, 22, (c->y.from + c->y.to) / 2.0, y_label, DRAW_TEXT_SIZE, ink);
}

/* The names in rows from y on, or only counted when c is NULL; the height they take. */
static int legend(Chart *c, int y, const ChartSeries *series, int n_series)
{
    int x = LEFT, rows = 0, width = CHART_W - RIGHT;
    for (int k = 0; k < n_series; k++) {
        if (!series[k].name || !series[k].y)
            continue;
        /* A piece of line, a gap, the name. */
        int need = LEGEND_LINE + 8 + (int)ceil(draw_text_width(series[k].name, DRAW_TEXT_SIZE));
        /* A name that does not fit begins the next row. */
        if (rows == 0 || (x > LEFT && x + need > width)) {
            x = LEFT;
            rows++;
        }
        int middle = y + (rows - 1) * LEGEND_ROW + LEGEND_ROW / 2;
        if (c) {
            draw_stroke(&c->canvas, x + 2, middle, x + LEGEND_LINE - 2, middle, 4);
            draw_paint(&c->canvas, series[k].colour, 1.0);
            draw_text(&c->canvas, x + LEGEND_LINE + 8, middle, series[k].name, DRAW_TEXT_SIZE, DRAW_LEFT,
                      ink);
        }
        x += need + 30;
    }
    return rows * LEGEND_ROW;
}

static void draw_line(Chart *c, const ChartSeries *s)
{
    double last_x = NAN, last_y = NAN;
    for (int64_t i = 0; i < s->n; i++) {
        /* A value that cannot be shown leaves a gap. */
        double x = pixel_of(&c->x, on_axis(&c->x, x_of(s, i))), y = pixel_of(&c->y, on_axis(&c->y, s->y[i]));
        /* A point between two gaps has no line to be seen by: it is drawn as a dot. */
        int alone = isnan(last_x) && (i + 1 == s->n || isnan(on_axis(&c->y, s->y[i + 1])) ||
                                      isnan(on_axis(&c->x, x_of(s, i + 1))));
        if (isnan(x) || isnan(y)) {
            last_x = last_y = NAN;
            continue;
        }
        if (alone)
            draw_stroke(&c->canvas, x, y, x, y, 7);
        else if (!isnan(last_x))
            draw_stroke(&c->canvas, last_x, last_y, x, y, 2.4);
        last_x = x;
        last_y = y;
    }
    draw_paint(&c->canvas, s->colour, 0.92);
}

/* Upright lines; the name stands on the side where there is more room, the names of several marks below each
 * other. Marks outside of the lines' range are left out. */
static void draw_mark(Chart *c, const ChartSeries *s, int row)
{
    const double y = c->y.to + 14 + 20 * row;
    for (int64_t i = 0; i < s->n; i++) {
        const double at = on_axis(&c->x, x_of(s, i)), x = pixel_of(&c->x, at);
        if (!(at >= c->x.low && at <= c->x.high))
            continue;
        const int right = x < (c->x.from + c->x.to) / 2.0;
        draw_stroke(&c->canvas, x, c->y.to, x, c->y.from, 2.4);
        draw_paint(&c->canvas, s->colour, 0.92);
        if (s->name)
            draw_text(&c->canvas, right ? x + 8 : x - 8, y, s->name, DRAW_TEXT_SIZE,
                      right ? DRAW_LEFT : DRAW_RIGHT, s->colour);
    }
}

int chart_lines_pixels(Rgb **pixels, int *w, int *h, const char *title, const char *x_label,
                       const char *y_label, const ChartSeries *series, int n_series, int log_y, Err *err)
{
    *pixels = NULL;
    Chart c = {.y.log = log_y};
    int rc = canvas_open(&c.canvas, CHART_W, CHART_H, paper, err);
    if (rc)
        return rc;
    int top = 18;
    if (title && *title) {
        /* A long title is made smaller. */
        double room = (CHART_W - LEFT - 16) / draw_text_width(title, 1.0);
        draw_text(&c.canvas, LEFT, top + 10, title, fmin(TITLE_SIZE, room), DRAW_LEFT, ink);
        top += 34;
    }
    /* Counted first: the plot begins below the names. */
    int names = legend(NULL, top, series, n_series);
    if (names > CHART_H / 3)
        names = 0; /* more names than a chart has room for: the lines matter more */
    else
        legend(&c, top, series, n_series);
    c.x.from = LEFT;
    c.x.to = CHART_W - RIGHT;
    c.y.from = CHART_H - BOTTOM;
    c.y.to = top + names + 12;
    find_ranges(&c, series, n_series);
    draw_axes(&c, x_label, y_label);
    for (int k = 0, marks = 0; k < n_series; k++)
        if (series[k].y)
            draw_line(&c, &series[k]);
        else
            draw_mark(&c, &series[k], marks++);
    *w = c.canvas.w;
    *h = c.canvas.h;
    *pixels = canvas_take(&c.canvas);
    return 0;
}

int chart_lines(const char *path, const char *title, const char *x_label, const char *y_label,
                const ChartSeries *series, int n_series, int log_y, Err *err)
{
    Rgb *pixels;
    int w, h, rc = chart_lines_pixels(&pixels, &w, &h, title, x_label, y_label, series, n_series, log_y, err);
    if (rc)
        return err_prefix(err, "%s", path);
    rc = picture_write_rgb(path, pixels, w, h, err);
    free(pixels);
    return rc;
}
