/* product.h - matrix products on one thread, compiled once per instruction set and precision. Private to
 * src/ops, but for src/corpus.
 * An element of a result is a sum in the order of k, in blocks that k alone decides: it does not depend on
 * the rows and columns that are computed with it, so a product may be cut into tasks in any way. */
#ifndef MYXTTS_PRODUCT_H
#define MYXTTS_PRODUCT_H

#include <stdint.h>

#define PRODUCT_ROOM (192 << 10) /* numbers */
#define PRODUCT_PANEL 32         /* most columns of a panel; all others divide it */

/* c [m,n] = scale * a [m,k] b [k,n] + add [m,n] + bias [n], then the ReLU. Numbers from row to row: ld. */
#define PRODUCT_TYPES(Product, Table, REAL) \
    typedef struct Product { \
        REAL *c; \
        const REAL *a, *b, *add, *bias; /* add, bias NULL: none; add may be c */ \
        const REAL *panels;             /* b as pack leaves it; NULL: b is packed on the way */ \
        REAL *room;                     /* [PRODUCT_ROOM] for that; not used with panels */ \
        int64_t m, n, k, lda, ldb, ldc, ld_add; \
        REAL scale; \
        int turn_a, turn_b; /* 1: a is [k,m], b is [n,k] */ \
        int relu; \
    } Product; \
    typedef struct Table { \
        int panel; /* columns */ \
        void (*multiply)(const Product *p); \
        /* b [k,n] (turned: [n,k]) in panels of columns, `step` numbers from one to the next: each is \
         * [k][panel], the last one filled up with zeros. */ \
        void (*pack)(REAL * to, int64_t step, const REAL *b, int64_t ldb, int turned, int64_t k, int64_t n); \
    } Table

PRODUCT_TYPES(Product_f32, ProductsF32, float);
PRODUCT_TYPES(Product_f64, ProductsF64, double);

extern const ProductsF32 product_plain_f32, product_avx2_f32, product_avx512_f32;
extern const ProductsF64 product_plain_f64, product_avx2_f64, product_avx512_f64;

#endif
