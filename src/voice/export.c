/* export.c - see export.h. */
#include "voice/export.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bf16.h"
#include "base/check.h"
#include "base/mem.h"
#include "text/phonemes/tokens.h"
#include "voice/checkpoint_fields.h"

enum { NETWORKS = 2, CREDITS = 3 };

/* What the file is made of, until it is written. */
typedef struct Export {
    const ExportOptions *o;
    TensorView *tensors; /* [room] */
    char (*names)[CHECKPOINT_NAME_SIZE];
    int count, room;
    MetaEntry *meta; /* [meta_room] */
    char (*keys)[CHECKPOINT_NAME_SIZE];
    int meta_count, meta_room;
    Model networks[NETWORKS];
    void *numbers[NETWORKS]; /* the weights of each as the file has them */
    char *settings[NETWORKS];
    VoiceClips clips; /* those that are kept, where not all are */
} Export;

/* --- metadata --- */

/* The location of the data is private, and meaningless on another machine. */
static const char *const places[] = {"data_path",
                                     "cache_dir",
                                     "metadata_train_file",
                                     "metadata_eval_file",
                                     "wavs_train_dir",
                                     "wavs_eval_dir",
                                     "checkpoint_dir",
                                     "resume",
                                     "init_from",
                                     "from_voice",
                                     "sim"};

/* The settings of a checkpoint without those. NULL without memory. */
static char *settings_without_places(const char *text)
{
    json_t *all = json_loads(text, 0, NULL), *section;
    const char *name;
    json_object_foreach(all, name, section)
    {
        for (size_t i = 0; i < sizeof places / sizeof *places; i++)
            json_object_del(section, places[i]);
    }
    char *out = all ? json_dumps(all, JSON_REAL_PRECISION(17)) : NULL;
    json_decref(all);
    return out;
}

static void add_entry(Export *e, const char *prefix, const char *key, const char *value)
{
    ASSERT_CMP(e->meta_count, <, e->meta_room);
    char *name = e->keys[e->meta_count];
    snprintf(name, sizeof *e->keys, "%s%s", prefix, key);
    e->meta[e->meta_count++] = (MetaEntry){name, value};
}

/* All that a checkpoint says of itself. */
static int add_entries(Export *e, int which, const Checkpoint *c, const char *prefix, Err *err)
{
    for (int i = 0; i < checkpoint_entry_count(); i++) {
        const char *key = checkpoint_entry(i)->key, *value = checkpoint_text(c, key);
        if (strcmp(key, "known") == 0) /* its texts are private too */
            continue;
        if (value && strcmp(key, "config") == 0) {
            e->settings[which] = settings_without_places(value);
            value = e->settings[which];
            if (!value)
                return err_set(err, ERR_NOMEM, "no memory for the settings of %s", c->path);
        }
        if (strcmp(key, "lexicon") == 0 && *c->cfg.lexicon_text) /* that of the command line too */
            value = c->cfg.lexicon_text;
        if (value)
            add_entry(e, prefix, key, value);
    }
    return 0;
}

static void add_credits(Export *e)
{
    const Credits *c = &e->o->credits;
    add_entry(e, "", EXPORT_LICENCE, c->licence);
    add_entry(e, "", EXPORT_SOURCE, c->source);
    if (c->note)
        add_entry(e, "", EXPORT_NOTE, c->note);
}

/* --- tensors --- */

static void add_tensor(Export *e, const char *prefix, const char *name, const TensorView *t)
{
    ASSERT_CMP(e->count, <, e->room);
    char *whole = e->names[e->count];
    snprintf(whole, sizeof *e->names, "%s%s", prefix, name);
    e->tensors[e->count] = *t;
    e->tensors[e->count++].name = whole;
}

/* The numbers of a network, checked, in the precision that is asked for. */
static int take_numbers(Export *e, int which, const Checkpoint *c, Err *err)
{
    const Model *m = &e->networks[which];
    const size_t n = (size_t)m->params.size;
    float *flat = mem_calloc(n, sizeof *flat);
    e->numbers[which] = flat;
    int rc = flat ? checkpoint_params(c, m, CHECKPOINT_WEIGHTS, flat, err)
                  : err_set(err, ERR_NOMEM, "no memory for %lld parameters", (long long)m->params.numbers);
    if (rc || !e->o->bf16)
        return rc;
    uint16_t *rounded = mem_calloc(n, sizeof *rounded);
    if (!rounded)
        return err_set(err, ERR_NOMEM, "no memory for %lld parameters", (long long)m->params.numbers);
    for (size_t i = 0; i < n; i++)
        rounded[i] = bf16_from_float(flat[i]);
    free(flat);
    e->numbers[which] = rounded;
    return 0;
}

/* Under their own names: those of a vocoder are not parameters of a voice. */
static void add_params(Export *e, int which)
{
    const ParamList *l = &e->networks[which].params;
    const size_t size = e->o->bf16 ? sizeof(uint16_t) : sizeof(float);
    for (int i = 0; i < l->count; i++) {
        const Param *p = &l->items[i];
        add_tensor(e, "", p->name,
                   &(TensorView){.dtype = e->o->bf16 ? "BF16" : "F32",
                                 .dims = p->dims,
                                 .shape = {p->shape[0], p->shape[1], p->shape[2], 1},
                                 .data = (const char *)e->numbers[which] + (size_t)p->offset * size,
                                 .bytes = (uint64_t)p->count * size});
    }
}

/* The first ones of each speaker: a base is not for speaking with their voices, and has to be small. */
static int choose_clips(Export *e, const VoiceClips *all, Err *err)
{
    const size_t each = (size_t)all->frames * (size_t)all->bands;
    float *mel = mem_calloc((size_t)all->count * each + 1, sizeof *mel);
    int32_t *length = mem_calloc((size_t)all->count + 1, sizeof *length),
            *speaker = mem_calloc((size_t)all->count + 1, sizeof *speaker);
    e->clips = (VoiceClips){.frames = all->frames,
                            .bands = all->bands,
                            .mel = mel,
                            .length = length,
                            .speaker = speaker,
                            .memory = {mel, length, speaker}};
    if (!mel || !length || !speaker)
        return err_set(err, ERR_NOMEM, "no memory for the clips of %s", e->o->voice->path);
    for (int i = 0; i < all->count; i++) {
        int before = 0;
        for (int k = 0; k < i; k++)
            before += all->speaker[k] == all->speaker[i];
        if (before >= e->o->clips)
            continue;
        memcpy(mel + (size_t)e->clips.count * each, all->mel + (size_t)i * each, each * sizeof *mel);
        length[e->clips.count] = all->length[i];
        speaker[e->clips.count++] = all->speaker[i];
    }
    return 0;
}

/* A tensor of the clips that are kept; any other stays as it is. */
static TensorView kept_tensor(const Export *e, const TensorView *t)
{
    const struct {
        const char *name;
        const void *data;
    } kept[] = {{"voice_clips.mel", e->clips.mel},
                {"voice_clips.length", e->clips.length},
                {"voice_clips.speaker", e->clips.speaker}};
    TensorView out = *t;
    for (size_t i = 0; e->clips.count && i < sizeof kept / sizeof *kept; i++)
        if (strcmp(t->name, kept[i].name) == 0) {
            out.data = kept[i].data;
            out.bytes = t->bytes / (uint64_t)t->shape[0] * (uint64_t)e->clips.count;
            out.shape[0] = e->clips.count;
        }
    return out;
}

/* What speaking needs besides the weights. A vocoder has no use for clips of voices. */
static void add_fields(Export *e, const Checkpoint *c, const char *prefix)
{
    const int is_voice = c->cfg.network == NETWORK_VOICE;
    for (int i = 0; i < checkpoint_field_count(); i += checkpoint_field_rows(i)) {
        const CheckpointField *f = checkpoint_field(i);
        const TensorView *t = checkpoint_tensor(c, f->tensor);
        if (t && (f->need == NEED_ALWAYS || (f->need == NEED_OPTIONAL && is_voice))) {
            const TensorView kept = kept_tensor(e, t);
            add_tensor(e, prefix, f->tensor, &kept);
        }
    }
}

/* --- the file --- */

static int add_network(Export *e, int which, const Checkpoint *c, const char *prefix, Err *err)
{
    int rc = take_numbers(e, which, c, err);
    if (!rc)
        rc = add_entries(e, which, c, prefix, err);
    if (rc)
        return rc;
    add_params(e, which);
    add_fields(e, c, prefix);
    return 0;
}

/* Room for both networks' tensors and entries. */
static int take_room(Export *e, Err *err)
{
    const Checkpoint *const files[NETWORKS] = {e->o->voice, e->o->vocoder};
    e->meta_room = NETWORKS * checkpoint_entry_count() + CREDITS;
    for (int i = 0; i < NETWORKS && files[i]; i++) {
        Config finished = files[i]->cfg;
        finished.critic_dim = finished.vocoder_critic_dim = 0; /* critics are a part of the training */
        int rc = model_open(&e->networks[i], &finished, tokens_count(), files[i]->language_input, err);
        if (rc)
            return rc;
        e->room += e->networks[i].params.count + checkpoint_field_count();
    }
    e->tensors = mem_calloc((size_t)e->room, sizeof *e->tensors);
    e->names = mem_calloc((size_t)e->room, sizeof *e->names);
    e->meta = mem_calloc((size_t)e->meta_room, sizeof *e->meta);
    e->keys = mem_calloc((size_t)e->meta_room, sizeof *e->keys);
    if (!e->tensors || !e->names || !e->meta || !e->keys)
        return err_set(err, ERR_NOMEM, "no memory to export %s", e->o->voice->path);
    return 0;
}

static void export_close(Export *e)
{
    for (int i = 0; i < NETWORKS; i++) {
        model_close(&e->networks[i]);
        free(e->numbers[i]);
        free(e->settings[i]);
    }
    voice_clips_close(&e->clips);
    free(e->tensors);
    free(e->names);
    free(e->meta);
    free(e->keys);
}

int export_write(Exported *out, const ExportOptions *o, Err *err)
{
    Export e = {.o = o};
    struct stat st = {0};
    *out = (Exported){0};
    int rc = take_room(&e, err);
    if (!rc && o->clips && o->voice->content.clips.count)
        rc = choose_clips(&e, &o->voice->content.clips, err);
    if (!rc)
        rc = add_network(&e, 0, o->voice, "", err);
    if (!rc && o->vocoder)
        rc = add_network(&e, 1, o->vocoder, CHECKPOINT_VOCODER, err);
    if (!rc) {
        add_credits(&e);
        rc = safetensors_write(o->output, e.meta, e.meta_count, e.tensors, e.count, err);
    }
    if (!rc && stat(o->output, &st))
        rc = err_set_errno(err, ERR_IO, "cannot look at %s", o->output);
    *out = (Exported){e.networks[0].params.numbers, e.networks[1].params.numbers, (uint64_t)st.st_size};
    export_close(&e);
    return rc;
}
