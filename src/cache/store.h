/* store.h - keyed records on disk that can be trusted: the ground of the text and the mel cache.
 * One record per utterance, found by id, valid for one key (the hash of everything that made it). A build
 * takes over the records whose keys still hold and appends the others to a new segment; the index is replaced
 * last, so that a kill at any moment leaves the old or the new state, and what was written before the kill is
 * taken up by the next build. Threads: a Store is read-only after store_open; a StoreBuild belongs to one
 * thread. */
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

typedef struct StoreEntry { /* a view of one record; pointers live until store_close */
    const char *id;
    uint32_t id_size;
    Hash128 key;
    FileStamp stamp;
    uint32_t items;  /* frames or tokens */
    uint32_t status; /* 0, or a RejectReason: then the payload is its detail */
    uint32_t format;
    uint64_t extra; /* of the store's user, kept in the index */
    const uint8_t *payload;
    uint64_t payload_size;
    uint64_t record_size;
    uint32_t segment; /* number in the file name */
    uint64_t offset;
} StoreEntry;

typedef struct Store {
    char *dir, *name;
    FileMap index;
    FileMap *segments; /* [segment_count], in the order of the index */
    uint32_t segment_count;
    uint64_t count;
    Hash128 settings;
    const uint8_t *blob; /* of the store's user: statistics, symbol table */
    uint64_t blob_size;
    Map by_id; /* entries */
} Store;

/* Maps index and segments and checks every offset once. ERR_MISSING: no such store. ERR_DAMAGED, ERR_FORMAT:
 * do not use it. */
int store_open(Store *s, const char *dir, const char *name, Err *err);
void store_close(Store *s); /* always safe */
void store_entry(const Store *s, uint64_t i, StoreEntry *e);
int64_t store_find(const Store *s, const char *id, uint32_t id_size); /* entry, or -1 */
uint64_t store_bytes(const Store *s);                                 /* of all segments */

/* Checks every byte of every segment. damaged [count] gets 1 for each entry whose record is not what was
 * written; damage outside the entries counts in *other. Returns the number of findings, or a negative code.
 * progress may be NULL. */
struct Progress;
int64_t store_verify(const Store *s, uint8_t *damaged, uint64_t *other, Log *log, struct Progress *progress,
                     Err *err);

/* The record of one entry against its checksum: 1 when it is what was written. */
int store_entry_whole(const Store *s, uint64_t i);

/* One entry of the new state. */
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

typedef struct StoreBuild StoreBuild;
/* old may be NULL (nothing there, or not usable). The folder must be locked by the caller. */
int store_build_open(StoreBuild **b, const char *dir, const char *name, const Store *old, Hash128 settings,
                     Err *err);
/* Records that an interrupted build left behind and that may be taken over: by key, or by the source file's
 * stamp (same settings). Returns a token >= 0 for store_build_salvage, or -1. */
int64_t store_build_find_by_key(const StoreBuild *b, const char *id, uint32_t id_size, Hash128 key);
int64_t store_build_find_by_stamp(const StoreBuild *b, const char *id, uint32_t id_size,
                                  const FileStamp *stamp);
/* The next entry of the new state, in order, in one of three ways. 0 or a negative code. */
int store_build_keep(StoreBuild *b, uint64_t old_entry, const FileStamp *stamp, Err *err);
int store_build_salvage(StoreBuild *b, int64_t token, const FileStamp *stamp, Err *err);
int store_build_add(StoreBuild *b, const StoreRecord *r, Err *err);
/* A view of the i-th entry of the new state (for statistics before the commit). */
int store_build_entry(StoreBuild *b, uint64_t i, StoreEntry *e, Err *err);
/* Gives back the memory of what was looked at through store_build_entry. */
void store_build_forget(StoreBuild *b);
uint64_t store_build_count(const StoreBuild *b);
/* 1 when the new state differs from the old one in any way (or there was none). */
int store_build_changed(const StoreBuild *b, const void *blob, uint64_t blob_size);
/* Makes the new state the state; afterwards only store_build_close is allowed. With rewrite != 0, or when
 * little of the segments is still in use, all records move to one new segment. Nothing is written when
 * nothing changed. */
int store_build_commit(StoreBuild *b, const void *blob, uint64_t blob_size, int rewrite, Err *err);
/* Without a commit, what was written stays behind for the next build. */
void store_build_close(StoreBuild *b);

/* Names inside the folder; malloc'd. */
char *store_index_path(const char *dir, const char *name);
char *store_segment_path(const char *dir, const char *name, uint32_t number, int part);

#endif
