/* test_products.c - matrix products of every instruction set: beside plain sums, in sizes around those of
 * tiles, panels and blocks, and the same bits however rows and columns are cut. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "ops/host/vector.h"

/* m, n, k: less than a tile; tiles and what is left of them; several blocks of columns, of rows, of the sum.
 */
static const int sizes[][3] = {{1, 1, 1},     {3, 5, 2},     {4, 32, 7},     {12, 33, 64},  {13, 64, 65},
                               {29, 80, 130}, {60, 100, 64}, {17, 7, 1100},  {5, 700, 300}, {40, 33, 513},
                               {200, 70, 9},  {250, 3, 600}, {100, 400, 257}};
enum { SIZES = sizeof sizes / sizeof *sizes, GAP = 3, MOST = 300000, UNTOUCHED = 77 };
static const char *const sets[] = {"plain", "avx2", "avx512"};

/* What a product may be told. */
enum { TURN_A = 1, TURN_B = 2, ADD = 4, FINISH = 8, PACKED = 16, WAYS = 32 };

typedef struct Case {
    int64_t m, n, k, lda, ldb, ldc;
    int way, used;                                  /* used: of the arrays */
    double a[MOST], b[MOST], add[MOST], bias[MOST]; /* whole numbers and halves: exact in either precision */
} Case;

/* c: what the set makes of the case, in `parts` x `parts` parts that are computed one by one. */
#define RUN(name, Product, Table, REAL) \
    static void name(const Table *table, const Case *t, int parts, double *c) \
    { \
        static REAL a[MOST], b[MOST], add[MOST], bias[MOST], out[MOST], panels[2 * MOST], \
            room[PRODUCT_ROOM]; \
        for (int i = 0; i < t->used; i++) { \
            a[i] = (REAL)t->a[i]; \
            b[i] = (REAL)t->b[i]; \
            add[i] = (REAL)t->add[i]; \
            bias[i] = (REAL)t->bias[i]; \
            out[i] = UNTOUCHED; \
        } \
        table->pack(panels, t->k * table->panel, b, t->ldb, t->way & TURN_B, t->k, t->n); \
        const int64_t rows = t->m / parts + 1, \
                      columns = parts == 1 ? t->n : (t->n / parts / table->panel + 1) * table->panel; \
        for (int64_t i = 0; i < t->m; i += rows) \
            for (int64_t j = 0; j < t->n; j += columns) { \
                Product p = {.c = out + i * t->ldc + j, .room = room, .k = t->k, .scale = (REAL)0.5}; \
                p.m = t->m - i < rows ? t->m - i : rows; \
                p.n = t->n - j < columns ? t->n - j : columns; \
                p.a = a + i * (t->way & TURN_A ? 1 : t->lda); \
                p.b = b + j * (t->way & TURN_B ? t->ldb : 1); \
                p.lda = t->lda; \
                p.ldb = t->ldb; \
                p.ldc = p.ld_add = t->ldc; \
                p.turn_a = t->way & TURN_A; \
                p.turn_b = t->way & TURN_B; \
                p.add = t->way & ADD ? add + i * t->ldc + j : NULL; \
                p.bias = t->way & FINISH ? bias + j : NULL; \
                p.relu = t->way & FINISH; \
                p.panels = t->way & PACKED ? panels + j * t->k : NULL; \
                table->multiply(&p); \
            } \
        for (int i = 0; i < t->used; i++) \
            c[i] = (double)out[i]; \
    }
RUN(run_f32, Product_f32, ProductsF32, float)
RUN(run_f64, Product_f64, ProductsF64, double)

static void case_fill(Case *t, const int size[3], int way, Rng *rng)
{
    t->m = size[0];
    t->n = size[1];
    t->k = size[2];
    t->way = way;
    t->lda = (way & TURN_A ? t->m : t->k) + GAP;
    t->ldb = (way & TURN_B ? t->k : t->n) + GAP;
    t->ldc = t->n + GAP;
    t->used = (int)fmax((double)((way & TURN_A ? t->k : t->m) * t->lda),
                        fmax((double)((way & TURN_B ? t->n : t->k) * t->ldb), (double)(t->m * t->ldc)));
    assert_in_range(t->used, 1, MOST);
    for (int i = 0; i < t->used; i++) {
        const uint64_t bits = rng_u64(rng);
        t->a[i] = (double)(bits % 17) - 8;
        t->b[i] = (double)(bits >> 8 & 15) - 8;
        t->add[i] = (double)(bits >> 16 & 15) - 8;
        t->bias[i] = ((double)(bits >> 20 & 255) - 128) / 2;
    }
}

/* Element (i, j); sums of whole numbers are exact, so that there is nothing to round. */
static double plain_sum(const Case *t, int64_t i, int64_t j)
{
    double sum = 0;
    for (int64_t l = 0; l < t->k; l++)
        sum += t->a[t->way & TURN_A ? l * t->lda + i : i * t->lda + l] *
               t->b[t->way & TURN_B ? j * t->ldb + l : l * t->ldb + j];
    sum = sum / 2 + (t->way & ADD ? t->add[i * t->ldc + j] : 0);
    if (!(t->way & FINISH))
        return sum;
    sum += t->bias[j];
    return sum < 0 ? 0 : sum;
}

static void products_are_sums(void **state)
{
    (void)state;
    static Case t;
    static double c[2][MOST];
    Rng rng;
    rng_seed(&rng, 1);
    for (int i = 0; i < SIZES * WAYS; i++) {
        case_fill(&t, sizes[i / WAYS], i % WAYS, &rng);
        for (int s = 0; s < 3; s++) {
            const Vectors *v = vectors_choose(sets[s]);
            if (!v)
                continue;
            run_f32(v->products.f32, &t, 1, c[0]);
            run_f64(v->products.f64, &t, 1, c[1]);
            for (int64_t at = 0; at < t.m * t.ldc; at++) {
                const int64_t column = at % t.ldc;
                const double want = column < t.n ? plain_sum(&t, at / t.ldc, column) : UNTOUCHED;
                if (c[0][at] != want || c[1][at] != want)
                    fail_msg("%s, %d x %d x %d, way %d: %g and %g at row %ld, column %ld instead of %g",
                             sets[s], (int)t.m, (int)t.n, (int)t.k, t.way, c[0][at], c[1][at],
                             (long)(at / t.ldc), (long)column, want);
            }
        }
    }
}

static void cuts_change_no_bit(void **state)
{
    (void)state;
    static Case t;
    static double whole[MOST], cut[MOST];
    Rng rng;
    rng_seed(&rng, 2);
    for (int i = 0; i < SIZES * WAYS; i++) {
        case_fill(&t, sizes[i / WAYS], i % WAYS, &rng);
        for (int k = 0; k < t.used; k++)
            t.a[k] = rng_normal(&rng); /* now order matters */
        for (int s = 0; s < 3; s++) {
            const Vectors *v = vectors_choose(sets[s]);
            for (int parts = 2; parts < 5 && v; parts += 2) {
                run_f32(v->products.f32, &t, 1, whole);
                run_f32(v->products.f32, &t, parts, cut);
                assert_memory_equal(whole, cut, (size_t)t.used * sizeof *whole);
            }
        }
    }
}

/* What is not a number stays seen. */
static void nan_passes_the_relu(void **state)
{
    (void)state;
    enum { N = 40 };
    for (int s = 0; s < 3; s++) {
        const Vectors *v = vectors_choose(sets[s]);
        float a[1] = {NAN}, b[N] = {0}, c[N], panels[2 * PRODUCT_PANEL];
        if (!v) {
            print_message("SKIPPED: this processor has no %s\n", sets[s]);
            continue;
        }
        v->products.f32->pack(panels, v->products.f32->panel, b, N, 0, 1, N);
        v->products.f32->multiply(
            &(Product_f32){.c = c, .a = a, .panels = panels, .m = 1, .n = N, .k = 1, .scale = 1, .relu = 1});
        for (int i = 0; i < N; i++)
            assert_true(isnan(c[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_are_sums),
                                       cmocka_unit_test(cuts_change_no_bit),
                                       cmocka_unit_test(nan_passes_the_relu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
