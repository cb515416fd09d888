/* voice_facts_alignment.c - what a network makes of every clip: its alignment, how much of it is owed to the
 * clip's own text (other_texts.h), and how well durations and pitch are predicted. */
#include <math.h>
#include <stdlib.h>

#include "base/stats.h"
#include "diag/voice/voice_facts.h"
#include "ops/ops.h"
#include "train/listen/other_texts.h"

#define MOST_LOOKS 200    /* clips whose predictions are fetched */
#define ENOUGH_HELD_OUT 8 /* fewer held-out clips: those of training are judged too */
#define LONGEST 1024      /* frames of a symbol that are told apart */

typedef struct Predicted { /* of one symbol */
    float pitch, true_pitch, log_duration;
    int32_t duration, speaker;
} Predicted;

/* What is gathered while the clips go by. */
typedef struct Pass {
    VoiceFacts *f;
    Engine *engine;
    const Corpus *corpus;
    int64_t *durations; /* [LONGEST] how many symbols have so many frames */
    Predicted *predicted;
    size_t predicted_count, predicted_cap;
    int all_splits;
} Pass;

/* Clips of validation are the honest ones: the network has not seen them. */
static int is_held_out(const Corpus *c, uint32_t item)
{
    return c->dataset.utterances[c->items[item].utterance].split == SPLIT_VAL;
}

/* Predicted and true traits of every symbol of a clip. */
static int take_predictions(Pass *p, const ClipAlignment *clip, Err *err)
{
    EngineLook l;
    int rc = engine_look(p->engine, clip->row, &l, err);
    if (!rc &&
        mem_grow(&p->predicted, &p->predicted_cap, p->predicted_count + (size_t)l.text, sizeof *p->predicted))
        rc = err_set(err, ERR_NOMEM, "no memory for the predictions of a clip");
    for (int t = 0; t < l.text && !rc; t++)
        p->predicted[p->predicted_count++] =
            (Predicted){.pitch = l.traits[t * TRAIT_COUNT + TRAIT_PITCH],
                        .true_pitch = l.pitch[t],
                        .log_duration = l.traits[t * TRAIT_COUNT + TRAIT_DURATION],
                        .duration = l.durations[t] > 0 ? l.durations[t] : 1,
                        .speaker = p->corpus->items[clip->item].speaker};
    engine_look_free(&l);
    p->f->predicted_clips += rc == 0;
    return rc;
}

/* A clip with its own text. */
static int take_own(void *arg, const ClipAlignment *clip, Err *err)
{
    Pass *p = arg;
    VoiceClip *c = &p->f->clip[clip->item];
    c->text = clip->text;
    c->frames = clip->frames;
    c->cost = (double)clip->cost;
    for (int t = 0; t < clip->text; t++)
        p->durations[clip->durations[t] < LONGEST ? clip->durations[t] : LONGEST - 1]++;
    if (p->f->predicted_clips < MOST_LOOKS && (p->all_splits || is_held_out(p->corpus, clip->item)))
        return take_predictions(p, clip, err);
    return 0;
}

/* The same clip with the text of another. */
static int take_other(void *arg, const ClipAlignment *clip, Err *err)
{
    Pass *p = arg;
    p->f->clip[clip->item].other = (double)clip->cost;
    return 0;
}

/* Clips for which no other text fits in length are left out of the comparison. */
static int align_with_others(Pass *p, const EvaluateOptions *o, Err *err)
{
    OtherTexts other;
    EvaluateOptions eo = *o;
    int rc = other_texts_open(&other, o->corpus, err);
    eo.corpus = &other.corpus;
    if (!rc && other.count)
        rc = align_clips(p->engine, &eo, take_other, p, err);
    for (uint32_t i = 0; i < o->corpus->count && !rc; i++)
        if (!other.changed[i])
            p->f->clip[i].other = NAN;
    if (rc != ERR_WORKER) /* a reader that is stuck may come back and look at it */
        other_texts_close(&other);
    return rc;
}

/* --- sums --- */

/* How many symbols have one frame, and how much the longest tenth holds. */
static void sum_durations(VoiceFacts *f, const int64_t *of)
{
    double symbols = 0, frames = 0, top = 0;
    for (int d = 1; d < LONGEST; d++) {
        symbols += (double)of[d];
        frames += (double)of[d] * d;
    }
    if (!(symbols > 0))
        return;
    /* From the longest down. */
    double left = symbols / 10;
    for (int d = LONGEST - 1; d > 0 && left > 0; d--) {
        const double n = fmin(left, (double)of[d]);
        top += n * d;
        left -= n;
    }
    f->ones = (double)of[1] / symbols;
    f->held = top / frames;
    f->frames_per_symbol = frames / symbols;
}

/* How much better than a constant the predictions are: durations by their deviance, pitch by its variance. */
static int sum_predictions(VoiceFacts *f, const Pass *p, Err *err)
{
    const size_t n = p->predicted_count;
    const size_t speakers = p->corpus->speaker_count > 0 ? (size_t)p->corpus->speaker_count : 1;
    double *mean = mem_calloc(speakers, sizeof *mean), *count = mem_calloc(speakers, sizeof *count);
    double frames = 0, deviance = 0, most = 0, error = 0, variance = 0;
    int rc = mean && count ? 0 : err_set(err, ERR_NOMEM, "no memory for the pitch of %zu speakers", speakers);
    for (size_t i = 0; i < n && !rc; i++) {
        mean[p->predicted[i].speaker] += (double)p->predicted[i].true_pitch;
        count[p->predicted[i].speaker]++;
        frames += p->predicted[i].duration;
    }
    for (size_t i = 0; i < n && !rc; i++) {
        const Predicted *s = &p->predicted[i];
        const double d = s->duration, l = (double)s->log_duration, pitch = (double)s->true_pitch;
        deviance += exp(l) - d + d * (log(d) - l);
        most += d * log(d * (double)n / frames);
        error += pow((double)s->pitch - pitch, 2);
        variance += pow(pitch - mean[s->speaker] / count[s->speaker], 2);
    }
    if (!rc && most > 0)
        f->duration_explained = 1 - deviance / most;
    if (!rc && variance > 0)
        f->pitch_explained = 1 - error / variance;
    free(mean);
    free(count);
    return rc;
}

/* Medians, then the suspects with their names. */
static int sum_clips(VoiceFacts *f, const Corpus *c, Err *err)
{
    size_t n = 0, kept = 0;
    double *x = mem_calloc(c->count, sizeof *x);
    if (!x)
        return err_set(err, ERR_NOMEM, "no memory for the alignment of %u clips", c->count);
    for (uint32_t i = 0; i < c->count; i++)
        if (f->clip[i].frames) /* the others could not be loaded */
            f->clip[kept++] = f->clip[i];
    f->clip_count = kept;
    for (size_t i = 0; i < kept; i++)
        x[i] = f->clip[i].cost;
    f->cost = kept ? stats_percentile(x, kept, 0.5) : (double)NAN;
    for (size_t i = 0; i < kept; i++)
        if (f->clip[i].other > 0)
            x[n++] = f->clip[i].cost / f->clip[i].other;
    f->own_text = n ? 1 - stats_percentile(x, n, 0.5) : (double)NAN;
    free(x);
    int rc = voice_suspects(f, err);
    for (size_t i = 0; i < kept && !rc; i++) {
        const Utterance *u = &c->dataset.utterances[f->clip[i].utterance];
        if (!f->clip[i].suspect)
            continue;
        f->clip[i].id = block_strndup(&f->strings, u->id.p, u->id.n);
        f->clip[i].words = block_strndup(&f->strings, u->text.p, u->text.n);
        if (!f->clip[i].id || !f->clip[i].words)
            rc = err_set(err, ERR_NOMEM, "no memory for the names of suspects");
    }
    return rc;
}

/* All clips with their own texts, then with others. */
int voice_facts_from_alignment(VoiceFacts *f, Engine *e, const EvaluateOptions *o, Err *err)
{
    const Corpus *c = o->corpus;
    Pass p = {.f = f, .engine = e, .corpus = c};
    uint32_t held_out = 0;
    free(f->clip);
    f->clip_count = 0;
    f->suspects = f->predicted_clips = 0;
    f->clip = mem_calloc(c->count ? c->count : 1, sizeof *f->clip);
    p.durations = mem_calloc(LONGEST, sizeof *p.durations);
    int rc = f->clip && p.durations ? 0 : err_set(err, ERR_NOMEM, "no memory to align %u clips", c->count);
    for (uint32_t i = 0; i < c->count && !rc; i++) {
        f->clip[i] = (VoiceClip){.utterance = c->items[i].utterance, .cost = NAN, .other = NAN};
        held_out += (uint32_t)is_held_out(c, i);
    }
    p.all_splits = held_out < ENOUGH_HELD_OUT;
    if (!rc && c->count > 1) { /* one clip has no other text to be compared with */
        rc = align_clips(e, o, take_own, &p, err);
        if (!rc)
            rc = align_with_others(&p, o, err);
        if (!rc)
            rc = sum_predictions(f, &p, err);
        if (!rc)
            rc = sum_clips(f, c, err);
    }
    if (!rc)
        sum_durations(f, p.durations);
    free(p.durations);
    free(p.predicted);
    return rc;
}
