/* storage.h - how long the disk takes when the page cache does not help: reads of the dataset's own files.
 * With O_DIRECT where the file system allows it, else after asking the system to drop the pages. Nothing is
 * written. Threads: one. */
#ifndef MYXTTS_DIAG_STORAGE_H
#define MYXTTS_DIAG_STORAGE_H

#include "base/err.h"
#include "config/config.h"
#include "pipeline/corpus.h"

#define STORAGE_READS 24
#define STORAGE_BYTES ((size_t)1 << 20) /* of one read; several small files in a row count as one */

typedef struct StorageTest {
    double seconds[STORAGE_READS]; /* of each read of about 1 MiB, as if it had been exactly that */
    int count;                     /* 0: nothing could be read */
    double mean, median, worst, bytes_per_s;
    int direct;   /* O_DIRECT; else the pages were dropped before */
    int files;    /* read from */
    int is_cache; /* segments of the mel cache; else audio files */
    char why_not[160];
} StorageTest;

void storage_measure(StorageTest *t, const Config *cfg, const Corpus *corpus);

#endif
