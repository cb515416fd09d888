/* ops_host_body.h - the host table in one precision: includes every family and lists it. Before it stand
 * REAL, REAL_TYPE, GEMM (of cblas), VECTOR (the member of Vectors) and TABLE (the name of the table). */
#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "ops/guard.h"
#include "ops/ops_host.h"

#define VEC(h) (&(h)->vectors->VECTOR)

/* c [m,n] (row stride ldc) = alpha * op(a) op(b) + beta * c. */
static inline void gemm(int ta, int tb, int64_t m, int64_t n, int64_t k, REAL alpha, const REAL *a,
                        int64_t lda, const REAL *b, int64_t ldb, REAL beta, REAL *c, int64_t ldc)
{
    if (m > 0 && n > 0 && k > 0)
        GEMM(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, (int)m, (int)n,
             (int)k, alpha, a, (int)lda, b, (int)ldb, beta, c, (int)ldc);
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

static int ops_open(OpsContext *c, Device *d, Stream *s, Err *err)
{
    return host_ops_open(c, d, s, &TABLE, err);
}
static int ops_nothing_fails(OpsContext *c, Err *err) { return 0; }
static void ops_in_order(OpsContext *c) {}
static void ops_note_nothing(OpsContext *c, int note) {}

#include "ops/linear_host.h"

#include "ops/norm_host.h"

#include "ops/attention_host.h"

#include "ops/embed_host.h"

#include "ops/conv_host.h"

#include "ops/rows_host.h"

#include "ops/loss_host.h"

#include "ops/align_host.h"

#include "ops/optimiser_host.h"

const Ops TABLE = {
    .real = REAL_TYPE,
    .real_bytes = sizeof(REAL),
    .acc_bytes = sizeof(REAL),
    .open = ops_open,
    .close = host_ops_close,
    .check = ops_nothing_fails,
    .workspace_bytes = 0,
    .linear_forward = linear_forward,
    .linear_backward = linear_backward,
    .norm_forward = norm_forward,
    .norm_backward = norm_backward,
    .attention_forward = attention_forward,
    .attention_backward = attention_backward,
    .embed_forward = embed_forward,
    .embed_backward = embed_backward,
    .conv_forward = conv_forward,
    .conv_backward = conv_backward,
    .unfolded_bytes = nothing_unfolded,
    .side_begin = ops_in_order,
    .side_end = ops_in_order,
    .side_note = ops_note_nothing,
    .side_await = ops_note_nothing,
    .side_join = ops_in_order,
    .dropout_forward = dropout_forward,
    .add_forward = add_forward,
    .add_vector_forward = add_vector_forward,
    .add_vector_backward = add_vector_backward,
    .pool_forward = pool_forward,
    .pool_backward = pool_backward,
    .broadcast_forward = broadcast_forward,
    .broadcast_backward = broadcast_backward,
    .fill_zero = fill_zero,
    .fill_int = fill_int,
    .gather_forward = gather_forward,
    .gather_backward = gather_backward,
    .length_groups = length_groups,
    .band_mean = band_mean,
    .group_frames = group_frames,
    .align_search = align_search,
    .durations_place = durations_place,
    .repeat_forward = repeat_forward,
    .repeat_backward = repeat_backward,
    .symbol_means = symbol_means,
    .add_traits_forward = add_traits_forward,
    .add_traits_backward = add_traits_backward,
    .loss_forward = loss_forward,
    .align_loss = align_loss,
    .traits_loss = traits_loss,
    .norm2 = norm2_forward,
    .guard = guard,
    .adamw = adamw_update,
    .convert = convert,
    .unconvert = convert,
};
