/* ops_testing.h - runs one op case on any table of ops: makes its tensors from a seed, calls forward and
 * backward, brings everything back as doubles. Plain C, no test library, so that the GPU's test program can
 * use it too. Functions return 0, or -1 with a sentence in r->problem. Every buffer stands between two guards
 * that are looked at after each run; outputs begin as NaN, gradients that are added to begin as something. */
#ifndef MYXTTS_OPS_TESTING_H
#define MYXTTS_OPS_TESTING_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "ops/ops.h"

#define OPS_TENSORS 20

typedef enum { KIND_REAL, KIND_ACC, KIND_FLOAT, KIND_INT, KIND_BYTE } TensorKind;

/* INPUT: differentiable. FIXED: not. OUTPUT: = by forward. CHANGED: read and written by forward (or, as a
 * seed, by backward). SEED: the gradient of an output, given to backward. GRAD: = by backward. GRAD_ADD: +=
 * by backward. */
typedef enum {
    ROLE_NONE,
    ROLE_INPUT,
    ROLE_FIXED,
    ROLE_OUTPUT,
    ROLE_CHANGED,
    ROLE_SEED,
    ROLE_GRAD,
    ROLE_GRAD_ADD
} TensorRole;

typedef struct OpsTensor {
    const char *name;
    TensorKind kind;
    TensorRole role;
    int64_t n;
    int of;          /* SEED: of which output; GRAD: of which input; -1: none */
    double constant; /* OUTPUT without a SEED: its weight in the objective */
    double *value;   /* [n] what goes in */
    double *result;  /* [n] what came out */
    uint8_t *hidden; /* [n] 1: padding; changing it must change nothing. NULL: none */
    char *memory;    /* device memory with the guards */
    size_t bytes;
} OpsTensor;

struct OpsRun;

typedef struct OpsCase {
    const char *name;
    void (*build)(struct OpsRun *r, const int *shape);
    void (*forward)(struct OpsRun *r, const int *shape);
    void (*backward)(struct OpsRun *r, const int *shape); /* NULL: none */
    double (*flops)(const int *shape); /* of forward and backward; NULL: bytes are what counts */
    int shape[12];
    int exact;        /* tables must agree to the bit (in what they can represent) */
    double tolerance; /* multiplies the allowed error; 0: 1 */
} OpsCase;

typedef struct OpsRun {
    OpsContext *c;
    const OpsCase *k;
    Rng rng;
    OpsTensor t[OPS_TENSORS];
    char problem[400];
} OpsRun;

/* --- building --- */

/* Numbers that bf16 holds exactly, so that every table starts from the same values. */
double ops_round(double x);

OpsTensor *ops_tensor(OpsRun *r, int slot, const char *name, TensorKind kind, TensorRole role, int64_t n,
                      double scale);

/* An output and the gradient that backward gets for it. */
void ops_output(OpsRun *r, int slot, int seed_slot, const char *name, const char *seed_name, int64_t n);
void ops_gradient(OpsRun *r, int slot, int of, const char *name, TensorRole role);

/* Lengths of B items of at most T: mixed: T, 1, 0, about half, T - 1, ...; else all T. */
void ops_lengths(OpsRun *r, int slot, const char *name, int B, int T, int mixed);

/* Marks rows t >= len[b] of a tensor [B,T,n]. */
void ops_hide_rows(OpsRun *r, int slot, int lengths, int B, int T, int n);
void *ops_at(OpsRun *r, int slot);

/* --- moving --- */

void ops_store(void *to, TensorKind kind, size_t size, int64_t i, double x);
int ops_upload(OpsRun *r);
int ops_download(OpsRun *r);

/* --- running --- */

void ops_run_close(OpsRun *r);
int ops_run_open(OpsRun *r, OpsContext *c, const OpsCase *k, uint64_t seed);
int ops_run(OpsRun *r, int backward);
int ops_is_result(const OpsTensor *t);

/* --- (a) gradients against central differences; the table must be in double --- */
int ops_check_gradient(OpsContext *c, const OpsCase *k, uint64_t seed, double tolerance, char *problem,
                       size_t size);

/* --- (b) one table against another: error relative to the largest number of the tensor. tolerance 0: to the
 * bit --- */
int ops_compare(OpsContext *a, OpsContext *b, const OpsCase *k, uint64_t seed, double tolerance,
                double *worst, char *problem, size_t size);

/* --- padding: other numbers in hidden places change no result. Returns 1 when the case hides nothing --- */
int ops_check_hidden(OpsContext *c, const OpsCase *k, uint64_t seed, char *problem, size_t size);

/* --- (c) seconds of one forward and backward, the best of several rounds; bytes: of all tensors --- */
double ops_seconds(OpsContext *c, const OpsCase *k, double budget, double *bytes);

/* --- a context with its workspace --- */
int ops_context_open(OpsContext *c, const Ops *ops, Device *d, Stream *s, int threads, Err *err);
void ops_context_close(OpsContext *c);

#endif
