/* rank_report.c - the verdict on ranks as JSON, and as a part of a report. */
#include <string.h>

#include "base/json.h"
#include "base/words/words.h"
#include "diag/ranks/rank_doctor.h"
#include "diag/report/sections.h"
#include "diag/report/thresholds.h"

static json_t *gains_json(const RanksVerdict *v)
{
    json_t *all = json_array();
    for (int i = 0; i < v->gain_count; i++) {
        json_t *g = json_pack("{s:s}", "change", v->gains[i].change);
        json_object_set_new(g, "predicted", json_from_double(v->gains[i].predicted));
        json_object_set_new(g, "per_rank", json_from_double(v->gains[i].per_rank));
        json_array_append_new(all, g);
    }
    return all;
}

static json_t *row_json(const RankRow *r)
{
    json_t *o = json_pack("{s:i, s:s, s:b}", "rank", r->rank, "host", r->host, "at_fault", r->at_fault),
           *stages = json_object();
    json_object_set_new(o, "wait_ms", json_from_double(1e3 * r->wait));
    json_object_set_new(o, "own_ms", json_from_double(1e3 * r->own));
    json_object_set_new(o, "sum_ms", json_from_double(1e3 * r->sum));
    json_object_set_new(o, "late_ms", json_from_double(1e3 * r->late));
    for (int s = 0; s < STAGE_STEP; s++)
        if (r->stage[s] >= 0)
            json_object_set_new(stages, stage_name((StageId)s), json_from_double(1e3 * r->stage[s]));
    json_object_set_new(o, "stages_ms", stages);
    return o;
}

json_t *ranks_verdict_json(const RanksVerdict *v)
{
    json_t *o = json_pack("{s:i, s:i, s:I, s:s, s:s, s:s}", "ranks", v->ranks, "hosts", v->hosts, "steps",
                          (json_int_t)v->steps, "fault", ranks_fault_name(v->fault), "cause",
                          cause_name(v->cause), "verdict", v->sentence);
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"step_ms", 1e3 * v->seconds},    {"clips_per_s", v->clips_per_s},
                   {"exposed_share", v->hidden_not}, {"late_share", v->late_share},
                   {"wait_share", v->wait_share},    {"uneven_share", v->uneven_share}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        json_object_set_new(o, numbers[i].key, json_from_double(numbers[i].value));
    json_object_set_new(o, "rank", v->rank >= 0 ? json_integer(v->rank) : json_null());
    json_object_set_new(o, "host", v->host[0] ? json_string(v->host) : json_null());
    json_object_set_new(o, "stage", json_string(v->stage >= 0 ? stage_name((StageId)v->stage) : "none"));
    json_object_set_new(o, "period_steps", v->period ? json_integer(v->period) : json_null());
    json_t *evidence = json_array(), *rows = json_array();
    for (int i = 0; i < v->evidence_count; i++)
        json_array_append_new(evidence, json_string(v->evidence[i]));
    for (int r = 0; r < v->ranks; r++)
        json_array_append_new(rows, row_json(&v->rows[r]));
    json_object_set_new(o, "evidence", evidence);
    json_object_set_new(o, "gains", gains_json(v));
    json_object_set_new(o, "per_rank", rows);
    return o;
}

/* What to do about it; where it is a stage, that stage's advice. */
static const char *remedy(const RanksVerdict *v)
{
    return v->stage == STAGE_STEP ? word(SAY_RANKS_STEP_REMEDY) : stage_advice((StageId)v->stage);
}

static json_t *section_of(const RanksVerdict *v)
{
    char name[160], value[400];
    json_t *s = section_begin("ranks", word(SAY_RANKS_TITLE));
    say_count(value, sizeof value, SAY_RANKS_ALL, v->hosts, v->ranks, v->hosts, 1e3 * v->seconds,
              v->clips_per_s);
    section_row(s, STATUS_INFO, word(SAY_RANKS_TOGETHER), "", "%s", value);
    SECTION_ROW(s, threshold_judge(LIMIT_EXPOSED, v->hidden_not), word(SAY_RANKS_ROW_EXPOSED), "",
                SAY_RANKS_OF_STEP, 100 * v->hidden_not);
    SECTION_ROW(s, STATUS_INFO, word(SAY_RANKS_ROW_LATE), word(SAY_RANKS_MEAN), SAY_RANKS_OF_STEP,
                100 * v->late_share);
    for (int r = 0; r < v->ranks; r++) {
        const RankRow *row = &v->rows[r];
        say(name, sizeof name, SAY_RANKS_ROW, row->rank, row->host);
        SECTION_ROW(s, row->at_fault ? STATUS_BAD : STATUS_INFO, name,
                    row->at_fault ? word(SAY_RANKS_AT_FAULT) : "", SAY_RANKS_TIMES, 1e3 * row->wait,
                    1e3 * row->own, 1e3 * row->sum, 1e3 * row->late);
    }
    if (v->fault != RANKS_WELL)
        section_finding(s, "error", v->sentence, word(SAY_RANKS_WHY), v->evidence_count ? v->evidence[0] : "",
                        remedy(v));
    return s;
}

void ranks_verdict_report(json_t *report, const RanksVerdict *v)
{
    json_object_set_new(report, "cluster", ranks_verdict_json(v));
    json_array_append_new(json_object_get(report, "sections"), section_of(v));
    if (v->fault == RANKS_WELL)
        return;
    json_object_set_new(report, "bottleneck", json_string(stage_name((StageId)v->stage)));
    json_object_set_new(report, "cause", json_string(cause_name(v->cause)));
    json_object_set_new(report, "period_steps", v->period ? json_integer(v->period) : json_null());
    json_object_set_new(report, "verdict", json_string(v->sentence));
    json_object_set_new(report, "verdict_status", json_string("bad"));
}
