/* alignment_files.h - alignments on disk: durations.tsv, a TextGrid for each clip, cost.tsv. The bytes are in
 * docs/FORMATS.md. Files appear whole or not at all. Errors name the clip or the file: ERR_DATA, ERR_DAMAGED,
 * ERR_IO, ERR_NOSPACE, ERR_NOMEM.
 * Threads: one; write_times starts its own threads. */
#ifndef MYXTTS_ALIGNMENT_FILES_H
#define MYXTTS_ALIGNMENT_FILES_H

#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "config/config.h"
#include "pipeline/corpus.h"

typedef struct AlignedClip {
    const Corpus *corpus;
    const CorpusItem *item;
    const int32_t *durations; /* [text] frames; NULL: the clip was not aligned and is left out */
    int text, frames;
    float cost;
} AlignedClip;

/* durations.tsv and textgrid/ID.TextGrid in dir, in the order of the clips. With trim_silence every recording
 * is read again: the caches do not say how much was cut off. cfg: what the mels were made with. */
int alignment_write_times(const char *dir, const AlignedClip *clips, uint32_t count, const Config *cfg,
                          Log *log, Err *err);
/* cost.tsv in dir, the highest first. worst (may be NULL): the clip that has it, NULL if there is none. */
int alignment_write_costs(const char *dir, const AlignedClip *clips, uint32_t count,
                          const AlignedClip **worst, Err *err);

#endif
