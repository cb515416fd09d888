/* run_voice.h - what the lines of a log.jsonl say about the voice and about what the run does just now, for
 * those who look on: `myxtts monitor` and the page /runs. Threads: any. */
#ifndef MYXTTS_RUN_VOICE_H
#define MYXTTS_RUN_VOICE_H

#include <jansson.h>
#include <stddef.h>

#include "judge/choice.h"

typedef struct RunVoice {
    char network[16],
        size[16];         /* "voice" and its model_size, "vocoder" and its vocoder_size; "": not known */
    char phase[16];       /* what it does: "preparing", "warm-up", "training", "validating", "listening";
                             "": an old log, which does not say */
    double seconds_left;  /* NaN: not known */
    double words_wrong;   /* newest share; NaN: not measured */
    Judged newest;        /* what is known of the newest weights that were judged; step 0: nothing */
    WordScore recordings; /* of the same sentences */
    double copies[2];     /* of a vocoder, as in TrainState */
} RunVoice;

void run_voice_clear(RunVoice *v);
void run_voice_add(RunVoice *v, const json_t *line); /* a line of the log */
/* "The voice: Most of its words are understood ..."; "" while nothing is known. */
void run_voice_sentence(const RunVoice *v, char *out, size_t cap);
/* 1: the run has been silent for longer than what it does explains. line_seconds: from one line to the next,
 * NaN: not known. */
int run_voice_is_silent(const RunVoice *v, double age, double line_seconds);
/* "voice, nano"; "" when it is not known. */
void run_voice_network(const RunVoice *v, char *out, size_t cap);

#endif
