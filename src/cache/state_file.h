/* state_file.h - prepared-STAGES.state beside the caches: what the last prepare found and reported, so that
 * the next one can tell that nothing has changed (unchanged.h). A head, tables, then the clips in pieces, so
 * that threads can compare them without holding them all. Written and read by the same program; a file of
 * another version, or a damaged one, is as good as none. Threads: a StateFile that was read may be used by
 * several. */
#ifndef MYXTTS_STATE_FILE_H
#define MYXTTS_STATE_FILE_H

#include "base/file.h"
#include "cache/preparation.h"
#include "cache/prepare.h"

enum { STATE_STORES = 3 }; /* text, mel, audio */

/* What has to be as it was. */
typedef struct StateKeys {
    Hash128 settings;              /* that decide what is prepared and accepted */
    Hash128 origin;                /* Dataset.origin */
    uint64_t utterances;           /* state_dataset */
    uint64_t stores[STATE_STORES]; /* cache_stamp; 0: not prepared */
    FileStamp rejected;            /* of rejected.tsv */
    FileStamp program;             /* another may read, accept or report otherwise */
} StateKeys;

typedef struct StateHead {
    char magic[8];
    uint32_t version, report_size;
    StateKeys keys;
    PrepareReport report; /* without pointers; its caches have built nothing */
    uint64_t clips;       /* whose recordings are compared; 0: none was looked at */
    uint64_t pieces;
    uint64_t found_size, told_size, unknown_size; /* bytes of the tables behind that of the pieces */
    uint64_t tables_checksum;
    uint64_t checksum; /* of the head before it */
} StateHead;

typedef struct StateFile {
    StateHead head;
    Buf tables;
    char *path;
    int fd_plus1;
} StateFile;

/* 1, or 0 if there is no such file; it is then closed. */
int state_file_open(StateFile *s, const char *dir, const PrepareOptions *stages);
void state_file_close(StateFile *s);         /* a zeroed or closed one is allowed */
const char *state_found(const StateFile *s); /* "ljspeech: metadata.csv with 3 columns" */
SharePiece state_told(const StateFile *s);   /* Told of each utterance that was rejected by prepare */
const uint32_t *state_unknown(const StateFile *s, size_t *pairs); /* see PrepareReport.unknown */

/* A clip as it was. Str are slices of the piece. */
typedef struct StateClip {
    Str id, audio;
    int file;
    uint64_t stamp; /* preparation_stamp of the recording; 0: there was none */
    /* REJECT_NONE, or what the recording's header was rejected for. It may have been the disk: look again. */
    RejectReason header;
} StateClip;
/* Reads a piece [0, head.pieces). 1, or 0 if it is damaged. */
int state_piece(const StateFile *s, uint64_t piece, Buf *bytes);
/* Takes the next clip off a piece; 0: there is none. */
int state_clip(SharePiece *at, StateClip *c);

/* Of what a dataset has: ids, texts, recordings, places, rejected lines; right after dataset_open. */
uint64_t state_dataset(const Dataset *d);
/* Failing is allowed: the next start looks at everything. The hash of the head, zeros after a failure. */
Hash128 state_file_write(const Preparation *p, const PrepareOptions *stages, const PrepareReport *report,
                         const StateKeys *keys);
Hash128 state_file_hash(const StateFile *s); /* the same of a file that was read */

#endif
