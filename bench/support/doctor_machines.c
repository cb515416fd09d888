/* doctor_machines.c - see doctor_machines.h. */
#include "doctor_machines.h"

const char *const stage_words[STAGES] = {"read", "decode", "h2d", "preprocess", "peer", "step"};

const char *const cause_words[CAUSES] = {"storage", "workers", "buffers",  "bandwidth",
                                         "compute", "stall",   "outliers", "none"};

const int batch_sizes[BATCH_SIZES] = {4, 8, 16};

#define MARGIN \
    1.15 /* gain of mending it, in the model; 1 / (1 - LEAST_COST) and something for the model's error */

#define CHUNK_MS 0.07 /* a worker wakes up late by so much after each piece of a batch */

#define MODEL_BATCHES 400

/* ---- a model of the pipeline ----
 * Workers take the pieces of the batches in order: disk (one), then decoding. A slot is in use until its copy
 * is over; a device buffer from the start of the copy to the end of the step. Buffers start at three and are
 * added while the step waits. */

/* As sim.h says: log-normal, mean 1, a function of (seed, stage, batch). Drawn in the way the simulator does,
 * the model sees the run that will be. */
static double drawn(const Machine *m, int stage, int batch)
{
    double jitter = m->own_jitter[stage] > 0 ? m->own_jitter[stage] : m->jitter;
    double t = m->ms[stage], variance = log1p(jitter * jitter);
    if (jitter > 0) {
        Rng rng;
        rng_seed(&rng, rng_mix(rng_mix(m->seed, (uint64_t)stage), (uint64_t)batch));
        t *= exp(sqrt(variance) * rng_normal(&rng) - variance / 2);
    }
    for (int i = 0; i < m->stall_count; i++)
        if (m->stalls[i].stage == stage && batch % m->stalls[i].every == m->stalls[i].every - 1)
            t += m->stalls[i].ms;
    return t;
}

ModelRun model_run(const Machine *m)
{
    enum { FIRST = 40, MOST_WORKERS = 64 };
    double worker[MOST_WORKERS] = {0}, disk = 0, copied[MODEL_BATCHES], stepped[MODEL_BATCHES], worked = 0,
           peered = 0, work = 0, squares = 0;
    int rows = batch_sizes[m->size], slots = m->slots < 2 ? 2 : m->slots, have = 3, waits = 0, window = 0,
        short_of = 0;
    int piece = rows / (2 * m->workers), first_buffer = 0;
    piece = piece < 1 ? 1 : piece > 8 ? 8 : piece;
    int buffer_of[MODEL_BATCHES]; /* the batch whose buffer this one takes over, or -1 */
    for (int k = 0; k < MODEL_BATCHES; k++) {
        double t[STAGES], opened = k >= slots ? copied[k - slots] : 0, ready = 0;
        for (int s = 0; s < STAGES; s++)
            t[s] = drawn(m, s, k);
        for (int row = 0; row < rows; row += piece) {
            int w = 0;
            for (int i = 1; i < m->workers; i++)
                w = worker[i] < worker[w] ? i : w;
            double share = (double)(row + piece > rows ? rows - row : piece) / rows;
            disk = fmax(disk, fmax(worker[w], opened)) + share * t[READ];
            worker[w] = disk + share * t[DECODE] + CHUNK_MS;
            ready = fmax(ready, worker[w]);
        }
        double taken = k ? fmax(ready, copied[k - 1]) : ready;
        if (short_of && waits >= 2 && have < m->buffers) {
            have++;
            waits = window = short_of = 0;
            buffer_of[k] = -1;
        } else
            buffer_of[k] = k < 3 ? -1 : first_buffer++;
        double free_at = buffer_of[k] < 0 ? 0 : stepped[buffer_of[k]];
        short_of |= free_at > taken;
        copied[k] = fmax(taken, free_at) + t[H2D];
        worked = fmax(copied[k], worked) + t[PREPROCESS];
        peered = m->one_device ? worked : fmax(worked, peered) + t[PEER];
        double before = k ? stepped[k - 1] : 0;
        waits += peered > before;
        stepped[k] = fmax(peered, before) + t[STEP];
        if (++window >= 16)
            waits = window = short_of = 0;
        if (k >= FIRST) {
            work += t[STEP];
            squares += (stepped[k] - before) * (stepped[k] - before);
        }
    }
    double span = stepped[MODEL_BATCHES - 1] - stepped[FIRST - 1];
    double n = MODEL_BATCHES - FIRST, mean = span / n;
    return (ModelRun){mean, work / span, sqrt(fmax(0, squares / n - mean * mean)) / mean};
}

/* How much faster the machine would be; > 1. */
static double gain_to(const Machine *m, const Machine *other)
{
    return model_run(m).period / model_run(other).period;
}

static double gain_without_stage(const Machine *m, int stage)
{
    Machine other = *m;
    other.ms[stage] *= 0.05;
    other.stall_count = 0;
    for (int i = 0; i < m->stall_count; i++)
        if (m->stalls[i].stage != stage)
            other.stalls[other.stall_count++] = m->stalls[i];
    return gain_to(m, &other);
}

static double gain_with_workers(const Machine *m, int workers)
{
    Machine other = *m;
    other.workers = workers;
    return gain_to(m, &other);
}

static double gain_with_buffers(const Machine *m)
{
    Machine other = *m;
    other.slots = other.buffers = 64;
    return gain_to(m, &other);
}

/* ---- drawing ---- */

double between(Rng *rng, double low, double high) { return low + (high - low) * rng_uniform(rng); }

int from(Rng *rng, int low, int high) { return low + (int)rng_below(rng, (uint64_t)(high - low + 1)); }

static int has_stage(const Machine *m, int stage) { return stage != PEER || !m->one_device; }

void draw_sound(Machine *m, Rng *rng, double low, double high)
{
    double step = between(rng, 5, 14);
    m->size = from(rng, 0, BATCH_SIZES - 1);
    m->workers = from(rng, 2, 6);
    m->slots = from(rng, 4, 8);
    m->buffers = from(rng, 5, 8);
    m->one_device = rng_uniform(rng) < 0.25;
    m->jitter = rng_uniform(rng) < 0.3 ? 0 : between(rng, 0.02, 0.12);
    m->ms[STEP] = step;
    for (int s = H2D; s <= PEER; s++)
        m->ms[s] = step * between(rng, low, high);
    m->ms[READ] = step * between(rng, low, high);
    m->ms[DECODE] = fmax(0.2 * step, step * m->workers * between(rng, low, high) - m->ms[READ]);
}

static void truth(Machine *m, int stage, unsigned causes)
{
    m->stages[0] = stage;
    m->stage_count = 1;
    m->causes = causes;
}

static int draw_healthy(Machine *m, Rng *rng, int stage, unsigned causes)
{
    draw_sound(m, rng, 0.15, 0.5);
    int next = from(rng, 0, 4); /* the stage that is nearest to the step: no more than twice as fast */
    double near = m->ms[STEP] * between(rng, 0.55, 0.8);
    if (!has_stage(m, next))
        return 0;
    m->ms[next] = next == DECODE ? near * m->workers - m->ms[READ] : near;
    if (m->number % 4 == 1) /* times that vary, and a stall now and then: the buffers take them */
        m->jitter = between(rng, 0.15, 0.35);
    m->own_jitter[STEP] = fmin(m->jitter, 0.2); /* more than 0.3 in the step itself is a fault */
    if (m->number % 6 == 2)
        m->stalls[m->stall_count++] = (StallAt){from(rng, READ, PREPROCESS), from(rng, 10, 40),
                                                round(m->ms[STEP] * between(rng, 0.5, 1.5))};
    truth(m, stage, causes);
    return model_run(m).busy >= 0.975;
}

/* One stage is slower than the step; nothing else is in the way. */
static int draw_slow(Machine *m, Rng *rng, int stage, unsigned causes)
{
    draw_sound(m, rng, 0.08, 0.35);
    if (stage == PEER)
        m->one_device = 0;
    double factor = 1.17 * pow(2.6, rng_uniform(rng)); /* more of the slight faults than of the heavy ones */
    m->ms[stage] = m->ms[STEP] * factor * (stage == DECODE ? m->workers : 1);
    if (stage == READ)
        m->ms[DECODE] = fmin(m->ms[DECODE], m->ms[READ] * (m->workers - 1) * 0.6);
    truth(m, stage, causes);
    double other = stage == DECODE ? 1 : gain_with_workers(m, 2 * m->workers);
    return gain_without_stage(m, stage) >= MARGIN && other < 1.03 && gain_with_buffers(m) < 1.03;
}

/* Decoding that is slow although there are many workers: the doctor may say that there are too few or that
 * the work is too much. */
static int draw_slow_decode(Machine *m, Rng *rng, int stage, unsigned causes)
{
    if (!draw_slow(m, rng, stage, causes))
        return 0;
    int workers = from(rng, 4, 10);
    m->ms[DECODE] *= (double)workers / m->workers;
    m->workers = workers;
    return gain_without_stage(m, DECODE) >= MARGIN && gain_with_buffers(m) < 1.03 &&
           gain_with_workers(m, 2 * workers) >= MARGIN;
}

static int draw_few_workers(Machine *m, Rng *rng, int stage, unsigned causes)
{
    draw_sound(m, rng, 0.08, 0.35);
    m->workers = from(rng, 1, 2);
    m->ms[DECODE] = m->ms[STEP] * m->workers * 1.17 * pow(2.8, rng_uniform(rng));
    m->ms[READ] = fmin(m->ms[READ], 0.2 * m->ms[DECODE]);
    truth(m, stage, causes);
    return gain_with_workers(m, 16) >= MARGIN &&
           gain_without_stage(m, READ) < 1 + 0.5 * (gain_without_stage(m, DECODE) - 1) &&
           gain_with_buffers(m) < 1.03;
}

static int draw_slow_step(Machine *m, Rng *rng, int stage, unsigned causes)
{
    draw_sound(m, rng, 0.03, 0.12);
    m->ms[DECODE] = fmin(m->ms[DECODE], 0.17 * m->ms[STEP] * m->workers - m->ms[READ]);
    if (m->ms[DECODE] <= 0)
        return 0;
    truth(m, stage, causes);
    return model_run(m).busy >= 0.985;
}

/* Every stage is fast enough on average, but one varies more than two slots and three buffers can take. */
static int draw_few_buffers(Machine *m, Rng *rng, int stage, unsigned causes)
{
    static const int which[] = {READ, DECODE, H2D, PREPROCESS, PEER};
    stage = which[m->number % 5];
    draw_sound(m, rng, 0.03, 0.12);
    m->jitter = between(rng, 0.6, 1.2);
    m->slots = from(rng, 1, 2);
    m->buffers = 3;
    if (stage == PEER)
        m->one_device = 0;
    m->ms[stage] = m->ms[STEP] * between(rng, 0.6, 0.88) * (stage == DECODE ? m->workers : 1);
    truth(m, stage, causes);
    double best = gain_without_stage(m, stage);
    for (int s = 0; s < STEP; s++)
        if (s != stage && has_stage(m, s) && gain_without_stage(m, s) > 1 + 0.4 * (best - 1))
            return 0;
    return best >= MARGIN && gain_with_buffers(m) >= MARGIN;
}

static double gain_without_stalls(const Machine *m)
{
    Machine other = *m;
    other.stall_count = 0;
    return gain_to(m, &other);
}

static int draw_stall(Machine *m, Rng *rng, int stage, unsigned causes)
{
    stage = m->number % STAGES;
    draw_sound(m, rng, 0.1, 0.45);
    m->slots = from(rng, 2, 4);
    m->buffers = from(rng, 3, 5);
    if (stage == PEER)
        m->one_device = 0;
    m->period = from(rng, 5, 40);
    m->stalls[0] = (StallAt){stage, m->period,
                             round(m->ms[STEP] * (between(rng, 0.2, 0.9) * m->period + between(rng, 0, 8)))};
    m->stall_count = 1;
    truth(m, stage, causes);
    double gain = gain_without_stalls(m);
    Machine quiet = *m;
    quiet.stall_count = 0;
    return gain >= MARGIN && gain < 2 && model_run(&quiet).busy > 0.95;
}

/* Neither even gaps nor a lag at which they come again. */
int is_irregular(const Machine *m)
{
    enum { LOOK = 200 };
    int hit[LOOK], hits = 0, before = -1;
    double sum = 0, squares = 0;
    for (int k = 0; k < LOOK; k++) {
        hit[k] = 0;
        for (int i = 0; i < m->stall_count; i++)
            hit[k] |= k % m->stalls[i].every == m->stalls[i].every - 1;
        if (hit[k] && before >= 0) {
            sum += k - before;
            squares += (double)(k - before) * (k - before);
        }
        before = hit[k] ? k : before;
        hits += hit[k];
    }
    if (hits < 7)
        return 0;
    double mean = sum / (hits - 1);
    if (squares / (hits - 1) - mean * mean < 0.25 * mean * mean)
        return 0;
    for (int lag = 2; lag <= 60; lag++) {
        int again = 0;
        for (int k = lag; k < LOOK; k++)
            again += hit[k] && hit[k - lag];
        if (again > 0.34 * hits)
            return 0;
    }
    return 1;
}

/* A few batches that take far longer, at odd places: half of them stalls without a period, half really long
 * clips, whose bytes take their time on one of the two copies. */
static int draw_long_clips(Machine *m, Rng *rng, int stage, unsigned causes)
{
    static const int by_stall[] = {READ, DECODE, H2D, PREPROCESS, PEER};
    m->long_clips = m->number % 2;
    stage = m->long_clips ? m->number / 2 % 2 ? PEER : H2D : by_stall[m->number / 2 % 5];
    draw_sound(m, rng, 0.08, 0.3);
    m->slots = from(rng, 2, 4);
    m->buffers = from(rng, 3, 5);
    if (stage == PEER || m->long_clips)
        m->one_device = 0;
    truth(m, stage, causes);
    if (m->long_clips) { /* what it costs is measured: the same machine with short clips */
        m->size = 1;
        m->ms[H2D] = m->ms[PEER] = 0.01 * m->ms[STEP];
        m->ms[stage] = m->ms[STEP] * between(rng, 0.4, 0.7);
        return model_run(m).busy > 0.97;
    }
    int n = from(rng, 4, 7);
    for (int i = 0; i < n; i++)
        m->stalls[m->stall_count++] =
            (StallAt){stage, from(rng, 17, 110), round(m->ms[STEP] * between(rng, 4, 12))};
    double gain = gain_without_stalls(m);
    return is_irregular(m) && gain >= MARGIN && gain < 2;
}

static double stage_period(const Machine *m, int stage)
{
    return m->ms[stage] / (stage == DECODE ? m->workers : 1);
}

static int draw_two_causes(Machine *m, Rng *rng, int stage, unsigned causes)
{
    static const int pairs[][2] = {{READ, PEER},   {DECODE, H2D},      {H2D, PREPROCESS}, {PREPROCESS, PEER},
                                   {PEER, DECODE}, {PREPROCESS, READ}, {H2D, READ},       {PEER, H2D}};
    const int *pair = pairs[m->number % 8];
    draw_sound(m, rng, 0.08, 0.3);
    m->one_device = 0;
    double first = m->ms[STEP] * between(rng, 1.8, 2.8), second = first * between(rng, 0.7, 0.85);
    m->ms[pair[0]] = first * (pair[0] == DECODE ? m->workers : 1);
    m->ms[pair[1]] = second * (pair[1] == DECODE ? m->workers : 1);
    if (pair[0] == READ || pair[1] == READ)
        m->ms[DECODE] = 0.3 * m->ms[READ];
    truth(m, pair[0], 0);
    m->stages[m->stage_count++] = pair[1];
    for (int i = 0; i < 2; i++) {
        static const int cause_of[STAGES] = {STORAGE, WORKERS, BANDWIDTH, COMPUTE, BANDWIDTH, COMPUTE};
        m->causes |= 1u << cause_of[pair[i]];
        if (pair[i] == DECODE)
            m->causes |= 1u << COMPUTE;
    }
    Machine mended = *m;
    mended.ms[pair[0]] *= 0.1;
    return gain_without_stage(m, pair[0]) >= MARGIN && gain_without_stage(&mended, pair[1]) >= MARGIN &&
           stage_period(m, pair[0]) > stage_period(m, pair[1]);
}

const ClassRow classes[CLASSES] = {
    [HEALTHY] = {"healthy", 60, draw_healthy, STAGES, 1u << NO_CAUSE},
    [SLOW_DISK] = {"slow_disk", 24, draw_slow, READ, 1u << STORAGE},
    [SLOW_DECODE] = {"slow_decode", 24, draw_slow_decode, DECODE, 1u << WORKERS | 1u << COMPUTE},
    [FEW_WORKERS] = {"few_workers", 24, draw_few_workers, DECODE, 1u << WORKERS},
    [SLOW_H2D] = {"slow_h2d", 24, draw_slow, H2D, 1u << BANDWIDTH},
    [SLOW_PEER] = {"slow_peer", 24, draw_slow, PEER, 1u << BANDWIDTH},
    [SLOW_PREPROCESS] = {"slow_preprocess", 24, draw_slow, PREPROCESS, 1u << COMPUTE},
    [SLOW_STEP] = {"slow_step", 20, draw_slow_step, STEP, 1u << COMPUTE},
    [FEW_BUFFERS] = {"few_buffers", 20, draw_few_buffers, STAGES, 1u << BUFFERS},
    [PERIODIC] = {"stall", 24, draw_stall, STAGES, 1u << STALL},
    [LONG_CLIPS] = {"long_clips", 16, draw_long_clips, STAGES, 1u << OUTLIERS},
    [TWO_CAUSES] = {"two_causes", 16, draw_two_causes, STAGES, 0},
};

void write_spec(Machine *m, const Sizes *sizes)
{
    Buf b = {0};
    buf_printf(&b, "read_ms=%.3f,decode_ms=%.3f,preprocess_ms=%.3f,step_ms=%.3f", m->ms[READ], m->ms[DECODE],
               m->ms[PREPROCESS], m->ms[STEP]);
    buf_printf(&b, ",h2d_us=%.0f,h2d_gbps=%.6f", 100 * m->ms[H2D],
               sizes->h2d[m->size] / (0.9e6 * m->ms[H2D]));
    if (!m->one_device)
        buf_printf(&b, ",peer_us=%.0f,peer_gbps=%.6f", 100 * m->ms[PEER],
                   sizes->peer[m->size] / (0.9e6 * m->ms[PEER]));
    if (m->jitter > 0)
        buf_printf(&b, ",jitter=%.3f", m->jitter);
    for (int s = 0; s < STAGES; s++)
        if (m->own_jitter[s] > 0)
            buf_printf(&b, ",jitter=%s:%.3f", stage_words[s], m->own_jitter[s]);
    if (m->step_gbps > 0)
        buf_printf(&b, ",step_gbps=%.6f", m->step_gbps);
    for (int i = 0; i < m->stall_count; i++)
        buf_printf(&b, ",stall=%s:%d:%.1f", stage_words[m->stalls[i].stage], m->stalls[i].every,
                   m->stalls[i].ms);
    buf_printf(&b, ",seed=%u", m->seed);
    ASSERT(!b.failed && b.size < sizeof m->spec);
    memcpy(m->spec, b.data, b.size + 1);
    buf_free(&b);
}

void speed_up(Machine *m, int stage, const Sizes *sizes)
{
    m->ms[stage] /= 2;
    for (int i = 0; i < m->stall_count; i++)
        if (m->stalls[i].stage == stage)
            m->stalls[i].ms /= 2;
    write_spec(m, sizes);
}

/* Machine `number` of its class: a function of (seed, class, number) and of the bytes of a batch, whatever
 * else is drawn. */
static void machine_draw(Machine *m, uint64_t seed, Class class, int number, const Sizes *sizes)
{
    Rng rng;
    rng_seed(&rng, rng_mix(rng_mix(seed, (uint64_t) class + 1), (uint64_t)number));
    int draws = 0, fair = 0;
    while (!fair) {
        ASSERT_CMP(draws, <, 100000);
        *m = (Machine){
            .class = class, .number = number, .draws = ++draws, .seed = (unsigned)rng_below(&rng, 1000000)};
        fair = classes[class].draw(m, &rng, classes[class].stage, classes[class].causes);
    }
    ModelRun run = model_run(m);
    m->period_ms = run.period;
    Machine mended = *m;
    mended.stall_count = 0;
    for (int i = 0; i < m->stage_count; i++)
        if (m->stages[i] < STEP && !m->stall_count)
            mended.ms[m->stages[i]] *= 0.05;
    m->cost = class == HEALTHY || class == SLOW_STEP ? 0 : 1 - 1 / gain_to(m, &mended);
    write_spec(m, sizes);
}

int class_due(int *next, const ClassRow *rows, int count)
{
    int best = 0;
    for (int c = 1; c < count; c++)
        if ((next[c] + 0.5) / rows[c].count < (next[best] + 0.5) / rows[best].count)
            best = c;
    next[best]++;
    return best;
}

int machines_draw(Machine *out, int count, int only, uint64_t seed, const Sizes *sizes)
{
    int next[CLASSES] = {0}, n = 0;
    for (int i = 0; i < ALL_MACHINES && n < count; i++) {
        const int due = class_due(next, classes, CLASSES);
        if (only < 0 || only == due)
            machine_draw(&out[n++], seed, (Class)due, next[due] - 1, sizes);
    }
    return n;
}
