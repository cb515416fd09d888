/* doctor.c - does the doctor name the true cause? 300 simulated machines: 240 with a fault that was put
 * there, 60 with none.
 *
 * usage: build/bench/doctor [--combined | --swings] [--program FILE] [--machines N] [--skip N] [--only CLASS]
 *                           [--seed S] [--jobs N] [--batches N] [--no-gains] [--list]
 *
 * Each machine is shown to `myxtts diagnose --json`; its answer is compared with what was injected. Some of
 * the changes that the doctor lists are then made - a setting on the command line, or a stage of the machine
 * twice as fast - and the throughput before and after is measured with `myxtts bench pipeline`, beside the
 * gain it predicted.
 * --combined: 200 machines with two faults instead (support/doctor_combined.h). --swings: 120 machines whose
 * steps are even or not (support/doctor_swings.h). --only: the first N machines of that class; --skip: of
 * these without the first, so that a run can be made in parts. A run that this computer disturbed is made
 * again (see call_run_quietly). Prints a table per class and one JSON line. Exit status 0 when the targets
 * hold: the injected stage named on at least 95 % of the faulty machines, no healthy machine with a
 * bottleneck, every period within 10 %, 90 % of the gains within 10 %. 1 otherwise, 3 when it cannot work. */
#include "base/log.h"
#include "base/thread.h"
#include "support/bench_options.h"
#include "support/doctor_ask.h"
#include "support/doctor_combined.h"
#include "support/doctor_swings.h"

#define MOST_LISTED 32

/* ---- one machine ---- */

/* Really long clips have to cost something: the machine with short ones is faster. Otherwise the copy is made
 * slower. */
static int make_fair(Judge *j, Machine *m, const Sizes *sizes, Err *err)
{
    int batches = batches_for(j, m);
    for (int i = 0; i < 5; i++) {
        Run with, without;
        Machine short_clips = *m;
        short_clips.long_clips = 0;
        int rc = measure(&with, j, m, batches, NULL, NULL, err);
        if (!rc)
            rc = measure(&without, j, &short_clips, batches, NULL, NULL, err);
        if (rc)
            return rc;
        m->cost = 1 - with.utterances / without.utterances;
        m->period_ms = with.ms;
        if (m->cost >= LEAST_COST + 0.02 && without.wait_share < 0.05)
            return 0;
        m->ms[m->stages[0]] *= 1.15;
        write_spec(m, sizes);
    }
    return 1;
}

/* A setting (key, value), or one stage of the machine twice as fast (what_if). Another change cannot be made
 * here. */
static int read_gain(Gain *to, const json_t *g)
{
    *to = (Gain){.predicted = json_at(g, "predicted", NULL), .measured = NAN, .stage = STAGES};
    snprintf(to->change, sizeof to->change, "%s", json_word(g, "change"));
    snprintf(to->key, sizeof to->key, "%s", json_word(g, "key"));
    snprintf(to->value, sizeof to->value, "%s", json_word(g, "value"));
    for (int s = 0; s < STAGES; s++)
        if (!strcmp(json_word(g, "what_if"), stage_words[s]))
            to->stage = s;
    return (to->key[0] || to->stage < STAGES) && isfinite(to->predicted);
}

/* Of all that the doctor lists: the best setting, the best stage to speed up, and any other one, also of
 * those that it says are no use. */
static void read_gains(Result *r, const json_t *answer)
{
    Gain all[MOST_LISTED];
    int n = 0, best[2] = {-1, -1}, chosen[3], count = 0;
    size_t i;
    json_t *g;
    json_array_foreach(json_object_get(answer, "gains"), i, g)
    {
        if (n == MOST_LISTED)
            break;
        int known = read_gain(&all[n], g), kind = known && all[n].stage < STAGES;
        if (known && (best[kind] < 0 || all[n].predicted > all[best[kind]].predicted))
            best[kind] = n;
        r->unknown += !known;
        n += known;
    }
    for (int k = 0; k < 2; k++)
        if (best[k] >= 0)
            chosen[count++] = best[k];
    Rng rng;
    rng_seed(&rng, r->m.seed);
    if (n > count) {
        int other;
        do
            other = (int)rng_below(&rng, (uint64_t)n);
        while (other == best[0] || other == best[1]);
        chosen[count++] = other;
    }
    for (int k = 0; k < count; k++)
        r->gains[r->gain_count++] = all[chosen[k]];
    r->listed = n;
}

static void compare(Result *r, const json_t *answer)
{
    const Machine *m = &r->m;
    snprintf(r->stage, sizeof r->stage, "%s", json_word(answer, "bottleneck"));
    snprintf(r->cause, sizeof r->cause, "%s", json_word(answer, "cause"));
    r->period = json_at(answer, "period_steps", NULL);
    r->answered = 1;
    for (int i = 0; i < m->stage_count; i++)
        r->stage_right |= !strcmp(r->stage, m->stages[i] == STAGES ? "none" : stage_words[m->stages[i]]);
    r->first_right = !strcmp(r->stage, m->stages[0] == STAGES ? "none" : stage_words[m->stages[0]]);
    for (int i = 0; i < CAUSES; i++)
        r->cause_right |= (m->causes >> i & 1) && !strcmp(r->cause, cause_words[i]);
    r->period_right = m->period && fabs(r->period - m->period) <= NEAR * m->period;
    read_gains(r, answer);
}

static int judge_one(Judge *j, Result *r, const Sizes *sizes, Err *err)
{
    int rc = r->m.long_clips ? make_fair(j, &r->m, sizes, err) : 0;
    if (rc == 1) {
        r->left_out = 1;
        return 0;
    }
    json_t *answer = NULL;
    double start = clock_now();
    if (!rc && !(rc = ask(&answer, j, &r->m, 0, &r->noise, err)))
        compare(r, answer);
    r->left_out = is_disturbed(answer);
    r->diagnose_s = clock_now() - start;
    json_decref(answer);
    if (rc || j->o.no_gains)
        return rc;
    Run before;
    int batches = batches_for(j, &r->m);
    if ((rc = measure(&before, j, &r->m, batches, NULL, NULL, err)))
        return rc;
    r->before_ms = before.ms;
    r->wait_share = before.wait_share;
    for (int i = 0; i < r->gain_count && !rc; i++) {
        Run after;
        Gain *g = &r->gains[i];
        Machine changed = r->m;
        if (g->stage < STAGES)
            speed_up(&changed, g->stage, sizes);
        rc = measure(&after, j, &changed, batches, g->stage < STAGES ? NULL : g->key, g->value, err);
        g->measured = rc ? NAN : after.utterances / before.utterances;
        g->noise = rc ? 0 : fmax(after.noise, before.noise);
    }
    return rc;
}

static void judge_number(Judge *j, void *arg, int i)
{
    Err err = {0};
    if (judge_one(j, &j->results[i], arg, &err))
        snprintf(j->results[i].problem, sizeof j->results[i].problem, "%.300s", err.msg);
    j->results[i].done = 1;
}

/* ---- before the first machine ---- */

/* The clips, and what a batch of them has in bytes. */
static int prepare(Sizes *sizes, Judge *j, const char *dir, Err *err)
{
    snprintf(j->short_clips, sizeof j->short_clips, "%s/short", dir);
    snprintf(j->long_clips, sizeof j->long_clips, "%s/long", dir);
    snprintf(j->mixed_clips, sizeof j->mixed_clips, "%s/mixed", dir);
    int rc = corpus_write(j->o.program, j->short_clips, 64, 0.6, 0, 0, err);
    if (!rc && j->o.swings)
        rc = corpus_write_mixed(j->o.program, j->mixed_clips, 128, 0.5, 6, err);
    else if (!rc && !j->o.combined) /* 16 batches of 8 with short clips and one with long ones in an epoch */
        rc = corpus_write(j->o.program, j->long_clips, 128, 0.6, 8, 9, err);
    return rc ? rc : find_sizes(sizes, j, err);
}

static int judge_all(Judge *j, Log *log, const char *dir, Err *err)
{
    Sizes sizes;
    int rc = prepare(&sizes, j, dir, err);
    if (rc)
        return rc;
    if (j->o.combined)
        return combined_judge(j, log, &sizes, err);
    if (j->o.swings)
        return swings_judge(j, log, &sizes, err);
    Machine *machines = mem_calloc(ALL_MACHINES, sizeof *machines);
    j->results = mem_calloc(ALL_MACHINES, sizeof *j->results);
    if (!machines || !j->results) {
        free(machines);
        return err_set(err, ERR_NOMEM, "no memory for the machines");
    }
    int drawn = machines_draw(machines, j->o.machines, j->o.only, j->o.seed, &sizes);
    j->count = drawn > j->o.skip ? drawn - j->o.skip : 0;
    for (int i = 0; i < j->count; i++)
        j->results[i] =
            (Result){.m = machines[j->o.skip + i], .period = NAN, .before_ms = NAN, .wait_share = NAN};
    free(machines);
    if (j->o.list)
        return 0;
    return in_parallel(j, log, j->count, judge_number, &sizes, err);
}

/* ---- the command line ---- */

static int class_find(const char *name)
{
    for (int i = 0; i < CLASSES; i++)
        if (!strcmp(classes[i].name, name))
            return i;
    return -1;
}

static int options_parse(Options *o, int argc, char **argv, Err *err)
{
    int seed = (int)o->seed;
    const BenchOption rows[] = {{"--no-gains", BENCH_SWITCH, &o->no_gains, 0, 0},
                                {"--combined", BENCH_SWITCH, &o->combined, 0, 0},
                                {"--swings", BENCH_SWITCH, &o->swings, 0, 0},
                                {"--list", BENCH_SWITCH, &o->list, 0, 0},
                                {"--machines", BENCH_INT, &o->machines, 1, ALL_MACHINES},
                                {"--skip", BENCH_INT, &o->skip, 0, ALL_MACHINES},
                                {"--jobs", BENCH_INT, &o->jobs, 1, 8},
                                {"--batches", BENCH_INT, &o->batches, 20, 100000},
                                {"--seed", BENCH_INT, &seed, 0, INT32_MAX},
                                {"--program", BENCH_TEXT, &o->program, 0, 0},
                                {"--only", BENCH_TEXT, &o->only_word, 0, 0}};
    int rc = bench_options(rows, sizeof rows / sizeof *rows, argc, argv, err);
    o->seed = (uint64_t)seed;
    if (!rc && o->only_word && !o->combined && !o->swings && (o->only = class_find(o->only_word)) < 0)
        rc = err_set(err, ERR_USAGE, "--only cannot be '%s'", o->only_word);
    return rc;
}

/* The program beside this one: build/bench/doctor asks build/myxtts. */
static void beside(char *out, size_t cap, const char *self)
{
    const char *slash = strrchr(self, '/');
    snprintf(out, cap, "%.*s/../myxtts", slash ? (int)(slash - self) : 1, slash ? self : ".");
}

int main(int argc, char **argv)
{
    char program[512], dir[256];
    beside(program, sizeof program, argv[0]);
    Judge j = {.o = {.program = program, .machines = ALL_MACHINES, .only = -1, .jobs = 2, .seed = 1}};
    Err err = {0};
    Log log;
    log_init(&log, LOG_INFO);
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/myxtts-doctor-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    int rc = options_parse(&j.o, argc, argv, &err);
    if (rc) {
        log_err(&log, &err);
        return err_exit_code(rc);
    }
    char *whole = realpath(j.o.program, NULL);
    if (!whole) {
        err_set_errno(&err, ERR_MISSING, "there is no program %s", j.o.program);
        log_err(&log, &err);
        return err_exit_code(err.code);
    }
    j.o.program = whole;
    double start = clock_now();
    Summary s = {0};
    rc = thread_start(&j.watch.thread, "watch", watch_main, &j.watch, &err);
    if (!rc)
        rc = mkdtemp(dir) ? judge_all(&j, &log, dir, &err)
                          : err_set_errno(&err, ERR_IO, "cannot make %s", dir);
    atomic_store(&j.watch.stop, 1);
    thread_join(&j.watch.thread);
    double seconds = clock_now() - start;
    int other = j.o.combined || j.o.swings; /* they print for themselves */
    if (!rc && j.o.list && !other)
        print_list(&j);
    else if (!rc && !other) {
        summarise(&s, &j);
        print_table(&s);
        print_verdicts(&j, &s);
        print_failures(&j);
        print_json(&j, &s, seconds);
    }
    folder_remove(dir);
    free(j.results);
    free(whole);
    if (rc)
        log_err(&log, &err);
    if (rc || j.o.list || other)
        return rc < 0 ? err_exit_code(rc) : rc;
    for (int i = 0; i < 5; i++)
        if (!s.holds[i])
            return 1;
    return 0;
}
