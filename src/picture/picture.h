/* picture.h - pictures of mels and of attention: PNG files with axes, and the colour map. Files appear whole
 * or not at all. The functions that end in _pixels leave the picture in memory: *pixels [*h][*w], top row
 * first, malloc'd; NULL after a failure. Threads: any. */
#ifndef MYXTTS_PICTURE_H
#define MYXTTS_PICTURE_H

#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

typedef struct Rgb {
    uint8_t r, g, b;
} Rgb;

/* Dark blue over red to pale yellow; equal steps of t look like equal steps of lightness. t is clamped to [0,
 * 1]; NaN is 0. */
Rgb picture_colour(double t);

/* pixels: [h][w], top row first. ERR_IO, ERR_NOSPACE, ERR_NOMEM. */
int picture_write_rgb(const char *path, const Rgb *pixels, int w, int h, Err *err);
/* The bytes of the PNG file, appended to out. */
int picture_png(Buf *out, const Rgb *pixels, int w, int h, Err *err);

typedef struct PictureAxes {
    double seconds_per_frame; /* 0: frames are counted instead */
    const double *edges;      /* [bands + 2] Hz, as mel_edges; NULL: bands are counted instead */
} PictureAxes;
/* mel: [frames, bands], time to the right, low frequencies at the bottom, a colour bar with the range of
 * values. Clips of more than 3600 frames are drawn with the mean of neighbouring frames. axes may be NULL. */
int picture_mel(const char *path, const float *mel, int64_t frames, int bands, const PictureAxes *axes,
                Err *err);
int picture_mel_pixels(Rgb **pixels, int *w, int *h, const float *mel, int64_t frames, int bands,
                       const PictureAxes *axes, Err *err);

#endif
