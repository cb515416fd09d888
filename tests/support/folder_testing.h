/* folder_testing.h - a folder for one test, made under $TMPDIR and removed with everything in it; its files
 * read, compared, damaged. */
#ifndef MYXTTS_FOLDER_TESTING_H
#define MYXTTS_FOLDER_TESTING_H

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"

typedef struct Folder {
    char path[256];
} Folder;

Folder folder_make(void);

void folder_remove(Folder *f);

/* The path of a file in the folder; four may be in use at once. */
const char *folder_file(const Folder *f, const char *name);

/* "a b c ": the names of the files in order. */
const char *folder_names(const Folder *f);

/* How many there are in a folder. */
int entries_of(const char *path);

Buf file_bytes(const char *path);

/* In place, as damage comes: no new file, no rename. */
void file_put(const char *path, const void *p, size_t n);
void file_put_byte(const char *path, uint64_t at, uint8_t byte);
void folder_copy(const Folder *to, const Folder *from);

/* The same names with the same bytes. */
void assert_folders_equal(const Folder *a, const Folder *b);

/* The library that makes calls fail (tests/support/faults_preload.c); NULL where it is not there or does not
 * go with a sanitizer, which is said. */
const char *fault_library(void);

/* What is written to it, a log for one, is in the buffer at once. */
FILE *buf_stream(Buf *b);

#endif
