/* prepare_testing.h - for the tests of `myxtts prepare`, `info` and `inspect`: a corpus of their own (short
 * sounds, short phrases) in a temporary folder, the program run as a process of its own, and folders compared
 * byte by byte. */
#ifndef TESTS_PREPARE_TESTING_H
#define TESTS_PREPARE_TESTING_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <math.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cache/features.h"
#include "folder_testing.h"
#include "long_tests.h"

#define MAX_ARGS 64

typedef struct Clip {
    char id[24];
    char text[1000];
    int removed;
} Clip;

typedef struct Corpus {
    char root[128], data[192], cache[192];
    Clip *clips;
    int count;
} Corpus;

/* ---- files ---- */

const char *path_of(const char *dir, const char *name); /* valid until the 64th call from now */
void remove_folder(const char *path);
void copy_folder(const char *from, const char *to); /* to must not be there */

/* A tone that glides upwards, with quiet ends; `kind` sets its pitch. 16 bit. Returns the bytes, malloc'd. */
uint8_t *make_wav(size_t *size, int kind, double seconds, int rate, int channels);
void write_wav(const char *path, int kind, double seconds, int rate, int channels);

/* ---- a corpus ---- */

const char *clip_path(const Corpus *c, int i);
void corpus_write_metadata(const Corpus *c);
void corpus_add(Corpus *c, double seconds); /* one more clip; seconds 0: without audio */
void corpus_fill(Corpus *c, int count, double seconds);
int corpus_setup(void **state);
int corpus_teardown(void **state);

#define T(name) cmocka_unit_test_setup_teardown(name, corpus_setup, corpus_teardown)

/* ---- the program as a process ---- */

const char *program(void);

typedef struct Run {
    pid_t pid;
    int out, err; /* pipes */
    Buf stdout_text, stderr_text;
    int code; /* exit code, or -signal */
    long peak_kib;
} Run;

/* The arguments of the program in args, NULL at the end; env: "NAME=value" pairs to add, NULL at the end, may
 * be NULL. The process leads a group of its own, so that it and all its children can be found and killed. uid
 * 0: as this user. */
void run_start_as(Run *r, uid_t uid, const char *binary, const char *const *args, const char *const *env);
void run_start(Run *r, const char *const *args, const char *const *env);

/* Reads everything and waits for the end. A process that is not done after `limit` seconds is killed and the
 * test fails. */
void run_wait(Run *r, double limit);

/* Living processes (not zombies) whose parent, or whose group, is the given one; up to cap pids. */
int find_processes(pid_t *pids, int cap, pid_t parent, pid_t group);

/* kill -9 of the program alone; its workers must go by themselves. */
void run_kill(Run *r);
void run_free(Run *r);
int run_program_env(Run *r, const char *const *args, const char *const *env);

#define run_program(r, ...) run_program_env(r, (const char *const[]){__VA_ARGS__, NULL}, NULL)

/* The exit code that a JSON report calls for: 1 where it has lines that cannot be used, or findings; else 0.
 */
int prepare_code(const char *report);
/* `prepare --json` with more options; fails when the exit code is another or stdout is no JSON. code 0: all
 * is well, or the report says what is not and the exit code is 1. */
json_t *prepare_with(const Corpus *c, const char *cache, int code, const char *const *more);

#define prepare(c, code, ...) prepare_with(c, (c)->cache, code, (const char *const[]){__VA_ARGS__, NULL})

/* A build of the corpus as it is now in a new folder of that name, to compare with. */
const char *prepare_fresh(const Corpus *c, const char *name);
int64_t number_at(const json_t *o, const char *first, const char *second);

#define check_number(o, want, first, second) \
    do { \
        long long got_ = number_at(o, first, second), want_ = (want); \
        if (got_ != want_) { \
            char *all_ = json_dumps(o, JSON_INDENT(1)); \
            fail_msg("%s %s is %lld, not %lld, in %s", first, (second) ? (const char *)(second) : "", got_, \
                     want_, all_); \
        } \
    } while (0)

/* Runs and checks how many records each stage built. */
#define expect_built(c, text_built, mel_built, ...) \
    do { \
        json_t *built_ = prepare(c, 0, __VA_ARGS__); \
        check_number(built_, text_built, "text", "built"); \
        check_number(built_, mel_built, "mel", "built"); \
        json_decref(built_); \
    } while (0)

/* ---- comparing ---- */

int is_kept(const struct dirent *f);

/* Two files; expected: 1 the same, 0 different. */
void same_bytes(const char *a, const char *b, int expected);

/* Every file of both folders but the lock and prepared*, which know the files themselves: the same names, the
 * same bytes. */
void assert_same_folders(const char *a, const char *b);
/* The same entries in the same order with the same content, wherever in the segments they lie. */
void assert_same_stores(const char *a, const char *b, const char *name);
void assert_same_caches(const char *a, const char *b);

/* `prepare --verify` finds the given number of damaged records in all; exit code 1 when there are any. */
void assert_verified(const Corpus *c, const char *cache);

#endif
