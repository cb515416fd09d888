/* fit.c - see fit.h. */
#include "corpus/fit.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

static const float skip_state_cost = 2.0f, never = -1e30f; /* as in follow.c */
enum { WORST_FRAMES = LISTEN_HZ, SPAN_MOST = 600 * LISTEN_HZ };

void fit_scratch_free(FitScratch *s)
{
    free(s->scores);
    free(s->best);
    free(s->from);
    free(s->path);
    *s = (FitScratch){0};
}

static int make_room(FitScratch *s, size_t frames, size_t length, size_t states)
{
    return mem_grow(&s->scores, &s->scores_cap, (frames + SCORE_FRAMES) * states, sizeof *s->scores) ||
           mem_grow(&s->best, &s->best_cap, length, sizeof *s->best) ||
           mem_grow(&s->from, &s->from_cap, frames * length, sizeof *s->from) ||
           mem_grow(&s->path, &s->path_cap, frames, sizeof *s->path);
}

/* from: how many states back the best path to each place came from. */
static void search(FitScratch *s, const uint16_t *state, int length, int frames, int states)
{
    for (int i = 0; i < length; i++)
        s->best[i] = never;
    for (int t = 0; t < frames; t++) {
        const float *gain = s->scores + (size_t)t * (size_t)states;
        uint8_t *from = s->from + (size_t)t * (size_t)length;
        for (int i = length - 1; i >= 0; i--) {
            float b = s->best[i];
            from[i] = 0;
            const float costs[4] = {0, 0,
                                    i < 2                           ? 1e9f
                                    : state[i - 1] == STATE_SILENCE ? 0
                                    : state[i - 1] & 1              ? 1e9f
                                                                    : skip_state_cost,
                                    i >= 3 && state[i - 1] == STATE_SILENCE ? skip_state_cost : 1e9f};
            for (int back = 1; back <= 3 && back <= i; back++)
                if (s->best[i - back] - costs[back] > b) {
                    b = s->best[i - back] - costs[back];
                    from[i] = (uint8_t)back;
                }
            if (t == 0)
                b = i == 0 ? 0 : never;
            s->best[i] = b < 0.5f * never ? never : b + gain[state[i]];
        }
    }
    for (int t = frames - 1, i = length - 1; t >= 0; t--) {
        s->path[t] = state[i];
        i -= s->from[(size_t)t * (size_t)length + (size_t)i];
    }
}

/* Mean gain of the sound, and of the worst stretch of it. Sound that the path takes for a silence between
 * words counts, too: a wrong text would hide there. */
static void judge(const FitScratch *s, Fit *fit, const Listening *l, int64_t begin, int frames, int states)
{
    double sum = 0, window = 0, worst = HUGE_VAL;
    float held[WORST_FRAMES / 2] = {0};
    int n = 0, first = -1, last = -1;
    for (int t = 0; t < frames; t++) {
        const int64_t level = 2 * (begin + t);
        if (s->path[t] == STATE_SILENCE && (l->quiet[level] || l->quiet[level + 1]))
            continue;
        const float gain = s->scores[(size_t)t * (size_t)states + s->path[t]];
        float *oldest = &held[n % (WORST_FRAMES / 2)];
        if (s->path[t] != STATE_SILENCE) {
            first = first < 0 ? t : first;
            last = t;
        }
        sum += (double)gain;
        window += (double)gain - (double)*oldest;
        *oldest = gain;
        n++;
        if (n >= WORST_FRAMES / 2)
            worst = fmin(worst, window / (WORST_FRAMES / 2));
    }
    fit->score = n ? fmaxf((float)(sum / n), FIT_NEVER + 0.1f) : FIT_NEVER;
    fit->worst = isfinite(worst) ? (float)worst : fit->score;
    fit->begin = begin + (first < 0 ? 0 : first);
    fit->end = begin + (last < 0 ? frames : last + 1);
}

int fit_unit(FitScratch *s, Fit *fit, const Listening *l, const PhoneModels *m, const Chain *c, int text,
             const Found *where, Err *err)
{
    const int length = (int)(c->first[text + 1] - c->first[text]);
    const int64_t span = where->end - where->begin;
    const uint16_t *state = c->states + c->first[text];
    *fit = (Fit){FIT_NEVER, FIT_NEVER, where->begin, where->end};
    if (length == 0 || span > SPAN_MOST || span * 3 < length)
        return 0;
    const int frames = (int)span;
    if (make_room(s, (size_t)frames, (size_t)length, (size_t)m->states))
        return err_set(err, ERR_NOMEM, "no memory to fit a text of %d states", length);
    for (int t = 0; t < frames; t += SCORE_FRAMES)
        phone_models_score(m, l, where->begin + t, frames - t < SCORE_FRAMES ? frames - t : SCORE_FRAMES,
                           s->scores + (size_t)t * (size_t)m->states);
    search(s, state, length, frames, m->states);
    if (s->best[length - 1] < 0.5f * never)
        return 0;
    judge(s, fit, l, where->begin, frames, m->states);
    return 0;
}
