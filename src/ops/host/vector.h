/* vector.h - the inner loops of the host ops on contiguous memory, compiled once per instruction set and
 * precision. Private to src/ops. Single precision has its own exponential (relative error below 2e-7); double
 * uses the C library's. */
#ifndef MYXTTS_VECTOR_H
#define MYXTTS_VECTOR_H

#include <stdint.h>

#include "ops/host/product.h"
#include "ops/ops.h"

typedef struct VectorDropout {
    uint64_t seed;
    uint64_t first;     /* number of element 0 of the call */
    uint32_t threshold; /* 0: all are kept */
    float scale;
} VectorDropout;

typedef struct VectorAdam {
    float beta1, beta2, eps, lr, decay;
    double correct1, correct2; /* 1 - beta1^step, 1 - beta2^step */
} VectorAdam;

#define TRANSFORM_LANES 8 /* signals that are transformed at once */

/* Pointers of one call do not overlap unless a comment says so. */
#define VECTOR_TABLE(Table, REAL) \
    typedef struct Table { \
        /* x = softmax(x) of n >= 1 numbers; returns the logarithm of the sum of exponentials. */ \
        REAL (*softmax)(REAL * x, int64_t n); \
        /* x = exp(x - b) */ \
        void (*exp_minus)(REAL * x, REAL b, int64_t n); \
        /* d = p (d - delta) scale */ \
        void (*softmax_grad)(REAL * d, const REAL *p, REAL delta, REAL scale, int64_t n); \
        REAL (*dot)(const REAL *a, const REAL *b, int64_t n); \
        /* out may be a or b */ \
        void (*add)(REAL * out, const REAL *a, const REAL *b, int64_t n); \
        /* out = a + scale b; out may be a or b */ \
        void (*add_scaled)(REAL * out, const REAL *a, REAL scale, const REAL *b, int64_t n); \
        /* out = start + the sum of from * w over `taps` rows of both, that many numbers apart */ \
        void (*filter)(REAL * out, const REAL *start, const REAL *from, int64_t from_step, const REAL *w, \
                       int64_t w_step, int taps, int64_t n); \
        /* Gradients of filters of one item: dw [taps][C] += the sums of in [length][C], moved by the tap, \
         * times dout [length][C]; dbias [C] += the sums of dout. n of the C columns; at most 7 taps. */ \
        void (*filter_grad)(REAL * dw, REAL *dbias, const REAL *in, const REAL *dout, int64_t C, \
                            int64_t length, int taps, int64_t n); \
        /* bias NULL: none; out may be in */ \
        void (*bias_act)(REAL * out, const REAL *in, const REAL *bias, Activation act, int64_t n); \
        /* d *= act' */ \
        void (*act_grad)(REAL * d, const REAL *out, Activation act, int64_t n); \
        /* out = (add or 0) + dropout(in), element 0 being number `index` of the call; out may be in, add */ \
        void (*dropout)(REAL * out, const REAL *add, const REAL *in, VectorDropout drop, uint64_t index, \
                        int64_t n); \
        void (*norm)(REAL * out, REAL *mean, REAL *rstd, const REAL *in, const REAL *w, const REAL *b, \
                     int64_t n); \
        /* dx = (dsum or 0) + gradient; dw, db +=. dx may be dsum or dout */ \
        void (*norm_grad)(REAL * dx, REAL *dw, REAL *db, const REAL *dout, const REAL *dsum, const REAL *in, \
                          REAL mean, REAL rstd, const REAL *w, int64_t n); \
        /* Returns the sum of the loss; d (may be NULL) = or += weight * gradient. */ \
        double (*loss)(REAL * d, const REAL *pred, const float *target, LossKind kind, REAL delta, \
                       REAL weight, int accumulate, int64_t n); \
        double (*sum_squares)(const REAL *x, int64_t n); \
        void (*adam)(REAL * p, REAL *m, REAL *v, const REAL *grad, const uint8_t *decay, REAL gscale, \
                     VectorAdam a, int64_t n); \
        /* Fourier transforms, not scaled, of TRANSFORM_LANES signals: z [n][2][TRANSFORM_LANES], real parts \
         * and imaginary parts of all of them side by side, n a power of two; other: as much scratch. turn \
         * [n / 2][2]: cos and -sin of 2 pi k / n. sign 1: exp(-i ...), -1: exp(+i ...). Returns which of \
         * the two has the result. */ \
        REAL *(*transform)(REAL * z, REAL *other, const REAL *turn, int n, int sign); \
    } Table

VECTOR_TABLE(VectorF32, float);
VECTOR_TABLE(VectorF64, double);

extern const VectorF32 vector_plain_f32, vector_avx2_f32, vector_avx512_f32;
extern const VectorF64 vector_plain_f64, vector_avx2_f64, vector_avx512_f64;

typedef struct Vectors {
    const char *name; /* "avx512", "avx2", "plain" */
    const VectorF32 *f32;
    const VectorF64 *f64;
    struct {
        const ProductsF32 *f32;
        const ProductsF64 *f64;
    } products;
} Vectors;

/* The set of that name, or the fastest when name is NULL; NULL when this processor does not have it. */
const Vectors *vectors_choose(const char *name);

#endif
