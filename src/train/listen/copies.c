/* copies.c - copy synthesis: the first clips of validation, their mels, and what the vocoder makes of these.
 * That is what a vocoder alone sounds like. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audio/mel.h"
#include "base/mem.h"
#include "cache/features.h"
#include "cache/half.h"
#include "judge/spectra.h"
#include "model/vocoder.h"
#include "train/listen/evaluate.h"
#include "train/log/pictures.h"
#include "train/run_parts.h"

#define MOST_COPIES 4
#define JUDGED_COPIES 3 /* that are compared with Griffin-Lim's */
#define MOST_LOOKS 64   /* that are remembered, to tell where they go */
#define LEAST_LOOKS 3   /* that tell it, */
#define MOST_AHEAD 5.0  /* and for so many times the steps that were made; beyond it all is far */

struct Copies {
    const Corpus *corpus; /* validation, or the training's if nothing is held out */
    MelPlan *plan;
    MelScratch *scratch;
    Vocoder *vocoder;
    int most;                /* frames */
    float *recording, *copy; /* [(most - 1) * hop_length] */
    float *mel, *copied;     /* [most, n_mels] of both */
    int recordings_written;
    double griffin_lim; /* distance of its copies; 0: not measured yet */
    struct {
        double step, distance;
    } looks[MOST_LOOKS]; /* of this run; the last ones */
    int look_count;
};

int copies_open(Trainer *t, Err *err)
{
    const Config *cfg = t->cfg;
    struct Copies *c = t->copies = mem_calloc(1, sizeof *c);
    if (!c)
        return err_set(err, ERR_NOMEM, "no memory to copy clips");
    c->corpus = t->o.validation && t->o.validation->count ? t->o.validation : t->o.train;
    c->most = synthesis_limits(cfg, &t->plan.shape).frames;
    const size_t samples = (size_t)c->most * (size_t)cfg->hop_length, bands = (size_t)cfg->n_mels;
    c->recording = mem_calloc(samples, sizeof *c->recording);
    c->copy = mem_calloc(samples, sizeof *c->copy);
    c->mel = mem_calloc((size_t)c->most * bands, sizeof *c->mel);
    c->copied = mem_calloc((size_t)c->most * bands, sizeof *c->copied);
    if (!c->recording || !c->copy || !c->mel || !c->copied)
        return err_set(err, ERR_NOMEM, "no memory to copy clips of %d frames", c->most);
    if (cfg->text2audio_interval_steps)
        for (uint32_t i = 0; i < c->corpus->count && t->samples < MOST_COPIES; i++)
            t->samples += c->corpus->items[i].part == 0;
    int rc = mel_plan_open(&c->plan, cfg, err);
    if (!rc)
        rc = mel_scratch_open(&c->scratch, c->plan, err);
    return rc ? rc : vocoder_open(&c->vocoder, engine_model(t->engine), c->most, err);
}

void copies_close(Trainer *t)
{
    struct Copies *c = t->copies;
    if (!c)
        return;
    vocoder_close(c->vocoder);
    mel_scratch_close(c->scratch);
    mel_plan_close(c->plan);
    free(c->recording);
    free(c->copy);
    free(c->mel);
    free(c->copied);
    free(c);
    t->copies = NULL;
}

/* The corpus' clip number i, of which it may have several segments; the last clip past the end. */
static const CorpusItem *item_of_clip(const Corpus *c, uint32_t i)
{
    uint32_t item = 0;
    for (uint32_t k = 0, clips = 0; k < c->count && clips <= i; k++)
        if (c->items[k].part == 0) {
            item = k;
            clips++;
        }
    return &c->items[item];
}

/* The mel that the vocoder is to learn: of the recording, or what a voice made of it. 0: its record is
 * damaged. */
static int mel_of_clip(struct Copies *c, const CorpusItem *item, int64_t frames, int64_t n)
{
    const Corpus *corpus = c->corpus;
    StoreEntry e;
    MelView v;
    if (!corpus_brings_mel(corpus)) {
        mel_compute(c->plan, c->scratch, c->mel, c->recording, n);
        return 1;
    }
    store_entry(&corpus->mel, item->mel_entry, &e);
    if (!store_entry_whole(&corpus->mel, item->mel_entry) || mel_view(&v, &e) || v.frames < frames)
        return 0;
    if (v.storage == STORE_FLOAT16)
        half_to_float(c->mel, v.data, (size_t)frames * v.bands);
    else
        memcpy(c->mel, v.data, (size_t)frames * v.bands * sizeof *c->mel);
    return 1;
}

/* Clip i of the corpus, its mel and its copy. Returns its frames; 0: it cannot be copied, which was said. */
static int copy_clip(Trainer *t, uint32_t i, Err *err)
{
    struct Copies *c = t->copies;
    const int hop = t->cfg->hop_length;
    const CorpusItem *item = item_of_clip(c->corpus, i);
    const uint64_t entry = item->audio_entry;
    StoreEntry e;
    AudioView v;
    store_entry(&c->corpus->audio, entry, &e);
    /* Whole frames: as many samples come out as went in. */
    if (!store_entry_whole(&c->corpus->audio, entry) || audio_view(&v, &e) || v.count < (uint32_t)hop) {
        log_line(t->log, telling_once(t, TELL_NO_COPY),
                 "a validation clip is damaged or too short to be copied");
        return 0;
    }
    const int64_t all = v.count / hop, frames = all + 1 < c->most ? all + 1 : c->most;
    const int64_t n = (frames - 1) * hop;
    audio_samples(c->recording, v.data, v.scale, n);
    if (!mel_of_clip(c, item, frames, n)) {
        log_line(t->log, telling_once(t, TELL_NO_COPY),
                 "the voice's mel of a validation clip is damaged: the clip is not copied");
        return 0;
    }
    int rc = vocoder_run(c->vocoder, c->copy, c->mel, (int)frames, err);
    return rc ? rc : (int)frames;
}

int copies_show(Trainer *t, Err *err)
{
    struct Copies *c = t->copies;
    char title[64];
    int frames = copy_clip(t, 0, err);
    if (frames < 1)
        return frames;
    mel_compute(c->plan, c->scratch, c->copied, c->copy, (int64_t)(frames - 1) * t->cfg->hop_length);
    snprintf(title, sizeof title, "a validation clip and its copy, step %lld", (long long)t->state.step);
    EngineLook look = {.predicted = c->copied, .target = c->mel, .frames = frames, .bands = t->cfg->n_mels};
    picture_of_copy(t->cfg->checkpoint_dir, t->events, t->state.step, &look,
                    &(PictureScale){.cfg = t->cfg, .title = title}, t->log);
    return 0;
}

/* Griffin-Lim's copy of the clip that was copied last. */
static int griffin_lim_distance(Trainer *t, int64_t frames, double *out, Err *err)
{
    struct Copies *c = t->copies;
    Sound *sound = NULL;
    float *samples = NULL;
    int64_t n = 0;
    const int64_t most = (frames - 1) * t->cfg->hop_length;
    int rc = sound_open(&sound, &(SoundOptions){.cfg = t->cfg}, err);
    if (!rc)
        rc = sound_make(sound, &samples, &n, c->mel, frames, 0, err);
    if (!rc)
        rc = spectra_distance(out, samples, c->recording, n < most ? n : most, err);
    free(samples);
    sound_close(sound);
    return rc;
}

int copies_judge(Trainer *t, Err *err)
{
    struct Copies *c = t->copies;
    const int first = !(c->griffin_lim > 0);
    double ours = 0, theirs = 0;
    int n = 0, clips = 0, rc = 0;
    for (uint32_t i = 0; i < c->corpus->count; i++)
        clips += c->corpus->items[i].part == 0;
    for (int i = 0; i < clips && i < JUDGED_COPIES && !rc; i++) {
        double a = NAN, b = 0;
        const int frames = copy_clip(t, (uint32_t)i, err);
        rc = frames < 0 ? frames : 0;
        if (frames > 0)
            rc = spectra_distance(&a, c->copy, c->recording, (int64_t)(frames - 1) * t->cfg->hop_length, err);
        if (!rc && frames > 0 && first)
            rc = griffin_lim_distance(t, frames, &b, err);
        if (rc || !isfinite(a) || !isfinite(b))
            continue;
        ours += a;
        theirs += b;
        n++;
    }
    if (first && n)
        c->griffin_lim = theirs / n;
    t->state.copies[0] = n ? ours / n : 0;
    t->state.copies[1] = n ? c->griffin_lim : 0;
    if (n) {
        const int at = c->look_count++ % MOST_LOOKS;
        c->looks[at].step = (double)t->state.step;
        c->looks[at].distance = t->state.copies[0];
    }
    return rc;
}

/* A line through distances over the logarithm of steps: each doubling brings about as much. */
double copies_steps_left(const Trainer *t)
{
    const struct Copies *c = t->copies;
    const double now = (double)t->state.step, half = (now + (double)t->first_step) / 2;
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    if (!c || !(t->state.copies[1] > 0) || now <= 0)
        return NAN;
    for (int i = 0; i < c->look_count && i < MOST_LOOKS; i++) {
        const double at = log(c->looks[i].step / now), d = c->looks[i].distance;
        if (c->looks[i].step < half)
            continue;
        n++;
        x += at;
        y += d;
        xx += at * at;
        xy += at * d;
    }
    const double slope = (n * xy - x * y) / (n * xx - x * x);
    if (n < LEAST_LOOKS)
        return NAN;
    if (!(slope < 0))
        return INFINITY;
    const double times = exp((c->griffin_lim - t->state.copies[0]) / slope) - 1;
    return times <= MOST_AHEAD ? times * now : INFINITY;
}

int copies_write(Trainer *t, Err *err)
{
    struct Copies *c = t->copies;
    for (int i = 0; i < t->samples; i++) {
        char name[40];
        int frames = copy_clip(t, (uint32_t)i, err);
        if (frames < 0)
            return frames;
        const int64_t n = (int64_t)(frames - 1) * t->cfg->hop_length;
        if (!frames)
            continue;
        snprintf(name, sizeof name, "copy/%d", i);
        event_log_audio(t->events, name, t->state.step, c->copy, n, t->cfg->sample_rate);
        snprintf(name, sizeof name, "step-%08lld-%d", (long long)t->state.step, i + 1);
        sample_write(t, name, c->copy, n);
        snprintf(name, sizeof name, "recording-%d", i + 1);
        if (!c->recordings_written)
            sample_write(t, name, c->recording, n);
    }
    c->recordings_written = 1;
    return 0;
}
