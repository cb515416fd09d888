/* voice_network.h - the network of a voice, ready to speak: tokens of some parts of texts -> mels, and whose
 * voice they are in. A voice has one; callers that speak in several threads open more.
 * Threads: one at a time for each; the checkpoint may be shared. */
#ifndef MYXTTS_VOICE_NETWORK_H
#define MYXTTS_VOICE_NETWORK_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "device/device.h"
#include "model/synthesis.h"
#include "text/markup/markup.h"
#include "voice/checkpoint.h"

/* How a part is to be said, where its text says so (markup.h). Symbols are counted from 0. */
typedef struct VoiceTurn { /* from this symbol on */
    int symbol;
    MarkupManner manner;
} VoiceTurn;
typedef struct VoicePause { /* symbols from .. to - 1 last so long */
    int from, to;
    double seconds;
    int frames; /* added to that */
} VoicePause;
typedef struct VoiceMark {
    char *name;
    int symbol;    /* before it */
    int64_t frame; /* of the part; known when it is spoken */
} VoiceMark;
typedef struct VoiceWishes {
    const char *speaker; /* of the VoiceText; NULL: that of the whole text */
    VoiceTurn *turns;    /* [turn_count]; malloc'd, as all here */
    VoicePause *pauses;
    VoiceMark *marks;
    size_t turn_count, turn_room, pause_count, pause_room, mark_count, mark_room;
} VoiceWishes;

/* One part of a text. Arrays are malloc'd. */
typedef struct VoicePart {
    int32_t *tokens; /* [symbols] */
    int symbols;
    char *said;                  /* the text as it was spoken: numbers and abbreviations in words */
    char language[LANGUAGE_MAX]; /* that it was read in */
    float *mel;                  /* [frames, n_mels] log mel; NULL until it is spoken */
    Speech speech;               /* durations, pitch, energy; its own mel is gone */
    int64_t frames;
    VoiceWishes wishes;
    float *gain;                      /* [frames] factors of the sound's amplitude; NULL: all are 1 */
    double pause;                     /* seconds of silence behind it when more follows */
    double text_seconds, mel_seconds; /* time it took */
} VoicePart;
void voice_part_free(VoicePart *p);

typedef struct VoiceManner {
    const float *vector; /* [speaker_embedding_dim] whose voice; ignored by a network with one voice */
    double speed;        /* 1 (or 0): as learned */
    double pitch;        /* semitones, up or down */
} VoiceManner;

typedef struct VoiceNetwork VoiceNetwork;
/* rows: parts that are spoken at once, at most; threads: of a CPU; lender: another of the checkpoint
 * whose weights it uses, NULL: it has its own. Checkpoint and lender must outlive it. */
int voice_network_open(VoiceNetwork **n, const Checkpoint *file, const VoiceNetwork *lender, Device *device,
                       int rows, int threads, Err *err);
void voice_network_close(VoiceNetwork *n); /* NULL is fine */
/* A GPU loads each kernel when it is first used, which takes longer than a sentence, and allocating memory
 * waits for all work in progress: speaking a few words silently does both in advance. Nothing on a CPU. If an
 * untrained network cannot speak them, that is not an error. rows: of the call; symbols: of each. */
int voice_network_warm_up(VoiceNetwork *n, int rows, int symbols, Err *err);
/* Symbols of a part that there is memory for. */
int voice_most_symbols(void);
/* Symbols of the longest text that the network of a checkpoint has learned from, within limits: longer
 * sentences sound worse than their pieces. */
int voice_usual_symbols(const Checkpoint *file);

/* Number of a speaker, or ERR_MISSING with those there are. Without a name the first of whom there is a clip,
 * else the first. */
int voice_find_speaker(const Checkpoint *file, const char *name, Err *err);
/* vector [speaker_embedding_dim] of a speaker, or of a recording in memory; name: of the recording, for
 * messages. Zeros where the network has one voice. */
int voice_network_speaker(VoiceNetwork *n, float *vector, const char *speaker, Err *err);
int voice_network_recording(VoiceNetwork *n, float *vector, const void *bytes, size_t size, const char *name,
                            Err *err);

/* Speaks parts [rows] that were read, each in its manner [rows]. After an error none has a mel. */
int voice_network_speak(VoiceNetwork *n, VoicePart *const *parts, const VoiceManner *manners, int rows,
                        Err *err);

#endif
