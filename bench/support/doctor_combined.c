/* doctor_combined.c - see doctor_combined.h. */
#include "doctor_combined.h"

#define TARGET 0.95
#define LOOK 240     /* batches that the doctor sees, at least */
#define PERIODS 7    /* of a stall, too */
#define RUN_MS 1500. /* of a measurement, at least */
#define MOST_WALLS 8

/* What the doctor says stands in the way. */
typedef struct Wall {
    char stage[16], cause[16];
    double period, alone, so_far;
} Wall;

typedef struct PairResult {
    Pair p;
    Wall walls[MOST_WALLS];
    int wall_count, answered;
    double rate[2][2]; /* utterances/s: [without the first fault][without the second] */
    int close, right, near, swapped;
    double noise;
    char problem[320];
} PairResult;

static int wall_is(const Wall *w, const Fault *f)
{
    int cause = 0;
    for (int i = 0; i < CAUSES; i++)
        cause |= (f->causes >> i & 1) && !strcmp(w->cause, cause_words[i]);
    return cause && !strcmp(w->stage, stage_words[f->stage]) &&
           (!f->period || fabs(w->period - f->period) <= NEAR * f->period);
}

/* Fault 0 as the first wall, or fault 1? */
static int walls_are(const PairResult *r, int first)
{
    return r->wall_count >= 2 && wall_is(&r->walls[0], &r->p.faults[first]) &&
           wall_is(&r->walls[1], &r->p.faults[1 - first]);
}

static void read_walls(PairResult *r, const json_t *answer)
{
    size_t i;
    json_t *w;
    json_array_foreach(json_object_get(answer, "walls"), i, w)
    {
        if (r->wall_count == MOST_WALLS)
            break;
        Wall *to = &r->walls[r->wall_count++];
        snprintf(to->stage, sizeof to->stage, "%s", json_word(w, "stage"));
        snprintf(to->cause, sizeof to->cause, "%s", json_word(w, "cause"));
        to->period = json_at(w, "period_steps", NULL);
        to->alone = json_at(w, "gain_alone", NULL);
        to->so_far = json_at(w, "gain_so_far", NULL);
    }
    r->answered = 1;
}

/* The machine must show the fault several times, and run long enough. */
static int batches_of(const Pair *p, const Machine *m, int least)
{
    double want = fmax(least, RUN_MS / m->period_ms);
    for (int i = 0; i < 2; i++)
        want = fmax(want, PERIODS * p->faults[i].period);
    if (p->kind == LONG_AND_SLOW || p->kind == BUFFERS_AND_SLOW)
        want = fmax(want, LOOK);
    return (int)fmin(want, 400);
}

static int judge_pair(PairResult *r, Judge *j, Err *err)
{
    const Pair *p = &r->p;
    json_t *answer = NULL;
    int rc = ask(&answer, j, &p->with, batches_of(p, &p->with, LOOK), &r->noise, err);
    if (!rc)
        read_walls(r, answer);
    json_decref(answer);
    /* The same batches of all four. */
    const Machine *all[2][2] = {{&p->with, &p->without[1]}, {&p->without[0], &p->sound}};
    int batches = batches_of(p, &p->sound, 100);
    for (int i = 0; i < 4 && !rc; i++) {
        Run run;
        rc = measure(&run, j, all[i / 2][i % 2], batches, NULL, NULL, err);
        r->rate[i / 2][i % 2] = run.utterances;
        r->noise = fmax(r->noise, run.noise);
    }
    if (rc)
        return rc;
    int first = r->rate[1][0] >= r->rate[0][1] ? 0 : 1;
    double truth = r->rate[1][1] / r->rate[0][0];
    r->close = fabs(r->rate[1][0] / r->rate[0][1] - 1) < CLOSE;
    r->swapped = walls_are(r, 1 - first);
    r->right = walls_are(r, first) || (r->close && r->swapped);
    r->near = r->wall_count >= 2 && fabs(r->walls[1].so_far / truth - 1) <= NEAR;
    return 0;
}

static void judge_number(Judge *j, void *arg, int i)
{
    PairResult *r = (PairResult *)arg + i;
    Err err = {0};
    if (judge_pair(r, j, &err))
        snprintf(r->problem, sizeof r->problem, "%.300s", err.msg);
}

/* ---- what came out ---- */

static void print_fault(const Fault *f, double gain)
{
    printf(" %s/", stage_words[f->stage]);
    for (int i = 0, any = 0; i < CAUSES; i++)
        if (f->causes >> i & 1)
            printf("%s%s", any++ ? " or " : "", cause_words[i]);
    if (f->period)
        printf(" every %d", f->period);
    printf(" (%.2f)", gain);
}

/* A machine with what it has, what was measured and what was said. */
static void print_pair(const PairResult *r)
{
    const Machine *m = &r->p.with;
    printf("  %s %d:", pair_kinds[r->p.kind].name, r->p.number);
    print_fault(&r->p.faults[0], r->rate[1][0] / r->rate[0][0]);
    print_fault(&r->p.faults[1], r->rate[0][1] / r->rate[0][0]);
    printf(", both %.2f; said", r->rate[1][1] / r->rate[0][0]);
    for (int i = 0; i < r->wall_count; i++) {
        const Wall *w = &r->walls[i];
        printf(" %s/%s", w->stage, w->cause);
        if (isfinite(w->period))
            printf(" every %.0f", w->period);
        printf(" (%.2f, %.2f)", w->alone, w->so_far);
    }
    printf("%s%s; noise %.1f %%; %d workers, batch %d, prefetch %d, buffers %d, %s\n",
           r->problem[0] ? ": " : "", r->problem, 100 * r->noise, m->workers, batch_sizes[m->size], m->slots,
           m->buffers, m->spec);
}

typedef struct PairTally {
    int total, right, near, close, swapped, more, problems;
} PairTally;

static void tally_pair(PairTally *t, const PairResult *r)
{
    t->total++;
    t->right += r->right;
    t->near += r->near;
    t->close += r->close;
    t->swapped += r->close && r->swapped;
    t->more += r->wall_count > 2;
    t->problems += r->problem[0] != 0;
}

static int print_results(const Judge *j, const PairResult *all, int count, double seconds)
{
    PairTally kinds[PAIR_KINDS] = {0}, sum = {0};
    for (int i = 0; i < count; i++) {
        tally_pair(&kinds[all[i].p.kind], &all[i]);
        tally_pair(&sum, &all[i]);
    }
    printf("%-16s %11s %11s %11s\n", "two faults", "walls", "gain", "close");
    json_t *classes_json = json_object();
    for (int k = 0; k <= PAIR_KINDS; k++) {
        const PairTally *t = k < PAIR_KINDS ? &kinds[k] : &sum;
        const char *name = k < PAIR_KINDS ? pair_kinds[k].name : "all";
        if (!t->total)
            continue;
        printf("%-16s %5d/%-5d %5d/%-5d %11d\n", name, t->right, t->total, t->near, t->total, t->close);
        json_object_set_new(classes_json, name,
                            json_pack("{s:i, s:i, s:i, s:i}", "total", t->total, "walls", t->right, "gains",
                                      t->near, "close", t->close));
    }
    int walls = sum.right >= TARGET * sum.total, gains = sum.near >= TARGET * sum.total;
    printf("\n%s  both walls, in order: %d of %d (at least 95 %%)\n", walls ? "holds " : "MISSED", sum.right,
           sum.total);
    printf("%s  gain of removing both within 10 %%: %d of %d (at least 95 %%)\n", gains ? "holds " : "MISSED",
           sum.near, sum.total);
    printf("        so close (%.0f %%) that no order can be told: %d, of which the other one was said: %d; "
           "more than two walls: %d; runs made again: %d, noisy every time: %d\n",
           100 * CLOSE, sum.close, sum.swapped, sum.more, atomic_load(&j->repeated), atomic_load(&j->noisy));
    for (int i = 0; i < count; i++)
        if (!all[i].right || !all[i].near)
            print_pair(&all[i]);
    json_t *o = json_pack("{s:s, s:I, s:i, s:f, s:i, s:i, s:i, s:i, s:i, s:o}", "bench", "doctor --combined",
                          "seed", (json_int_t)j->o.seed, "machines", sum.total, "seconds", seconds, "walls",
                          sum.right, "gains", sum.near, "close", sum.close, "swapped", sum.swapped,
                          "more_walls", sum.more, "classes", classes_json);
    json_dumpf(o, stdout, JSON_REAL_PRECISION(5));
    putchar('\n');
    json_decref(o);
    return !(walls && gains);
}

int combined_judge(Judge *j, Log *log, const Sizes *sizes, Err *err)
{
    int only = -1;
    for (int k = 0; j->o.only_word && k < PAIR_KINDS; k++)
        only = !strcmp(pair_kinds[k].name, j->o.only_word) ? k : only;
    if (j->o.only_word && only < 0)
        return err_set(err, ERR_USAGE, "--only cannot be '%s'", j->o.only_word);
    Pair *pairs = mem_calloc(ALL_PAIRS, sizeof *pairs);
    PairResult *all = mem_calloc(ALL_PAIRS, sizeof *all);
    int rc = pairs && all ? 0 : err_set(err, ERR_NOMEM, "no memory for the machines"), count = 0;
    double start = clock_now();
    int drawn = rc ? 0 : pairs_draw(pairs, j->o.machines, only, j->o.seed, sizes);
    for (int i = j->o.skip; i < drawn; i++)
        all[count++].p = pairs[i];
    if (!rc && j->o.list) {
        for (int i = 0; i < count; i++)
            printf("%s %d\tdraw %d\t%s\n", pair_kinds[all[i].p.kind].name, all[i].p.number, all[i].p.draws,
                   all[i].p.with.spec);
    } else if (!rc) {
        rc = in_parallel(j, log, count, judge_number, all, err);
        if (!rc)
            rc = print_results(j, all, count, clock_now() - start);
    }
    free(pairs);
    free(all);
    return rc;
}
