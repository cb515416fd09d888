/* store_part.h - a segment of a store while it is being written, NAME-0002.part.
 * A build has one part or several (store_build_open); each is written by one process and becomes a segment,
 * NAME-0002.seg, when its records are on the disk. What is written counts when store_build_commit has put it
 * into the index. Threads: a part belongs to one. */
#ifndef MYXTTS_STORE_PART_H
#define MYXTTS_STORE_PART_H

#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"
#include "cache/store/store.h"
#include "cache/store/store_format.h"

typedef struct StorePart {
    char *path, *final_path; /* .part and .seg */
    char name[16];           /* of the store */
    uint32_t number;
    Hash128 settings;
    int fd_plus1;     /* 0: not open yet */
    uint64_t size;    /* bytes of the header and whole records; 0: there is no file yet */
    uint64_t flushed; /* bytes that the disk has been told to write */
    uint64_t added;   /* records since it was opened */
    int is_final;     /* it is called .seg now */
} StorePart;

/* number and size as store_build_part says. Nothing is created before there is something to write. */
int store_part_open(StorePart *p, const char *dir, const char *name, uint32_t number, uint64_t size,
                    Hash128 settings, Err *err);
/* Appends a record; *added is for store_build_enter. After a failure the part is as before. */
int store_part_add(StorePart *p, IndexEntry *added, const StoreRecord *r, Err *err);
/* Appends a whole record of another segment; *offset is its new place. */
int store_part_copy(StorePart *p, uint64_t *offset, const void *record, uint64_t size, Err *err);
/* Makes it a segment: fsync, rename, fsync of the folder. */
int store_part_finish(StorePart *p, Err *err);
void store_part_drop(StorePart *p); /* removes the file, unless it is a segment by now */
/* What was written stays for the next build, unless there is no record in it. A zeroed or closed part is
 * allowed. */
void store_part_close(StorePart *p);

#endif
