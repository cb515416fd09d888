/* pass.c - one batch through a network: its memory, and whose functions run. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/network.h"

uint64_t pass_bytes(const Model *m, const Ops *ops, int B, int T, int M, int training)
{
    Pass *r = mem_calloc(1, m->network->pass_bytes);
    if (!r)
        return UINT64_MAX;
    /* Nothing is written through the copy; the cut only wants a model to ask. */
    Model copy = *m;
    Cut c = {0};
    r->m = &copy;
    r->in = (ModelInput){.B = B, .T = T, .M = M};
    r->training = training;
    m->network->cut(r, ops, &c);
    free(r);
    return c.used;
}

int pass_open(Pass **out, Model *m, const ModelInput *in, void *memory, int training, Err *err)
{
    Pass *r = *out = mem_calloc(1, m->network->pass_bytes);
    if (!r)
        return err_set(err, ERR_NOMEM, "no memory to describe a batch of %d rows, %d symbols, %d frames",
                       in->B, in->T, in->M);
    Cut c = {.base = memory};
    r->m = m;
    r->in = *in;
    r->training = training;
    m->network->cut(r, m->c->ops, &c);
    return 0;
}

void pass_close(Pass *r) { free(r); }

void pass_clear(Model *m, void *sums)
{
    const Ops *ops = m->c->ops;
    side_begin(m);
    ops->fill_zero(m->c, sums, SUM_COUNT * ops->acc_bytes);
    /* Gradients add up over the micro-batches of a step, so they begin at zero. */
    if (m->grads)
        ops->fill_zero(m->c, m->grads, (size_t)m->params.size * ops->acc_bytes);
    side_end(m);
}

void pass_forward(Pass *r, int training)
{
    r->learning = training;
    r->m->network->forward(r, training);
}

void pass_losses(Pass *r, void *sums) { r->m->network->losses(r, sums); }
void pass_backward(Pass *r) { r->m->network->backward(r); }
void pass_output(const Pass *r, PassOutput *o) { r->m->network->output(r, o); }
