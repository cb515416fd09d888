/* doctor_report.c - see doctor_report.h. */
#include "doctor_report.h"

#define STAGE_TARGET 0.95

#define GAIN_TARGET 0.90

#define MATERIAL 1.05 /* a gain that somebody would notice */

/* ---- what came out ---- */

static int is_near(const Gain *g) { return fabs(g->predicted / g->measured - 1) <= NEAR; }

static int is_material(const Gain *g) { return fmax(g->predicted, g->measured) >= MATERIAL; }

/* Machines where a setting helps: more workers, more buffers. */
static int is_mendable(const Machine *m)
{
    return m->class == FEW_WORKERS || m->class == SLOW_DECODE || m->class == FEW_BUFFERS;
}

static void tally_add(Tally *t, const Result *r)
{
    t->left_out += r->left_out;
    if (r->left_out)
        return;
    t->total++;
    t->no_answer += !r->answered;
    t->listed += r->listed;
    t->unknown += r->unknown;
    t->stage += r->stage_right;
    t->first += r->first_right;
    t->cause += r->stage_right && r->cause_right;
    t->periods += r->m.period > 0;
    t->periods_right += r->period_right;
    int mended = 0;
    for (int i = 0; i < r->gain_count; i++) {
        const Gain *g = &r->gains[i];
        if (!isfinite(g->measured))
            continue;
        mended |= g->measured >= MATERIAL;
        t->gains++;
        t->gains_near += is_near(g);
        t->material += is_material(g);
        t->material_near += is_material(g) && is_near(g);
    }
    t->mendable += is_mendable(&r->m);
    t->mended += is_mendable(&r->m) && mended;
}

static double share_of(int part, int whole) { return whole ? (double)part / whole : 1; }

void summarise(Summary *s, const Judge *j)
{
    double *errors = mem_calloc(ALL_MACHINES, sizeof *errors);
    size_t n = 0;
    *s = (Summary){0};
    for (int i = 0; i < j->count; i++) {
        const Result *r = &j->results[i];
        tally_add(&s->class[r->m.class], r);
        tally_add(r->m.class == HEALTHY ? &s->healthy : &s->faulty, r);
        tally_add(&s->all, r);
        s->diagnose_s += r->diagnose_s / j->count;
        if (errors && isfinite(r->before_ms))
            errors[n++] = fabs(r->m.period_ms / r->before_ms - 1);
    }
    s->model_error = errors ? stats_percentile(errors, n, 0.5) : NAN;
    free(errors);
    s->holds[0] = share_of(s->faulty.stage, s->faulty.total) >= STAGE_TARGET;
    s->holds[1] = s->healthy.stage == s->healthy.total;
    s->holds[2] = s->all.periods_right == s->all.periods;
    s->holds[3] = share_of(s->all.gains_near, s->all.gains) >= GAIN_TARGET;
    s->holds[4] = share_of(s->all.material_near, s->all.material) >= GAIN_TARGET &&
                  (s->all.material || !s->all.mendable || j->o.no_gains);
}

static void cell(char out[24], int part, int whole)
{
    if (whole)
        snprintf(out, 24, "%d/%d", part, whole);
    else
        snprintf(out, 24, "-");
}

static void print_row(const char *name, const Tally *t)
{
    char c[6][24];
    cell(c[0], t->stage, t->total);
    cell(c[1], t->cause, t->total);
    cell(c[2], t->periods_right, t->periods);
    cell(c[3], t->gains_near, t->gains);
    cell(c[4], t->material_near, t->material);
    cell(c[5], t->no_answer, t->no_answer);
    printf("%-16s %9s %9s %9s %9s %9s %9s\n", name, c[0], c[1], c[2], c[3], c[4], c[5]);
}

void print_table(const Summary *s)
{
    printf("%-16s %9s %9s %9s %9s %9s %9s\n", "class", "stage", "and cause", "period", "gains", "above 5 %",
           "no answer");
    for (int i = 0; i < CLASSES; i++)
        if (s->class[i].total)
            print_row(classes[i].name, &s->class[i]);
    print_row("all faulty", &s->faulty);
    print_row("all", &s->all);
}

static void expected(char out[96], const Machine *m)
{
    int n = 0;
    out[0] = 0;
    for (int i = 0; i < m->stage_count; i++)
        n += snprintf(out + n, (size_t)(96 - n), "%s%s", i ? " or " : "",
                      m->stages[i] == STAGES ? "none" : stage_words[m->stages[i]]);
    for (int i = 0, any = 0; i < CAUSES; i++)
        if (m->causes >> i & 1)
            n += snprintf(out + n, (size_t)(96 - n), "%s%s", any++ ? " or " : "/", cause_words[i]);
    if (m->period)
        snprintf(out + n, (size_t)(96 - n), " every %d", m->period);
}

static void said(char out[96], const Result *r)
{
    int n = snprintf(out, 96, "%.30s/%.30s", r->answered ? r->stage : "no answer", r->cause);
    if (isfinite(r->period))
        snprintf(out + n, (size_t)(96 - n), " every %.3g", r->period);
}

static void settings(char out[128], const Machine *m)
{
    snprintf(out, 128, "%d workers, batch %d, prefetch %d, buffers %d, %s%s", m->workers,
             batch_sizes[m->size], m->slots, m->buffers, m->one_device ? "one device" : "two devices",
             m->long_clips ? ", long clips" : "");
}

void print_verdicts(const Judge *j, const Summary *s)
{
    static const char *const words[2] = {"MISSED", "holds "};
    const Tally *a = &s->all;
    printf("\n%s  stages: %d of %d faulty machines (%.1f %%, at least 95 %%)\n", words[s->holds[0]],
           s->faulty.stage, s->faulty.total, 100 * share_of(s->faulty.stage, s->faulty.total));
    printf("%s  false alarms: %d of %d healthy machines (none)\n", words[s->holds[1]],
           s->healthy.total - s->healthy.stage, s->healthy.total);
    printf("%s  periods within 10 %%: %d of %d (all)\n", words[s->holds[2]], a->periods_right, a->periods);
    printf("%s  gains within 10 %%: %d of %d (%.1f %%, at least 90 %%)\n", words[s->holds[3]], a->gains_near,
           a->gains, 100 * share_of(a->gains_near, a->gains));
    printf("%s  of those above 5 %%: %d of %d (%.1f %%, at least 90 %%)\n", words[s->holds[4]],
           a->material_near, a->material, 100 * share_of(a->material_near, a->material));
    if (a->mendable)
        printf("        machines that a setting mends, and a proposed one did: %d of %d\n", a->mended,
               a->mendable);
    printf("        gains listed: %d, of which at most %d on a machine were measured; of a kind that cannot "
           "be made here: %d\n",
           a->listed, MOST_GAINS, a->unknown);
    printf("        runs made again because this computer was busy with something else: %d; busy all %d "
           "times: %d\n",
           atomic_load(&j->repeated), MOST_TRIES, atomic_load(&j->noisy));
    if (a->left_out)
        printf("        left out, because the long clips cost too little or the machine was too disturbed "
               "(%d): %d\n",
               atomic_load(&j->disturbed), a->left_out);
}

void print_json(const Judge *j, const Summary *s, double seconds)
{
    json_t *per_class = json_object();
    for (int i = 0; i < CLASSES; i++) {
        const Tally *t = &s->class[i];
        if (t->total)
            json_object_set_new(per_class, classes[i].name,
                                json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "total", t->total, "stage",
                                          t->stage, "cause", t->cause, "periods", t->periods, "periods_right",
                                          t->periods_right, "gains", t->gains, "gains_near", t->gains_near));
    }
    const Tally *a = &s->all;
    json_t *o = json_pack(
        "{s:s, s:I, s:i, s:i, s:f, s:f, s:f, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, "
        "s:i, s:o}",
        "bench", "doctor", "seed", (json_int_t)j->o.seed, "machines", a->total, "jobs", j->o.jobs, "seconds",
        seconds, "diagnose_seconds", s->diagnose_s, "stage_share", share_of(s->faulty.stage, s->faulty.total),
        "larger_cause_first", s->class[TWO_CAUSES].first, "false_alarms", s->healthy.total - s->healthy.stage,
        "periods", a->periods, "periods_right", a->periods_right, "gains", a->gains, "gains_near",
        a->gains_near, "material_gains", a->material, "material_gains_near", a->material_near, "mendable",
        a->mendable, "mended", a->mended, "runs_repeated", atomic_load(&j->repeated), "runs_noisy",
        atomic_load(&j->noisy), "left_out", a->left_out, "classes", per_class);
    json_dumpf(o, stdout, JSON_REAL_PRECISION(5));
    putchar('\n');
    json_decref(o);
}

void print_failures(const Judge *j)
{
    for (int i = 0; i < j->count; i++) {
        const Result *r = &j->results[i];
        char want[96], got[96], how[128];
        int wrong = !r->stage_right || !r->cause_right || (r->m.period && !r->period_right);
        expected(want, &r->m);
        said(got, r);
        settings(how, &r->m);
        if (!r->left_out && wrong)
            printf("  %s %d: %s, said %s%s%.160s; noise %.1f %%; %s; %s\n", classes[r->m.class].name,
                   r->m.number, want, got, r->problem[0] ? ": " : "", r->problem, 100 * r->noise, how,
                   r->m.spec);
        for (int k = 0; k < r->gain_count; k++) {
            const Gain *g = &r->gains[k];
            if (isfinite(g->measured) && !is_near(g))
                printf("  %s %d: %s would give %.3f, gave %.3f; noise %.1f %%; %s; %s\n",
                       classes[r->m.class].name, r->m.number, g->change, g->predicted, g->measured,
                       100 * g->noise, how, r->m.spec);
        }
    }
}

void print_list(const Judge *j)
{
    for (int i = 0; i < j->count; i++) {
        const Machine *m = &j->results[i].m;
        char want[96], how[128];
        expected(want, m);
        settings(how, m);
        printf("%s %d\t%s\tcosts %.0f %%\t%.2f ms a step\tdraw %d\t%s\t%s\n", classes[m->class].name,
               m->number, want, 100 * m->cost, m->period_ms, m->draws, how, m->spec);
    }
}
