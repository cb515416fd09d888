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
static const float wrong_enough = -5.0f; /* how much worse a wrong text is does not count */
static const float sure_spreads =
    2.0f; /* that right texts score above wrong ones, where the book is the right one */

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

/* Everything that the passes share. */
typedef struct Tracker {
    TextTrack *t;
    const Listening *l;
    const Chain *c;
    PhoneModels *m;      /* the reader's, in the end */
    PhoneModels half[2]; /* espeak-ng's at first; half i learns from the units of the other half */
    Found *found;
    int count;
    float *score; /* [units] */
    FitScratch fit;
} Tracker;

/* The units that fit best teach `pupil` how the reader speaks. half: 0 or 1, every other unit; -1: all. */
static int learn(Tracker *k, PhoneModels *pupil, int half, Err *err)
{
    int64_t all = 0;
    int n = 0, rc = 0;
    Fit fit;
    for (int i = 0; i < k->count; i++)
        all += k->found[i].end - k->found[i].begin;
    const int step = 1 + (int)(all / LEARN_FRAMES);
    for (int i = 0; i < k->count && !rc; i += step) {
        rc = fit_unit(&k->fit, &fit, k->l, k->m, k->c, k->found[i].unit, &k->found[i], err);
        k->score[n++] = fit.score;
    }
    const float limit = score_quantile(k->score, n, 1 - keep_share);
    for (int i = 0; i < k->count && !rc; i += step) {
        const Found *f = &k->found[i];
        if (half >= 0 && (i / step) % 2 != half)
            continue;
        rc = fit_unit(&k->fit, &fit, k->l, k->m, k->c, f->unit, f, err);
        if (rc || fit.score < limit || fit.score <= FIT_NEVER)
            continue;
        for (int64_t t = f->begin; t < f->end; t++) {
            float feature[LISTEN_WIDTH];
            listening_feature(k->l, t, feature);
            phone_models_learn(pupil, k->fit.path[t - f->begin], feature);
        }
    }
    if (!rc && n)
        phone_models_update(pupil, own_weight);
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
    if (score <= FIT_NEVER)
        return;
    score = fmaxf(score, wrong_enough);
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
static int judge_anywhere(Tracker *k, Err *err)
{
    const Chain *c = k->c;
    const Listening *l = k->l;
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
        rc = fit_unit(&k->fit, &fit, l, k->m, c, unit, &(Found){unit, begin, begin + frames}, err);
        add_wrong(&w, fit.score);
    }
    take_wrong(k->t, &w);
    return rc;
}

/* The models that have not learned from this unit. */
static const PhoneModels *stranger_to(const Tracker *k, int i, int step)
{
    return i % step ? k->m : &k->half[(i / step) % 2];
}

/* Texts of about the same length in the places of those that were found. */
static int judge_wrong(Tracker *k, int learned_step, Err *err)
{
    const Chain *c = k->c;
    Wrong w = {0};
    int rc = 0;
    const int step = 1 + k->count / WRONG_TEXTS;
    for (int i = 0; i < k->count && !rc; i += step) {
        const Found *f = &k->found[i];
        const int64_t length = c->first[f->unit + 1] - c->first[f->unit];
        int other = -1;
        for (int n = 3; n < 200 && other < 0; n++) {
            const int u = (f->unit + n) % c->units;
            const int64_t d = c->first[u + 1] - c->first[u] - length;
            if (u != f->unit && d * 6 < length && -d * 6 < length)
                other = u;
        }
        if (other < 0)
            continue;
        Fit fit;
        rc = fit_unit(&k->fit, &fit, k->l, stranger_to(k, i, learned_step), c, other, f, err);
        add_wrong(&w, fit.score);
    }
    take_wrong(k->t, &w);
    return rc;
}

/* Each unit is judged by models that did not learn from it: others would find that everything fits. */
static int judge_all(Tracker *k, Err *err)
{
    TextTrack *t = k->t;
    int64_t all = 0;
    for (int i = 0; i < k->count; i++)
        all += k->found[i].end - k->found[i].begin;
    const int step = 1 + (int)(all / LEARN_FRAMES);
    free(t->units);
    t->count = 0;
    t->units = mem_calloc((size_t)k->count + 1, sizeof *t->units);
    if (!t->units)
        return err_set(err, ERR_NOMEM, "no memory for what was found");
    int rc = judge_wrong(k, step, err);
    for (int i = 0; i < k->count && !rc; i++) {
        const Found *f = &k->found[i];
        Fit fit, where;
        rc = fit_unit(&k->fit, &where, k->l, k->m, k->c, f->unit, f, err);
        if (!rc)
            rc = fit_unit(&k->fit, &fit, k->l, stranger_to(k, i, step), k->c, f->unit, f, err);
        t->units[t->count++] =
            (TrackedUnit){f->unit, 2 * where.begin, 2 * where.end, fit.score, fit.worst, 0};
        k->score[i] = fit.score;
    }
    track_borders_mend(t->units, t->count, k->l, k->c);
    t->right = score_quantile(k->score, k->count, 0.5);
    const float low = score_quantile(k->score, k->count, 0.16), spread = fmaxf(t->right - low, 0.02f);
    t->limit = (t->right * t->wrong_spread + t->wrong * spread) / (spread + t->wrong_spread);
    /* Where all right texts score alike, one that was read a little differently must not be lost. */
    t->limit = fminf(t->limit, fmaxf(0.5f * (t->right + t->wrong), t->wrong + 2.5f * t->wrong_spread));
    t->believed = t->right - t->wrong > sure_spreads * t->wrong_spread;
    for (int i = 0; i < t->count; i++)
        t->units[i].fits = t->believed && t->units[i].score > t->limit;
    return rc;
}

/* --- all of it --- */

/* One pass over the recording, and what is learned from it. */
static int make_pass(Tracker *k, int pass, float stray, Log *log, Err *err)
{
    Listening part = *k->l;
    if (pass == 0 && part.frames > FIRST_FRAMES)
        part.frames = FIRST_FRAMES;
    free(k->found);
    k->found = NULL;
    int rc = follow(&k->found, &k->count, &part, k->m, k->c, stray, log, err);
    log_debug(log, "pass %d: %d of %d units found; a score of %.2f could be chance", pass + 1, k->count,
              k->c->units, (double)stray);
    for (int round = 0; round < ROUNDS && !rc && k->count && pass + 1 < PASSES; round++)
        rc = learn(k, k->m, -1, err);
    for (int i = 0; i < 2 && !rc && k->count; i++)
        rc = learn(k, &k->half[i], 1 - i, err);
    return rc ? rc : judge_all(k, err);
}

/* From espeak-ng's sounds to the reader's. */
static int track(TextTrack *t, const Listening *l, PhoneModels *m, const Chain *c, Log *log, Err *err)
{
    PhoneModels *first = mem_calloc(1, sizeof *first); /* espeak-ng's */
    Tracker *k = mem_calloc(1, sizeof *k);
    float stray = 0;
    int rc = k && first ? phone_models_copy(first, m, err) : err_set(err, ERR_NOMEM, "no memory for models");
    if (!rc) {
        *k = (Tracker){.t = t, .l = l, .c = c, .m = m};
        k->score = mem_calloc((size_t)c->units + 1, sizeof *k->score);
        rc = k->score ? judge_anywhere(k, err) : err_set(err, ERR_NOMEM, "no memory for scores");
        stray = t->wrong + 0.3f * t->wrong_spread;
    }
    for (int pass = 0; pass < PASSES && !rc; pass++) {
        for (int i = 0; i < 2 && !rc; i++) {
            phone_models_close(&k->half[i]);
            rc = phone_models_copy(&k->half[i], first, err);
        }
        if (!rc)
            rc = make_pass(k, pass, stray, log, err);
        stray = 0.5f * (t->right + t->wrong);
    }
    if (k) {
        phone_models_close(&k->half[0]);
        phone_models_close(&k->half[1]);
        fit_scratch_free(&k->fit);
        free(k->score);
        free(k->found);
    }
    free(k);
    if (first)
        phone_models_close(first);
    free(first);
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
