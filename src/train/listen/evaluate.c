/* evaluate.c - validation: the loss on clips that were held out, and real speech. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audio/normaliser.h"
#include "audio/wav.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "cache/features.h"
#include "text/phonemes/tokens.h"
#include "text/text.h"
#include "train/listen/alignment.h"
#include "train/listen/evaluate.h"
#include "train/listen/other_texts.h"
#include "train/listen/sharpness.h"
#include "train/log/pictures.h"
#include "train/run_parts.h"
#include "train/step/engine_feed.h"
#include "train/step/together.h"

#define MOST_LOST 0.1 /* share of the clips that may be missing: with fewer the loss cannot be compared */
#define EAR_CLIPS 8   /* that are compared with their recordings if there is no judge */
#define SAMPLE_ITERATIONS 32 /* of Griffin-Lim: a sample shows how training goes, it need not be the best */

/* The same clip at every validation, as pictures. */
static void show_look(Trainer *t, const EngineLook *l)
{
    char title[64];
    const MelStatistics *pitch = &t->o.train->statistics;
    snprintf(title, sizeof title, "a validation clip, step %lld", (long long)t->state.step);
    PictureScale scale = {.cfg = t->cfg,
                          .mean = t->snapshot.content.mean,
                          .deviation = t->snapshot.content.deviation,
                          .pitch_mean = pitch->pitch_mean,
                          .pitch_deviation = pitch->pitch_deviation,
                          .title = title};
    pictures_of_look(t->cfg->checkpoint_dir, t->events, t->state.step, l, &scale, t->log);
}

/* One pass over the corpus. The sums are taken off the device also after an error, so that it is idle then.
 */
static int all_batches(Engine *e, Pipeline *p, double terms[TERM_COUNT], const EvaluateOptions *o,
                       EvaluatedBatch each, void *arg, Err *err)
{
    double frames = 0;
    const int64_t shares = sampler_batches(pipeline_sampler(p)) * pipeline_shares(p).micro;
    int64_t lost = 0, evaluated = 0;
    int rc = engine_evaluate_begin(e, err);
    for (int64_t i = 0; i < shares && !rc; i++) {
        BatchInfo info = {0};
        rc = engine_feed(e, p, NULL, &info, err);
        lost += info.lost;
        /* A large batch and few clips leave shares empty. */
        if (rc || !info.count)
            continue;
        rc = engine_evaluate(e, err);
        if (!rc && each)
            rc = each(arg, e, evaluated++, err);
    }
    /* No rank waits for one that has failed: it tells the others. */
    if (rc && o->ranks)
        return rc;
    int ended = engine_evaluate_end(e, terms, &frames, rc ? NULL : err);
    if (!ended && o->lost && o->ranks)
        ended = together_count(o->ranks, &lost, err);
    if (o->lost)
        *o->lost += lost;
    for (int i = 0; i < TERM_COUNT && !(frames > 0); i++)
        terms[i] = NAN;
    return rc ? rc : ended;
}

/* The most that a device had in use. */
static void raise(uint64_t *peak, const Device *d)
{
    uint64_t used = __atomic_load_n(&d->used, __ATOMIC_RELAXED);
    if (peak && used > *peak)
        *peak = used;
}

/* A separate pipeline, with few buffers: the training's pipeline waits with the batches it has prepared. */
int evaluate_batches(double terms[TERM_COUNT], Engine *e, const EvaluateOptions *o, EvaluatedBatch each,
                     void *arg, Err *err)
{
    /* Not on the stack: a stuck reader still uses it. */
    Config *cfg = mem_calloc(1, sizeof *cfg);
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
                          .rank = ranks_rank(o->ranks),
                          .ranks = ranks_count(o->ranks),
                          .epochs = 1,
                          .log = o->log};
    int rc = pipeline_open(&p, &po, err);
    raise(o->peak_model, o->model);
    raise(o->peak_data, o->data);
    if (!rc)
        rc = all_batches(e, p, terms, o, each, arg, err);
    /* Rings may have grown in between. */
    raise(o->peak_model, o->model);
    raise(o->peak_data, o->data);
    if (p)
        pipeline_stop(p);
    Err ignored = {0};
    o->model->ops->stream_wait_idle(engine_stream(e), &ignored);
    if (pipeline_close(p))
        return rc ? rc : err_set(err, ERR_WORKER, "a loader is stuck in a read during validation");
    free(cfg);
    return rc;
}

#define LOOKED_AT 96       /* clips whose prosody is compared with what is predicted */
#define MEASURED_CLIPS 256 /* of training, which say how long symbols last: about 0.6 % off */

/* What is looked at while batches pass by. */
typedef struct Looks {
    EngineLook *first;
    MannerSums *sums;
    int clips, seen;
    int every; /* one of so many: batches are of one length each, and short sentences are spoken otherwise */
} Looks;

/* The first row of the first batch is the same clip at every validation. */
static int look_at_rows(void *arg, Engine *e, int64_t number, Err *err)
{
    Looks *l = arg;
    const BatchLayout *layout;
    const BatchInfo *info;
    engine_batch(e, &layout, &info);
    int rc = number ? 0 : engine_look(e, 0, l->first, err);
    for (int row = 0; row < info->count && !rc; row++) {
        EngineLook look;
        if (l->seen++ % l->every)
            continue;
        l->clips++;
        rc = engine_look(e, row, &look, err);
        if (!rc)
            manner_add(l->sums, &look);
        engine_look_free(&look);
    }
    return rc;
}

/* Takes what the listeners have finished, so that its line in the log comes soon after. */
int hear_results(Trainer *t, int wait, Err *err)
{
    Heard h;
    int rc = t->hearing ? hearing_result(t->hearing, &h, wait, err) : 0;
    if (rc == 1) {
        t->heard = h;
        t->heard_mark = t->submitted;
        t->has_heard = 1;
        report_heard(t, &h);
    }
    return rc < 0 ? rc : 0;
}

/* Hands the clips to the listeners. Those that are still busy are left alone. */
static int submit_clips(Trainer *t, const Speech *speech, Err *err)
{
    int rc = hearing_submit(t->hearing, t->state.step, speech, t->snapshot.content.mean,
                            t->snapshot.content.deviation, err);
    if (rc == 0)
        t->submitted = (Judged){.step = t->state.step};
    return rc < 0 ? rc : 0;
}

/* Clips are spoken from their text, compared with their recordings at once, and listened to later. */
static int speak_clips(Trainer *t, Validation *v, int last, Err *err)
{
    const uint32_t count = t->o.validation->count;
    const int n = t->hearing ? hearing_count(t->hearing) : count < EAR_CLIPS ? (int)count : EAR_CLIPS;
    /* How sharp the network is by itself decides how much it is sharpened. */
    const Manner plain = {.pace = t->state.manner.pace, .spread = t->state.manner.spread};
    int rc = hear_results(t, last, err);
    if (!rc)
        rc = synthesiser_set_manner(t->synthesiser, &plain, err);
    Speech *speech = mem_calloc((size_t)n + 1, sizeof *speech);
    uint32_t *items = mem_calloc((size_t)n + 1, sizeof *items);
    if (!rc && (!speech || !items))
        rc = err_set(err, ERR_NOMEM, "no memory to speak");
    for (int i = 0; i < n && !rc; i++) {
        items[i] = t->hearing ? hearing_item(t->hearing, i)
                              : (uint32_t)((uint64_t)count * (uint64_t)i / (uint64_t)n);
        rc = speak_item(t->synthesiser, &speech[i], t->cfg, t->o.validation, items[i], &t->clips, err);
    }
    /* Early in a training durations run away: that cannot be judged by ear. */
    if (rc == ERR_DATA) {
        log_line(t->log, telling_once(t, TELL_CANNOT_SPEAK) == LOG_WARN ? LOG_INFO : LOG_DEBUG,
                 "the clips cannot be spoken yet: %s", err->msg);
        err_clear(err);
        rc = 0;
    } else if (!rc) {
        const SpokenClips spoken = {.speech = speech,
                                    .items = items,
                                    .count = n,
                                    .corpus = t->o.validation,
                                    .mean = t->snapshot.content.mean,
                                    .deviation = t->snapshot.content.deviation,
                                    .pitch_deviation = t->o.validation->statistics.pitch_deviation};
        v->sentences = sharpness_settle(&t->state.manner.sharpness, &v->ear, &spoken, err);
        rc = v->sentences < 0 ? v->sentences : t->hearing ? submit_clips(t, speech, err) : 0;
    }
    if (!rc)
        rc = synthesiser_set_manner(t->synthesiser, &t->state.manner, err);
    for (int i = 0; speech && i < n; i++)
        speech_free(&speech[i]);
    free(speech);
    free(items);
    return rc;
}

/* How long symbols last in the recordings that the voice learns from, by its own alignment. */
static int usual_lengths(Trainer *t, UsualLengths *u, const EvaluateOptions *validation, Err *err)
{
    EvaluateOptions o = *validation;
    Corpus some = {0};
    int rc = usual_lengths_open(u, tokens_count(), err);
    if (!rc)
        rc = corpus_some(&some, t->o.train, MEASURED_CLIPS, err);
    o.corpus = &some;
    o.lost = NULL;
    if (!rc)
        rc = align_clips(t->engine, &o, usual_lengths_add, u, err);
    /* A reader that is stuck may still look at the clips. */
    if (rc != ERR_WORKER)
        corpus_some_close(&some);
    return rc;
}

/* Seconds since *from, which moves on. */
static double lap(double *from)
{
    const double now = clock_now(), seconds = now - *from;
    *from = now;
    return seconds;
}

/* A validation: the loss, what the clips' own texts explain, pictures, and speech for the listeners; of a
 * vocoder the loss, and a clip beside its copy. */
int evaluate_run(Trainer *t, Validation *v, int last, Err *err)
{
    int64_t lost = 0, clips = t->o.validation->count;
    EngineLook look = {0};
    EvaluateOptions o = {.cfg = &t->pipeline_cfg,
                         .corpus = t->o.validation,
                         .data = t->o.data,
                         .model = t->o.model,
                         .log = t->log,
                         .peak_model = &t->peak_model,
                         .peak_data = &t->peak_data,
                         .lost = &lost,
                         .ranks = t->o.ranks};
    const int voice = t->cfg->network == NETWORK_VOICE;
    UsualLengths usual = {0};
    MannerSums sums = {.usual = &usual};
    Looks looks = {.first = &look, .sums = &sums, .every = 1 + (int)(clips / (LOOKED_AT + 1))};
    *v = (Validation){.own_text = NAN};
    double from = clock_now(), took[4] = {0};
    int rc = voice ? usual_lengths(t, &usual, &o, err) : 0;
    took[0] = lap(&from);
    if (!rc)
        rc = evaluate_batches(v->terms, t->engine, &o, voice && t->leads ? look_at_rows : NULL, &looks, err);
    o.lost = NULL;
    for (int i = 0; i < TERM_COUNT; i++)
        v->loss += v->terms[i];
    if (!rc && looks.clips)
        manner_measure(&sums, &t->state.manner);
    usual_lengths_close(&usual);
    const int counts = (double)lost <= MOST_LOST * (double)clips;
    if (!counts)
        log_warn(t->log, "validation at step %lld could load only %lld of %lld clips and does not count",
                 (long long)t->state.step, (long long)(clips - lost), (long long)clips);
    took[1] = lap(&from);
    if (!rc && counts && voice)
        rc = evaluate_own_text(&v->own_text, v->terms[TERM_ALIGN], t->engine, &o, err);
    took[2] = lap(&from);
    if (!rc && counts && t->leads) {
        if (look.predicted)
            show_look(t, &look);
        rc = voice ? speak_clips(t, v, last, err) : copies_show(t, err);
        if (!rc && !voice)
            rc = copies_judge(t, err);
    }
    took[3] = lap(&from);
    log_debug(t->log, "validation: usual lengths %.2f s, loss %.2f s, other texts %.2f s, speaking %.2f s",
              took[0], took[1], took[2], took[3]);
    engine_look_free(&look);
    return rc ? rc : !counts;
}

/* --- spoken samples --- */

/* Texts become tokens once. A text that cannot be spoken is skipped with a warning. */
int samples_open(Trainer *t, Err *err)
{
    const StringList *texts = &t->cfg->text2audio_texts;
    /* Also without texts: a mel that cannot become sound is an error before the first step. */
    int rc = sound_open(&t->sound, &(SoundOptions){.cfg = t->cfg, .iterations = SAMPLE_ITERATIONS}, err);
    if (rc)
        return rc;
    if (!texts->count || !t->cfg->text2audio_interval_steps)
        return 0;
    TextEngine *engine;
    TextResult r = {0};
    rc = text_engine_open(&engine, t->cfg, TEXT_TO_SPEAK, err);
    if (rc)
        return rc;
    t->sample_tokens = mem_calloc((size_t)texts->count, sizeof *t->sample_tokens);
    t->sample_counts = mem_calloc((size_t)texts->count, sizeof *t->sample_counts);
    t->sample_languages = mem_calloc((size_t)texts->count, sizeof *t->sample_languages);
    if (!t->sample_tokens || !t->sample_counts || !t->sample_languages)
        rc = err_set(err, ERR_NOMEM, "no memory for %d texts", texts->count);
    for (int i = 0; i < texts->count && !rc; i++) {
        const char *text = texts->items[i];
        if (text_process(engine, &r, (Str){text, strlen(text)}, (Str){"", 0}, (Str){"", 0})) {
            log_warn(t->log, "text2audio_texts: \"%s\" cannot be spoken: %s", text, r.detail);
            continue;
        }
        int n = (int)(r.tokens.size / sizeof(uint16_t)), most = synthesis_limits(t->cfg, &t->plan.shape).text;
        int32_t *tokens = mem_calloc((size_t)(n > 0 ? n : 1), sizeof *tokens);
        if (!tokens || n > most) {
            free(tokens);
            log_warn(t->log, "text2audio_texts: \"%s\" has %d tokens, but a sample may have at most %d", text,
                     n, most);
            continue;
        }
        for (int k = 0; k < n; k++)
            tokens[k] = ((const uint16_t *)(const void *)r.tokens.data)[k];
        int language = language_list_near(&t->train.languages, r.language);
        t->sample_languages[t->samples] = language < 0 ? 0 : language;
        t->sample_tokens[t->samples] = tokens;
        t->sample_counts[t->samples++] = n;
    }
    text_result_free(&r);
    text_engine_close(engine);
    return rc;
}

void samples_close(Trainer *t)
{
    for (int i = 0; i < t->samples && t->sample_tokens; i++)
        free(t->sample_tokens[i]);
    free(t->sample_tokens);
    free(t->sample_counts);
    free(t->sample_languages);
    sound_close(t->sound);
}

/* RUN/samples/NAME.wav: the event file has the same sound, but not every player reads it. A full disk must
 * not end a training. */
void sample_write(const Trainer *t, const char *name, const float *samples, int64_t n)
{
    Err err = {0};
    char path[4096];
    int fits = snprintf(path, sizeof path, "%s/samples", t->cfg->checkpoint_dir) < (int)sizeof path;
    int rc = fits ? file_make_dirs(path, &err) : err_set(&err, ERR_IO, "the path is too long");
    fits = snprintf(path, sizeof path, "%s/samples/%s.wav", t->cfg->checkpoint_dir, name) < (int)sizeof path;
    if (!rc && fits)
        rc = wav_write(path, samples, n, t->cfg->sample_rate, &err);
    if (rc)
        log_warn(t->log, "no sample of step %lld: %s", (long long)t->state.step, err.msg);
}

/* In the voice of the first speaker, so that the samples of a run can be compared. */
int samples_speak(Trainer *t, Err *err)
{
    const Config *cfg = t->cfg;
    float *voice = mem_calloc((size_t)cfg->speaker_embedding_dim, sizeof *voice);
    int rc = voice ? 0 : err_set(err, ERR_NOMEM, "no memory to speak");
    if (!rc && cfg->use_voice_conditioning)
        rc = speaker_voice_or_first(t->synthesiser, voice, &t->clips, 0, cfg->speaker_embedding_dim, err);
    for (int i = 0; i < t->samples && !rc; i++) {
        Speech s;
        char tag[32], name[40];
        SynthesisText text = {.tokens = t->sample_tokens[i],
                              .count = t->sample_counts[i],
                              .voice = voice,
                              .language = t->sample_languages[i]};
        rc = synthesiser_speak(t->synthesiser, &s, &text, 1, err);
        /* Durations that run away early on, or clips that are all much shorter than the text: no reason to
         * end a training. */
        if (rc == ERR_DATA) {
            log_line(t->log, telling_once(t, TELL_NO_SAMPLE) == LOG_WARN ? LOG_INFO : LOG_DEBUG,
                     "a sample cannot be spoken yet: %s", err->msg);
            err_clear(err);
            rc = 0;
            continue;
        }
        if (rc)
            break;
        int64_t n;
        float *samples;
        normaliser_restore_mel(s.mel, s.mel, t->snapshot.content.mean, t->snapshot.content.deviation,
                               s.frames, cfg->n_mels);
        rc = sound_make(t->sound, &samples, &n, s.mel, s.frames, 0, err);
        snprintf(tag, sizeof tag, "speech/%d", i);
        if (!rc) {
            event_log_audio(t->events, tag, t->state.step, samples, n, cfg->sample_rate);
            snprintf(name, sizeof name, "step-%08lld-%d", (long long)t->state.step, i + 1);
            sample_write(t, name, samples, n);
        }
        free(samples);
        speech_free(&s);
    }
    free(voice);
    return rc;
}
