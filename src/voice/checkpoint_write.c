/* snapshot.c - the content of a checkpoint: what is written. */
#include "voice/checkpoint.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audio/normaliser.h"
#include "base/mem.h"
#include "cache/half.h"
#include "text/tokens.h"

#define CLIPS_OF_ONE 4    /* clips kept of each speaker */
#define CLIPS_IN_ALL 64   /* beyond that one of each */
#define SPEAKERS_KEPT 256 /* that have clips at all */
#define CLIP_FRAMES 256

int corpus_mel(float *out, const Corpus *corpus, uint32_t item, int most, Err *err)
{
    StoreEntry e;
    MelView v;
    store_entry(&corpus->mel, corpus->items[item].mel_entry, &e);
    if (!store_entry_whole(&corpus->mel, corpus->items[item].mel_entry) || mel_view(&v, &e))
        return err_set(err, ERR_DAMAGED, "the mel of %.*s in the cache is damaged", (int)e.id_size, e.id);
    int frames = (int)v.frames < most ? (int)v.frames : most;
    size_t n = (size_t)frames * v.bands;
    if (v.storage == STORE_FLOAT16)
        half_to_float(out, v.data, n);
    else
        memcpy(out, v.data, n * sizeof *out);
    float *statistics = mem_calloc(2 * (size_t)v.bands, sizeof *statistics);
    if (!statistics)
        return err_set(err, ERR_NOMEM, "no memory for the statistics of %u bands", v.bands);
    normaliser_statistics(statistics, statistics + v.bands, corpus->mean, corpus->deviation, (int)v.bands);
    normaliser_mel(out, out, statistics, statistics + v.bands, frames, (int)v.bands);
    free(statistics);
    return frames;
}

int voice_clips_open(VoiceClips *v, const Corpus *corpus, Err *err)
{
    int speakers = corpus->speaker_count < SPEAKERS_KEPT ? corpus->speaker_count : SPEAKERS_KEPT;
    int each = speakers * CLIPS_OF_ONE <= CLIPS_IN_ALL ? CLIPS_OF_ONE : 1;
    *v = (VoiceClips){.frames = CLIP_FRAMES, .bands = (int)corpus->statistics.bands};
    size_t most = (size_t)(speakers * each);
    v->mel = mem_calloc(most * CLIP_FRAMES * (size_t)v->bands, sizeof *v->mel);
    v->length = mem_calloc(most, sizeof *v->length);
    v->speaker = mem_calloc(most, sizeof *v->speaker);
    if (!v->mel || !v->length || !v->speaker) {
        voice_clips_close(v);
        return err_set(err, ERR_NOMEM, "no memory for clips of %d speakers", speakers);
    }
    for (int s = 0; s < speakers; s++) {
        int64_t own = 0, seen = 0, taken = 0;
        for (uint32_t i = 0; i < corpus->count; i++)
            own += corpus->items[i].speaker == s;
        for (uint32_t i = 0; i < corpus->count && taken < each; i++) { /* spread over the speaker's clips */
            if (corpus->items[i].speaker != s)
                continue;
            if (seen++ * each < taken * own)
                continue;
            Err skipped = {0}; /* a damaged record is left out here; the loader reports it */
            int frames = corpus_mel(v->mel + (size_t)v->count * CLIP_FRAMES * (size_t)v->bands, corpus, i,
                                    CLIP_FRAMES, &skipped);
            if (frames <= 0)
                continue;
            v->length[v->count] = frames, v->speaker[v->count] = s;
            v->count++, taken++;
        }
    }
    return 0;
}

void voice_clips_close(VoiceClips *v)
{
    free(v->mel), free(v->length), free(v->speaker);
    memset(v, 0, sizeof *v);
}

/* All settings as JSON, which is YAML too: {"model": {...}, "data": {...}, "training": {...}}. */
static char *config_json(const Config *cfg)
{
    json_t *all = json_object();
    for (int i = 0; i < config_row_count(); i++) {
        ConfigRow row;
        if (config_row(cfg, i, &row))
            continue;
        json_t *section = json_object_get(all, row.section), *value = NULL;
        if (!section)
            json_object_set_new(all, row.section, section = json_object());
        switch (row.kind) {
        case KIND_BOOL:
            value = json_boolean(row.integer);
            break;
        case KIND_INT:
            value = json_integer(row.integer);
            break;
        case KIND_FLOAT:
            value = json_real(row.number);
            break;
        case KIND_STRING:
            value = json_string(row.string);
            break;
        case KIND_LIST:
            value = json_array();
            for (int k = 0; k < row.list->count; k++)
                json_array_append_new(value, json_string(row.list->items[k]));
            break;
        }
        json_object_set_new(section, row.key, value ? value : json_string(""));
    }
    char *text = json_dumps(all, JSON_REAL_PRECISION(17));
    json_decref(all);
    return text;
}

static char *speakers_json(const Corpus *corpus)
{
    json_t *all = json_array();
    for (int i = 0; i < corpus->speaker_count; i++) {
        json_t *name = json_stringn(corpus->speakers[i].p, corpus->speakers[i].n);
        json_array_append_new(all, name ? name : json_string(""));
    }
    char *text = json_dumps(all, 0);
    json_decref(all);
    return text;
}

static char *symbols_json(void)
{
    json_t *all = json_array();
    for (int i = 0; i < tokens_count(); i++)
        json_array_append_new(all, json_integer(tokens_code_point(i)));
    json_t *o = json_pack("{s:i, s:o}", "version", TOKENS_VERSION, "code_points", all);
    char *text = json_dumps(o, 0);
    json_decref(o);
    return text;
}

/* The longest text and clip that the network learns from. */
static char *longest_json(const Corpus *c)
{
    uint32_t text = 0, frames = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        text = c->lengths[i].tokens > text ? c->lengths[i].tokens : text;
        frames = c->lengths[i].frames > frames ? c->lengths[i].frames : frames;
    }
    json_t *o = json_pack("{s:i, s:i}", "text", (int)text, "frames", (int)frames);
    char *out = json_dumps(o, 0);
    json_decref(o);
    return out;
}

static void tensor(Snapshot *s, const char *name, const char *dtype, const void *data, uint64_t bytes,
                   int dims, int64_t a, int64_t b, int64_t c)
{
    s->tensors[s->tensor_count++] = (TensorView){name, dtype, dims, {a, b, c, 1}, data, bytes};
}

static int add_params(Snapshot *s, Err *err)
{
    const ParamList *l = &s->m->params;
    const struct {
        const char *prefix;
        const float *flat;
    } groups[] = {{"", s->masters}, {"adam.m.", s->moments1}, {"adam.v.", s->moments2}};
    for (int g = 0; g < 3; g++)
        for (int i = 0; i < l->count; i++) {
            const Param *p = &l->items[i];
            char name[80];
            snprintf(name, sizeof name, "%s%s", groups[g].prefix, p->name);
            char *copy = strdup(name);
            if (!copy)
                return err_set(err, ERR_NOMEM, "no memory for the names in a checkpoint");
            tensor(s, copy, "F32", groups[g].flat + p->offset, (uint64_t)p->count * sizeof(float), p->dims,
                   p->shape[0], p->shape[1], p->shape[2]);
        }
    return 0;
}

static void add_rest(Snapshot *s, const VoiceClips *clips, int bands)
{
    static const char *const fixed[] = {"format", "config",  "symbols", "speakers",
                                        "pitch",  "longest", "step"};
    const char *values[] = {CHECKPOINT_FORMAT, s->config,  s->symbols,  s->speakers,
                            s->pitch,          s->longest, s->step_text};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        s->meta[s->meta_count++] = (MetaEntry){fixed[i], values[i]};
    tensor(s, strdup("mel.mean"), "F32", s->mean, (uint64_t)bands * 4, 1, bands, 1, 1);
    tensor(s, strdup("mel.deviation"), "F32", s->deviation, (uint64_t)bands * 4, 1, bands, 1, 1);
    tensor(s, strdup("train.state"), "I64", s->state, sizeof s->state, 1, CHECKPOINT_STATE, 1, 1);
    tensor(s, strdup("train.best"), "F64", &s->best, sizeof s->best, 1, 1, 1, 1);
    tensor(s, strdup("train.guard"), "U8", &s->guard, sizeof s->guard, 1, (int64_t)sizeof s->guard, 1, 1);
    if (clips->count) {
        int64_t n = clips->count, each = (int64_t)clips->frames * clips->bands;
        tensor(s, strdup("voice_clips.mel"), "F32", clips->mel, (uint64_t)(n * each) * 4, 3, n, clips->frames,
               clips->bands);
        tensor(s, strdup("voice_clips.length"), "I32", clips->length, (uint64_t)n * 4, 1, n, 1, 1);
        tensor(s, strdup("voice_clips.speaker"), "I32", clips->speaker, (uint64_t)n * 4, 1, n, 1, 1);
    }
}

int snapshot_open(Snapshot *s, const Model *m, const Config *cfg, const Corpus *corpus,
                  const VoiceClips *clips, Device *device, Err *err)
{
    const int bands = cfg->n_mels;
    const size_t n = (size_t)m->params.size;
    memset(s, 0, sizeof *s);
    s->m = m, s->device = device, s->bytes = 3 * n * sizeof(float);
    int rc = device->ops->pinned_alloc(device, &s->memory, s->bytes, err);
    if (rc)
        return rc;
    s->masters = s->memory, s->moments1 = s->masters + n, s->moments2 = s->moments1 + n;
    s->tensors = mem_calloc((size_t)m->params.count * 3 + 8, sizeof *s->tensors);
    s->meta = mem_calloc(8, sizeof *s->meta);
    s->mean = mem_calloc((size_t)bands * 2, sizeof *s->mean);
    s->config = config_json(cfg), s->speakers = speakers_json(corpus), s->symbols = symbols_json();
    json_t *pitch = json_pack("{s:f, s:f}", "mean", corpus->statistics.pitch_mean, "deviation",
                              corpus->statistics.pitch_deviation);
    s->pitch = json_dumps(pitch, JSON_REAL_PRECISION(17));
    json_decref(pitch);
    s->longest = longest_json(corpus);
    if (!s->tensors || !s->meta || !s->mean || !s->config || !s->speakers || !s->symbols || !s->pitch ||
        !s->longest)
        return err_set(err, ERR_NOMEM, "no memory for checkpoints of %lld parameters",
                       (long long)m->params.numbers);
    s->deviation = s->mean + bands;
    normaliser_statistics(s->mean, s->deviation, corpus->mean, corpus->deviation, bands);
    if ((rc = add_params(s, err)))
        return rc;
    add_rest(s, clips, bands);
    return 0;
}

void snapshot_close(Snapshot *s)
{
    for (int i = 0; i < s->tensor_count; i++)
        free((void *)(uintptr_t)s->tensors[i].name);
    if (s->memory)
        s->device->ops->pinned_free(s->device, s->memory);
    free(s->tensors), free(s->meta), free(s->mean);
    free(s->config), free(s->speakers), free(s->symbols), free(s->pitch), free(s->longest);
    memset(s, 0, sizeof *s);
}

void snapshot_set(Snapshot *s, const TrainState *t)
{
    const int64_t state[CHECKPOINT_STATE] = {
        t->step, t->data.epoch, t->data.index, (int64_t)t->data.seed, t->best_step, t->stale, t->total};
    memcpy(s->state, state, sizeof state);
    s->best = t->best_loss;
    s->guard = t->guard;
    snprintf(s->step_text, sizeof s->step_text, "%lld", (long long)t->step);
}
