/* follow.c - see follow.h. All scores are relative to a path that stays between units from the beginning to
 * the end: so the score of a path between units never changes, and only units near the best are touched. */
#include "corpus/follow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/progress.h"

/* In nats; right text gains about one with every frame. */
static const float skip_cost = 12.0f, /* to leave out a unit */
    jump_cost = 100.0f,               /* to leave out any number */
    skip_state_cost = 2.0f,           /* to leave out the second half of a sound */
    beam = 300.0f,                    /* what is so much worse than the best is given up */
    near_beam = 84.0f,                /* units that begin at every pause; less than jump_cost */
    out_of_reach = -1e30f;
enum {
    LOST_FRAMES = 12 * LISTEN_HZ,     /* of sound without a unit, before the whole text is looked at */
    LOST_PAUSE_MOST = 30 * LISTEN_HZ, /* between two such looks */
    NEAR_UNITS = 100,                 /* after the best, among which those are */
    BORDER = 2,                       /* frames beyond a pause in which a unit may begin or end */
};

/* The end of a unit on a path. */
typedef struct Stop {
    int32_t unit, begin, end, before; /* before: index of the stop before it, -1: none */
} Stop;

typedef struct Follower {
    const Listening *l;
    const PhoneModels *m;
    const Chain *c;
    float stray;             /* what a frame of unexplained sound gains */
    float *score;            /* [states of the chain]: of the best path that is there */
    int32_t *begin, *before; /* where that path entered the unit, and its last stop then */
    uint8_t *active;         /* [units] */
    int *list, listed;       /* the active units */
    double base;             /* what all scores in `score` are relative to */
    double *between;         /* [units + 1]: best path that is between units, before unit i */
    int32_t *between_stop;   /* [units + 1] */
    Stop *stops;
    size_t stop_count, stop_cap;
    double best_between;                /* the best of `between`; what is far below it is given up */
    int best_at;                        /* where that is */
    int low;                            /* units before it are given up */
    int64_t lost, last_look, look_wait; /* frames of sound since the best path ended a unit; ... */
} Follower;

static int open_follower(Follower *f, Err *err)
{
    const size_t n = (size_t)f->c->count + 1, units = (size_t)f->c->units + 1;
    f->score = mem_calloc(n, sizeof *f->score);
    f->begin = mem_calloc(n, sizeof *f->begin);
    f->before = mem_calloc(n, sizeof *f->before);
    f->active = mem_calloc(units, 1);
    f->list = mem_calloc(units, sizeof *f->list);
    f->between = mem_calloc(units, sizeof *f->between);
    f->between_stop = mem_calloc(units, sizeof *f->between_stop);
    if (!f->score || !f->begin || !f->before || !f->active || !f->list || !f->between || !f->between_stop)
        return err_set(err, ERR_NOMEM, "no memory to follow %d units of text", f->c->units);
    for (size_t i = 0; i < n; i++)
        f->score[i] = out_of_reach;
    for (size_t i = 0; i < units; i++) {
        f->between[i] = -fmin(skip_cost * (double)i, jump_cost);
        f->between_stop[i] = -1;
    }
    f->lost = LOST_FRAMES; /* where the recording begins in the text is not known */
    f->look_wait = LISTEN_HZ / 2;
    f->last_look = -f->look_wait;
    return 0;
}

static void close_follower(Follower *f)
{
    free(f->score);
    free(f->begin);
    free(f->before);
    free(f->active);
    free(f->list);
    free(f->between);
    free(f->between_stop);
    free(f->stops);
}

/* One frame of one unit. gain: of each state, relative to between. entry: score of a path that comes in from
 * between, or out_of_reach. Returns the best score in it. */
static float step_unit(Follower *f, int unit, const float *gain, float entry, int32_t frame, int32_t stop)
{
    const int64_t first = f->c->first[unit], last = f->c->first[unit + 1] - 1;
    const uint16_t *state = f->c->states;
    float best = out_of_reach;
    for (int64_t i = last; i >= first; i--) {
        float s = f->score[i], from = i > first ? f->score[i - 1] : entry;
        int64_t source = i;
        if (from > s) {
            s = from;
            source = i - 1;
        }
        if (i >= first + 2) { /* past a silence between words, or the second half of a sound */
            from = f->score[i - 2] - (state[i - 1] == STATE_SILENCE ? 0.0f
                                      : state[i - 1] & 1            ? 1e9f
                                                                    : skip_state_cost);
            if (from > s) {
                s = from;
                source = i - 2;
            }
            /* Past both. */
            if (i >= first + 3 && state[i - 1] == STATE_SILENCE) {
                from = f->score[i - 3] - skip_state_cost;
                if (from > s) {
                    s = from;
                    source = i - 3;
                }
            }
        }
        if (s < 0.5f * out_of_reach)
            continue;
        if (source < first) {
            f->begin[i] = frame;
            f->before[i] = stop;
        } else if (source != i) {
            f->begin[i] = f->begin[source];
            f->before[i] = f->before[source];
        }
        s += gain[state[i]];
        f->score[i] = s;
        best = s > best ? s : best;
    }
    return best;
}

static void forget_unit(Follower *f, int at)
{
    const int unit = f->list[at];
    for (int64_t i = f->c->first[unit]; i < f->c->first[unit + 1]; i++)
        f->score[i] = out_of_reach;
    f->active[unit] = 0;
    f->list[at] = f->list[--f->listed];
}

/* All paths inside of units take a step; at a border others come in. */
static void step_all(Follower *f, const float *gain, int border, float enter_beam, int32_t frame)
{
    if (border) {
        while (f->low < f->c->units && f->between[f->low] < f->best_between - (double)beam)
            f->low++;
        for (int u = f->low; u < f->c->units; u++) {
            if (u > f->best_at + NEAR_UNITS && enter_beam < jump_cost)
                break;
            if (f->between[u] < f->best_between - (double)enter_beam)
                continue;
            if (!f->active[u] && f->c->first[u + 1] > f->c->first[u]) {
                f->active[u] = 1;
                f->list[f->listed++] = u;
            }
        }
    }
    for (int i = f->listed - 1; i >= 0; i--) {
        const int u = f->list[i];
        const int enters = border && f->between[u] >= f->best_between - (double)enter_beam;
        const float entry = enters ? (float)(f->between[u] - f->base) : out_of_reach;
        const float top = step_unit(f, u, gain, entry, frame, f->between_stop[u]);
        if ((double)top + f->base < f->best_between - (double)beam)
            forget_unit(f, i);
    }
    if (f->best_between - f->base > 2000) {
        for (int i = 0; i < f->listed; i++)
            for (int64_t k = f->c->first[f->list[i]]; k < f->c->first[f->list[i] + 1]; k++)
                f->score[k] -= f->score[k] > 0.5f * out_of_reach ? (float)(f->best_between - f->base) : 0.0f;
        f->base = f->best_between;
    }
}

/* Paths that have come to the end of their unit leave it; those that leave out the next ones follow. */
static int leave_units(Follower *f, int32_t frame, Err *err)
{
    for (int i = 0; i < f->listed; i++) {
        const int u = f->list[i];
        const int64_t last = f->c->first[u + 1] - 1;
        const double s = (double)f->score[last] + f->base;
        if (s < f->best_between - (double)beam || s <= f->between[u + 1])
            continue;
        if (mem_grow(&f->stops, &f->stop_cap, f->stop_count + 1, sizeof *f->stops))
            return err_set(err, ERR_NOMEM, "no memory for paths through the text");
        const int32_t stop = (int32_t)f->stop_count++;
        f->stops[stop] = (Stop){u, f->begin[last], frame + 1, f->before[last]};
        double here = s;
        f->low = u + 1 < f->low ? u + 1 : f->low;
        for (int k = u + 1; k <= f->c->units && here > f->between[k]; k++) {
            f->between[k] = here;
            f->between_stop[k] = stop;
            here -= (double)skip_cost;
        }
        if (s > f->best_between) {
            f->best_between = s;
            f->best_at = u + 1;
            f->lost = 0;
            f->look_wait = LISTEN_HZ;
        }
    }
    return 0;
}

/* Nothing has fitted for a while: any later unit may be the next. */
static int look_everywhere(Follower *f, int64_t frame)
{
    if (f->lost < LOST_FRAMES || frame - f->last_look < f->look_wait)
        return 0;
    f->last_look = frame;
    f->look_wait = f->look_wait * 3 / 2 < LOST_PAUSE_MOST ? f->look_wait * 3 / 2 : LOST_PAUSE_MOST;
    f->low = f->best_at < f->low ? f->best_at : f->low;
    for (int k = f->best_at + 1; k <= f->c->units; k++)
        if (f->between[k] < f->best_between - (double)jump_cost) {
            f->between[k] = f->best_between - (double)jump_cost;
            f->between_stop[k] = f->between_stop[f->best_at];
        }
    return 1;
}

/* Frames in which units may begin and end: in pauses and a little beyond them, and where a recording ends. */
static uint8_t *find_borders(const Listening *l)
{
    uint8_t *border = mem_calloc((size_t)l->frames + 1, 1);
    for (int64_t i = 0; border && i < l->pause_count && l->pauses[i].begin < 2 * l->frames; i++) {
        int64_t a = l->pauses[i].begin / 2 - BORDER, b = l->pauses[i].end / 2 + BORDER;
        a = a < 0 ? 0 : a;
        b = b > l->frames ? l->frames : b;
        memset(border + a, 1, (size_t)(b - a));
    }
    for (int i = 0; border && i < l->file_count; i++)
        if (l->files[i].frames > 0 && l->files[i].first + l->files[i].frames <= l->frames)
            border[l->files[i].first] = border[l->files[i].first + l->files[i].frames - 1] = 1;
    return border;
}

static int walk(Follower *f, const uint8_t *border, float *scores, Progress *progress, Err *err)
{
    const int n = f->m->states;
    int file = 0, rc = 0;
    for (int64_t t = 0; t < f->l->frames && !rc; t++) {
        const int at = (int)(t % SCORE_FRAMES);
        float *gain = scores + at * n;
        if (at == 0) {
            const int64_t left = f->l->frames - t;
            phone_models_score(f->m, f->l, t, left < SCORE_FRAMES ? (int)left : SCORE_FRAMES, scores);
        }
        while (file + 1 < f->l->file_count && f->l->files[file + 1].first <= t) {
            file++; /* no unit continues from one recording into the next */
            for (int i = f->listed - 1; i >= 0; i--)
                forget_unit(f, i);
        }
        const float pass = gain[STATE_SILENCE] > f->stray ? gain[STATE_SILENCE] : f->stray;
        for (int s = 0; s < n; s++)
            gain[s] -= pass;
        f->lost += !border[t];
        const int look = border[t] && look_everywhere(f, t);
        step_all(f, gain, border[t], look ? beam : near_beam, (int32_t)t);
        if (border[t])
            rc = leave_units(f, (int32_t)t, err);
        if (t % LISTEN_HZ == 0)
            progress_add(progress, 1);
    }
    return rc;
}

/* From the best end back to the beginning. */
static int trace(Found **found, int *count, const Follower *f, Err *err)
{
    int n = 0;
    int32_t end = f->between_stop[f->best_at];
    for (int32_t s = end; s >= 0; s = f->stops[s].before)
        n++;
    *found = mem_calloc((size_t)n + 1, sizeof **found);
    if (!*found)
        return err_set(err, ERR_NOMEM, "no memory for what was found");
    *count = n;
    for (int32_t s = end; s >= 0; s = f->stops[s].before)
        (*found)[--n] = (Found){f->stops[s].unit, f->stops[s].begin, f->stops[s].end};
    return 0;
}

int follow(Found **found, int *count, const Listening *l, const PhoneModels *m, const Chain *chain,
           float stray, Log *log, Err *err)
{
    Follower f = {.l = l, .m = m, .c = chain, .stray = stray};
    Progress progress;
    uint8_t *border = find_borders(l);
    float *scores = mem_calloc((size_t)SCORE_FRAMES * (size_t)m->states, sizeof *scores);
    *found = NULL;
    *count = 0;
    progress_begin(&progress, log, "the text is followed", "s", (uint64_t)(l->frames / LISTEN_HZ));
    int rc = border && scores ? open_follower(&f, err)
                              : err_set(err, ERR_NOMEM, "no memory to follow %.1f hours of sound",
                                        (double)l->frames / LISTEN_HZ / 3600);
    if (!rc)
        rc = walk(&f, border, scores, &progress, err);
    if (!rc)
        rc = trace(found, count, &f, err);
    progress_end(&progress);
    close_follower(&f);
    free(border);
    free(scores);
    return rc;
}
