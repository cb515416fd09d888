/* dataset_folder.h - for the tests of src/dataset: a dataset folder of their own, filled file by file,
 * opened, removed at the end. */
#ifndef TESTS_DATASET_FOLDER_H
#define TESTS_DATASET_FOLDER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "dataset/dataset.h"

typedef struct Folder {
    char path[256];
    Config cfg;
    Dataset d;
    Err err;
} Folder;

void put_bytes(const Folder *f, const char *name, const void *p, size_t n);
void put(const Folder *f, const char *name, const char *text);
void make_folder(const Folder *f, const char *name);
int dataset_setup(void **state);
int dataset_teardown(void **state);

/* dataset_open expects nothing open in d. */
int open_code(Folder *f);
void open_ok(Folder *f);
void open_text(Folder *f, const char *text);
void open_bytes(Folder *f, const void *p, size_t n);
int same(Str s, const char *want);

#define assert_str(s, want) \
    do { \
        if (!same(s, want)) \
            fail_msg("'%.*s' where '%s' was expected", (int)(s).n, (s).p, want); \
    } while (0)

void check(const Folder *f, size_t i, const char *id, const char *text, const char *speaker, uint32_t line);
void check_reject(const Folder *f, size_t i, RejectReason reason, uint32_t line, const char *id,
                  const char *in_detail);

#define T(name) cmocka_unit_test_setup_teardown(name, dataset_setup, dataset_teardown)

#endif
