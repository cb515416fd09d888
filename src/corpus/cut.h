/* cut.h - which clips are made from a recording, and what is left out and why. Times are levels (10
 * ms) of a Listening. With a text, a clip has one or more units that follow each other in it; without, only
 * sound. */
#ifndef MYXTTS_CUT_H
#define MYXTTS_CUT_H

#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "corpus/book.h"
#include "corpus/listening.h"
#include "corpus/text_track.h"

#define CLIP_LEAST 2.0 /* seconds */
#define CLIP_MOST 12.0

typedef struct CutPiece {
    int64_t begin, end;
} CutPiece;

/* A clip is its pieces, one after the other: a long pause within it is shortened. */
typedef struct CutClip {
    int first_piece, pieces;
    int first_unit, units; /* of the track; 0 units: without text */
    char *text;            /* "" without one */
    char *id;
    float score, worst; /* the lowest of its units */
    double contrast;    /* decibels between speech and pauses */
    const ListenedFile *file;
} CutClip;

typedef enum {
    CUT_NOT_READ,    /* in the text, not in the sound */
    CUT_NOT_WRITTEN, /* in the sound, not in the text */
    CUT_DOUBTFUL,    /* the text fits the sound too badly */
    CUT_TOO_SHORT,
    CUT_TOO_LONG, /* without a pause */
    CUT_NO_PAUSE, /* between it and something that is left out */
    CUT_NOISY,
    CUT_UNREADABLE, /* espeak-ng cannot read the text */
    CUT_REASONS
} CutReason;
const char *cut_reason_code(CutReason r); /* "not-read" */
const char *cut_reason_text(CutReason r); /* a sentence about it */

typedef struct CutReject {
    CutReason reason;
    int64_t begin, end; /* 0, 0: not in the sound */
    int unit;           /* of the book; -1: no text */
    float score;
} CutReject;

typedef struct Cuts {
    CutClip *clips; /* in order of time */
    int clip_count;
    CutPiece *pieces;
    int piece_count;
    CutReject *rejects;
    int reject_count;
    size_t clip_cap, piece_cap, reject_cap;
    int *clip_of; /* [units of the track]: index of the clip, -1: none */
    Block block;
} Cuts;

/* t and book NULL: without text. ERR_NOMEM. */
int cuts_make(Cuts *c, const Listening *l, const TextTrack *t, const Book *book, Err *err);
void cuts_close(Cuts *c);
double cut_clip_seconds(const Cuts *c, const CutClip *clip);

#endif
