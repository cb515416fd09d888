/* lines.h - one line of a dataset, whatever its layout -> an utterance or a rejection of the Dataset. Touches
 * no file, so the readers above it can be fuzzed. Checked in this order: id, UTF-8, text, duplicate; the
 * first fault is the reason of the rejection. The slices must outlive the dataset: they are in its files or
 * in its block. */
#ifndef MYXTTS_LINES_H
#define MYXTTS_LINES_H

#include "base/map.h"
#include "dataset/dataset.h"

typedef struct Line {
    Str id, text;
    Str speaker, language; /* "" if the layout names none */
    Str audio;             /* as in Utterance */
    uint32_t line;         /* 1-based */
} Line;

typedef struct Lines {
    Dataset *d;
    Map *ids;              /* ids seen so far -> indices of utterances; the files of a dataset share it */
    int file;              /* 0 or 1, as in Utterance */
    const char *prefix[2]; /* folders to remove from the start of ids, with a slash ("wavs/"); NULL: none */
} Lines;

/* Counts the line and adds it to the utterances or to the rejected. 0 or ERR_NOMEM. */
int lines_add(Lines *l, const Line *line);
/* Counts and rejects a line that a reader cannot use. An id that is not UTF-8 is not shown. 0 or ERR_NOMEM.
 */
int lines_reject(Lines *l, Str id, uint32_t line, RejectReason reason, const char *detail);
/* Rejects it, with the place in the detail, and returns 1 where the bytes are not UTF-8; 0: they are;
 * ERR_NOMEM. */
int lines_check_utf8(Lines *l, Str id, uint32_t line, Str bytes);

/* NULL when the id is a relative path that stays where it is looked up; else what is wrong with it. */
const char *line_id_fault(Str id);
/* The id of a recording that has only a path: without the dataset's own folder, "./", "../" and a slash at
 * the front, and without the ending of a sound file. A slice of path. */
Str line_id_of_path(const char *root, Str path);

#endif
