/* studio.h - trained voices that speak for many at once.
 *
 *   order -> text -> [rows of one call of the network] mel -> pieces of sound -> talk_next
 *
 * A Talk is one text on its way. Talks that wait together are spoken together; whose listener would run dry
 * first is served first, so that a new one is heard soon and a long one never falls behind. A talk is made at
 * most a few seconds ahead of what was taken: a listener who does not listen costs nothing more. The sound is
 * that of `myxtts synth`, to the bit, however many speak beside it.
 *
 * A voice may be replaced by another while it speaks: what has begun ends with the old one.
 *
 * Threads: all functions but open, close, renew and sweep may be called by any, these by one; a Talk belongs
 * to one at a time. */
#ifndef MYXTTS_STUDIO_H
#define MYXTTS_STUDIO_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "device/device.h"
#include "voice/voice.h"

typedef struct Studio Studio;
typedef struct Talk Talk;

typedef struct StudioVoice {
    const char *checkpoint; /* a file, or a folder: its best, or its newest */
    const char *vocoder;    /* as VoiceOptions */
    int iterations;         /* as VoiceOptions */
} StudioVoice;

typedef struct StudioOptions {
    const StudioVoice *voices; /* [count] */
    int count;
    int argc; /* settings on top of those in the checkpoints */
    char **argv;
    Device *device;
    int threads;        /* on a CPU; 0: all cores */
    int most_talks;     /* begun and not closed; 0: as many as come. More are ERR_BUSY */
    double most_wait;   /* seconds behind others; 0: any. ERR_BUSY for a talk that would wait longer */
    int force_language; /* of every order's wish */
    Log *log;
} StudioOptions;

int studio_open(Studio **s, const StudioOptions *o, Err *err);
/* All talks must have been closed. NULL is fine. */
void studio_close(Studio *s);
int studio_voice_count(const Studio *s);
/* Its checkpoint, vocoder and settings (voice.h); nothing that speaks may be called. Where voices are
 * replaced, between studio_look and studio_looked only, which must not be far apart. */
const Voice *studio_voice(const Studio *s, int voice);
void studio_look(Studio *s);
void studio_looked(Studio *s);

/* From now on talks of this number are spoken by another voice, which is opened first. After an error all is
 * as it was. */
int studio_renew(Studio *s, int voice, const StudioVoice *with, Err *err);
/* Closes voices that were replaced and are silent now. */
void studio_sweep(Studio *s);

typedef struct TalkOrder { /* everything is copied */
    int voice;             /* number of one of the studio's voices */
    const char *text;      /* UTF-8 */
    size_t size;
    const char *speaker;   /* NULL: the first */
    const void *recording; /* bytes of a sound file in whose voice to speak; NULL: none */
    size_t recording_size;
    double speed, pitch; /* as VoiceOptions; speed 0 is 1 */
    LanguageWish wish;
    TextFormat format;
    int goes_on;              /* what came before it was heard: it is begun however long it waits */
    void (*ready)(void *arg); /* see talk_next; may be NULL */
    void *arg;
} TalkOrder;

/* ERR_BUSY: too many talks, or too long a wait. ERR_MISSING: no such voice or speaker, ERR_LANGUAGE: the
 * voice was never trained on the language (voice_language.h), ERR_DATA: its markup is not well-formed, told
 * at once. What else is wrong with the text or the recording is told by talk_next. */
int talk_begin(Talk **t, Studio *s, const TalkOrder *order, Err *err);

typedef struct TalkPiece { /* lives until the next talk_next or talk_close */
    const float *samples;  /* [count] at the voice's sample_rate */
    int64_t count;
    const VoicePart *part; /* the part of the text that begins with this piece; NULL: it goes on */
    double at;             /* seconds of sound before this piece */
} TalkPiece;

enum { TALK_END = 0, TALK_PIECE = 1, TALK_LATER = 2 };
/* TALK_PIECE, TALK_END, or an error. wait 0: instead of waiting it returns TALK_LATER, and order.ready is
 * called once, by a thread of the studio, as soon as asking again is worth it (it must not call talk_
 * functions itself). */
int talk_next(Talk *t, TalkPiece *piece, int wait, Err *err);
/* Pieces of the text that are left out: all that are known, which are nearly always all, before the first
 * piece of sound is there. Appends them to losses (may be NULL) and returns how many, or ERR_NOMEM. */
int talk_left_out(const Talk *t, VoiceLosses *losses);
const char *talk_text(const Talk *t);   /* as it was ordered */
const Voice *talk_voice(const Talk *t); /* what speaks it; as studio_voice, until talk_close */
int talk_is_silent(const Talk *t);      /* 1: the error is that there was nothing to speak in it */
void talk_close(Talk *t); /* also in the middle; NULL is fine. ready is not called any more afterwards */

/* What a talk that began now would wait for others before anybody works at it, by what they need and how fast
 * the machine was lately. */
typedef struct StudioWait {
    double seconds;
    double foretold; /* by the work alone; how long others waited makes `seconds` of it */
    double retry;    /* seconds until it is no longer than most_wait, if nobody else comes; 0: it is not */
} StudioWait;
StudioWait studio_wait(Studio *s);

typedef struct StudioReport {
    int64_t begun, ended, failed, refused;           /* talks; ended: to their end; failed: with an error */
    int64_t open;                                    /* talks now */
    int64_t waiting;                                 /* of these, without any sound so far */
    int64_t calls, rows;                             /* of the network: rows / calls were spoken together */
    double text_seconds, mel_seconds, sound_seconds; /* of work */
    double speech_seconds;                           /* of sound that was made */
} StudioReport;
void studio_report(Studio *s, StudioReport *r);

#endif
