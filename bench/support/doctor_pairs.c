/* doctor_pairs.c - see doctor_pairs.h. */
#include "doctor_pairs.h"

#define MARGIN 1.15      /* gain that the second fault's absence adds, in the model */
#define LEAST_FIRST 1.05 /* gain of the first one's absence alone */
#define TELLABLE 1.03    /* what it gives more than the second's absence */
#define MOST_GAIN 6.0    /* of the absence of both: a machine that somebody would have */
#define HEALTHY_BUSY 0.93
#define PAIRS_SALT 0x9a1f5u

const ClassRow pair_kinds[PAIR_KINDS] = {
    {.name = "slow+slow", .count = 60},    {.name = "slow+stall", .count = 50},
    {.name = "workers+slow", .count = 25}, {.name = "workers+stall", .count = 20},
    {.name = "stall+stall", .count = 20},  {.name = "buffers+slow", .count = 10},
    {.name = "long+slow", .count = 15},
};

/* ---- faults ---- */

/* What is done to a sound machine. */
typedef struct Change {
    int slow;    /* stage that is slow; STAGES: none */
    double ms;   /* what it then takes */
    int workers; /* 0: as they are */
    int slots, buffers;
    StallAt stalls[MOST_STALLS];
    int stall_count;
} Change;

static void apply(Machine *m, const Change *c)
{
    if (c->slow < STAGES)
        m->ms[c->slow] = c->ms;
    m->workers = c->workers ? c->workers : m->workers;
    m->slots = c->slots ? c->slots : m->slots;
    m->buffers = c->buffers ? c->buffers : m->buffers;
    for (int i = 0; i < c->stall_count; i++)
        m->stalls[m->stall_count++] = c->stalls[i];
}

/* A stage that is slower than the step. */
static int draw_slow_stage(Fault *f, Change *c, Rng *rng, Machine *m, int stage)
{
    static const unsigned causes[STAGES] = {1u << STORAGE,   1u << WORKERS | 1u << COMPUTE,
                                            1u << BANDWIDTH, 1u << COMPUTE,
                                            1u << BANDWIDTH, 1u << COMPUTE};
    c->slow = stage;
    c->ms = m->ms[STEP] * 1.2 * pow(2.6, rng_uniform(rng)) * (stage == DECODE ? m->workers : 1);
    *f = (Fault){stage, causes[stage], 0};
    return 1;
}

static int draw_stalling(Fault *f, Change *c, Rng *rng, Machine *m, int stage)
{
    int every = from(rng, 5, 40);
    c->stalls[c->stall_count++] =
        (StallAt){stage, every, round(m->ms[STEP] * (between(rng, 0.3, 1.0) * every + between(rng, 0, 8)))};
    *f = (Fault){stage, 1u << STALL, every};
    return 1;
}

static int draw_few_workers(Fault *f, Change *c, Rng *rng, Machine *m, int stage)
{
    m->workers = from(rng, 8, 16);
    c->workers = from(rng, 1, 2);
    m->ms[DECODE] = m->ms[STEP] * c->workers * 1.2 * pow(2.2, rng_uniform(rng));
    m->ms[READ] = fmin(m->ms[READ], 0.2 * m->ms[DECODE]);
    *f = (Fault){DECODE, 1u << WORKERS, 0};
    return 1;
}

/* A stage that varies more than two slots and three buffers cover. */
static int draw_short_of_buffers(Fault *f, Change *c, Rng *rng, Machine *m, int stage)
{
    m->ms[stage] = m->ms[STEP] * between(rng, 0.7, 0.9);
    m->jitter = between(rng, 0.6, 1.0);
    m->slots = m->buffers = 16;
    c->slots = from(rng, 1, 2);
    c->buffers = 3;
    *f = (Fault){stage, 1u << BUFFERS, 0};
    return 1;
}

/* Stalls at odd places, as long clips make them. */
static int draw_outliers(Fault *f, Change *c, Rng *rng, Machine *m, int stage)
{
    Machine look = {0};
    for (int n = from(rng, 4, 7); n > 0; n--)
        look.stalls[look.stall_count++] = c->stalls[c->stall_count++] =
            (StallAt){stage, from(rng, 17, 110), round(m->ms[STEP] * between(rng, 6, 16))};
    *f = (Fault){stage, 1u << OUTLIERS, 0};
    for (int i = 0; i < look.stall_count; i++)
        for (int k = 0; k < i; k++) {
            int a = look.stalls[i].every, b = look.stalls[k].every;
            if (a % b == 0 || b % a == 0) /* together they come back */
                return 0;
        }
    return is_irregular(&look);
}

typedef int (*DrawFault)(Fault *f, Change *c, Rng *rng, Machine *m, int stage);

/* Both faults of a kind. with_step: the second may be in the step; behind: it comes behind the decoding,
 * which the first slows down. */
static const struct {
    DrawFault draw[2];
    int with_step, behind;
} recipes[PAIR_KINDS] = {
    [SLOW_AND_SLOW] = {{draw_slow_stage, draw_slow_stage}, 0, 0},
    [SLOW_AND_STALL] = {{draw_slow_stage, draw_stalling}, 1, 0},
    [WORKERS_AND_SLOW] = {{draw_few_workers, draw_slow_stage}, 0, 1},
    [WORKERS_AND_STALL] = {{draw_few_workers, draw_stalling}, 1, 1},
    [STALL_AND_STALL] = {{draw_stalling, draw_stalling}, 1, 0},
    [BUFFERS_AND_SLOW] = {{draw_short_of_buffers, draw_slow_stage}, 0, 0},
    [LONG_AND_SLOW] = {{draw_outliers, draw_slow_stage}, 0, 0},
};

/* ---- machines ---- */

/* Two different stages; the step only where it may stall. */
static void two_stages(int out[2], Rng *rng, int with_step)
{
    out[0] = from(rng, READ, PEER);
    do
        out[1] = from(rng, READ, with_step ? STEP : PEER);
    while (out[1] == out[0]);
}

static int draw_pair(Pair *p, Rng *rng)
{
    Machine *m = &p->sound;
    Change change[2] = {{.slow = STAGES}, {.slow = STAGES}};
    int stages[2];
    draw_sound(m, rng, 0.08, 0.3);
    m->one_device = 0;
    m->slots = from(rng, 3, 6);
    m->buffers = from(rng, 4, 8);
    two_stages(stages, rng, recipes[p->kind].with_step);
    int fair = recipes[p->kind].draw[0](&p->faults[0], &change[0], rng, m, stages[0]);
    if (recipes[p->kind].behind)
        stages[1] = from(rng, H2D, recipes[p->kind].with_step ? STEP : PEER);
    recipes[p->kind].draw[1](&p->faults[1], &change[1], rng, m, stages[1]);
    /* A worker waits for the disk and then decodes: few of them would be a third fault. */
    if (change[0].slow == READ || change[1].slow == READ)
        m->ms[DECODE] = fmin(m->ms[DECODE], 0.3 * m->ms[STEP] * m->workers);
    p->with = p->without[0] = p->without[1] = *m;
    for (int i = 0; i < 2; i++) {
        apply(&p->with, &change[i]);
        apply(&p->without[1 - i], &change[i]);
    }
    return fair;
}

/* Both faults cost something, and which costs more can be told. */
static int is_fair(const Pair *p)
{
    double both = model_run(&p->with).period, one[2], none = model_run(&p->sound).period;
    for (int i = 0; i < 2; i++)
        one[i] = model_run(&p->without[i]).period;
    double first = fmin(one[0], one[1]), second = fmax(one[0], one[1]);
    double least =
        p->kind == BUFFERS_AND_SLOW ? 0.8 : HEALTHY_BUSY; /* a tenth is lost to the jitter itself */
    return model_run(&p->sound).busy >= least && first / none >= MARGIN && second / first >= TELLABLE &&
           both / first >= LEAST_FIRST && both / none <= MOST_GAIN;
}

/* A function of (seed, kind, number) and of the bytes of a batch. */
static void pair_draw(Pair *p, uint64_t seed, PairKind kind, int number, const Sizes *sizes)
{
    Rng rng;
    rng_seed(&rng, rng_mix(rng_mix(seed ^ PAIRS_SALT, (uint64_t)kind + 1), (uint64_t)number));
    int draws = 0, fair = 0;
    while (!fair) {
        ASSERT_CMP(draws, <, 100000);
        *p = (Pair){.kind = kind, .number = number, .draws = ++draws};
        p->sound.seed = (unsigned)rng_below(&rng, 1000000);
        fair = draw_pair(p, &rng) && is_fair(p);
    }
    Machine *all[] = {&p->with, &p->without[0], &p->without[1], &p->sound};
    for (int i = 0; i < 4; i++) {
        all[i]->period_ms = model_run(all[i]).period;
        write_spec(all[i], sizes);
    }
}

int pairs_draw(Pair *out, int count, int only, uint64_t seed, const Sizes *sizes)
{
    int next[PAIR_KINDS] = {0}, n = 0;
    for (int i = 0; i < ALL_PAIRS && n < count; i++) {
        const int due = class_due(next, pair_kinds, PAIR_KINDS);
        if (only < 0 || only == due)
            pair_draw(&out[n++], seed, (PairKind)due, next[due] - 1, sizes);
    }
    return n;
}
