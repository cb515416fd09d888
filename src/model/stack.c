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

void linear_run(Model *m, const LinearAt *l, void *out, const void *in, int64_t rows, Activation act)
{
    m->c->ops->linear_forward(m->c, out, in, weight_at(m, l->w), l->b < 0 ? NULL : weight_at(m, l->b), rows, l->out, l->in, act, 0);
}

void linear_back(Model *m, const LinearAt *l, void *din, void *dout, const void *out, const void *in, int64_t rows, Activation act,
                 int accumulate)
{
    m->c->ops->linear_backward(m->c, din, grad_at(m, l->w), l->b < 0 ? NULL : grad_at(m, l->b), dout, out, in, weight_at(m, l->w),
                               rows, l->out, l->in, act, accumulate);
}

static void norm_cut(NormRun *n, const Ops *ops, Cut *c, int64_t rows, int dim)
{
    n->sum = cut_take(c, (uint64_t)rows * (uint64_t)dim * ops->real_bytes);
    n->out = cut_take(c, (uint64_t)rows * (uint64_t)dim * ops->real_bytes);
    n->mean = cut_take(c, (uint64_t)rows * ops->acc_bytes);
    n->rstd = cut_take(c, (uint64_t)rows * ops->acc_bytes);
}

void stack_cut(StackRun *s, const StackAt *at, const Ops *ops, Cut *c, int B, int T, int Tm)
{
    const int64_t rows = (int64_t)B * T;
    const uint64_t wide = (uint64_t)rows * (uint64_t)at->dim * ops->real_bytes;
    const uint64_t per_head = (uint64_t)rows * (uint64_t)at->heads * ops->acc_bytes;
    s->at = at, s->B = B, s->T = T, s->Tm = Tm;
    s->x = cut_take(c, wide);
    for (int i = 0; i < at->layers; i++) {
        LayerRun *l = &s->layer[i];
        norm_cut(&l->self, ops, c, rows, at->dim);
        l->qkv = cut_take(c, 3 * wide);
        l->o = cut_take(c, wide);
        l->lse = cut_take(c, per_head);
        if (at->memory_dim) {
            norm_cut(&l->cross, ops, c, rows, at->dim);
            l->q = cut_take(c, wide);
            l->kv = cut_take(c, 2 * (uint64_t)B * (uint64_t)Tm * (uint64_t)at->dim * ops->real_bytes);
            l->cross_o = cut_take(c, wide);
            l->cross_lse = cut_take(c, per_head);
            l->guide = cut_take(c, per_head);
        }
        norm_cut(&l->feed, ops, c, rows, at->dim);
        l->h = cut_take(c, 4 * wide);
    }
    norm_cut(&s->last, ops, c, rows, at->dim);
}

void stack_scratch_cut(StackScratch *x, const StackRun *const *stacks, int count, const Ops *ops, Cut *c, int training)
{
    uint64_t wide = 0, kv = 0;
    for (int i = 0; i < count; i++) {
        const StackRun *s = stacks[i];
        uint64_t w = (uint64_t)s->B * (uint64_t)s->T * (uint64_t)s->at->dim * ops->real_bytes;
        uint64_t k = s->at->memory_dim ? 2 * (uint64_t)s->B * (uint64_t)s->Tm * (uint64_t)s->at->dim * ops->real_bytes : 0;
        wide = w > wide ? w : wide;
        kv = k > kv ? k : kv;
    }
    x->y = cut_take(c, wide);
    if (!training)
        return;
    x->dx[0] = cut_take(c, wide);
    x->dx[1] = cut_take(c, wide);
    x->dy = cut_take(c, wide);
    x->dn = cut_take(c, wide);
    x->dO = cut_take(c, wide);
    x->dwide = cut_take(c, 4 * wide);
    x->dkv = cut_take(c, kv);
}

AttentionShape stack_self_shape(const StackRun *s)
{
    const int C = s->at->dim;
    return (AttentionShape){.batch = s->B,
                            .heads = s->at->heads,
                            .head_size = C / s->at->heads,
                            .tq = s->T,
                            .tk = s->T,
                            .ldq = 3 * (int64_t)C,
                            .ldk = 3 * (int64_t)C,
                            .ldv = 3 * (int64_t)C,
                            .ldo = C,
                            .causal = s->causal,
                            .q_len = s->len,
                            .k_len = s->len,
                            .scale = 1.0f / sqrtf((float)(C / s->at->heads))};
}

AttentionShape stack_cross_shape(const StackRun *s)
{
    AttentionShape a = stack_self_shape(s);
    a.tk = s->Tm;
    a.ldq = s->at->dim;
    a.ldk = a.ldv = 2 * (int64_t)s->at->dim;
    a.causal = 0;
    a.k_len = s->memory_len;
    a.guide_weight = s->guide_weight;
    a.guide_width = s->guide_width;
    return a;
}

/* Elements from the start of a tensor. */
static void *part(const Model *m, void *p, int64_t elements) { return (char *)p + elements * (int64_t)m->c->ops->real_bytes; }

/* Adds the branch y (NULL: none) to the stream and normalises. Returns the stream. */
static void *chain(Model *m, StackRun *s, const NormRun *n, const NormAt *at, void *x, const void *y, float drop, int site)
{
    void *sum = y ? n->sum : x;
    m->c->ops->norm_forward(m->c, sum, n->out, n->mean, n->rstd, x, y, weight_at(m, at->w), weight_at(m, at->b),
                            (int64_t)s->B * s->T, s->at->dim, dropout_at(y ? drop : 0, s->at->site + (uint64_t)site));
    return sum;
}

void stack_forward(Model *m, StackRun *s, StackScratch *x, float drop)
{
    const Ops *ops = m->c->ops;
    const StackAt *at = s->at;
    const int64_t rows = (int64_t)s->B * s->T, C = at->dim;
    const AttentionShape self = stack_self_shape(s), cross = stack_cross_shape(s);
    void *stream = s->x, *y = NULL;
    int site = 0;
    for (int i = 0; i < at->layers; i++) {
        LayerRun *l = &s->layer[i];
        const LayerAt *w = &at->layer[i];
        model_mark(m, at->name, i, 0);
        stream = chain(m, s, &l->self, &w->norm_self, stream, y, drop, site++);
        linear_run(m, &w->qkv, l->qkv, l->self.out, rows, ACT_NONE);
        ops->attention_forward(m->c, l->o, l->lse, NULL, l->qkv, part(m, l->qkv, C), part(m, l->qkv, 2 * C), &self);
        y = x->y;
        linear_run(m, &w->out, y, l->o, rows, ACT_NONE);
        if (at->memory_dim) {
            stream = chain(m, s, &l->cross, &w->norm_cross, stream, y, drop, site++);
            linear_run(m, &w->cross_q, l->q, l->cross.out, rows, ACT_NONE);
            linear_run(m, &w->kv, l->kv, s->memory, (int64_t)s->B * s->Tm, ACT_NONE);
            ops->attention_forward(m->c, l->cross_o, l->cross_lse, s->guide_weight != 0 ? l->guide : NULL, l->q, l->kv,
                                   part(m, l->kv, C), &cross);
            linear_run(m, &w->cross_out, y, l->cross_o, rows, ACT_NONE);
        }
        stream = chain(m, s, &l->feed, &w->norm_feed, stream, y, drop, site++);
        linear_run(m, &w->up, l->h, l->feed.out, rows, ACT_RELU);
        linear_run(m, &w->down, y, l->h, rows, ACT_NONE);
    }
    chain(m, s, &s->last, &at->norm, stream, y, drop, site);
}

/* The chain walked back. */
typedef struct Back {
    Model *m;
    StackRun *s;
    StackScratch *x;
    float drop;
    int site;
    void *dx; /* gradient of the stream behind the norm that comes next; NULL at the end of the chain */
} Back;

/* Through one norm: afterwards x->dy is the gradient of the branch before it, and the bias of the branch's last linear, `branch`, has its
 * gradient; branch_back does the rest of that linear. branch NULL: there is no branch. */
static void chain_back(Back *b, const NormRun *n, const NormAt *at, const void *dout, const LinearAt *branch)
{
    Model *m = b->m;
    void *to = b->dx == b->x->dx[0] ? b->x->dx[1] : b->x->dx[0];
    m->c->ops->norm_backward(m->c, to, branch ? b->x->dy : NULL, grad_at(m, at->w), grad_at(m, at->b),
                             branch && branch->b >= 0 ? grad_at(m, branch->b) : NULL, dout, b->dx, branch ? n->sum : b->s->x,
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

void *stack_backward(Model *m, StackRun *s, StackScratch *x, void *dmemory, const void *dout, float drop)
{
    const Ops *ops = m->c->ops;
    const StackAt *at = s->at;
    const int64_t rows = (int64_t)s->B * s->T, memory_rows = (int64_t)s->B * s->Tm, C = at->dim;
    const AttentionShape self = stack_self_shape(s), cross = stack_cross_shape(s);
    Back b = {m, s, x, drop, at->layers * (at->memory_dim ? 3 : 2), NULL};
    chain_back(&b, &s->last, &at->norm, dout, at->layers ? &at->layer[at->layers - 1].down : NULL);
    for (int i = at->layers - 1; i >= 0; i--) {
        LayerRun *l = &s->layer[i];
        const LayerAt *w = &at->layer[i];
        model_mark(m, at->name, i, 1);
        branch_back(&b, &w->down, x->dwide, l->h);
        linear_back(m, &w->up, x->dn, x->dwide, l->h, l->feed.out, rows, ACT_RELU, 0);
        chain_back(&b, &l->feed, &w->norm_feed, x->dn, at->memory_dim ? &w->cross_out : &w->out);
        if (at->memory_dim) {
            branch_back(&b, &w->cross_out, x->dO, l->cross_o);
            ops->attention_backward(m->c, x->dwide, x->dkv, part(m, x->dkv, C), x->dO, l->cross_o, l->cross_lse,
                                    s->guide_weight != 0 ? l->guide : NULL, l->q, l->kv, part(m, l->kv, C), &cross);
            linear_back(m, &w->kv, dmemory, x->dkv, NULL, s->memory, memory_rows, ACT_NONE, i < at->layers - 1);
            linear_back(m, &w->cross_q, x->dn, x->dwide, NULL, l->cross.out, rows, ACT_NONE, 0);
            chain_back(&b, &l->cross, &w->norm_cross, x->dn, &w->out);
        }
        branch_back(&b, &w->out, x->dO, l->o);
        ops->attention_backward(m->c, x->dwide, part(m, x->dwide, C), part(m, x->dwide, 2 * C), x->dO, l->o, l->lse, NULL, l->qkv,
                                part(m, l->qkv, C), part(m, l->qkv, 2 * C), &self);
        linear_back(m, &w->qkv, x->dn, x->dwide, NULL, l->self.out, rows, ACT_NONE, 0);
        chain_back(&b, &l->self, &w->norm_self, x->dn, i > 0 ? &at->layer[i - 1].down : NULL);
    }
    return b.dx;
}
