/* checkpoint_read.c - the content of a checkpoint: what is read. The tables of checkpoint_fields.h say what
 * that is. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bf16.h"
#include "config/bindings.h"
#include "voice/checkpoint_fields.h"
#include "voice/vocoder_file.h"

#define MOST_CLIP_FRAMES 65535
#define FINITE_BLOCK 256 /* numbers looked at in one go */

/* Which settings these are is marked in the option table. */
int checkpoint_same(const char *path, const Config *was, const Config *is, Err *err)
{
    ConfigRow a, b;
    if (was->network != is->network) {
        const int voice = was->network == NETWORK_VOICE;
        err_set(err, ERR_CONFIG, "%s is of a %s, but network is %s", path, voice ? "voice" : "vocoder",
                voice ? "vocoder" : "voice");
        return err_hint(err,
                        voice
                            ? "a voice's vocoder has a folder of its own: --checkpoint-dir %s/" VOCODER_FOLDER
                            : "name another --checkpoint-dir than %s",
                        is->checkpoint_dir);
    }
    if (!config_bound_differs(was, is, was->network == NETWORK_VOCODER ? BOUND_VOCODER : BOUND_CHECKPOINT, &a,
                              &b))
        return 0;
    err_set(err, ERR_CONFIG, "%s was trained with %s %s, which cannot be changed to %s (%s)", path, a.key,
            a.value, b.value, b.origin);
    return err_hint(err, "change the setting back, or start a new network with another --checkpoint-dir");
}

/* --- names --- */

/* A vocoder's parameters have names with this prefix in every file. */
static void name_inside(char out[CHECKPOINT_NAME_SIZE], const Checkpoint *v, const char *name)
{
    const int is_so = strncmp(name, v->inside, strlen(v->inside)) == 0;
    snprintf(out, CHECKPOINT_NAME_SIZE, "%s%s", is_so ? "" : v->inside, name);
}

const TensorView *checkpoint_tensor(const Checkpoint *v, const char *name)
{
    char whole[CHECKPOINT_NAME_SIZE];
    name_inside(whole, v, name);
    return safetensors_find(&v->file, whole);
}

const char *checkpoint_text(const Checkpoint *v, const char *key)
{
    char whole[CHECKPOINT_NAME_SIZE];
    name_inside(whole, v, key);
    return safetensors_meta(&v->file, whole);
}

/* --- tensors --- */

/* NaN weights speak: an activation turns them into zeros, and silence comes out. */
static int check_finite(const Checkpoint *v, const char *name, const void *data, size_t bytes, Err *err)
{
    const float *x = data;
    const size_t n = bytes / sizeof *x;
    for (size_t i = 0; i < n; i += FINITE_BLOCK) {
        size_t end = n - i < FINITE_BLOCK ? n : i + FINITE_BLOCK;
        int bad = 0;
        for (size_t k = i; k < end; k++) /* without a way out in the middle: a vector loop */
            bad |= !(fabsf(x[k]) <= FLT_MAX);
        for (size_t k = i; bad && k < end; k++)
            if (!isfinite(x[k])) {
                err_set(err, ERR_DATA, "%s: number %zu of %s is %g: the weights are damaged", v->path, k,
                        name, (double)x[k]);
                return err_hint(err, "use an earlier checkpoint of the run, or its best.safetensors");
            }
    }
    return 0;
}

/* Numbers of a packed tensor into the members of its rows. 1: taken. */
static int take_packed(Checkpoint *v, const CheckpointField *f, int rows, const TensorView *t)
{
    if (!t || strcmp(t->dtype, f->dtype) != 0)
        return 0;
    int there = checkpoint_field_fit(f, rows, t->bytes);
    checkpoint_field_unpack(f, there, t->data, &v->content);
    return there > 0;
}

/* An array as a view. A length that is not known yet (-1) is set by the first tensor that has it. 1: taken.
 */
static int take_array(Checkpoint *v, const CheckpointField *f, const TensorView *t,
                      int64_t extents[EXTENT_COUNT])
{
    int dims = 0;
    if (!t || strcmp(t->dtype, f->dtype) != 0)
        return 0;
    for (; dims < 3 && f->shape[dims]; dims++) {
        int64_t *extent = &extents[f->shape[dims]];
        int64_t here = dims < t->dims ? t->shape[dims] : -1;
        if (here < 0 || here > INT_MAX)
            return 0;
        if (*extent < 0)
            *extent = here;
        if (here != *extent)
            return 0;
    }
    if (dims != t->dims)
        return 0;
    memcpy((char *)&v->content + f->offset, &t->data, sizeof t->data);
    return 1;
}

/* Clips are of use only when all about them is right; a checkpoint without clips still speaks. */
static int clips_are_whole(const Checkpoint *v, const int64_t extents[EXTENT_COUNT])
{
    const VoiceClips *c = &v->content.clips;
    if (!c->mel || !c->length || !c->speaker || extents[EXTENT_FRAMES] > MOST_CLIP_FRAMES)
        return 0;
    for (int64_t i = 0; i < extents[EXTENT_CLIPS]; i++) {
        if (c->length[i] < 1 || c->length[i] > extents[EXTENT_FRAMES])
            return 0;
        if (c->speaker[i] < 0 || c->speaker[i] >= v->speaker_count)
            return 0;
    }
    return 1;
}

/* Walks the table: what must be there is asked for, what may be missing is noted. */
static int read_tensors(Checkpoint *v, Err *err)
{
    int64_t extents[EXTENT_COUNT] = {-1, -1, -1, -1};
    extents[EXTENT_BANDS] = v->cfg.n_mels;
    v->can_resume = 1;
    for (int i = 0; i < checkpoint_field_count(); i += checkpoint_field_rows(i)) {
        const CheckpointField *f = checkpoint_field(i);
        const TensorView *t = checkpoint_tensor(v, f->tensor);
        int taken =
            f->shape[0] ? take_array(v, f, t, extents) : take_packed(v, f, checkpoint_field_rows(i), t);
        if (taken && f->shape[0] && strcmp(f->dtype, "F32") == 0) {
            int rc = check_finite(v, f->tensor, t->data, t->bytes, err);
            if (rc)
                return rc;
        }
        if (taken || f->need == NEED_OPTIONAL)
            continue;
        if (f->need == NEED_ALWAYS) {
            char what[160];
            snprintf(what, sizeof what, "no valid %s (%s)", f->tensor, f->words);
            return checkpoint_foreign(v, what, err);
        }
        v->can_resume = 0;
    }
    VoiceClips *clips = &v->content.clips;
    if (clips_are_whole(v, extents)) {
        clips->count = (int)extents[EXTENT_CLIPS];
        clips->frames = (int)extents[EXTENT_FRAMES];
        clips->bands = (int)extents[EXTENT_BANDS];
    } else {
        *clips = (VoiceClips){0};
    }
    return 0;
}

/* --- opening --- */

/* First the metadata, whose configuration says how large the tensors must be, then the tensors. */
static int read_content(Checkpoint *v, Err *err)
{
    for (int i = 0; i < checkpoint_entry_count(); i++) {
        const CheckpointEntry *e = checkpoint_entry(i);
        int rc = e->read ? e->read(v, checkpoint_text(v, e->key), err) : 0;
        if (rc)
            return rc;
    }
    return read_tensors(v, err);
}

int checkpoint_open(Checkpoint *v, const char *what, const char *dir, int argc, char **argv, Log *log,
                    Err *err)
{
    memset(v, 0, sizeof *v);
    v->argc = argc;
    v->argv = argv;
    v->inside = "";
    int rc = checkpoint_find(v->path, what, dir, log, err);
    if (!rc)
        rc = safetensors_open(&v->file, v->path, err);
    if (!rc)
        rc = read_content(v, err);
    if (rc)
        checkpoint_close(v);
    return rc;
}

/* The same tables under other names. */
int checkpoint_open_vocoder(Checkpoint *v, const char *path, Err *err)
{
    memset(v, 0, sizeof *v);
    v->inside = CHECKPOINT_VOCODER;
    snprintf(v->path, sizeof v->path, "%s", path);
    int rc = safetensors_open(&v->file, path, err);
    if (!rc && !checkpoint_text(v, "config"))
        rc = err_set(err, ERR_MISSING, "%s has no vocoder", path);
    if (!rc)
        rc = read_content(v, err);
    if (rc)
        checkpoint_close(v);
    return rc;
}

static int check_length(const Checkpoint *v, Err *err)
{
    return file_lost(&v->file.map)
               ? err_set(err, ERR_IO, "%s was cut short while it was read, or its disk failed", v->path)
               : 0;
}

int checkpoint_settle(Checkpoint *v, Err *err)
{
    for (int i = 0; i < checkpoint_field_count(); i += checkpoint_field_rows(i)) {
        const CheckpointField *f = checkpoint_field(i);
        const TensorView *t = f->shape[0] ? checkpoint_tensor(v, f->tensor) : NULL;
        const void **array = (const void **)((char *)&v->content + f->offset);
        if (!t || !t->bytes || *array != t->data)
            continue;
        void *copy = block_alloc(&v->file.block, t->bytes, sizeof(double));
        if (!copy)
            return err_set(err, ERR_NOMEM, "no memory to read %s", v->path);
        memcpy(copy, t->data, t->bytes);
        *array = copy;
    }
    int rc = check_length(v, err);
    return rc ? rc : safetensors_let_go(&v->file, v->path, err);
}

void checkpoint_close(Checkpoint *v)
{
    for (int i = 0; i < v->speaker_count; i++)
        free(v->speakers[i]);
    free(v->speakers);
    if (v->has_cfg)
        config_close(&v->cfg);
    safetensors_close(&v->file);
    memset(v, 0, sizeof *v);
}

/* --- what it is asked for --- */

int checkpoint_check_voice(const Checkpoint *v, Err *err)
{
    if (v->cfg.network == NETWORK_VOICE)
        return 0;
    err_set(err, ERR_FORMAT, "%s is a vocoder, which turns mels into sound but cannot read text", v->path);
    return err_hint(err, "name the voice with --checkpoint, and this file with --vocoder");
}

/* Also the number of dimensions: [4, 1] is not [4]. */
static int same_shape(const TensorView *t, const Param *p)
{
    if ((strcmp(t->dtype, "F32") != 0 && strcmp(t->dtype, "BF16") != 0) || t->dims != p->dims)
        return 0;
    for (int k = 0; k < p->dims; k++)
        if (t->shape[k] != p->shape[k])
            return 0;
    return 1;
}

/* The numbers of a tensor as floats: weights of an exported voice may have two bytes. */
static void widen(float *out, const TensorView *t, int64_t count)
{
    if (strcmp(t->dtype, "F32") == 0) {
        memcpy(out, t->data, t->bytes);
        return;
    }
    const uint16_t *from = t->data;
    for (int64_t i = 0; i < count; i++)
        out[i] = bf16_to_float(from[i]);
}

/* Finished voices, and those of old, have no critics: new ones begin to learn. */
static int is_critic(const Param *p) { return strncmp(p->name, "critic.", 7) == 0; }

static int take_param(const Checkpoint *v, const Param *p, CheckpointGroup group, float *flat, Err *err)
{
    char name[CHECKPOINT_NAME_SIZE];
    snprintf(name, sizeof name, "%s%s", checkpoint_group(group)->prefix, p->name);
    const TensorView *t = checkpoint_tensor(v, name);
    if (!t && is_critic(p))
        return 0;
    if (!t || !same_shape(t, p)) {
        err_set(err, ERR_CONFIG,
                "%s: %s is %s, but with these settings it must have %lld x %lld x %lld numbers", v->path,
                name, t ? "of another shape" : "missing", (long long)p->shape[0], (long long)p->shape[1],
                (long long)p->shape[2]);
        return err_hint(
            err,
            "change the sizes of the network back, or start a new network with another --checkpoint-dir");
    }
    widen(flat + p->offset, t, p->count);
    return check_finite(v, name, flat + p->offset, (size_t)p->count * sizeof *flat, err);
}

/* Gaps between parameters stay zero, as in the memory of the network. */
int checkpoint_params(const Checkpoint *v, const Model *m, CheckpointGroup group, float *flat, Err *err)
{
    int rc = 0;
    memset(flat, 0, (size_t)m->params.size * sizeof *flat);
    for (int i = 0; i < m->params.count && !rc; i++) {
        const Param *p = &m->params.items[i];
        if (group == CHECKPOINT_WEIGHTS && is_critic(p))
            param_initialise(p, flat + p->offset, (uint64_t)m->cfg.seed);
        rc = take_param(v, p, group, flat, err);
    }
    return rc ? rc : check_length(v, err);
}

/* Languages of the file come first in the network's list: their vectors are the first rows of its. */
int checkpoint_first_params(const Checkpoint *v, const Model *m, uint64_t seed, float *flat, Err *err)
{
    int rc = 0;
    params_initialise(&m->params, flat, seed);
    for (int i = 0; i < m->params.count && !rc; i++) {
        Param p = m->params.items[i];
        if (m->languages && p.offset == m->at.languages) {
            p.count = p.count / p.shape[0] * v->language_input;
            p.shape[0] = v->language_input;
        }
        if (p.count)
            rc = take_param(v, &p, CHECKPOINT_WEIGHTS, flat, err);
    }
    return rc ? rc : check_length(v, err);
}

/* A file without a state speaks, but cannot resume; numbers below zero are damage. */
int checkpoint_state(const Checkpoint *v, TrainState *s, Err *err)
{
    const TrainState *state = &v->content.state;
    if (!v->can_resume || state->step < 0 || state->data.epoch < 0 || state->data.index < 0)
        return checkpoint_foreign(v, "no training state to resume from", err);
    *s = *state;
    Choice *c = &s->choice;
    if (!c->lowest_step) {
        c->lowest_step = c->best.step;
        c->lowest_loss = c->best.loss;
    }
    return 0;
}
