/* picture.c - colours, libpng, and values as colours with axes around them.
 * The colour map is a path through the OKLCH colour space (Ottosson 2020): lightness rises evenly while the hue turns. */
#include "audio/picture.h"

#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audio/draw.h"
#include "base/file.h"

/* ---- colours */

static double gamma_encode(double linear)
{
    if (linear <= 0.0031308)
        return 12.92 * linear;
    return 1.055 * pow(linear, 1.0 / 2.4) - 0.055;
}

static int oklch_to_rgb(double rgb[3], double lightness, double chroma, double hue)
{
    double a = chroma * cos(hue), b = chroma * sin(hue);
    double l = pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3.0);
    double m = pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3.0);
    double s = pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3.0);
    rgb[0] = 4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s;
    rgb[1] = -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s;
    rgb[2] = -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s;
    for (int i = 0; i < 3; i++)
        if (rgb[i] < -1e-6 || rgb[i] > 1.0 + 1e-6)
            return 0; /* not a colour a screen can show */
    return 1;
}

Rgb picture_colour(double t)
{
    t = t > 0.0 ? (t < 1.0 ? t : 1.0) : 0.0;
    double lightness = 0.13 + 0.84 * t, hue = (285.0 + 180.0 * t) * M_PI / 180.0, rgb[3];
    double chroma = 0.045 + 0.17 * sin(M_PI * pow(t, 0.85)) + 0.02 * t;
    while (!oklch_to_rgb(rgb, lightness, chroma, hue) && chroma > 0.001)
        chroma *= 0.97;
    uint8_t v[3];
    for (int i = 0; i < 3; i++)
        v[i] = (uint8_t)lrint(255.0 * gamma_encode(fmin(fmax(rgb[i], 0.0), 1.0)));
    return (Rgb){v[0], v[1], v[2]};
}

/* ---- PNG */

static void png_to_buf(png_structp png, png_bytep p, png_size_t n) { buf_add(png_get_io_ptr(png), p, n); }
static void png_no_flush(png_structp png) { (void)png; }
static void png_failed(png_structp png, png_const_charp message)
{
    (void)message;
    longjmp(png_jmpbuf(png), 1);
}
static void png_warned(png_structp png, png_const_charp message) { (void)png, (void)message; }

int picture_png(Buf *out, const Rgb *pixels, int w, int h, Err *err)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, png_failed, png_warned);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info) {
        png_destroy_write_struct(&png, NULL);
        return err_set(err, ERR_NOMEM, "no memory for a picture of %d x %d", w, h);
    }
    if (setjmp(png_jmpbuf(png))) {
        png_destroy_write_struct(&png, &info);
        return err_set(err, ERR_NOMEM, "libpng cannot make a picture of %d x %d", w, h);
    }
    png_set_write_fn(png, out, png_to_buf, png_no_flush);
    png_set_IHDR(png, info, (png_uint_32)w, (png_uint_32)h, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (int y = 0; y < h; y++)
        png_write_row(png, (png_const_bytep)(pixels + (size_t)y * (size_t)w));
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return out->failed ? err_set(err, ERR_NOMEM, "no memory for a picture of %d x %d", w, h) : 0;
}

int picture_write_rgb(const char *path, const Rgb *pixels, int w, int h, Err *err)
{
    Buf file = {0};
    int rc = picture_png(&file, pixels, w, h, err);
    if (rc)
        err_prefix(err, "%s", path);
    else
        rc = file_replace(path, file.data, file.size, err);
    buf_free(&file);
    return rc;
}

/* ---- values as colours */

#define MARGIN_LEFT 84
#define MARGIN_RIGHT 108
#define MARGIN_TOP 16
#define MARGIN_BOTTOM 40
#define MARGIN_TITLE 36 /* more, for a title or a label */
#define MARGIN_LABEL 28
#define MAX_COLUMNS 3600
#define TICK 6

static const Rgb paper = {255, 255, 255}, ink = {40, 40, 48}, faint = {168, 168, 176};

typedef struct Plot {
    Canvas canvas;
    int x, y, w, h; /* of the values inside the canvas */
    float low, high;
    Rgb colours[256];
} Plot;

/* What is not finite is drawn as the lowest value. */
static float finite_or(float v, float other) { return isfinite(v) ? v : other; }

/* Colours for the range of n values, and a canvas with `more_*` pixels besides the usual margins. x, y, w, h are set. */
static int plot_open(Plot *p, const float *values, int64_t n, int more_right, int more_bottom, Err *err)
{
    p->low = HUGE_VALF;
    p->high = -HUGE_VALF;
    for (int64_t i = 0; i < n; i++) {
        p->low = fminf(p->low, finite_or(values[i], p->low));
        p->high = fmaxf(p->high, finite_or(values[i], p->high));
    }
    if (!(p->low <= p->high))
        p->low = p->high = 0.0f;
    for (int i = 0; i < 256; i++)
        p->colours[i] = picture_colour(i / 255.0);
    return canvas_open(&p->canvas, p->x + p->w + MARGIN_RIGHT + more_right, p->y + p->h + MARGIN_BOTTOM + more_bottom, paper, err);
}

/* The cells that pixel i of `size` stands for. */
static void cells_of(int64_t *from, int64_t *to, int i, int size, int64_t cells)
{
    *from = (int64_t)i * cells / size;
    *to = (int64_t)(i + 1) * cells / size;
    if (*to <= *from)
        *to = *from + 1;
}

/* values: [along, across]: along goes to the right, across upwards, unless turned is set: then rows go upwards. */
static void draw_values(Plot *p, const float *values, int64_t along, int64_t across, int turned)
{
    double scale = p->high > p->low ? 255.0 / ((double)p->high - (double)p->low) : 0.0;
    int64_t step_x = turned ? 1 : across, step_y = turned ? along : 1;
    for (int i = 0; i < p->w; i++) {
        int64_t x0, x1, y0, y1, last = -1;
        cells_of(&x0, &x1, i, p->w, along);
        Rgb colour = paper;
        for (int j = 0; j < p->h; j++) {
            cells_of(&y0, &y1, j, p->h, across);
            if (y0 != last) {
                double sum = 0.0;
                for (int64_t a = x0; a < x1; a++)
                    for (int64_t b = y0; b < y1; b++)
                        sum += (double)finite_or(values[a * step_x + b * step_y], p->low);
                double mean = sum / (double)((x1 - x0) * (y1 - y0));
                colour = p->colours[(int)fmin(fmax((mean - (double)p->low) * scale, 0.0), 255.0)];
            }
            last = y0;
            draw_fill(&p->canvas, p->x + i, p->y + p->h - 1 - j, 1, 1, colour);
        }
    }
}

static void draw_frame(Plot *p)
{
    draw_fill(&p->canvas, p->x - 1, p->y - 1, p->w + 2, 1, faint);
    draw_fill(&p->canvas, p->x - 1, p->y + p->h, p->w + 2, 1, faint);
    draw_fill(&p->canvas, p->x - 1, p->y, 1, p->h, faint);
    draw_fill(&p->canvas, p->x + p->w, p->y, 1, p->h, faint);
}

static void tick_below(Plot *p, int x, const char *text)
{
    draw_fill(&p->canvas, x - 1, p->y + p->h, 2, TICK, ink);
    draw_text(&p->canvas, x, p->y + p->h + TICK + 12, text, DRAW_TEXT_SIZE, DRAW_CENTRE, ink);
}

static void tick_left(Plot *p, int y, const char *text)
{
    draw_fill(&p->canvas, p->x - TICK, y - 1, TICK, 2, ink);
    draw_text(&p->canvas, p->x - TICK - 5, y, text, DRAW_TEXT_SIZE, DRAW_RIGHT, ink);
}

static void draw_colour_bar(Plot *p)
{
    int x = p->x + p->w + 18, width = 16, digits = p->high - p->low < 4.0f ? 2 : 1;
    for (int i = 0; i < p->h; i++)
        draw_fill(&p->canvas, x, p->y + p->h - 1 - i, width, 1, p->colours[i * 255 / (p->h > 1 ? p->h - 1 : 1)]);
    for (int k = 0; k <= 4; k++) {
        char text[32];
        int y = p->y + p->h - k * p->h / 4;
        snprintf(text, sizeof text, "%.*f", digits, (double)(p->low + (p->high - p->low) * (float)k / 4));
        draw_fill(&p->canvas, x + width, y - (k == 4 ? 0 : 1), 4, 1, ink);
        draw_text(&p->canvas, x + width + 9, y, text, DRAW_TEXT_SIZE, DRAW_LEFT, ink);
    }
}

/* Writes what a _pixels function has made. rc is that function's. */
static int write_and_free(const char *path, Rgb *pixels, int w, int h, int rc, Err *err)
{
    if (rc == 0)
        rc = picture_write_rgb(path, pixels, w, h, err);
    else
        err_prefix(err, "%s", path);
    free(pixels);
    return rc;
}

/* ---- the mel */

static void draw_time(Plot *p, int64_t frames, double seconds_per_frame)
{
    double total = (double)frames * (seconds_per_frame > 0 ? seconds_per_frame : 1.0), step = draw_round_step(total * 90 / p->w);
    if (!(seconds_per_frame > 0) && step < 1)
        step = 1;
    int digits = step < 0.1 ? 2 : step < 1 ? 1 : 0;
    for (int k = 0; k * step <= total; k++) {
        char text[32];
        snprintf(text, sizeof text, "%.*f%s", digits, k * step, seconds_per_frame > 0 ? " s" : "");
        tick_below(p, p->x + (int)(k * step / total * p->w), text);
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

static void draw_frequency(Plot *p, int bands, const double *edges)
{
    static const double marks[] = {0, 250, 500, 1000, 2000, 3000, 4000, 6000, 8000, 12000, 16000, 20000, 24000};
    int last = 1 << 30;
    char text[32];
    for (size_t i = 0; edges && i < sizeof marks / sizeof marks[0]; i++) {
        if (marks[i] < edges[0] - 0.5 || marks[i] > edges[bands + 1] + 0.5) /* edges went through exp and log */
            continue;
        double at = fmin(fmax(band_at(edges, bands, marks[i]), 0.0), bands);
        int y = p->y + p->h - (int)(at / bands * p->h);
        if (last - y < 26)
            continue;
        last = y;
        snprintf(text, sizeof text, marks[i] >= 1000 ? "%g kHz" : "%g Hz", marks[i] >= 1000 ? marks[i] / 1000 : marks[i]);
        tick_left(p, y, text);
    }
    for (int b = 0; !edges && b <= bands; b += bands > 40 ? 20 : 5) {
        snprintf(text, sizeof text, "%d", b);
        tick_left(p, p->y + p->h - b * (p->h / bands), text);
    }
}

int picture_mel_pixels(Rgb **pixels, int *w, int *h, const float *mel, int64_t frames, int bands, const PictureAxes *axes, Err *err)
{
    *pixels = NULL;
    if (frames < 1 || bands < 1)
        return err_set(err, ERR_DATA, "there is nothing to draw: %lld frames of %d bands", (long long)frames, bands);
    Plot p = {.x = MARGIN_LEFT, .y = MARGIN_TOP};
    p.h = bands * (bands <= 40 ? 10 : bands <= 128 ? 5 : 4);
    p.w = frames >= MAX_COLUMNS ? MAX_COLUMNS : (int)frames * (frames < 300 ? 4 : frames < 900 ? 2 : 1);
    if (p.w < 320)
        p.w = 320;
    int rc = plot_open(&p, mel, frames * bands, 0, 0, err);
    if (rc)
        return rc;
    draw_values(&p, mel, frames, bands, 0);
    draw_frame(&p);
    draw_time(&p, frames, axes ? axes->seconds_per_frame : 0.0);
    draw_frequency(&p, bands, axes ? axes->edges : NULL);
    draw_colour_bar(&p);
    *w = p.canvas.w, *h = p.canvas.h;
    *pixels = canvas_take(&p.canvas);
    return 0;
}

int picture_mel(const char *path, const float *mel, int64_t frames, int bands, const PictureAxes *axes, Err *err)
{
    Rgb *pixels;
    int w = 0, h = 0, rc = picture_mel_pixels(&pixels, &w, &h, mel, frames, bands, axes, err);
    return write_and_free(path, pixels, w, h, rc, err);
}

/* ---- a matrix */

/* Pixels for n cells: whole pixels per cell up to about `most`. */
static int extent(int64_t n, int most)
{
    if (n >= most)
        return n <= 2 * most ? (int)n : most;
    int64_t each = most / n;
    return (int)(n * (each < 24 ? each : 24));
}

/* Ticks in the middles of cells, counted from 0. */
static void draw_cells(Plot *p, int64_t n, int upwards)
{
    int size = upwards ? p->h : p->w;
    double step = draw_round_step(fmax((double)n * (upwards ? 40 : 70) / size, 1.0));
    for (double at = 0; at < (double)n; at += step) {
        char text[32];
        int pixel = (int)((at + 0.5) / (double)n * size);
        snprintf(text, sizeof text, "%.0f", at);
        if (upwards)
            tick_left(p, p->y + p->h - pixel, text);
        else
            tick_below(p, p->x + pixel, text);
    }
}

int picture_matrix_pixels(Rgb **pixels, int *w, int *h, const char *title, const float *values, int64_t rows, int64_t cols,
                          const char *x_label, const char *y_label, Err *err)
{
    *pixels = NULL;
    if (rows < 1 || cols < 1)
        return err_set(err, ERR_DATA, "there is nothing to draw: %lld rows of %lld values", (long long)rows, (long long)cols);
    const double title_size = 2.5;
    Plot p = {.x = MARGIN_LEFT + (y_label ? 4 : -16), .y = MARGIN_TOP + (title ? MARGIN_TITLE : 0)};
    p.w = extent(cols, 840);
    p.h = extent(rows, 480);
    p.w = p.w < 240 ? 240 : p.w;
    p.h = p.h < 200 ? 200 : p.h;
    int title_w = title ? (int)draw_text_width(title, title_size) : 0, more = title_w - p.w - MARGIN_RIGHT + 16;
    int rc = plot_open(&p, values, rows * cols, more > 0 ? more : 0, x_label ? MARGIN_LABEL : 0, err);
    if (rc)
        return rc;
    draw_values(&p, values, cols, rows, 1);
    draw_frame(&p);
    draw_cells(&p, cols, 0);
    draw_cells(&p, rows, 1);
    draw_colour_bar(&p);
    if (title)
        draw_text(&p.canvas, p.x, MARGIN_TOP + 12, title, title_size, DRAW_LEFT, ink);
    if (x_label)
        draw_text(&p.canvas, p.x + p.w / 2, p.y + p.h + MARGIN_BOTTOM + 8, x_label, DRAW_TEXT_SIZE, DRAW_CENTRE, ink);
    if (y_label)
        draw_text_up(&p.canvas, 22, p.y + p.h / 2, y_label, DRAW_TEXT_SIZE, ink);
    *w = p.canvas.w, *h = p.canvas.h;
    *pixels = canvas_take(&p.canvas);
    return 0;
}

int picture_matrix(const char *path, const char *title, const float *values, int64_t rows, int64_t cols, const char *x_label,
                   const char *y_label, Err *err)
{
    Rgb *pixels;
    int w = 0, h = 0, rc = picture_matrix_pixels(&pixels, &w, &h, title, values, rows, cols, x_label, y_label, err);
    return write_and_free(path, pixels, w, h, rc, err);
}
