/* voice.c - a checkpoint that speaks. */
#include "train/voice.h"

#include <stdlib.h>
#include <string.h>

#include "audio/griffin_lim.h"
#include "audio/mel.h"
#include "audio/process.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/thread.h"
#include "ops/ops_open.h"
#include "text/text.h"
#include "text/tokens.h"
#include "train/evaluate.h"

#define PAUSE_SECONDS 0.2 /* between sentences */
#define LONGEST_TEXT 400  /* tokens spoken at once; fewer where max_text_length is less */
#define LONGEST_REFERENCE 1024

struct Voice {
    VoiceOptions o;
    VoiceFile file;
    const Ops *ops;
    OpsContext c;
    Stream *stream;
    Model m;
    void *weights, *workspace;
    uint64_t weight_bytes, workspace_bytes;
    Speaker *speaker;
    SpeakLimits limits;
    GriffinLim *griffin;
    TextEngine *text;
    float *vector; /* [S] */
    int has_vector;
};

static int load_network(Voice *v, Err *err)
{
    Device *d = v->o.device;
    float *flat = NULL;
    int rc = model_open(&v->m, &v->file.cfg, tokens_count(), err);
    if (rc || (rc = d->ops->stream_open(d, &v->stream, "speak", err)))
        return rc;
    if (!(v->ops = ops_table(d, v->file.cfg.mixed_precision, err)))
        return err->code;
    v->c.threads = thread_cores();
    if ((rc = v->ops->open(&v->c, d, v->stream, err)))
        return rc;
    v->weight_bytes = model_bytes(&v->m, v->ops, 0);
    v->workspace_bytes = v->ops->workspace_bytes;
    if ((rc = device_alloc(d, &v->weights, v->weight_bytes, err)) ||
        (v->workspace_bytes && (rc = device_alloc(d, &v->workspace, v->workspace_bytes, err))))
        return rc;
    v->c.workspace = v->workspace, v->c.workspace_bytes = v->workspace_bytes;
    model_attach(&v->m, &v->c, v->weights, 0);
    if (!(flat = mem_aligned(64, (size_t)v->m.params.size, sizeof *flat)))
        return err_set(err, ERR_NOMEM, "no memory for %lld parameters", (long long)v->m.params.numbers);
    if (!(rc = voice_file_params(&v->file, &v->m, "", flat, err)) && !(rc = model_load(&v->m, flat, NULL, NULL, NULL, err)))
        rc = d->ops->stream_wait_idle(v->stream, err);
    free(flat);
    return rc;
}

int voice_open(Voice **out, const VoiceOptions *o, Err *err)
{
    Voice *v = *out = mem_calloc(1, sizeof *v);
    if (!v)
        return err_set(err, ERR_NOMEM, "no memory for a voice");
    v->o = *o;
    int rc = voice_file_open(&v->file, o->checkpoint, o->checkpoint, o->argc, o->argv, o->log, err);
    if (rc || (rc = load_network(v, err)))
        return rc;
    const Config *cfg = &v->file.cfg;
    v->limits = (SpeakLimits){cfg->max_text_length < LONGEST_TEXT ? cfg->max_text_length : LONGEST_TEXT, cfg->max_mel_frames,
                              LONGEST_REFERENCE};
    v->vector = mem_calloc((size_t)cfg->speaker_embedding_dim, sizeof *v->vector);
    if (!v->vector)
        return err_set(err, ERR_NOMEM, "no memory for a voice");
    if ((rc = speaker_open(&v->speaker, &v->m, &v->limits, err)) || (rc = griffin_lim_open(&v->griffin, cfg, err)))
        return rc;
    return text_engine_open(&v->text, cfg, err);
}

void voice_close(Voice *v)
{
    if (!v)
        return;
    Device *d = v->o.device;
    text_engine_close(v->text);
    griffin_lim_close(v->griffin);
    speaker_close(v->speaker);
    if (v->ops)
        v->ops->close(&v->c);
    if (v->stream)
        d->ops->stream_close(v->stream);
    if (v->workspace)
        device_free(d, v->workspace, v->workspace_bytes);
    if (v->weights)
        device_free(d, v->weights, v->weight_bytes);
    model_close(&v->m);
    voice_file_close(&v->file);
    free(v->vector);
    free(v);
}

const VoiceFile *voice_file(const Voice *v) { return &v->file; }

/* --- whose voice --- */

static int no_such_speaker(const Voice *v, const char *name, Err *err)
{
    Buf names = {0};
    for (int i = 0; i < v->file.speaker_count && names.size < 300; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", v->file.speakers[i]);
    err_set(err, ERR_MISSING, "%s has no speaker '%s'", v->file.path, name);
    err_hint(err, "it has %d: %s", v->file.speaker_count, names.data ? names.data : "");
    buf_free(&names);
    return err->code;
}

int voice_of_speaker(Voice *v, const char *name, Err *err)
{
    int found = name || !v->file.clips.count ? -1 : v->file.clips.speaker[0]; /* the first of whom there is a clip */
    for (int i = 0; i < v->file.speaker_count && found < 0; i++)
        if (!name || strcmp(v->file.speakers[i], name) == 0) {
            found = i;
            break;
        }
    if (found < 0)
        return no_such_speaker(v, name ? name : "", err);
    if (!v->m.use_voice)
        return 0;
    int rc = speaker_voice(v->speaker, v->vector, &v->file.clips, found, v->file.cfg.speaker_embedding_dim, err);
    v->has_vector = !rc;
    if (rc == ERR_MISSING)
        err_hint(err, "the checkpoint keeps clips of its first speakers only; give a recording with --reference");
    return rc;
}

int voice_of_recording(Voice *v, const char *path, Err *err)
{
    const Config *cfg = &v->file.cfg;
    FileMap map = {0};
    AudioBuffer audio = {0};
    AudioProcessor *processor = NULL;
    MelPlan *plan = NULL;
    MelScratch *scratch = NULL;
    float *mel = NULL;
    const float *samples;
    int64_t n, frames;
    char detail[256] = "";
    int rc = file_map(&map, path, err);
    if (rc)
        return rc;
    RejectReason why = audio_decode(&audio, map.data, map.size, path, 60, detail, sizeof detail);
    if (!why && !(rc = audio_processor_open(&processor, cfg, err)))
        why = audio_process(processor, &samples, &n, &audio, cfg->trim_silence, cfg->enable_loudness_normalization, detail,
                            sizeof detail);
    if (why) {
        rc =
            err_set(err, ERR_DATA, "%s cannot be used as a reference: %s%s%s", path, reject_text(why), *detail ? ": " : "", detail);
        goto done;
    }
    if (rc || (rc = mel_plan_open(&plan, cfg, err)) || (rc = mel_scratch_open(&scratch, plan, err)))
        goto done;
    frames = mel_frames(plan, n);
    if (n < (int64_t)(cfg->min_audio_length * cfg->sample_rate) || frames <= VOICE_FRAMES) {
        rc = err_set(err, ERR_DATA,
                     "%s cannot be used as a reference: %.3f s of it are no silence; some seconds of speech are needed", path,
                     (double)n / cfg->sample_rate);
        goto done;
    }
    if (!(mel = mem_calloc((size_t)frames * (size_t)cfg->n_mels, sizeof *mel))) {
        rc = err_set(err, ERR_NOMEM, "no memory for the reference %s", path);
        goto done;
    }
    mel_compute(plan, scratch, mel, samples, n);
    for (int64_t i = 0; i < frames * cfg->n_mels; i++)
        mel[i] = (mel[i] - v->file.mean[i % cfg->n_mels]) / v->file.deviation[i % cfg->n_mels];
    rc = speaker_listen(v->speaker, v->vector, mel, (int)(frames < LONGEST_REFERENCE ? frames : LONGEST_REFERENCE), err);
    v->has_vector = !rc;
done:
    free(mel);
    mel_scratch_close(scratch);
    mel_plan_close(plan);
    audio_processor_close(processor);
    audio_buffer_free(&audio);
    file_unmap(&map);
    return rc;
}

/* --- speaking --- */

/* Bytes of the first part of text that ends a sentence (or all of it); a mark counts when a blank or the end follows. */
static size_t sentence_end(const char *p, size_t n)
{
    static const char *const wide[] = {"。", "！", "？", "؟", "۔"};
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '\n')
            return i + 1;
        if (strchr(".!?;", p[i]) && p[i] && (i + 1 == n || p[i + 1] == ' ' || p[i + 1] == '\n'))
            return i + 1;
        for (size_t k = 0; k < sizeof wide / sizeof *wide; k++)
            if (n - i >= strlen(wide[k]) && memcmp(p + i, wide[k], strlen(wide[k])) == 0)
                return i + strlen(wide[k]);
    }
    return n;
}

/* Where to cut a part that is too long: after the comma nearest to the middle, else at the blank nearest to it; 0: nowhere. */
static size_t middle_cut(const char *p, size_t n)
{
    for (int pass = 0; pass < 2; pass++) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < n; i++) {
            int here = pass ? p[i] == ' ' : (p[i] == ',' || p[i] == ':') && p[i + 1] == ' ';
            size_t far = i > n / 2 ? i - n / 2 : n / 2 - i, best_far = best > n / 2 ? best - n / 2 : n / 2 - best;
            if (here && (!best || far < best_far))
                best = i + 1;
        }
        if (best)
            return best;
    }
    return 0;
}

static int grow(float **p, int64_t have, int64_t more, Err *err)
{
    float *grown = mem_realloc(*p, (size_t)(have + more), sizeof *grown);
    if (!grown)
        return err_set(err, ERR_NOMEM, "no memory for %lld more samples", (long long)more);
    *p = grown;
    return 0;
}

static int add_sound(Voice *v, Spoken *out, Speech *s, Err *err)
{
    const Config *cfg = &v->file.cfg;
    const int bands = cfg->n_mels;
    int64_t values = (int64_t)s->frames * bands, n = griffin_lim_samples(v->griffin, s->frames);
    int64_t pause = out->count ? (int64_t)(PAUSE_SECONDS * cfg->sample_rate) : 0;
    double from = clock_now();
    int rc = grow(&out->mel, out->frames * bands, values, err);
    if (rc || (rc = grow(&out->samples, out->count, pause + n, err)))
        return rc;
    float *mel = out->mel + out->frames * bands, *samples = out->samples + out->count;
    for (int64_t i = 0; i < values; i++)
        mel[i] = s->mel[i] * v->file.deviation[i % bands] + v->file.mean[i % bands];
    memset(samples, 0, (size_t)pause * sizeof *samples);
    rc = griffin_lim_run(v->griffin, samples + pause, mel, s->frames, v->o.iterations ? v->o.iterations : GRIFFIN_LIM_ITERATIONS,
                         v->o.seed, err);
    out->frames += s->frames, out->count += pause + n;
    out->audio_seconds += clock_now() - from;
    return rc;
}

static int say_tokens(Voice *v, Spoken *out, const uint16_t *tokens, int count, Err *err)
{
    int32_t *wide = mem_calloc((size_t)count, sizeof *wide);
    Speech s = {0};
    if (!wide)
        return err_set(err, ERR_NOMEM, "no memory for %d tokens", count);
    for (int i = 0; i < count; i++)
        wide[i] = tokens[i];
    double from = clock_now();
    int rc =
        speaker_say(v->speaker, &s, wide, count, v->m.use_voice ? v->vector : NULL, v->o.seed + (uint64_t)out->parts, 0.5f, err);
    out->mel_seconds += clock_now() - from;
    free(wide);
    if (rc)
        return rc;
    out->diagonal = (out->diagonal * out->parts + speech_diagonal(&s)) / (out->parts + 1);
    out->parts++, out->capped += s.capped;
    rc = add_sound(v, out, &s, err);
    if (!out->attention) {
        out->attention = s.attention, out->steps = s.steps, out->text = s.text;
        s.attention = NULL;
    }
    speech_free(&s);
    return rc;
}

/* Bytes of the beginning of a text, for a message: whole characters. */
static int shown(const char *p, size_t n)
{
    size_t end = n < 60 ? n : 60;
    while (end && end < n && ((unsigned char)p[end] & 0xC0) == 0x80)
        end--;
    while (end && (p[end - 1] == '\n' || p[end - 1] == '\r'))
        end--;
    return (int)end;
}

static int say_part(Voice *v, Spoken *out, const char *p, size_t n, TextResult *r, Err *err)
{
    while (n && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++, n--;
    if (!n)
        return 0;
    double from = clock_now();
    RejectReason why = text_process(v->text, r, (Str){p, n}, (Str){"", 0}, (Str){"", 0});
    out->text_seconds += clock_now() - from;
    int count = (int)(r->tokens.size / sizeof(uint16_t));
    if (!why && count <= v->limits.text)
        return say_tokens(v, out, (const uint16_t *)(const void *)r->tokens.data, count, err);
    size_t cut = middle_cut(p, n);
    if (why == REJECT_EMPTY_TEXT || why == REJECT_NO_PHONEMES) { /* a line of dashes, a lone mark: the rest is spoken */
        log_warn(v->o.log, "\"%.*s\" is left out: %s", shown(p, n), p, *r->detail ? r->detail : reject_text(why));
        out->left_out++;
        return 0;
    }
    if (why && (why != REJECT_TEXT_TOO_LONG || !cut))
        return err_set(err, ERR_DATA, "\"%.*s\" cannot be spoken: %s%s%s", shown(p, n), p, reject_text(why), *r->detail ? ": " : "",
                       r->detail);
    if (!cut)
        return err_set(err, ERR_DATA, "\"%.*s...\" has %d tokens and no place to cut it; at most %d are spoken at once",
                       shown(p, n), p, count, v->limits.text);
    int rc = say_part(v, out, p, cut, r, err);
    return rc ? rc : say_part(v, out, p + cut, n - cut, r, err);
}

int voice_say(Voice *v, Spoken *out, const char *text, size_t size, Err *err)
{
    TextResult r = {0};
    memset(out, 0, sizeof *out);
    int rc = v->m.use_voice && !v->has_vector ? voice_of_speaker(v, NULL, err) : 0;
    while (size && !rc) {
        size_t n = sentence_end(text, size);
        rc = say_part(v, out, text, n, &r, err);
        text += n, size -= n;
    }
    text_result_free(&r);
    if (!rc && !out->parts)
        rc = err_set(err, ERR_DATA, "there is nothing to speak in the text");
    if (rc)
        spoken_free(out);
    return rc;
}

void spoken_free(Spoken *s)
{
    free(s->samples), free(s->mel), free(s->attention);
    memset(s, 0, sizeof *s);
}
