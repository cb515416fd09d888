/* store.h - keyed, checksummed records on disk: the caches of text, mels and samples are stores.
 * A store has one record per utterance, found by its id and valid for one key (a hash of everything the
 * record depends on). A build keeps the records whose keys are still valid and appends the others to a new
 * segment. The index is replaced last: if a build is killed, the old state stays valid, and the next build
 * takes over what was written. Threads: a Store is read-only after store_open; a StoreBuild belongs
 * to one thread. */
#ifndef MYXTTS_STORE_H
#define MYXTTS_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"

typedef struct StoreEntry { /* a view of one record; pointers are valid until store_close */
    const char *id;
    uint32_t id_size;
    Hash128 key;
    FileStamp stamp;
    uint32_t items;  /* tokens, frames or samples */
    uint32_t status; /* 0, or a RejectReason, whose detail is then the payload */
    uint32_t format; /* of the payload; defined by the user of the store */
    uint64_t extra;  /* also defined by the user of the store; kept in the index */
    const uint8_t *payload;
    uint64_t payload_size;
    uint64_t record_size;
    uint32_t segment; /* number in the file name */
    uint64_t offset;  /* of the record in the segment */
} StoreEntry;

typedef struct Store {
    char *dir, *name;
    FileMap index;
    FileMap *segments; /* [segment_count], in the order of the index */
    uint32_t segment_count;
    uint64_t count;
    Hash128 settings;
    const uint8_t *blob; /* defined by the user of the store: statistics, symbol table */
    uint64_t blob_size;
    Map by_id; /* indices of entries */
} Store;

/* Reads the index, maps the segments and checks all offsets. ERR_MISSING if there is no such store;
 * ERR_DAMAGED or ERR_FORMAT if it cannot be used. */
int store_open(Store *s, const char *dir, const char *name, Err *err);
/* A number that identifies the present state of the store, read without opening it. ERR_MISSING,
 * ERR_FORMAT. */
int store_index_stamp(uint64_t *stamp, const char *dir, const char *name, Err *err);
void store_close(Store *s); /* a zeroed or closed store is allowed */
void store_entry(const Store *s, uint64_t i, StoreEntry *e);
int64_t store_find(const Store *s, const char *id, uint32_t id_size); /* index of the entry, or -1 */
uint64_t store_bytes(const Store *s);                                 /* size of all segments */

/* Checks every byte of every segment. Sets damaged [count] to 1 for each entry whose record is damaged, and
 * *other to the number of damaged places outside the entries. Returns the number of all damaged places, or a
 * negative code. progress may be NULL. */
struct Progress;
int64_t store_verify(const Store *s, uint8_t *damaged, uint64_t *other, Log *log, struct Progress *progress,
                     Err *err);

/* Checks the record of one entry against its checksum: 1 if it is intact. */
int store_entry_whole(const Store *s, uint64_t i);
/* Pages of the entry's segment that could not be read since store_open and read as zeros (file_lost). If
 * there are any, store_entry_whole tells whether this entry is among the damaged. Costs nothing. */
uint64_t store_entry_lost(const Store *s, uint64_t i);

/* A new record. */
typedef struct StoreRecord {
    const char *id;
    uint32_t id_size;
    Hash128 key;
    FileStamp stamp;
    uint32_t items, status, format;
    uint64_t extra;
    const void *payload;
    uint64_t payload_size;
} StoreRecord;

struct IndexEntry;
typedef struct StoreBuild StoreBuild;
/* old is NULL if there is no usable old state. parts: how many segments are written at once, each through a
 * StorePart by a separate process; 1 for store_build_add. The caller must hold the lock of the folder. */
int store_build_open(StoreBuild **b, const char *dir, const char *name, const Store *old, Hash128 settings,
                     int parts, Err *err);
/* For store_part_open: the number of the part and the bytes of records that a killed build left in it. */
void store_build_part(const StoreBuild *b, int part, uint32_t *number, uint64_t *size);
/* Says that store_part_finish has made the part a segment of `size` bytes. Call before the commit, for every
 * part that has new records. */
void store_build_finished(StoreBuild *b, int part, uint64_t size);
/* Find a record that an interrupted build left behind: by key, or by the stamp of the source file (with the
 * same settings). Return a token >= 0 for store_build_salvage, or -1. */
int64_t store_build_find_by_key(const StoreBuild *b, const char *id, uint32_t id_size, Hash128 key);
int64_t store_build_find_by_stamp(const StoreBuild *b, const char *id, uint32_t id_size,
                                  const FileStamp *stamp);
/* Append the next entry of the new state, in one of four ways: keep an old record, take over a leftover,
 * write a new one to the first part, or register one that store_part_add has written. Return 0 or a negative
 * code. */
int store_build_keep(StoreBuild *b, uint64_t old_entry, const FileStamp *stamp, Err *err);
int store_build_salvage(StoreBuild *b, int64_t token, const FileStamp *stamp, Err *err);
int store_build_add(StoreBuild *b, const StoreRecord *r, Err *err);
int store_build_enter(StoreBuild *b, int part, const struct IndexEntry *added, const char *id, Err *err);
/* A view of entry i of the new state (for statistics before the commit). */
int store_build_entry(StoreBuild *b, uint64_t i, StoreEntry *e, Err *err);
/* Allows the system to drop the pages that were read through store_build_entry. */
void store_build_forget(StoreBuild *b);
uint64_t store_build_count(const StoreBuild *b);
/* 1 if the new state differs from the old one in any way, or there was none. */
int store_build_changed(const StoreBuild *b, const void *blob, uint64_t blob_size);
/* Makes the new state the current one; afterwards only store_build_close is allowed. With rewrite != 0, or if
 * only a small part of the segments is still in use, all records are moved to one new segment. If nothing
 * changed, nothing is written. */
int store_build_commit(StoreBuild *b, const void *blob, uint64_t blob_size, int rewrite, Err *err);
/* 1 if there was no room to tidy up in the commit: the next build does it. */
int store_build_untidy(const StoreBuild *b);
/* Without a commit, what was written stays on disk for the next build. */
void store_build_close(StoreBuild *b);

/* Paths of the files of a store; malloc'd. */
char *store_index_path(const char *dir, const char *name);
char *store_segment_path(const char *dir, const char *name, uint32_t number, int part);

#endif
