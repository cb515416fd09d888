/* doctor_run.h - how bench/doctor asks the program: a corpus of tones made here, the program as another
 * process, its answers as JSON. For doctor.c. */
#ifndef MYXTTS_DOCTOR_RUN_H
#define MYXTTS_DOCTOR_RUN_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"

#define MOST_ARGS 64

typedef struct Call {
    char *argv[MOST_ARGS];
    char *owned[MOST_ARGS]; /* to be freed */
    int argc, owned_count;
    const char *folder; /* where it runs; NULL: here */
} Call;

void call_add(Call *c, const char *word);
void call_set(Call *c, const char *key, const char *value);
void call_set_int(Call *c, const char *key, int value);
void call_free(Call *c);

/* Runs the call; *answer is its output read as JSON, the caller's. Exit status 1 (findings) is an answer too.
 */
int call_run(json_t **answer, Call *c, Err *err);
double json_at(const json_t *o, const char *key, const char *inner);
const char *json_word(const json_t *o, const char *key);

/* ---- the corpus ---- */

/* `count` clips of `seconds` and `more` of `longer`, all with the same text, so that every batch of a length
 * has the same bytes. */
int corpus_write(const char *program, const char *dir, int count, double seconds, int more, double longer,
                 Err *err);
/* `count` clips from `shortest` to `longest`, with the same text. */
int corpus_write_mixed(const char *program, const char *dir, int count, double shortest, double longest,
                       Err *err);
void folder_remove(const char *dir);

#endif
