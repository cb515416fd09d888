/* gang.c - see gang.h. */
#include "diag/ranks/gang.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

#define LINKS_INDEX 9000 /* of the device that stands for the links; no rank has that many */

struct Gang {
    Exchange x;
    int ranks;
    Sim sim; /* the links' times, as those of STAGE_SUM */
    Device *links;
    Stream *stream;
    Event *done;   /* the last bucket of the step that was enqueued last */
    Event **ready; /* [ranks][buckets] gradients of a rank are final */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int arrived;  /* ranks that have enqueued the present step */
    int64_t met;  /* steps that all have enqueued */
    int left, rc; /* a rank does not come any more; the links' own failure */
    Err err;
    atomic_llong last; /* step */
};

void gang_close(Gang *g)
{
    if (!g)
        return;
    if (g->stream)
        g->links->ops->stream_close(g->stream);
    for (int i = 0; g->ready && i < g->ranks * g->x.buckets; i++)
        if (g->ready[i])
            g->ready[i]->device->ops->event_close(g->ready[i]);
    if (g->done)
        g->links->ops->event_close(g->done);
    device_close(g->links);
    free(g->ready);
    pthread_mutex_destroy(&g->mutex);
    pthread_cond_destroy(&g->changed);
    free(g);
}

int gang_open(Gang **out, const Sim *cluster, Device *const *devices, Exchange *x, Err *err)
{
    *out = NULL;
    Gang *g = mem_calloc(1, sizeof *g);
    if (!g)
        return err_set(err, ERR_NOMEM, "no memory for a simulated cluster");
    pthread_mutex_init(&g->mutex, NULL);
    pthread_cond_init(&g->changed, NULL);
    atomic_init(&g->last, INT64_MAX);
    g->ranks = cluster->links.ranks;
    g->sim = *cluster; /* of its disk nothing is used */
    sim_set_sum(&g->sim, x->buckets);
    x->seconds = sim_seconds(&g->sim, STAGE_SUM, -1, (uint64_t)x->bytes);
    g->x = *x;
    g->ready = mem_calloc((size_t)(g->ranks * x->buckets), sizeof(Event *));
    DeviceOptions o = {.sim = &g->sim};
    int rc = g->ready ? 0 : err_set(err, ERR_NOMEM, "no memory for a simulated cluster");
    if (!rc)
        rc = device_sim_open(&g->links, LINKS_INDEX, &o, err);
    if (!rc) {
        snprintf(g->links->name, sizeof g->links->name, "%s", GANG_LINKS); /* as errors name it */
        rc = g->links->ops->stream_open(g->links, &g->stream, "sum", err);
    }
    if (!rc)
        rc = g->links->ops->event_open(g->links, &g->done, 0, err);
    for (int i = 0; i < g->ranks * x->buckets && !rc; i++) {
        Device *d = devices[i / x->buckets];
        rc = d->ops->event_open(d, &g->ready[i], 0, err);
    }
    if (rc)
        gang_close(g);
    else
        *out = g;
    return rc;
}

/* All ranks have recorded their events: the sums, bucket after bucket. */
static int enqueue_sums(Gang *g, int64_t batch, Err *err)
{
    const DeviceOps *ops = g->links->ops;
    int rc = 0;
    ops->stream_batch(g->stream, batch, (uint64_t)g->x.bytes);
    for (int b = 0; b < g->x.buckets && !rc; b++) {
        for (int r = 0; r < g->ranks && !rc; r++)
            rc = ops->stream_wait_event(g->stream, g->ready[r * g->x.buckets + b], err);
        if (!rc)
            rc = device_sim_pass(g->stream, STAGE_SUM, 1.0 / g->x.buckets, err);
    }
    return rc ? rc : ops->event_record(g->done, g->stream, err);
}

/* The one who comes last enqueues the sums. */
static int meet(Gang *g, int64_t batch, Err *err)
{
    pthread_mutex_lock(&g->mutex);
    int64_t now = g->met;
    if (++g->arrived == g->ranks && !g->left) {
        g->rc = enqueue_sums(g, batch, &g->err);
        g->arrived = 0;
        g->met++;
        pthread_cond_broadcast(&g->changed);
    }
    while (g->met == now && !g->left)
        pthread_cond_wait(&g->changed, &g->mutex);
    int rc = g->met == now ? err_set(err, ERR_STOPPED, "another rank has ended") : g->rc;
    if (g->rc)
        *err = g->err;
    pthread_mutex_unlock(&g->mutex);
    return rc;
}

int gang_step(Gang *g, int rank, StepMeter *m, Stream *s, int64_t batch, Err *err)
{
    const DeviceOps *ops = s->device->ops;
    int rc = device_sim_pass(s, STAGE_STEP, g->x.forward, err);
    for (int b = 0; b < g->x.buckets && !rc; b++) {
        rc = device_sim_pass(s, STAGE_STEP, g->x.backward / g->x.buckets, err);
        if (!rc)
            rc = ops->event_record(g->ready[rank * g->x.buckets + b], s, err);
    }
    if (!rc)
        rc = meet(g, batch, err);
    if (!rc)
        rc = step_meter_sum(m, s, 0, err);
    if (!rc)
        rc = device_stream_wait(s, g->done, err);
    if (!rc)
        rc = step_meter_sum(m, s, 1, err);
    return rc ? rc : device_sim_pass(s, STAGE_STEP, 1 - g->x.forward - g->x.backward, err);
}

void gang_leave(Gang *g)
{
    pthread_mutex_lock(&g->mutex);
    g->left = 1;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->mutex);
}

void gang_end(Gang *g, int64_t last) { atomic_store(&g->last, last); }
int gang_is_over(Gang *g, int64_t step) { return step > atomic_load(&g->last); }
