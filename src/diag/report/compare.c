/* compare.c - see compare.h: the arithmetic. What is said about it is in compare_report.c. */
#include "diag/report/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"

#define MOST_PIECES 20
#define LEAST_PIECES 4
#define PIECE_LEAST 12 /* values of a piece */
/* Pieces of slow swings still lean on their neighbours. With this, equal runs are called different in less
 * than 5 of 100. */
#define MARGIN 1.2
#define DRAWS 4000
#define DRAW_SEED 0x636f6d7061726532ull /* always the same draws: the same logs give the same words */
#define AS_GOOD 0.97                    /* of the highest speed: a batch size that reaches it is enough */
#define NORMAL_975 1.959963984540054

/* A stretch of a run, as sums: pieces are drawn and added up thousands of times. */
typedef struct Piece {
    double n, sum, squares; /* squares: of the distance from the run's mean, so that nothing cancels */
} Piece;

typedef struct Pieces {
    Piece p[MOST_PIECES];
    int count;
    double centre;
} Pieces;

/* Cuts a series into pieces of equal length. Neighbours in a run are alike; pieces of it are much less so. */
static void cut(Pieces *out, const double *x, size_t n)
{
    size_t k = n / PIECE_LEAST;
    double sum = 0;
    k = k < LEAST_PIECES ? LEAST_PIECES : k > MOST_PIECES ? MOST_PIECES : k;
    k = k > n ? n : k;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    *out = (Pieces){.count = (int)k, .centre = n ? sum / (double)n : 0};
    for (size_t j = 0; j < k; j++)
        for (size_t i = n * j / k; i < n * (j + 1) / k; i++) {
            double d = x[i] - out->centre;
            out->p[j].n++;
            out->p[j].sum += d;
            out->p[j].squares += d * d;
        }
}

/* The run as it is. */
static Piece all_of(const Pieces *x)
{
    Piece t = {0};
    for (int i = 0; i < x->count; i++) {
        t.n += x->p[i].n;
        t.sum += x->p[i].sum;
        t.squares += x->p[i].squares;
    }
    return t;
}

/* A run of as many pieces, drawn with replacement: the bootstrap. */
static Piece draw(const Pieces *x, Rng *rng)
{
    Piece t = {0};
    for (int i = 0; i < x->count; i++) {
        const Piece *p = &x->p[rng_below(rng, (uint64_t)x->count)];
        t.n += p->n;
        t.sum += p->sum;
        t.squares += p->squares;
    }
    return t;
}

/* Mean, or deviation over mean. */
static double value_of(CompareWhat what, const Pieces *x, Piece t)
{
    if (t.n < 1)
        return (double)NAN;
    double mean = x->centre + t.sum / t.n, variance = t.squares / t.n - (t.sum / t.n) * (t.sum / t.n);
    return what == COMPARE_VARIATION ? sqrt(fmax(variance, 0)) / mean : mean;
}

/* Ratios are drawn on a logarithmic scale: twice and half are equally far from 1. */
static double change_of(CompareWhat what, double a, double b)
{
    return what == COMPARE_DIFFERENCE ? b - a : a > 0 && b > 0 ? log(b / a) : (double)NAN;
}

/* Student's t for 97.5 % with `freedom` degrees: the expansion about the normal distribution (Abramowitz and
 * Stegun 26.7.5). */
static double student_975(double freedom)
{
    double z = NORMAL_975, z2 = z * z, v = freedom;
    return z + z * (z2 + 1) / (4 * v) + z * ((5 * z2 + 16) * z2 + 3) / (96 * v * v) +
           z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / (384 * v * v * v);
}

/* The interval of the drawn changes, widened for few pieces. */
int compare_samples(Comparison *c, CompareWhat what, const double *a, size_t na, const double *b, size_t nb,
                    Err *err)
{
    Pieces x, y;
    cut(&x, a, na);
    cut(&y, b, nb);
    double here = (double)NAN;
    *c = (Comparison){.what = what, .a = value_of(what, &x, all_of(&x)), .b = value_of(what, &y, all_of(&y))};
    here = change_of(what, c->a, c->b);
    c->change = what == COMPARE_DIFFERENCE ? here : exp(here);
    c->low = c->high = (double)NAN;
    if (!isfinite(here) || na < COMPARE_LEAST || nb < COMPARE_LEAST)
        return 0;
    double *drawn = mem_calloc(DRAWS, sizeof *drawn);
    if (!drawn)
        return err_set(err, ERR_NOMEM, "no memory to compare runs");
    Rng rng;
    size_t n = 0;
    rng_seed(&rng, DRAW_SEED);
    for (int i = 0; i < DRAWS; i++) {
        double from = value_of(what, &x, draw(&x, &rng)), to = value_of(what, &y, draw(&y, &rng)),
               v = change_of(what, from, to);
        if (isfinite(v))
            drawn[n++] = v;
    }
    int fewer = x.count < y.count ? x.count : y.count;
    /* Few pieces: the bootstrap alone would be too sure of itself. */
    double wider = student_975(fewer - 1) / NORMAL_975 * sqrt((double)fewer / (fewer - 1)) * MARGIN;
    double low = here + (stats_percentile(drawn, n, 0.025) - here) * wider,
           high = here + (stats_percentile(drawn, n, 0.975) - here) * wider;
    free(drawn);
    if (n < DRAWS / 2)
        return 0;
    /* The measured change lies in its own interval. */
    low = fmin(low, here);
    high = fmax(high, here);
    c->sure = low > 0 ? 1 : high < 0 ? -1 : 0;
    c->low = what == COMPARE_DIFFERENCE ? low : exp(low);
    c->high = what == COMPARE_DIFFERENCE ? high : exp(high);
    return 0;
}

/* A member of the lines, those that have it. The first line is left out where there are enough: it also
 * counts the filling. */
static size_t member_of(double *out, const RunRecord *r, size_t member)
{
    size_t n = 0;
    size_t from = r->line_from;
    for (size_t i = from + (r->line_count - from > 3); i < r->line_count; i++) {
        double v = *(const double *)(const void *)((const char *)&r->lines[i] + member);
        if (isfinite(v))
            out[n++] = v;
    }
    return n;
}

/* One number of every line of both logs. */
static int compare_member(Comparison *c, CompareWhat what, const RunRecord *a, const RunRecord *b,
                          size_t member, Err *err)
{
    double *x = mem_calloc(a->line_count + b->line_count + 1, sizeof *x);
    if (!x)
        return err_set(err, ERR_NOMEM, "no memory to compare runs");
    size_t na = member_of(x, a, member), nb = member_of(x + na, b, member);
    int rc = compare_samples(c, what, x, na, x + na, nb, err);
    free(x);
    return rc;
}

/* A number that each run has only once: there is a change, but nothing to be sure by. */
static Comparison once(double a, double b)
{
    return (Comparison){.what = COMPARE_MEAN,
                        .a = a,
                        .b = b,
                        .change = a > 0 && b > 0 ? b / a : (double)NAN,
                        .low = (double)NAN,
                        .high = (double)NAN};
}

/* Mean of the line's loss and the two before it: a single line wobbles. */
static double smooth_loss(const RunRecord *r, size_t i)
{
    double sum = 0;
    size_t from = i >= 2 ? i - 2 : 0;
    for (size_t k = from; k <= i; k++)
        sum += r->lines[k].loss;
    return sum / (double)(i - from + 1);
}

/* Of the smoothed curve. */
static double lowest_loss(const RunRecord *r)
{
    double lowest = (double)NAN;
    for (size_t i = 0; i < r->line_count; i++) {
        double v = smooth_loss(r, i);
        if (isfinite(v) && !(v >= lowest))
            lowest = v;
    }
    return lowest;
}

/* Seconds until the smoothed loss first falls to the target; NaN: it does not. */
static double reach(const RunRecord *r, double target, int64_t *step)
{
    *step = -1;
    for (size_t i = 0; i < r->line_count; i++)
        if (smooth_loss(r, i) <= target) {
            *step = r->lines[i].step;
            return r->lines[i].seconds;
        }
    return (double)NAN;
}

/* What the first steps of a run cost (graphs, caches, buffers that grow) is not its speed. */
static size_t skip_of(const RunRecord *r, int64_t skip)
{
    size_t n = r->time_count - r->time_from, most = n > COMPARE_LEAST ? n - COMPARE_LEAST : 0;
    size_t wanted = skip >= 0 ? (size_t)skip : n / 10 < 100 ? n / 10 : 100;
    return r->time_from + (wanted < most ? wanted : most);
}

/* Logs without step times cannot be compared. */
static int has_steps(const RunRecord *r, Err *err)
{
    if (r->time_count > r->time_from)
        return 0;
    err_set(err, ERR_DATA, "%s has no step times", r->path);
    return err_hint(err, "a run writes its first line after log_step steps; check that this is the log.jsonl "
                         "of `myxtts train`");
}

/* The run's folder, its end where it is long. */
static void name_of(char out[128], const RunRecord *r)
{
    size_t n = strlen(r->path), tail = strlen("/log.jsonl");
    n = n > tail && strcmp(r->path + n - tail, "/log.jsonl") == 0 ? n - tail : n;
    snprintf(out, 128, "%s%.*s", n > 120 ? "..." : "", (int)(n > 120 ? 120 : n),
             r->path + (n > 120 ? n - 120 : 0));
}

/* Row by row: times, then what the lines say, then how soon the loss was reached. */
int compare_runs(Compare *c, const RunRecord *a, const RunRecord *b, int64_t skip, double target, Err *err)
{
    *c = (Compare){.a = a, .b = b};
    name_of(c->name_a, a);
    name_of(c->name_b, b);
    int rc = has_steps(a, err) || has_steps(b, err) ? ERR_DATA : 0;
    if (rc)
        return rc;
    c->skip_a = skip_of(a, skip);
    c->skip_b = skip_of(b, skip);
    const double *x = a->times + c->skip_a, *y = b->times + c->skip_b;
    size_t nx = a->time_count - c->skip_a, ny = b->time_count - c->skip_b;
    Comparison *row = c->rows, batch;
    rc = compare_samples(&batch, COMPARE_MEAN, x, nx, y, ny, err);
    if (!rc)
        rc = compare_samples(&row[COMPARE_SPREAD], COMPARE_VARIATION, x, nx, y, ny, err);
    if (rc)
        return rc;
    /* A step is all batches of its accumulation; a batch is what was timed. */
    double steps = (double)b->accumulation / (double)a->accumulation, ca = run_record_clips(a),
           cb = run_record_clips(b);
    Comparison *s = &row[COMPARE_STEP], *t = &row[COMPARE_THROUGHPUT];
    *s = batch;
    s->a *= (double)a->accumulation;
    s->b *= (double)b->accumulation;
    s->change *= steps;
    s->low *= steps;
    s->high *= steps;
    s->sure = s->low > 1 ? 1 : s->high < 1 ? -1 : 0;
    *t = once(1e3 * ca / batch.a, 1e3 * cb / batch.b);
    t->low = cb / ca / batch.high;
    t->high = cb / ca / batch.low;
    t->sure = t->low > 1 ? 1 : t->high < 1 ? -1 : 0;
    /* The rows that come from the lines of the logs. */
    static const struct {
        CompareRow row;
        CompareWhat what;
        size_t member;
    } lines[] = {{COMPARE_FRAMES, COMPARE_MEAN, offsetof(RunLine, frames_per_s)},
                 {COMPARE_WAIT, COMPARE_DIFFERENCE, offsetof(RunLine, wait_share)},
                 {COMPARE_BUSY, COMPARE_DIFFERENCE, offsetof(RunLine, busy_share)},
                 {COMPARE_UTILISATION, COMPARE_DIFFERENCE, offsetof(RunLine, gpu_utilisation)},
                 {COMPARE_PADDING, COMPARE_DIFFERENCE, offsetof(RunLine, padding_share)}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines && !rc; i++)
        rc = compare_member(&row[lines[i].row], lines[i].what, a, b, lines[i].member, err);
    if (rc)
        return rc;
    const RunLine *la = a->line_count ? &a->lines[a->line_count - 1] : NULL,
                  *lb = b->line_count ? &b->lines[b->line_count - 1] : NULL;
    row[COMPARE_MEMORY] = once(la ? la->model_bytes : (double)NAN, lb ? lb->model_bytes : (double)NAN);
    row[COMPARE_LOSS] = once(la ? la->loss : (double)NAN, lb ? lb->loss : (double)NAN);
    /* The target that both have reached, unless one is given. */
    double ra = lowest_loss(a), rb = lowest_loss(b);
    c->target = isfinite(target) ? target : isfinite(ra) && isfinite(rb) ? fmax(ra, rb) : (double)NAN;
    double sa = reach(a, c->target, &c->target_step_a), sb = reach(b, c->target, &c->target_step_b);
    row[COMPARE_TIME_TO_LOSS] = once(sa, sb);
    c->verdict_sure = isfinite(t->change) ? t->sure : -s->sure;
    return 0;
}

/* ---- scaling ---- */

/* Ascending batch size. */
static int by_batch(const void *a, const void *b)
{
    double x = ((const ScalingRun *)a)->batch, y = ((const ScalingRun *)b)->batch;
    return (x > y) - (x < y);
}

/* Slope of memory over batch size, by least squares. */
static double slope_of_bytes(const Scaling *s)
{
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int i = 0; i < s->count; i++) {
        double x = s->runs[i].batch, y = s->runs[i].bytes;
        if (isfinite(y)) {
            n++;
            sx += x;
            sy += y;
            sxx += x * x;
            sxy += x * y;
        }
    }
    double spread = n * sxx - sx * sx;
    return n >= 2 && spread > 1e-9 ? (n * sxy - sx * sy) / spread : (double)NAN;
}

/* Speed of one run with its interval, and what goes with it. */
static int measure(ScalingRun *r, int64_t skip, Err *err)
{
    if (has_steps(r->run, err))
        return ERR_DATA;
    name_of(r->name, r->run);
    r->batch = run_record_clips(r->run);
    if (!(r->batch > 0))
        return err_set(err, ERR_DATA, "%s does not record its batch size", r->run->path);
    size_t from = skip_of(r->run, skip), n = r->run->time_count - from;
    const double *x = r->run->times + from;
    Comparison spread;
    int rc = compare_samples(&r->step_ms, COMPARE_MEAN, x, n, x, n, err);
    if (!rc)
        rc = compare_samples(&spread, COMPARE_VARIATION, x, n, x, n, err);
    if (rc)
        return rc;
    /* A run against itself: two draws, so the width is sqrt(2) times that of its mean. */
    double half =
        isfinite(r->step_ms.low) ? (log(r->step_ms.high) - log(r->step_ms.low)) / 2 / sqrt(2) : (double)NAN;
    r->clips_per_s = 1e3 * r->batch / r->step_ms.a;
    r->low = r->clips_per_s * exp(-half);
    r->high = r->clips_per_s * exp(half);
    r->variation = spread.a;
    r->wait_share = run_record_mean(r->run, offsetof(RunLine, wait_share));
    r->busy_share = run_record_mean(r->run, offsetof(RunLine, busy_share));
    r->utilisation = run_record_mean(r->run, offsetof(RunLine, gpu_utilisation));
    r->bytes = r->run->line_count ? r->run->lines[r->run->line_count - 1].model_bytes : (double)NAN;
    return 0;
}

/* From the smallest batch to the largest; `enough` is the smallest that is as fast as the best. */
int scaling_runs(Scaling *s, const RunRecord *runs, int n, int64_t skip, Err *err)
{
    *s = (Scaling){.bytes_per_clip = (double)NAN};
    s->runs = mem_calloc((size_t)n, sizeof *s->runs);
    if (!s->runs)
        return err_set(err, ERR_NOMEM, "no memory for %d runs", n);
    for (int i = 0; i < n; i++) {
        s->runs[i].run = &runs[i];
        int rc = measure(&s->runs[i], skip, err);
        if (rc)
            return rc;
    }
    s->count = n;
    qsort(s->runs, (size_t)n, sizeof *s->runs, by_batch);
    for (int i = 0; i < n; i++) {
        ScalingRun *r = &s->runs[i];
        r->linear = r->clips_per_s / s->runs[0].clips_per_s / (r->batch / s->runs[0].batch);
        s->best = r->clips_per_s > s->runs[s->best].clips_per_s ? i : s->best;
    }
    s->enough = s->best;
    /* As fast, or not to be told apart from it. */
    for (int i = s->best; i-- > 0;) {
        const ScalingRun *r = &s->runs[i], *top = &s->runs[s->best];
        if (r->clips_per_s >= AS_GOOD * top->clips_per_s || (isfinite(r->high) && r->high >= top->low))
            s->enough = i;
    }
    s->bytes_per_clip = slope_of_bytes(s);
    return 0;
}

void scaling_close(Scaling *s)
{
    free(s->runs);
    *s = (Scaling){0};
}
