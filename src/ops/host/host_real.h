/* host_real.h - for the sources <family>_host.c, which make compiles twice: -DREAL=float makes the objects
 * of the table ops_host_f32, -DREAL=double those of ops_host_f64. Private to src/ops.
 * An op is a function HOST(name) with the type that ops.h gives it; ops_host.c lists them in the table. */
#ifndef MYXTTS_HOST_REAL_H
#define MYXTTS_HOST_REAL_H

#include <string.h>

#include "base/check.h"
#include "base/variant.h"
#include "ops/host/ops_host.h"

#define PRECISION_float f32
#define PRECISION_double f64
#define PRECISION VARIANT(PRECISION, REAL) /* f32 or f64 */
#define HOST(name) VARIANT(name, PRECISION)

#define VEC(h) ((h)->vectors->PRECISION)

/* Declares every op with its type in the table, so that a definition which differs does not compile. */
#define HOST_DECLARE(name) __typeof__(*((Ops *)0)->name) HOST(name);
OPS_LIST(HOST_DECLARE)
#undef HOST_DECLARE

/* --- products --- */

#define PRODUCT VARIANT(Product, PRECISION)
#define PRODUCTS(h) ((h)->vectors->products.PRECISION)

static inline void multiply(const HostOps *h, const PRODUCT *p) { PRODUCTS(h)->multiply(p); }

/* Room of a thread for products whose b is packed on the way. */
static inline REAL *product_room(const HostOps *h, int slot)
{
    return (REAL *)(void *)h->rooms + (size_t)slot * PRODUCT_ROOM;
}

/* n, filled up to whole panels. */
static inline int64_t whole_panels(int64_t n)
{
    return (n + PRODUCT_PANEL - 1) / PRODUCT_PANEL * PRODUCT_PANEL;
}

/* b [k,n] of products whose a are rows of activations, as it lies in memory: `taps` parts of depth rows, k of
 * them together, tap_step numbers apart; turned: a part is [n,depth]. */
typedef struct Weights {
    const REAL *b;
    int64_t ld, tap_step, depth;
    int taps, turned;
} Weights;

/* How many columns the panels that all threads share hold at once. */
static inline int64_t weights_columns(const Weights *w)
{
    int64_t most = HOST_PANELS / (w->depth * w->taps) / PRODUCT_PANEL * PRODUCT_PANEL;
    ASSERT_CMP(most, >, 0);
    return most;
}

/* Columns j0 .. j0 + n - 1 become panels; returns them. */
const REAL *HOST(weights_pack)(HostOps *h, const Weights *w, int64_t j0, int64_t n);

/* Rows and columns of the blocks that the gradient of weights [m,n] is cut into: as many as there are
 * threads, because each of them reads all activations. */
static inline void product_split(const HostOps *h, int large, int64_t m, int64_t n, int64_t *rows,
                                 int64_t *columns)
{
    int64_t down = large ? m / 48 : 1, across = large ? n / 64 : 1;
    down = down < 1 ? 1 : down > h->threads ? h->threads : down;
    const int64_t left = (h->threads + down - 1) / down;
    across = across < 1 ? 1 : across > left ? left : across;
    *rows = ((m + down - 1) / down + 11) / 12 * 12;
    *columns = whole_panels((n + across - 1) / across);
}

/* Partial sums of `parts` tasks, [parts][n], zeroed: each task adds to its own row, then they are added to
 * out in order. */
static inline REAL *sums_begin(HostOps *h, int parts, int64_t n)
{
    ASSERT_CMP((int64_t)parts * n * (int64_t)sizeof(REAL), <=, HOST_SUM_BYTES);
    return memset(h->sums, 0, (size_t)parts * (size_t)n * sizeof(REAL));
}

static inline void sums_add(HostOps *h, REAL *out, const REAL *sums, int parts, int64_t n)
{
    for (int p = 0; p < parts; p++)
        VEC(h)->add(out, out, sums + p * n, n);
}

/* Room for the loss of every item, [B]. */
static inline double *loss_sums(HostOps *h, int B)
{
    ASSERT_CMP((size_t)B * sizeof(double), <=, HOST_SUM_BYTES);
    return h->sums;
}

/* value += weight * (the losses of all items, added in their order). */
static inline void loss_add(REAL *value, const double *sums, int B, double weight)
{
    double sum = 0;
    for (int b = 0; b < B; b++)
        sum += sums[b];
    *value += (REAL)(weight * sum);
}

#endif
