/* product.c - see product.h: the inner loop keeps a tile of the result in registers.
 * Compiled once per instruction set and precision: -DINSTRUCTIONS=plain|avx2|avx512
 * -DREGISTER_BYTES=16|32|64 with that set's flags, -DREAL=float|double. */
#include "ops/host/product.h"

#include <string.h>

#include "base/variant.h"

#pragma GCC optimize("O3")

#define INLINE static inline __attribute__((always_inline))

#define PRECISION_float f32
#define PRECISION_double f64
#define PRECISION VARIANT(PRECISION, REAL)
#define PRODUCT VARIANT(Product, PRECISION)
#define TABLE_float ProductsF32
#define TABLE_double ProductsF64

/* A register, and one that is read from anywhere. */
typedef REAL V __attribute__((vector_size(REGISTER_BYTES)));
typedef REAL Unaligned __attribute__((vector_size(REGISTER_BYTES), aligned(sizeof(REAL)), may_alias));
typedef __typeof__((V){0} < (V){0}) Mask;

/* A tile: ROWS rows of two registers each. They, two registers of b and one of a fill the register file. */
#define WIDTH ((int)(REGISTER_BYTES / sizeof(REAL)))
#define PANEL (2 * WIDTH)
_Static_assert(PRODUCT_PANEL % PANEL == 0, "panels");
#if REGISTER_BYTES == 64 || defined(__aarch64__)
#define ROWS 12
#elif REGISTER_BYTES == 32
#define ROWS 6
#else
#define ROWS 4
#endif
#define DEPTH 512         /* most terms of a sum that are added up in registers */
#define BLOCK (128 << 10) /* about this many numbers of b stay in the second-level cache */
#define PACK_DEPTH 256    /* the same where b is packed on the way */
#define PACK_COLUMNS 384
#define PACK_ROWS (16 * ROWS) /* of a turned a that are packed at once */
_Static_assert(PACK_DEPTH *(PACK_COLUMNS + PACK_ROWS) <= PRODUCT_ROOM, "the room for packing");
#define FEW 4 /* rows of the tile for the last rows, before they are taken one by one */

#define EACH_ROW(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)

/* Four numbers, and the shuffles that turn four by four of them. GCC 11 has no __builtin_shufflevector, and
 * clang has no __builtin_shuffle. */
typedef REAL Four __attribute__((vector_size(4 * sizeof(REAL))));
#ifdef __clang__
#define SHUFFLE(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
typedef __typeof__(_Generic((REAL)0, float : (int32_t)0, double : (int64_t)0)) Place;
typedef Place Places __attribute__((vector_size(4 * sizeof(REAL))));
#define SHUFFLE(a, b, i, j, k, l) __builtin_shuffle(a, b, (Places){i, j, k, l})
#endif
#define FIRST_HALVES(a, b) SHUFFLE(a, b, 0, 4, 1, 5)
#define LAST_HALVES(a, b) SHUFFLE(a, b, 2, 6, 3, 7)
#define FIRST_PAIRS(a, b) SHUFFLE(a, b, 0, 1, 4, 5)
#define LAST_PAIRS(a, b) SHUFFLE(a, b, 2, 3, 6, 7)
#define load_four(p) (*(const FourUnaligned *)(p))
#define store_four(p, x) (*(FourUnaligned *)(p) = (x))
typedef REAL FourUnaligned __attribute__((vector_size(4 * sizeof(REAL)), aligned(sizeof(REAL)), may_alias));

/* Where a tile goes, and what happens to it on the way. */
typedef struct Finish {
    REAL *c;
    const REAL *add, *bias; /* or NULL */
    int64_t ldc, ld_add;
    REAL scale;
    int relu, width; /* width: columns, at most PANEL */
} Finish;

INLINE V load(const REAL *p) { return *(const Unaligned *)p; }

INLINE V finish(const Finish *f, V x, int row, int column)
{
    x = x * f->scale;
    if (f->add)
        x += load(f->add + row * f->ld_add + column);
    if (f->bias)
        x += load(f->bias + column);
    if (f->relu)
        x = (V)((Mask)x & ~(x < 0)); /* keeps NaN */
    return x;
}

/* A row of fewer columns than a panel has. */
static __attribute__((noinline)) void finish_narrow(const Finish *f, const REAL *x, int row)
{
    for (int i = 0; i < f->width; i++) {
        REAL y = x[i] * f->scale;
        if (f->add)
            y += f->add[row * f->ld_add + i];
        if (f->bias)
            y += f->bias[i];
        f->c[row * f->ldc + i] = f->relu && y < 0 ? 0 : y;
    }
}

/* A tile of `rows` rows: element (i, l) of a is at a[i * row_step + l * step], b is a panel. */
INLINE void tile(const int rows, const Finish *f, const REAL *a, int64_t row_step, int64_t step,
                 const REAL *b, int64_t k)
{
#define ROW_BEGIN(i) V p##i = {0}, q##i = {0};
#define ROW_ADD(i) \
    if (i < rows) { \
        const REAL s = a[i * row_step]; \
        p##i += s * b0; \
        q##i += s * b1; \
    }
#define ROW_END(i) \
    if (i < rows && f->width == PANEL) { \
        *(Unaligned *)(f->c + i * f->ldc) = finish(f, p##i, i, 0); \
        *(Unaligned *)(f->c + i * f->ldc + WIDTH) = finish(f, q##i, i, WIDTH); \
    } else if (i < rows) { \
        V x[2] = {p##i, q##i}; \
        finish_narrow(f, (const REAL *)x, i); \
    }
    EACH_ROW(ROW_BEGIN)
    for (int64_t l = 0; l < k; l++, a += step, b += PANEL) {
        const V b0 = load(b), b1 = load(b + WIDTH);
        EACH_ROW(ROW_ADD)
    }
    EACH_ROW(ROW_END)
#undef ROW_BEGIN
#undef ROW_ADD
#undef ROW_END
}

#define TILES(name, row_step, step) \
    static void name##_all(const Finish *f, const REAL *a, int64_t lda, const REAL *b, int64_t k) \
    { \
        tile(ROWS, f, a, row_step, step, b, k); \
    } \
    static void name##_few(const Finish *f, const REAL *a, int64_t lda, const REAL *b, int64_t k) \
    { \
        tile(FEW, f, a, row_step, step, b, k); \
    } \
    static void name##_one(const Finish *f, const REAL *a, int64_t lda, const REAL *b, int64_t k) \
    { \
        tile(1, f, a, row_step, step, b, k); \
    }
/* a as it is; a turned: its rows are the columns that the product speaks of. */
TILES(across, lda, 1)
TILES(down, 1, lda)

/* to [k][PANEL] = b [width,k], four by four. */
static void pack_turned(REAL *to, const REAL *b, int64_t ldb, int64_t k, int width)
{
    const int64_t fours = k / 4 * 4;
    int j = 0;
    for (; j + 4 <= width; j += 4)
        for (int64_t l = 0; l < fours; l += 4) {
            const REAL *from = b + j * ldb + l;
            const Four r0 = load_four(from), r1 = load_four(from + ldb), r2 = load_four(from + 2 * ldb),
                       r3 = load_four(from + 3 * ldb);
            const Four p = FIRST_HALVES(r0, r1), q = FIRST_HALVES(r2, r3), s = LAST_HALVES(r0, r1),
                       t = LAST_HALVES(r2, r3);
            REAL *at = to + l * PANEL + j;
            store_four(at, FIRST_PAIRS(p, q));
            store_four(at + PANEL, LAST_PAIRS(p, q));
            store_four(at + 2 * PANEL, FIRST_PAIRS(s, t));
            store_four(at + 3 * PANEL, LAST_PAIRS(s, t));
        }
    for (int i = 0; i < width; i++)
        for (int64_t l = i < j ? fours : 0; l < k; l++)
            to[l * PANEL + i] = b[i * ldb + l];
}

/* to: panels of b [k, n], `step` numbers from one to the next: each is [k][PANEL], the last one filled up
 * with zeros. turned: b is [n, k]. */
static void pack(REAL *to, int64_t step, const REAL *b, int64_t ldb, int turned, int64_t k, int64_t n)
{
    for (int64_t j0 = 0; j0 < n; j0 += PANEL, to += step) {
        const int width = n - j0 < PANEL ? (int)(n - j0) : PANEL;
        if (width < PANEL)
            memset(to, 0, (size_t)k * PANEL * sizeof *to);
        if (turned)
            pack_turned(to, b + j0 * ldb, ldb, k, width);
        else if (width == PANEL)
            for (int64_t l = 0; l < k; l++)
                memcpy(to + l * PANEL, b + l * ldb + j0, PANEL * sizeof *to);
        else
            for (int64_t l = 0; l < k; l++)
                memcpy(to + l * PANEL, b + l * ldb + j0, (size_t)width * sizeof *to);
    }
}

/* Panels of ROWS columns of a turned a: [k][ROWS] each. */
static void pack_rows(REAL *to, const REAL *a, int64_t lda, int64_t k, int64_t m)
{
    for (int64_t i0 = 0; i0 < m; i0 += ROWS, to += k * ROWS)
        if (m - i0 >= ROWS)
            for (int64_t l = 0; l < k; l++)
                memcpy(to + l * ROWS, a + l * lda + i0, ROWS * sizeof *to);
        else
            for (int64_t l = 0; l < k; l++)
                memcpy(to + l * ROWS, a + l * lda + i0, (size_t)(m - i0) * sizeof *to);
}

/* A block of the product: columns j0 .. of b's panels, l0 .. l0 + k - 1 of the sum. */
typedef struct Block {
    const PRODUCT *p;
    const REAL *panels;
    int64_t step; /* from one panel to the next */
    int64_t j0, columns, l0, k;
} Block;

/* Rows i .. of the block; element (row, l) of a as the tiles read it. */
static void block_rows(const Block *b, int64_t i, int rows, const REAL *a, int64_t lda, int down)
{
    const PRODUCT *p = b->p;
    const int last = b->l0 + b->k == p->k;
    /* Later parts of the sum are added to the earlier ones. */
    const REAL *add = b->l0 ? p->c : p->add;
    Finish f = {.ldc = p->ldc, .ld_add = b->l0 ? p->ldc : p->ld_add, .scale = p->scale};
    f.relu = last && p->relu;
    const REAL *panel = b->panels;
    for (int64_t j = 0; j < b->columns; j += PANEL, panel += b->step) {
        const int64_t at = b->j0 + j;
        f.c = p->c + i * p->ldc + at;
        f.add = add ? add + i * f.ld_add + at : NULL;
        f.bias = last && p->bias ? p->bias + at : NULL;
        f.width = b->columns - j < PANEL ? (int)(b->columns - j) : PANEL;
        if (rows == ROWS)
            (down ? down_all : across_all)(&f, a, lda, panel, b->k);
        else if (rows == FEW)
            (down ? down_few : across_few)(&f, a, lda, panel, b->k);
        else
            (down ? down_one : across_one)(&f, a, lda, panel, b->k);
    }
}

static int next_rows(int64_t left) { return left >= ROWS ? ROWS : left >= FEW ? FEW : 1; }

static void block_across(const Block *b)
{
    const PRODUCT *p = b->p;
    for (int64_t i = 0, rows; i < p->m; i += rows) {
        rows = next_rows(p->m - i);
        block_rows(b, i, (int)rows, p->a + i * p->lda + b->l0, p->lda, 0);
    }
}

/* a turned and in the cache. */
static void block_down(const Block *b)
{
    const PRODUCT *p = b->p;
    for (int64_t i = 0, rows; i < p->m; i += rows) {
        rows = next_rows(p->m - i);
        block_rows(b, i, (int)rows, p->a + b->l0 * p->lda + i, p->lda, 1);
    }
}

/* a turned and far away: it is packed, some of its columns at a time. */
static void block_down_packed(const Block *b, REAL *room)
{
    const PRODUCT *p = b->p;
    for (int64_t i0 = 0; i0 < p->m; i0 += PACK_ROWS) {
        const int64_t m = p->m - i0 < PACK_ROWS ? p->m - i0 : PACK_ROWS;
        pack_rows(room, p->a + b->l0 * p->lda + i0, p->lda, b->k, m);
        for (int64_t i = 0, rows; i < m; i += rows) {
            rows = next_rows(m - i);
            block_rows(b, i0 + i, (int)rows, room + i / ROWS * ROWS * b->k + i % ROWS, ROWS, 1);
        }
    }
}

/* n in equal parts of at most `most`, on multiples of `multiple`. */
static int64_t equal_parts(int64_t n, int64_t most, int64_t multiple)
{
    const int64_t parts = (n + most - 1) / most, part = (n + parts - 1) / parts;
    return (part + multiple - 1) / multiple * multiple;
}

static void multiply(const PRODUCT *p)
{
    if (p->m <= 0 || p->n <= 0 || p->k <= 0)
        return;
    const int64_t depth = equal_parts(p->k, p->panels ? DEPTH : PACK_DEPTH, 1),
                  columns = equal_parts(p->n, p->panels ? BLOCK / depth + PANEL : PACK_COLUMNS, PANEL);
    for (int64_t j0 = 0; j0 < p->n; j0 += columns)
        for (int64_t l0 = 0; l0 < p->k; l0 += depth) {
            Block b = {.p = p, .j0 = j0, .l0 = l0};
            b.columns = p->n - j0 < columns ? p->n - j0 : columns;
            b.k = p->k - l0 < depth ? p->k - l0 : depth;
            if (p->panels) {
                b.step = p->k * PANEL;
                b.panels = p->panels + j0 * p->k + l0 * PANEL;
            } else {
                b.step = b.k * PANEL;
                b.panels = p->room;
                pack(p->room, b.step, p->turn_b ? p->b + j0 * p->ldb + l0 : p->b + l0 * p->ldb + j0, p->ldb,
                     p->turn_b, b.k, b.columns);
            }
            if (!p->turn_a)
                block_across(&b);
            else if (p->panels)
                block_down(&b);
            else
                block_down_packed(&b, p->room + PACK_DEPTH * PACK_COLUMNS);
        }
}

const VARIANT(TABLE, REAL)
    VARIANT(VARIANT(product, INSTRUCTIONS), PRECISION) = {.panel = PANEL, .multiply = multiply, .pack = pack};
