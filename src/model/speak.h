/* speak.h - the network speaks: text and a voice -> mel, one decoder step at a time with the keys and values of earlier steps kept.
 * Mels are normalised, as the network sees them. One utterance at a time; waits for the device in every step.
 * Threads: one at a time, not while steps of the same OpsContext are enqueued. */
#ifndef MYXTTS_SPEAK_H
#define MYXTTS_SPEAK_H

#include <stdint.h>

#include "base/err.h"
#include "model/model.h"

typedef struct Speaker Speaker;

typedef struct SpeakLimits {
    int text;      /* most tokens of an utterance */
    int frames;    /* most mel frames it may take: the cap */
    int reference; /* most frames of a reference clip that are listened to */
} SpeakLimits;

/* Device bytes that speaker_open will take. */
uint64_t speaker_bytes(const Model *m, const Ops *ops, const SpeakLimits *limits);
/* m: attached, its weights loaded. */
int speaker_open(Speaker **s, Model *m, const SpeakLimits *limits, Err *err);
void speaker_close(Speaker *s);

/* voice [S] (speaker_embedding_dim) of a normalised mel [frames, n_mels]; frames over the limit are left out. */
int speaker_listen(Speaker *s, float *voice, const float *mel, int frames, Err *err);

typedef struct Speech {
    float *mel;       /* [frames, n_mels] normalised, after the post-net; malloc'd */
    float *attention; /* [steps, text] weights of the last layer, mean over heads; malloc'd */
    int frames, steps, text;
    int capped; /* it did not end by itself */
} Speech;
/* voice: NULL where the network has no voice conditioning. seed: of the pre-net's dropout. stop: what the probability of the end has to pass, 0.5. */
int speaker_say(Speaker *s, Speech *out, const int32_t *tokens, int count, const float *voice, uint64_t seed, float stop, Err *err);
void speech_free(Speech *s);
/* Share of the attention that lies within a quarter of the diagonal, 0 .. 1. */
double speech_diagonal(const Speech *s);

#endif
