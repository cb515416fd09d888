/* doctor.c - does the doctor name the true cause? 300 simulated machines: 240 with a fault that was put
 * there, 60 with none.
 *
 * usage: build/bench/doctor [--program FILE] [--machines N] [--only CLASS] [--seed S] [--jobs N] [--batches
 * N] [--no-gains] [--list]
 *                           [--report FILE]
 *
 * Each machine is shown to `myxtts diagnose --json`; its answer is compared with what was injected. Some of
 * the changes that the doctor lists are then made - a setting on the command line, or a stage of the machine
 * twice as fast - and the throughput before and after is measured with `myxtts bench pipeline`, beside the
 * gain it predicted.
 * --only: the first N machines of that class. A run that this computer disturbed is made again (see
 * call_run_quietly). Prints a table per class and one JSON line. Exit status 0 when the targets hold: the
 * injected stage named on at least 95 % of the faulty machines, no healthy machine with a bottleneck, every
 * period within 10 %, 90 % of the gains within 10 %. 1 otherwise, 3 when it cannot work. */
#include "base/log.h"
#include "base/thread.h"
#include "support/doctor_machines.h"
#include "support/doctor_report.h"
#include "support/doctor_run.h"

#define RUN_MS 1200.0 /* of one measurement */
#define LONG_RUN_MS 2500.0
#define MOST_LISTED 32
#define MOST_JOBS 8
#define LATE 1e-3   /* s after which waking up is late */
#define QUIET 0.005 /* share of the time that may be lost so */

typedef struct Run {
    double utterances, ms, wait_share, noise; /* a second, of a step, of the time, too */
} Run;

static void *watch_main(void *arg)
{
    Watch *w = arg;
    while (!atomic_load(&w->stop)) {
        double start = clock_now();
        clock_sleep(2e-3);
        double late = clock_now() - start - 2e-3;
        if (late > LATE)
            atomic_fetch_add(&w->late_us, (uint64_t)(late * 1e6));
    }
    return NULL;
}

/* As call_run; a run that was disturbed is made again, and the least disturbed one counts. What came out
 * plays no part in that. */
static int call_run_quietly(json_t **answer, Judge *j, Call *c, double *noise, Err *err)
{
    double best = INFINITY;
    *answer = NULL;
    for (int i = 0; i < MOST_TRIES && best > QUIET; i++) {
        json_t *now = NULL;
        double start = clock_now();
        uint64_t late = atomic_load(&j->watch.late_us);
        int rc = call_run(&now, c, err);
        if (rc) {
            json_decref(*answer);
            *answer = NULL;
            return rc;
        }
        double share = 1e-6 * (double)(atomic_load(&j->watch.late_us) - late) / (clock_now() - start);
        atomic_fetch_add(&j->repeated, i > 0);
        json_decref(share < best ? *answer : now);
        *answer = share < best ? now : *answer;
        best = fmin(best, share);
    }
    atomic_fetch_add(&j->noisy, best > QUIET);
    *noise = fmax(*noise, best);
    return 0;
}

static void call_begin(Call *c, const Judge *j, const Machine *m, const char *command, int long_clips)
{
    c->folder = j->short_clips; /* so that a report it may write by itself does not lie about */
    call_add(c, j->o.program);
    call_add(c, command);
    if (!strcmp(command, "bench"))
        call_add(c, "pipeline");
    call_add(c, "--json");
    call_add(c, "--quiet");
    call_set(c, "data-path", long_clips ? j->long_clips : j->short_clips);
    call_set(c, "val-split", "0");
    call_set(c, "preprocessing-mode", "precompute");
    call_set(c, "data-gpu", "sim0");
    call_set(c, "model-gpu", m->one_device ? "sim0" : "sim1");
    call_set(c, "sim", m->spec);
    call_set_int(c, "batch-size", batch_sizes[m->size]);
    call_set_int(c, "num-workers", m->workers);
    call_set_int(c, "prefetch-buffer-size", m->slots);
    call_set_int(c, "pipeline-buffer-size", m->buffers);
}

static int batches_for(const Judge *j, const Machine *m)
{
    if (j->o.batches)
        return j->o.batches;
    double want = fmax(80, RUN_MS / m->period_ms);
    if (m->period)
        want = fmax(want, 5.0 * m->period);
    if (m->class == FEW_BUFFERS || m->class == LONG_CLIPS) /* what varies wants more of it */
        want = fmax(want, 240);
    return (int)fmax(40, fmin(fmin(want, 300), LONG_RUN_MS / m->period_ms));
}

/* Throughput of the machine, with `key` set to `value` when it is not NULL. */
static int measure(Run *out, Judge *j, const Machine *m, int long_clips, int batches, const char *key,
                   const char *value, Err *err)
{
    Call c = {0};
    json_t *answer = NULL;
    call_begin(&c, j, m, "bench", long_clips);
    call_set_int(&c, "num-batches", batches);
    if (key)
        call_set(&c, key, value);
    double noise = 0;
    int rc = call_run_quietly(&answer, j, &c, &noise, err);
    *out = (Run){json_at(answer, "utterances_per_s", NULL), json_at(answer, "step_ms", "mean"),
                 json_at(answer, "wait_share", NULL), noise};
    if (!rc && !(out->utterances > 0))
        rc = err_set(err, ERR_FORMAT, "bench pipeline gave no throughput");
    json_decref(answer);
    call_free(&c);
    return rc;
}

/* ---- one machine ---- */

/* Really long clips have to cost something: the machine with short ones is faster. Otherwise the copy is made
 * slower. */
static int make_fair(Judge *j, Machine *m, const Sizes *sizes, Err *err)
{
    int batches = batches_for(j, m);
    for (int i = 0; i < 5; i++) {
        Run with, without;
        int rc = measure(&with, j, m, 1, batches, NULL, NULL, err);
        if (!rc)
            rc = measure(&without, j, m, 0, batches, NULL, NULL, err);
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
    Call c = {0};
    json_t *answer = NULL;
    call_begin(&c, j, &r->m, "diagnose", r->m.long_clips);
    double start = clock_now();
    if (!rc && !(rc = call_run_quietly(&answer, j, &c, &r->noise, err)))
        compare(r, answer);
    r->diagnose_s = clock_now() - start;
    json_decref(answer);
    call_free(&c);
    if (rc || j->o.no_gains)
        return rc;
    Run before;
    int batches = batches_for(j, &r->m);
    if ((rc = measure(&before, j, &r->m, r->m.long_clips, batches, NULL, NULL, err)))
        return rc;
    r->before_ms = before.ms;
    r->wait_share = before.wait_share;
    for (int i = 0; i < r->gain_count && !rc; i++) {
        Run after;
        Gain *g = &r->gains[i];
        Machine changed = r->m;
        if (g->stage < STAGES)
            speed_up(&changed, g->stage, sizes);
        rc = measure(&after, j, &changed, r->m.long_clips, batches, g->stage < STAGES ? NULL : g->key,
                     g->value, err);
        g->measured = rc ? NAN : after.utterances / before.utterances;
        g->noise = rc ? 0 : fmax(after.noise, before.noise);
    }
    return rc;
}

typedef struct Job {
    Judge *judge;
    const Sizes *sizes;
    Thread thread;
} Job;

static void *job_main(void *arg)
{
    Job *job = arg;
    Judge *j = job->judge;
    for (int i; (i = atomic_fetch_add(&j->next, 1)) < j->count;) {
        Err err = {0};
        if (judge_one(j, &j->results[i], job->sizes, &err))
            snprintf(j->results[i].problem, sizeof j->results[i].problem, "%.300s", err.msg);
        j->results[i].done = 1;
        progress_add(&j->progress, 1);
    }
    return NULL;
}

/* ---- before the first machine ---- */

/* Bytes of a batch, from the time that a copy of known speed takes. The copy between devices shows them to
 * the byte; the one from the host a little more, for the thread that asks for it wakes up late: where the two
 * are alike they are the same, and the machines of a seed do not change. */
static int find_sizes(Sizes *sizes, Judge *j, Err *err)
{
    for (int i = 0; i < BATCH_SIZES; i++) {
        double bytes[2];
        for (int peer = 0; peer < 2; peer++) {
            double gbps = (peer ? 0.0005 : 0.00025) * batch_sizes[i];
            Machine m = {.size = i, .workers = 2, .slots = 4, .buffers = 8, .period_ms = 100};
            Run run;
            snprintf(m.spec, sizeof m.spec, "%s=%.6f", peer ? "peer_gbps" : "h2d_gbps", gbps);
            int rc = measure(&run, j, &m, 0, 12, NULL, NULL, err);
            if (rc)
                return rc;
            bytes[peer] = round(run.ms * gbps * 1e6);
        }
        sizes->peer[i] = bytes[1];
        sizes->h2d[i] = fabs(bytes[0] / bytes[1] - 1) < 0.01 ? bytes[1] : bytes[0];
    }
    return 0;
}

static int judge_all(Judge *j, Log *log, const char *dir, Err *err)
{
    Sizes sizes;
    snprintf(j->short_clips, sizeof j->short_clips, "%s/short", dir);
    snprintf(j->long_clips, sizeof j->long_clips, "%s/long", dir);
    int rc = corpus_write(j->o.program, j->short_clips, 64, 0.6, 0, 0, err);
    if (!rc) /* 16 batches of 8 with short clips and one with long ones in an epoch */
        rc = corpus_write(j->o.program, j->long_clips, 128, 0.6, 8, 9, err);
    if (rc || (rc = find_sizes(&sizes, j, err)))
        return rc;
    Machine *machines = mem_calloc(ALL_MACHINES, sizeof *machines);
    j->results = mem_calloc(ALL_MACHINES, sizeof *j->results);
    if (!machines || !j->results) {
        free(machines);
        return err_set(err, ERR_NOMEM, "no memory for the machines");
    }
    j->count = machines_draw(machines, j->o.machines, j->o.only, j->o.seed, &sizes);
    for (int i = 0; i < j->count; i++)
        j->results[i] = (Result){.m = machines[i], .period = NAN, .before_ms = NAN, .wait_share = NAN};
    free(machines);
    if (j->o.list)
        return 0;
    Job jobs[MOST_JOBS];
    progress_begin(&j->progress, log, "doctor", "machines", (uint64_t)j->count);
    int started = 0;
    for (; started < j->o.jobs && !rc; started++) {
        jobs[started] = (Job){.judge = j, .sizes = &sizes};
        rc = thread_start(&jobs[started].thread, "judge", job_main, &jobs[started], err);
    }
    for (int i = 0; i < started; i++)
        thread_join(&jobs[i].thread);
    progress_end(&j->progress);
    return rc;
}

/* ---- the command line ---- */

static int class_find(const char *name)
{
    for (int i = 0; i < CLASSES; i++)
        if (!strcmp(classes[i].name, name))
            return i;
    return -1;
}

static int number_of(const char *text, int low, int high, int *out)
{
    char *end;
    long x = strtol(text, &end, 10);
    *out = (int)x;
    return *text && !*end && x >= low && x <= high;
}

static int options_parse(Options *o, int argc, char **argv, Err *err)
{
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        int taken = 1, right = 1, seed = 0;
        if (!strcmp(word, "--no-gains"))
            o->no_gains = 1, taken = 0;
        else if (!strcmp(word, "--list"))
            o->list = 1, taken = 0;
        else if (!strcmp(word, "--program"))
            o->program = value;
        else if (!strcmp(word, "--report"))
            o->report = value, right = *value;
        else if (!strcmp(word, "--machines"))
            right = number_of(value, 1, ALL_MACHINES, &o->machines);
        else if (!strcmp(word, "--jobs"))
            right = number_of(value, 1, MOST_JOBS, &o->jobs);
        else if (!strcmp(word, "--batches"))
            right = number_of(value, 20, 100000, &o->batches);
        else if (!strcmp(word, "--seed"))
            right = number_of(value, 0, INT32_MAX, &seed), o->seed = (uint64_t)seed;
        else if (!strcmp(word, "--only"))
            right = (o->only = class_find(value)) >= 0;
        else
            return err_set(err, ERR_USAGE, "there is no option '%s'; see the first lines of bench/doctor.c",
                           word);
        if (!right)
            return err_set(err, ERR_USAGE, "%s cannot be '%s'", word, value);
        i += taken;
    }
    return 0;
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
    if (!rc && j.o.list)
        print_list(&j);
    else if (!rc) {
        Buf b = {0};
        summarise(&s, &j);
        table(&b, &s, 0);
        fwrite(b.data, 1, b.size, stdout);
        buf_free(&b);
        print_verdicts(&j, &s);
        print_confusion(&j);
        print_json(&j, &s, seconds);
        if (j.o.report)
            rc = write_report(&j, &s, seconds, &err);
    }
    folder_remove(dir);
    free(j.results);
    free(whole);
    if (rc)
        log_err(&log, &err);
    if (rc || j.o.list)
        return rc ? err_exit_code(rc) : 0;
    for (int i = 0; i < 5; i++)
        if (!s.holds[i])
            return 1;
    return 0;
}
