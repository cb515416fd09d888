/* tree.h - the recordings and texts below a folder, by name: nothing is opened. Names that begin with a dot
 * are not looked at, nor are caches and the folders of a run. Links are followed, except in circles. Threads:
 * any, each with its own tree. Private to src/dataset. */
#ifndef MYXTTS_TREE_H
#define MYXTTS_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

enum { TREE_NORMALISED = -4, TREE_TXT, TREE_LAB, TREE_ORIGINAL }; /* texts: what is taken first comes first */

typedef struct TreeFile {
    const char *path; /* below the root */
    uint32_t folder;  /* bytes of the path up to its name: "alice/" of "alice/1.wav" */
    uint32_t stem;    /* bytes of the path up to the ending: "alice/1" */
    int rank;         /* < 0: a text; else a recording, audio_endings.h */
} TreeFile;

typedef struct Tree {
    TreeFile *files; /* [count] sorted by stem; of the same stem texts first, each kind by rank */
    size_t count, cap;
    /* Numbers of files. Tables (.csv, .json, ...) and others are not in the list; an other one is named. */
    size_t audio, texts, tables, others;
    const char *other;
} Tree;

/* Paths are in the block. skip: [skips] folders that are left out, wherever they are; "" and NULL are
 * allowed. ERR_IO if the root cannot be read (a folder below it that cannot be read is passed over),
 * ERR_NOMEM. */
int tree_read(Tree *t, Block *b, const char *root, const char *const *skip, int skips, Err *err);
void tree_free(Tree *t); /* a zeroed or freed one is allowed */

#endif
