/* export.h - one file to speak from: a checkpoint without the training state, with a vocoder inside, and what
 * others have to know about it. The bytes are in docs/FORMATS.md. Threads: any. */
#ifndef MYXTTS_EXPORT_H
#define MYXTTS_EXPORT_H

#include <stdint.h>

#include "base/err.h"
#include "voice/checkpoint.h"
#include "voice/credits.h"

/* Entries of the metadata that an exported file may have besides those of a checkpoint. */
#define EXPORT_LICENCE "licence"
#define EXPORT_SOURCE "source"
#define EXPORT_NOTE "note"

typedef struct ExportOptions {
    const char *output;
    const Checkpoint *voice;   /* or a vocoder that is exported alone */
    const Checkpoint *vocoder; /* goes inside; NULL: none does */
    int bf16;                  /* weights of two bytes, else of four */
    int clips;                 /* most of each speaker's clips that go with it; 0: all */
    Credits credits;           /* complete */
} ExportOptions;

typedef struct Exported {
    int64_t parameters, vocoder_parameters;
    uint64_t bytes;
} Exported;

/* Writes the file atomically. Settings that name places on this machine stay out of it. ERR_CONFIG, ERR_DATA:
 * weights that are not there, of another shape or not finite. */
int export_write(Exported *out, const ExportOptions *o, Err *err);

#endif
