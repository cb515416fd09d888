/* stack.c - transformer layers as a chain of norms and branches. */
#include "model/stack.h"

#include <math.h>
#include <string.h>

#include "base/check.h"

void *cut_take(Cut *c, uint64_t bytes)
{
    /* Without memory only the bytes are counted. */
    void *p = c->base ? c->base + c->used : NULL;
    c->used += (bytes + CUT_ALIGN - 1) / CUT_ALIGN * CUT_ALIGN;
    return p;
}

/* --- products with their weights --- */

void linear_forward(Model *m, const LinearAt *l, void *out, const void *in, int64_t rows, Activation act)
{
    const void *bias = l->b < 0 ? NULL : weight_at(m, l->b);
    m->c->ops->linear_forward(m->c, out, in, weight_at(m, l->w), bias, rows, l->out, l->in, act, 0);
}

void linear_backward(Model *m, const LinearAt *l, void *din, void *dout, const void *out, const void *in,
                     int64_t rows, Activation act, int accumulate)
{
    void *dbias = l->b < 0 ? NULL : grad_at(m, l->b);
    m->c->ops->linear_backward(m->c, din, grad_at(m, l->w), dbias, dout, out, in, weight_at(m, l->w), rows,
                               l->out, l->in, act, accumulate);
}

void conv_forward(Model *m, const LinearAt *l, int kernel, void *out, const void *in, const int32_t *len,
                  int B, int T, Activation act)
{
    m->c->ops->conv_forward(m->c, out, NULL, in, weight_at(m, l->w), weight_at(m, l->b), len, B, T, l->in,
                            l->out, kernel, act);
}

void conv_backward(Model *m, const LinearAt *l, int kernel, void *din, void *dout, const void *out,
                   const void *in, const int32_t *len, int B, int T, Activation act)
{
    m->c->ops->conv_backward(m->c, din, grad_at(m, l->w), grad_at(m, l->b), dout, out, in, NULL,
                             weight_at(m, l->w), len, B, T, l->in, l->out, kernel, act);
}

/* --- memory --- */

void norm_cut(NormPass *n, const Ops *ops, Cut *c, int64_t rows, int dim)
{
    /* The sum is the residual stream after the branch; the backward pass needs mean and rstd. */
    n->sum = cut_take(c, (uint64_t)rows * (uint64_t)dim * ops->real_bytes);
    n->out = cut_take(c, (uint64_t)rows * (uint64_t)dim * ops->real_bytes);
    n->mean = cut_take(c, (uint64_t)rows * ops->acc_bytes);
    n->rstd = cut_take(c, (uint64_t)rows * ops->acc_bytes);
}

/* Memory of something that may need none. */
static void *cut_some(Cut *c, uint64_t bytes) { return bytes ? cut_take(c, bytes) : NULL; }

void stack_cut(StackPass *s, const StackAt *at, const Ops *ops, Cut *c, int B, int T, int training)
{
    const int64_t rows = (int64_t)B * T;
    const uint64_t wide = (uint64_t)rows * (uint64_t)at->dim * ops->real_bytes;
    s->at = at;
    s->B = B;
    s->T = T;
    /* Everything that the backward pass reads is kept, layer by layer. */
    s->x = cut_take(c, wide);
    for (int i = 0; i < at->layers; i++) {
        LayerPass *l = &s->layer[i];
        norm_cut(&l->self, ops, c, rows, at->dim);
        l->qkv = cut_take(c, 3 * wide);
        l->o = cut_take(c, wide);
        l->lse = cut_take(c, (uint64_t)rows * (uint64_t)at->heads * ops->acc_bytes);
        norm_cut(&l->feed, ops, c, rows, at->dim);
        l->h = cut_take(c, (uint64_t)rows * (uint64_t)at->feed * ops->real_bytes);
        l->unfolded = training ? cut_some(c, ops->unfolded_bytes(rows, at->dim, FEED_KERNEL)) : NULL;
    }
    norm_cut(&s->last, ops, c, rows, at->dim);
}

void stack_scratch_cut(StackScratch *x, const StackPass *const *stacks, int count, const Ops *ops, Cut *c,
                       int training)
{
    /* As large as the largest of the stacks that share it. */
    uint64_t wide = 0, feed = 0;
    for (int i = 0; i < count; i++) {
        const StackPass *s = stacks[i];
        const uint64_t row = (uint64_t)s->B * (uint64_t)s->T * ops->real_bytes;
        const uint64_t C = (uint64_t)s->at->dim, F = (uint64_t)s->at->feed;
        wide = row * C > wide ? row * C : wide;
        feed = row * F > feed ? row * F : feed;
    }
    x->y = cut_take(c, wide);
    if (!training)
        return;
    /* Two streams that change places, and gradients of either branch (see below). */
    x->dx[0] = cut_take(c, wide);
    x->dx[1] = cut_take(c, wide);
    x->dn = cut_take(c, wide);
    x->dO = cut_take(c, wide);
    x->dy[0] = cut_take(c, wide);
    x->dy[1] = cut_take(c, wide);
    x->dwide[0] = cut_take(c, feed);
    x->dwide[1] = cut_take(c, 3 * wide);
}

/* --- forward --- */

/* Queries, keys and values are next to each other in rows of 3 C. */
static AttentionShape self_shape(const StackPass *s)
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
static void *chain_forward(Model *m, StackPass *s, const NormPass *n, const NormAt *at, void *x,
                           const void *y, float drop, int site)
{
    /* Before the first branch the stream is the input itself: nothing to add, nothing to copy. */
    void *sum = y ? n->sum : x;
    m->c->ops->norm_forward(m->c, sum, n->out, n->mean, n->rstd, x, y, weight_at(m, at->w),
                            weight_at(m, at->b), (int64_t)s->B * s->T, s->at->dim,
                            dropout_at(y ? drop : 0, s->at->site + (uint64_t)site));
    return sum;
}

void stack_forward(Model *m, StackPass *s, StackScratch *x, float drop)
{
    const Ops *ops = m->c->ops;
    const StackAt *at = s->at;
    const int64_t rows = (int64_t)s->B * s->T, C = at->dim;
    const AttentionShape self = self_shape(s);
    void *stream = s->x, *y = NULL;
    int site = 0;
    for (int i = 0; i < at->layers; i++) {
        LayerPass *l = &s->layer[i];
        const LayerAt *w = &at->layer[i];
        model_mark(m, at->name, i, 0);
        /* Attention; its norm adds the feed-forward branch of the layer before. */
        stream = chain_forward(m, s, &l->self, &w->norm_self, stream, y, drop, site++);
        linear_forward(m, &w->qkv, l->qkv, l->self.out, rows, ACT_NONE);
        ops->attention_forward(m->c, l->o, l->lse, l->qkv, part(m, l->qkv, C), part(m, l->qkv, 2 * C), &self);
        y = x->y;
        linear_forward(m, &w->out, y, l->o, rows, ACT_NONE);
        /* Feed-forward: a convolution with ReLU, then a product. */
        stream = chain_forward(m, s, &l->feed, &w->norm_feed, stream, y, drop, site++);
        ops->conv_forward(m->c, l->h, l->unfolded, l->feed.out, weight_at(m, w->up.w), weight_at(m, w->up.b),
                          s->len, s->B, s->T, w->up.in, w->up.out, FEED_KERNEL, ACT_RELU);
        linear_forward(m, &w->down, y, l->h, rows, ACT_NONE);
    }
    /* The last norm adds the last branch. */
    chain_forward(m, s, &s->last, &at->norm, stream, y, drop, site);
}

/* --- backward --- */

void model_final(const Model *m, int64_t first, int64_t last, int side)
{
    if (m->final)
        m->final(m->final_arg, first, params_behind(&m->params, last), side || m->on_side);
}

/* The chain walked back. A layer has two branches: feed-forward and attention. Each has its own gradients in
 * the scratch, so that the gradients of its weights can be computed in parallel with what comes next; a note
 * says when they were, and it is waited for before the next layer overwrites what they read. */
enum { FEED, SELF, NO_BRANCH };
enum { NOTE_DY, NOTE_WIDE = 2 }; /* of the feed-forward branch; of the other one more */

typedef struct Back {
    Model *m;
    StackPass *s;
    StackScratch *x;
    float drop;
    int parallel;
    int site;
    void *dx; /* gradient of the stream after the next norm; NULL at the end of the chain */
} Back;

static void side_begin(const Back *b)
{
    if (b->parallel)
        b->m->c->ops->side_begin(b->m->c);
}

/* note: of what the work that was begun reads. */
static void side_end(const Back *b, int note)
{
    if (!b->parallel)
        return;
    b->m->c->ops->side_note(b->m->c, note);
    b->m->c->ops->side_end(b->m->c);
}

static void await(const Back *b, int note)
{
    if (b->parallel)
        b->m->c->ops->side_await(b->m->c, note);
}

/* Through one norm: afterwards x->dy[branch] is the gradient of the branch before it, and the bias of that
 * branch's last linear has its gradient. */
static void chain_backward(Back *b, const NormPass *n, const NormAt *at, const void *dout, int branch,
                           const LinearAt *last)
{
    Model *m = b->m;
    /* Before the first norm of a stack there is no branch, only its input. */
    const int none = branch == NO_BRANCH;
    void *to = b->dx == b->x->dx[0] ? b->x->dx[1] : b->x->dx[0];
    if (!none)
        await(b, NOTE_DY + branch);
    m->c->ops->norm_backward(m->c, to, none ? NULL : b->x->dy[branch], grad_at(m, at->w), grad_at(m, at->b),
                             none ? NULL : grad_at(m, last->b), dout, b->dx, none ? b->s->x : n->sum, n->mean,
                             n->rstd, weight_at(m, at->w), (int64_t)b->s->B * b->s->T, b->s->at->dim,
                             dropout_at(none ? 0 : b->drop, b->s->at->site + (uint64_t)b->site));
    b->site--;
    b->dx = to;
}

/* Gradients of a linear without activation: its input's here, its weights' on the side lane. bias: 0 where
 * the norm after it has summed it. note: of dout. */
static void linear_backward_split(const Back *b, const LinearAt *l, void *din, void *dout, const void *in,
                                  int bias, int note)
{
    Model *m = b->m;
    const Ops *ops = m->c->ops;
    const int64_t rows = (int64_t)b->s->B * b->s->T;
    const void *w = weight_at(m, l->w);
    /* Nothing waits for the gradient of the weights; it goes to the side stream. */
    side_begin(b);
    ops->linear_backward(m->c, NULL, grad_at(m, l->w), bias ? grad_at(m, l->b) : NULL, dout, NULL, in, w,
                         rows, l->out, l->in, ACT_NONE, 0);
    side_end(b, note);
    ops->linear_backward(m->c, din, NULL, NULL, dout, NULL, in, w, rows, l->out, l->in, ACT_NONE, 0);
}

/* x->dy[FEED] -> x->dn. */
static void feed_backward(const Back *b, const LayerPass *l, const LayerAt *at)
{
    Model *m = b->m;
    const Ops *ops = m->c->ops;
    const StackPass *s = b->s;
    const LinearAt *up = &at->up;
    const void *w = weight_at(m, up->w);
    void *dh = b->x->dwide[FEED];
    /* dwide is about to be overwritten: readers of the previous layer's must have finished. */
    await(b, NOTE_WIDE + FEED);
    linear_backward_split(b, &at->down, dh, b->x->dy[FEED], l->h, 0, NOTE_DY + FEED);
    /* The ReLU first, which both gradients of the convolution need. */
    ops->conv_backward(m->c, b->x->dn, NULL, grad_at(m, up->b), dh, l->h, l->feed.out, l->unfolded, w, s->len,
                       s->B, s->T, up->in, up->out, FEED_KERNEL, ACT_RELU);
    side_begin(b);
    ops->conv_backward(m->c, NULL, grad_at(m, up->w), NULL, dh, NULL, l->feed.out, l->unfolded, w, s->len,
                       s->B, s->T, up->in, up->out, FEED_KERNEL, ACT_NONE);
    side_end(b, NOTE_WIDE + FEED);
}

/* x->dy[SELF] -> x->dn. */
static void self_backward(const Back *b, const LayerPass *l, const LayerAt *at)
{
    Model *m = b->m;
    const int64_t C = b->s->at->dim;
    const AttentionShape self = self_shape(b->s);
    void *dqkv = b->x->dwide[SELF];
    linear_backward_split(b, &at->out, b->x->dO, b->x->dy[SELF], l->o, 0, NOTE_DY + SELF);
    await(b, NOTE_WIDE + SELF);
    /* All three gradients are next to each other, as the products that follow expect. */
    m->c->ops->attention_backward(m->c, dqkv, part(m, dqkv, C), part(m, dqkv, 2 * C), b->x->dO, l->o, l->lse,
                                  l->qkv, part(m, l->qkv, C), part(m, l->qkv, 2 * C), &self);
    linear_backward_split(b, &at->qkv, b->x->dn, dqkv, l->self.out, 1, NOTE_WIDE + SELF);
}

void *stack_backward(Model *m, StackPass *s, StackScratch *x, const void *dout, float drop, int parallel)
{
    const StackAt *at = s->at;
    Back b = {m, s, x, drop, parallel && !m->mark, 2 * at->layers, NULL};
    const LayerAt *before = at->layers ? &at->layer[at->layers - 1] : NULL; /* the layer before a norm */
    /* The chain in reverse: each norm hands on the gradient of the stream and of the branch before it. */
    chain_backward(&b, &s->last, &at->norm, dout, before ? FEED : NO_BRANCH, before ? &before->down : NULL);
    model_final(m, at->norm.w, at->norm.b, 0);
    for (int i = at->layers - 1; i >= 0; i--) {
        LayerPass *l = &s->layer[i];
        const LayerAt *w = &at->layer[i];
        model_mark(m, at->name, i, 1);
        feed_backward(&b, l, w);
        chain_backward(&b, &l->feed, &w->norm_feed, x->dn, SELF, &w->out);
        self_backward(&b, l, w);
        before = i > 0 ? &at->layer[i - 1] : NULL;
        chain_backward(&b, &l->self, &w->norm_self, x->dn, before ? FEED : NO_BRANCH,
                       before ? &before->down : NULL);
        /* The bias of its last product has had its gradient from the norm behind it. */
        model_final(m, w->norm_self.w, w->down.b, b.parallel);
    }
    return b.dx;
}
