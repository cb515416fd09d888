/* hearing.h - what a listener hears when held-out clips are spoken from their text alone: words, by a
 * recogniser if there is one for the language, and the distance from the recordings. Sound is made and
 * judged in a separate thread of low priority, so that no device waits for it. The recordings of the same
 * clips are judged once, since a recogniser's own errors are many. Threads: one owner. */
#ifndef MYXTTS_HEARING_H
#define MYXTTS_HEARING_H

#include <jansson.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "config/config.h"
#include "judge/judge.h"
#include "model/synthesis.h"
#include "pipeline/corpus.h"
#include "voice/sound.h"

typedef struct Heard {
    int64_t step;
    int clips;
    WordScore voice, recordings;      /* words is 0 where nobody listened */
    double length_ratio;              /* of all clips together, to the recordings */
    double mcd_db, f0_rmse_semitones; /* means over the clips; NaN: not known */
    char judge[96];                   /* name of the recogniser; "": there is none */
    char why_not[256];                /* then: why */
} Heard;

/* "31 % of the words wrong (27 % in the recordings)", or "9 of 32 words wrong (8 in the recordings)"; as
 * below without a recogniser. */
void heard_words(const Heard *h, char *out, size_t cap);
/* "31 % of the words wrong; in the recordings 27 %", or what could be told without a recogniser. */
void heard_sentence(const Heard *h, char *out, size_t cap);

/* Adds words, words_wrong, recordings_words, recordings_words_wrong (counts; null where nobody listened),
 * their shares, length_ratio, mcd_db, f0_rmse_semitones, judge (its name, or null) and judge_missing (why
 * there is none, or null). */
void heard_json(json_t *o, const Heard *h);

typedef struct Hearing Hearing;

/* Chooses up to `most` clips, spread over the corpus. threads: listeners side by side. cfg, corpus and log
 * must outlive it. */
int hearing_open(Hearing **h, const Config *cfg, const Corpus *corpus, int most, int threads, Log *log,
                 Err *err);
/* What makes the sound, before the first clips are submitted; without it Griffin-Lim does. What the options
 * point to must outlive the listener. */
void hearing_set_sound(Hearing *h, const SoundOptions *o);
void hearing_close(Hearing *h); /* NULL is fine; leaves clips that are under way */
int hearing_count(const Hearing *h);
uint32_t hearing_item(const Hearing *h, int i); /* of the corpus */

/* The clips as they were spoken, [hearing_count]; normalised mels, with what undoes it [n_mels] each. Copies
 * what it needs. 0, or 1: still busy with earlier ones, nothing was taken. */
int hearing_submit(Hearing *h, int64_t step, const Speech *speech, const float *mean, const float *deviation,
                   Err *err);
/* 1 and *out when a result is there; 0 when not (with wait: when there is nothing to wait for); negative: it
 * failed. */
int hearing_result(Hearing *h, Heard *out, int wait, Err *err);

#endif
