/* network.h - a kind of network as the table of functions that model.c and pass.c use. Private to src/model.
 * A new kind needs a value of NetworkKind (config.h), a table, and a row in network_of (model.c).
 * */
#ifndef MYXTTS_NETWORK_H
#define MYXTTS_NETWORK_H

#include "model/stack.h"

/* The first member of every pass description. */
struct Pass {
    Model *m;
    ModelInput in;
    int training; /* it has memory for gradients */
    int learning; /* the last forward pass was a training pass */
};

typedef struct Network {
    /* Checks that the sizes in m->cfg are consistent (ERR_CONFIG) and lists the parameters; the caller closes
     * the list, even after an error. */
    int (*list)(Model *m, Err *err);
    /* Tables that the ops need besides weights: their size in device memory, and how to fill them from
     * m->constants. NULL: none. */
    uint64_t (*table_bytes)(const Model *m, const Ops *ops);
    int (*attach)(Model *m, Err *err);
    size_t pass_bytes; /* of the description of a pass, which begins with a Pass */
    /* Lays out the memory of a pass; with an empty Cut it only counts bytes. */
    void (*cut)(Pass *r, const Ops *ops, Cut *c);
    void (*forward)(Pass *r, int training);
    void (*losses)(Pass *r, void *sums);
    void (*backward)(Pass *r);
    void (*output)(const Pass *r, PassOutput *o);
} Network;

extern const Network network_voice, network_vocoder;

/* The place of loss term i in the sums. */
static inline void *term_at(const Model *m, void *sums, int i)
{
    return (char *)sums + (size_t)i * m->c->ops->acc_bytes;
}

/* Weights of 1 and biases of 0: a norm begins as a plain normalisation. Not decayed. */
NormAt norm_list(ParamList *l, const char *prefix, const char *name, int dim);

/* A linear layer with bias; gain scales its initial values, which are uniform (Glorot and Bengio 2010).
 * kernel > 1: a convolution. */
LinearAt linear_list(ParamList *l, const char *prefix, const char *name, int out, int in, int kernel,
                     double gain);

/* Work in parallel (ops.h). When the parts are being timed one by one, they run one after the other. */
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
