/* preprocess_testing.h - random batches for the tests of the preprocessing, on the host and on a GPU. */
#ifndef MYXTTS_PREPROCESS_TESTING_H
#define MYXTTS_PREPROCESS_TESTING_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "cache/half.h"
#include "pipeline/batch.h"
#include "pipeline/preprocess.h"

#define POISON 0xA5 /* what memory holds that nobody wrote */

typedef struct TestBatch {
    PreprocessArgs args; /* raw and out point to host memory */
    uint8_t *raw, *out;
    double *mean, *deviation; /* [bands] */
} TestBatch;

Config mel_settings(int n_fft, int win, int hop, int bands);

int32_t *ints(uint8_t *memory, size_t array);
float *floats(uint8_t *memory, size_t array);
void batch_free(TestBatch *b);

/* A clip that has loud and quiet parts and tones, like speech. */
void make_samples(float *x, int64_t n, Rng *rng);

/* The last row is empty, the first is as long as there is room, the others are random; augmentation on every
 * second row. samples 0: cache. With the settings of a vocoder the batch keeps them: then there are
 * (frames - 1) * hop_length. */
void batch_make(TestBatch *b, const Config *cfg, int rows, int text, int frames, int mel_bytes,
                int64_t samples, uint64_t seed);

/* The arrays of two outputs: how many 4-byte values differ. The gaps between them belong to nobody. */
int64_t batch_differences(const PreprocessArgs *a, const uint8_t *x, const uint8_t *y);

#endif
