/* store_testing.h - stores of made-up records, built the way the stages of `prepare` do it: keep, else
 * salvage, else add. */
#ifndef MYXTTS_STORE_TESTING_H
#define MYXTTS_STORE_TESTING_H

#include "base/hash.h"
#include "folder_testing.h"

#include "base/rng.h"
#include "cache/store/store_private.h"

#define STORE "mel"
#define MAX_ITEMS 1024

typedef struct Item { /* a record is a function of these two; the version stands for the content of its source
                       */
    uint32_t number, version;
} Item;

typedef struct BuildOptions {
    size_t stop_after; /* close without a commit after this many entries; 0: go to the end */
    int rewrite, verify;
    size_t payload; /* bytes of each; 0: 0 to 700, by the item */
    const void *blob;
    uint64_t blob_size;
    useconds_t pause; /* after each added record */
} BuildOptions;

typedef struct BuildReport {
    uint64_t kept, salvaged, added, findings;
} BuildReport;

extern const Hash128 test_settings;

StoreRecord item_record(Item it, char id[32], uint8_t *payload, size_t size);

int build_one(StoreBuild *b, const Store *old, const uint8_t *damaged, Item it, const BuildOptions *o,
              uint8_t *payload, BuildReport *report, Err *err);

/* From whatever is in the folder to the state `items`. */
int build(const Folder *f, const Item *items, size_t n, const BuildOptions *o, BuildReport *report, Err *err);
void build_ok(const Folder *f, const Item *items, size_t n, const BuildOptions *o, BuildReport *report);

/* The store says exactly `items`, and every byte of it is sound. */
void assert_state(const Folder *f, const Item *items, size_t n, const BuildOptions *o);

/* Items 0 .. n - 1, version 1. */
size_t items_first(Item *items, size_t n);

/* Another state: every 7th gone, every 5th changed, some new ones at the front and the back. */
size_t items_next(Item *out, const Item *items, size_t n);

#endif
