/* picture.c - colours, libpng, and values as colours with axes around them.
 * The colour map is a path through the OKLCH colour space (Ottosson 2020): lightness rises evenly while the
 * hue turns. */
#include "picture/picture.h"

#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "picture/draw.h"
#include "picture/plot.h"

/* ---- colours */

/* Linear light to the values of sRGB. */
static double gamma_encode(double linear)
{
    if (linear <= 0.0031308)
        return 12.92 * linear;
    return 1.055 * pow(linear, 1.0 / 2.4) - 0.055;
}

/* Linear light; 0 where the colour lies outside of what a screen can show. */
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
    /* From nearly black over violet and red to pale yellow; lightness rises evenly. */
    double lightness = 0.13 + 0.84 * t, hue = (285.0 + 180.0 * t) * M_PI / 180.0, rgb[3];
    double chroma = 0.045 + 0.17 * sin(M_PI * pow(t, 0.85)) + 0.02 * t;
    /* The path leaves the screen's colours here and there: paler until it does not. */
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
    /* libpng reports errors by jumping here. */
    if (setjmp(png_jmpbuf(png))) {
        png_destroy_write_struct(&png, &info);
        return err_set(err, ERR_NOMEM, "libpng cannot make a picture of %d x %d", w, h);
    }
    png_set_write_fn(png, out, png_to_buf, png_no_flush);
    png_set_IHDR(png, info, (png_uint_32)w, (png_uint_32)h, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
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

/* A canvas with `more_*` pixels besides the usual margins, and colours for the range of n values. x, y, w, h
 * are set. */
static int plot_open(Plot *p, const float *values, int64_t n, int more_right, int more_bottom, Err *err)
{
    plot_range(p, values, n);
    return canvas_open(p->canvas, p->x + p->w + PLOT_RIGHT + more_right,
                       p->y + p->h + PLOT_BOTTOM + more_bottom, plot_paper, err);
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

int picture_mel_pixels(Rgb **pixels, int *w, int *h, const float *mel, int64_t frames, int bands,
                       const PictureAxes *axes, Err *err)
{
    *pixels = NULL;
    if (frames < 1 || bands < 1)
        return err_set(err, ERR_DATA, "there is nothing to draw: %lld frames of %d bands", (long long)frames,
                       bands);
    Canvas canvas = {0};
    Plot p = {.canvas = &canvas, .x = PLOT_LEFT, .y = PLOT_TOP};
    /* Few bands and frames are drawn larger, so that every cell can be seen. */
    p.h = bands * (bands <= 40 ? 10 : bands <= 128 ? 5 : 4);
    p.w = frames >= PLOT_MOST_COLUMNS ? PLOT_MOST_COLUMNS
                                      : (int)frames * (frames < 300   ? 4
                                                       : frames < 900 ? 2
                                                                      : 1);
    if (p.w < 320)
        p.w = 320;
    int rc = plot_open(&p, mel, frames * bands, 0, 0, err);
    if (rc)
        return rc;
    plot_values(&p, mel, frames, bands, 0);
    plot_frame(&p);
    plot_time(&p, frames, axes ? axes->seconds_per_frame : 0.0);
    plot_frequency(&p, bands, axes ? axes->edges : NULL);
    plot_colour_bar(&p, "log mel");
    *w = canvas.w;
    *h = canvas.h;
    *pixels = canvas_take(&canvas);
    return 0;
}

int picture_mel(const char *path, const float *mel, int64_t frames, int bands, const PictureAxes *axes,
                Err *err)
{
    Rgb *pixels;
    int w = 0, h = 0, rc = picture_mel_pixels(&pixels, &w, &h, mel, frames, bands, axes, err);
    return write_and_free(path, pixels, w, h, rc, err);
}

/* ---- a matrix */
