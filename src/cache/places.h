/* places.h - where a dataset's stores are in its cache folder. Stores of different settings live side by
 * side: those of the settings that came first in the folder itself, as mel.index and mel-0001.seg, every
 * other one in a folder of its own, mel-0123456789abcdef, named after the hash of its settings. So a command
 * with other settings replaces nothing. Threads: any; removing and building need the lock of the folder. */
#ifndef MYXTTS_PLACES_H
#define MYXTTS_PLACES_H

#include <jansson.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/log.h"
#include "cache/store/store.h"
#include "config/config.h"

/* The folder of the store `name` for these settings, whether it is there or not; malloc'd. NULL if out of
 * memory. */
char *cache_place(const char *dir, const char *name, Hash128 settings);

/* The folder that such a store has when the folder itself holds one of other settings; malloc'd, or NULL. */
char *cache_own_folder(const char *dir, const char *name, Hash128 settings);

/* A hash of the names and stamps of all files of that store, those that a killed run left behind too: as long
 * as it is the same, nobody has touched them. 0: there are none, or they cannot be looked at. */
uint64_t cache_stamp(const char *dir, const char *name, Hash128 settings);

/* The error of a hash of settings that is zeros: no cache can be found or named without it. */
int settings_unknown(const char *name, Err *err);

/* Opens the store that was made with these settings. ERR_MISSING also if there are only others. */
int cache_open(Store *s, const char *dir, const char *name, Hash128 settings, Err *err);

typedef struct CachePlace {
    const char *store; /* TEXT_STORE, MEL_STORE, AUDIO_STORE or PREDICTED_STORE */
    char *dir;
    Hash128 settings; /* zeros if its index cannot be read */
    uint64_t records, bytes;
    int current; /* the one that these settings use */
} CachePlace;
typedef struct CacheList {
    CachePlace *items; /* [count] */
    size_t count, cap;
} CacheList;
/* All stores in the cache folder of cfg; a folder that is not there has none. 0 or ERR_NOMEM. */
int cache_list(CacheList *l, const Config *cfg, Err *err);
void cache_list_free(CacheList *l);                            /* a zeroed or freed one is allowed */
uint64_t cache_list_unused(const CacheList *l, size_t *count); /* bytes of those that are not current */
json_t *cache_list_json(const CacheList *l);

/* Removes every store that is not current, naming each with its size first. The caller holds the lock. */
int cache_prune(const CacheList *l, Log *log, Err *err);

#endif
