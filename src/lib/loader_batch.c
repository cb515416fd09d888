/* loader_batch.c - what is in a batch: arrays, ids, tensors for others (DLPack). */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "lib/loader_private.h"

/* ---- arrays ---- */

/* Where an array begins, what it holds, and how many values a row has: [count, text], [count, frames],
 * [count, frames, bands] or [count, samples]. */
typedef enum { PER_ROW, PER_TOKEN, PER_FRAME, PER_BAND, PER_SAMPLE } Extent;

typedef struct ArrayKind {
    const char *name;
    size_t offset; /* of the BatchLayout */
    myxtts_type type;
    Extent extent;
} ArrayKind;

#define AT(field) offsetof(BatchLayout, field)

static const ArrayKind of_voice[] = {
    {"tokens", AT(tokens), MYXTTS_INT32, PER_TOKEN},
    {"token_length", AT(text_length), MYXTTS_INT32, PER_ROW},
    {"mel", AT(mel), MYXTTS_FLOAT32, PER_BAND},
    {"mel_length", AT(mel_length), MYXTTS_INT32, PER_ROW},
    {"pitch", AT(pitch), MYXTTS_FLOAT32, PER_FRAME},
    {"speaker", AT(speaker), MYXTTS_INT32, PER_ROW},
    {"utterance", AT(utterance), MYXTTS_INT32, PER_ROW},
    {"reference", AT(reference), MYXTTS_INT32, PER_ROW},
    {"language", AT(language), MYXTTS_INT32, PER_ROW},
};
static const ArrayKind of_vocoder[] = {
    {"mel", AT(mel), MYXTTS_FLOAT32, PER_BAND},
    {"samples", AT(samples), MYXTTS_FLOAT32, PER_SAMPLE},
    {"speaker", AT(speaker), MYXTTS_INT32, PER_ROW},
    {"utterance", AT(utterance), MYXTTS_INT32, PER_ROW},
};
enum {
    VOICE_ARRAYS = sizeof of_voice / sizeof *of_voice,
    VOCODER_ARRAYS = sizeof of_vocoder / sizeof *of_vocoder
};

static int has_segments(const myxtts_batch *b) { return b->run->loader->corpus.segment_frames > 0; }

int myxtts_batch_arrays(const myxtts_batch *b)
{
    return !b ? 0 : has_segments(b) ? VOCODER_ARRAYS : VOICE_ARRAYS;
}

/* Rows behind the last utterance are not shown. */
int myxtts_batch_array(const myxtts_batch *b, int i, myxtts_array *a)
{
    if (!a || i < 0 || i >= myxtts_batch_arrays(b))
        return MYXTTS_ERROR_MISSING;
    const ArrayKind *k = has_segments(b) ? &of_vocoder[i] : &of_voice[i];
    const Config *cfg = &b->run->loader->cfg;
    const BatchInfo *info = &b->batch.info;
    size_t at;
    memcpy(&at, (const char *)&b->batch.layout + k->offset, sizeof at);
    *a = (myxtts_array){.name = k->name,
                        .data = (void *)(uintptr_t)(b->batch.memory + at),
                        .type = k->type,
                        .dimensions = k->extent == PER_ROW    ? 1
                                      : k->extent == PER_BAND ? 3
                                                              : 2,
                        .shape = {info->count}};
    if (k->extent == PER_TOKEN)
        a->shape[1] = info->text;
    else if (k->extent == PER_FRAME || k->extent == PER_BAND)
        a->shape[1] = info->frames;
    else if (k->extent == PER_SAMPLE)
        a->shape[1] = batch_kept_samples(&(BatchShape){.hop = batch_hop(cfg)}, info->frames);
    if (k->extent == PER_BAND)
        a->shape[2] = cfg->n_mels;
    return 0;
}

int64_t myxtts_batch_epoch(const myxtts_batch *b) { return b ? b->epoch : 0; }
int64_t myxtts_batch_index(const myxtts_batch *b) { return b ? b->index : 0; }

const char *myxtts_batch_id(const myxtts_batch *b, int row, size_t *bytes)
{
    if (bytes)
        *bytes = 0;
    if (!b || !bytes || row < 0 || row >= b->batch.info.count)
        return NULL;
    const Corpus *c = &b->run->loader->corpus;
    const Utterance *u = &c->dataset.utterances[c->items[b->batch.items[row]].utterance];
    *bytes = u->id.n;
    return u->id.p;
}

/* ---- DLPack ---- */

/* https://dmlc.github.io/dlpack/latest/c_api.html, the structures without a version. */
typedef struct DLTensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides; /* strides NULL: without gaps */
    uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
    DLTensor tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

enum { DL_CPU = 1, DL_CUDA = 2, DL_INT = 0, DL_FLOAT = 2 };

typedef struct Tensor {
    DLManagedTensor managed;
    int64_t shape[4];
} Tensor;

static void delete_tensor(DLManagedTensor *self)
{
    myxtts_batch *b = self->manager_ctx;
    free(self);
    myxtts_batch_release(b);
}

void *myxtts_batch_dlpack(myxtts_batch *b, int i)
{
    myxtts_array a;
    if (myxtts_batch_array(b, i, &a))
        return NULL;
    Tensor *t = mem_calloc(1, sizeof *t);
    if (!t)
        return NULL;
    const Device *d = b->run->loader->devices.model;
    const int on_gpu = d->traits.library_kernels;
    memcpy(t->shape, a.shape, sizeof t->shape);
    t->managed = (DLManagedTensor){.tensor = {.data = a.data,
                                              .device = {on_gpu ? DL_CUDA : DL_CPU, on_gpu ? d->index : 0},
                                              .ndim = a.dimensions,
                                              .dtype = {a.type == MYXTTS_FLOAT32 ? DL_FLOAT : DL_INT, 32, 1},
                                              .shape = t->shape},
                                   .manager_ctx = b,
                                   .deleter = delete_tensor};
    __atomic_add_fetch(&b->references, 1, __ATOMIC_RELAXED);
    return &t->managed;
}
