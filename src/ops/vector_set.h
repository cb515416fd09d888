/* vector_set.h - one instruction set's loops, in both precisions. Included by vector_<set>.c after its target
 * pragma, with VECTORS and VECTORS_NAME as the table's names. */
#pragma GCC optimize("O3")

#define REAL float
#define NAME(x) x##_f32
#define EXP exp_float
#define TANH tanh_float
#define SQRT sqrtf
#define LOG logf
#define LOWEST -88.0f
#include "ops/vector_body.h"
#undef REAL
#undef NAME
#undef EXP
#undef TANH
#undef SQRT
#undef LOG
#undef LOWEST

#define REAL double
#define NAME(x) x##_f64
#define EXP exp
#define TANH tanh
#define SQRT sqrt
#define LOG log
#define LOWEST -745.2
#include "ops/vector_body.h"

#define FILL(T) \
    { \
        .softmax = softmax##T, .exp_minus = exp_minus##T, .softmax_grad = softmax_grad##T, .dot = dot##T, \
        .add = add##T, .add_scaled = add_scaled##T, .bias_act = bias_act##T, .act_grad = act_grad##T, \
        .dropout = dropout##T, .norm = norm##T, .norm_grad = norm_grad##T, .loss = loss##T, \
        .sum_squares = sum_squares##T, .adam = adam##T, \
    }

const Vectors VECTORS = {.name = VECTORS_NAME, .f32 = FILL(_f32), .f64 = FILL(_f64)};
