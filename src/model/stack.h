/* stack.h - a stack of transformer layers, forward and backward. Private to src/model.
 * The stack is a chain of norms: each adds the branch before it to the residual stream (with dropout) and
 * normalises the sum. */
#ifndef MYXTTS_STACK_H
#define MYXTTS_STACK_H

#include "model/model.h"

/* Memory that is cut, or only counted (base NULL). */
#define CUT_ALIGN 256 /* bytes */

typedef struct Cut {
    char *base;
    uint64_t used;
} Cut;
void *cut_take(Cut *c, uint64_t bytes); /* aligned to CUT_ALIGN; NULL while counting */

/* One norm of the chain. */
typedef struct NormPass {
    void *sum, *out;   /* [R, C] real */
    void *mean, *rstd; /* [R] acc */
} NormPass;

typedef struct LayerPass {
    NormPass self, feed;
    void *qkv;      /* [R, 3C] */
    void *o;        /* [R, C] */
    void *lse;      /* [B, H, T] acc */
    void *h;        /* [R, F] */
    void *unfolded; /* kept of the feed-forward's convolution for its gradients; NULL where ops have no use
                     * for it
                     */
} LayerPass;

/* Memory that stacks use one after the other; each as large as the largest needs it. */
typedef struct StackScratch {
    void *y;        /* [R, C] output of a branch */
    void *dx[2];    /* [R, C] gradient of the residual stream */
    void *dn, *dO;  /* [R, C] */
    void *dy[2];    /* [R, C] gradient of the output of the feed-forward and of the attention branch */
    void *dwide[2]; /* [R, F], [R, 3C] gradient of the feed-forward's middle and of qkv */
} StackScratch;

typedef struct StackPass {
    const StackAt *at;
    int B, T;
    const int32_t *len; /* [B] */
    void *x;            /* [R, C] what goes in */
    LayerPass layer[MODEL_MAX_LAYERS];
    NormPass last;
} StackPass;

void stack_cut(StackPass *s, const StackAt *at, const Ops *ops, Cut *c, int B, int T, int training);
void stack_scratch_cut(StackScratch *x, const StackPass *const *stacks, int count, const Ops *ops, Cut *c,
                       int training);
/* s->x -> s->last.out. drop: of every branch. */
void stack_forward(Model *m, StackPass *s, StackScratch *x, float drop);
/* dout [R, C]: gradient of last.out. Returns the gradient of x (inside the scratch). parallel:
 * gradients of large weights are computed on the side lane (ops.h). Nothing else may use that lane meanwhile,
 * and code that uses the scratch or the gradients must join it first. */
void *stack_backward(Model *m, StackPass *s, StackScratch *x, const void *dout, float drop, int parallel);

/* Weights and gradients at an offset. */
static inline void *weight_at(const Model *m, int64_t offset)
{
    return (char *)m->weights + (size_t)offset * m->c->ops->real_bytes;
}
static inline void *grad_at(const Model *m, int64_t offset)
{
    return (char *)m->grads + (size_t)offset * m->c->ops->acc_bytes;
}
static inline Dropout dropout_at(float p, uint64_t site)
{
    return (Dropout){p, site * UINT64_C(0x9E3779B97F4A7C15)};
}

/* The gradients of the parameters from that at `first` to that at `last` are final (Model.final). side: some
 * of them are computed on the side lane; that all are is known. */
void model_final(const Model *m, int64_t first, int64_t last, int side);

void norm_cut(NormPass *n, const Ops *ops, Cut *c, int64_t rows, int dim);
void linear_forward(Model *m, const LinearAt *l, void *out, const void *in, int64_t rows, Activation act);
/* din NULL: not wanted. */
void linear_backward(Model *m, const LinearAt *l, void *din, void *dout, const void *out, const void *in,
                     int64_t rows, Activation act, int accumulate);
/* Convolutions over time; kernel is that of the weights. din NULL: not wanted. */
void conv_forward(Model *m, const LinearAt *l, int kernel, void *out, const void *in, const int32_t *len,
                  int B, int T, Activation act);
void conv_backward(Model *m, const LinearAt *l, int kernel, void *din, void *dout, const void *out,
                   const void *in, const int32_t *len, int B, int T, Activation act);

#endif
