/* doctor_ask.c - see doctor_ask.h. */
#include "doctor_ask.h"

#define RUN_MS 1200.0 /* of one measurement */
#define LONG_RUN_MS 2500.0
#define LATE 1e-3   /* s after which waking up is late */
#define QUIET 0.005 /* share of the time that may be lost so */

void *watch_main(void *arg)
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

int call_run_quietly(json_t **answer, Judge *j, Call *c, double *noise, Err *err)
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

void call_begin(Call *c, const Judge *j, const Machine *m, const char *command)
{
    c->folder = j->short_clips; /* so that a report it may write by itself does not lie about */
    call_add(c, j->o.program);
    call_add(c, command);
    if (!strcmp(command, "bench"))
        call_add(c, "pipeline");
    call_add(c, "--json");
    call_add(c, "--quiet");
    call_set(c, "data-path",
             m->mixed_clips  ? j->mixed_clips
             : m->long_clips ? j->long_clips
                             : j->short_clips);
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

int is_disturbed(const json_t *answer) { return json_is_true(json_object_get(answer, "disturbed")); }

int ask(json_t **answer, Judge *j, const Machine *m, int batches, double *noise, Err *err)
{
    Call c = {0};
    call_begin(&c, j, m, "diagnose");
    if (batches)
        call_set_int(&c, "num-batches", batches);
    int rc = call_run_quietly(answer, j, &c, noise, err);
    call_free(&c);
    atomic_fetch_add(&j->disturbed, !rc && is_disturbed(*answer));
    return rc;
}

int batches_for(const Judge *j, const Machine *m)
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

int measure(Run *out, Judge *j, const Machine *m, int batches, const char *key, const char *value, Err *err)
{
    Call c = {0};
    json_t *answer = NULL;
    call_begin(&c, j, m, "bench");
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

int find_sizes(Sizes *sizes, Judge *j, Err *err)
{
    for (int i = 0; i < BATCH_SIZES; i++) {
        double bytes[2];
        for (int peer = 0; peer < 2; peer++) {
            double gbps = (peer ? 0.0005 : 0.00025) * batch_sizes[i];
            Machine m = {.size = i, .workers = 2, .slots = 4, .buffers = 8, .period_ms = 100};
            Run run;
            snprintf(m.spec, sizeof m.spec, "%s=%.6f", peer ? "peer_gbps" : "h2d_gbps", gbps);
            int rc = measure(&run, j, &m, 12, NULL, NULL, err);
            if (rc)
                return rc;
            bytes[peer] = round(run.ms * gbps * 1e6);
        }
        sizes->peer[i] = bytes[1];
        sizes->h2d[i] = fabs(bytes[0] / bytes[1] - 1) < 0.01 ? bytes[1] : bytes[0];
    }
    return 0;
}

/* ---- several at a time ---- */

#define MOST_JOBS 8

typedef struct Job {
    Judge *judge;
    void (*one)(Judge *j, void *arg, int i);
    void *arg;
    int count;
    Thread thread;
} Job;

static void *job_main(void *arg)
{
    Job *job = arg;
    for (int i; (i = atomic_fetch_add(&job->judge->next, 1)) < job->count;) {
        job->one(job->judge, job->arg, i);
        progress_add(&job->judge->progress, 1);
    }
    return NULL;
}

int in_parallel(Judge *j, Log *log, int count, void (*one)(Judge *j, void *arg, int i), void *arg, Err *err)
{
    Job jobs[MOST_JOBS];
    int rc = 0, started = 0;
    progress_begin(&j->progress, log, "doctor", "machines", (uint64_t)count);
    for (; started < j->o.jobs && started < MOST_JOBS && !rc; started++) {
        jobs[started] = (Job){.judge = j, .one = one, .arg = arg, .count = count};
        rc = thread_start(&jobs[started].thread, "judge", job_main, &jobs[started], err);
    }
    for (int i = 0; i < started - (rc != 0); i++)
        thread_join(&jobs[i].thread);
    progress_end(&j->progress);
    return rc;
}
