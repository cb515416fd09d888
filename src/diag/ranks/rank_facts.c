/* rank_facts.c - see rank_facts.h. */
#include "diag/ranks/rank_facts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "diag/pipeline/doctor.h"

/* Where several workers share the work of a stage, it takes so much less. Reads that wait for other ranks at
 * the disk seem to overlap: the longer of the two ways to see them counts. */
static double stage_time(const Observation *o, StageId s)
{
    if (!stage_present(o, s))
        return -1;
    const StageInfo *info = stage_info(s);
    double workers = fmax(1, o->report.workers), own = observation_mean(o, stage_trace(s));
    if (s == STAGE_READ)
        return fmax(own, observation_mean(o, TRACE_READ) / workers);
    return info->workers && (info->stream == STREAM_NONE || o->host_data) ? own / workers : own;
}

int rank_facts_take(RankFacts *f, const Observation *o, int rank, const char *host, Err *err)
{
    int64_t n = o->n - o->from, skip = n > RANK_STEPS ? n - RANK_STEPS : 0, from = o->from + skip;
    double clips = 0;
    *f = (RankFacts){.rank = rank, .first = o->first + from, .steps = (int32_t)(n - skip), .named = -1};
    snprintf(f->host, sizeof f->host, "%s", host);
    for (int i = 0; i < f->steps; i++) {
        f->wait[i] = o->trace[TRACE_WAIT][from + i];
        f->own[i] = o->trace[TRACE_STEP][from + i];
        f->sum[i] = o->trace[TRACE_SUM][from + i];
        clips += o->rows[from + i];
    }
    f->clips = f->steps ? clips / f->steps : 0;
    for (int s = 0; s < STAGE_COUNT; s++)
        f->stage[s] = stage_time(o, (StageId)s);
    for (int s = 0; s < STAGE_STEP; s++)
        if (stage_present(o, (StageId)s))
            f->data = fmax(f->data, stage_period(o, (StageId)s));
    f->exchange = o->exchange;
    Verdict *v = calloc(1, sizeof *v);
    int rc = v ? doctor_decide(v, o, err) : err_set(err, ERR_NOMEM, "no memory to judge rank %d", rank);
    if (!rc) {
        f->named = v->stage;
        f->cause = (int32_t)v->cause;
        f->period = v->period;
    }
    free(v);
    return rc;
}
