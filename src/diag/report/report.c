/* report.c - the verdict and what follows from it, as JSON; the whole report as text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/json.h"
#include "base/words/words.h"
#include "diag/report/sections.h"
#include "diag/report/thresholds.h"

/* --- the verdict --- */

/* measured: null until the change has been tried. */
static json_t *gain_json(const Gain *g)
{
    json_t *o = json_pack("{s:s, s:s, s:s}", "change", g->change, "key", g->key, "value", g->value);
    json_object_set_new(o, "predicted", json_from_double(g->predicted));
    json_object_set_new(o, "measured", json_from_double(g->measured));
    json_object_set_new(o, "what_if",
                        g->what_if >= 0 ? json_string(stage_name((StageId)g->what_if)) : json_null());
    return o;
}

static json_t *walls_json(const Verdict *v)
{
    json_t *all = json_array();
    for (int i = 0; i < v->wall_count; i++) {
        const Wall *w = &v->walls[i];
        json_t *o = json_pack("{s:s, s:s, s:o}", "stage", stage_name((StageId)w->stage), "cause",
                              cause_name(w->cause), "period_steps",
                              w->period ? json_integer(w->period) : json_null());
        json_object_set_new(o, "gain_alone", json_from_double(w->gain_alone));
        json_object_set_new(o, "gain_so_far", json_from_double(w->gain_so_far));
        json_object_set_new(o, "evidence", json_string(w->evidence));
        json_object_set_new(o, "remedy", json_string(w->remedy));
        json_array_append_new(all, o);
    }
    return all;
}

json_t *swing_json(const Swing *s)
{
    json_t *o = json_pack("{s:s, s:s, s:o, s:s}", "kind", swing_name(s->kind), "stage",
                          s->stage >= 0 ? stage_name((StageId)s->stage) : "none", "period_steps",
                          s->period ? json_integer(s->period) : json_null(), "sentence", s->sentence);
    json_object_set_new(o, "variation", json_from_double(s->variation));
    json_object_set_new(o, "by_lengths", json_from_double(s->by_lengths));
    json_object_set_new(o, "rest", json_from_double(s->rest));
    return o;
}

/* Variation with what is to be said about it; a fault that the verdict does not name already is a finding. */
void swing_rows(json_t *section, const char *name, const Verdict *v)
{
    const Swing *s = &v->swing;
    char value[64], note[240] = "";
    if (s->assumed && !swing_is_fault(s))
        say(note, sizeof note, SAY_NOTE_TRAINER_SEES, 100 * s->rest);
    else if (s->kind == SWING_LENGTHS || (swing_is_fault(s) && s->by_lengths >= 0.05))
        say(note, sizeof note, SAY_NOTE_BY_LENGTHS, 100 * s->by_lengths);
    say(value, sizeof value, SAY_PERCENT_1, 100 * s->variation);
    /* Uneven batches that a trainer would not feel are neither good nor bad. */
    const int hidden =
        s->assumed && !swing_is_fault(s) && threshold_judge(LIMIT_VARIATION, s->variation) != STATUS_GOOD;
    section_row(section, hidden ? STATUS_INFO : s->status, name, note, "%s", value);
    if (swing_is_fault(s) && (s->assumed || !verdict_has_fault(v) || v->stage != s->stage))
        section_finding(section, "warning", s->sentence,
                        word(s->stage == STAGE_STEP ? SAY_SWING_WHY_STEP : SAY_SWING_WHY_STAGE), value,
                        s->advice);
}

/* The walls as a reader sees them: text and page print these lines. */
static json_t *wall_lines(const Verdict *v)
{
    json_t *all = json_array();
    for (int i = 0; i < v->wall_count; i++) {
        const Wall *w = &v->walls[i];
        const char *stage = stage_name((StageId)w->stage), *cause = cause_shown(w->cause);
        char line[1400];
        if (w->period)
            say(line, sizeof line, SAY_WALL_LINE_EVERY, stage, cause, w->period, w->evidence, w->gain_alone);
        else
            say(line, sizeof line, SAY_WALL_LINE, stage, cause, w->evidence, w->gain_alone);
        if (i)
            say_more(line, sizeof line, SAY_WALL_TOGETHER, w->gain_so_far);
        const size_t n = strlen(line);
        snprintf(line + n, sizeof line - n, ". %s", w->remedy);
        json_array_append_new(all, json_string(line));
    }
    return all;
}

/* Also for `profile`, which has no sections. */
void report_verdict(json_t *report, const Verdict *v, const Observation *o)
{
    json_t *evidence = json_array(), *gains = json_array();
    for (int i = 0; i < v->evidence_count; i++)
        json_array_append_new(evidence, json_string(v->evidence[i]));
    for (int i = 0; i < v->gain_count; i++)
        json_array_append_new(gains, gain_json(&v->gains[i]));
    json_object_set_new(report, "bottleneck",
                        json_string(v->stage >= 0 ? stage_name((StageId)v->stage) : "none"));
    json_object_set_new(report, "cause", json_string(cause_name(v->cause)));
    json_object_set_new(report, "period_steps", v->period ? json_integer(v->period) : json_null());
    json_object_set_new(report, "verdict", json_string(v->sentence));
    json_object_set_new(report, "verdict_status",
                        json_string(verdict_has_fault(v) && !o->no_step ? "bad" : "good"));
    json_object_set_new(report, "evidence", evidence);
    json_object_set_new(report, "gains", gains);
    json_object_set_new(report, "walls", walls_json(v));
    json_object_set_new(report, "wall_lines", wall_lines(v));
    json_object_set_new(report, "swing", swing_json(&v->swing));
    json_object_set_new(report, "disturbed", json_boolean(v->disturbed));
    json_object_set_new(report, "disturbance", json_from_double(o->disturbed));
    json_object_set_new(report, "utterances_per_s", json_from_double(o->utterances_per_s));
    json_object_set_new(report, "step_ms", json_from_double(1e3 * o->period));
    json_object_set_new(report, "wait_share", json_from_double(o->wait_share));
    json_object_set_new(report, "forecast_check", json_from_double(v->check));
    json_object_set_new(report, "forecast_trusted", json_boolean(v->trusted));
}

/* --- what follows --- */

static void add_line(json_t *list, const char *text) { json_array_append_new(list, json_string(text)); }

/* What to do about each wall, and what that gives; the best setting has its own line. */
static void add_remedies(json_t *list, const Verdict *v)
{
    for (int i = 0; i < v->wall_count; i++) {
        const Wall *w = &v->walls[i];
        char text[900];
        if (i == 0 && w->is_setting)
            continue;
        if (i)
            say(text, sizeof text, SAY_REMEDY_THEN, stage_name((StageId)w->stage), w->remedy, w->gain_so_far);
        else
            say(text, sizeof text, SAY_REMEDY_FIRST, stage_name((StageId)w->stage), w->remedy,
                w->gain_so_far);
        add_line(list, text);
    }
}

/* As the configuration has it now. */
static void current_value(char *out, size_t cap, const Config *cfg, const char *key)
{
    ConfigRow row;
    snprintf(out, cap, "?");
    for (int i = 0; i < config_row_count(); i++)
        if (config_row(cfg, i, &row) == 0 && strcmp(row.key, key) == 0)
            snprintf(out, cap, "%s", row.value);
}

/* Issues and fixes of all sections, then the doctor's advice, then what could be written into the file. */
static void add_consequences(json_t *report, const ReportInput *in)
{
    json_t *issues = json_array(), *recommendations = json_array(), *changes = json_array(), *section,
           *finding;
    const Verdict *v = in->v;
    size_t i, k;
    if (verdict_has_fault(v))
        add_line(issues, v->sentence);
    json_array_foreach(json_object_get(report, "sections"), i, section)
        json_array_foreach(json_object_get(section, "findings"), k, finding)
    {
        const char *severity = json_string_value(json_object_get(finding, "severity"));
        const char *what = json_string_value(json_object_get(finding, "what"));
        const char *fix = json_string_value(json_object_get(finding, "fix"));
        if (!severity || !what || strcmp(what, v->sentence) == 0)
            continue;
        if (strcmp(severity, "note") != 0)
            add_line(issues, what);
        if (fix && *fix && strcmp(severity, "note") != 0)
            add_line(recommendations, fix);
    }
    /* The one change that helps most. */
    if (v->best >= 0) {
        const Gain *g = &v->gains[v->best];
        char text[400], from[120];
        if (v->trusted)
            say(text, sizeof text, SAY_REMEDY_SET, g->change, g->predicted);
        else
            say(text, sizeof text, SAY_REMEDY_TRY, g->change, g->predicted);
        add_line(recommendations, text);
        current_value(from, sizeof from, in->cfg, g->key);
        say(text, sizeof text, SAY_CHANGE_WHY, g->predicted);
        json_array_append_new(changes, json_pack("{s:s, s:s, s:s, s:s}", "key", g->key, "from", from, "to",
                                                 g->value, "why", text));
    }
    add_remedies(recommendations, v);
    /* Changes that the checks before the run suggest; the doctor's own comes first. */
    for (size_t f = 0; in->preflight && f < in->preflight->count; f++) {
        const Finding *p = &in->preflight->findings[f];
        char from[120];
        if (!p->set_value || !p->key[0] || (v->best >= 0 && strcmp(p->key, v->gains[v->best].key) == 0))
            continue;
        current_value(from, sizeof from, in->cfg, p->key);
        json_array_append_new(changes, json_pack("{s:s, s:s, s:s, s:s}", "key", p->key, "from", from, "to",
                                                 p->set_value, "why", p->what));
    }
    json_object_set_new(report, "issues", issues);
    json_object_set_new(report, "recommendations", recommendations);
    json_object_set_new(report, "configuration_changes", changes);
}

/* What a training run has drawn: loss.png, and how it hears a clip of validation. */
static json_t *run_pictures(const char *run)
{
    static const struct {
        const char *file;
        Word title, note;
    } known[] = {
        {"loss.png", SAY_PICTURE_LOSS, SAY_PICTURE_LOSS_NOTE},
        {"alignment.png", SAY_PICTURE_ALIGNMENT, SAY_PICTURE_ALIGNMENT_NOTE},
        {"mel.png", SAY_PICTURE_MEL, SAY_PICTURE_MEL_NOTE},
        {"pitch.png", SAY_PICTURE_PITCH, SAY_PICTURE_PITCH_NOTE},
    };
    json_t *all = json_array();
    for (size_t i = 0; i < sizeof known / sizeof *known && run; i++) {
        char *path = file_join(run, known[i].file);
        if (path && file_exists(path))
            json_array_append_new(all, json_pack("{s:s, s:s, s:s}", "title", word(known[i].title), "path",
                                                 path, "note", word(known[i].note)));
        free(path);
    }
    return all;
}

/* The whole report. Text and page are drawn from it. */
json_t *report_make(const ReportInput *in)
{
    char date[64];
    time_t now = time(NULL);
    struct tm t;
    localtime_r(&now, &t);
    strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S %z", &t);
    /* Which machine this is about: reports are kept and compared. */
    char machine[400];
    if (in->data == in->model)
        say_count(machine, sizeof machine, SAY_MACHINE, in->o->cores, in->model->name, in->model->model,
                  in->o->cores);
    else
        say_count(machine, sizeof machine, SAY_MACHINE_AND_DATA, in->o->cores, in->model->name,
                  in->model->model, in->data->name, in->o->cores);
    json_t *r = json_pack("{s:s, s:s, s:s}", "title", in->title, "date", date, "machine", machine);
    json_t *command = json_string(in->command);
    json_object_set_new(r, "command", command ? command : json_string("?"));
    report_verdict(r, in->v, in->o);
    json_object_set_new(r, "sections", sections_make(in));
    if (in->ranks)
        ranks_verdict_report(r, in->ranks);
    if (in->preflight)
        json_object_set_new(r, "limits", limits_json(&in->preflight->limits));
    add_consequences(r, in);
    json_object_set_new(r, "charts", charts_make(in->o, in->v));
    json_object_set_new(r, "pictures", run_pictures(in->run));
    return r;
}

/* What decides the exit code: everything but notes. */
int report_findings(const json_t *report)
{
    size_t i, k;
    const json_t *section, *finding;
    int n = 0;
    json_array_foreach(json_object_get(report, "sections"), i, section)
        json_array_foreach(json_object_get(section, "findings"), k, finding) n +=
        strcmp(json_string_value(json_object_get(finding, "severity")), "note") != 0;
    return n;
}

/* --- text --- */

Word status_word(const char *name)
{
    static const Word words[] = {[STATUS_GOOD] = SAY_STATUS_GOOD,
                                 [STATUS_ACCEPTABLE] = SAY_STATUS_ACCEPTABLE,
                                 [STATUS_BAD] = SAY_STATUS_BAD,
                                 [STATUS_INFO] = SAY_STATUS_INFO,
                                 [STATUS_UNKNOWN] = SAY_STATUS_UNKNOWN};
    for (int s = STATUS_GOOD; s <= STATUS_UNKNOWN; s++)
        if (strcmp(name, status_name((Status)s)) == 0)
            return words[s];
    return SAY_STATUS_INFO;
}

Word severity_word(const char *name)
{
    return strcmp(name, "error") == 0     ? SAY_SEVERITY_ERROR
           : strcmp(name, "warning") == 0 ? SAY_SEVERITY_WARNING
                                          : SAY_SEVERITY_NOTE;
}

const char *stage_shown(const char *name) { return strcmp(name, "none") == 0 ? word(SAY_CAUSE_NONE) : name; }

/* "" where there is none. */
static const char *text_of(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

static void print_list(Buf *out, const char *title, const json_t *list)
{
    size_t i;
    const json_t *line;
    buf_printf(out, "\n%s\n", title);
    if (json_array_size(list) == 0)
        buf_printf(out, "  %s\n", word(SAY_NONE));
    json_array_foreach(list, i, line) buf_printf(out, "  %zu. %s\n", i + 1, json_string_value(line));
}

/* Plain rows have no word in front: the eye finds those that do. */
static void print_section(Buf *out, size_t number, const json_t *s)
{
    size_t i;
    const json_t *row, *f;
    buf_printf(out, "\n[%zu] %s\n", number, text_of(s, "title"));
    json_array_foreach(json_object_get(s, "rows"), i, row)
    {
        const char *note = text_of(row, "note");
        const Word status = status_word(text_of(row, "status"));
        buf_str(out, "  ");
        words_column(out, status == SAY_STATUS_INFO ? "" : word(status), 11);
        words_column(out, text_of(row, "name"), 33);
        buf_printf(out, "%s%s%s%s\n", text_of(row, "value"), *note ? " (" : "", note, *note ? ")" : "");
    }
    json_array_foreach(json_object_get(s, "findings"), i, f)
    {
        buf_str(out, "  ");
        buf_say(out, SAY_FINDING_LINE, word(severity_word(text_of(f, "severity"))), text_of(f, "what"),
                text_of(f, "value"), text_of(f, "why"), text_of(f, "fix"));
        buf_str(out, "\n");
    }
}

/* A change, and in columns what it gives. */
static void print_gain(Buf *out, const json_t *gain)
{
    buf_str(out, "    ");
    words_column(out, text_of(gain, "change"), 45);
    buf_printf(out, "%.2f", json_number_value(json_object_get(gain, "predicted")));
}

/* What the verdict on ranks rests on, and what would help all of them. */
static void print_cluster(Buf *out, const json_t *c)
{
    size_t i;
    const json_t *x;
    if (!c)
        return;
    buf_printf(out, "\n  %s: %s\n", word(SAY_TITLE_RANKS), text_of(c, "verdict"));
    json_array_foreach(json_object_get(c, "evidence"), i, x)
        buf_printf(out, "  - %s\n", json_string_value(x));
    buf_printf(out, "\n  %s\n", word(SAY_TITLE_RANK_GAINS));
    json_array_foreach(json_object_get(c, "gains"), i, x)
    {
        print_gain(out, x);
        buf_printf(out, ", %.2f\n", json_number_value(json_object_get(x, "per_rank")));
    }
}

/* The sentence, what it rests on, and what would help. */
static void print_verdict(Buf *out, const json_t *r)
{
    size_t i;
    const json_t *x;
    buf_printf(out, "\n%s\n  ", word(SAY_TITLE_VERDICT));
    buf_say(out, SAY_VERDICT_LINE, stage_shown(text_of(r, "bottleneck")),
            cause_shown(cause_find(text_of(r, "cause"))));
    buf_printf(out, "\n  %s\n", text_of(r, "verdict"));
    json_array_foreach(json_object_get(r, "evidence"), i, x)
        buf_printf(out, "  - %s\n", json_string_value(x));
    const json_t *walls = json_object_get(r, "wall_lines");
    if (json_array_size(walls))
        buf_printf(out, "\n  %s\n", word(SAY_TITLE_WALLS));
    json_array_foreach(walls, i, x) buf_printf(out, "    %zu. %s\n", i + 1, json_string_value(x));
    buf_printf(out, "\n  %s\n", word(SAY_TITLE_GAINS));
    json_array_foreach(json_object_get(r, "gains"), i, x)
    {
        const json_t *measured = json_object_get(x, "measured");
        print_gain(out, x);
        if (json_is_number(measured))
            buf_say(out, SAY_GAIN_MEASURED, json_number_value(measured));
        buf_str(out, "\n");
    }
}

/* Sections, what follows from them, and the verdict last: it is what stays on the screen. */
void report_text(Buf *out, const json_t *r)
{
    size_t i;
    const json_t *x;
    buf_printf(out, "%s\n%s, %s\n%s\n", text_of(r, "title"), text_of(r, "date"), text_of(r, "machine"),
               text_of(r, "command"));
    json_array_foreach(json_object_get(r, "sections"), i, x) print_section(out, i + 1, x);
    print_list(out, word(SAY_TITLE_ISSUES), json_object_get(r, "issues"));
    print_list(out, word(SAY_TITLE_RECOMMENDATIONS), json_object_get(r, "recommendations"));
    buf_printf(out, "\n%s\n", word(SAY_TITLE_CHANGES));
    const json_t *changes = json_object_get(r, "configuration_changes");
    if (json_array_size(changes) == 0)
        buf_printf(out, "  %s\n", word(SAY_NONE));
    json_array_foreach(changes, i, x) buf_printf(out, "  %s: %s -> %s (%s)\n", text_of(x, "key"),
                                                 text_of(x, "from"), text_of(x, "to"), text_of(x, "why"));
    print_verdict(out, r);
    print_cluster(out, json_object_get(r, "cluster"));
}

/* --- the table of thresholds --- */

/* In the units that people read. */
json_t *thresholds_json(void)
{
    json_t *all = json_array();
    for (int i = 0; i < LIMIT_COUNT; i++) {
        const Limit *l = threshold((LimitId)i);
        json_array_append_new(all,
                              json_pack("{s:s, s:s, s:f, s:f, s:b, s:s, s:s}", "name", l->name, "measure",
                                        word(l->measure), "good", limit_in_unit(l, l->good), "bad",
                                        limit_in_unit(l, l->bad), "more_is_better", l->more_is_better, "unit",
                                        limit_unit(l), "note", l->note == NO_NOTE ? "" : word(l->note)));
    }
    return all;
}

static void threshold_line(Buf *out, const char *measure, const char *good, const char *between,
                           const char *bad)
{
    words_column(out, measure, 74);
    words_column(out, good, 22);
    words_column(out, between, 30);
    buf_str(out, bad);
}

/* The table as people read it. */
void thresholds_text(Buf *out)
{
    threshold_line(out, word(SAY_LIMIT_MEASURE), word(SAY_STATUS_GOOD), word(SAY_STATUS_ACCEPTABLE),
                   word(SAY_STATUS_BAD));
    buf_str(out, "\n");
    for (int i = 0; i < LIMIT_COUNT; i++) {
        const Limit *l = threshold((LimitId)i);
        char a[48], b[48], good[96], between[128] = "", bad[96];
        limit_say(a, sizeof a, l, l->good);
        limit_say(b, sizeof b, l, l->bad);
        words_write(good, sizeof good, l->more_is_better ? SAY_LIMIT_FROM : SAY_LIMIT_BELOW, a);
        words_write(bad, sizeof bad,
                    l->more_is_better   ? SAY_LIMIT_BELOW
                    : l->good == l->bad ? SAY_LIMIT_FROM
                                        : SAY_LIMIT_ABOVE,
                    b);
        if (l->good != l->bad)
            say(between, sizeof between, SAY_LIMIT_BETWEEN, l->more_is_better ? b : a,
                l->more_is_better ? a : b);
        threshold_line(out, word(l->measure), good, between, bad);
        if (l->note != NO_NOTE)
            buf_say(out, SAY_LIMIT_NOTE, word(l->note));
        buf_str(out, "\n");
    }
}
