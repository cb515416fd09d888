/* best_note.h - best.json in a folder of checkpoints: which step best.safetensors is, and why. The checkpoint
 * says so too, but not what is known only later, such as its words. Threads: any. */
#ifndef MYXTTS_BEST_NOTE_H
#define MYXTTS_BEST_NOTE_H

#include "base/err.h"
#include "voice/checkpoint.h"

/* Replaces the note; has_ear as in judged_why. ERR_IO, ERR_NOSPACE, ERR_NOMEM. */
int best_note_write(const char *dir, const Judged *best, int has_ear, Err *err);
/* 1: there is one. What cannot be read is none. */
int best_note_read(Judged *best, const char *dir);

/* Why this checkpoint, in one sentence: that of the run's best where it is that one, with what the note
 * beside it adds; otherwise that it is not, or that there was nothing to choose by. "" for an exported voice,
 * which has no record of its run. *best (NULL: not wanted): the run's best. */
void checkpoint_why(const Checkpoint *v, Judged *best, char *out, size_t cap);

#endif
