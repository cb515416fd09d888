/* sim.c - see sim.h. */
#include "device/sim.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "config/config.h"

#define DEFAULT_MEMORY ((uint64_t)16 << 30)
#define MOST_MS 3.6e6 /* an hour */

struct SimDisk {
    pthread_mutex_t mutex;
    int references;   /* by the machines that read from it */
    double next_free; /* clock_now() at which the last one who came will be done */
};

/* ---- the list of keys ---- */

typedef enum {
    KEY_MS,
    KEY_US,
    KEY_GBPS,
    KEY_JITTER,
    KEY_SEED,
    KEY_MEMORY,
    KEY_PCIE_GEN,
    KEY_PCIE_LANES,
    KEY_NVLINKS,
    KEY_RANKS,
    KEY_HOSTS,
    KEY_LINK_GBPS,
    KEY_LINK_US,
    KEY_NEAR_GBPS,
    KEY_NEAR_US,
    KEY_SHARED_DISK,
    KEY_SLOW_RANK,
    KEY_RANK,
    KEY_HOST,
    KEY_STALL,
    KEY_FAIL
} KeyKind;

/* A word of --sim: name, form of its value (NULL: a number), unit, stage, range. */
typedef struct Key {
    const char *name, *form;
    KeyKind kind;
    StageId stage;
    double min, max;
} Key;

/* Of the keys of stages, by SimUnit. */
static const Key units[] = {
    [SIM_MS] = {.kind = KEY_MS, .min = 0, .max = MOST_MS},
    [SIM_US] = {.kind = KEY_US, .min = 0, .max = 1e3 * MOST_MS},
    [SIM_GBPS] = {.kind = KEY_GBPS, .min = 1e-3, .max = 1e6},
};

/* Those of no stage. */
static const Key others[] = {
    {"jitter", NULL, KEY_JITTER, STAGE_NONE, 0, 5},
    {"stall", "STAGE:EVERY:MS", KEY_STALL, STAGE_NONE, 0, MOST_MS},
    {"fail", "STAGE:AT", KEY_FAIL, STAGE_NONE, 0, 1e15},
    {"seed", NULL, KEY_SEED, STAGE_NONE, 0, 0x1p53},
    {"memory_gb", NULL, KEY_MEMORY, STAGE_NONE, 1e-3, 4096},
    {"pcie_gen", NULL, KEY_PCIE_GEN, STAGE_NONE, 1, 6},
    {"pcie_lanes", NULL, KEY_PCIE_LANES, STAGE_NONE, 1, 32},
    {"nvlinks", NULL, KEY_NVLINKS, STAGE_NONE, 0, 18},
    {"ranks", NULL, KEY_RANKS, STAGE_NONE, 1, SIM_MAX_RANKS},
    {"hosts", NULL, KEY_HOSTS, STAGE_NONE, 1, SIM_MAX_RANKS},
    {"link_gbps", NULL, KEY_LINK_GBPS, STAGE_NONE, 1e-3, 1e6},
    {"link_us", NULL, KEY_LINK_US, STAGE_NONE, 0, 1e6},
    {"nvlink_gbps", NULL, KEY_NEAR_GBPS, STAGE_NONE, 1e-3, 1e6},
    {"nvlink_us", NULL, KEY_NEAR_US, STAGE_NONE, 0, 1e6},
    {"slow_rank", "R:FACTOR", KEY_SLOW_RANK, STAGE_NONE, 1, 1000},
    {"rank", "R:KEY=VALUE", KEY_RANK, STAGE_NONE, 0, SIM_MAX_RANKS - 1},
    {"host", "H:KEY=VALUE", KEY_HOST, STAGE_NONE, 0, SIM_MAX_RANKS - 1},
    {"shared_disk", NULL, KEY_SHARED_DISK, STAGE_NONE, 0, 1},
};
enum { OTHERS = sizeof others / sizeof *others, STAGE_KEYS = STAGE_COUNT * STAGE_MOST_KEYS };
enum { KEY_COUNT = STAGE_KEYS + OTHERS };
_Static_assert(KEY_COUNT <= 64, "parse_word has a bit for each");

/* Key i, stages first; 0 where the stage has no more of them. */
static int key_at(Key *key, int i)
{
    if (i >= STAGE_KEYS) {
        *key = others[i - STAGE_KEYS];
        return 1;
    }
    StageId stage = (StageId)(i / STAGE_MOST_KEYS);
    const StageKey *k = &stage_info(stage)->keys[i % STAGE_MOST_KEYS];
    if (!k->name)
        return 0;
    *key = units[k->unit];
    key->name = k->name;
    key->stage = stage;
    return 1;
}

/* One more of a list; what does not fit is cut off. */
static void add_name(char *list, size_t cap, const char *name, const char *form)
{
    size_t n = strlen(list);
    snprintf(list + n, cap - n, "%s%s%s%s", n ? ", " : "", name, form ? "=" : "", form ? form : "");
}

/* The nearest key is named when it is a likely typing error, all of them otherwise. */
static int unknown_key(const char *word, const char *name, Err *err)
{
    err_set(err, ERR_CONFIG, "--sim: unknown key '%s' (in '%s')", name, word);
    char all[sizeof err->hint] = "";
    const char *nearest = NULL;
    int best = 4;
    Key key;
    for (int i = 0; i < KEY_COUNT; i++) {
        if (!key_at(&key, i))
            continue;
        add_name(all, sizeof all, key.name, key.form);
        int distance = config_name_distance(key.name, name);
        if (distance < best && distance < (int)strlen(key.name)) {
            best = distance;
            nearest = key.name;
        }
    }
    if (nearest)
        return err_hint(err, "did you mean '%s'?", nearest);
    return err_hint(err, "the keys are %s", all);
}

/* The whole text must be a number, and within the range. */
static int parse_number(double *x, const char *word, const char *text, double min, double max, int whole,
                        Err *err)
{
    char *end;
    *x = strtod(text, &end);
    if (end == text || *end)
        return err_set(err, ERR_CONFIG, "--sim: '%s' is not a number (in '%s')", text, word);
    if (!(*x >= min && *x <= max))
        return err_set(err, ERR_CONFIG, "--sim: %s is out of range in '%s': it must be %.15g to %.15g", text,
                       word, min, max);
    if (whole && *x != floor(*x))
        return err_set(err, ERR_CONFIG, "--sim: %s must be a whole number (in '%s')", text, word);
    return 0;
}

/* A stage by name, with the nearest one in the hint. */
static int parse_stage(int *stage, const char *word, const char *name, Err *err)
{
    *stage = stage_find(name, (int)strlen(name));
    if (*stage >= 0)
        return 0;
    err_set(err, ERR_CONFIG, "--sim: unknown stage '%s' (in '%s')", name, word);
    char all[sizeof err->hint] = "";
    for (int i = 0; i < STAGE_COUNT; i++)
        add_name(all, sizeof all, stage_name((StageId)i), NULL);
    for (int i = 0; i < STAGE_COUNT; i++)
        if (config_name_distance(stage_name((StageId)i), name) <= 2)
            return err_hint(err, "did you mean '%s'? The stages are %s", stage_name((StageId)i), all);
    return err_hint(err, "the stages are %s", all);
}

/* Cuts "a:b:c" at its colons; 0 unless there are exactly n parts. */
static int cut_parts(char *text, char *parts[], int n)
{
    int have = 0;
    for (char *p = text; p;) {
        char *colon = strchr(p, ':');
        if (colon)
            *colon++ = 0;
        if (have == n)
            return 0;
        parts[have++] = p;
        p = colon;
    }
    return have == n;
}

/* stall=STAGE:EVERY:MS */
static int parse_stall(Sim *sim, const Key *key, const char *word, char *value, Err *err)
{
    char *parts[3];
    int stage, rc;
    double every, ms;
    if (!cut_parts(value, parts, 3))
        return err_set(err, ERR_CONFIG, "--sim: '%s' should be stall=STAGE:EVERY:MS, as in stall=h2d:50:400",
                       word);
    rc = parse_stage(&stage, word, parts[0], err);
    if (!rc)
        rc = parse_number(&every, word, parts[1], 1, 1e15, 1, err);
    if (!rc)
        rc = parse_number(&ms, word, parts[2], key->min, key->max, 0, err);
    if (rc)
        return rc;
    if (sim->stall_count == SIM_MAX_STALLS)
        return err_set(err, ERR_CONFIG, "--sim: more than %d stalls ('%s' is one too many)", SIM_MAX_STALLS,
                       word);
    sim->stalls[sim->stall_count++] = (SimStall){(StageId)stage, (int64_t)every, ms * 1e-3};
    return 0;
}

/* fail=STAGE:AT */
static int parse_fail(Sim *sim, const Key *key, const char *word, char *value, Err *err)
{
    char *parts[2];
    int stage, rc;
    double at;
    if (!cut_parts(value, parts, 2))
        return err_set(err, ERR_CONFIG, "--sim: '%s' should be fail=STAGE:AT, as in fail=peer:20", word);
    rc = parse_stage(&stage, word, parts[0], err);
    if (!rc)
        rc = parse_number(&at, word, parts[1], key->min, key->max, 1, err);
    if (rc)
        return rc;
    if (sim->fail_at[stage] >= 0)
        return err_set(err, ERR_CONFIG,
                       "--sim: two failures of stage %s ('%s' is the second), but only one is possible",
                       stage_name((StageId)stage), word);
    sim->fail_at[stage] = (int64_t)at;
    return 0;
}

/* jitter=NUMBER for all stages without their own, jitter=STAGE:NUMBER for one stage. */
static int parse_jitter(Sim *sim, const Key *key, const char *word, char *value, uint64_t *own, Err *err)
{
    char *colon = strchr(value, ':');
    int stage = STAGE_NONE, rc = 0;
    double x;
    if (colon) {
        *colon = 0;
        rc = parse_stage(&stage, word, value, err);
        value = colon + 1;
    }
    if (!rc)
        rc = parse_number(&x, word, value, key->min, key->max, 0, err);
    if (rc)
        return rc;
    uint64_t bit = (uint64_t)1 << (stage + 1);
    if (*own & bit)
        return err_set(err, ERR_CONFIG, "--sim: the same jitter twice ('%s' is the second)", word);
    *own |= bit;
    for (int i = 0; i < STAGE_COUNT; i++)
        if (colon ? i == stage : !(*own >> (i + 1) & 1))
            sim->jitter[i] = x;
    return 0;
}

static int parse_own(Sim *sim, const Key *key, const char *word, char *value, Err *err);

static int is_whole(KeyKind kind)
{
    return kind == KEY_SEED || kind == KEY_RANKS || kind == KEY_HOSTS || kind == KEY_SHARED_DISK;
}

/* slow_rank=R:FACTOR */
static int parse_slow_rank(Sim *sim, const Key *key, const char *word, char *value, Err *err)
{
    char *parts[2];
    double rank, factor;
    if (!cut_parts(value, parts, 2))
        return err_set(err, ERR_CONFIG, "--sim: '%s' should be slow_rank=R:FACTOR, as in slow_rank=3:1.5",
                       word);
    int rc = parse_number(&rank, word, parts[0], 0, SIM_MAX_RANKS - 1, 1, err);
    if (!rc)
        rc = parse_number(&factor, word, parts[1], key->min, key->max, 0, err);
    if (rc)
        return rc;
    if (sim->slow[(int)rank] > 0)
        return err_set(err, ERR_CONFIG, "--sim: rank %d is slow twice ('%s' is the second)", (int)rank, word);
    sim->slow[(int)rank] = factor;
    return 0;
}

/* Everything is kept in seconds and bytes. */
static void set_number(Sim *sim, const Key *key, double x)
{
    switch (key->kind) {
    case KEY_MS:
        sim->seconds[key->stage] = x * 1e-3;
        break;
    case KEY_US:
        sim->seconds[key->stage] = x * 1e-6;
        break;
    case KEY_GBPS:
        sim->per_byte[key->stage] = 1e-9 / x;
        break;
    case KEY_SEED:
        sim->seed = (uint64_t)x;
        break;
    case KEY_MEMORY:
        sim->memory = (uint64_t)(x * (double)(1 << 30));
        break;
    case KEY_PCIE_GEN:
        sim->pcie_gen = (int)x;
        break;
    case KEY_PCIE_LANES:
        sim->pcie_lanes = (int)x;
        break;
    case KEY_NVLINKS:
        sim->nvlinks = (int)x;
        break;
    case KEY_RANKS:
        sim->links.ranks = (int)x;
        break;
    case KEY_HOSTS:
        sim->links.hosts = (int)x;
        break;
    case KEY_LINK_GBPS:
        sim->links.far.bytes_per_s = x * 1e9;
        break;
    case KEY_LINK_US:
        sim->links.far.seconds = x * 1e-6;
        break;
    case KEY_NEAR_GBPS:
        sim->links.near.bytes_per_s = x * 1e9;
        break;
    case KEY_NEAR_US:
        sim->links.near.seconds = x * 1e-6;
        break;
    case KEY_SHARED_DISK:
        sim->shared_disk = (int)x;
        break;
    case KEY_STALL:
    case KEY_FAIL:
    case KEY_JITTER:
    case KEY_SLOW_RANK:
    case KEY_RANK:
    case KEY_HOST:
        break;
    }
}

/* One KEY=VALUE of the list. seen: bits of the keys that came before; only stall, fail and jitter (for
 * another stage: jitters) and the words of one rank or host may come again. */
static int parse_word(Sim *sim, const char *word, uint64_t *seen, uint64_t *jitters, Err *err)
{
    char name[128];
    snprintf(name, sizeof name, "%s", word);
    char *value = strchr(name, '=');
    if (value)
        *value++ = 0;
    /* Keys are few: a linear search will do. */
    Key key;
    int row = 0;
    while (row < KEY_COUNT && (!key_at(&key, row) || strcmp(key.name, name)))
        row++;
    if (row == KEY_COUNT)
        return unknown_key(word, name, err);
    if (!value || !*value)
        return err_set(err, ERR_CONFIG, "--sim: '%s' has no value; write %s=%s", word, name,
                       key.form ? key.form : "NUMBER");
    /* These have values of their own form. */
    if (key.kind == KEY_STALL)
        return parse_stall(sim, &key, word, value, err);
    if (key.kind == KEY_FAIL)
        return parse_fail(sim, &key, word, value, err);
    if (key.kind == KEY_JITTER)
        return parse_jitter(sim, &key, word, value, jitters, err);
    if (key.kind == KEY_SLOW_RANK)
        return parse_slow_rank(sim, &key, word, value, err);
    if (key.kind == KEY_RANK || key.kind == KEY_HOST)
        return parse_own(sim, &key, word, value, err);
    double x;
    int rc = parse_number(&x, word, value, key.min, key.max, is_whole(key.kind), err);
    if (rc)
        return rc;
    if (*seen >> row & 1)
        return err_set(err, ERR_CONFIG, "--sim: %s is given twice ('%s' is the second)", name, word);
    *seen |= (uint64_t)1 << row;
    set_number(sim, &key, x);
    return 0;
}
/* ---- what one rank or host has differently ---- */

/* In addition to the values for all. A failure replaces theirs. */
static int apply_own(Sim *sim, const char *word, Err *err)
{
    uint64_t seen = 0, jitters = 0;
    for (int i = 0; i < STAGE_COUNT && strncmp(word, "fail=", 5) == 0; i++)
        sim->fail_at[i] = -1;
    return parse_word(sim, word, &seen, &jitters, err);
}

/* Does the word set a key that a rank or a host may have for itself? */
static int may_be_own(const char *word)
{
    Key key;
    size_t n = strcspn(word, "=");
    for (int i = 0; i < KEY_COUNT; i++)
        if (key_at(&key, i) && strlen(key.name) == n && memcmp(key.name, word, n) == 0)
            return key.stage != STAGE_NONE || key.kind == KEY_JITTER || key.kind == KEY_STALL ||
                   key.kind == KEY_FAIL;
    return 1; /* not a key at all: parse_word says so */
}

/* rank=R:KEY=VALUE, host=H:KEY=VALUE. The word is tried here, so that an error is found with the list. */
static int parse_own(Sim *sim, const Key *key, const char *word, char *value, Err *err)
{
    char *colon = strchr(value, ':');
    double index;
    if (!colon || !strchr(colon, '='))
        return err_set(err, ERR_CONFIG, "--sim: '%s' should be %s=%s, as in %s=1:read_ms=40", word, key->name,
                       key->form, key->name);
    *colon++ = 0;
    int rc = parse_number(&index, word, value, key->min, key->max, 1, err);
    if (rc)
        return rc;
    if (!may_be_own(colon)) {
        err_set(err, ERR_CONFIG, "--sim: '%.*s' cannot be set for a single %s (in '%s')",
                (int)strcspn(colon, "="), colon, key->name, word);
        return err_hint(err, "only times of stages, jitter, stall and fail can");
    }
    SimOwn own = {.host = key->kind == KEY_HOST, .index = (int)index};
    if (strlen(colon) >= sizeof own.word || sim->own_count == SIM_MAX_OWN)
        return err_set(err, ERR_CONFIG, "--sim: '%s' is too long, or more than %d of its kind", word,
                       SIM_MAX_OWN);
    snprintf(own.word, sizeof own.word, "%s", colon);
    Sim scratch = {0};
    rc = apply_own(&scratch, own.word, err);
    if (!rc)
        sim->own[sim->own_count++] = own;
    return rc;
}

/* Words between commas, blanks around them allowed. An empty list is a machine that takes no time. */
static int parse_list(Sim *sim, const char *spec, Err *err)
{
    uint64_t seen = 0, jitters = 0;
    size_t blank = strspn(spec, " \t");
    if (!spec[blank])
        return 0;
    for (const char *p = spec; p;) {
        const char *comma = strchr(p, ',');
        size_t n = comma ? (size_t)(comma - p) : strlen(p);
        const char *start = p;
        p = comma ? comma + 1 : NULL;
        /* The word without the blanks around it. */
        for (; n && (*start == ' ' || *start == '\t'); start++)
            n--;
        while (n && (start[n - 1] == ' ' || start[n - 1] == '\t'))
            n--;
        char word[128];
        if (n == 0)
            return err_set(err, ERR_CONFIG,
                           "--sim: nothing between two commas, or after the last one, in '%s'", spec);
        if (n >= sizeof word)
            return err_set(err, ERR_CONFIG, "--sim: '%.40s...' is too long for a key and its value", start);
        memcpy(word, start, n);
        word[n] = 0;
        int rc = parse_word(sim, word, &seen, &jitters, err);
        if (rc)
            return rc;
    }
    return 0;
}

/* What was not said about the cluster, and whether its parts fit together. */
static int finish_cluster(Sim *sim, Err *err)
{
    Links *l = &sim->links;
    if (l->ranks % l->hosts)
        return err_set(err, ERR_CONFIG, "--sim: %d ranks cannot be spread evenly over %d hosts", l->ranks,
                       l->hosts);
    for (int i = 0; i < SIM_MAX_RANKS; i++)
        if (sim->slow[i] > 0 && i >= l->ranks)
            return err_set(err, ERR_CONFIG, "--sim: slow_rank names rank %d, but ranks=%d: they are 0 to %d",
                           i, l->ranks, l->ranks - 1);
    for (int i = 0; i < sim->own_count; i++) {
        const SimOwn *own = &sim->own[i];
        int most = own->host ? l->hosts : l->ranks;
        const char *what = own->host ? "host" : "rank";
        if (own->index >= most)
            return err_set(err, ERR_CONFIG, "--sim: '%s=%d:%s' names %s %d, but %ss=%d: they are 0 to %d",
                           what, own->index, own->word, what, own->index, what, most, most - 1);
    }
    sim->said = *l;
    links_complete(l);
    sim->sum_seed = sim->seed;
    return 0;
}

static int disk_open(struct SimDisk **disk, Err *err)
{
    *disk = mem_calloc(1, sizeof **disk);
    if (!*disk)
        return err_set(err, ERR_NOMEM, "no memory for a simulated machine");
    pthread_mutex_init(&(*disk)->mutex, NULL);
    (*disk)->references = 1;
    return 0;
}

/* Closed after a failure, as sim.h promises. */
int sim_parse(Sim *sim, const char *spec, Err *err)
{
    *sim = (Sim){.memory = DEFAULT_MEMORY,
                 .links = {.ranks = 1, .hosts = 1, .near.seconds = -1, .far.seconds = -1}};
    for (int i = 0; i < STAGE_COUNT; i++)
        sim->fail_at[i] = -1;
    int rc = parse_list(sim, spec ? spec : "", err);
    if (!rc)
        rc = finish_cluster(sim, err);
    if (!rc)
        rc = disk_open(&sim->disk, err);
    if (rc)
        *sim = (Sim){0};
    return rc;
}

void sim_close(Sim *sim)
{
    if (sim->disk && __atomic_sub_fetch(&sim->disk->references, 1, __ATOMIC_ACQ_REL) == 0) {
        pthread_mutex_destroy(&sim->disk->mutex);
        free(sim->disk);
    }
    *sim = (Sim){0};
}

/* ---- the machines of a cluster ---- */

int sim_host_of(const Sim *sim, int rank) { return rank / (sim->links.ranks / sim->links.hosts); }

/* What is said of its host, then what is said of itself. */
static int make_rank(Sim *sim, const Sim *cluster, int rank, int *own_disk, Err *err)
{
    int rc = 0;
    *sim = *cluster;
    sim->disk = NULL;
    sim->rank = rank;
    sim->seed = rng_mix(cluster->seed, (uint64_t)rank);
    *own_disk = 0;
    for (int host = 1; host >= 0; host--)
        for (int i = 0; i < cluster->own_count && !rc; i++) {
            const SimOwn *own = &cluster->own[i];
            if (own->host != host || own->index != (host ? sim_host_of(cluster, rank) : rank))
                continue;
            rc = apply_own(sim, own->word, err);
            *own_disk |= !host && strncmp(own->word, "read_ms=", 8) == 0;
        }
    if (cluster->slow[rank] > 0) {
        sim->seconds[STAGE_STEP] *= cluster->slow[rank];
        sim->per_byte[STAGE_STEP] *= cluster->slow[rank];
    }
    return rc;
}

/* The first rank of a host (or of all, where they share it) has the disk; a rank with its own disk reads from
 * that and does not share it. */
int sim_ranks_open(Sim **all, const Sim *cluster, Err *err)
{
    const int n = cluster->links.ranks;
    int own[SIM_MAX_RANKS], rc = 0;
    *all = mem_calloc((size_t)n, sizeof **all);
    if (!*all)
        return err_set(err, ERR_NOMEM, "no memory for %d simulated ranks", n);
    for (int r = 0; r < n && !rc; r++) {
        Sim *sim = &(*all)[r];
        rc = make_rank(sim, cluster, r, &own[r], err);
        for (int other = 0; other < r && !rc && !own[r] && !sim->disk; other++)
            if (!own[other] &&
                (cluster->shared_disk || sim_host_of(cluster, other) == sim_host_of(cluster, r))) {
                sim->disk = (*all)[other].disk;
                __atomic_add_fetch(&sim->disk->references, 1, __ATOMIC_ACQ_REL);
            }
        if (!rc && !sim->disk)
            rc = disk_open(&sim->disk, err);
    }
    if (rc) {
        sim_ranks_close(*all, n);
        *all = NULL;
    }
    return rc;
}

void sim_ranks_close(Sim *all, int count)
{
    for (int r = 0; all && r < count; r++)
        sim_close(&all[r]);
    free(all);
}

void sim_set_sum(Sim *sim, int buckets)
{
    sim->seconds[STAGE_SUM] = buckets * links_latency(&sim->links);
    sim->per_byte[STAGE_SUM] = links_per_byte(&sim->links);
}

/* ---- times ---- */

/* exp(sigma z - sigma^2 / 2) has mean 1 for any sigma, and deviation sqrt(exp(sigma^2) - 1): the jitter. */
static double draw_factor(const Sim *sim, StageId stage, int64_t batch)
{
    Rng rng;
    uint64_t seed = stage == STAGE_SUM ? sim->sum_seed : sim->seed;
    rng_seed(&rng, rng_mix(rng_mix(seed, (uint64_t)stage), (uint64_t)batch));
    double variance = log1p(sim->jitter[stage] * sim->jitter[stage]);
    return exp(sqrt(variance) * rng_normal(&rng) - 0.5 * variance);
}

/* Latency and bandwidth, then jitter, then stalls: a stall is as long as it was described. */
double sim_seconds(const Sim *sim, StageId stage, int64_t batch, uint64_t bytes)
{
    double t = sim->seconds[stage] + sim->per_byte[stage] * (double)bytes;
    if (batch < 0)
        return t;
    if (sim->jitter[stage] > 0 && t > 0)
        t *= draw_factor(sim, stage, batch);
    for (int i = 0; i < sim->stall_count; i++) {
        const SimStall *s = &sim->stalls[i];
        if (s->stage == stage && batch % s->every == s->every - 1)
            t += s->seconds;
    }
    return t;
}

int sim_fails(const Sim *sim, StageId stage, int64_t batch)
{
    return batch >= 0 && sim->fail_at[stage] == batch;
}

/* ---- the disk ---- */

/* Until an absolute time, so that signals do not make it longer. */
static void sleep_until(double when)
{
    struct timespec t = {(time_t)when, (long)((when - floor(when)) * 1e9)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {
    }
}

/* One disk for all threads, first come, first served. */
void sim_disk_read(Sim *sim, double seconds, const int *stop)
{
    enum { SLICE_MS = 10 };
    if (seconds <= 0)
        return;
    struct SimDisk *disk = sim->disk;
    pthread_mutex_lock(&disk->mutex);
    double now = clock_now();
    /* The disk is taken in the order in which the readers come. */
    double done = disk->next_free = fmax(now, disk->next_free) + seconds;
    pthread_mutex_unlock(&disk->mutex);
    /* In slices, so that a stop does not wait for a simulated disk. */
    while (now < done && !(stop && __atomic_load_n(stop, __ATOMIC_ACQUIRE))) {
        sleep_until(fmin(done, now + SLICE_MS * 1e-3));
        now = clock_now();
    }
}
