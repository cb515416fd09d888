/* pipeline_testing.h - a small prepared corpus, made once for a test program, and the real pipeline over it
 * on any devices, with what the consumer saw: the hash of every batch, in order. */
#ifndef TESTS_PIPELINE_TESTING_H
#define TESTS_PIPELINE_TESTING_H

#include "base/hash.h"
#include "folder_testing.h"
#include "long_tests.h"

#include <math.h>
#include <signal.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/rng.h"
#include "cache/prepare.h"
#include "device/devices.h"
#include "pipeline/pipeline.h"
#include "pipeline/step_meter.h"

enum { CLIPS = 60, MOST_OPTIONS = 80, HOST_BYTES = 1 << 24 };

typedef struct Corpora { /* of the test program */
    Folder folder;
    char data[300], cache[300];
} Corpora;

extern Corpora corpora;

/* ---- the corpus ---- */

void write_clip(const char *path, int kind, double seconds);
const char *clip_file(int i);

/* ---- settings ---- */

/* Options in one string, separated by blanks: later ones win. */
void pipeline_config(Config *cfg, const char *more);

/* Builds the caches for these settings. Only while the process has no other thread. */
void prepare_caches(const char *more);
void prepare_samples(const char *more); /* of a vocoder's clips */
int setup_corpora(void **state);
int teardown_corpora(void **state);

/* ---- a run ---- */

typedef struct Run {
    Config cfg;
    Devices devices;
    Corpus corpus;
    Pipeline *pipeline;
    Stream *stream;
    Log log;
    FILE *log_file;
    char *log_text; /* whole after run_log */
    size_t log_size;
    uint8_t *host; /* the batch read last */
    DeviceBatch batch;
    Err err;
} Run;

/* Options of the pipeline that are no settings. */
typedef struct RunOptions {
    PipelineState start; /* seed 0: that of the settings */
    int rank, ranks;     /* ranks 0: alone */
    int64_t epochs;
    double stuck_seconds;
    int no_step;
    const Hash128 *mels; /* settings of the store with the mels that segments bring; NULL: they bring none */
    void (*spy)(Device *data, Device *model); /* called before the pipeline opens */
} RunOptions;

void run_close(Run *r);

/* Everything up to the open pipeline; the code of the first failure, with its sentence in r->err. */
int run_try(Run *r, const char *more, RunOptions o);
void run_open(Run *r, const char *more, RunOptions o);
const char *run_log(Run *r);
/* The pipeline has taken the memory that was planned. */
PipelineReport check_plan(Run *r);

/* Takes a batch, reads it back to r->host, and hands it back. */
int run_next(Run *r, Hash128 *h);
const int32_t *batch_ints(const Run *r, size_t offset);
const float *batch_mel(const Run *r, int row);

/* All batches of a run to its end; returns how many. */
int run_all(const char *more, RunOptions o, Hash128 *hashes, int cap);
void check_hashes(const Hash128 *a, int n, const Hash128 *b, int m, const char *what);

/* ---- times ---- */

typedef struct Timing { /* medians, in seconds; on simulated devices in the machine's own time */
    double wait, busy, period;
    PipelineReport report;
    Err err;
    int rc;
} Timing;

void nothing(void *arg);

/* The pipeline into a consumer whose step takes the machine's step_ms and that runs ahead as far as the meter
 * lets it. */
Timing measure(const char *more, int batches);

/* ---- the process ---- */

int open_files(void);
int threads_now(void);

/* Threads that were joined are gone from /proc a moment later. */
void check_threads(int before);

#endif
