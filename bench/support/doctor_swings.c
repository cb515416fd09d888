/* doctor_swings.c - see doctor_swings.h. */
#include "doctor_swings.h"

enum { JITTERS, OSCILLATES, SOUND, LENGTHS, SWING_CLASSES, ALL_SWINGS = 120 };

static const ClassRow swing_classes[SWING_CLASSES] = {{.name = "jitter", .count = 20},
                                                      {.name = "oscillation", .count = 20},
                                                      {.name = "healthy", .count = 60},
                                                      {.name = "lengths", .count = 20}};

#define SWINGS_SALT 0x51e65u
#define MUCH 0.65       /* variation of steps that jitter makes, in the model; the limit is 0.5, ... */
#define STEP_MUCH 0.36  /* ... and 0.3 where the step itself jitters */
#define SOME 0.28       /* that a stall makes; the limit is 0.2 */
#define LITTLE 0.25     /* without the fault */
#define MIXED_BYTES 5.0 /* bytes of a batch of mixed clips / of one of short clips, about */
#define LOOK 300        /* batches that the doctor sees */

typedef struct SwingResult {
    int class, number, stage, period; /* what was put there; STAGES: nothing */
    Machine m;
    char kind[16], said[16], bottleneck[16], problem[320];
    double variation, by_lengths, said_period, noise;
    int right;
} SwingResult;

/* ---- drawing ---- */

/* Half with one stage that jitters, half with all: then the step, which nothing hides. */
static int draw_jitter(SwingResult *r, Rng *rng)
{
    Machine *m = &r->m;
    if (r->number % 2) {
        draw_sound(m, rng, 0.03, 0.12);
        m->jitter = between(rng, 0.7, 1.3);
        r->stage = STEP;
        return model_run(m).variation >= MUCH && model_run(m).busy > 0.95;
    }
    r->stage = r->number / 2 % STAGES;
    draw_sound(m, rng, 0.05, 0.2);
    m->one_device = 0;
    m->jitter = between(rng, 0.02, 0.1);
    if (r->stage != STEP) {
        m->slots = from(rng, 1, 2);
        m->buffers = 3;
        m->ms[r->stage] = m->ms[STEP] * between(rng, 0.8, 1.3) * (r->stage == DECODE ? m->workers : 1);
    }
    m->own_jitter[r->stage] = between(rng, r->stage == STEP ? 0.4 : 0.8, 1.8);
    Machine even = *m;
    even.own_jitter[r->stage] = 0;
    return model_run(m).variation >= (r->stage == STEP ? STEP_MUCH : MUCH) &&
           model_run(&even).variation < LITTLE;
}

static int draw_oscillation(SwingResult *r, Rng *rng)
{
    Machine *m = &r->m;
    r->stage = r->number % STAGES;
    draw_sound(m, rng, 0.1, 0.4);
    m->one_device = 0;
    m->slots = from(rng, 2, 4);
    m->buffers = from(rng, 3, 5);
    r->period = from(rng, 3, 25);
    m->stalls[m->stall_count++] =
        (StallAt){r->stage, r->period, round(m->ms[STEP] * between(rng, 1, 12)) + 1};
    Machine even = *m;
    even.stall_count = 0;
    return model_run(m).variation >= SOME && model_run(m).busy > 0.4 && model_run(&even).variation < LITTLE;
}

/* Half with a step, half with a copy that takes its time for the bytes. */
static int draw_lengths(SwingResult *r, Rng *rng, const Sizes *sizes)
{
    static const int which[] = {STEP, H2D, STEP, PEER};
    Machine *m = &r->m;
    int stage = which[r->number % 4];
    draw_sound(m, rng, 0.05, 0.2);
    m->one_device = 0;
    m->mixed_clips = 1;
    m->ms[H2D] = m->ms[PEER] = 0.01 * m->ms[STEP];
    double bytes = MIXED_BYTES * sizes->peer[m->size], step = m->ms[STEP];
    if (stage == STEP) {
        m->step_gbps = bytes / (1e6 * step * between(rng, 0.6, 0.9));
        m->ms[STEP] = step * between(rng, 0.05, 0.3);
    } else
        m->ms[stage] = step * between(rng, 1.2, 2) / MIXED_BYTES;
    return 1;
}

/* A function of (seed, class, number) and of the bytes of a batch. */
static void swing_draw(SwingResult *r, uint64_t seed, int class, int number, const Sizes *sizes)
{
    Rng rng;
    rng_seed(&rng, rng_mix(rng_mix(seed ^ SWINGS_SALT, (uint64_t) class + 1), (uint64_t)number));
    for (int draws = 0, fair = 0; !fair; draws++) {
        ASSERT_CMP(draws, <, 100000);
        *r = (SwingResult){.class = class, .number = number, .stage = STAGES};
        r->m.seed = (unsigned)rng_below(&rng, 1000000);
        fair = class == JITTERS      ? draw_jitter(r, &rng)
               : class == OSCILLATES ? draw_oscillation(r, &rng)
                                     : draw_lengths(r, &rng, sizes);
    }
    r->m.period_ms = model_run(&r->m).period;
    write_spec(&r->m, sizes);
}

/* Class after class; returns how many. */
static int draw_all(SwingResult *out, int only, uint64_t seed, const Sizes *sizes)
{
    Machine *healthy = mem_calloc(ALL_MACHINES, sizeof *healthy);
    if (!healthy)
        return 0;
    int sound = machines_draw(healthy, ALL_MACHINES, HEALTHY, seed, sizes), n = 0;
    for (int c = 0; c < SWING_CLASSES; c++)
        for (int k = 0; k < swing_classes[c].count && (only < 0 || only == c); k++, n++) {
            if (c == SOUND && k < sound)
                out[n] = (SwingResult){.class = c, .number = k, .stage = STAGES, .m = healthy[k]};
            else
                swing_draw(&out[n], seed, c, k, sizes);
        }
    free(healthy);
    return n;
}

/* ---- judging ---- */

static int is_right(const SwingResult *r)
{
    const char *stage = r->stage < STAGES ? stage_words[r->stage] : "none";
    int fault = !strcmp(r->kind, "periodic") || !strcmp(r->kind, "jitter");
    if (r->class == SOUND)
        return !fault && !strcmp(r->bottleneck, "none");
    if (r->class == LENGTHS)
        return !strcmp(r->kind, "lengths");
    return !strcmp(r->said, stage) &&
           (r->class == JITTERS
                ? !strcmp(r->kind, "jitter")
                : !strcmp(r->kind, "periodic") && fabs(r->said_period - r->period) <= NEAR * r->period);
}

static void judge_number(Judge *j, void *arg, int i)
{
    SwingResult *r = (SwingResult *)arg + i;
    Err err = {0};
    json_t *answer = NULL;
    if (ask(&answer, j, &r->m, LOOK, &r->noise, &err))
        snprintf(r->problem, sizeof r->problem, "%.300s", err.msg);
    const json_t *s = json_object_get(answer, "swing");
    snprintf(r->kind, sizeof r->kind, "%s", json_word(s, "kind"));
    snprintf(r->said, sizeof r->said, "%s", json_word(s, "stage"));
    snprintf(r->bottleneck, sizeof r->bottleneck, "%s", json_word(answer, "bottleneck"));
    r->said_period = json_at(s, "period_steps", NULL);
    r->variation = json_at(s, "variation", NULL);
    r->by_lengths = json_at(s, "by_lengths", NULL);
    r->right = is_right(r) || is_disturbed(answer);
    json_decref(answer);
}

static void print_swing(const SwingResult *r)
{
    const Machine *m = &r->m;
    printf("  %s %d: ", swing_classes[r->class].name, r->number);
    if (r->stage < STAGES)
        printf("%s, ", stage_words[r->stage]);
    if (r->period)
        printf("every %d, ", r->period);
    printf("said %s/%s", r->kind, r->said);
    if (isfinite(r->said_period))
        printf(" every %.0f", r->said_period);
    printf(
        " (bottleneck %s), variation %.0f %%, by lengths %.0f %%%s%s; noise %.1f %%; %d workers, batch %d, "
        "prefetch %d, buffers %d, %s, %s\n",
        r->bottleneck, 100 * r->variation, 100 * r->by_lengths, r->problem[0] ? ": " : "", r->problem,
        100 * r->noise, m->workers, batch_sizes[m->size], m->slots, m->buffers,
        m->one_device ? "one device" : "two devices", m->spec);
}

static int print_results(const Judge *j, const SwingResult *all, int count, double seconds)
{
    int right[SWING_CLASSES] = {0}, total[SWING_CLASSES] = {0}, holds = 1;
    for (int i = 0; i < count; i++) {
        total[all[i].class]++;
        right[all[i].class] += all[i].right;
    }
    json_t *o = json_pack("{s:s, s:I, s:i, s:f}", "bench", "doctor --swings", "seed", (json_int_t)j->o.seed,
                          "machines", count, "seconds", seconds);
    printf("%-16s %11s\n", "steps", "right");
    for (int c = 0; c < SWING_CLASSES; c++) {
        if (!total[c])
            continue;
        printf("%-16s %5d/%-5d\n", swing_classes[c].name, right[c], total[c]);
        json_object_set_new(o, swing_classes[c].name,
                            json_pack("{s:i, s:i}", "total", total[c], "right", right[c]));
        holds &= right[c] == total[c];
    }
    printf("\n%s  all of them; runs made again: %d, noisy every time: %d, too disturbed to judge: %d\n",
           holds ? "holds " : "MISSED", atomic_load(&j->repeated), atomic_load(&j->noisy),
           atomic_load(&j->disturbed));
    for (int i = 0; i < count; i++)
        if (!all[i].right)
            print_swing(&all[i]);
    json_dumpf(o, stdout, JSON_REAL_PRECISION(5));
    putchar('\n');
    json_decref(o);
    return !holds;
}

int swings_judge(Judge *j, Log *log, const Sizes *sizes, Err *err)
{
    int only = -1;
    for (int c = 0; j->o.only_word && c < SWING_CLASSES; c++)
        only = !strcmp(swing_classes[c].name, j->o.only_word) ? c : only;
    if (j->o.only_word && only < 0)
        return err_set(err, ERR_USAGE, "--only cannot be '%s'", j->o.only_word);
    SwingResult *all = mem_calloc(ALL_SWINGS, sizeof *all);
    int rc = all ? 0 : err_set(err, ERR_NOMEM, "no memory for the machines");
    double start = clock_now();
    int count = rc ? 0 : draw_all(all, only, j->o.seed, sizes);
    count = count < j->o.machines ? count : j->o.machines;
    int skip = j->o.skip < count ? j->o.skip : count;
    if (!rc && j->o.list) {
        for (int i = skip; i < count; i++)
            printf("%s %d\t%s\n", swing_classes[all[i].class].name, all[i].number, all[i].m.spec);
    } else if (!rc) {
        rc = in_parallel(j, log, count - skip, judge_number, all + skip, err);
        if (!rc)
            rc = print_results(j, all + skip, count - skip, clock_now() - start);
    }
    free(all);
    return rc;
}
