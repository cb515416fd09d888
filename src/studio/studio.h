/* studio.h - trained voices that speak for many at once.
 *
 *   order -> text -> [rows of one call of the network] mel -> pieces of sound -> talk_next
 *
 * A Talk is one request to speak a text, from its order to its last piece of sound. Waiting talks are spoken
 * together. The talk whose listener would run out of sound first is served first, so that a new one is heard
 * soon and a long one never falls behind. A talk is made at most a few seconds ahead of its listener, so one
 * that takes nothing costs no more work. The sound is that of `myxtts synth`, to the bit, however many talks
 * are spoken at the same time.
 *
 * A voice may be replaced while it speaks: talks that have started are finished with the old one.
 *
 * Threads: open, close, renew and sweep belong to one thread; any thread may call the others. A Talk belongs
 * to one thread at a time. */
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
    int argc; /* settings that override those in the checkpoints */
    char **argv;
    Device *device;
    int threads;        /* on a CPU; 0: all cores */
    int most_talks;     /* begun and not yet closed; more are ERR_BUSY. 0: no limit */
    double most_wait;   /* seconds that a talk may wait for others; one that would wait longer is ERR_BUSY. 0:
                         * no limit */
    int force_language; /* for all orders */
    Log *log;
} StudioOptions;

int studio_open(Studio **s, const StudioOptions *o, Err *err);
/* All talks must have been closed. NULL is fine. */
void studio_close(Studio *s);
int studio_voice_count(const Studio *s);
/* For its checkpoint, vocoder and settings (voice.h); functions that speak must not be called with it. If
 * voices may be replaced, use it only between studio_look and studio_looked, and only briefly. */
const Voice *studio_voice(const Studio *s, int voice);
void studio_look(Studio *s);
void studio_looked(Studio *s);

/* Opens another voice, which speaks the talks of this number from now on. After an error the old voice
 * stays. */
int studio_renew(Studio *s, int voice, const StudioVoice *with, Err *err);
/* Closes replaced voices that have finished speaking. */
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
 * voice was never trained on the language (voice_language.h), ERR_DATA: its markup is not well-formed. Other
 * faults in the text or the recording are reported by talk_next. */
int talk_begin(Talk **t, Studio *s, const TalkOrder *order, Err *err);

typedef struct TalkPiece { /* lives until the next talk_next or talk_close */
    const float *samples;  /* [count] at the voice's sample_rate */
    int64_t count;
    const VoicePart *part; /* the part of the text that begins with this piece; NULL: it continues */
    double at;             /* seconds of sound before this piece */
} TalkPiece;

enum { TALK_END = 0, TALK_PIECE = 1, TALK_LATER = 2 };
/* TALK_PIECE, TALK_END, or an error. With wait 0 it returns TALK_LATER instead of waiting, and a thread of
 * the studio calls order.ready once, as soon as there is something to take. ready must not call talk_
 * functions itself. */
int talk_next(Talk *t, TalkPiece *piece, int wait, Err *err);
/* Appends the pieces of the text that are left out to losses (may be NULL) and returns how many, or
 * ERR_NOMEM. Nearly always all of them are known before the first piece of sound. */
int talk_left_out(const Talk *t, VoiceLosses *losses);
const Voice *talk_voice(const Talk *t); /* what speaks it; as studio_voice, until talk_close */
int talk_is_silent(const Talk *t);      /* 1: the error is that the text has nothing to speak */
void talk_close(Talk *t);               /* at any time; NULL is fine. ready is not called after this */

/* How long a talk that started now would wait for others before work on it starts, estimated from their work
 * and the machine's recent speed. */
typedef struct StudioWait {
    double seconds;
    double foretold; /* from the work alone; corrected by how long others really waited it becomes
                      * `seconds` */
    double retry;    /* seconds until the wait is no longer than most_wait, if no other talk comes; 0: it is
                      * not now */
} StudioWait;
StudioWait studio_wait(Studio *s);

typedef struct StudioReport {
    int64_t begun, ended, failed, refused;           /* talks; ended: completely spoken; failed: with an
                                                      * error */
    int64_t open;                                    /* talks now */
    int64_t waiting;                                 /* open talks without any sound so far */
    int64_t calls, rows;                             /* of the network: rows / calls were spoken together */
    double text_seconds, mel_seconds, sound_seconds; /* of work */
    double speech_seconds;                           /* of sound that was made */
} StudioReport;
void studio_report(Studio *s, StudioReport *r);

#endif
