/* ear.h - what can be heard of a voice without a judge: sentences that it has spoken freely beside the
 * recordings of the same sentences. A network that learns the mean of all ways to say a sentence has the
 * lowest loss and the dullest voice; how much its mel moves, beside the recordings', tells the two apart
 * (docs/MODEL.md). Pauses are left out: the noise of a quiet room moves more in the log than any voice.
 * Threads: any. */
#ifndef MYXTTS_EAR_H
#define MYXTTS_EAR_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* Shares of the recordings'; 1 is as they are, 0: not known. */
typedef struct EarFigures {
    double movement;     /* variance of the log mel's change from frame to frame */
    double detail;       /* the same from band to band */
    double pitch_range;  /* deviation of log F0 within sentences */
    double length_ratio; /* of all sentences together */
} EarFigures;

/* A sentence as it was spoken. */
typedef struct EarSpoken {
    const float *mel; /* [frames, bands] natural log, not normalised */
    int64_t frames;
    const float *pitch;       /* [symbols] normalised log F0 */
    const int32_t *durations; /* [symbols] frames; their sum is `frames` */
    int symbols;
    double pitch_deviation; /* what undoes the normalisation */
} EarSpoken;

/* Its recording. */
typedef struct EarRecording {
    const float *mel;   /* [frames, bands], as above */
    const float *pitch; /* [frames] log F0 */
    int64_t frames;
} EarRecording;

/* Sums over sentences, of the voice and of the recordings. Zeroed: none yet. */
typedef struct EarSums {
    double n, sum, squares;
} EarSums;
typedef struct EarTally {
    struct {
        EarSums movement, detail;
        double frames;
        double pitch; /* squares of the distance from a sentence's mean, of all its frames */
    } voice, recordings;
    int sentences;
} EarTally;

void ear_add(EarTally *e, const EarSpoken *spoken, const EarRecording *recording, int bands);
/* Mels that are not finite give figures that are not known. */
EarFigures ear_figures(const EarTally *e);

/* 0 .. 1: how close the voice is to the recordings. What moves less than they do is dull, what moves more is
 * noisy, which is heard sooner. 0 when the movement is not known; another figure that is not known has no
 * say. */
double ear_score(const EarFigures *f);
/* Two scores over this many sentences that differ by no more than this are the same to the ear. */
double ear_tie(int sentences);

/* "movement 0.91, detail 0.72, pitch range 0.95, length 0.99"; what is not known is left out. */
void ear_sentence(const EarFigures *f, char *out, size_t cap);
/* Adds movement, detail, pitch_range and length_ratio; null: not known. */
void ear_json(json_t *o, const EarFigures *f);

#endif
