/* watch.c - see watch.h. */
#include "diag/watch.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/json.h"
#include "diag/thresholds.h"
#include "train/run_log.h"

#define WARN_AGAIN 1000 /* steps: a run that goes on starving is not told so at every line */
#define SKIP 16         /* batches, while the pipeline filled up */

/* The doctor, on what the pipeline's counters hold now. */
int watch_verdict(Verdict *v, const Watch *w, Pipeline *p, Err *err)
{
    Observation o;
    int rc = observation_from_pipeline(&o, p, w->cfg, w->data, w->model, SKIP, 0, err);
    if (rc)
        return rc;
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

/* What is wrong with the steps since the last line of the log; "" if nothing is. */
static void write_finding(char *out, size_t cap, const Verdict *v, double wait)
{
    *out = 0;
    if (threshold_judge(LIMIT_WAIT, wait) != STATUS_GOOD)
        snprintf(out, cap, "the model device waited %.0f %% of the time for data: %s%s%s", 100 * wait,
                 v->sentence, v->best >= 0 ? " Try " : "", v->best >= 0 ? v->gains[v->best].change : "");
    else if (swing_is_fault(&v->swing))
        snprintf(out, cap, "%s %s", v->swing.sentence, v->swing.advice);
}

/* Called by the trainer at every line of its log. */
void watch_interval(void *arg, const TrainerView *view, int last)
{
    Watch *w = arg;
    const StepMeter *m = view->meter;
    double wait = 0, all = 0;
    Stats steps = {0};
    if (w->voice)
        voice_watch_step(w->voice, view->step);
    /* The steps since the last line of the log, as far as they are kept. */
    int64_t first =
        m->sample_count - view->sample_from > METER_KEEP ? m->sample_count - METER_KEEP : view->sample_from;
    for (int64_t i = first; i < m->sample_count; i++) {
        wait += (double)m->samples[i % METER_KEEP].wait;
        all += (double)m->samples[i % METER_KEEP].step;
        stats_add(&steps, (double)m->samples[i % METER_KEEP].step);
    }
    if (last || m->sample_count - first < 8 || all <= 0 ||
        (threshold_judge(LIMIT_WAIT, wait / all) == STATUS_GOOD &&
         threshold_judge(LIMIT_VARIATION, stats_std(&steps) / steps.mean) == STATUS_GOOD) ||
        (w->warned && view->step - w->warned < WARN_AGAIN))
        return;
    /* Only a run that waits, or is uneven, is worth a forecast. */
    Verdict v;
    Err err = {0};
    char finding[1000];
    int rc = watch_verdict(&v, w, view->pipeline, &err);
    int waits = threshold_judge(LIMIT_WAIT, wait / all) != STATUS_GOOD;
    if (rc == 1 && !waits) /* too early to say why */
        return;
    w->warned = view->step;
    if (rc == 0) {
        write_finding(finding, sizeof finding, &v, wait / all);
        if (*finding) {
            log_warn(w->log, "%s", finding);
            watch_note(w, view->step, finding);
        }
    } else if (waits)
        log_warn(w->log, "the model device waited %.0f %% of the time for data; `myxtts diagnose` says why",
                 100 * wait / all);
}
