/* host_real.h - for the sources <family>_host.c, which make compiles twice: -DREAL=float makes the objects
 * of the table ops_host_f32, -DREAL=double those of ops_host_f64. Private to src/ops.
 * An op is a function HOST(name) with the type that ops.h gives it; ops_host.c lists them in the table. */
#ifndef MYXTTS_HOST_REAL_H
#define MYXTTS_HOST_REAL_H

#include <cblas.h>
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

/* c [m,n] (row stride ldc) = alpha * op(a) op(b) + beta * c. */
static inline void gemm(int ta, int tb, int64_t m, int64_t n, int64_t k, REAL alpha, const REAL *a,
                        int64_t lda, const REAL *b, int64_t ldb, REAL beta, REAL *c, int64_t ldc)
{
    if (m > 0 && n > 0 && k > 0)
        _Generic((REAL)0, float
                 : cblas_sgemm, double
                 : cblas_dgemm)(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans,
                                (int)m, (int)n, (int)k, alpha, a, (int)lda, b, (int)ldb, beta, c, (int)ldc);
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
