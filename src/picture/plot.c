/* plot.c - see plot.h. */
#include "picture/plot.h"

#include <math.h>
#include <stdio.h>

#define TICK 6

const Rgb plot_paper = {255, 255, 255}, plot_ink = {40, 40, 48}, plot_faint = {168, 168, 176};

/* What is not finite is drawn as the lowest value. */
static float finite_or(float v, float other) { return isfinite(v) ? v : other; }

void plot_range(Plot *p, const float *values, int64_t n)
{
    p->low = HUGE_VALF;
    p->high = -HUGE_VALF;
    for (int64_t i = 0; i < n; i++) {
        p->low = fminf(p->low, finite_or(values[i], p->low));
        p->high = fmaxf(p->high, finite_or(values[i], p->high));
    }
    /* Not one finite value. */
    if (!(p->low <= p->high))
        p->low = p->high = 0.0f;
    /* All the colours there are, looked up by value. */
    for (int i = 0; i < 256; i++)
        p->colours[i] = picture_colour(i / 255.0);
}

/* The cells that pixel i of `size` stands for. */
static void cells_of(int64_t *from, int64_t *to, int i, int size, int64_t cells)
{
    *from = (int64_t)i * cells / size;
    *to = (int64_t)(i + 1) * cells / size;
    if (*to <= *from)
        *to = *from + 1;
}

/* A pixel has the mean of the cells it stands for. turned: the matrix lies the other way round in memory. */
void plot_values(Plot *p, const float *values, int64_t along, int64_t across, int turned)
{
    double scale = p->high > p->low ? 255.0 / ((double)p->high - (double)p->low) : 0.0;
    int64_t step_x = turned ? 1 : across, step_y = turned ? along : 1;
    for (int i = 0; i < p->w; i++) {
        int64_t x0, x1, y0, y1, last = -1;
        cells_of(&x0, &x1, i, p->w, along);
        Rgb colour = plot_paper;
        for (int j = 0; j < p->h; j++) {
            cells_of(&y0, &y1, j, p->h, across);
            /* Several pixels may stand for the same cell: its colour is found once. */
            if (y0 != last) {
                double sum = 0.0;
                for (int64_t a = x0; a < x1; a++)
                    for (int64_t b = y0; b < y1; b++)
                        sum += (double)finite_or(values[a * step_x + b * step_y], p->low);
                double mean = sum / (double)((x1 - x0) * (y1 - y0));
                colour = p->colours[(int)fmin(fmax((mean - (double)p->low) * scale, 0.0), 255.0)];
            }
            last = y0;
            draw_fill(p->canvas, p->x + i, p->y + p->h - 1 - j, 1, 1, colour);
        }
    }
}

void plot_frame(Plot *p)
{
    draw_fill(p->canvas, p->x - 1, p->y - 1, p->w + 2, 1, plot_faint);
    draw_fill(p->canvas, p->x - 1, p->y + p->h, p->w + 2, 1, plot_faint);
    draw_fill(p->canvas, p->x - 1, p->y, 1, p->h, plot_faint);
    draw_fill(p->canvas, p->x + p->w, p->y, 1, p->h, plot_faint);
}

void plot_tick_below(Plot *p, int x, const char *text)
{
    draw_fill(p->canvas, x - 1, p->y + p->h, 2, TICK, plot_ink);
    draw_text(p->canvas, x, p->y + p->h + TICK + 12, text, DRAW_TEXT_SIZE, DRAW_CENTRE, plot_ink);
}

void plot_tick_left(Plot *p, int y, const char *text)
{
    draw_fill(p->canvas, p->x - TICK, y - 1, TICK, 2, plot_ink);
    draw_text(p->canvas, p->x - TICK - 5, y, text, DRAW_TEXT_SIZE, DRAW_RIGHT, plot_ink);
}

void plot_colour_bar(Plot *p, const char *label)
{
    int x = p->x + p->w + 18, width = 16;
    for (int i = 0; i < p->h; i++)
        draw_fill(p->canvas, x, p->y + p->h - 1 - i, width, 1,
                  p->colours[i * 255 / (p->h > 1 ? p->h - 1 : 1)]);
    double wide = draw_text_width(label, DRAW_TEXT_SIZE),
           size = wide > p->h ? DRAW_TEXT_SIZE * p->h / wide : DRAW_TEXT_SIZE;
    draw_text_up(p->canvas, p->x + p->w + PLOT_RIGHT - 14, p->y + p->h / 2.0, label, size, plot_ink);
    /* Four or five numbers, where they are round. */
    double range = (double)p->high - (double)p->low, step = range > 0 ? draw_round_step(range / 5) : 1;
    int digits = step < 0.1 ? 2 : step < 1 ? 1 : 0;
    for (double v = ceil((double)p->low / step - 1e-6) * step; v <= (double)p->high + 1e-6 * step;
         v += step) {
        char text[32];
        int y = p->y + p->h - 1 - (int)lround((v - (double)p->low) / (range > 0 ? range : 1) * (p->h - 1));
        snprintf(text, sizeof text, "%.*f", digits, fabs(v) < step / 2 ? 0.0 : v);
        draw_fill(p->canvas, x + width, y, 4, 1, plot_ink);
        draw_text(p->canvas, x + width + 9, y, text, DRAW_TEXT_SIZE, DRAW_LEFT, plot_ink);
        if (range <= 0)
            break;
    }
}

void plot_time(Plot *p, int64_t frames, double seconds_per_frame)
{
    /* A tick about every 90 pixels; without a frame rate in frames, which have no halves. */
    double total = (double)frames * (seconds_per_frame > 0 ? seconds_per_frame : 1.0),
           step = draw_round_step(total * 90 / p->w);
    if (!(seconds_per_frame > 0) && step < 1)
        step = 1;
    int digits = step < 0.1 ? 2 : step < 1 ? 1 : 0;
    for (int k = 0; k * step <= total; k++) {
        char text[32];
        snprintf(text, sizeof text, "%.*f%s", digits, k * step, seconds_per_frame > 0 ? " s" : "");
        plot_tick_below(p, p->x + (int)(k * step / total * p->w), text);
    }
}

/* Where a frequency is, in bands from the bottom edge; the middle of band b is b + 0.5. */
static double band_at(const double *edges, int bands, double hz)
{
    for (int b = 0; b <= bands; b++)
        if (hz <= edges[b + 1])
            return b - 0.5 + (hz - edges[b]) / (edges[b + 1] - edges[b]);
    return bands;
}

void plot_frequency(Plot *p, int bands, const double *edges)
{
    static const double marks[] = {0,    250,  500,   1000,  2000,  3000, 4000,
                                   6000, 8000, 12000, 16000, 20000, 24000};
    int last = 1 << 30;
    char text[32];
    for (size_t i = 0; edges && i < sizeof marks / sizeof marks[0]; i++) {
        /* Half a hertz of room: edges went through exp and log. */
        if (marks[i] < edges[0] - 0.5 || marks[i] > edges[bands + 1] + 0.5)
            continue;
        /* The height of the frequency, from the bottom. */
        double at = fmin(fmax(band_at(edges, bands, marks[i]), 0.0), bands);
        int y = p->y + p->h - (int)(at / bands * p->h);
        /* Too close to the label below. */
        if (last - y < 26)
            continue;
        last = y;
        snprintf(text, sizeof text, marks[i] >= 1000 ? "%g kHz" : "%g Hz",
                 marks[i] >= 1000 ? marks[i] / 1000 : marks[i]);
        plot_tick_left(p, y, text);
    }
    /* Without frequencies the bands are numbered. */
    for (int b = 0; !edges && b <= bands; b += bands > 40 ? 20 : 5) {
        snprintf(text, sizeof text, "%d", b);
        plot_tick_left(p, p->y + p->h - b * (p->h / bands), text);
    }
}
