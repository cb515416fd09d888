/* text_track.c - see text_track.h. */
#include "corpus/text_track.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/progress.h"
#include "corpus/phone_models.h"
#include "corpus/reader.h"
#include "corpus/track_borders.h"

enum {
    SPOKEN_UNITS = 400,              /* from which espeak-ng's sounds are learned */
    LEARN_FRAMES = 3600 * LISTEN_HZ, /* of the reader, in one round */
    PASSES = 4,                      /* the first one over the beginning alone */
    FIRST_FRAMES = 1200 * LISTEN_HZ,
    ROUNDS = 4,
    WRONG_TEXTS = 400,
};
static const double keep_share = 0.8, own_weight = 20;

/* --- from text to states --- */

typedef struct Lesson {
    PhoneModels *models;
    Chain *chain;
    Listening speech; /* of espeak-ng */
    uint16_t *label;  /* [frames of speech] */
    size_t label_cap;
    uint8_t *silent;
} Lesson;

static int add_states(Chain *c, PhoneModels *m, const ReadUnit *r)
{
    if (mem_grow(&c->states, &c->cap, (size_t)c->count + 3 * (size_t)r->count + 1, sizeof *c->states))
        return ERR_NOMEM;
    for (int i = 0; i < r->count; i++) {
        const int state = phone_models_state(m, r->sounds[i].name);
        if (state == STATE_SILENCE)
            continue;
        if (r->sounds[i].first && i > 0)
            c->states[c->count++] = STATE_SILENCE;
        c->states[c->count++] = (uint16_t)state;
        c->states[c->count++] = (uint16_t)(state + 1);
    }
    return 0;
}

/* Which state each frame of espeak-ng's speech belongs to. */
static int add_labels(Lesson *le, const ReadUnit *r, Err *err)
{
    const int64_t first = le->speech.frames;
    int rc = listening_add_samples(&le->speech, r->speech, r->samples, r->rate, err);
    const int64_t frames = le->speech.frames - first;
    if (!rc && mem_grow(&le->label, &le->label_cap, (size_t)le->speech.frames + 1, sizeof *le->label))
        rc = err_set(err, ERR_NOMEM, "no memory for labels");
    if (rc)
        return rc;
    memset(le->label + first, 0, (size_t)frames * sizeof *le->label);
    for (int i = 0; i < r->count; i++) {
        const ReadSound *s = &r->sounds[i];
        const int state = phone_models_state(le->models, s->name);
        for (int64_t t = (int64_t)(s->begin * LISTEN_HZ); t < frames; t++) {
            const float at = ((float)t + 0.5f) / LISTEN_HZ - s->begin;
            if (at >= s->seconds)
                break;
            if (at >= 0)
                le->label[first + t] = (uint16_t)(state + (at > 0.5f * s->seconds));
        }
    }
    return 0;
}

static int take_unit(void *user, int unit, const ReadUnit *r, Err *err)
{
    Lesson *le = user;
    le->chain->first[unit] = le->chain->count;
    le->silent[unit] = r->count == 0;
    if (add_states(le->chain, le->models, r))
        return err_set(err, ERR_NOMEM, "no memory for the sounds of the text");
    le->chain->first[unit + 1] = le->chain->count;
    return r->speech ? add_labels(le, r, err) : 0;
}

/* Sounds from espeak-ng, silence from the recording. */
static int first_models(PhoneModels *m, Lesson *le, const Listening *l, Err *err)
{
    float feature[LISTEN_WIDTH];
    int rc = phone_models_open(m, err);
    if (!rc)
        rc = listening_find_pauses(&le->speech, 0.06, err);
    if (rc)
        return rc;
    for (int64_t t = 0; t < le->speech.frames; t++)
        if (le->label[t] != STATE_SILENCE) {
            listening_feature(&le->speech, t, feature);
            phone_models_learn(m, le->label[t], feature);
        }
    const int64_t step = 1 + l->frames / 100000;
    for (int64_t t = 0; t < l->frames; t += step)
        if (l->quiet[2 * t] && l->quiet[2 * t + 1]) {
            listening_feature(l, t, feature);
            phone_models_learn(m, STATE_SILENCE, feature);
        }
    phone_models_update(m, 0);
    return 0;
}

/* --- learning --- */

static int compare_scores(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The score that `share` of the values are below. */
static float score_quantile(const float *scores, int n, double share)
{
    float *sorted = mem_calloc((size_t)n + 1, sizeof *sorted), out = 0;
    if (sorted && n) {
        memcpy(sorted, scores, (size_t)n * sizeof *sorted);
        qsort(sorted, (size_t)n, sizeof *sorted, compare_scores);
        out = sorted[(int)(share * (n - 1))];
    }
    free(sorted);
    return out;
}

/* One round: the units that fit best teach the models how the reader speaks. */
static int learn_round(PhoneModels *m, FitScratch *s, float *score, const Listening *l, const Chain *c,
                       const Found *found, int count, double weight, Err *err)
{
    int64_t all = 0;
    for (int i = 0; i < count; i++)
        all += found[i].end - found[i].begin;
    const int step = 1 + (int)(all / LEARN_FRAMES);
    int n = 0, rc = 0;
    Fit fit;
    for (int i = 0; i < count && !rc; i += step) {
        rc = fit_unit(s, &fit, l, m, c, found[i].unit, &found[i], err);
        score[n++] = fit.score;
    }
    const float limit = score_quantile(score, n, 1 - keep_share);
    for (int i = 0; i < count && !rc; i += step) {
        rc = fit_unit(s, &fit, l, m, c, found[i].unit, &found[i], err);
        if (rc || fit.score < limit || fit.score <= -10.0f)
            continue;
        for (int64_t t = found[i].begin; t < found[i].end; t++) {
            float feature[LISTEN_WIDTH];
            listening_feature(l, t, feature);
            phone_models_learn(m, s->path[t - found[i].begin], feature);
        }
    }
    if (!rc && n)
        phone_models_update(m, weight);
    return rc;
}

/* --- judging --- */

/* Mean and spread of the scores of wrong texts. */
typedef struct Wrong {
    double sum, square;
    int n;
} Wrong;

static void add_wrong(Wrong *w, float score)
{
    if (score <= -10.0f)
        return;
    w->sum += (double)score;
    w->square += (double)score * (double)score;
    w->n++;
}

static void take_wrong(TextTrack *t, const Wrong *w)
{
    t->wrong = w->n ? (float)(w->sum / w->n) : -1.0f;
    t->wrong_spread =
        w->n ? (float)sqrt(fmax(w->square / w->n - (double)t->wrong * (double)t->wrong, 1e-2)) : 0.5f;
}

/* Before anything was found: texts laid over sound anywhere, at the usual pace, are wrong. */
static int judge_anywhere(TextTrack *t, FitScratch *s, const Listening *l, const PhoneModels *m,
                          const Chain *c, Err *err)
{
    Wrong w = {0};
    int rc = 0;
    for (int i = 0; i < WRONG_TEXTS && !rc; i++) {
        const int unit = (int)((int64_t)c->units * (WRONG_TEXTS - i - 1) / WRONG_TEXTS);
        const int64_t frames = (c->first[unit + 1] - c->first[unit]) * 11 / 5,
                      pause = l->pause_count * i / WRONG_TEXTS;
        const int64_t begin = l->pause_count ? l->pauses[pause].end / 2 : 0;
        if (frames == 0 || begin + frames > l->frames)
            continue;
        Fit fit;
        rc = fit_unit(s, &fit, l, m, c, unit, &(Found){unit, begin, begin + frames}, err);
        add_wrong(&w, fit.score);
    }
    take_wrong(t, &w);
    return rc;
}

/* Texts of about the same length in the places of those that were found. */
static int judge_wrong(TextTrack *t, FitScratch *s, const Listening *l, const PhoneModels *m, const Chain *c,
                       const Found *found, int count, Err *err)
{
    Wrong w = {0};
    int rc = 0;
    const int step = 1 + count / WRONG_TEXTS;
    for (int i = 0; i < count && !rc; i += step) {
        const int64_t length = c->first[found[i].unit + 1] - c->first[found[i].unit];
        int other = -1;
        for (int k = 7; k < 200 && other < 0; k++) {
            const int u = (found[i].unit + k) % c->units;
            const int64_t d = c->first[u + 1] - c->first[u] - length;
            if (u != found[i].unit && d * 8 < length && -d * 8 < length)
                other = u;
        }
        if (other < 0)
            continue;
        Fit fit;
        rc = fit_unit(s, &fit, l, m, c, other, &found[i], err);
        add_wrong(&w, fit.score);
    }
    take_wrong(t, &w);
    return rc;
}

static int judge_all(TextTrack *t, FitScratch *s, float *score, const Listening *l, const PhoneModels *m,
                     const Chain *c, const Found *found, int count, Err *err)
{
    free(t->units);
    t->count = 0;
    t->units = mem_calloc((size_t)count + 1, sizeof *t->units);
    if (!t->units)
        return err_set(err, ERR_NOMEM, "no memory for what was found");
    int rc = judge_wrong(t, s, l, m, c, found, count, err);
    for (int i = 0; i < count && !rc; i++) {
        Fit fit;
        rc = fit_unit(s, &fit, l, m, c, found[i].unit, &found[i], err);
        TrackedUnit *u = &t->units[t->count++];
        *u = (TrackedUnit){found[i].unit, 2 * fit.begin, 2 * fit.end, fit.score, fit.worst, 0};
        score[i] = fit.score;
    }
    track_borders_mend(t->units, t->count, l, c);
    t->right = score_quantile(score, count, 0.5);
    const float low = score_quantile(score, count, 0.16), spread = fmaxf(t->right - low, 0.02f);
    t->limit = (t->right * t->wrong_spread + t->wrong * spread) / (spread + t->wrong_spread);
    for (int i = 0; i < t->count; i++)
        t->units[i].fits = t->units[i].score > t->limit;
    return rc;
}

/* --- all of it --- */

/* From espeak-ng's sounds to the reader's: after each pass over the recording the models learn from it. */
static int track(TextTrack *t, const Listening *l, PhoneModels *m, const Chain *c, Log *log, Err *err)
{
    Found *found = NULL;
    int count = 0;
    FitScratch s = {0};
    float *score = mem_calloc((size_t)c->units + 1, sizeof *score);
    int rc = score ? judge_anywhere(t, &s, l, m, c, err) : err_set(err, ERR_NOMEM, "no memory for scores");
    float stray = t->wrong + 0.3f * t->wrong_spread;
    for (int pass = 0; pass < PASSES && !rc; pass++) {
        Listening part = *l;
        if (pass == 0 && part.frames > FIRST_FRAMES)
            part.frames = FIRST_FRAMES;
        free(found);
        found = NULL;
        rc = follow(&found, &count, &part, m, c, stray, log, err);
        log_debug(log, "pass %d: %d of %d units found, a score of %.2f is stray", pass + 1, count, c->units,
                  (double)stray);
        for (int round = 0; round < ROUNDS && !rc && count && pass + 1 < PASSES; round++)
            rc = learn_round(m, &s, score, l, c, found, count, own_weight, err);
        if (!rc)
            rc = judge_all(t, &s, score, l, m, c, found, count, err);
        stray = 0.5f * (t->right + t->wrong);
    }
    free(score);
    free(found);
    fit_scratch_free(&s);
    return rc;
}

int text_track_make(TextTrack *t, const Listening *l, const Book *book, const char *voice, Log *log, Err *err)
{
    *t = (TextTrack){0};
    PhoneModels *models = mem_calloc(1, sizeof *models);
    Chain chain = {.units = book->count};
    Lesson lesson = {.models = models, .chain = &chain};
    chain.first = mem_calloc((size_t)book->count + 1, sizeof *chain.first);
    t->silent = lesson.silent = mem_calloc((size_t)book->count + 1, 1);
    int rc = models && chain.first && t->silent
                 ? reader_run(book, voice, SPOKEN_UNITS, take_unit, &lesson, log, err)
                 : err_set(err, ERR_NOMEM, "no memory for %d units of text", book->count);
    if (!rc)
        rc = first_models(models, &lesson, l, err);
    listening_close(&lesson.speech);
    free(lesson.label);
    if (!rc)
        rc = track(t, l, models, &chain, log, err);
    if (models)
        phone_models_close(models);
    free(models);
    free(chain.first);
    free(chain.states);
    if (rc)
        text_track_close(t);
    return rc;
}

void text_track_close(TextTrack *t)
{
    free(t->units);
    free(t->silent);
    *t = (TextTrack){0};
}
