/* storage.h - measures the speed of the disk without the page cache, by reading files of the dataset: with
 * O_DIRECT if the file system supports it, otherwise after asking the system to drop the pages. Writes
 * nothing. Threads: one. */
#ifndef MYXTTS_DIAG_STORAGE_H
#define MYXTTS_DIAG_STORAGE_H

#include "base/err.h"
#include "config/config.h"
#include "pipeline/corpus.h"

#define STORAGE_READS 24                /* maximum of reads */
#define STORAGE_BYTES ((size_t)1 << 20) /* of one read, which may be of several small files */

typedef struct StorageTest {
    double seconds[STORAGE_READS]; /* [count] time of each read, scaled to exactly 1 MiB */
    int count;                     /* 0: nothing could be read */
    double mean, median, worst, bytes_per_s;
    int direct;        /* 1: with O_DIRECT; 0: the pages were dropped before */
    int files;         /* number of files that were read */
    int is_cache;      /* 1: segments of the mel cache; 0: audio files */
    char why_not[160]; /* if count is 0 */
} StorageTest;

void storage_measure(StorageTest *t, const Config *cfg, const Corpus *corpus);

#endif
