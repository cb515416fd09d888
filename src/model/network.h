/* network.h - a kind of network as a table of functions: what model.c and pass.c need to know of it. Private
 * to src/model. A new kind is a word of NetworkKind (config.h), a table, and a row in network_of (model.c).
 */
#ifndef MYXTTS_NETWORK_H
#define MYXTTS_NETWORK_H

#include "model/stack.h"

/* What the description of every pass begins with. */
struct Pass {
    Model *m;
    ModelInput in;
    int training; /* there is memory for gradients */
    int learning; /* the forward pass was one of training */
};

typedef struct Network {
    /* Checks that the sizes of m->cfg go together and lists the parameters. ERR_CONFIG; what it has listed is
     * closed by the caller. */
    int (*list)(Model *m, Err *err);
    /* What the ops need besides weights: device bytes, and filling them from m->constants; NULL: nothing. */
    uint64_t (*table_bytes)(const Model *m, const Ops *ops);
    int (*attach)(Model *m, Err *err);
    size_t pass_bytes; /* of the description of a pass, which begins with a Pass */
    /* Cuts the memory of a pass; with an empty Cut it only counts. */
    void (*cut)(Pass *r, const Ops *ops, Cut *c);
    void (*forward)(Pass *r, int training);
    void (*losses)(Pass *r, void *sums);
    void (*backward)(Pass *r);
    void (*output)(const Pass *r, PassOutput *o);
} Network;

extern const Network network_voice, network_vocoder;

/* Where loss term i is in the sums. */
static inline void *term_at(const Model *m, void *sums, int i)
{
    return (char *)sums + (size_t)i * m->c->ops->acc_bytes;
}

/* Weights of 1 and biases of 0: a norm begins as a plain normalisation. Not decayed. */
NormAt norm_list(ParamList *l, const char *prefix, const char *name, int dim);

/* A product with bias; gain scales its first values, which are uniform (Glorot and Bengio 2010). kernel > 1:
 * a convolution. */
LinearAt linear_list(ParamList *l, const char *prefix, const char *name, int out, int in, int kernel,
                     double gain);

/* Work in parallel (ops.h). Whoever measures the parts one by one gets them one after the other. */
static inline void side_begin(Model *m)
{
    if (m->mark)
        return;
    m->c->ops->side_begin(m->c);
    m->on_side = 1;
}

static inline void side_end(Model *m)
{
    if (m->mark)
        return;
    m->c->ops->side_end(m->c);
    m->on_side = 0;
}

static inline void side_join(Model *m)
{
    if (!m->mark)
        m->c->ops->side_join(m->c);
}

#endif
