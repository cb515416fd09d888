/* textgrid.h - intervals of time as a TextGrid, the file format of Praat (its long text format, UTF-8), which
 * MFA and most tools of phonetics read too.
 * Threads: any. */
#ifndef MYXTTS_TEXTGRID_H
#define MYXTTS_TEXTGRID_H

#include "base/mem.h"

typedef struct TextGridInterval {
    double from, to;   /* seconds; from < to */
    const char *label; /* UTF-8 */
} TextGridInterval;

typedef struct TextGridTier {
    const char *name;
    /* [count] in order, not overlapping; what lies between them has no label. */
    const TextGridInterval *intervals;
    int count;
} TextGridTier;

/* Appends a TextGrid from 0 to `end` seconds. A failed append is seen in out->failed. */
void textgrid_text(Buf *out, double end, const TextGridTier *tiers, int count);

#endif
