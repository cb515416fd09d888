/* ops_host.c - opening and closing of the host ops: threads, scratch memory, instruction set. */
#include "ops/ops_host.h"

#include <cblas.h>
#include <stdlib.h>

#include "base/mem.h"

int host_ops_open(OpsContext *c, Device *d, Stream *s, const Ops *ops, Err *err)
{
    c->ops = ops;
    c->device = d;
    c->stream = s;
    c->own = NULL;
    int threads = c->threads > 1 ? c->threads : 1;
    openblas_set_num_threads(
        1); /* it would divide products by its own thread count, and wait with spinning threads */
    HostOps *h = mem_calloc(1, sizeof *h);
    if (!h)
        return err_set(err, ERR_NOMEM, "no memory for the host ops");
    c->own = h;
    h->vectors = vectors_choose(NULL);
    h->scratch = mem_aligned(64, (size_t)threads, HOST_SLOT_BYTES);
    h->sums = mem_aligned(64, 1, HOST_SUM_BYTES);
    int rc = 0;
    if (!h->scratch || !h->sums)
        rc = err_set(err, ERR_NOMEM, "no memory for the scratch space of %d threads", threads);
    if (!rc)
        rc = host_pool_open(&h->pool, threads, err);
    if (rc)
        host_ops_close(c);
    return rc;
}

void host_ops_close(OpsContext *c)
{
    HostOps *h = c->own;
    if (!h)
        return;
    host_pool_close(h->pool);
    free(h->scratch);
    free(h->sums);
    free(h);
    c->own = NULL;
}
