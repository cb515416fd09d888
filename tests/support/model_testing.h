/* model_testing.h - a small network on the CPU with a batch of its own, for tests. */
#ifndef MYXTTS_MODEL_TESTING_H
#define MYXTTS_MODEL_TESTING_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "model/model.h"

typedef struct TestModel {
    Config cfg;
    Device *device;
    Stream *stream;
    OpsContext c;
    Model m;
    void *memory, *run_memory, *sums;
    Pass *run;
    ModelInput in;
    int32_t *ints; /* memory of the batch */
    float *floats;
} TestModel;

/* more: options beside small_network; they win over it. A voice tells three languages apart. */
void test_model_open(TestModel *t, const Ops *ops, int threads, int argc, const char *const *more);
/* The network of t->cfg, which is loaded; the rest of t is zero. */
void test_model_open_loaded(TestModel *t, const Ops *ops, int threads, int symbols, int languages);
double test_number(const TestModel *t, const void *p, int64_t i);
void test_set(const TestModel *t, void *p, int64_t i, double value);

/* Random weights of every kind, the ones that begin as 0 or 1 too. */
void test_model_randomise(TestModel *t, uint64_t seed);

/* A batch of B rows of random lengths; the last row is empty, the first full. Row b refers to row (b + 1) %
 * (B - 1); languages take turns. */
void test_model_batch(TestModel *t, int B, int T, int M, uint64_t seed);
/* A batch of a vocoder: noise and the mels of others; row 1 of more than one is empty. */
void test_vocoder_batch(TestModel *t, int B, int M, uint64_t seed);
double test_model_loss(TestModel *t, int training, int backward);
double test_norm(const TestModel *t, const void *p, const Param *w); /* of the parameter's numbers in p */
/* The loss as far as a parameter learns from it. */
typedef double (*TestLoss)(TestModel *t, const Param *p);
/* Holds `each` gradients of every parameter against difference quotients over 2 h. A network in double, its
 * weights and batch set. */
void test_gradients(TestModel *t, int each, double h, TestLoss loss);
/* A backward pass says of every gradient once that it is final (Model.final), and does not change it
 * afterwards. A network in float, its weights and batch set. Returns the number of ranges. */
int test_finals(TestModel *t);
/* The distance of ours from theirs, for each unit of the length of theirs. */
double test_relative(const float *ours, const float *theirs, int64_t n);
void test_model_close(TestModel *t);

#endif
