/* picture.c - a canvas, a tiny font, axes, and libpng.
 * The colour map is a path through the OKLCH colour space (Ottosson 2020): lightness rises evenly while the hue turns. */
#include "audio/picture.h"

#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"

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

int picture_write_rgb(const char *path, const Rgb *pixels, int w, int h, Err *err)
{
    Buf file = {0};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, png_failed, png_warned);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info) {
        png_destroy_write_struct(&png, NULL);
        return err_set(err, ERR_NOMEM, "no memory for the picture %s", path);
    }
    if (setjmp(png_jmpbuf(png))) {
        png_destroy_write_struct(&png, &info);
        buf_free(&file);
        return err_set(err, ERR_NOMEM, "libpng cannot make a picture of %d x %d for %s", w, h, path);
    }
    png_set_write_fn(png, &file, png_to_buf, png_no_flush);
    png_set_IHDR(png, info, (png_uint_32)w, (png_uint_32)h, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (int y = 0; y < h; y++)
        png_write_row(png, (png_const_bytep)(pixels + (size_t)y * (size_t)w));
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    int rc =
        file.failed ? err_set(err, ERR_NOMEM, "no memory for the picture %s", path) : file_replace(path, file.data, file.size, err);
    buf_free(&file);
    return rc;
}

/* ---- canvas and font */

typedef struct Canvas {
    Rgb *pixels;
    int w, h;
} Canvas;

static void fill(Canvas *c, int x, int y, int w, int h, Rgb colour)
{
    for (int j = y < 0 ? 0 : y; j < y + h && j < c->h; j++)
        for (int i = x < 0 ? 0 : x; i < x + w && i < c->w; i++)
            c->pixels[(size_t)j * (size_t)c->w + (size_t)i] = colour;
}

#define GLYPH_W 5
#define GLYPH_H 7
#define FONT_SCALE 2
#define LETTER_STEP ((GLYPH_W + 1) * FONT_SCALE)

/* Seven rows of five dots, the leftmost dot is bit 4. */
static const struct {
    char letter;
    uint8_t rows[GLYPH_H];
} glyphs[] = {
    {'0', {14, 17, 17, 21, 17, 17, 14}}, {'1', {4, 12, 4, 4, 4, 4, 14}},      {'2', {14, 17, 1, 6, 8, 16, 31}},
    {'3', {30, 1, 1, 14, 1, 1, 30}},     {'4', {2, 6, 10, 18, 31, 2, 2}},     {'5', {31, 16, 30, 1, 1, 17, 14}},
    {'6', {6, 8, 16, 30, 17, 17, 14}},   {'7', {31, 1, 2, 4, 4, 8, 8}},       {'8', {14, 17, 17, 14, 17, 17, 14}},
    {'9', {14, 17, 17, 15, 1, 2, 12}},   {'.', {0, 0, 0, 0, 0, 12, 12}},      {'-', {0, 0, 0, 14, 0, 0, 0}},
    {'k', {16, 16, 18, 20, 24, 20, 18}}, {'H', {17, 17, 17, 31, 17, 17, 17}}, {'z', {0, 0, 31, 2, 4, 8, 31}},
    {'s', {0, 0, 15, 16, 14, 1, 30}},
};

static int text_width(const char *s) { return (int)strlen(s) * LETTER_STEP - FONT_SCALE; }

static void draw_text(Canvas *c, int x, int y, const char *s, Rgb colour)
{
    for (; *s; s++, x += LETTER_STEP)
        for (size_t g = 0; g < sizeof glyphs / sizeof glyphs[0]; g++)
            for (int row = 0; glyphs[g].letter == *s && row < GLYPH_H; row++)
                for (int col = 0; col < GLYPH_W; col++)
                    if (glyphs[g].rows[row] >> (GLYPH_W - 1 - col) & 1)
                        fill(c, x + col * FONT_SCALE, y + row * FONT_SCALE, FONT_SCALE, FONT_SCALE, colour);
}

/* ---- the mel */

#define MARGIN_LEFT 84
#define MARGIN_RIGHT 108
#define MARGIN_TOP 16
#define MARGIN_BOTTOM 40
#define MAX_COLUMNS 3600
#define TICK 6

static const Rgb paper = {255, 255, 255}, ink = {40, 40, 48};

typedef struct Plot {
    Canvas canvas;
    int x, y, w, h; /* of the mel inside the canvas */
    float low, high;
    Rgb colours[256];
} Plot;

/* What is not finite is drawn as the lowest value. */
static float finite_or(float v, float other) { return isfinite(v) ? v : other; }

static void draw_values(Plot *p, const float *mel, int64_t frames, int bands)
{
    double scale = p->high > p->low ? 255.0 / ((double)p->high - (double)p->low) : 0.0;
    int height = p->h / bands;
    for (int i = 0; i < p->w; i++) {
        int64_t from = (int64_t)i * frames / p->w, to = (int64_t)(i + 1) * frames / p->w;
        if (to <= from)
            to = from + 1;
        for (int b = 0; b < bands; b++) {
            double sum = 0.0;
            for (int64_t f = from; f < to; f++)
                sum += (double)finite_or(mel[f * bands + b], p->low);
            fill(&p->canvas, p->x + i, p->y + (bands - 1 - b) * height, 1, height,
                 p->colours[(int)((sum / (double)(to - from) - (double)p->low) * scale)]);
        }
    }
}

/* 1, 2 or 5 times a power of ten, at least `least`. */
static double round_step(double least)
{
    double unit = pow(10.0, floor(log10(least)));
    return least <= unit ? unit : least <= 2 * unit ? 2 * unit : least <= 5 * unit ? 5 * unit : 10 * unit;
}

static void draw_time(Plot *p, int64_t frames, double seconds_per_frame)
{
    double total = (double)frames * (seconds_per_frame > 0 ? seconds_per_frame : 1.0), step = round_step(total * 90 / p->w);
    if (!(seconds_per_frame > 0) && step < 1)
        step = 1;
    int digits = step < 0.1 ? 2 : step < 1 ? 1 : 0;
    for (int k = 0; k * step <= total; k++) {
        char text[32];
        snprintf(text, sizeof text, "%.*f%s", digits, k * step, seconds_per_frame > 0 ? "s" : "");
        int at = p->x + (int)(k * step / total * p->w);
        fill(&p->canvas, at, p->y + p->h, 2, TICK, ink);
        draw_text(&p->canvas, at + 1 - text_width(text) / 2, p->y + p->h + TICK + 4, text, ink);
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
    for (size_t i = 0; edges && i < sizeof marks / sizeof marks[0]; i++) {
        if (marks[i] < edges[0] - 0.5 || marks[i] > edges[bands + 1] + 0.5) /* edges went through exp and log */
            continue;
        char text[32];
        double at = fmin(fmax(band_at(edges, bands, marks[i]), 0.0), bands);
        int y = p->y + p->h - (int)(at / bands * p->h);
        if (last - y < 2 * GLYPH_H * FONT_SCALE)
            continue;
        last = y;
        snprintf(text, sizeof text, marks[i] >= 1000 ? "%gkHz" : "%gHz", marks[i] >= 1000 ? marks[i] / 1000 : marks[i]);
        fill(&p->canvas, p->x - TICK, y - 1, TICK, 2, ink);
        draw_text(&p->canvas, p->x - TICK - 4 - text_width(text), y - GLYPH_H * FONT_SCALE / 2, text, ink);
    }
    for (int b = 0; !edges && b <= bands; b += bands > 40 ? 20 : 5) {
        char text[32];
        int y = p->y + p->h - b * (p->h / bands);
        snprintf(text, sizeof text, "%d", b);
        fill(&p->canvas, p->x - TICK, y - 1, TICK, 2, ink);
        draw_text(&p->canvas, p->x - TICK - 4 - text_width(text), y - GLYPH_H * FONT_SCALE / 2, text, ink);
    }
}

static void draw_colour_bar(Plot *p)
{
    int x = p->x + p->w + 16, width = 16;
    for (int i = 0; i < p->h; i++)
        fill(&p->canvas, x, p->y + p->h - 1 - i, width, 1, p->colours[i * 255 / (p->h - 1)]);
    for (int k = 0; k <= 4; k++) {
        char text[32];
        int y = p->y + p->h - k * p->h / 4;
        snprintf(text, sizeof text, "%.1f", (double)(p->low + (p->high - p->low) * (float)k / 4));
        draw_text(&p->canvas, x + width + 6, y - GLYPH_H * FONT_SCALE / 2, text, ink);
    }
}

int picture_mel(const char *path, const float *mel, int64_t frames, int bands, const PictureAxes *axes, Err *err)
{
    if (frames < 1 || bands < 1)
        return err_set(err, ERR_DATA, "there is nothing to draw in %s: %lld frames of %d bands", path, (long long)frames, bands);
    Plot p = {.x = MARGIN_LEFT, .y = MARGIN_TOP};
    p.h = bands * (bands <= 40 ? 10 : bands <= 128 ? 5 : 4);
    p.w = frames >= MAX_COLUMNS ? MAX_COLUMNS : (int)frames * (frames < 300 ? 4 : frames < 900 ? 2 : 1);
    if (p.w < 320)
        p.w = 320;
    p.canvas.w = p.w + MARGIN_LEFT + MARGIN_RIGHT;
    p.canvas.h = p.h + MARGIN_TOP + MARGIN_BOTTOM;
    p.canvas.pixels = mem_calloc((size_t)p.canvas.w * (size_t)p.canvas.h, sizeof(Rgb));
    if (!p.canvas.pixels)
        return err_set(err, ERR_NOMEM, "no memory for the picture %s", path);
    p.low = HUGE_VALF;
    p.high = -HUGE_VALF;
    for (int64_t i = 0; i < frames * bands; i++) {
        p.low = fminf(p.low, finite_or(mel[i], p.low));
        p.high = fmaxf(p.high, finite_or(mel[i], p.high));
    }
    if (!(p.low <= p.high))
        p.low = p.high = 0.0f;
    for (int i = 0; i < 256; i++)
        p.colours[i] = picture_colour(i / 255.0);
    fill(&p.canvas, 0, 0, p.canvas.w, p.canvas.h, paper);
    draw_values(&p, mel, frames, bands);
    draw_time(&p, frames, axes ? axes->seconds_per_frame : 0.0);
    draw_frequency(&p, bands, axes ? axes->edges : NULL);
    draw_colour_bar(&p);
    int rc = picture_write_rgb(path, p.canvas.pixels, p.canvas.w, p.canvas.h, err);
    free(p.canvas.pixels);
    return rc;
}
