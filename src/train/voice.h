/* voice.h - a trained voice: a checkpoint that speaks. Text -> tokens -> mel -> samples.
 * Long text is cut at the ends of sentences, and where a sentence is too long for the network also at commas and between words; the parts are spoken one
 * after the other with a short silence between sentences.
 * Threads: one; it holds the process' TextEngine (text.h). */
#ifndef MYXTTS_VOICE_H
#define MYXTTS_VOICE_H

#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "device/device.h"
#include "model/speak.h"
#include "train/snapshot.h"

typedef struct Voice Voice;

typedef struct VoiceOptions {
    const char *checkpoint; /* a file, or a folder: its best, or its newest */
    int argc;               /* settings on top of those in the checkpoint */
    char **argv;
    Device *device;
    int iterations; /* of Griffin-Lim; 0: the default */
    uint64_t seed;  /* of the pre-net's dropout */
    Log *log;
} VoiceOptions;

int voice_open(Voice **v, const VoiceOptions *o, Err *err);
void voice_close(Voice *v); /* NULL is fine */
const VoiceFile *voice_file(const Voice *v);

/* Whose voice: one of the speakers (ERR_MISSING names those there are), or that of a recording. Without either the first speaker. */
int voice_of_speaker(Voice *v, const char *name, Err *err);
int voice_of_recording(Voice *v, const char *path, Err *err);

typedef struct Spoken {
    float *samples; /* [count] at the checkpoint's sample_rate; malloc'd, as all here */
    int64_t count;
    float *mel; /* [frames, n_mels] log mel of all parts */
    int64_t frames;
    float *attention; /* [steps, text] of the first part */
    int steps, text;
    int parts, capped;                               /* capped: parts that did not end by themselves */
    int left_out;                                    /* parts with nothing in them that can be spoken; each was warned of */
    double diagonal;                                 /* mean over the parts */
    double text_seconds, mel_seconds, audio_seconds; /* time it took */
} Spoken;
int voice_say(Voice *v, Spoken *out, const char *text, size_t size, Err *err);
void spoken_free(Spoken *s);

#endif
