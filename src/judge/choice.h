/* choice.h - which checkpoint of a run is the best: the one that a listener would choose. Of voices that
 * speak it is the one closest to the recordings (ear.h); words are a veto, and they may come late. The loss
 * of validation decides only where nothing can be heard: among checkpoints that do not speak yet, and for a
 * vocoder. What critics teach a vocoder raises its loss without being a fault: of the checkpoints that they
 * have taught the newest is the best, unless its loss is far from the lowest of these. All of it is
 * arithmetic on what was measured. Threads: any. */
#ifndef MYXTTS_CHOICE_H
#define MYXTTS_CHOICE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "judge/ear.h"
#include "judge/judge.h"

/* A checkpoint and what is known of it. */
typedef struct Judged {
    int64_t step;                     /* 0: there is none */
    double loss;                      /* of validation; INFINITY: there is none */
    EarFigures ear;                   /* no movement: it does not speak, or was not measured */
    int64_t words, wrong;             /* of the sentences, by a recogniser; words 0: nobody listened */
    int64_t their_words, their_wrong; /* the same of their recordings; 0: not known */
    int64_t taught;                   /* 1: a vocoder that critics have taught */
} Judged;

/* "28 % of the words wrong", or "9 of 32 words wrong" where one word is a point or more: 1, they were
 * counted. */
int judged_words(char *out, size_t cap, int64_t wrong, int64_t words);

/* The course of a run. */
typedef struct Choice {
    Judged best;
    double peak;   /* highest score so far; 0: any voice that speaks is better than the best */
    double level;  /* score of the last validation that improved by much; of a vocoder that critics teach,
                      the lowest loss since they do */
    int64_t stale; /* validations since then */
    double lowest_loss; /* of validation; INFINITY before the first */
    int64_t lowest_step;
    double floor; /* what it was when the best was judged */
} Choice;
void choice_begin(Choice *c);

/* 1: the voice has learned to speak: its text explains its clips (own_text of other_texts.h; NaN: not known),
 * its mel moves, its sentences are not of an absurd length, and its weights have not diverged. */
int choice_speaks(const Choice *c, const EarFigures *f, double own_text, double loss);

/* A validation. j->ear is zeroed where the voice does not speak. sentences: that were measured; min_delta:
 * smallest gain, in score or loss, that counts as improvement. 1: it is the best now. Of two that sound the
 * same the later one is the best. */
int choice_validate(Choice *c, const Judged *j, int sentences, double min_delta);

/* The words of a checkpoint, which come when others may have been judged since. */
typedef enum {
    WORDS_CHANGE_NOTHING,
    WORDS_RETURN, /* those of the best are clearly worse than those of `before`, which is the best again */
    WORDS_PREFER  /* those of the best are clearly worse than those of `heard`. The caller makes it the best,
                     if  it still has it; from now on any voice that speaks is better than the best. */
} WordsVerdict;
/* before: the best of before, whose file is kept until the words of the best are known; step 0: none. Both
 * marks take the words that are theirs. recordings: of the same sentences; a checkpoint that gets as many
 * words right is never clearly worse. */
WordsVerdict choice_hear(Choice *c, Judged *before, const Judged *heard, const WordScore *recordings);

/* "step 8145: closest to the recordings (movement 0.91, detail 0.72, pitch range 0.95, length 0.99), 18 % of
 * the words wrong". has_ear: it is a voice, not a vocoder. "" when there is none. */
void judged_why(const Judged *j, int has_ear, char *out, size_t cap);
/* How it sounds, for the person who waits for it: "Most of its words are understood (27 % wrong, 20 % in the
 * recordings). It sounds a little dull, and its melody is flat." Few words are counted, and said to be too
 * few where they are. */
void judged_sounds(const Judged *j, char *out, size_t cap);
int judged_speaks(const Judged *j); /* its speech was compared with recordings */
/* Adds best_step, best_loss, best_score (null: by the loss) and best_why; best_step 0 and nulls: none. */
void judged_json(json_t *o, const Judged *j, int has_ear);

#endif
