/* preprocess.c - see preprocess.h. Makes the tables and calls the host or the CUDA implementation. */
#include "pipeline/preprocess.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "device/cuda_library.h"
#include "device/sim.h"
#include "pipeline/policy.h"
#include "pipeline/preprocess_math.h"
#include "pipeline/preprocess_private.h"
#include "pipeline/sampler.h"

struct Preprocess {
    Device *device;
    PreprocessHost host;
    MelPlan *plan;
    float *mean, *deviation;       /* [bands] */
    const PreprocessCudaOps *cuda; /* NULL on host and sim */
    void *cuda_state, *cuda_memory;
    uint64_t cuda_bytes;
};

_Static_assert(sizeof(PreprocessTask) <= DEVICE_ARG_BYTES, "the kernel's argument does not fit");

/* In float, as the GPU has them. */
static int fill_statistics(Preprocess *p, int bands, const double *mean, const double *deviation)
{
    p->mean = mem_calloc((size_t)bands, sizeof *p->mean);
    p->deviation = mem_calloc((size_t)bands, sizeof *p->deviation);
    if (!p->mean || !p->deviation)
        return ERR_NOMEM;
    normaliser_statistics(p->mean, p->deviation, mean, deviation, bands);
    return 0;
}

/* Samples of the longest clip there can be after a change of speed; the sampler stretches its frames in the
 * same way. */
static int64_t most_samples(const Config *cfg)
{
    int64_t frames = policy_stretched_frames(cfg->max_mel_frames, cfg->augment_speed, 1);
    return (frames + 1 + SAMPLER_FRAME_MULTIPLE) * cfg->hop_length;
}

/* Room for a changed clip, where changes are asked for. */
static int open_host(Preprocess *p, const Config *cfg, Err *err)
{
    PreprocessHost *h = &p->host;
    h->plan = p->plan;
    int rc = mel_scratch_open(&h->scratch, p->plan, err);
    if (rc || !h->changes_samples)
        return rc;
    h->samples_cap = most_samples(cfg);
    h->samples = mem_calloc((size_t)h->samples_cap, sizeof *h->samples);
    return h->samples ? 0
                      : err_set(err, ERR_NOMEM, "no memory for clips of up to %lld samples",
                                (long long)h->samples_cap);
}

/* The kernels are in the CUDA part; its tables go into memory that counts against the cap. */
static int open_cuda(Preprocess *p, Err *err)
{
    PreprocessCudaGet get;
    *(void **)&get = cuda_library_symbol(p->device, PREPROCESS_CUDA_SYMBOL, err);
    if (!get)
        return ERR_DEVICE;
    p->cuda = get();
    p->cuda_bytes = p->cuda->bytes(&p->host.tables);
    int rc = device_alloc(p->device, &p->cuda_memory, p->cuda_bytes, err);
    return rc ? rc : p->cuda->open(&p->cuda_state, &p->host.tables, p->device->index, p->cuda_memory, err);
}

/* *out is NULL after a failure. */
int preprocess_open(Preprocess **out, Device *d, const Config *cfg, const double *mean,
                    const double *deviation, Err *err)
{
    *out = NULL;
    Preprocess *p = mem_calloc(1, sizeof *p);
    if (!p)
        return err_set(err, ERR_NOMEM, "no memory for the preprocessing");
    p->device = d;
    int rc = mel_plan_open(&p->plan, cfg, err);
    if (!rc && fill_statistics(p, cfg->n_mels, mean, deviation))
        rc = err_set(err, ERR_NOMEM, "no memory for the preprocessing");
    if (!rc) {
        p->host.tables = (PreprocessTables){.mel = mel_tables(p->plan),
                                            .mean = p->mean,
                                            .deviation = p->deviation,
                                            .bands = cfg->n_mels,
                                            .max_rows = cfg->batch_size};
        augmentations_on(p->host.tables.on, cfg);
        p->host.changes_samples = augmentation_of_recordings(cfg) != NULL;
        rc = d->traits.library_kernels ? open_cuda(p, err) : open_host(p, cfg, err);
    }
    if (rc) {
        preprocess_close(p);
        return rc;
    }
    *out = p;
    return 0;
}

void preprocess_close(Preprocess *p)
{
    if (!p)
        return;
    if (p->cuda_state)
        p->cuda->close(p->cuda_state);
    device_free(p->device, p->cuda_memory, p->cuda_bytes);
    mel_scratch_close(p->host.scratch);
    free(p->host.samples);
    mel_plan_close(p->plan);
    free(p->mean);
    free(p->deviation);
    free(p);
}

uint64_t preprocess_bytes(const Preprocess *p) { return p->cuda_memory ? p->cuda_bytes : 0; }

/* One call for the whole batch; enqueued, not waited for. */
int preprocess_run(Preprocess *p, Stream *s, const PreprocessArgs *args, Err *err)
{
    const PreprocessTables *t = &p->host.tables;
    ASSERT_CMP(args->bands, ==, t->bands);
    ASSERT_CMP(args->rows, <=, t->max_rows);
    ASSERT(args->mel_bytes == 2 || args->mel_bytes == 4);
    ASSERT(!args->keeps_samples || args->samples > 0);
    if (p->cuda)
        return p->cuda->run(p->cuda_state, p->device->ops->stream_native(s), args, err);
    if (args->samples > 0 && p->host.changes_samples &&
        (int64_t)args->frames * t->mel->hop > p->host.samples_cap)
        return err_set(err, ERR_CONFIG, "a batch of %d frames exceeds max_mel_frames", args->frames);
    PreprocessTask task = {.host = &p->host, .args = *args};
    return p->device->ops->run(s, preprocess_host_kernel, &task, sizeof task, STAGE_PREPROCESS, err);
}

/* For the loader's workers, which do one row each. */
void preprocess_row(Preprocess *p, const PreprocessArgs *args, int row, const void *stored)
{
    ASSERT_CMP(args->bands, ==, p->host.tables.bands);
    ASSERT(!p->cuda && args->out != NULL);
    ASSERT(!args->keeps_samples || (args->samples > 0 && !stored));
    PreprocessTask task = {.host = &p->host, .args = *args};
    preprocess_host_row(&task, row, stored);
}
