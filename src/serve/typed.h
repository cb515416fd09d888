/* typed.h - speaks a text while it is still being written: each sentence as soon as it is complete, in up to
 * two talks of a studio (studio.h), so that the next one is made while one is heard. Together they sound as
 * the whole text would. A text that is complete from the beginning is one talk.
 *
 *     Typed t = {.studio = s, .order = {.voice = 0, .ready = wake, .arg = me}, .streams = 1,
 *                .max_text = 1000};
 *     typed_add(&t, "Old hill. Gre", 13, &err);   as text comes; typed_end where it ends
 *     typed_next(&t, &piece, &err);               until it is TALK_END or an error
 *
 * Threads: one at a time for each text. */
#ifndef MYXTTS_TYPED_H
#define MYXTTS_TYPED_H

#include "base/mem.h"
#include "studio/studio.h"

typedef struct Typed { /* zero-initialise, then set what comes first */
    Studio *studio;
    TalkOrder order; /* all but text, size and goes_on; what it points to must stay */
    size_t max_text; /* characters */
    int max_waiting; /* talks without sound in the studio; where there are more, none is begun. 0: no limit */
    int streams;     /* the text comes in pieces */

    Buf text;          /* all of it so far */
    size_t characters; /* of it */
    size_t at;         /* of it, where the next talk begins */
    size_t scanned;    /* up to there no sentence ends behind `at` */
    int whole;         /* nothing more comes */
    int too_long;      /* it has more than max_text characters */
    Talk *talk[2];     /* the one that is heard, and the next */
    size_t from[2];    /* where in the text they begin */
    int talks;
    int heard;          /* the first of them has given sound */
    int begun;          /* any has */
    int rate;           /* samples a second, from the first talk on */
    int64_t count;      /* samples so far */
    double pause;       /* seconds before the next talk's sound */
    VoiceLosses losses; /* of the talks that have ended */
} Typed;

/* Valid UTF-8 without a NUL. ERR_DATA: the text is too long. */
int typed_add(Typed *t, const char *p, size_t n, Err *err);
void typed_end(Typed *t); /* the text is whole */

enum { TYPED_MORE = 3 };
typedef struct TypedPiece {
    TalkPiece sound; /* `at` counts from the beginning of the whole text's sound */
    int64_t silence; /* samples of silence before it: the pause between two sentences */
} TypedPiece;
/* TALK_PIECE, TALK_END, TALK_LATER (order.ready will be called), TYPED_MORE (nothing can be spoken before
 * more of the text comes), or an error of talk_begin or talk_next. ERR_DATA, too: the text has nothing to
 * speak, or the voice was replaced by one with another sample rate. */
int typed_next(Typed *t, TypedPiece *piece, Err *err);
/* As talk_left_out, of all talks so far; places are those in the whole text. */
int typed_left_out(const Typed *t, VoiceLosses *losses);
void typed_close(Typed *t); /* at any time; order.ready is not called after this */

#endif
