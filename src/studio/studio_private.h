/* studio_private.h - what the files of src/studio share. Every field below is guarded by Studio.lock unless
 * it says otherwise. */
#ifndef MYXTTS_STUDIO_PRIVATE_H
#define MYXTTS_STUDIO_PRIVATE_H

#include <pthread.h>

#include "base/thread.h"
#include "studio/studio.h"

#define AHEAD_SECONDS 4.0 /* of sound that may be ready before more of a talk is made */

#define STUDIO_MOST_ROWS 16 /* of a call of the network */

typedef struct Room Room;

/* How fast a voice is spoken with, by the clock: other programs that are at work count too. */
typedef struct Pace {
    double work, speech; /* seconds of each; the latest weigh most */
    double first;        /* seconds of work until a talk has its first sound */
    double piece;        /* seconds of speech that are made at a time */
} Pace;

/* A part of a text that was spoken: its mel is needed until it is sound, the rest until the listener has
 * taken the piece it begins with. */
typedef struct TalkPart {
    VoicePart voice; /* not guarded: written before anybody else knows of it */
    float *vector;   /* likewise; [speaker_embedding_dim] whose voice, where the text names one; else NULL */
    int more;        /* text follows */
    int uses;
} TalkPart;

/* Sound that waits for its listener. */
typedef struct Ready {
    struct Ready *next;
    float *samples;
    int64_t count, before; /* samples of the talk before it */
    TalkPart *begins;      /* NULL: its part goes on */
} Ready;

struct Talk {
    Studio *s;
    Talk *previous, *next; /* of the studio's talks */
    Room *room;            /* its voice speaks the talk, even if it is replaced meanwhile */
    /* The order, which stays as it is. */
    char *text, *speaker, *language;
    uint8_t *recording;
    size_t recording_size;
    double speed, pitch;
    void (*ready_call)(void *arg);
    void *arg;
    /* Owned by the worker that is at it, while `reading`. */
    VoiceText rest;
    int looked_through; /* what will be left out is known */
    float *vector;      /* [speaker_embedding_dim]; NULL: not known yet */
    /* Owned by the worker that is at it, while `sounding`. */
    SoundRun run;
    int run_begun;
    /* Where it stands. */
    int reading, sounding;      /* a worker is at it */
    int all_read;               /* there are no more parts */
    TalkPart *current, *coming; /* becoming sound; spoken, for after that */
    Ready *first, **last;
    Ready *taken;              /* by the listener */
    int64_t made, taken_count; /* samples */
    double begun_at;
    double first_work; /* seconds that were spent on its first sound */
    double foretold;   /* how long it would wait, before `delay` */
    int parts;
    VoiceLosses losses;
    int armed, calling; /* ready is to be called; by this many it is being called */
    int closed, gone;   /* being closed; not among the studio's talks any more */
    Err err;            /* code 0: none */
    pthread_cond_t changed;
};

/* A voice and what belongs to all who speak with it. */
struct Room {
    Voice *voice;
    pthread_mutex_t text;   /* of its TextEngine */
    float **vectors;        /* [speaker_count] of speakers that have spoken; NULL: not yet */
    int workers;            /* of the studio */
    VoiceNetwork **network; /* [workers]; NULL: it makes sound only. One is the voice's own */
    Sound **sound;          /* [workers]; NULL: it makes mels only. One is the voice's own */
    int talks;              /* that speak with it */
    Pace pace;
    Room *next; /* of those that were replaced */
};

typedef struct Worker {
    Studio *s;
    int number;
    int makes_mels, makes_sound;
    Thread thread;
    VoicePart **parts; /* [rows] of a call */
    VoiceManner *manners;
    Talk **talks;
    TalkPart **spoken;
} Worker;

struct Studio {
    StudioOptions o; /* voices is NULL: it belongs to the caller */
    Room **rooms;    /* [o.count] */
    Room *retired;   /* that were replaced, and may still be spoken with */
    int rows;        /* of a call of the network */
    Worker *workers;
    int worker_count;
    int speakers;             /* talks that are worked at side by side */
    double delay;             /* how many times as long as foretold they wait */
    pthread_rwlock_t looking; /* see studio_look */
    pthread_mutex_t lock;
    pthread_cond_t work; /* there may be something to do */
    int stopping;
    Talk *talks;
    StudioReport report;
};

/* In room.c. A failed one is closed. */
int room_open(Room **r, const Studio *s, const StudioVoice *v, Err *err);
void room_close(Room *r); /* NULL is fine */

/* In studio_work.c: what a worker does until the studio stops. */
void *studio_worker(void *arg);

/* In talk.c, all with the lock held. */
double talk_deadline(const Talk *t); /* when its listener would run dry, were all taken as it is made */
void talk_add(Talk *t, float *samples, int64_t count, TalkPart *begins);
void talk_fail(Talk *t, const Err *err);
void talk_tell(Talk *t); /* those who wait for it; releases the lock while it calls */
void talk_part_drop(TalkPart *p);
/* Frees a closed talk when no worker uses it any more. */
void talk_let_go(Talk *t);

/* In studio_pace.c, with the lock held but for pace_try, which speaks. made: before Talk.made counts it. */
void pace_try(Studio *s, int voice);
void pace_worked(Talk *t, double seconds);
void pace_made(Talk *t, double speech);
StudioWait studio_wait_now(const Studio *s);

#endif
