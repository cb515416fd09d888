/* checkpoint_fields.h - THE two tables of what is in a checkpoint besides its parameters.
 * Writing, reading, checking and the tables in docs/FORMATS.md follow from their rows. To add a number to the
 * state of a run: a member of TrainState and one row in checkpoint_fields.c. To add an entry of the metadata:
 * one row in checkpoint_entries.c, with its writer and its reader. Private to src/voice and its tests. */
#ifndef MYXTTS_CHECKPOINT_FIELDS_H
#define MYXTTS_CHECKPOINT_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include "voice/checkpoint.h"

/* ---- tensors ---- */

/* What a file without the field is good for. */
typedef enum {
    NEED_OPTIONAL,  /* everything */
    NEED_TO_RESUME, /* speaking, but not resuming */
    NEED_ALWAYS     /* nothing */
} FieldNeed;

/* Lengths that tensors have in common. */
typedef enum { EXTENT_NONE, EXTENT_BANDS, EXTENT_CLIPS, EXTENT_FRAMES, EXTENT_COUNT } FieldExtent;

/* A row: an array that is a tensor of its own, or one number of a packed tensor. Consecutive rows with the
 * same tensor are packed one behind the other, without gaps. */
typedef struct CheckpointField {
    const char *tensor; /* name in the file */
    const char *dtype;  /* of the tensor; U8: bytes of numbers of several types */
    const char *type;   /* of the member */
    size_t offset;      /* in CheckpointContent: of the number, or of the pointer to the array */
    FieldExtent shape[3];
    FieldNeed need;
    int added; /* 1: older files do not have the number; it is 0 for them. Such rows end their tensor. */
    const char *words;
} CheckpointField;

int checkpoint_field_count(void);
const CheckpointField *checkpoint_field(int i);

/* Rows of the tensor that begins with row i. */
int checkpoint_field_rows(int i);
/* Bytes that the numbers of these rows take in a packed tensor. */
size_t checkpoint_field_bytes(const CheckpointField *rows, int count);
/* How many of the rows a packed tensor of this many bytes holds: all, or all but the last ones that were
 * added later. 0: its size is wrong. */
int checkpoint_field_fit(const CheckpointField *rows, int count, uint64_t bytes);
/* A packed tensor <-> the members of its rows. */
void checkpoint_field_pack(const CheckpointField *rows, int count, void *bytes,
                           const CheckpointContent *content);
void checkpoint_field_unpack(const CheckpointField *rows, int count, const void *bytes,
                             CheckpointContent *content);

/* ---- parameters ---- */

/* The parameters of the network and the optimiser's moments: `prefix` before the name of every parameter. */
typedef struct CheckpointGroupRow {
    const char *prefix;
    FieldNeed need;
    const char *words;
} CheckpointGroupRow;
const CheckpointGroupRow *checkpoint_group(CheckpointGroup g);
#define CHECKPOINT_NAME_SIZE 80 /* bytes of a tensor's name, prefix and NUL included */

/* ---- metadata ---- */

typedef struct CheckpointEntry {
    const char *key;
    /* A malloc'd text, NULL without memory. write NULL: the number of the step, which changes. */
    char *(*write)(const CheckpointSource *s);
    /* text NULL: the entry is not there. read NULL: nobody asks for it. */
    int (*read)(Checkpoint *v, const char *text, Err *err);
    const char *words;
} CheckpointEntry;

int checkpoint_entry_count(void);
const CheckpointEntry *checkpoint_entry(int i);

/* ERR_FORMAT: "FILE is not a checkpoint of myxtts: it has WHAT". */
int checkpoint_foreign(const Checkpoint *v, const char *what, Err *err);

#endif
