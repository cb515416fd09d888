/* train_testing.h - a small corpus of tones, made and prepared once for a test program, a network that takes
 * a few milliseconds for a step, and runs of the trainer in this process: their log, their checkpoints,
 * compared tensor by tensor. */
#ifndef TESTS_TRAIN_TESTING_H
#define TESTS_TRAIN_TESTING_H

#include "checkpoint_testing.h"
#include "folder_testing.h"
#include "long_tests.h"

#include <math.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "cache/prepare.h"
#include "device/devices.h"
#include "train/log/run_log.h"
#include "train/trainer.h"

enum { CLIPS = 30, MOST_OPTIONS = 160 };

typedef struct Lab { /* of the test program */
    Folder folder;
    char data[300], cache[300];
    int made; /* folders of checkpoints */
} Lab;
extern Lab lab;

/* ---- the corpus ---- */

void write_tone(const char *path, int kind, double seconds);

/* Options in one string, separated by blanks: later ones win. */
void lab_config(Config *cfg, const char *checkpoints, const char *more);
int setup_lab(void **state);
/* Also the samples of its clips; more: options of a vocoder. */
int setup_lab_with_samples(void **state, const char *more);
int teardown_lab(void **state);

/* A new, empty folder for checkpoints; eight may be in use at once. */
const char *new_folder(void);

/* ---- a run ---- */

typedef struct JobOptions {
    const char *stop_at; /* the run is stopped as by Ctrl-C when its log says this */
    int64_t poison_from, poison_count;
    uint64_t model_cap, data_cap;                                /* bytes; 0: none */
    void (*watch)(void *arg, const TrainerView *view, int last); /* at every line; NULL: nobody */
} JobOptions;

typedef struct Job {
    Config cfg;
    Devices devices;
    Sim sim;
    CorpusSource *source;
    Corpus train, validation;
    TrainerOptions options;
    TrainPlan plan;
    Trainer *trainer;
    TrainSummary summary;
    Log log;
    FILE *out;
    Buf text; /* of the log */
    const char *stop_at;
    volatile int stop;
    Err err;
} Job;

const char *job_log(Job *j);

/* Everything but the trainer: devices with caps to the byte, corpora, options. */
void job_prepare(Job *j, const char *folder, const char *more, JobOptions o);

/* To the end; the code of the first failure, with its sentence in j->err. The job stays open. */
int job_try(Job *j, const char *folder, const char *more, JobOptions o);
void job_close(Job *j);

TrainSummary train(const char *folder, const char *more, JobOptions o);

/* ---- what a run left ---- */

int is_there(const char *path);
int checkpoints_differ(const char *a, const char *b, const char *name);

/* The numbers of one key in all lines of one kind; returns how many. */
int read_lines(const char *folder, const char *event, const char *key, int64_t *steps, double *values,
               int cap);

#endif
