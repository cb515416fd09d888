/* pictures.h - what a network makes of a clip, as pictures: its alignment, its mel, its pitch.
 * The functions leave a picture in memory: *pixels [*h][*w], top row first, malloc'd; NULL after a failure.
 * ERR_DATA if there is nothing to draw, ERR_NOMEM.
 * Threads: any. */
#ifndef MYXTTS_PICTURES_H
#define MYXTTS_PICTURES_H

#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "config/config.h"
#include "picture/picture.h"
#include "train/log/event_log.h"
#include "train/step/engine.h"

/* What the numbers mean. */
typedef struct PictureScale {
    const Config *cfg;             /* sample_rate, hop_length and the bands of the mel */
    const float *mean, *deviation; /* [n_mels] NULL: mels are shown normalised, as the network sees them */
    double pitch_mean, pitch_deviation; /* of log F0; deviation 0: pitch is shown normalised */
    const char *title;                  /* which clip, which step; UTF-8, may be NULL */
} PictureScale;

/* Symbols upwards, frames to the right; colours say how well a frame fits a symbol, beside the symbol that it
 * fits best; the path that was chosen is drawn over them. */
int picture_alignment_pixels(Rgb **pixels, int *w, int *h, const EngineLook *l, const PictureScale *s,
                             Err *err);
/* The mel of the recording above the mel that was made, in one range of colours, with the symbols between
 * them if there are any. */
int picture_mels_pixels(Rgb **pixels, int *w, int *h, const EngineLook *l, const PictureScale *s, Err *err);
/* The pitch of each symbol in the clip and as it was predicted, over time. */
int picture_pitch_pixels(Rgb **pixels, int *w, int *h, const EngineLook *l, const PictureScale *s, Err *err);

/* What was spoken from text alone: the mel, the symbols under it, the pitch under these. Of the look only
 * predicted, tokens, durations, pitch and the sizes are used. */
int picture_spoken_pixels(Rgb **pixels, int *w, int *h, const EngineLook *l, const PictureScale *s, Err *err);

/* alignment.png, mel.png and pitch.png in dir, and the same pictures in the event log (NULL: none) at this
 * step. Files appear whole or not at all; a picture that cannot be made or written is warned of. */
void pictures_of_look(const char *dir, EventLog *events, int64_t step, const EngineLook *l,
                      const PictureScale *s, Log *log);
/* The same with mel.png alone, for a look that has no text: predicted and target. */
void picture_of_copy(const char *dir, EventLog *events, int64_t step, const EngineLook *l,
                     const PictureScale *s, Log *log);

#endif
