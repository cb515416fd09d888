/* stack.c - transformer layers as a chain of norms and branches. */
#include "model/stack.h"

#include <math.h>
#include <string.h>

#include "base/check.h"

void *cut_take(Cut *c, uint64_t bytes)
{
    void *p = c->base ? c->base + c->used : NULL;
    c->used += (bytes + 255) / 256 * 256;
    return p;
}

/* --- products with their weights --- */

void linear_run(Model *m, const LinearAt *l, void *out, const void *in, int64_t rows, Activation act)
{
    const void *bias = l->b < 0 ? NULL : weight_at(m, l->b);
    m->c->ops->linear_forward(m->c, out, in, weight_at(m, l->w), bias, rows, l->out, l->in, act, 0);
}

void linear_back(Model *m, const LinearAt *l, void *din, void *dout, const void *out, const void *in,
                 int64_t rows, Activation act, int accumulate)
{
    void *dbias = l->b < 0 ? NULL : grad_at(m, l->b);
    m->c->ops->linear_backward(m->c, din, grad_at(m, l->w), dbias, dout, out, in, weight_at(m, l->w), rows,
                               l->out, l->in, act, accumulate);
}

void conv_run(Model *m, const LinearAt *l, int kernel, void *out, const void *in, const int32_t *len, int B,
              int T, Activation act)
{
    m->c->ops->conv_forward(m->c, out, in, weight_at(m, l->w), weight_at(m, l->b), len, B, T, l->in, l->out,
                            kernel, act);
}

void conv_back(Model *m, const LinearAt *l, int kernel, void *din, void *dout, const void *out,
               const void *in, const int32_t *len, int B, int T, Activation act)
{
    m->c->ops->conv_backward(m->c, din, grad_at(m, l->w), grad_at(m, l->b), dout, out, in, weight_at(m, l->w),
                             len, B, T, l->in, l->out, kernel, act);
}

/* --- memory --- */

void norm_cut(NormRun *n, const Ops *ops, Cut *c, int64_t rows, int dim)
{
    n->sum = cut_take(c, (uint64_t)rows * (uint64_t)dim * ops->real_bytes);
    n->out = cut_take(c, (uint64_t)rows * (uint64_t)dim * ops->real_bytes);
    n->mean = cut_take(c, (uint64_t)rows * ops->acc_bytes);
    n->rstd = cut_take(c, (uint64_t)rows * ops->acc_bytes);
}

void stack_cut(StackRun *s, const StackAt *at, const Ops *ops, Cut *c, int B, int T)
{
    const int64_t rows = (int64_t)B * T;
    const uint64_t wide = (uint64_t)rows * (uint64_t)at->dim * ops->real_bytes;
    s->at = at, s->B = B, s->T = T;
    s->x = cut_take(c, wide);
    for (int i = 0; i < at->layers; i++) {
        LayerRun *l = &s->layer[i];
        norm_cut(&l->self, ops, c, rows, at->dim);
        l->qkv = cut_take(c, 3 * wide);
        l->o = cut_take(c, wide);
        l->lse = cut_take(c, (uint64_t)rows * (uint64_t)at->heads * ops->acc_bytes);
        norm_cut(&l->feed, ops, c, rows, at->dim);
        l->h = cut_take(c, (uint64_t)rows * (uint64_t)at->feed * ops->real_bytes);
    }
    norm_cut(&s->last, ops, c, rows, at->dim);
}

void stack_scratch_cut(StackScratch *x, const StackRun *const *stacks, int count, const Ops *ops, Cut *c,
                       int training)
{
    uint64_t wide = 0, widest = 0;
    for (int i = 0; i < count; i++) {
        const StackRun *s = stacks[i];
        const uint64_t row = (uint64_t)s->B * (uint64_t)s->T * ops->real_bytes, C = (uint64_t)s->at->dim;
        const uint64_t middle = (uint64_t)s->at->feed > 3 * C ? (uint64_t)s->at->feed : 3 * C;
        wide = row * C > wide ? row * C : wide;
        widest = row * middle > widest ? row * middle : widest;
    }
    x->y = cut_take(c, wide);
    if (!training)
        return;
    x->dx[0] = cut_take(c, wide);
    x->dx[1] = cut_take(c, wide);
    x->dy = cut_take(c, wide);
    x->dn = cut_take(c, wide);
    x->dO = cut_take(c, wide);
    x->dwide = cut_take(c, widest);
}

/* --- forward --- */

static AttentionShape self_shape(const StackRun *s)
{
    const int C = s->at->dim, D = C / s->at->heads;
    AttentionShape a = {.batch = s->B, .heads = s->at->heads, .head_size = D, .tq = s->T, .tk = s->T};
    a.ldq = a.ldk = a.ldv = 3 * (int64_t)C;
    a.ldo = C;
    a.q_len = a.k_len = s->len;
    a.scale = 1.0f / sqrtf((float)D);
    return a;
}

/* Elements from the start of a tensor. */
static void *part(const Model *m, void *p, int64_t elements)
{
    return (char *)p + elements * (int64_t)m->c->ops->real_bytes;
}

/* Adds the branch y (NULL: none) to the stream and normalises. Returns the stream. */
static void *chain(Model *m, StackRun *s, const NormRun *n, const NormAt *at, void *x, const void *y,
                   float drop, int site)
{
    void *sum = y ? n->sum : x;
    m->c->ops->norm_forward(m->c, sum, n->out, n->mean, n->rstd, x, y, weight_at(m, at->w),
                            weight_at(m, at->b), (int64_t)s->B * s->T, s->at->dim,
                            dropout_at(y ? drop : 0, s->at->site + (uint64_t)site));
    return sum;
}

void stack_forward(Model *m, StackRun *s, StackScratch *x, float drop)
{
    const Ops *ops = m->c->ops;
    const StackAt *at = s->at;
    const int64_t rows = (int64_t)s->B * s->T, C = at->dim;
    const AttentionShape self = self_shape(s);
    void *stream = s->x, *y = NULL;
    int site = 0;
    for (int i = 0; i < at->layers; i++) {
        LayerRun *l = &s->layer[i];
        const LayerAt *w = &at->layer[i];
        model_mark(m, at->name, i, 0);
        stream = chain(m, s, &l->self, &w->norm_self, stream, y, drop, site++);
        linear_run(m, &w->qkv, l->qkv, l->self.out, rows, ACT_NONE);
        ops->attention_forward(m->c, l->o, l->lse, l->qkv, part(m, l->qkv, C), part(m, l->qkv, 2 * C), &self);
        y = x->y;
        linear_run(m, &w->out, y, l->o, rows, ACT_NONE);
        stream = chain(m, s, &l->feed, &w->norm_feed, stream, y, drop, site++);
        conv_run(m, &w->up, FEED_KERNEL, l->h, l->feed.out, s->len, s->B, s->T, ACT_RELU);
        linear_run(m, &w->down, y, l->h, rows, ACT_NONE);
    }
    chain(m, s, &s->last, &at->norm, stream, y, drop, site);
}

/* --- backward --- */

/* The chain walked back. */
typedef struct Back {
    Model *m;
    StackRun *s;
    StackScratch *x;
    float drop;
    int site;
    void *dx; /* gradient of the stream behind the norm that comes next; NULL at the end of the chain */
} Back;

/* Through one norm: afterwards x->dy is the gradient of the branch before it, and the bias of the branch's
 * last linear, `branch`, has its gradient; branch_back does the rest of that linear. branch NULL: there is no
 * branch. */
static void chain_back(Back *b, const NormRun *n, const NormAt *at, const void *dout, const LinearAt *branch)
{
    Model *m = b->m;
    void *to = b->dx == b->x->dx[0] ? b->x->dx[1] : b->x->dx[0];
    m->c->ops->norm_backward(m->c, to, branch ? b->x->dy : NULL, grad_at(m, at->w), grad_at(m, at->b),
                             branch ? grad_at(m, branch->b) : NULL, dout, b->dx, branch ? n->sum : b->s->x,
                             n->mean, n->rstd, weight_at(m, at->w), (int64_t)b->s->B * b->s->T, b->s->at->dim,
                             dropout_at(branch ? b->drop : 0, b->s->at->site + (uint64_t)b->site));
    b->site--;
    b->dx = to;
}

static void branch_back(const Back *b, const LinearAt *l, void *din, const void *in)
{
    Model *m = b->m;
    m->c->ops->linear_backward(m->c, din, grad_at(m, l->w), NULL, b->x->dy, NULL, in, weight_at(m, l->w),
                               (int64_t)b->s->B * b->s->T, l->out, l->in, ACT_NONE, 0);
}

void *stack_backward(Model *m, StackRun *s, StackScratch *x, const void *dout, float drop)
{
    const Ops *ops = m->c->ops;
    const StackAt *at = s->at;
    const int64_t rows = (int64_t)s->B * s->T, C = at->dim;
    const AttentionShape self = self_shape(s);
    Back b = {m, s, x, drop, 2 * at->layers, NULL};
    chain_back(&b, &s->last, &at->norm, dout, at->layers ? &at->layer[at->layers - 1].down : NULL);
    for (int i = at->layers - 1; i >= 0; i--) {
        LayerRun *l = &s->layer[i];
        const LayerAt *w = &at->layer[i];
        model_mark(m, at->name, i, 1);
        branch_back(&b, &w->down, x->dwide, l->h);
        conv_back(m, &w->up, FEED_KERNEL, x->dn, x->dwide, l->h, l->feed.out, s->len, s->B, s->T, ACT_RELU);
        chain_back(&b, &l->feed, &w->norm_feed, x->dn, &w->out);
        branch_back(&b, &w->out, x->dO, l->o);
        ops->attention_backward(m->c, x->dwide, part(m, x->dwide, C), part(m, x->dwide, 2 * C), x->dO, l->o,
                                l->lse, l->qkv, part(m, l->qkv, C), part(m, l->qkv, 2 * C), &self);
        linear_back(m, &w->qkv, x->dn, x->dwide, NULL, l->self.out, rows, ACT_NONE, 0);
        chain_back(&b, &l->self, &w->norm_self, x->dn, i > 0 ? &at->layer[i - 1].down : NULL);
    }
    return b.dx;
}
