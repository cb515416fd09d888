/* watch.c - see watch.h. */
#include "diag/pipeline/watch.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/words/words.h"
#include "diag/report/thresholds.h"
#include "train/log/run_log.h"

#define WARN_AGAIN 1000 /* steps: a run that keeps starving is not told so on every line */
#define SKIP 16         /* batches, while the pipeline filled up */
#define LEAST_SECONDS 2 /* of steps: what comes before is a beginning, not a rule */

static int observe_run(Observation *o, const Watch *w, Pipeline *p, Err *err)
{
    const int64_t skip = w->since > SKIP ? w->since : SKIP;
    return observation_from_pipeline(o, p, w->cfg, w->data, w->model, skip, 0, err);
}

/* The doctor, on what the pipeline's counters hold now. */
int watch_verdict(Verdict *v, const Watch *w, Pipeline *p, Err *err)
{
    Observation o;
    Disturbance now;
    int rc = observe_run(&o, w, p, err);
    if (rc)
        return rc;
    disturbance_read(&now);
    o.disturbed = disturbance_between(&w->begun, &now);
    rc = doctor_judge(v, &o, err);
    observation_close(&o);
    return rc;
}

/* The trainer has the log open as well: lines of both come whole. */
void watch_note(const Watch *w, int64_t step, const char *text)
{
    Err err = {0};
    RunLog *l = NULL;
    if (!w->writes)
        return;
    char *path = file_join(w->cfg->checkpoint_dir, "log.jsonl");
    int rc = path ? run_log_open(&l, path, &err) : err_set(&err, ERR_NOMEM, "no memory for its path");
    if (!rc)
        rc = run_log_write(l,
                           json_pack("{s:s, s:I, s:o}", "event", "verdict", "step", (json_int_t)step, "text",
                                     json_from_text(text)),
                           &err);
    if (rc)
        log_warn(w->log, "the verdict is not in log.jsonl: %s", err.msg);
    run_log_close(l);
    free(path);
}

/* What is wrong with the steps since the last line of the log; "" if nothing is. Waiting that the doctor
 * finds no reason for in the stages is not worth a word: it has passed. */
static void write_finding(char *out, size_t cap, const Verdict *v, double wait)
{
    *out = 0;
    if (threshold_judge(LIMIT_WAIT, wait) != STATUS_GOOD && verdict_has_fault(v)) {
        say(out, cap, SAY_WATCH_WAITED, 100 * wait, v->sentence);
        if (v->best >= 0)
            say_more(out, cap, SAY_WATCH_TRY, v->gains[v->best].change);
    } else if (swing_is_fault(&v->swing))
        snprintf(out, cap, "%s %s", v->swing.sentence, v->swing.advice);
}

/* In the thread. */
static void judge_speed(Watch *w)
{
    Verdict *v = mem_calloc(1, sizeof *v);
    Err err = {0};
    char finding[1400];
    if (v && doctor_judge(v, &w->seen, &err) == 0) {
        write_finding(finding, sizeof finding, v, w->wait);
        if (*finding) {
            log_warn(w->log, "%s", finding);
            watch_note(w, w->step, finding);
        }
    }
    free(v);
}

static void *look(void *arg)
{
    Watch *w = arg;
    thread_step_back();
    if (w->looks_at_voice)
        voice_watch_step(w->voice, w->step);
    if (w->looks_at_speed)
        judge_speed(w);
    observation_close(&w->seen);
    atomic_store(&w->busy, 0);
    return NULL;
}

void watch_end(Watch *w) { thread_join(&w->thread); }

/* 1: the steps since the last line of the log, as far as they are kept, waited for data or came unevenly. */
static int is_worth_a_look(Watch *w, const TrainerView *view)
{
    const StepMeter *m = view->meter;
    double wait = 0, all = 0;
    Stats steps = {0};
    int64_t first =
        m->sample_count - view->sample_from > METER_KEEP ? m->sample_count - METER_KEEP : view->sample_from;
    for (int64_t i = first; i < m->sample_count; i++) {
        wait += (double)m->samples[i % METER_KEEP].wait;
        all += (double)m->samples[i % METER_KEEP].step;
        stats_add(&steps, (double)m->samples[i % METER_KEEP].step);
    }
    if (m->sample_count - first < 8 || m->step.mean * (double)m->step.n < LEAST_SECONDS ||
        (w->warned && view->step - w->warned < WARN_AGAIN))
        return 0;
    w->wait = wait / all;
    return threshold_judge(LIMIT_WAIT, w->wait) != STATUS_GOOD ||
           threshold_judge(LIMIT_VARIATION, stats_std(&steps) / steps.mean) != STATUS_GOOD;
}

/* Called by the trainer at every line of its log. The times are copied here, where they do not change any
 * more, and judged in the thread. */
void watch_interval(void *arg, const TrainerView *view, int last)
{
    Watch *w = arg;
    Err err = {0};
    w->since = view->since;
    if (last || atomic_load(&w->busy))
        return;
    thread_join(&w->thread);
    w->step = view->step;
    w->looks_at_voice = w->voice && voice_watch_is_due(w->voice, view->step);
    /* 1: too early to say anything. */
    w->looks_at_speed = is_worth_a_look(w, view) && observe_run(&w->seen, w, view->pipeline, &err) == 0;
    if (w->looks_at_speed) {
        Disturbance now;
        disturbance_read(&now);
        w->seen.disturbed = disturbance_between(&w->begun, &now);
    }
    if (!w->looks_at_voice && !w->looks_at_speed)
        return;
    if (w->looks_at_speed)
        w->warned = view->step;
    atomic_store(&w->busy, 1);
    if (thread_start(&w->thread, "watch", look, w, &err)) {
        atomic_store(&w->busy, 0);
        observation_close(&w->seen);
    }
}
