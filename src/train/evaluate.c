/* evaluate.c - validation: the loss on clips that were held out, and real speech. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audio/picture.h"
#include "base/mem.h"
#include "cache/features.h"
#include "text/text.h"
#include "train/evaluate.h"
#include "train/run_parts.h"

#define SPOKEN 4 /* validation clips that are spoken freely */

/* The tokens of an item of a corpus; returns how many, at most `most`. */
static int item_tokens(int32_t *out, const Corpus *c, uint32_t item, int most)
{
    StoreEntry e;
    TextView v;
    store_entry(&c->text, c->items[item].text_entry, &e);
    if (text_view(&v, &e))
        return 0;
    int n = (int)v.token_count < most ? (int)v.token_count : most;
    for (int i = 0; i < n; i++)
        out[i] = v.tokens[i];
    return n;
}

int speaker_voice(Speaker *s, float *voice, const VoiceClips *clips, int32_t speaker, int size, Err *err)
{
    float *one = mem_calloc((size_t)size, sizeof *one);
    int taken = 0, rc = one ? 0 : err_set(err, ERR_NOMEM, "no memory for a voice");
    memset(voice, 0, (size_t)size * sizeof *voice);
    for (int i = 0; i < clips->count && !rc; i++)
        if (clips->speaker[i] == speaker) {
            rc = speaker_listen(s, one, clips->mel + (size_t)i * (size_t)clips->frames * (size_t)clips->bands, clips->length[i],
                                err);
            for (int k = 0; k < size && !rc; k++)
                voice[k] += one[k];
            taken++;
        }
    for (int k = 0; k < size && taken; k++)
        voice[k] /= (float)taken;
    free(one);
    if (!rc && !taken)
        return err_set(err, ERR_MISSING, "there is no clip of speaker %d to take the voice from", speaker);
    return rc;
}

/* As speaker_voice; a speaker of whom no clip is kept (all are held out, or there are very many) gets the first voice that is there. */
static int some_voice(Speaker *s, float *voice, const VoiceClips *clips, int32_t speaker, int size, Err *err)
{
    int rc = speaker_voice(s, voice, clips, speaker, size, err);
    if (rc != ERR_MISSING || !clips->count)
        return rc;
    err_clear(err);
    return speaker_voice(s, voice, clips, clips->speaker[0], size, err);
}

int evaluate_speech(SpeechScore *out, Speaker *speaker, const SpeakLimits *limits, const Config *cfg, const Corpus *c,
                    const VoiceClips *clips, int most, Err *err)
{
    int32_t *tokens = mem_calloc((size_t)limits->text, sizeof *tokens);
    float *voice = mem_calloc((size_t)cfg->speaker_embedding_dim, sizeof *voice);
    int rc = tokens && voice ? 0 : err_set(err, ERR_NOMEM, "no memory to speak");
    *out = (SpeechScore){0};
    for (int k = 0; k < most && !rc && (uint32_t)k < c->count; k++) {
        uint32_t item = (uint32_t)k; /* spread over the clips where there are more */
        if (c->count > (uint32_t)most)
            item = (uint32_t)((uint64_t)c->count * (uint64_t)k / (uint64_t)most);
        int count = item_tokens(tokens, c, item, limits->text);
        Speech speech;
        if (!count)
            continue;
        if (cfg->use_voice_conditioning &&
            (rc = some_voice(speaker, voice, clips, c->items[item].speaker, cfg->speaker_embedding_dim, err)))
            break;
        if ((rc = speaker_say(speaker, &speech, tokens, count, cfg->use_voice_conditioning ? voice : NULL,
                              (uint64_t)cfg->seed + (uint64_t)k, 0.5f, err)))
            break;
        out->clips++, out->ended += !speech.capped;
        out->length += (double)speech.frames / (double)c->lengths[item].frames;
        out->diagonal += speech_diagonal(&speech);
        speech_free(&speech);
    }
    if (out->clips)
        out->length /= out->clips, out->diagonal /= out->clips;
    free(tokens), free(voice);
    return rc;
}

/* Some validation clips, spoken from their text in their speaker's voice, without the true mel. */
static int speak_some(Trainer *t, Err *err)
{
    SpeechScore s;
    SpeakLimits limits = speak_limits(t->cfg, &t->plan.shape);
    int rc = evaluate_speech(&s, t->speaker, &limits, t->cfg, t->o.validation, &t->clips, SPOKEN, err);
    if (rc || !s.clips)
        return rc;
    log_info(
        t->log,
        "  spoken freely: %d of %d ended by themselves, %.2f times as long as the real ones, attention on the diagonal %.0f %%",
        s.ended, s.clips, s.length, 100 * s.diagonal);
    event_log_scalar(t->events, "speech/ended", t->state.step, (double)s.ended / s.clips);
    event_log_scalar(t->events, "speech/length", t->state.step, s.length);
    event_log_scalar(t->events, "speech/diagonal", t->state.step, s.diagonal);
    json_t *o =
        json_pack("{s:s, s:I, s:i, s:i}", "event", "spoken", "step", (json_int_t)t->state.step, "clips", s.clips, "ended", s.ended);
    json_object_set_new(o, "length", run_log_number(s.length));
    json_object_set_new(o, "diagonal", run_log_number(s.diagonal));
    Err lost = {0};
    if (run_log_write(t->run_log, o, &lost))
        log_warn(t->log, "log.jsonl: %s", lost.msg);
    return 0;
}

static void show_look(Trainer *t, const EngineLook *l)
{
    Rgb *pixels;
    int w, h;
    Err err = {0};
    const struct {
        const char *tag, *title, *x, *y;
        const float *values;
        int rows, columns;
    } pictures[] = {{"mel/true", "mel, true", "frame", "band", l->target, l->frames, l->bands},
                    {"mel/predicted", "mel, predicted", "frame", "band", l->predicted, l->frames, l->bands},
                    {"attention", "attention", "symbol", "decoder step", l->attention, l->steps, l->text}};
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++) {
        if (!pictures[i].values)
            continue;
        int rc = i < 2 ? picture_mel_pixels(&pixels, &w, &h, pictures[i].values, pictures[i].rows, pictures[i].columns, NULL, &err)
                       : picture_matrix_pixels(&pixels, &w, &h, pictures[i].title, pictures[i].values, pictures[i].rows,
                                               pictures[i].columns, pictures[i].x, pictures[i].y, &err);
        if (!rc)
            event_log_picture(t->events, pictures[i].tag, t->state.step, pixels, w, h);
        if (!rc && i == 2) { /* the newest one also as a file, to look at without TensorBoard */
            char path[CHECKPOINT_PATH_SIZE + 16];
            snprintf(path, sizeof path, "%s/attention.png", t->cfg->checkpoint_dir);
            if (picture_write_rgb(path, pixels, w, h, &err))
                log_warn(t->log, "no picture of the attention: %s", err.msg);
        }
        free(rc ? NULL : pixels);
    }
}

static int all_batches(Engine *e, Pipeline *p, double terms[TERM_COUNT], EngineLook *look, Err *err)
{
    double frames = 0;
    int64_t batches = sampler_batches(pipeline_sampler(p));
    Stream *stream = engine_stream(e);
    int rc = engine_evaluate_begin(e, err);
    for (int64_t i = 0; i < batches && !rc; i++) {
        DeviceBatch b;
        if ((rc = pipeline_take(p, &b, err)))
            break;
        if ((rc = pipeline_await(p, &b, stream, err)) == 0)
            rc = engine_take(e, b.memory, &b.layout, &b.info, err);
        int released = pipeline_release(p, &b, stream, rc ? NULL : err);
        rc = rc ? rc : released;
        if (!rc)
            rc = engine_evaluate(e, err);
        if (!rc && i == 0 && look)
            rc = engine_look(e, look, err);
    }
    int ended = engine_evaluate_end(e, terms, &frames, rc ? NULL : err);
    return rc ? rc : ended;
}

static void raise(uint64_t *peak, const Device *d)
{
    uint64_t used = __atomic_load_n(&d->used, __ATOMIC_RELAXED);
    if (peak && used > *peak)
        *peak = used;
}

int evaluate_loss(double terms[TERM_COUNT], EngineLook *look, Engine *e, const EvaluateOptions *o, Err *err)
{
    Config *cfg = mem_calloc(1, sizeof *cfg); /* a reader that is stuck keeps it */
    Pipeline *p = NULL;
    if (!cfg)
        return err_set(err, ERR_NOMEM, "no memory to validate");
    validation_config(cfg, o->cfg);
    /* From epoch 0 each time: every validation sees the same batches. */
    PipelineOptions po = {.cfg = cfg,
                          .corpus = o->corpus,
                          .data = o->data,
                          .model = o->model,
                          .start = {.seed = (uint64_t)cfg->seed},
                          .epochs = 1,
                          .log = o->log};
    int rc = pipeline_open(&p, &po, err);
    raise(o->peak_model, o->model);
    raise(o->peak_data, o->data);
    if (!rc)
        rc = all_batches(e, p, terms, look, err);
    raise(o->peak_model, o->model); /* rings may have grown */
    raise(o->peak_data, o->data);
    if (p)
        pipeline_stop(p);
    Err ignored = {0};
    o->model->ops->stream_wait_idle(engine_stream(e), &ignored);
    if (pipeline_close(p))
        return rc ? rc : err_set(err, ERR_WORKER, "a loader does not come back from a read in validation");
    free(cfg);
    return rc;
}

int evaluate_run(Trainer *t, double *loss, Err *err)
{
    double terms[TERM_COUNT] = {0};
    EngineLook look = {0};
    EvaluateOptions o = {t->cfg, t->o.validation, t->o.data, t->o.model, t->log, &t->peak_model, &t->peak_data};
    int rc = evaluate_loss(terms, &look, t->engine, &o, err);
    *loss = 0;
    for (int i = 0; i < TERM_COUNT; i++)
        *loss += terms[i];
    if (!rc) {
        report_validation(t, terms, *loss);
        if (look.predicted)
            show_look(t, &look);
        rc = speak_some(t, err);
    }
    engine_look_free(&look);
    return rc;
}

/* --- spoken samples --- */

int samples_open(Trainer *t, Err *err)
{
    const StringList *texts = &t->cfg->text2audio_texts;
    if (!texts->count || !t->cfg->text2audio_interval_steps)
        return 0;
    TextEngine *engine;
    TextResult r = {0};
    int rc = text_engine_open(&engine, t->cfg, err);
    if (rc)
        return rc;
    t->sample_tokens = mem_calloc((size_t)texts->count, sizeof *t->sample_tokens);
    t->sample_counts = mem_calloc((size_t)texts->count, sizeof *t->sample_counts);
    if (!t->sample_tokens || !t->sample_counts)
        rc = err_set(err, ERR_NOMEM, "no memory for %d texts", texts->count);
    for (int i = 0; i < texts->count && !rc; i++) {
        const char *text = texts->items[i];
        if (text_process(engine, &r, (Str){text, strlen(text)}, (Str){"", 0}, (Str){"", 0})) {
            log_warn(t->log, "text2audio_texts: \"%s\" cannot be spoken: %s", text, r.detail);
            continue;
        }
        int n = (int)(r.tokens.size / sizeof(uint16_t)), most = speak_limits(t->cfg, &t->plan.shape).text;
        int32_t *tokens = mem_calloc((size_t)(n > 0 ? n : 1), sizeof *tokens);
        if (!tokens || n > most) {
            free(tokens);
            log_warn(t->log, "text2audio_texts: \"%s\" has %d tokens; at most %d are spoken as a sample", text, n, most);
            continue;
        }
        for (int k = 0; k < n; k++)
            tokens[k] = ((const uint16_t *)(const void *)r.tokens.data)[k];
        t->sample_tokens[t->samples] = tokens, t->sample_counts[t->samples++] = n;
    }
    text_result_free(&r);
    text_engine_close(engine);
    return rc;
}

void samples_close(Trainer *t)
{
    for (int i = 0; i < t->samples; i++)
        free(t->sample_tokens[i]);
    free(t->sample_tokens), free(t->sample_counts);
}

int samples_speak(Trainer *t, Err *err)
{
    const Config *cfg = t->cfg;
    float *voice = mem_calloc((size_t)cfg->speaker_embedding_dim, sizeof *voice);
    int rc = voice ? 0 : err_set(err, ERR_NOMEM, "no memory to speak");
    if (!rc && cfg->use_voice_conditioning)
        rc = some_voice(t->speaker, voice, &t->clips, 0, cfg->speaker_embedding_dim, err);
    for (int i = 0; i < t->samples && !rc; i++) {
        Speech s;
        char tag[32];
        if ((rc = speaker_say(t->speaker, &s, t->sample_tokens[i], t->sample_counts[i], cfg->use_voice_conditioning ? voice : NULL,
                              (uint64_t)cfg->seed, 0.5f, err)))
            break;
        int64_t n = griffin_lim_samples(t->griffin, s.frames);
        float *samples = mem_calloc((size_t)n, sizeof *samples);
        for (int64_t k = 0; k < (int64_t)s.frames * cfg->n_mels; k++)
            s.mel[k] = s.mel[k] * t->snapshot.deviation[k % cfg->n_mels] + t->snapshot.mean[k % cfg->n_mels];
        rc = samples ? griffin_lim_run(t->griffin, samples, s.mel, s.frames, 32, 1, err)
                     : err_set(err, ERR_NOMEM, "no memory for a spoken sample");
        snprintf(tag, sizeof tag, "speech/%d", i);
        if (!rc)
            event_log_audio(t->events, tag, t->state.step, samples, n, cfg->sample_rate);
        free(samples);
        speech_free(&s);
    }
    free(voice);
    return rc;
}
