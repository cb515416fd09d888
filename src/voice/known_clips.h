/* known_clips.h - which clips a run has learned from, in little space: hashes of some of their texts,
 * recordings and names, enough to tell another dataset from one that has grown or been corrected. Threads:
 * any. */
#ifndef MYXTTS_KNOWN_CLIPS_H
#define MYXTTS_KNOWN_CLIPS_H

#include "pipeline/corpus.h"

/* JSON text for a checkpoint, malloc'd; NULL without memory. */
char *known_clips_write(const Corpus *c);
/* 1: no recording of c is among those of the text, nor any of their names (older files have none) or any
 * text, and some would be if they came from there. 0: they overlap, or it cannot be told. known NULL (files
 * that are older still): it cannot. */
int known_clips_disjoint(const char *known, const Corpus *c);

#endif
