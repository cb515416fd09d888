/* voice_checkpoint.c - the content of a checkpoint: what is read. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "text/tokens.h"
#include "voice/checkpoint.h"

static int foreign(const Checkpoint *v, Err *err, const char *what)
{
    err_set(err, ERR_FORMAT, "%s is not a checkpoint of myxtts: it has %s", v->path, what);
    return err_hint(err, "checkpoints are written by `myxtts train` into its --checkpoint-dir");
}

/* A tensor of this type with this many numbers, or NULL. */
static const void *numbers(const Checkpoint *v, const char *name, const char *dtype, uint64_t bytes)
{
    const TensorView *t = safetensors_find(&v->file, name);
    return t && strcmp(t->dtype, dtype) == 0 && t->bytes == bytes ? t->data : NULL;
}

static int read_speakers(Checkpoint *v, Err *err)
{
    const char *text = safetensors_meta(&v->file, "speakers");
    json_t *all = text ? json_loads(text, 0, NULL) : NULL;
    size_t n = json_array_size(all);
    v->speakers = mem_calloc(n + 1, sizeof *v->speakers);
    if (!json_is_array(all) || !v->speakers) {
        json_decref(all);
        return foreign(v, err, "no list of speakers");
    }
    for (size_t i = 0; i < n; i++) {
        const char *name = json_string_value(json_array_get(all, i));
        if (!(v->speakers[i] = strdup(name ? name : "")))
            break;
        v->speaker_count++;
    }
    json_decref(all);
    return 0;
}

/* The symbols the network was trained with have to be those of this program. */
static int check_symbols(const Checkpoint *v, Err *err)
{
    const char *text = safetensors_meta(&v->file, "symbols");
    json_t *o = text ? json_loads(text, 0, NULL) : NULL, *points = json_object_get(o, "code_points");
    int same = (int)json_array_size(points) == tokens_count();
    for (int i = 0; same && i < tokens_count(); i++)
        same = json_integer_value(json_array_get(points, (size_t)i)) == (json_int_t)tokens_code_point(i);
    int version = (int)json_integer_value(json_object_get(o, "version"));
    json_decref(o);
    if (same)
        return 0;
    err_set(err, ERR_FORMAT,
            "%s was trained with version %d of the symbol table, this program has version %d", v->path,
            version, TOKENS_VERSION);
    return err_hint(err, "use the program that wrote it, or train again");
}

static void read_clips(Checkpoint *v)
{
    const TensorView *mel = safetensors_find(&v->file, "voice_clips.mel");
    if (!mel || mel->dims != 3 || strcmp(mel->dtype, "F32") != 0 || mel->shape[2] != v->cfg.n_mels ||
        mel->shape[1] > 65535)
        return;
    uint64_t n = (uint64_t)mel->shape[0];
    const int32_t *length = numbers(v, "voice_clips.length", "I32", n * 4),
                  *speaker = numbers(v, "voice_clips.speaker", "I32", n * 4);
    if (!length || !speaker)
        return;
    for (uint64_t i = 0; i < n; i++)
        if (length[i] < 1 || length[i] > mel->shape[1] || speaker[i] < 0 || speaker[i] >= v->speaker_count)
            return;
    v->clips = (VoiceClips){.count = (int)n,
                            .frames = (int)mel->shape[1],
                            .bands = (int)mel->shape[2],
                            .mel = (float *)(uintptr_t)mel->data,
                            .length = (int32_t *)(uintptr_t)length,
                            .speaker = (int32_t *)(uintptr_t)speaker};
}

int checkpoint_same(const char *path, const Config *was, const Config *is, Err *err)
{
    static const char *const keys[] = {"text_encoder_heads",
                                       "audio_encoder_heads",
                                       "decoder_heads",
                                       "gst_num_heads",
                                       "feed_forward_ratio",
                                       "sample_rate",
                                       "n_fft",
                                       "win_length",
                                       "hop_length",
                                       "n_mels",
                                       "mel_fmin",
                                       "mel_fmax",
                                       "use_phonemes",
                                       "add_blank"};
    ConfigRow a, b;
    for (int i = 0; i < config_row_count(); i++)
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            if (config_row(was, i, &a) || strcmp(a.key, keys[k]) != 0 || config_row(is, i, &b) ||
                strcmp(a.value, b.value) == 0)
                continue;
            err_set(err, ERR_CONFIG, "%s was trained with %s %s, which cannot become %s (%s)", path, a.key,
                    a.value, b.value, b.origin);
            return err_hint(err,
                            "leave the setting as it was; a new network begins in another --checkpoint-dir");
        }
    return 0;
}

/* The settings in the file with those of the command line on top. */
static int read_config(Checkpoint *v, const char *text, int argc, char **argv, Err *err)
{
    Config was;
    int rc = config_load_text(&v->cfg, v->path, text, strlen(text), argc, argv, err);
    if (rc)
        return rc;
    v->has_cfg = 1;
    if (!argc)
        return 0;
    if ((rc = config_load_text(&was, v->path, text, strlen(text), 0, NULL, err)) == 0) {
        rc = checkpoint_same(v->path, &was, &v->cfg, err);
        config_close(&was);
    }
    return rc;
}

int checkpoint_open(Checkpoint *v, const char *what, const char *dir, int argc, char **argv, Log *log,
                    Err *err)
{
    memset(v, 0, sizeof *v);
    int rc = checkpoint_find(v->path, what, dir, log, err);
    if (rc || (rc = safetensors_open(&v->file, v->path, err)))
        return rc;
    const char *format = safetensors_meta(&v->file, "format"), *config = safetensors_meta(&v->file, "config");
    if (format && strcmp(format, CHECKPOINT_FORMAT_1) == 0) {
        err_set(err, ERR_FORMAT,
                "%s holds the autoregressive network of an earlier version, which this program does not run",
                v->path);
        return err_hint(err,
                        "train again, into another --checkpoint-dir; a voice that speaks takes minutes now");
    }
    if (!format || strcmp(format, CHECKPOINT_FORMAT) != 0 || !config)
        return foreign(v, err, format ? "another format" : "no mark of one");
    if ((rc = read_config(v, config, argc, argv, err)))
        return rc;
    uint64_t bytes = (uint64_t)v->cfg.n_mels * sizeof(float);
    v->mean = numbers(v, "mel.mean", "F32", bytes);
    v->deviation = numbers(v, "mel.deviation", "F32", bytes);
    if (!v->mean || !v->deviation)
        return foreign(v, err, "no statistics of its mels");
    const int64_t *state = numbers(v, "train.state", "I64", CHECKPOINT_STATE * sizeof(int64_t));
    v->step = state ? state[0] : 0;
    const char *pitch = safetensors_meta(&v->file, "pitch");
    json_t *o = pitch ? json_loads(pitch, 0, NULL) : NULL;
    v->pitch_mean = json_number_value(json_object_get(o, "mean"));
    v->pitch_deviation = json_number_value(json_object_get(o, "deviation"));
    json_decref(o);
    const char *longest = safetensors_meta(&v->file, "longest");
    o = longest ? json_loads(longest, 0, NULL) : NULL;
    v->longest_text = (int)json_integer_value(json_object_get(o, "text"));
    json_decref(o);
    if ((rc = check_symbols(v, err)) || (rc = read_speakers(v, err)))
        return rc;
    read_clips(v);
    return 0;
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

int checkpoint_params(const Checkpoint *v, const Model *m, const char *prefix, float *flat, Err *err)
{
    memset(flat, 0, (size_t)m->params.size * sizeof *flat);
    for (int i = 0; i < m->params.count; i++) {
        const Param *p = &m->params.items[i];
        char name[80];
        snprintf(name, sizeof name, "%s%s", prefix, p->name);
        const TensorView *t = safetensors_find(&v->file, name);
        int same = t && strcmp(t->dtype, "F32") == 0 && t->dims == p->dims;
        for (int k = 0; same && k < p->dims; k++)
            same = t->shape[k] == p->shape[k];
        if (!same) {
            err_set(err, ERR_CONFIG,
                    "%s: %s is %s, but the network of these settings has it with %lld x %lld x %lld numbers",
                    v->path, name, t ? "of another shape" : "not there", (long long)p->shape[0],
                    (long long)p->shape[1], (long long)p->shape[2]);
            return err_hint(err, "keep the sizes of the network as they were; a new network begins in "
                                 "another --checkpoint-dir");
        }
        memcpy(flat + p->offset, t->data, t->bytes);
    }
    return 0;
}

int checkpoint_state(const Checkpoint *v, TrainState *s, Err *err)
{
    const int64_t *state = numbers(v, "train.state", "I64", CHECKPOINT_STATE * sizeof(int64_t));
    const double *best = numbers(v, "train.best", "F64", sizeof(double));
    const void *guard = numbers(v, "train.guard", "U8", sizeof(OpsGuard));
    if (!state || !best || !guard || state[0] < 0 || state[1] < 0 || state[2] < 0)
        return foreign(v, err, "no state of a run to go on from");
    *s = (TrainState){.step = state[0],
                      .data = {.epoch = state[1], .index = state[2], .seed = (uint64_t)state[3]},
                      .best_step = state[4],
                      .best_loss = *best,
                      .stale = state[5],
                      .total = state[6]};
    memcpy(&s->guard, guard, sizeof s->guard);
    return 0;
}
