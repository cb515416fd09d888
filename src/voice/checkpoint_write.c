/* checkpoint_write.c - the content of a checkpoint: what is written. The tables of checkpoint_fields.h say
 * what that is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audio/normaliser.h"
#include "base/check.h"
#include "base/mem.h"
#include "voice/checkpoint_fields.h"

/* --- tensors --- */

/* The room was counted from the same tables, so it cannot run out. */
static void add_tensor(Snapshot *s, const TensorView *t)
{
    ASSERT_CMP(s->tensor_count, <, s->tensor_room);
    s->tensors[s->tensor_count] = *t;
    s->tensor_count++;
}

/* Every parameter, then the moments of every parameter. */
static int add_params(Snapshot *s, Err *err)
{
    const ParamList *l = &s->m->params;
    char *name = s->names;
    for (int g = 0; g < CHECKPOINT_GROUPS; g++)
        for (int i = 0; i < l->count; i++) {
            const Param *p = &l->items[i];
            const char *prefix = checkpoint_group((CheckpointGroup)g)->prefix;
            int n = snprintf(name, CHECKPOINT_NAME_SIZE, "%s%s", prefix, p->name);
            if (n >= CHECKPOINT_NAME_SIZE)
                return err_set(err, ERR_DATA, "the name of the tensor %s%s is too long", prefix, p->name);
            add_tensor(s, &(TensorView){.name = name,
                                        .dtype = "F32",
                                        .dims = p->dims,
                                        .shape = {p->shape[0], p->shape[1], p->shape[2], 1},
                                        .data = s->flat[g] + p->offset,
                                        .bytes = (uint64_t)p->count * sizeof(float)});
            name += CHECKPOINT_NAME_SIZE;
        }
    return 0;
}

/* The numbers of `rows` rows as one tensor; snapshot_set fills them in. */
static TensorView packed_tensor(int row, int rows, const uint8_t *at)
{
    const CheckpointField *f = checkpoint_field(row);
    size_t bytes = checkpoint_field_bytes(f, rows);
    int64_t count = strcmp(f->dtype, "U8") == 0 ? (int64_t)bytes : rows;
    return (TensorView){.name = f->tensor,
                        .dtype = f->dtype,
                        .dims = 1,
                        .shape = {count, 1, 1, 1},
                        .data = at,
                        .bytes = bytes};
}

/* An array of the content. All arrays have numbers of 4 bytes. */
static TensorView array_tensor(const Snapshot *s, const CheckpointField *f,
                               const int64_t extents[EXTENT_COUNT])
{
    TensorView t = {.name = f->tensor, .dtype = f->dtype, .shape = {1, 1, 1, 1}, .bytes = 4};
    for (int k = 0; k < 3 && f->shape[k]; k++) {
        t.shape[k] = extents[f->shape[k]];
        t.bytes *= (uint64_t)t.shape[k];
        t.dims++;
    }
    memcpy(&t.data, (const char *)&s->content + f->offset, sizeof t.data);
    return t;
}

/* Arrays without content (no clips were kept) are left out of the file. */
static void add_fields(Snapshot *s, int bands)
{
    const int64_t extents[EXTENT_COUNT] = {[EXTENT_BANDS] = bands,
                                           [EXTENT_CLIPS] = s->content.clips.count,
                                           [EXTENT_FRAMES] = s->content.clips.frames};
    uint8_t *at = s->packed;
    for (int i = 0; i < checkpoint_field_count(); i += checkpoint_field_rows(i)) {
        const CheckpointField *f = checkpoint_field(i);
        TensorView t =
            f->shape[0] ? array_tensor(s, f, extents) : packed_tensor(i, checkpoint_field_rows(i), at);
        if (!f->shape[0])
            at += t.bytes;
        if (t.bytes)
            add_tensor(s, &t);
    }
}

/* Numbers go to where the tensors' views point; nothing is allocated, so it cannot fail. */
void snapshot_set(Snapshot *s, const TrainState *state)
{
    s->content.state = *state;
    uint8_t *at = s->packed;
    for (int i = 0; i < checkpoint_field_count(); i += checkpoint_field_rows(i)) {
        const CheckpointField *f = checkpoint_field(i);
        int rows = checkpoint_field_rows(i);
        if (f->shape[0])
            continue;
        checkpoint_field_pack(f, rows, at, &s->content);
        at += checkpoint_field_bytes(f, rows);
    }
    snprintf(s->step_text, sizeof s->step_text, "%lld", (long long)state->step);
}

/* --- metadata --- */

/* Made once: settings, symbols and speakers do not change in a run. Only the step does. */
static int add_entries(Snapshot *s, const CheckpointSource *source)
{
    for (int i = 0; i < checkpoint_entry_count(); i++) {
        const CheckpointEntry *e = checkpoint_entry(i);
        const char *text = e->write ? e->write(source) : s->step_text;
        if (!text)
            return ERR_NOMEM;
        s->meta[i] = (MetaEntry){e->key, text};
        s->meta_count++;
    }
    return 0;
}

/* --- opening --- */

/* Pinned memory for the flat numbers, and room for what describes them. */
static int take_memory(Snapshot *s, int bands, Err *err)
{
    const ParamList *l = &s->m->params;
    size_t n = (size_t)l->size, bytes;
    if (__builtin_mul_overflow(n, CHECKPOINT_GROUPS * sizeof(float), &bytes))
        return err_set(err, ERR_NOMEM, "no memory for checkpoints of %lld parameters", (long long)l->numbers);
    int rc = s->device->ops->pinned_alloc(s->device, &s->memory, bytes, err);
    if (rc)
        return rc;
    for (int g = 0; g < CHECKPOINT_GROUPS; g++)
        s->flat[g] = (float *)s->memory + (size_t)g * n;
    size_t names = (size_t)l->count * CHECKPOINT_GROUPS;
    s->tensor_room = (int)names + checkpoint_field_count();
    s->names = mem_calloc(names, CHECKPOINT_NAME_SIZE);
    s->tensors = mem_calloc((size_t)s->tensor_room, sizeof *s->tensors);
    s->packed = mem_calloc(1, checkpoint_field_bytes(checkpoint_field(0), checkpoint_field_count()));
    s->meta = mem_calloc((size_t)checkpoint_entry_count(), sizeof *s->meta);
    s->statistics = mem_calloc((size_t)bands, 2 * sizeof *s->statistics);
    if (!s->names || !s->tensors || !s->packed || !s->meta || !s->statistics)
        return err_set(err, ERR_NOMEM, "no memory for checkpoints of %lld parameters", (long long)l->numbers);
    return 0;
}

/* Everything that a checkpoint needs is taken here, so that a full memory is found before the first step. */
int snapshot_open(Snapshot *s, const Model *m, const CheckpointSource *from, const VoiceClips *clips,
                  Device *device, Err *err)
{
    const Corpus *corpus = from->corpus;
    const int bands = from->cfg->n_mels;
    memset(s, 0, sizeof *s);
    s->m = m;
    s->device = device;
    int rc = take_memory(s, bands, err);
    if (rc)
        goto fail;
    float *mean = s->statistics, *deviation = mean + bands;
    if (from->cfg->network == NETWORK_VOCODER)
        for (int i = 0; i < bands; i++) {
            mean[i] = VOCODER_MEL_MEAN;
            deviation[i] = VOCODER_MEL_DEVIATION;
        }
    else
        normaliser_statistics(mean, deviation, corpus->mean, corpus->deviation, bands);
    s->content = (CheckpointContent){.mean = mean, .deviation = deviation, .clips = *clips};
    rc = add_entries(s, from);
    if (rc) {
        err_set(err, rc, "no memory for the settings in a checkpoint");
        goto fail;
    }
    rc = add_params(s, err);
    if (rc)
        goto fail;
    add_fields(s, bands);
    return 0;
fail:
    snapshot_close(s);
    return rc;
}

void snapshot_close(Snapshot *s)
{
    for (int i = 0; i < s->meta_count; i++)
        if (s->meta[i].value != s->step_text)
            free((void *)(uintptr_t)s->meta[i].value);
    if (s->memory)
        s->device->ops->pinned_free(s->device, s->memory);
    free(s->meta);
    free(s->tensors);
    free(s->names);
    free(s->packed);
    free(s->statistics);
    memset(s, 0, sizeof *s);
}
