/* ops_host.c - the host's tables and what opens them: threads, scratch memory, instruction set.
 * Compiled twice, with -DREAL=float and -DREAL=double: see host_real.h. */
#include "ops/host/ops_host.h"

#include <stdlib.h>

#include "base/mem.h"
#include "ops/host/host_real.h"

static void host_ops_close(OpsContext *c)
{
    HostOps *h = c->own;
    if (!h)
        return;
    host_pool_close(h->pool);
    free(h->scratch);
    free(h->sums);
    free(h->panels);
    free(h->rooms);
    free(h);
    c->own = NULL;
}

static int host_ops_open(OpsContext *c, Device *d, Stream *s, Err *err)
{
    c->ops = &HOST(ops_host);
    c->device = d;
    c->stream = s;
    c->own = NULL;
    int threads = c->threads > 1 ? c->threads : 1;
    HostOps *h = mem_calloc(1, sizeof *h);
    if (!h)
        return err_set(err, ERR_NOMEM, "no memory for the host ops");
    c->own = h;
    h->vectors = vectors_choose(NULL);
    h->scratch = mem_aligned(64, (size_t)threads, HOST_SLOT_BYTES);
    h->sums = mem_aligned(64, 1, HOST_SUM_BYTES);
    h->panels = mem_aligned(64, HOST_PANELS, sizeof(REAL));
    h->rooms = mem_aligned(64, (size_t)threads * PRODUCT_ROOM, sizeof(REAL));
    h->threads = threads;
    int rc = 0;
    if (!h->scratch || !h->sums || !h->panels || !h->rooms)
        rc = err_set(err, ERR_NOMEM, "no memory for the scratch space of %d threads", threads);
    if (!rc)
        rc = host_pool_open(&h->pool, threads, err);
    if (rc)
        host_ops_close(c);
    return rc;
}

/* Host ops run at once and in order: nothing fails later, and the side lane is the main lane. */
static int nothing_fails(OpsContext *c, Err *err) { return 0; }
static void in_order(OpsContext *c) {}
static void note_nothing(OpsContext *c, int note) {}
static void follow_nothing(OpsContext *c, Stream *s, int side) {}

const Ops HOST(ops_host) = {.real = sizeof(REAL) == sizeof(float) ? REAL_F32 : REAL_F64,
                            .real_bytes = sizeof(REAL),
                            .acc_bytes = sizeof(REAL),
                            .open = host_ops_open,
                            .close = host_ops_close,
                            .check = nothing_fails,
                            .workspace_bytes = 0,
                            .layers_at_once = 1,
                            .side_begin = in_order,
                            .side_end = in_order,
                            .side_note = note_nothing,
                            .side_await = note_nothing,
                            .side_join = in_order,
                            .side_follow = follow_nothing,
#define ENTRY(name) .name = HOST(name),
                            OPS_LIST(ENTRY)
#undef ENTRY
};
