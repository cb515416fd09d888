/* network_room.c - see network_room.h. */
#include "voice/network_room.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ops/ops_open.h"
#include "text/phonemes/tokens.h"

/* The network's description, and the ops on a separate stream. */
static int open_ops(NetworkRoom *r, const Checkpoint *file, int threads, Err *err)
{
    Device *d = r->device;
    const Ops *ops = ops_table(d, file->cfg.mixed_precision, err);
    if (!ops)
        return err->code;
    Config speaking = file->cfg;
    speaking.critic_dim = speaking.vocoder_critic_dim = 0; /* speaking needs no critics */
    int rc = model_open(&r->m, &speaking, tokens_count(), file->language_input, err);
    if (!rc)
        rc = d->ops->stream_open(d, &r->stream, "speak", err);
    if (rc)
        return rc;
    r->c.threads = threads;
    /* Texts differ in length: timing products for each would take longer than speaking. */
    r->c.deterministic = 1;
    r->ops = ops;
    return ops->open(&r->c, d, r->stream, err);
}

/* Weights for speaking only: no gradients, no moments. */
static int take_memory(NetworkRoom *r, const NetworkRoom *lender, Err *err)
{
    Device *d = r->device;
    r->weight_bytes = model_bytes(&r->m, r->ops, 0);
    r->workspace_bytes = r->ops->workspace_bytes;
    int rc = lender ? 0 : device_alloc(d, &r->weights, r->weight_bytes, err);
    if (!rc && r->workspace_bytes)
        rc = device_alloc(d, &r->workspace, r->workspace_bytes, err);
    if (rc)
        return rc;
    r->c.workspace = r->workspace;
    r->c.workspace_bytes = r->workspace_bytes;
    if (!lender)
        return model_attach(&r->m, &r->c, r->weights, 0, err);
    model_share(&r->m, &r->c, &lender->m);
    return 0;
}

/* From the file through host memory to the device. */
static int load_weights(NetworkRoom *r, const Checkpoint *file, Err *err)
{
    float *flat = mem_aligned(64, (size_t)r->m.params.size, sizeof *flat);
    if (!flat)
        return err_set(err, ERR_NOMEM, "no memory for %lld parameters", (long long)r->m.params.numbers);
    int rc = checkpoint_params(file, &r->m, CHECKPOINT_WEIGHTS, flat, err);
    if (!rc)
        rc = model_load(&r->m, flat, NULL, NULL, NULL, err);
    if (!rc)
        rc = r->device->ops->stream_wait_idle(r->stream, err);
    free(flat);
    return rc;
}

int network_room_open(NetworkRoom *r, const Checkpoint *file, const NetworkRoom *lender, Device *device,
                      int threads, Err *err)
{
    memset(r, 0, sizeof *r);
    r->device = device;
    int rc = open_ops(r, file, threads, err);
    if (!rc)
        rc = take_memory(r, lender, err);
    if (!rc && !lender)
        rc = load_weights(r, file, err);
    if (rc)
        network_room_close(r);
    return rc;
}

/* The network's memory goes after the ops that use it. */
void network_room_close(NetworkRoom *r)
{
    if (r->ops)
        r->ops->close(&r->c);
    if (r->stream)
        r->device->ops->stream_close(r->stream);
    if (r->workspace)
        device_free(r->device, r->workspace, r->workspace_bytes);
    if (r->weights)
        device_free(r->device, r->weights, r->weight_bytes);
    model_close(&r->m);
    memset(r, 0, sizeof *r);
}
