/* rank_doctor.c - see rank_doctor.h. */
#include "diag/ranks/rank_doctor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/plural.h"
#include "base/words/words.h"
#include "diag/pipeline/doctor.h"
#include "diag/report/thresholds.h"

#define FEWEST_STEPS 8 /* in common */
#define DRAWS 8        /* typical ranks that are put in the place of a slow one */
#define SURE 3.0       /* standard errors */
#define STALL_SURE 1.0 /* for a rank whose own doctor sees a stall: few long steps have a large error */
#define EXPLAINS 0.25  /* of the waiting: a stage that takes so much longer may be the reason */
/* A host is named if that explains so much more than its slowest rank alone. */
#define MORE_OF_IT 1.5

const char *ranks_fault_name(RanksFault f)
{
    static const char *const names[] = {
        [RANKS_WELL] = "none",      [RANKS_SLOW_RANK] = "rank", [RANKS_SLOW_HOST] = "host",
        [RANKS_SLOW_LINK] = "link", [RANKS_SLOW_DATA] = "data",
    };
    return names[f];
}

void ranks_verdict_close(RanksVerdict *v)
{
    free(v->rows);
    *v = (RanksVerdict){0};
}

/* What is worked on: the steps that all ranks have. */
typedef struct Work {
    const RankFacts **f; /* [n], by rank */
    int n;
    int64_t from, steps; /* number of the first, and how many */
    float *arrive;       /* [n][steps] from the end of the step before to this rank's last gradient */
    float *slowest;      /* [steps] the latest of them */
    double *more;        /* [n] later that this rank would come if no other one were slow */
    double *scratch;     /* [n] */
    char *in;            /* [n] 1: of the group that is looked at */
    double exposed;      /* mean communication that is not hidden */
    double period;       /* mean step */
} Work;

static void work_close(Work *w)
{
    free(w->f);
    free(w->arrive);
    free(w->slowest);
    free(w->more);
    free(w->scratch);
    free(w->in);
}

static double mean_arrival(const Work *w, int r)
{
    double sum = 0;
    for (int64_t k = 0; k < w->steps; k++)
        sum += (double)w->arrive[r * w->steps + k];
    return sum / (double)w->steps;
}

static int by_rank(const void *a, const void *b)
{
    const RankFacts *const *x = a, *const *y = b;
    return (*x)->rank < (*y)->rank ? -1 : (*x)->rank > (*y)->rank;
}

static int work_open(Work *w, const RankFacts *facts, int n, Err *err)
{
    int64_t from = INT64_MIN, to = INT64_MAX;
    *w = (Work){.n = n};
    for (int r = 0; r < n; r++) {
        int64_t end = facts[r].first + facts[r].steps;
        from = facts[r].first > from ? facts[r].first : from;
        to = end < to ? end : to;
    }
    w->from = from;
    w->steps = to - from;
    if (n < 1 || w->steps < FEWEST_STEPS)
        return err_set(err, ERR_DATA, "%d rank%s have only %lld steps in common, too few to judge", n,
                       plural((uint64_t)n), (long long)(to > from ? to - from : 0));
    w->f = mem_calloc((size_t)n, sizeof *w->f);
    w->arrive = mem_calloc((size_t)n * (size_t)w->steps, sizeof *w->arrive);
    w->slowest = mem_calloc((size_t)w->steps, sizeof *w->slowest);
    w->more = mem_calloc((size_t)n, sizeof *w->more);
    w->scratch = mem_calloc((size_t)n, sizeof *w->scratch);
    w->in = mem_calloc((size_t)n, 1);
    if (!w->f || !w->arrive || !w->slowest || !w->more || !w->scratch || !w->in) {
        work_close(w);
        return err_set(err, ERR_NOMEM, "no memory to judge %d ranks", n);
    }
    for (int r = 0; r < n; r++)
        w->f[r] = &facts[r];
    qsort(w->f, (size_t)n, sizeof *w->f, by_rank);
    for (int64_t k = 0; k < w->steps; k++) {
        double least = INFINITY;
        for (int r = 0; r < n; r++) {
            const RankFacts *f = w->f[r];
            int64_t i = from + k - f->first;
            float a = f->wait[i] + f->own[i];
            w->arrive[r * w->steps + k] = a;
            w->slowest[k] = fmaxf(w->slowest[k], a);
            least = fmin(least, (double)f->sum[i]);
            w->period += (double)(a + f->sum[i]) / n / (double)w->steps;
        }
        w->exposed += least / (double)w->steps;
    }
    /* While it waits for a slower one, a rank gets batches in stock: how slow its data are does not show. */
    for (int r = 0; r < n; r++)
        w->more[r] = fmax(0, w->f[r]->data - mean_arrival(w, r));
    return 0;
}

/* Mean of a rank over the steps in common. */
static double mean_of(const Work *w, int r, const float *x)
{
    int64_t first = w->from - w->f[r]->first;
    double sum = 0;
    for (int64_t k = 0; k < w->steps; k++)
        sum += (double)x[first + k];
    return sum / (double)w->steps;
}

static double mean_slowest(const Work *w)
{
    double sum = 0;
    for (int64_t k = 0; k < w->steps; k++)
        sum += (double)w->slowest[k];
    return sum / (double)w->steps;
}

/* --- who is slow --- */

typedef enum { VALUE_ARRIVAL, VALUE_WAIT, VALUE_OWN, VALUE_STAGE } ValueKind;

static double value_of(const Work *w, int r, ValueKind kind, int stage)
{
    switch (kind) {
    case VALUE_ARRIVAL:
        return mean_arrival(w, r);
    case VALUE_WAIT: /* and what does not show: see work_open */
        return mean_of(w, r, w->f[r]->wait) + w->more[r];
    case VALUE_OWN:
        return mean_of(w, r, w->f[r]->own);
    case VALUE_STAGE:
        break;
    }
    return w->f[r]->stage[stage];
}

/* The median over the ranks inside the group, or outside of it. */
static double typical(const Work *w, int inside, ValueKind kind, int stage)
{
    size_t n = 0;
    for (int r = 0; r < w->n; r++)
        if (w->in[r] == inside)
            w->scratch[n++] = value_of(w, r, kind, stage);
    return n ? stats_percentile(w->scratch, n, 0.5) : 0;
}

/* Steps with typical ranks in the place of the group's: at other moments, so that what varies by chance still
 * varies. Returns what is gained in seconds per step; *error: its standard error. */
static double replace_group(const Work *w, double *error)
{
    int outside = 0;
    for (int r = 0; r < w->n; r++)
        outside += !w->in[r];
    *error = INFINITY;
    if (!outside || outside == w->n)
        return 0;
    Stats gained = {0};
    for (int64_t k = 0; k < w->steps; k++) {
        float others = 0;
        for (int r = 0; r < w->n; r++)
            if (!w->in[r])
                others = fmaxf(others, w->arrive[r * w->steps + k] + (float)w->more[r]);
        double sum = 0;
        for (int d = 0; d < DRAWS; d++) {
            float slowest = others;
            for (int r = 0, drawn = d; r < w->n; r++) {
                if (!w->in[r])
                    continue;
                /* The next one outside, some steps further on. */
                int other = drawn++ % outside;
                for (int q = 0; q <= other; q++)
                    other += w->in[q];
                int64_t at = (k + (d + 1) * (w->steps / (DRAWS + 1)) + r) % w->steps;
                slowest = fmaxf(slowest, w->arrive[other * w->steps + at] + (float)w->more[other]);
            }
            sum += (double)slowest / DRAWS;
        }
        stats_add(&gained, (double)w->slowest[k] - sum);
    }
    *error = stats_std(&gained) / sqrt((double)w->steps);
    return gained.mean;
}

/* Puts a rank, or its host, into the group. */
static void choose_group(Work *w, int rank, int host)
{
    for (int r = 0; r < w->n; r++)
        w->in[r] = host ? strcmp(w->f[r]->host, w->f[rank]->host) == 0 : r == rank;
}

/* The rank (or host) with the most to gain; -1: none is slower than chance explains. */
static int find_slow(Work *w, int host, double *gained)
{
    int found = -1;
    double limit = threshold(LIMIT_LATE)->bad;
    *gained = 0;
    for (int r = 0; r < w->n; r++) {
        double error;
        int stalls = w->f[r]->cause == CAUSE_STALL || w->f[r]->cause == CAUSE_OUTLIERS;
        choose_group(w, r, host);
        double now = replace_group(w, &error);
        if (now > *gained && now > (stalls ? STALL_SURE : SURE) * error && now > limit * (w->period - now)) {
            *gained = now;
            found = r;
        }
    }
    return found;
}

/* --- why --- */

/* The stage that takes longer in the group than outside, and why. */
static void name_stage(RanksVerdict *v, const Work *w, int rank)
{
    const RankFacts *f = w->f[rank];
    double wait = typical(w, 1, VALUE_WAIT, 0) - typical(w, 0, VALUE_WAIT, 0);
    double own = typical(w, 1, VALUE_OWN, 0) - typical(w, 0, VALUE_OWN, 0), most = 0;
    v->stage = STAGE_STEP;
    for (int s = 0; s < STAGE_STEP && wait > own; s++) {
        double more = f->stage[s] < 0 ? 0 : typical(w, 1, VALUE_STAGE, s) - typical(w, 0, VALUE_STAGE, s);
        if (more > most) {
            most = more;
            v->stage = s;
        }
    }
    /* Waiting that no stage explains is what the rank's own doctor says it is. */
    if (wait > own && most < EXPLAINS * wait && f->named >= 0)
        v->stage = f->named;
    v->cause = stage_info((StageId)v->stage)->cause;
    if (f->named == v->stage && f->cause != CAUSE_NONE &&
        !(v->stage == STAGE_READ && f->cause == CAUSE_WORKERS)) {
        v->cause = (Cause)f->cause;
        v->period = f->period;
    }
}

/* All ranks wait for their data alike: what most of them name. */
static void name_data(RanksVerdict *v, const Work *w)
{
    int votes[STAGE_COUNT] = {0}, best = -1;
    for (int r = 0; r < w->n; r++)
        if (w->f[r]->named >= 0 && w->f[r]->named < STAGE_STEP)
            votes[w->f[r]->named]++;
    for (int s = 0; s < STAGE_STEP; s++)
        if (votes[s] > 0 && (best < 0 || votes[s] > votes[best]))
            best = s;
    if (best < 0)
        return;
    v->fault = RANKS_SLOW_DATA;
    v->stage = best;
    for (int r = w->n - 1; r >= 0; r--)
        if (w->f[r]->named == best) {
            v->cause = (Cause)w->f[r]->cause;
            v->period = w->f[r]->period;
        }
}

/* --- what would help --- */

static RanksGain *new_gain(RanksVerdict *v, double predicted, double per_rank)
{
    ASSERT_CMP(v->gain_count, <, RANKS_MOST_GAINS);
    RanksGain *g = &v->gains[v->gain_count++];
    g->predicted = predicted;
    g->per_rank = per_rank;
    return g;
}
/* The sentence names the change. */
#define ADD_GAIN(v, predicted, per_rank, id, ...) \
    say(new_gain(v, predicted, per_rank)->change, sizeof(v)->gains[0].change, id, ##__VA_ARGS__)

/* Communication that is not hidden if the sums take `factor` times as long and the ranks' own work takes
 * `longer` times as long: what was measured, moved by what the model says of the change. */
static double exposed_with(const Work *w, double factor, double longer)
{
    Exchange now = w->f[0]->exchange, then = now;
    double own = mean_slowest(w);
    if (!(now.seconds > 0) || now.buckets < 1) /* nothing is known of what is hidden */
        return w->exposed * factor;
    then.seconds *= factor;
    double change = exchange_exposed(&then, longer * own) - exchange_exposed(&now, own);
    return fmin(fmax(0, w->exposed + change), w->exposed + then.seconds);
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* With the faster half of the ranks. */
static void gain_of_half(RanksVerdict *v, const Work *w)
{
    int half = w->n / 2;
    if (half < 1)
        return;
    for (int r = 0; r < w->n; r++)
        w->scratch[r] = mean_arrival(w, r) + w->more[r];
    qsort(w->scratch, (size_t)w->n, sizeof *w->scratch, by_value);
    double border = w->scratch[half - 1], own = 0;
    for (int64_t k = 0; k < w->steps; k++) {
        float slowest = 0;
        for (int r = 0; r < w->n; r++)
            if (mean_arrival(w, r) + w->more[r] <= border)
                slowest = fmaxf(slowest, w->arrive[r * w->steps + k] + (float)w->more[r]);
        own += (double)slowest / (double)w->steps;
    }
    double bytes = half > 1 ? (half - 1.0) / half / ((w->n - 1.0) / w->n) : 0;
    own *= (w->period - w->exposed) / mean_slowest(w);
    double then = own + exposed_with(w, bytes, 1);
    RanksGain *g = new_gain(v, 0.5 * w->period / then, w->period / then);
    say_count(g->change, sizeof g->change, SAY_RANKS_GAIN_HALF, half, half, w->n);
}

static void add_gains(RanksVerdict *v, Work *w, int slow, double gained)
{
    double own = w->period - w->exposed, n = w->n;
    if (slow >= 0) {
        double then = w->period / (w->period - gained);
        int group = 0;
        for (int r = 0; r < w->n; r++)
            group += w->in[r];
        if (v->rank >= 0) {
            ADD_GAIN(v, then, then, SAY_RANKS_GAIN_RANK, v->rank);
            ADD_GAIN(v, then * (n - 1) / n, then, SAY_RANKS_GAIN_NO_RANK, v->rank);
        } else {
            ADD_GAIN(v, then, then, SAY_RANKS_GAIN_HOST, v->host);
            ADD_GAIN(v, then * (n - group) / n, then, SAY_RANKS_GAIN_NO_HOST, v->host);
        }
    }
    double link = w->period / (own + exposed_with(w, 0.5, 1));
    double batch = 2 * w->period / (2 * own + exposed_with(w, 1, 2));
    if (w->n > 1) {
        ADD_GAIN(v, link, link, SAY_RANKS_GAIN_LINK);
        ADD_GAIN(v, batch, batch, SAY_RANKS_GAIN_BATCH);
        gain_of_half(v, w);
    }
}

/* --- words --- */

/* How a rank waits for a stage, and what the stage does: "waits for its disk: reading takes". */
static const struct {
    Word one, many, work;
} stage_words[STAGE_SUM] = {
    [STAGE_READ] = {SAY_RANKS_READ_ONE, SAY_RANKS_READ_MANY, SAY_RANKS_READ_WORK},
    [STAGE_DECODE] = {SAY_RANKS_DECODE_ONE, SAY_RANKS_DECODE_MANY, SAY_RANKS_DECODE_WORK},
    [STAGE_H2D] = {SAY_RANKS_H2D_ONE, SAY_RANKS_H2D_MANY, SAY_RANKS_COPY_WORK},
    [STAGE_PREPROCESS] = {SAY_RANKS_PREPROCESS_ONE, SAY_RANKS_PREPROCESS_MANY, SAY_RANKS_PREPROCESS_WORK},
    [STAGE_PEER] = {SAY_RANKS_PEER_ONE, SAY_RANKS_PEER_MANY, SAY_RANKS_COPY_WORK},
    [STAGE_STEP] = {SAY_RANKS_STEP_ONE, SAY_RANKS_STEP_MANY, SAY_RANKS_STEP_WORK},
};

static void write_slow(RanksVerdict *v, const Work *w, double gained)
{
    char who[200];
    char *out = v->sentence;
    const size_t cap = sizeof v->sentence;
    const int many = v->fault == RANKS_SLOW_HOST;
    const ValueKind kind = v->stage == STAGE_STEP ? VALUE_OWN : VALUE_STAGE;
    int group = 0;
    for (int r = 0; r < w->n; r++)
        group += w->in[r];
    if (many)
        say(who, sizeof who, SAY_RANKS_HOST, group, v->host);
    else
        say(who, sizeof who, SAY_RANKS_ONE, v->rank, v->host);
    ASSERT_CMP(v->stage, <, STAGE_SUM);
    say(out, cap, SAY_RANKS_SLOW, who, word(many ? stage_words[v->stage].many : stage_words[v->stage].one),
        word(stage_words[v->stage].work), 1e3 * typical(w, 1, kind, v->stage),
        1e3 * typical(w, 0, kind, v->stage));
    if (v->cause == CAUSE_STALL && v->period)
        say_more(out, cap, SAY_RANKS_STALLS, v->period);
    say_more(out, cap, SAY_RANKS_WITHOUT, w->period / (w->period - gained));
}

static void write_sentence(RanksVerdict *v, const Work *w, double gained)
{
    char *out = v->sentence;
    const size_t cap = sizeof v->sentence;
    switch (v->fault) {
    case RANKS_SLOW_RANK:
    case RANKS_SLOW_HOST:
        write_slow(v, w, gained);
        break;
    case RANKS_SLOW_LINK:
        say(out, cap, SAY_RANKS_LINK, 100 * v->hidden_not);
        break;
    case RANKS_SLOW_DATA:
        say(out, cap, SAY_RANKS_DATA, 100 * v->wait_share, stage_name((StageId)v->stage),
            cause_name(v->cause));
        break;
    case RANKS_WELL:
        say(out, cap, SAY_RANKS_WELL, 100 * v->hidden_not, 100 * v->late_share);
        break;
    }
}

static char *new_evidence(RanksVerdict *v)
{
    ASSERT_CMP(v->evidence_count, <, RANKS_MOST_EVIDENCE);
    return v->evidence[v->evidence_count++];
}

static void write_evidence(RanksVerdict *v, const Work *w)
{
    const size_t cap = sizeof v->evidence[0];
    const Exchange *x = &w->f[0]->exchange;
    say_count(new_evidence(v), cap, SAY_RANKS_STEPS, v->hosts, (long long)v->steps, v->ranks, v->hosts,
              1e3 * v->seconds, v->clips_per_s);
    if (x->bytes > 0 && x->seconds > 0)
        say_count(new_evidence(v), cap, SAY_RANKS_SUM, x->buckets, 1e-6 * x->bytes, x->buckets,
                  1e3 * x->seconds, 1e3 * w->exposed);
    else
        say(new_evidence(v), cap, SAY_RANKS_EXPOSED, 1e3 * w->exposed);
    say(new_evidence(v), cap, SAY_RANKS_WAITS, 100 * v->late_share, 100 * v->wait_share);
    say(new_evidence(v), cap, SAY_RANKS_UNEVEN, 100 * v->uneven_share);
}

/* --- the decision --- */

static int count_hosts(const Work *w)
{
    int hosts = 0;
    for (int r = 0; r < w->n; r++) {
        int seen = 0;
        for (int q = 0; q < r && !seen; q++)
            seen = strcmp(w->f[q]->host, w->f[r]->host) == 0;
        hosts += !seen;
    }
    return hosts;
}

static void fill_rows(RanksVerdict *v, Work *w)
{
    double clips = 0, sums = 0, waits = 0, latest = 0;
    memset(w->in, 0, (size_t)w->n);
    double middle = typical(w, 0, VALUE_ARRIVAL, 0);
    for (int r = 0; r < w->n; r++) {
        const RankFacts *f = w->f[r];
        RankRow *row = &v->rows[r];
        *row = (RankRow){.rank = f->rank, .wait = mean_of(w, r, f->wait), .own = mean_of(w, r, f->own)};
        memcpy(row->host, f->host, sizeof row->host);
        memcpy(row->stage, f->stage, sizeof row->stage);
        row->sum = mean_of(w, r, f->sum);
        row->late = mean_arrival(w, r) - middle;
        clips += f->clips;
        sums += row->sum / w->n;
        waits += row->wait / w->n;
        latest = fmax(latest, row->wait + row->own);
    }
    v->ranks = w->n;
    v->hosts = count_hosts(w);
    v->steps = w->steps;
    v->seconds = w->period;
    if (!(w->period > 0))
        return;
    v->clips_per_s = clips / w->period;
    v->hidden_not = w->exposed / w->period;
    v->late_share = fmax(0, sums - w->exposed) / w->period;
    v->wait_share = waits / w->period;
    v->uneven_share = fmax(0, mean_slowest(w) - latest) / w->period;
}

/* The slow rank or host, unless the link costs more. Leaves the group chosen. */
static int choose_fault(RanksVerdict *v, Work *w, double *gained)
{
    double by_host = 0;
    int rank = find_slow(w, 0, gained), host = v->hosts > 1 ? find_slow(w, 1, &by_host) : -1;
    int is_host = host >= 0 && (rank < 0 || by_host > MORE_OF_IT * *gained);
    int slow = is_host ? host : rank;
    *gained = is_host ? by_host : *gained;
    int link = v->hidden_not >= threshold(LIMIT_EXPOSED)->bad;
    if (link && (slow < 0 || w->exposed > *gained)) {
        v->fault = RANKS_SLOW_LINK;
        v->stage = STAGE_SUM;
        v->cause = CAUSE_BANDWIDTH;
        return -1;
    }
    if (slow < 0) {
        if (v->wait_share >= threshold(LIMIT_WAIT)->good)
            name_data(v, w);
        return -1;
    }
    choose_group(w, slow, is_host);
    v->fault = is_host ? RANKS_SLOW_HOST : RANKS_SLOW_RANK;
    v->rank = is_host ? -1 : w->f[slow]->rank;
    memcpy(v->host, w->f[slow]->host, sizeof v->host);
    for (int r = 0; r < w->n; r++)
        v->rows[r].at_fault = w->in[r];
    name_stage(v, w, slow);
    return slow;
}

int ranks_judge(RanksVerdict *v, const RankFacts *facts, int n, Err *err)
{
    *v = (RanksVerdict){.rank = -1, .stage = -1};
    Work w;
    int rc = work_open(&w, facts, n, err);
    if (rc)
        return rc;
    v->rows = mem_calloc((size_t)n, sizeof *v->rows);
    if (!v->rows) {
        work_close(&w);
        return err_set(err, ERR_NOMEM, "no memory to judge %d ranks", n);
    }
    double gained = 0;
    fill_rows(v, &w);
    int slow = choose_fault(v, &w, &gained);
    add_gains(v, &w, slow, gained);
    write_sentence(v, &w, gained);
    write_evidence(v, &w);
    work_close(&w);
    return 0;
}
