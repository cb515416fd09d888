/* observe_ranks.c - see observe_ranks.h. */
#include "diag/ranks/observe_ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "diag/pipeline/trial.h"
#include "diag/ranks/gang.h"

/* One rank. */
typedef struct Member {
    ObserveOptions o;
    Trial trial;
    Gang *gang;
    const Exchange *exchange;
    Device *data, *model;
    Observation seen;
    RankFacts facts;
    Thread thread;
    int rc, stuck;
    Err err;
} Member;

typedef struct Cluster {
    const ObserveOptions *o;
    int ranks;
    Sim *machines; /* [ranks] */
    Member *members;
    Device *models[SIM_MAX_RANKS];
    Exchange exchange;
    Gang *gang;
} Cluster;

/* Devices like those of the options, on the rank's own machine. */
static int open_devices(Member *m, const ObserveOptions *o, int rank, Sim *machine, Err *err)
{
    char name[16];
    DeviceOptions d = {.memory_cap = o->model->cap, .sim = machine, .log = m->o.log};
    snprintf(name, sizeof name, "sim%d", 2 * rank);
    int rc = device_open(&m->model, name, &d, err);
    m->data = m->model;
    if (rc || o->data == o->model)
        return rc;
    d.memory_cap = o->data->cap;
    snprintf(name, sizeof name, "sim%d", 2 * rank + 1);
    return device_open(&m->data, o->data->traits.simulated ? name : "cpu", &d, err);
}

static int open_cluster(Cluster *c, Err *err)
{
    const ObserveOptions *o = c->o;
    if (!o->model->traits.simulated) {
        err_set(err, ERR_USAGE, "%d ranks are simulated, but the model device %s is not", c->ranks,
                o->model->name);
        return err_hint(err, "use --model-gpu sim0; real ranks are started by mpirun, srun or torchrun");
    }
    c->members = mem_calloc((size_t)c->ranks, sizeof *c->members);
    if (!c->members)
        return err_set(err, ERR_NOMEM, "no memory for %d simulated ranks", c->ranks);
    int rc = sim_ranks_open(&c->machines, o->sim, err);
    if (!rc)
        rc = exchange_describe(&c->exchange, o->cfg, NULL, err);
    for (int r = 0; r < c->ranks && !rc; r++) {
        Member *m = &c->members[r];
        m->o = *o;
        m->o.log = r ? NULL : o->log; /* they have nothing to say that rank 0 does not */
        rc = open_devices(m, o, r, &c->machines[r], err);
        m->o.data = m->data;
        m->o.model = c->models[r] = m->model;
        m->o.sim = &c->machines[r];
        m->trial = (Trial){.o = &m->o, .rank = r};
    }
    if (!rc)
        rc = gang_open(&c->gang, o->sim, c->models, &c->exchange, err);
    for (int r = 0; r < c->ranks && !rc; r++) {
        c->members[r].gang = c->members[r].trial.gang = c->gang;
        c->members[r].exchange = &c->exchange;
    }
    return rc;
}

/* 1: a reader is stuck, and what it can reach must stay. */
static int close_cluster(Cluster *c)
{
    int stuck = 0;
    for (int r = 0; c->members && r < c->ranks; r++) {
        Member *m = &c->members[r];
        stuck |= m->stuck;
        observation_close(&m->seen);
    }
    if (stuck)
        return 1;
    gang_close(c->gang);
    for (int r = 0; c->members && r < c->ranks; r++) {
        if (c->members[r].data != c->members[r].model)
            device_close(c->members[r].data);
        device_close(c->members[r].model);
    }
    sim_ranks_close(c->machines, c->ranks);
    free(c->members);
    return 0;
}

/* The thread of a rank: the run, and what it tells of it. */
static void *member_main(void *arg)
{
    Member *m = arg;
    char host[64];
    snprintf(host, sizeof host, "host-%d", sim_host_of(m->o.sim, m->trial.rank));
    m->rc = trial_observe(&m->trial, &m->seen, &m->err);
    if (m->rc)
        gang_leave(m->gang);
    m->stuck = trial_close(&m->trial);
    if (!m->rc) {
        m->seen.ranks = m->o.sim->links.ranks;
        m->seen.exchange = *m->exchange;
        m->rc = rank_facts_take(&m->facts, &m->seen, m->trial.rank, host, &m->err);
    }
    return NULL;
}

/* Is it this rank's device that the error names? A failed device makes those fail that wait for it. */
static int is_of(const Member *m, const Err *err)
{
    return err_is_about(err, ERR_ABOUT_DEVICE, m->model->name) ||
           err_is_about(err, ERR_ABOUT_DEVICE, m->data->name);
}

/* Of the rank that failed, not of those that then stopped. */
static int first_failure(const Cluster *c, Err *err)
{
    int found = -1;
    for (int r = 0; r < c->ranks; r++)
        if (c->members[r].rc && (found < 0 || c->members[found].rc == ERR_STOPPED))
            found = r;
    if (found < 0)
        return 0;
    int owner = found;
    for (int r = 0; r < c->ranks; r++)
        if (is_of(&c->members[r], &c->members[found].err))
            owner = r;
    *err = c->members[found].err;
    if (!err_is_about(err, ERR_ABOUT_DEVICE, GANG_LINKS))
        err_prefix(err, "rank %d", owner);
    return c->members[found].rc;
}

static int run_cluster(Cluster *c, Err *err)
{
    int rc = 0, started = 0;
    for (; started < c->ranks && !rc; started++) {
        char name[16];
        snprintf(name, sizeof name, "rank %d", started);
        rc = thread_start(&c->members[started].thread, name, member_main, &c->members[started], err);
    }
    if (rc)
        gang_leave(c->gang);
    for (int r = 0; r < started; r++)
        thread_join(&c->members[r].thread);
    return rc ? rc : first_failure(c, err);
}

int observe_ranks(Observation *o, RankFacts **facts, const ObserveOptions *options, Err *err)
{
    *o = (Observation){0};
    if (facts)
        *facts = NULL;
    Cluster *c = mem_calloc(1, sizeof *c);
    if (!c)
        return err_set(err, ERR_NOMEM, "no memory for a simulated cluster");
    c->o = options;
    c->ranks = options->sim->links.ranks;
    int rc = open_cluster(c, err);
    if (!rc)
        rc = run_cluster(c, err);
    if (!rc && facts) {
        *facts = mem_calloc((size_t)c->ranks, sizeof **facts);
        if (!*facts)
            rc = err_set(err, ERR_NOMEM, "no memory for the facts of %d ranks", c->ranks);
        for (int r = 0; r < c->ranks && !rc; r++)
            (*facts)[r] = c->members[r].facts;
    }
    if (!rc) {
        *o = c->members[0].seen;
        c->members[0].seen = (Observation){0};
    }
    if (close_cluster(c)) {
        observation_close(o);
        return rc ? rc : err_set(err, ERR_WORKER, "a loader is stuck in a read");
    }
    free(c);
    return rc;
}

/* What this one tells of itself, and what the others do. */
static int exchange_facts(RankFacts *all, RankFacts *mine, Observation *o, const ObserveOptions *options,
                          Err *err)
{
    const int rank = ranks_rank(options->ranks);
    o->ranks = ranks_count(options->ranks);
    int rc = exchange_describe(&o->exchange, options->cfg, o->has_phases ? o->phase : NULL, err);
    if (!rc)
        rc = rank_facts_take(mine, o, rank, ranks_host(options->ranks, rank), err);
    return rc ? rc : ranks_gather(options->ranks, all, mine, sizeof *mine, err);
}

int observe_together(Observation *o, RankFacts **facts, const ObserveOptions *options, Err *err)
{
    const int count = ranks_count(options->ranks);
    RankFacts *mine = mem_calloc(1, sizeof *mine);
    *o = (Observation){0};
    *facts = mem_calloc((size_t)count, sizeof **facts);
    int rc = mine && *facts ? observe(o, options, err)
                            : err_set(err, ERR_NOMEM, "no memory for the facts of %d ranks", count);
    ranks_doing(options->ranks, RANK_ENDING, 0);
    if (!rc)
        rc = exchange_facts(*facts, mine, o, options, err);
    free(mine);
    if (rc) {
        observation_close(o);
        free(*facts);
        *facts = NULL;
    }
    return rc;
}
