/* gradient_sum.c - see gradient_sum.h. */
#include "train/step/gradient_sum.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/thread.h"
#include "ranks/ranks_nccl.h"

#define BUCKET_NUMBERS ((int64_t)1 << 20) /* 4 MB: long enough to be fast, short enough to begin early */
#define MOST_BUCKETS 4096                 /* of a step */

/* Numbers that are summed together. */
typedef struct Bucket {
    float *at;
    int64_t count;
} Bucket;

struct GradientSum {
    GradientSumOptions o;
    int64_t from, to; /* of the bucket that is being collected; equal: none */
    int side;         /* part of it is written on the side lane */
    int64_t summed;   /* numbers that went into buckets */
    void *scratch;    /* of a bucket: device memory on a GPU */
    size_t scratch_bytes;
    /* On a GPU. */
    RanksNccl *nccl;
    Stream *lane;
    Event *ended;
    /* On the host. */
    Thread thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    Bucket buckets[MOST_BUCKETS];
    int given, done, closing;
    Err err; /* the first failure */
};

/* ---- the lane ---- */

/* The host's lane: bucket after bucket. After a failure the rest is skipped, so that no rank waits. */
static void *run_lane(void *arg)
{
    GradientSum *g = arg;
    pthread_mutex_lock(&g->lock);
    for (;;) {
        while (g->done == g->given && !g->closing)
            pthread_cond_wait(&g->changed, &g->lock);
        if (g->done == g->given)
            break;
        Bucket b = g->buckets[g->done];
        int failed = g->err.code;
        pthread_mutex_unlock(&g->lock);
        Err err = {0};
        if (!failed)
            ranks_sum(g->o.ranks, b.at, b.count, g->o.type, g->scratch, &err);
        pthread_mutex_lock(&g->lock);
        if (err.code && !g->err.code)
            g->err = err;
        g->done++;
        pthread_cond_broadcast(&g->changed);
    }
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

static void give(GradientSum *g, float *at, int64_t count)
{
    if (g->lane) {
        OpsContext *c = g->o.model->c;
        /* Behind all that the step has enqueued. */
        c->ops->side_follow(c, g->lane, g->side);
        if (!g->err.code)
            ranks_nccl_sum(g->nccl, g->lane, at, count, g->o.type, g->scratch, &g->err);
        return;
    }
    pthread_mutex_lock(&g->lock);
    ASSERT_CMP(g->given, <, MOST_BUCKETS);
    g->buckets[g->given++] = (Bucket){at, count};
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

/* ---- buckets ---- */

/* Hands over what was collected, in pieces for which there is scratch. */
static void flush(GradientSum *g)
{
    float *grads = g->o.model->grads;
    g->summed += g->to - g->from;
    for (; g->from < g->to; g->from += BUCKET_NUMBERS) {
        const int64_t rest = g->to - g->from;
        give(g, grads + g->from, rest < BUCKET_NUMBERS ? rest : BUCKET_NUMBERS);
    }
    g->from = g->to = g->side = 0;
}

/* Of Model.final. The backward pass goes from the last layer to the first, so ranges mostly grow downwards.
 */
static void take_range(void *arg, int64_t from, int64_t to, int side)
{
    GradientSum *g = arg;
    if (g->from < g->to && to == g->from) {
        g->from = from;
    } else if (g->from < g->to && from == g->to) {
        g->to = to;
    } else {
        flush(g);
        g->from = from;
        g->to = to;
    }
    g->side |= side;
    if (g->to - g->from >= BUCKET_NUMBERS)
        flush(g);
}

/* ---- around the backward pass ---- */

/* The losses are known before the backward pass begins: they go first. */
void gradient_sum_begin(GradientSum *g)
{
    OpsContext *c = g->o.model->c;
    g->given = g->done = 0;
    g->from = g->to = g->summed = g->side = 0;
    if (!g->lane)
        g->o.sums[SUM_STOP] = *g->o.stop;
    else if (!g->err.code)
        g->o.device->ops->copy_peer(c->stream, g->o.sums + SUM_STOP, g->o.device, g->o.stop,
                                    sizeof *g->o.stop, &g->err);
    g->o.model->final = take_range;
    g->o.model->final_arg = g;
    give(g, g->o.sums, SUM_COUNT);
}

/* Waits for the host's lane, or makes the step's stream wait for the GPU's. */
static void join_lane(GradientSum *g)
{
    if (g->lane) {
        const DeviceOps *d = g->o.device->ops;
        Err err = {0};
        if (d->event_record(g->ended, g->lane, &err) ||
            d->stream_wait_event(g->o.model->c->stream, g->ended, &err))
            g->err = g->err.code ? g->err : err;
        return;
    }
    pthread_mutex_lock(&g->lock);
    while (g->done < g->given)
        pthread_cond_wait(&g->changed, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

void gradient_sum_end(GradientSum *g)
{
    OpsContext *c = g->o.model->c;
    flush(g);
    g->o.model->final = NULL;
    ASSERT_CMP(g->summed, ==, g->o.model->params.size);
    c->ops->stamp(c, &g->o.times->computed);
    join_lane(g);
    c->ops->stamp(c, &g->o.times->summed);
}

int gradient_sum_check(GradientSum *g, Err *err)
{
    pthread_mutex_lock(&g->lock);
    const int failed = g->err.code;
    if (failed)
        *err = g->err;
    pthread_mutex_unlock(&g->lock);
    return failed;
}

/* ---- opening and closing ---- */

static int on_gpu(const Device *d) { return d->traits.library_kernels; }

uint64_t gradient_sum_bytes(const Ranks *ranks, const Device *d, SumType type)
{
    return ranks && on_gpu(d) ? ranks_nccl_scratch(ranks, BUCKET_NUMBERS, type) : 0;
}

static int open_lane(GradientSum *g, Err *err)
{
    Device *d = g->o.device;
    if (!on_gpu(d)) {
        g->scratch = mem_aligned(64, ranks_sum_scratch(g->o.ranks, BUCKET_NUMBERS, g->o.type), 1);
        return g->scratch ? thread_start(&g->thread, "sum", run_lane, g, err)
                          : err_set(err, ERR_NOMEM, "no memory to sum gradients over ranks");
    }
    g->scratch_bytes = gradient_sum_bytes(g->o.ranks, d, g->o.type);
    int rc = ranks_nccl_open(&g->nccl, g->o.ranks, d, err);
    if (!rc)
        rc = device_alloc(d, &g->scratch, g->scratch_bytes, err);
    if (!rc)
        rc = d->ops->stream_open(d, &g->lane, "sum", err);
    return rc ? rc : d->ops->event_open(d, &g->ended, 0, err);
}

int gradient_sum_open(GradientSum **out, const GradientSumOptions *o, Err *err)
{
    *out = NULL;
    GradientSum *g = mem_calloc(1, sizeof *g);
    if (!g)
        return err_set(err, ERR_NOMEM, "no memory to sum gradients over ranks");
    g->o = *o;
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->changed, NULL);
    int rc = open_lane(g, err);
    if (rc) {
        gradient_sum_close(g);
        return rc;
    }
    *out = g;
    return 0;
}

void gradient_sum_close(GradientSum *g)
{
    if (!g)
        return;
    Device *d = g->o.device;
    pthread_mutex_lock(&g->lock);
    g->closing = 1;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
    thread_join(&g->thread);
    if (g->ended)
        d->ops->event_close(g->ended);
    if (g->lane)
        d->ops->stream_close(g->lane);
    ranks_nccl_close(g->nccl);
    if (on_gpu(d) && g->scratch)
        device_free(d, g->scratch, g->scratch_bytes);
    else
        free(g->scratch);
    pthread_cond_destroy(&g->changed);
    pthread_mutex_destroy(&g->lock);
    free(g);
}
