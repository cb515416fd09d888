/* synthesis.h - the network speaks: text and a voice -> mel, in one pass. Mels, pitch and energy are
 * normalised, as the network sees them. Several utterances may be spoken at once. The device is waited for
 * twice: durations are chosen on the host. Threads: one at a time, not while steps of the same OpsContext are
 * enqueued. */
#ifndef MYXTTS_SYNTHESIS_H
#define MYXTTS_SYNTHESIS_H

#include <stdint.h>

#include "base/err.h"
#include "model/model.h"

#define SYNTHESIS_LONGEST_SYMBOL 2000 /* frames; what a broken network may ask for at most */

typedef struct Synthesiser Synthesiser;

typedef struct SynthesisLimits {
    int rows;      /* most utterances at once */
    int text;      /* most symbols of an utterance */
    int frames;    /* mel frames that there is room for */
    int reference; /* most frames of a reference clip that are listened to */
    int grow;      /* more memory is taken when an utterance needs more frames; otherwise that is ERR_DATA */
} SynthesisLimits;

/* Device bytes that synthesiser_open will take. */
uint64_t synthesiser_bytes(const Model *m, const Ops *ops, const SynthesisLimits *limits);
/* m: attached, its weights loaded. */
int synthesiser_open(Synthesiser **s, Model *m, const SynthesisLimits *limits, Err *err);
void synthesiser_close(Synthesiser *s); /* NULL is fine */

/* voice [S] (speaker_embedding_dim) of a normalised mel [frames, n_mels]; frames over the limit are left out.
 */
int synthesiser_listen(Synthesiser *s, float *voice, const float *mel, int frames, Err *err);

/* What makes up for predicting averages (train/listen/manner.h). A factor that is 0 was not measured, and is
 * 1 then. */
typedef struct Manner {
    double pace;      /* factor of durations */
    double spread;    /* factor by which pitch is moved away from its mean within a text */
    double sharpness; /* of the mel (sharpen.h) */
} Manner;
/* Not called, nothing is corrected. ERR_NOMEM. */
int synthesiser_set_manner(Synthesiser *s, const Manner *manner, Err *err);

/* What is done to one symbol after the network has chosen for itself. */
typedef struct SymbolManner {
    float stretch;       /* its duration is multiplied by it; not 0 */
    float pitch, energy; /* are added, in deviations of the corpus */
} SymbolManner;

/* Symbols from .. to - 1 last this many frames together, at most; none less than one. */
typedef struct SymbolPause {
    int from, to, frames;
} SymbolPause;

typedef struct SynthesisText {
    const int32_t *tokens; /* [count] */
    int count;
    const float *voice;         /* [S]; NULL where the network has no voice conditioning */
    double speed;               /* 1 (or 0): as learned, 2: twice as fast */
    double pitch;               /* added to every symbol's pitch, in deviations of the corpus */
    int language;               /* number of its language; of no meaning where the network tells none apart */
    const SymbolManner *manner; /* [count]; NULL: nothing is done */
    const SymbolPause *pauses;  /* [pause_count] */
    int pause_count;
} SynthesisText;

typedef struct Speech {
    float *mel;            /* [frames, n_mels]; malloc'd, as all here */
    int32_t *durations;    /* [text] frames of each symbol, at least 1 */
    float *pitch, *energy; /* [text] as they went into the decoder */
    int frames, text;
} Speech;
/* out [rows]. ERR_DATA: too many symbols or frames, or numbers that are not finite. On a GPU a row is spoken
 * as it would be alone, to the bit. */
int synthesiser_speak(Synthesiser *s, Speech *out, const SynthesisText *in, int rows, Err *err);
void speech_free(Speech *s);

/* Whole frames for expected durations: the running sum is kept to half a frame, and every symbol gets at
 * least one. Returns their sum. out [n]; log_duration [n]. */
int64_t durations_round(int32_t *out, const float *log_duration, int n, double speed);

#endif
