/* preprocess_private.h - shared by preprocess.c, preprocess_host.c and preprocess_cuda.cu. */
#ifndef MYXTTS_PREPROCESS_PRIVATE_H
#define MYXTTS_PREPROCESS_PRIVATE_H

#include "audio/mel_kernel.h"
#include "pipeline/preprocess.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Used on the host and by CUDA. Augmentations that the settings turn off are not read from the batch. */
typedef struct PreprocessTables {
    const MelTables *mel;
    const float *mean, *deviation; /* [bands] as normaliser_statistics makes them */
    int bands, max_rows;
    int on[AUGMENT_SEED]; /* 1: apply it as the row of the batch says */
} PreprocessTables;

/* Host: runs as a kernel of a host or sim stream. */
typedef struct PreprocessHost {
    PreprocessTables tables;
    const MelPlan *plan;
    MelScratch *scratch;
    int changes_samples; /* 1: an augmentation of recordings is on */
    float *samples;      /* [samples_cap] a clip after it; NULL: none is on */
    int64_t samples_cap;
} PreprocessHost;

typedef struct PreprocessTask { /* the argument of the kernel */
    const PreprocessHost *host;
    PreprocessArgs args;
} PreprocessTask;
void preprocess_host_kernel(void *task);
void preprocess_host_row(const PreprocessTask *task, int row, const void *stored);

/* CUDA: a table in libmyxtts_cuda.so. The caller allocates the device memory, so that it counts against the
 * cap. */
#define PREPROCESS_CUDA_SYMBOL "myxtts_cuda_preprocess"
typedef struct PreprocessCudaOps {
    uint64_t (*bytes)(const PreprocessTables *t); /* device memory that it needs */
    int (*open)(void **state, const PreprocessTables *t, int device, void *memory, Err *err);
    int (*run)(void *state, void *native_stream, const PreprocessArgs *args, Err *err);
    void (*close)(void *state);
} PreprocessCudaOps;
typedef const PreprocessCudaOps *(*PreprocessCudaGet)(void);

#ifdef __cplusplus
}
#endif

#endif
