/* listening.h - what is kept of hours of sound: 13 cepstra for every 20 ms and the level of every 10 ms,
 * about 1.5 KB for a second. From them: where it is silent, and features of any moment, relative to the
 * voice. A Listening holds several recordings one after the other, in the order in which they were heard.
 * Threads: any may read, one writes. */
#ifndef MYXTTS_LISTENING_H
#define MYXTTS_LISTENING_H

#include <stdint.h>

#include "base/err.h"
#include "base/progress.h"

enum {
    LISTEN_RATE = 16000,
    LISTEN_HZ = 50,        /* feature frames in a second */
    LISTEN_LEVEL_HZ = 100, /* levels in a second */
    LISTEN_CEPSTRA = 13,
    LISTEN_WIDTH = 2 * LISTEN_CEPSTRA /* of a feature: cepstra, and how they change */
};

/* One recording among those that were heard. */
typedef struct ListenedFile {
    const char *path;      /* the caller's */
    int64_t first, frames; /* feature frames; its levels are [2 * first, 2 * (first + frames)) */
    int64_t samples;       /* at its own rate */
    int rate;
    int damaged; /* it ended early */
} ListenedFile;

typedef struct Pause {
    int64_t begin, end; /* levels (10 ms), end exclusive */
} Pause;

typedef struct Listening {
    ListenedFile *files;
    int file_count;
    size_t file_cap;
    int64_t frames;
    uint16_t *cepstra; /* [frames, LISTEN_CEPSTRA], half precision */
    size_t cepstra_cap;
    uint8_t *level; /* [2 * frames], half decibels above -100 dB */
    uint8_t *quiet; /* [2 * frames], 1 in pauses; after listening_find_pauses */
    size_t level_cap;
    Pause *pauses; /* in order; they do not cross files */
    int64_t pause_count;
    size_t pause_cap;
    float mean[LISTEN_CEPSTRA],
        scale[LISTEN_CEPSTRA]; /* of its speech: feature = (cepstrum - mean) * scale */
} Listening;

/* Hears a recording to its end. Progress counts seconds; it may be NULL. Damage is told to the log. */
int listening_add(Listening *h, const char *path, Progress *progress, Log *log, Err *err);
/* The same for samples in memory, such as those of a synthesiser. */
int listening_add_samples(Listening *h, const int16_t *samples, int64_t n, int rate, Err *err);
/* After the last recording: finds pauses of `shortest` seconds or more, and the voice's mean. ERR_NOMEM. */
int listening_find_pauses(Listening *h, double shortest, Err *err);
void listening_close(Listening *h);

/* Features of one frame, [LISTEN_WIDTH]. */
void listening_feature(const Listening *h, int64_t frame, float *out);
/* The pause that holds the level, or the first one after it; pause_count if there is none. */
int64_t listening_pause_at(const Listening *h, int64_t level);
const ListenedFile *listening_file_of(const Listening *h, int64_t frame);
/* Decibels between the speech and the quiet parts of [begin, end) (levels) and a second around it. */
double listening_contrast(const Listening *h, int64_t begin, int64_t end);

#endif
