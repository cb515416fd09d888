/* digits_judge.h - the ear of bench/digits: features of a clip, distance of two clips, all distances of two
 * sets. See digits.c. Same input, same numbers, whatever the number of threads. */
#ifndef MYXTTS_DIGITS_JUDGE_H
#define MYXTTS_DIGITS_JUDGE_H

#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "audio/mel.h"
#include "audio/process.h"
#include "base/check.h"
#include "base/mem.h"
#include "base/thread.h"

#define JUDGE_RATE 8000
#define JUDGE_MAX_THREADS 64

typedef enum { LOCAL_ABSOLUTE, LOCAL_SQUARES, LOCAL_EUCLID } JudgeLocal;

/* One way to listen. digits.c holds the frozen one and, for comparison, its neighbours. */
typedef struct JudgeSettings {
    const char *name;
    int n_fft, win, hop, n_mels; /* samples, samples, samples, bands from 0 to 4 kHz */
    double trim_db;              /* silence: this far below the loudest frame */
    double range_db;  /* log mels lower than the clip's highest by more than this are raised to that floor; 0:
                         off */
    int cepstra;      /* coefficients of the cosine transform, the 0th included; 0: the bands themselves */
    double slopes;    /* weight of the slopes over 5 frames beside the values; 0: none */
    int variance;     /* each coefficient has mean 0 over the clip; 1: and deviation 1 */
    double band;      /* half width of the Sakoe-Chiba band, as a share of the longer clip */
    float diagonal;   /* weight of a diagonal step; 2: the symmetric form of Sakoe and Chiba */
    JudgeLocal local; /* distance of two frames */
    int k;            /* neighbours that vote */
} JudgeSettings;

typedef struct Clip {
    char name[96];
    int digit, speaker;   /* of the label */
    double file_seconds;  /* of the whole file */
    double voice_seconds; /* after trimming; 0: silent, there is nothing to recognise */
    int frames, dim, stride;
    float *rows; /* [frames, dim] */
    float *cols; /* [dim, stride]: the same transposed, zeros from frames to stride */
} Clip;

void clip_free(Clip *c);

/* What one thread needs to turn samples into features. */
typedef struct Ear {
    JudgeSettings set;
    Config cfg;
    AudioProcessor *processor;
    MelPlan *plan;
    MelScratch *scratch;
    AudioBuffer audio;
    float *mel;
    size_t mel_cap;
} Ear;

void ear_close(Ear *e);
int ear_open(Ear *e, const JudgeSettings *set, Err *err);

/* Fills c (name and label stay as they are) from the decoded clip in `in`. A silent clip is no error:
 * voice_seconds is 0. */
int ear_listen(Ear *e, Clip *c, const AudioBuffer *in, Err *err);
int ear_listen_file(Ear *e, Clip *c, const char *path, Err *err);

typedef struct WarpScratch {
    float *costs, *above, *here; /* [cap] */
    size_t cap;
} WarpScratch;

void warp_scratch_free(WarpScratch *w);
int warp_scratch_open(WarpScratch *w, size_t frames);

/* Half width of the band times the longer side; never so narrow that no path fits. */
int64_t warp_reach(const JudgeSettings *s, const Clip *a, const Clip *b);

/* Cost of the cheapest path from corner to corner, divided by the sum of both lengths. Steps right, down
 * (weight 1) and diagonal, within the band around the diagonal. The same for (a, b) and (b, a) up to
 * rounding; INFINITY when one is silent. */
float warp_distance(WarpScratch *w, const JudgeSettings *s, const Clip *a, const Clip *b);

/* *out: malloc'd [a_count, b_count, or a_count when b is NULL]. */
int pairs_measure(float **out, const JudgeSettings *set, const Clip *a, size_t a_count, const Clip *b,
                  size_t b_count, int threads, Err *err);

/* The digit that most of the k nearest carry, a tie decided by the nearest of those digits; -1 when there is
 * no neighbour. skip: index that does not count (the clip itself), or count; speaker: one whose clips do not
 * count, or -1. */
int judge_digit(size_t *nearest, const JudgeSettings *s, const float *distances, const Clip *clips,
                size_t count, size_t skip, int speaker);

#endif
