/* digits_score.h - recordings of digits with their speakers, and how many of them the judge of digits_judge.h
 * gets right. For digits.c. */
#ifndef MYXTTS_DIGITS_SCORE_H
#define MYXTTS_DIGITS_SCORE_H

#include "base/err.h"
#include "dataset/dataset.h"
#include "digits_judge.h"

#define MAX_SPEAKERS 64

extern const JudgeSettings judge;

extern const char *const digit_words[10];

/* Recordings of digits with their speakers. Zero-initialise; set_free is always safe. */
typedef struct Set {
    Clip *clips;
    size_t count;
    char speakers[MAX_SPEAKERS][64]; /* in alphabetical order */
    int speaker_count;
} Set;

void set_free(Set *s);

/* The recordings of a dataset folder: metadata.csv with the lines id|text|text|speaker, and wavs. */
int set_open(Set *s, const JudgeSettings *settings, const char *folder, Err *err);

/* The files <digit>_<speaker>.wav, ten for every speaker of the recordings, in that order. All must be there.
 */
int set_open_synth(Set *s, const JudgeSettings *settings, const Set *real, const char *folder, Err *err);

/* What came out for a set of clips: one answer per clip, and counts. */
typedef struct Result {
    int *answers;    /* [count] digit, or -1 when nothing could be recognised */
    size_t *nearest; /* [count] index of the nearest recording; meaningless where the answer is -1 */
    size_t count;
    int right[MAX_SPEAKERS], asked[MAX_SPEAKERS];
    int right_all, asked_all;
    int confusion[10][11]; /* [spoken][heard]; the last column: nothing recognised */
    int same_voice;        /* clips whose nearest recording is of their own speaker */
} Result;

void result_free(Result *r);
double result_share(const Result *r);

typedef enum { AGAINST_ALL, AGAINST_OTHER_CLIPS, AGAINST_OTHER_SPEAKERS } Against;

/* distances: [clips, real]; for the last two rules clips and real are the same set. */
int result_make(Result *r, const JudgeSettings *settings, const float *distances, const Set *clips,
                const Set *real, Against rule, Err *err);

typedef struct Baseline {
    Result speakers, clips; /* against the other speakers; against all other recordings */
} Baseline;

void baseline_free(Baseline *b);
int baseline_make(Baseline *b, const JudgeSettings *settings, const Set *real, int threads, Err *err);

#endif
