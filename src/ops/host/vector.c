/* vector.c - see vector.h: plain loops for the compiler to vectorise.
 * Compiled once per instruction set and precision: -DINSTRUCTIONS=plain|avx2|avx512 with that set's flags,
 * -DREAL=float|double, and for all of them -fno-math-errno -fno-trapping-math, without which square roots
 * are not vectorised. Loops come in two groups: element by element, rounded as written; and sums, where the
 * order is the compiler's. */
#include "ops/host/vector.h"

#include <math.h>
#include <string.h>

#include "base/variant.h"
#include "ops/philox.h"

#pragma GCC optimize("O3")

#define IS_DOUBLE_float 0
#define IS_DOUBLE_double 1
#if VARIANT(IS_DOUBLE, REAL)
#define TABLE_TYPE VectorF64
#define TABLE VARIANT(VARIANT(vector, INSTRUCTIONS), f64)
#define EXP exp
#define TANH tanh
#define SQRT sqrt
#define LOG log
#define LOWEST -745.2 /* the least argument of EXP */
#else
#define TABLE_TYPE VectorF32
#define TABLE VARIANT(VARIANT(vector, INSTRUCTIONS), f32)
#define EXP exp_float
#define TANH tanh_float
#define SQRT sqrtf
#define LOG logf
#define LOWEST -88.0f
#endif

#define INLINE static inline __attribute__((always_inline))

#define NORM_EPSILON 1e-5 /* added to the variance */
#define TANH_LIMIT 40     /* tanh is 1 beyond it, in either precision */
#define COUNTERS 16       /* of Philox at once */
#define COLUMNS 16        /* of a filter's gradient at once */

/* Returns scale; exp(x) - 1 = scale * more + (scale - 1), with scale a power of two and more = exp(r) - 1 of
 * a small r. */
INLINE float exp_parts(float *more, float x)
{
    float y = x * 1.44269504088896341f;
    int32_t k = (int32_t)(y + copysignf(0.5f, y));
    float n = (float)k;
    /* ln 2 in two parts; the first has few bits, so that n times it is exact. */
    float r = x - n * 0.693359375f;
    r = r + n * 2.12194440054690583e-4f;
    /* exp(r) - 1 by its series up to r^7; |r| <= ln 2 / 2. */
    float p = 1.0f / 5040;
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    *more = p * r * r + r;
    union {
        uint32_t bits;
        float value;
    } scale = {(uint32_t)(k + 127) << 23};
    return scale.value;
}

/* For -88 <= x <= 88; below -87.7 the scale is zero and so is the result. NaN stays NaN. The limits are the
 * caller's work, in a loop of its own: in this one they would become branches. */
INLINE float exp_float(float x)
{
    float more, scale = exp_parts(&more, x);
    return more * scale + scale;
}

INLINE float tanh_float(float x) /* for |x| <= TANH_LIMIT */
{
    float more, scale = exp_parts(&more, fabsf(x) * 2);
    float e = more * scale + (scale - 1.0f); /* exp(2 |x|) - 1 without cancellation */
    return copysignf(e / (e + 2.0f), x);
}

/* Four words of each of COUNTERS counters from `counter` on, in the order of the elements that use them. */
static void philox_words(uint32_t out[4 * COUNTERS], uint64_t counter, uint64_t seed)
{
    uint32_t a[COUNTERS], b[COUNTERS], c[COUNTERS] = {0}, d[COUNTERS] = {0};
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int l = 0; l < COUNTERS; l++) {
        a[l] = (uint32_t)(counter + (uint64_t)l);
        b[l] = (uint32_t)((counter + (uint64_t)l) >> 32);
    }
    for (int i = 0; i < PHILOX_ROUNDS; i++, k0 += PHILOX_W0, k1 += PHILOX_W1)
#pragma GCC unroll 1 /* unrolled completely it would not be vectorised */
        for (int l = 0; l < COUNTERS; l++) {
            uint64_t p = (uint64_t)PHILOX_M0 * a[l], q = (uint64_t)PHILOX_M1 * c[l];
            a[l] = (uint32_t)(q >> 32) ^ b[l] ^ k0;
            b[l] = (uint32_t)q;
            c[l] = (uint32_t)(p >> 32) ^ d[l] ^ k1;
            d[l] = (uint32_t)p;
        }
    for (int l = 0; l < COUNTERS; l++) {
        out[4 * l] = a[l];
        out[4 * l + 1] = b[l];
        out[4 * l + 2] = c[l];
        out[4 * l + 3] = d[l];
    }
}

/* --- element by element --- */

/* x = exp(x - b). Two loops: a limit inside the second would keep it from being vectorised. */
static void exp_minus(REAL *x, REAL b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        REAL y = x[i] - b;
        x[i] = y < LOWEST ? LOWEST : y;
    }
    for (int64_t i = 0; i < n; i++)
        x[i] = EXP(x[i]);
}

static void softmax_grad(REAL *d, const REAL *p, REAL delta, REAL scale, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        d[i] = p[i] * (d[i] - delta) * scale;
}

static void add(REAL *out, const REAL *a, const REAL *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = a[i] + b[i];
}

static void add_scaled(REAL *out, const REAL *a, REAL scale, const REAL *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = a[i] + scale * b[i];
}

static void bias_act(REAL *out, const REAL *in, const REAL *bias, Activation act, int64_t n)
{
    if (bias)
        for (int64_t i = 0; i < n; i++)
            out[i] = in[i] + bias[i];
    else if (out != in)
        memcpy(out, in, (size_t)n * sizeof *out);
    if (act == ACT_RELU)
        for (int64_t i = 0; i < n; i++)
            out[i] = out[i] < 0 ? 0 : out[i]; /* keeps NaN */
    if (act == ACT_TANH) {
        for (int64_t i = 0; i < n; i++)
            out[i] = out[i] < -TANH_LIMIT ? -TANH_LIMIT : out[i];
        for (int64_t i = 0; i < n; i++)
            out[i] = out[i] > TANH_LIMIT ? TANH_LIMIT : out[i];
        for (int64_t i = 0; i < n; i++)
            out[i] = TANH(out[i]);
    }
}

static void filter(REAL *restrict out, const REAL *start, const REAL *from, int64_t from_step, const REAL *w,
                   int64_t w_step, int taps, int64_t n)
{
    const REAL *f[7], *g[7];
    for (int k = 0; k < taps; k++) {
        f[k] = from + k * from_step;
        g[k] = w + k * w_step;
    }
    if (taps == 7) {
        const REAL *f0 = f[0], *f1 = f[1], *f2 = f[2], *f3 = f[3], *f4 = f[4], *f5 = f[5], *f6 = f[6];
        const REAL *g0 = g[0], *g1 = g[1], *g2 = g[2], *g3 = g[3], *g4 = g[4], *g5 = g[5], *g6 = g[6];
        for (int64_t i = 0; i < n; i++)
            out[i] = start[i] + f0[i] * g0[i] + f1[i] * g1[i] + f2[i] * g2[i] + f3[i] * g3[i] +
                     f4[i] * g4[i] + f5[i] * g5[i] + f6[i] * g6[i];
        return;
    }
    memcpy(out, start, (size_t)n * sizeof *out);
    for (int k = 0; k < taps; k++)
        for (int64_t i = 0; i < n; i++)
            out[i] += f[k][i] * g[k][i];
}

/* A row whose neighbours are not all there. */
static void filter_grad_edge(REAL *restrict dw, const REAL *in, const REAL *restrict g, int64_t C,
                             int64_t length, int taps, int64_t t, int64_t n)
{
    for (int k = 0; k < taps; k++) {
        const int64_t at = t + k - taps / 2;
        for (int64_t i = 0; i < n && at >= 0 && at < length; i++)
            dw[k * C + i] += in[at * C + i] * g[i];
    }
}

static void filter_grad(REAL *dw, REAL *dbias, const REAL *in, const REAL *dout, int64_t C, int64_t length,
                        int taps, int64_t n)
{
    const int half = taps / 2;
    const int64_t first = taps == 7 && length > 2 * half ? half : length, last = length - half;
    for (int64_t t = 0; t < first; t++)
        filter_grad_edge(dw, in, dout + t * C, C, length, taps, t, n);
    /* Away from the ends the sums of some columns stay in registers. */
    for (int64_t i0 = 0; i0 < n && first < last; i0 += COLUMNS) {
        const int64_t m = n - i0 < COLUMNS ? n - i0 : COLUMNS;
        REAL sum[7][COLUMNS] = {{0}};
        for (int64_t t = first; t < last; t++) {
            const REAL *g = dout + t * C + i0, *x = in + (t - half) * C + i0;
            if (m == COLUMNS)
                for (int i = 0; i < COLUMNS; i++) {
                    sum[0][i] += x[i] * g[i];
                    sum[1][i] += x[C + i] * g[i];
                    sum[2][i] += x[2 * C + i] * g[i];
                    sum[3][i] += x[3 * C + i] * g[i];
                    sum[4][i] += x[4 * C + i] * g[i];
                    sum[5][i] += x[5 * C + i] * g[i];
                    sum[6][i] += x[6 * C + i] * g[i];
                }
            else
                for (int k = 0; k < 7; k++)
                    for (int64_t i = 0; i < m; i++)
                        sum[k][i] += x[k * C + i] * g[i];
        }
        for (int k = 0; k < 7; k++)
            for (int64_t i = 0; i < m; i++)
                dw[k * C + i0 + i] += sum[k][i];
    }
    for (int64_t t = last > first ? last : first; t < length; t++)
        filter_grad_edge(dw, in, dout + t * C, C, length, taps, t, n);
    for (int64_t t = 0; t < length; t++)
        add(dbias, dbias, dout + t * C, n);
}

static void act_grad(REAL *d, const REAL *out, Activation act, int64_t n)
{
    if (act == ACT_RELU)
        for (int64_t i = 0; i < n; i++)
            d[i] = out[i] > 0 ? d[i] : 0;
    if (act == ACT_TANH)
        for (int64_t i = 0; i < n; i++)
            d[i] = d[i] * (1 - out[i] * out[i]);
}

static void dropout(REAL *out, const REAL *base, const REAL *in, VectorDropout drop, uint64_t index,
                    int64_t n)
{
    if (!drop.threshold) {
        if (base)
            add(out, base, in, n);
        else if (out != in)
            memcpy(out, in, (size_t)n * sizeof *out);
        return;
    }
    uint32_t words[4 * COUNTERS];
    uint16_t bits[8 * COUNTERS]; /* of the words, the lower half first */
    index += drop.first;
    /* A counter serves eight elements; a call may begin in the middle of one. */
    int64_t skip = (int64_t)(index % 8);
    uint64_t counter = index / 8;
    for (int64_t i = 0; i < n; counter += COUNTERS, skip = 0) {
        philox_words(words, counter, drop.seed);
        for (int j = 0; j < 4 * COUNTERS; j++) {
            bits[2 * j] = (uint16_t)words[j];
            bits[2 * j + 1] = (uint16_t)(words[j] >> 16);
        }
        const uint16_t *w = bits + skip;
        /* As many as these bits serve. */
        int64_t m = n - i < 8 * COUNTERS - skip ? n - i : 8 * COUNTERS - skip;
        REAL scale = (REAL)drop.scale;
        if (base)
            for (int64_t j = 0; j < m; j++)
                out[i + j] = base[i + j] + (w[j] >= drop.threshold ? in[i + j] * scale : 0);
        else
            for (int64_t j = 0; j < m; j++)
                out[i + j] = w[j] >= drop.threshold ? in[i + j] * scale : 0;
        i += m;
    }
}

static void adam(REAL *p, REAL *m, REAL *v, const REAL *grad, const uint8_t *decay, REAL gscale, VectorAdam a,
                 int64_t n)
{
    REAL b1 = a.beta1, b2 = a.beta2, eps = a.eps, step = (REAL)(a.lr / a.correct1),
         root = (REAL)(1 / sqrt(a.correct2));
    /* Weight decay apart from the gradient, as in AdamW. */
    REAL shrink = (REAL)a.lr * (REAL)a.decay;
    for (int64_t i = 0; i < n; i++) {
        REAL g = grad[i] * gscale;
        REAL mean = b1 * m[i] + (1 - b1) * g;
        REAL square = b2 * v[i] + (1 - b2) * g * g;
        m[i] = mean;
        v[i] = square;
        REAL less = decay[i] ? shrink : 0;
        p[i] = p[i] - p[i] * less - step * mean / (SQRT(square) * root + eps);
    }
}

/* --- sums --- */
#pragma GCC push_options
#pragma GCC optimize("associative-math", "no-signed-zeros")

static REAL dot(const REAL *a, const REAL *b, int64_t n)
{
    REAL s = 0;
    for (int64_t i = 0; i < n; i++)
        s += a[i] * b[i];
    return s;
}

static REAL sum(const REAL *x, int64_t n)
{
    REAL s = 0;
    for (int64_t i = 0; i < n; i++)
        s += x[i];
    return s;
}

static double sum_squares(const REAL *x, int64_t n)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++)
        s += (double)x[i] * (double)x[i];
    return s;
}

static void norm(REAL *out, REAL *mean, REAL *rstd, const REAL *in, const REAL *w, const REAL *b, int64_t n)
{
    REAL m = sum(in, n) / (REAL)n, s = 0;
    for (int64_t i = 0; i < n; i++)
        s += (in[i] - m) * (in[i] - m);
    /* Mean first, then squares of differences: no cancellation. */
    REAL r = 1 / SQRT(s / (REAL)n + (REAL)NORM_EPSILON);
    for (int64_t i = 0; i < n; i++)
        out[i] = (in[i] - m) * r * w[i] + b[i];
    *mean = m;
    *rstd = r;
}

static void norm_grad(REAL *dx, REAL *dw, REAL *db, const REAL *dout, const REAL *dsum, const REAL *in,
                      REAL mean, REAL rstd, const REAL *w, int64_t n)
{
    REAL s = 0, t = 0;
    for (int64_t i = 0; i < n; i++) {
        REAL x = (in[i] - mean) * rstd, g = dout[i] * w[i];
        /* The two means that the gradient of the input needs; weights and bias on the way. */
        s += g;
        t += g * x;
        dw[i] += dout[i] * x;
        db[i] += dout[i];
    }
    s /= (REAL)n;
    t /= (REAL)n;
    if (dsum)
        for (int64_t i = 0; i < n; i++)
            dx[i] = dsum[i] + rstd * (dout[i] * w[i] - s - (in[i] - mean) * rstd * t);
    else
        for (int64_t i = 0; i < n; i++)
            dx[i] = rstd * (dout[i] * w[i] - s - (in[i] - mean) * rstd * t);
}

static double loss(REAL *d, const REAL *pred, const float *target, LossKind kind, REAL delta, REAL weight,
                   int accumulate, int64_t n)
{
    REAL s = 0;
    for (int64_t i = 0; i < n; i++) {
        REAL e = pred[i] - (REAL)target[i], size = e < 0 ? -e : e;
        /* Both shapes are computed and one is chosen: a branch would keep the loop from being vectorised. */
        REAL square = kind == LOSS_MSE ? e * e : (REAL)0.5 * e * e,
             line = kind == LOSS_L1 ? size : delta * (size - (REAL)0.5 * delta);
        s += kind == LOSS_MSE || (kind == LOSS_HUBER && size < delta) ? square : line;
    }
    if (!d)
        return s;
    REAL slope = kind == LOSS_L1 ? weight : weight * delta; /* of the straight part */
    for (int64_t i = 0; i < n; i++) {
        REAL e = pred[i] - (REAL)target[i], size = e < 0 ? -e : e;
        REAL sign = e > 0 ? slope : e < 0 ? -slope : e; /* 0 and NaN are themselves */
        REAL g = kind == LOSS_MSE ? 2 * weight * e : kind == LOSS_HUBER && size < delta ? weight * e : sign;
        d[i] = accumulate ? d[i] + g : g;
    }
    return s;
}

#pragma GCC optimize("finite-math-only")
static REAL largest(const REAL *x, int64_t n)
{
    REAL m = x[0];
    for (int64_t i = 1; i < n; i++)
        m = x[i] > m ? x[i] : m;
    return m;
}
#pragma GCC pop_options

/* The largest is subtracted first, so that no exponential overflows. */
static REAL softmax(REAL *x, int64_t n)
{
    REAL m = largest(x, n);
    exp_minus(x, m, n);
    REAL s = sum(x, n), inverse = 1 / s;
    for (int64_t i = 0; i < n; i++)
        x[i] *= inverse;
    return m + LOG(s);
}

/* ---- transforms ---- */

enum { LANES = TRANSFORM_LANES, POINT = 2 * LANES };

/* One step of radix 2 in Stockham's order: what is `half` apart becomes neighbours. */
static void halves(REAL *restrict out, const REAL *restrict z, const REAL *turn, int half, int stride,
                   REAL sign)
{
    for (int p = 0; p < half; p++) {
        const REAL wr = turn[2 * p * stride], wi = sign * turn[2 * p * stride + 1];
        for (int q = 0; q < stride; q++) {
            const REAL *a = z + (q + stride * p) * POINT, *b = a + stride * half * POINT;
            REAL *x = out + (q + stride * 2 * p) * POINT, *y = x + stride * POINT;
            for (int l = 0; l < LANES; l++) {
                REAL re = a[l] - b[l], im = a[LANES + l] - b[LANES + l];
                x[l] = a[l] + b[l];
                x[LANES + l] = a[LANES + l] + b[LANES + l];
                y[l] = re * wr - im * wi;
                y[LANES + l] = re * wi + im * wr;
            }
        }
    }
}

/* exp(-2 pi i k / n) for k < n; the table has the first half of the circle. */
INLINE void turn_at(REAL w[2], const REAL *turn, int n, int k, REAL sign)
{
    const REAL flip = k < n / 2 ? 1 : -1;
    const REAL *t = turn + 2 * (k < n / 2 ? k : k - n / 2);
    w[0] = flip * t[0];
    w[1] = sign * flip * t[1];
}

/* One step of radix 4. */
static void quarters(REAL *restrict out, const REAL *restrict z, const REAL *turn, int n, int quarter,
                     int stride, REAL sign)
{
    for (int p = 0; p < quarter; p++) {
        REAL w1[2], w2[2], w3[2];
        turn_at(w1, turn, n, p * stride, sign);
        turn_at(w2, turn, n, 2 * p * stride, sign);
        turn_at(w3, turn, n, 3 * p * stride, sign);
        for (int q = 0; q < stride; q++) {
            const int64_t apart = (int64_t)stride * quarter * POINT;
            const REAL *a = z + (q + stride * p) * POINT, *b = a + apart, *c = b + apart, *d = c + apart;
            REAL *o = out + (int64_t)(q + stride * 4 * p) * POINT, *o1 = o + stride * POINT,
                 *o2 = o1 + stride * POINT, *o3 = o2 + stride * POINT;
            for (int l = 0; l < LANES; l++) {
                const int i = LANES + l;
                REAL sr = a[l] + c[l], si = a[i] + c[i], dr = a[l] - c[l], di = a[i] - c[i];
                REAL tr = b[l] + d[l], ti = b[i] + d[i];
                /* i times the difference, in the direction of the transform */
                REAL ur = sign * (d[i] - b[i]), ui = sign * (b[l] - d[l]);
                REAL x1 = dr - ur, y1 = di - ui, x2 = sr - tr, y2 = si - ti, x3 = dr + ur, y3 = di + ui;
                o[l] = sr + tr;
                o[i] = si + ti;
                o1[l] = x1 * w1[0] - y1 * w1[1];
                o1[i] = x1 * w1[1] + y1 * w1[0];
                o2[l] = x2 * w2[0] - y2 * w2[1];
                o2[i] = x2 * w2[1] + y2 * w2[0];
                o3[l] = x3 * w3[0] - y3 * w3[1];
                o3[i] = x3 * w3[1] + y3 * w3[0];
            }
        }
    }
}

static REAL *transform(REAL *z, REAL *other, const REAL *turn, int n, int sign)
{
    int stride = 1;
    for (int left = n; left > 1;) {
        if (left % 4 == 0) {
            quarters(other, z, turn, n, left / 4, stride, (REAL)sign);
            left /= 4;
            stride *= 4;
        } else {
            halves(other, z, turn, left / 2, stride, (REAL)sign);
            left /= 2;
            stride *= 2;
        }
        REAL *swap = z;
        z = other;
        other = swap;
    }
    return z;
}

const TABLE_TYPE TABLE = {
    .softmax = softmax,
    .exp_minus = exp_minus,
    .softmax_grad = softmax_grad,
    .dot = dot,
    .add = add,
    .add_scaled = add_scaled,
    .bias_act = bias_act,
    .filter = filter,
    .filter_grad = filter_grad,
    .act_grad = act_grad,
    .dropout = dropout,
    .norm = norm,
    .norm_grad = norm_grad,
    .loss = loss,
    .sum_squares = sum_squares,
    .adam = adam,
    .transform = transform,
};
