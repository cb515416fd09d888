/* voice.h - a trained voice: a checkpoint that speaks. Text -> tokens -> mel -> samples.
 * Text is spoken part by part (voice_text.h). Each part can be heard before the next is computed (with a
 * vocoder even before the part is complete), and memory does not grow with the text.
 * Threads: one at a time; but other threads may use voice_sound, each with its own Sound, or a VoiceNetwork
 * of the voice's checkpoint. */
#ifndef MYXTTS_VOICE_H
#define MYXTTS_VOICE_H

#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "device/device.h"
#include "voice/checkpoint.h"
#include "voice/sound.h"
#include "voice/voice_begin.h"
#include "voice/voice_language.h"
#include "voice/voice_network.h"
#include "voice/voice_text.h"

typedef struct Voice Voice;

typedef struct VoiceOptions {
    const char *checkpoint; /* a file, or a folder: its best, or its newest */
    int argc;               /* settings that override those in the checkpoint */
    char **argv;
    Device *device;
    const char *vocoder; /* as for vocoder_file_of (vocoder_file.h) */
    int iterations;      /* of Griffin-Lim, alone or after a vocoder; as SoundOptions.iterations */
    double speed;        /* 1: as learned */
    double pitch;        /* semitones, up or down */
    LanguageWish wish;   /* of voice_say */
    TextFormat format;   /* of voice_say */
    int rows;            /* of the network: parts that can be spoken at once; 0: 1 */
    int threads;         /* on a CPU; 0: all cores */
    Log *log;
} VoiceOptions;

/* Once open, it no longer needs its files: they may be changed, replaced or removed. */
int voice_open(Voice **v, const VoiceOptions *o, Err *err);
void voice_close(Voice *v); /* NULL is fine */
const Checkpoint *voice_checkpoint(const Voice *v);
const Checkpoint *voice_vocoder(const Voice *v); /* what makes its sound; NULL: Griffin-Lim does */

/* Choose whose voice to speak in: a speaker (ERR_MISSING lists the existing ones), or the person in a
 * recording. The default is the first speaker. */
int voice_of_speaker(Voice *v, const char *name, Err *err);
int voice_of_recording(Voice *v, const char *path, Err *err);

/* Reads the next part without speaking it: 1 and *part, or 0 at the end. */
int voice_read(Voice *v, VoiceText *text, VoicePart *part, VoiceLosses *losses, Err *err);
/* What will be left out of a text, before any of it is spoken. */
int voice_losses(Voice *v, VoiceLosses *losses, const VoiceText *text, Err *err);
/* The parts that the voice itself speaks with, for callers that do not use voice_next and voice_say. */
VoiceNetwork *voice_network(Voice *v);
Sound *voice_stage(Voice *v);

/* Speaks the next part: 1 and *part, or 0 at the end. Pieces that are left out cause a warning and are added
 * to losses. */
int voice_next(Voice *v, VoiceText *text, VoicePart *part, VoiceLosses *losses, Err *err);
/* Opens another sound stage for this voice, for use in another thread; it shares the weights of the voice's
 * own stage. Close it with sound_close before the voice. threads: for a vocoder on the CPU; 0: all cores. */
int voice_sound_open(const Voice *v, Sound **s, int threads, Err *err);
/* Makes the sound of a part, followed by its pause if more follows: samples [*count], malloc'd. */
int voice_sound(const Voice *v, Sound *s, float **samples, int64_t *count, const VoicePart *part, int more,
                Err *err);

/* A mark in a marked-up text, and its time. */
typedef struct SpokenMark {
    char *name;
    double seconds;
} SpokenMark;

/* A whole text, spoken. */
typedef struct Spoken {
    float *samples; /* [count] at the checkpoint's sample_rate; malloc'd, as all here */
    int64_t count, frames, symbols;
    char *said; /* the parts as spoken, with spaces between them */
    int parts;
    VoiceLosses losses; /* pieces that were left out */
    SpokenMark *marks;  /* [mark_count] */
    size_t mark_count, mark_room;
    double text_seconds, mel_seconds, audio_seconds; /* time it took */
    double first_seconds;                            /* until the first piece of sound was handed over */
} Spoken;
/* Called with each piece of sound as soon as it is ready. A result other than 0 stops speaking and is
 * returned. */
typedef int (*VoiceSink)(void *arg, const VoicePart *part, const float *samples, int64_t count, Err *err);
/* sink NULL: the samples are collected in out; otherwise out->samples stays NULL. Returns the errors of
 * voice_language_check before anything is spoken. */
int voice_say(Voice *v, Spoken *out, const char *text, size_t size, VoiceSink sink, void *arg, Err *err);
/* Adds the marks of a part whose sound begins at sample `from` of the text and ends at `to`. */
int spoken_add_marks(Spoken *out, const VoicePart *part, int64_t from, int64_t to, const Config *cfg,
                     Err *err);
/* Adds a part to the counts, to `said` and to the marks: samples from..to belong to it. */
int spoken_add(Spoken *out, const VoicePart *part, int64_t from, int64_t to, const Config *cfg, Err *err);
void spoken_free(Spoken *s);

#endif
