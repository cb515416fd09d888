/* ops_cases.c - see ops_cases.h. Those of symbols and frames are built in ops_cases_symbols.c. */
#include "ops_cases_private.h"

/* --- linear: M N K act bias accumulate din --- */
NAMES(LIN_IN, LIN_W, LIN_BIAS, LIN_OUT, LIN_DOUT, LIN_DIN, LIN_DW, LIN_DBIAS);
void linear_build(OpsRun *r, const int *s)
{
    int64_t M = s[0], N = s[1], K = s[2];
    ops_tensor(r, LIN_IN, "in", KIND_REAL, ROLE_INPUT, M * K, 1);
    ops_tensor(r, LIN_W, "w", KIND_REAL, ROLE_INPUT, N * K, 1 / sqrt((double)K));
    if (s[4]) {
        ops_tensor(r, LIN_BIAS, "bias", KIND_REAL, ROLE_INPUT, N, 0.5);
        ops_gradient(r, LIN_DBIAS, LIN_BIAS, "dbias", ROLE_GRAD_ADD);
    }
    ops_output(r, LIN_OUT, LIN_DOUT, "out", "dout", M * N);
    if (s[5]) {
        r->t[LIN_OUT].role = ROLE_CHANGED;
        for (int64_t i = 0; i < M * N; i++)
            r->t[LIN_OUT].value[i] = 0.25;
    }
    if (s[6])
        ops_gradient(r, LIN_DIN, LIN_IN, "din", ROLE_GRAD);
    if (s[6] && s[5]) {
        r->t[LIN_DIN].role = ROLE_GRAD_ADD;
        for (int64_t i = 0; i < M * K; i++)
            r->t[LIN_DIN].value[i] = 0.5;
    }
    ops_gradient(r, LIN_DW, LIN_W, "dw", ROLE_GRAD_ADD);
}
void linear_go(OpsRun *r, const int *s)
{
    CALL(linear_forward, AT(LIN_OUT), AT(LIN_IN), AT(LIN_W), AT(LIN_BIAS), s[0], s[1], s[2], (Activation)s[3],
         s[5]);
}
void linear_back(OpsRun *r, const int *s)
{
    if (s[7]) { /* the gradients one by one */
        CALL(linear_backward, AT(LIN_DIN), NULL, NULL, AT(LIN_DOUT), AT(LIN_OUT), AT(LIN_IN), AT(LIN_W), s[0],
             s[1], s[2], (Activation)s[3], s[5]);
        CALL(linear_backward, NULL, AT(LIN_DW), AT(LIN_DBIAS), AT(LIN_DOUT), NULL, AT(LIN_IN), AT(LIN_W),
             s[0], s[1], s[2], ACT_NONE, s[5]);
        return;
    }
    CALL(linear_backward, AT(LIN_DIN), AT(LIN_DW), AT(LIN_DBIAS), AT(LIN_DOUT), AT(LIN_OUT), AT(LIN_IN),
         AT(LIN_W), s[0], s[1], s[2], (Activation)s[3], s[5]);
}
double linear_flops(const int *s) { return 6.0 * s[0] * s[1] * s[2]; }

/* --- dropout in a share of a batch: the OpsStep of it, word by word --- */
static void share_build(OpsRun *r, int share)
{
    enum { SEED, SEED_UP, NUMBER, NUMBER_UP, RATE, STOP, SHARE, SHARE_UP, WORDS };
    _Static_assert(sizeof(OpsStep) == WORDS * sizeof(int32_t), "an OpsStep has no gaps");
    if (!share)
        return;
    OpsTensor *step = ops_tensor(r, SHARE_STEP, "step", KIND_INT, ROLE_FIXED, WORDS, 0);
    for (int i = 0; i < WORDS; i++)
        step->value[i] = i == SEED ? 77 : i == SHARE ? share : 0;
}

/* --- norm: R C with_y percent dsum. sum is an output of its own: its seed is dsum. A bias (zero) stands
 * before y, its gradient is dy_sum --- */
NAMES(NORM_X, NORM_Y, NORM_W, NORM_B, NORM_SUM, NORM_DSUM, NORM_OUT, NORM_DOUT, NORM_MEAN, NORM_RSTD, NORM_DX,
      NORM_DY, NORM_DW, NORM_DB, NORM_BIAS, NORM_BRANCH, NORM_DY_SUM);
void norm_build(OpsRun *r, const int *s)
{
    int64_t n = (int64_t)s[0] * s[1];
    ops_tensor(r, NORM_X, "x", KIND_REAL, ROLE_INPUT, n, 1);
    ops_tensor(r, NORM_W, "w", KIND_REAL, ROLE_INPUT, s[1], 1);
    ops_tensor(r, NORM_B, "b", KIND_REAL, ROLE_INPUT, s[1], 1);
    ops_output(r, NORM_OUT, NORM_DOUT, "out", "dout", n);
    ops_tensor(r, NORM_SUM, "sum", KIND_REAL, ROLE_OUTPUT, n, 0);
    if (s[4])
        ops_tensor(r, NORM_DSUM, "dsum", KIND_REAL, ROLE_SEED, n, 1)->of = NORM_SUM;
    ops_tensor(r, NORM_MEAN, "mean", KIND_ACC, ROLE_OUTPUT, s[0], 0);
    ops_tensor(r, NORM_RSTD, "rstd", KIND_ACC, ROLE_OUTPUT, s[0], 0);
    ops_gradient(r, NORM_DX, NORM_X, "dx", ROLE_GRAD);
    if (s[2]) {
        ops_tensor(r, NORM_Y, "y", KIND_REAL, ROLE_INPUT, n, 1);
        ops_gradient(r, NORM_DY, NORM_Y, "dy", ROLE_GRAD);
        ops_tensor(r, NORM_BIAS, "bias", KIND_REAL, ROLE_INPUT, s[1], 0);
        ops_tensor(r, NORM_BRANCH, "y + bias", KIND_REAL, ROLE_OUTPUT, n, 0);
        ops_gradient(r, NORM_DY_SUM, NORM_BIAS, "dy_sum", ROLE_GRAD_ADD);
    }
    ops_gradient(r, NORM_DW, NORM_W, "dw", ROLE_GRAD_ADD);
    ops_gradient(r, NORM_DB, NORM_B, "db", ROLE_GRAD_ADD);
    share_build(r, s[5]);
}
void norm_go(OpsRun *r, const int *s)
{
    if (s[2])
        CALL(add_vector_forward, AT(NORM_BRANCH), AT(NORM_Y), AT(NORM_BIAS), 1, s[0], s[1]);
    SHARED(CALL(norm_forward, AT(NORM_SUM), AT(NORM_OUT), AT(NORM_MEAN), AT(NORM_RSTD), AT(NORM_X),
                AT(NORM_BRANCH), AT(NORM_W), AT(NORM_B), s[0], s[1], DROP(s[3])));
}
void norm_back(OpsRun *r, const int *s)
{
    SHARED(CALL(norm_backward, AT(NORM_DX), AT(NORM_DY), AT(NORM_DW), AT(NORM_DB), AT(NORM_DY_SUM),
                AT(NORM_DOUT), AT(NORM_DSUM), AT(NORM_SUM), AT(NORM_MEAN), AT(NORM_RSTD), AT(NORM_W), s[0],
                s[1], DROP(s[3])));
}

/* --- attention: B H D tq tk mixed packed. packed: q, k, v are thirds of wider rows, and so are their
 * gradients --- */
NAMES(ATT_Q, ATT_K, ATT_V, ATT_QLEN, ATT_KLEN, ATT_O, ATT_DO, ATT_LSE, ATT_DQ, ATT_DK, ATT_DV);
static AttentionShape attention_shape(OpsRun *r, const int *s)
{
    int64_t wide = (int64_t)s[1] * s[2];
    AttentionShape a = {.batch = s[0], .heads = s[1], .head_size = s[2], .tq = s[3], .tk = s[4]};
    a.ldq = a.ldk = a.ldv = s[6] ? 3 * wide : wide;
    a.ldo = wide;
    a.q_len = AT(ATT_QLEN), a.k_len = AT(ATT_KLEN);
    a.scale = 1 / sqrtf((float)s[2]);
    return a;
}
void attention_build(OpsRun *r, const int *s)
{
    int B = s[0], H = s[1], D = s[2], tq = s[3], tk = s[4];
    int64_t nq = (int64_t)B * tq * H * D, nk = (int64_t)B * tk * H * D;
    ops_lengths(r, ATT_QLEN, "q_len", B, tq, s[5]);
    ops_lengths(r, ATT_KLEN, "k_len", B, tk, s[5]);
    if (s[5] && B > 5) /* item 2 has no queries and no keys; let item 5 have queries and no keys */
        r->t[ATT_KLEN].value[5] = 0;
    ops_output(r, ATT_O, ATT_DO, "o", "do", nq);
    if (s[6]) { /* self attention on one buffer [B,T,3,H*D] */
        ops_tensor(r, ATT_Q, "qkv", KIND_REAL, ROLE_INPUT, 3 * nq, 1);
        ops_gradient(r, ATT_DQ, ATT_Q, "dqkv", ROLE_GRAD);
        ops_hide_rows(r, ATT_Q, ATT_QLEN, B, tq, 3 * H * D);
    } else {
        ops_tensor(r, ATT_Q, "q", KIND_REAL, ROLE_INPUT, nq, 1);
        ops_tensor(r, ATT_K, "k", KIND_REAL, ROLE_INPUT, nk, 1);
        ops_tensor(r, ATT_V, "v", KIND_REAL, ROLE_INPUT, nk, 1);
        ops_gradient(r, ATT_DQ, ATT_Q, "dq", ROLE_GRAD);
        ops_gradient(r, ATT_DK, ATT_K, "dk", ROLE_GRAD);
        ops_gradient(r, ATT_DV, ATT_V, "dv", ROLE_GRAD);
        ops_hide_rows(r, ATT_Q, ATT_QLEN, B, tq, H * D);
        ops_hide_rows(r, ATT_K, ATT_KLEN, B, tk, H * D);
        ops_hide_rows(r, ATT_V, ATT_KLEN, B, tk, H * D);
    }
    ops_hide_rows(r, ATT_DO, ATT_QLEN, B, tq, H * D);
    ops_tensor(r, ATT_LSE, "lse", KIND_ACC, ROLE_OUTPUT, (int64_t)B * H * tq, 0);
}
static void attention_pointers(OpsRun *r, const int *s, char *p[6])
{
    size_t third = (size_t)s[1] * (size_t)s[2] * r->c->ops->real_bytes;
    for (int i = 0; i < 3; i++) {
        p[i] = s[6] ? (char *)AT(ATT_Q) + (size_t)i * third : AT(ATT_Q + i);
        p[3 + i] = s[6] ? (char *)AT(ATT_DQ) + (size_t)i * third : AT(ATT_DQ + i);
    }
}
void attention_go(OpsRun *r, const int *s)
{
    AttentionShape a = attention_shape(r, s);
    char *p[6];
    attention_pointers(r, s, p);
    CALL(attention_forward, AT(ATT_O), AT(ATT_LSE), p[0], p[1], p[2], &a);
}
void attention_back(OpsRun *r, const int *s)
{
    AttentionShape a = attention_shape(r, s);
    char *p[6];
    attention_pointers(r, s, p);
    CALL(attention_backward, p[3], p[4], p[5], AT(ATT_DO), AT(ATT_O), AT(ATT_LSE), p[0], p[1], p[2], &a);
}
double attention_flops(const int *s) { return 14.0 * s[0] * s[1] * s[2] * s[3] * s[4]; }

/* --- embed: B T C V with_id percent mixed share --- */
NAMES(EMB_ID, EMB_TABLE, EMB_IN, EMB_ALPHA, EMB_LEN, EMB_OUT, EMB_DOUT, EMB_DTABLE, EMB_DIN, EMB_DALPHA);
void embed_build(OpsRun *r, const int *s)
{
    int B = s[0], T = s[1], C = s[2], V = s[3];
    int64_t n = (int64_t)B * T * C;
    ops_lengths(r, EMB_LEN, "len", B, T, s[6]);
    ops_tensor(r, EMB_ALPHA, "alpha", KIND_REAL, ROLE_INPUT, 1, 1);
    ops_output(r, EMB_OUT, EMB_DOUT, "out", "dout", n);
    ops_hide_rows(r, EMB_DOUT, EMB_LEN, B, T, C);
    for (int64_t i = 0; i < n; i++) /* finite differences know nothing of rows without gradient */
        if (r->t[EMB_DOUT].hidden[i])
            r->t[EMB_DOUT].value[i] = 0;
    if (s[4]) {
        OpsTensor *id = ops_tensor(r, EMB_ID, "id", KIND_INT, ROLE_FIXED, (int64_t)B * T, 0);
        for (int64_t i = 0; i < id->n; i++)
            id->value[i] = (double)rng_below(&r->rng, (uint64_t)V);
        ops_tensor(r, EMB_TABLE, "table", KIND_REAL, ROLE_INPUT, (int64_t)V * C, 1);
        ops_gradient(r, EMB_DTABLE, EMB_TABLE, "dtable", ROLE_GRAD_ADD);
    } else {
        ops_tensor(r, EMB_IN, "in", KIND_REAL, ROLE_INPUT, n, 1);
        ops_gradient(r, EMB_DIN, EMB_IN, "din", ROLE_GRAD);
    }
    ops_gradient(r, EMB_DALPHA, EMB_ALPHA, "dalpha", ROLE_GRAD_ADD);
    share_build(r, s[7]);
}
void embed_go(OpsRun *r, const int *s)
{
    SHARED(CALL(embed_forward, AT(EMB_OUT), AT(EMB_ID), AT(EMB_TABLE), AT(EMB_IN), AT(EMB_ALPHA), s[0], s[1],
                s[2], DROP(s[5])));
}
void embed_back(OpsRun *r, const int *s)
{
    SHARED(CALL(embed_backward, AT(EMB_DTABLE), AT(EMB_DIN), AT(EMB_DALPHA), AT(EMB_DOUT), AT(EMB_ID),
                AT(EMB_LEN), s[0], s[1], s[2], s[3], DROP(s[5])));
}

/* --- conv: B T C N K act mixed din apart. apart: the input is kept, the gradients come one by one --- */
NAMES(CONV_IN, CONV_W, CONV_BIAS, CONV_LEN, CONV_OUT, CONV_DOUT, CONV_DIN, CONV_DW, CONV_DBIAS,
      CONV_UNFOLDED);
void conv_build(OpsRun *r, const int *s)
{
    int B = s[0], T = s[1], C = s[2], N = s[3], K = s[4];
    ops_lengths(r, CONV_LEN, "len", B, T, s[6]);
    ops_tensor(r, CONV_IN, "in", KIND_REAL, ROLE_INPUT, (int64_t)B * T * C, 1);
    ops_tensor(r, CONV_W, "w", KIND_REAL, ROLE_INPUT, (int64_t)N * K * C, 1 / sqrt((double)K * C));
    ops_tensor(r, CONV_BIAS, "bias", KIND_REAL, ROLE_INPUT, N, 0.5);
    ops_output(r, CONV_OUT, CONV_DOUT, "out", "dout", (int64_t)B * T * N);
    if (s[7])
        ops_gradient(r, CONV_DIN, CONV_IN, "din", ROLE_GRAD);
    ops_gradient(r, CONV_DW, CONV_W, "dw", ROLE_GRAD_ADD);
    ops_gradient(r, CONV_DBIAS, CONV_BIAS, "dbias", ROLE_GRAD_ADD);
    ops_hide_rows(r, CONV_IN, CONV_LEN, B, T, C);
    ops_hide_rows(r, CONV_DOUT, CONV_LEN, B, T, N);
    /* Last, since its size, and with it the random numbers, are the table's own. */
    const int64_t unfolded = s[8] ? (int64_t)r->c->ops->unfolded_bytes((int64_t)B * T, C, K) : 0;
    if (unfolded)
        ops_tensor(r, CONV_UNFOLDED, "unfolded", KIND_BYTE, ROLE_FIXED, unfolded, 0);
}
void conv_go(OpsRun *r, const int *s)
{
    CALL(conv_forward, AT(CONV_OUT), AT(CONV_UNFOLDED), AT(CONV_IN), AT(CONV_W), AT(CONV_BIAS), AT(CONV_LEN),
         s[0], s[1], s[2], s[3], s[4], (Activation)s[5]);
}
static void conv_gradients(OpsRun *r, const int *s, void *din, void *dw, void *dbias, Activation act)
{
    CALL(conv_backward, din, dw, dbias, AT(CONV_DOUT), act == ACT_NONE ? NULL : AT(CONV_OUT), AT(CONV_IN),
         AT(CONV_UNFOLDED), AT(CONV_W), AT(CONV_LEN), s[0], s[1], s[2], s[3], s[4], act);
}
void conv_back(OpsRun *r, const int *s)
{
    if (s[8]) {
        conv_gradients(r, s, AT(CONV_DIN), NULL, AT(CONV_DBIAS), (Activation)s[5]);
        conv_gradients(r, s, NULL, AT(CONV_DW), NULL, ACT_NONE);
    } else {
        conv_gradients(r, s, AT(CONV_DIN), AT(CONV_DW), AT(CONV_DBIAS), (Activation)s[5]);
    }
}
double conv_flops(const int *s) { return 6.0 * s[0] * s[1] * s[2] * s[3] * s[4]; }

/* --- element by element: dropout (n percent share), add (n), add_vector (B T C mixed accumulate), pool (B T
 * C mixed), broadcast (B N) --- */
NAMES(ROW_A, ROW_B, ROW_LEN, ROW_OUT, ROW_DOUT, ROW_DA, ROW_DB);
void dropout_build(OpsRun *r, const int *s)
{
    ops_tensor(r, ROW_A, "in", KIND_REAL, ROLE_INPUT, s[0], 1);
    ops_output(r, ROW_OUT, ROW_DOUT, "out", "dout", s[0]);
    ops_gradient(r, ROW_DA, ROW_A, "din", ROLE_GRAD);
    share_build(r, s[2]);
}
void dropout_go(OpsRun *r, const int *s)
{
    SHARED(CALL(dropout_forward, AT(ROW_OUT), AT(ROW_A), s[0], DROP(s[1])));
}
void dropout_back(OpsRun *r, const int *s)
{
    SHARED(CALL(dropout_forward, AT(ROW_DA), AT(ROW_DOUT), s[0], DROP(s[1])));
}

void add_build(OpsRun *r, const int *s)
{
    ops_tensor(r, ROW_A, "a", KIND_REAL, ROLE_INPUT, s[0], 1);
    ops_tensor(r, ROW_B, "b", KIND_REAL, ROLE_INPUT, s[0], 1);
    ops_tensor(r, ROW_OUT, "out", KIND_REAL, ROLE_OUTPUT, s[0], 1);
}
void add_go(OpsRun *r, const int *s) { CALL(add_forward, AT(ROW_OUT), AT(ROW_A), AT(ROW_B), s[0]); }

void add_vector_build(OpsRun *r, const int *s)
{
    int B = s[0], T = s[1], C = s[2];
    ops_lengths(r, ROW_LEN, "len", B, T, s[3]);
    ops_tensor(r, ROW_A, "in", KIND_REAL, ROLE_INPUT, (int64_t)B * T * C, 1);
    ops_tensor(r, ROW_B, "v", KIND_REAL, ROLE_INPUT, (int64_t)B * C, 1);
    ops_output(r, ROW_OUT, ROW_DOUT, "out", "dout", (int64_t)B * T * C);
    ops_gradient(r, ROW_DB, ROW_B, "dv", ROLE_GRAD);
    ops_hide_rows(r, ROW_DOUT, ROW_LEN, B, T, C);
    for (int64_t i = 0; i < r->t[ROW_DOUT].n; i++)
        if (r->t[ROW_DOUT].hidden[i])
            r->t[ROW_DOUT].value[i] = 0;
    for (int64_t i = 0; s[4] && i < (int64_t)B * C; i++) {
        r->t[ROW_DB].role = ROLE_GRAD_ADD;
        r->t[ROW_DB].value[i] = 0.5;
    }
}
void add_vector_go(OpsRun *r, const int *s)
{
    CALL(add_vector_forward, AT(ROW_OUT), AT(ROW_A), AT(ROW_B), s[0], s[1], s[2]);
}
void add_vector_back(OpsRun *r, const int *s)
{
    CALL(add_vector_backward, AT(ROW_DB), AT(ROW_DOUT), AT(ROW_LEN), s[0], s[1], s[2], s[4]);
}

void pool_build(OpsRun *r, const int *s)
{
    int B = s[0], T = s[1], C = s[2];
    ops_lengths(r, ROW_LEN, "len", B, T, s[3]);
    ops_tensor(r, ROW_A, "in", KIND_REAL, ROLE_INPUT, (int64_t)B * T * C, 1);
    ops_output(r, ROW_OUT, ROW_DOUT, "out", "dout", (int64_t)B * C);
    ops_gradient(r, ROW_DA, ROW_A, "din", ROLE_GRAD);
    ops_hide_rows(r, ROW_A, ROW_LEN, B, T, C);
}
void pool_go(OpsRun *r, const int *s)
{
    CALL(pool_forward, AT(ROW_OUT), AT(ROW_A), AT(ROW_LEN), s[0], s[1], s[2]);
}
void pool_back(OpsRun *r, const int *s)
{
    CALL(pool_backward, AT(ROW_DA), AT(ROW_DOUT), AT(ROW_LEN), s[0], s[1], s[2]);
}

void broadcast_build(OpsRun *r, const int *s)
{
    ops_tensor(r, ROW_A, "in", KIND_REAL, ROLE_INPUT, s[1], 1);
    ops_output(r, ROW_OUT, ROW_DOUT, "out", "dout", (int64_t)s[0] * s[1]);
    ops_gradient(r, ROW_DA, ROW_A, "din", ROLE_GRAD_ADD);
}
void broadcast_go(OpsRun *r, const int *s) { CALL(broadcast_forward, AT(ROW_OUT), AT(ROW_A), s[0], s[1]); }
void broadcast_back(OpsRun *r, const int *s)
{
    CALL(broadcast_backward, AT(ROW_DA), AT(ROW_DOUT), s[0], s[1]);
}

/* --- gather: B C; length_groups: B T r with_total; band_mean: rows n --- */
void gather_build(OpsRun *r, const int *s)
{
    int64_t n = (int64_t)s[0] * s[1];
    OpsTensor *index = ops_tensor(r, ROW_LEN, "index", KIND_INT, ROLE_FIXED, s[0], 0);
    for (int64_t b = 0; b < s[0]; b++) /* some rows are taken by several, some by none */
        index->value[b] = (double)rng_below(&r->rng, (uint64_t)s[0]);
    ops_tensor(r, ROW_A, "in", KIND_REAL, ROLE_INPUT, n, 1);
    ops_output(r, ROW_OUT, ROW_DOUT, "out", "dout", n);
    ops_gradient(r, ROW_DA, ROW_A, "din", ROLE_GRAD);
}
void gather_go(OpsRun *r, const int *s)
{
    CALL(gather_forward, AT(ROW_OUT), AT(ROW_A), AT(ROW_LEN), s[0], s[1]);
}
void gather_back(OpsRun *r, const int *s)
{
    CALL(gather_backward, AT(ROW_DA), AT(ROW_DOUT), AT(ROW_LEN), s[0], s[1]);
}

/* --- table: B C V: rows of a table of another size, whose gradient is that of symbols without positions ---
 */
void table_build(OpsRun *r, const int *s)
{
    OpsTensor *index = ops_tensor(r, ROW_LEN, "index", KIND_INT, ROLE_FIXED, s[0], 0);
    for (int64_t b = 0; b < s[0]; b++)
        index->value[b] = (double)rng_below(&r->rng, (uint64_t)s[2]);
    ops_tensor(r, ROW_A, "table", KIND_REAL, ROLE_INPUT, (int64_t)s[2] * s[1], 1);
    ops_output(r, ROW_OUT, ROW_DOUT, "out", "dout", (int64_t)s[0] * s[1]);
    ops_gradient(r, ROW_DA, ROW_A, "dtable", ROLE_GRAD_ADD);
}
void table_go(OpsRun *r, const int *s)
{
    CALL(gather_forward, AT(ROW_OUT), AT(ROW_A), AT(ROW_LEN), s[0], s[1]);
}
void table_back(OpsRun *r, const int *s)
{
    CALL(embed_backward, AT(ROW_DA), NULL, NULL, AT(ROW_DOUT), AT(ROW_LEN), NULL, s[0], 1, s[1], s[2],
         (Dropout){0});
}

void groups_build(OpsRun *r, const int *s)
{
    ops_lengths(r, ROW_LEN, "len", s[0], s[1], 1);
    OpsTensor *out = ops_tensor(r, ROW_OUT, "out", KIND_INT, ROLE_OUTPUT, s[0], 0);
    for (int b = 0; b < s[0]; b++)
        out->value[b] = -7;
    if (s[3])
        ops_tensor(r, ROW_A, "total", KIND_ACC, ROLE_CHANGED, 1, 0)->value[0] = 5;
}
void groups_go(OpsRun *r, const int *s)
{
    CALL(length_groups, AT(ROW_OUT), AT(ROW_A), AT(ROW_LEN), s[0], s[2]);
}

void bands_build(OpsRun *r, const int *s)
{
    ops_tensor(r, ROW_A, "in", KIND_FLOAT, ROLE_FIXED, (int64_t)s[0] * s[1], 1);
    ops_tensor(r, ROW_OUT, "out", KIND_FLOAT, ROLE_OUTPUT, s[0], 0);
}
void bands_go(OpsRun *r, const int *s) { CALL(band_mean, AT(ROW_OUT), AT(ROW_A), s[0], s[1]); }

/* --- fill_int: n value --- */
void fill_build(OpsRun *r, const int *s)
{
    OpsTensor *out = ops_tensor(r, ROW_OUT, "out", KIND_INT, ROLE_OUTPUT, s[0], 0);
    for (int i = 0; i < s[0]; i++)
        out->value[i] = 77;
}
void fill_go(OpsRun *r, const int *s) { CALL(fill_int, AT(ROW_OUT), s[1], s[0]); }

/* --- group_frames: B T r n mixed --- */
void frames_build(OpsRun *r, const int *s)
{
    int B = s[0], T = s[1], n = s[3];
    ops_lengths(r, ROW_LEN, "len", B, T, s[4]);
    ops_tensor(r, ROW_A, "mel", KIND_FLOAT, ROLE_FIXED, (int64_t)B * T * n, 1);
    ops_tensor(r, ROW_OUT, "out", KIND_REAL, ROLE_OUTPUT, (int64_t)B * ((T + s[2] - 1) / s[2]) * s[2] * n, 0);
    ops_hide_rows(r, ROW_A, ROW_LEN, B, T, n);
}
void frames_go(OpsRun *r, const int *s)
{
    CALL(group_frames, AT(ROW_OUT), AT(ROW_A), AT(ROW_LEN), s[0], s[1], s[2], s[3]);
}

/* --- losses: B T n kind mixed accumulate --- */
NAMES(LOSS_PRED, LOSS_TARGET, LOSS_LEN, LOSS_VALUE, LOSS_DPRED);
static void value_build(OpsRun *r)
{
    ops_tensor(r, LOSS_VALUE, "value", KIND_ACC, ROLE_CHANGED, 1, 1)->constant = 1;
}
void loss_build(OpsRun *r, const int *s)
{
    int B = s[0], T = s[1], n = s[2];
    int64_t all = (int64_t)B * T * n;
    ops_lengths(r, LOSS_LEN, "len", B, T, s[4]);
    ops_tensor(r, LOSS_PRED, "pred", KIND_REAL, ROLE_INPUT, all, 1);
    ops_tensor(r, LOSS_TARGET, "target", KIND_FLOAT, ROLE_FIXED, all, 1);
    for (int64_t i = 0; i < all; i++) /* never equal to the prediction, where the slope jumps */
        r->t[LOSS_TARGET].value[i] = (double)(float)(r->t[LOSS_TARGET].value[i] + 0.0007);
    value_build(r);
    ops_gradient(r, LOSS_DPRED, LOSS_PRED, "dpred", ROLE_GRAD);
    for (int64_t i = 0; s[5] && i < all; i++) {
        r->t[LOSS_DPRED].role = ROLE_GRAD_ADD;
        r->t[LOSS_DPRED].kind = KIND_REAL;
        r->t[LOSS_DPRED].value[i] = 0.5;
    }
    ops_hide_rows(r, LOSS_PRED, LOSS_LEN, B, T, n);
    ops_hide_rows(r, LOSS_TARGET, LOSS_LEN, B, T, n);
}
/* The value is computed with the gradient, in one call: forward alone passes NULL, backward asks for both
 * into a value of no further use. */
void loss_go(OpsRun *r, const int *s)
{
    CALL(loss_forward, AT(LOSS_VALUE), NULL, AT(LOSS_PRED), AT(LOSS_TARGET), AT(LOSS_LEN), s[0], s[1], s[2],
         (LossKind)s[3], 0.5f, 0.25f, 0);
}
void loss_back(OpsRun *r, const int *s)
{
    CALL(loss_forward, AT(LOSS_VALUE), AT(LOSS_DPRED), AT(LOSS_PRED), AT(LOSS_TARGET), AT(LOSS_LEN), s[0],
         s[1], s[2], (LossKind)s[3], 0.5f, 0.25f, s[5]);
}

/* --- optimiser: norm2 (n bad: 1 has a NaN), adamw (n skip copy), convert (n) --- */
NAMES(OPT_P, OPT_M, OPT_V, OPT_GRAD, OPT_DECAY, OPT_SCALE, OPT_COPY, OPT_NORM, OPT_FINITE);
void norm2_build(OpsRun *r, const int *s)
{
    ops_tensor(r, OPT_GRAD, "grad", KIND_ACC, ROLE_FIXED, s[0], 1);
    ops_tensor(r, OPT_NORM, "norm2", KIND_ACC, ROLE_OUTPUT, 1, 0);
    ops_tensor(r, OPT_FINITE, "finite", KIND_INT, ROLE_OUTPUT, 1, 0)->value[0] = 7;
}
void norm2_go(OpsRun *r, const int *s) { CALL(norm2, AT(OPT_NORM), AT(OPT_FINITE), AT(OPT_GRAD), s[0]); }

/* --- guard: norm2 finite frames clip_percent spike seen. The mean so far is 1; the structure is compared
 * byte by byte --- */
void guard_build(OpsRun *r, const int *s)
{
    OpsGuard g = {.norm = 3, .mean = 1, .seen = s[5], .skipped = 1, .consecutive = 2, .total = 4};
    uint8_t bytes[sizeof g];
    memcpy(bytes, &g, sizeof g);
    OpsTensor *t = ops_tensor(r, OPT_P, "guard", KIND_BYTE, ROLE_CHANGED, sizeof g, 0);
    for (size_t i = 0; i < sizeof g; i++)
        t->value[i] = bytes[i];
    ops_tensor(r, OPT_SCALE, "gscale", KIND_ACC, ROLE_OUTPUT, 1, 0);
    ops_tensor(r, OPT_NORM, "norm2", KIND_ACC, ROLE_FIXED, 1, 0)->value[0] = s[0];
    ops_tensor(r, OPT_FINITE, "finite", KIND_INT, ROLE_FIXED, 1, 0)->value[0] = s[1];
    ops_tensor(r, OPT_M, "frames", KIND_ACC, ROLE_FIXED, 1, 0)->value[0] = s[2];
}
void guard_go(OpsRun *r, const int *s)
{
    CALL(guard, AT(OPT_P), AT(OPT_SCALE), AT(OPT_NORM), AT(OPT_FINITE), AT(OPT_M), (float)s[3] / 100,
         (float)s[4]);
}

void adamw_build(OpsRun *r, const int *s)
{
    ops_tensor(r, OPT_P, "master", KIND_ACC, ROLE_CHANGED, s[0], 1);
    ops_tensor(r, OPT_M, "m", KIND_ACC, ROLE_CHANGED, s[0], 0.1);
    ops_tensor(r, OPT_V, "v", KIND_ACC, ROLE_CHANGED, s[0], 0.1);
    ops_tensor(r, OPT_GRAD, "grad", KIND_ACC, ROLE_FIXED, s[0], 1);
    ops_tensor(r, OPT_DECAY, "decay", KIND_BYTE, ROLE_FIXED, s[0], 0);
    ops_tensor(r, OPT_SCALE, "gscale", KIND_ACC, ROLE_FIXED, 1, 0)->value[0] = s[1] ? 0 : 0.5;
    if (s[2])
        ops_tensor(r, OPT_COPY, "real_out", KIND_REAL, ROLE_CHANGED, s[0], 1);
    for (int64_t i = 0; i < s[0]; i++) {
        r->t[OPT_V].value[i] = fabs(r->t[OPT_V].value[i]);
        r->t[OPT_DECAY].value[i] = (double)(i % 3 == 0);
    }
}
void adamw_go(OpsRun *r, const int *s)
{
    CALL(adamw, AT(OPT_P), AT(OPT_COPY), AT(OPT_M), AT(OPT_V), AT(OPT_GRAD), AT(OPT_DECAY), AT(OPT_SCALE),
         s[0], 0.01f, 0.9f, 0.98f, 1e-8f, 0.1f, 3);
}

void convert_build(OpsRun *r, const int *s)
{
    ops_tensor(r, OPT_P, "acc", KIND_ACC, ROLE_FIXED, s[0], 1);
    ops_tensor(r, OPT_COPY, "real", KIND_REAL, ROLE_OUTPUT, s[0], 0);
    ops_tensor(r, OPT_M, "back", KIND_ACC, ROLE_OUTPUT, s[0], 0);
}
void convert_go(OpsRun *r, const int *s)
{
    CALL(convert, AT(OPT_COPY), AT(OPT_P), s[0]);
    CALL(unconvert, AT(OPT_M), AT(OPT_COPY), s[0]);
}

const OpsCase ops_cases[] = {
    /* M N K act bias accumulate din apart */
    {"linear 1x1x1", LINEAR(1, 1, 1, ACT_NONE, 1, 0, 1), 0, 0},
    {"linear 7x5x3 relu", LINEAR(7, 5, 3, ACT_RELU, 1, 0, 1), 0, 0},
    {"linear 13x17x11 tanh", LINEAR(13, 17, 11, ACT_TANH, 1, 0, 1), 0, 0},
    {"linear 8x16x32 without bias", LINEAR(8, 16, 32, ACT_NONE, 0, 0, 1), 0, 0},
    {"linear 9x24x8 accumulated", LINEAR(9, 24, 8, ACT_NONE, 1, 1, 1), 0, 0},
    {"linear 31x1x19 without din", LINEAR(31, 1, 19, ACT_NONE, 1, 0, 0), 0, 0},
    {"linear 401x97x203 relu, in parts", LINEAR(401, 97, 203, ACT_RELU, 1, 0, 1), 0, 0},
    {"linear 401x97x203 relu, apart", LINEAR(401, 97, 203, ACT_RELU, 1, 0, 1, 1), 0, 0},
    {"linear 3x512x640, in parts", LINEAR(3, 512, 640, ACT_TANH, 1, 0, 1), 0, 0},
    {"linear 640x192x768 accumulated", LINEAR(640, 192, 768, ACT_NONE, 0, 1, 1), 0, 0},
    /* R C with_y percent dsum share */
    {"norm 1x8", NORM(1, 8, 0, 0, 0), 0, 0},
    {"norm 5x7 residual", NORM(5, 7, 1, 0, 1), 0, 0},
    {"norm 11x33 residual, dropout", NORM(11, 33, 1, 30, 1), 0, 0},
    {"norm 3x64 residual, dropout, last", NORM(3, 64, 1, 50, 0), 0, 0},
    {"norm 11x33 dropout, a share", NORM(11, 33, 1, 30, 1, 3), 0, 0},
    {"norm 5x1032 dropout, a share", NORM(5, 1032, 1, 30, 1, 1), 0, 0},
    {"norm 7x64 dropout, a late share", NORM(7, 64, 1, 50, 0, 123456789), 0, 0},
    {"norm 517x192 in parts", NORM(517, 192, 1, 10, 1), 0, 0},
    /* B H D tq tk mixed packed */
    {"attention 1 query, 1 key", ATTENTION(1, 1, 4, 1, 1, 0, 0), 0, 0},
    {"attention self", ATTENTION(2, 2, 8, 7, 7, 0, 0), 0, 0},
    {"attention self, mixed lengths", ATTENTION(5, 2, 8, 9, 9, 1, 0), 0, 0},
    {"attention self, packed", ATTENTION(3, 2, 8, 11, 11, 1, 1), 0, 0},
    {"attention cross", ATTENTION(6, 3, 16, 13, 5, 1, 0), 0, 0},
    {"attention cross, more keys", ATTENTION(3, 1, 5, 3, 17, 0, 0), 0, 0},
    {"attention self, 64", ATTENTION(5, 1, 64, 19, 19, 1, 0), 0, 0},
    {"attention self, tiles", ATTENTION(2, 1, 64, 401, 401, 1, 1), 0, 0},
    {"attention cross, tiles", ATTENTION(2, 2, 32, 300, 331, 1, 0), 0, 0},
    /* B T C V with_id percent mixed share */
    {"embed 1", EMBED(1, 1, 2, 3, 1, 0, 0), 0, 0},
    {"embed ids", EMBED(5, 7, 6, 11, 1, 0, 1), 0, 0},
    {"embed ids, dropout", EMBED(3, 5, 70, 4, 1, 20, 1), 0, 0},
    {"embed ids, dropout, a share", EMBED(3, 5, 72, 4, 1, 20, 1, 2), 0, 0},
    {"embed ids, dropout, an odd share", EMBED(3, 5, 71, 4, 1, 20, 1, 5), 0, 0},
    {"embed rows, dropout, a share", EMBED(2, 13, 67, 0, 0, 40, 0, 1), 0, 0},
    {"embed rows", EMBED(5, 9, 8, 0, 0, 0, 1), 0, 0},
    {"embed rows, dropout", EMBED(2, 13, 67, 0, 0, 40, 0), 0, 0},
    /* B T C N K act mixed din */
    {"conv kernel 1", CONV(2, 5, 3, 4, 1, ACT_NONE, 0, 1), 0, 0},
    {"conv kernel 3 relu", CONV(5, 7, 3, 5, 3, ACT_RELU, 1, 1), 0, 0},
    {"conv kernel 5 tanh", CONV(5, 11, 6, 3, 5, ACT_TANH, 1, 1), 0, 0},
    {"conv kernel 5, shorter items", CONV(6, 3, 2, 2, 5, ACT_TANH, 1, 1), 0, 0},
    {"conv without din", CONV(3, 8, 4, 8, 3, ACT_NONE, 1, 0), 0, 0},
    {"conv in parts", CONV(7, 131, 24, 257, 5, ACT_TANH, 1, 1), 0, 0},
    {"conv apart, kernel 3 relu", CONV(5, 7, 3, 5, 3, ACT_RELU, 1, 1, 1), 0, 0},
    {"conv apart, 16 to 128", CONV(5, 21, 16, 128, 3, ACT_RELU, 1, 1, 1), 0, 0},
    {"conv apart, in parts", CONV(7, 131, 24, 257, 5, ACT_TANH, 1, 1, 1), 0, 0},
    /* B T C K mixed layers stream */
    {"filters and norm, kernel 1", OTHER_BACK(filter_norm, 2, 3, 5, 1, 0, 1, 1), 0, 0},
    {"filters and norm, kernel 7", OTHER_BACK(filter_norm, 5, 19, 8, 7, 1, 1, 0), 0, 0},
    {"filters and norm, longer than items", OTHER_BACK(filter_norm, 6, 3, 11, 7, 1, 2, 1), 0, 0},
    {"filters and norm, 3 layers", OTHER_BACK(filter_norm, 3, 14, 264, 5, 1, 3, 1), 0, 0},
    {"filters and norm, 512 channels", OTHER_BACK(filter_norm, 4, 48, 512, 7, 1, 2, 1), 0, 0},
    {"filters and norm, 1024 channels", OTHER_BACK(filter_norm, 2, 7, 1024, 7, 1, 1, 1), 0, 0},
    {"filters and norm, in parts", OTHER_BACK(filter_norm, 7, 131, 136, 7, 1, 1, 0), 0, 0},
    /* M N K layers */
    {"linears 7x5x3, 2", OTHER_BACK(linears, 7, 5, 3, 2), 0, 0},
    {"linears 96x16x24, 1", OTHER_BACK(linears, 96, 16, 24, 1), 0, 0},
    {"linears 401x64x40, 3", OTHER_BACK(linears, 401, 64, 40, 3), 0, 0},
    /* M N K in_place */
    {"linear_add 7x5x3", OTHER(linear_add, 7, 5, 3, 0), 0, 0},
    {"linear_add 9x24x8, in place", OTHER(linear_add, 9, 24, 8, 1), 0, 0},
    {"linear_add 401x96x200", OTHER(linear_add, 401, 96, 200, 0), 0, 0},
    /* B T n hop more */
    {"wave of 8 points", OTHER_BACK(wave, 2, 3, 8, 2, 0), 0, 0},
    {"wave of 64 points, odd hop", OTHER_BACK(wave, 3, 7, 64, 13, 6), 0, 0},
    {"wave of 1024 points", OTHER_BACK(wave, 2, 9, 1024, 200, 6), 0, 0},
    {"wave in parts", OTHER_BACK(wave, 1, 150, 32, 9, 2), 0, 0},
    {"wave, many items", OTHER_BACK(wave, 5, 70, 32, 16, 0), 0, 0},
    /* B T n mixed */
    {"scaled frames", OTHER(scale, 6, 5, 8, 1), 0, 0},
    {"scaled frames, odd", OTHER(scale, 3, 131, 13, 1), 0, 0},
    /* rows n count */
    {"spread of 3 bands", OTHER(spread, 2, 3, 5), 0, 0},
    {"spread of 80 bands", OTHER(spread, 37, 80, 513), 0, 0},
    /* B T n hop window bands rounds */
    {"refine, one round", OTHER(refine, 2, 9, 16, 4, 16, 2, 1), 0, 4},
    {"refine, none", OTHER(refine, 1, 9, 16, 4, 16, 2, 0), 0, 0},
    {"refine, a narrow window", OTHER(refine, 3, 21, 64, 16, 50, 5, 2), 0, 16},
    {"refine, 1024 points", OTHER(refine, 1, 70, 1024, 200, 800, 40, 3), 0, 64},
    /* B samples n hop bands mixed scales */
    {"spectral loss, empty items", OTHER_BACK(spectral, 5, 150, 64, 16, 5, 1), 0, 0},
    {"spectral loss, 16 points", OTHER_BACK(spectral, 2, 23, 16, 4, 2), 0, 0},
    {"spectral loss, 64 points", OTHER_BACK(spectral, 3, 150, 64, 16, 5), 0, 0},
    {"spectral loss, 1024 points", OTHER_BACK(spectral, 2, 2000, 1024, 256, 40), 0, 0},
    {"spectral loss, four scales", OTHER_BACK(spectral, 6, 2300, 2048, 512, 12, 1, 4), 0, 0},
    {"spectral loss, long and short", OTHER_BACK(spectral, 3, 301, 512, 128, 5, 0, 4), 0, 0},
    /* B samples n hop bands mixed */
    {"bands of a sound, 256 points", OTHER_BACK(seen, 2, 300, 256, 64, 5), 0, 0},
    {"bands of a sound, empty items", OTHER_BACK(seen, 5, 600, 512, 128, 7, 1), 0, 0},
    {"bands of a sound, 1024 points", OTHER_BACK(seen, 2, 2000, 1024, 256, 40), 0, 0},
    {"bands of a sound, 2048 points", OTHER_BACK(seen, 3, 2300, 2048, 512, 80), 0, 0},
    {"dropout 1", OTHER_BACK(dropout, 1, 50), 0, 0},
    {"dropout 1037", OTHER_BACK(dropout, 1037, 50), 0, 0},
    {"dropout 1037, a share", OTHER_BACK(dropout, 1037, 50, 3), 0, 0},
    {"dropout 1040, a share", OTHER_BACK(dropout, 1040, 50, 2000000000), 0, 0},
    {"dropout none", OTHER_BACK(dropout, 37, 0), 1, 0},
    {"dropout in parts", OTHER_BACK(dropout, 70001, 10), 0, 0},
    {"add 1", OTHER(add, 1), 0, 0},
    {"add 40009", OTHER(add, 40009), 0, 0},
    {"add_vector", OTHER_BACK(add_vector, 5, 7, 9, 1, 0), 0, 0},
    {"add_vector accumulated", OTHER_BACK(add_vector, 6, 3, 16, 1, 1), 0, 0},
    {"pool", OTHER_BACK(pool, 6, 9, 7, 1), 0, 0},
    {"pool full", OTHER_BACK(pool, 2, 5, 33, 0), 0, 0},
    {"broadcast", OTHER_BACK(broadcast, 5, 77), 0, 0},
    {"gather 1", OTHER_BACK(gather, 1, 1), 0, 0},
    {"gather 7x13", OTHER_BACK(gather, 7, 13), 0, 0},
    {"gather 33x300", OTHER_BACK(gather, 33, 300), 0, 0},
    {"table 1", OTHER_BACK(table, 1, 1, 1), 0, 0},
    {"table of 2, 33x300", OTHER_BACK(table, 33, 300, 2), 0, 0},
    {"table of 17, 5x24", OTHER_BACK(table, 5, 24, 17), 0, 0},
    {"length_groups of 1", OTHER(groups, 1, 9, 1, 1), 1, 0},
    {"length_groups of 2", OTHER(groups, 7, 9, 2, 1), 1, 0},
    {"length_groups of 4, no total", OTHER(groups, 71, 803, 4, 0), 1, 0},
    {"band_mean 1x1", OTHER(bands, 1, 1), 0, 0},
    {"band_mean 37x80", OTHER(bands, 37, 80), 0, 0},
    {"band_mean 5x33", OTHER(bands, 5, 33), 0, 0},
    {"fill_int 1", OTHER(fill, 1, -3), 1, 0},
    {"fill_int 517", OTHER(fill, 517, 1 << 30), 1, 0},
    {"group_frames of 1", OTHER(frames, 5, 7, 1, 3, 1), 1, 0},
    {"group_frames of 2", OTHER(frames, 6, 7, 2, 5, 1), 1, 0},
    {"group_frames of 4", OTHER(frames, 6, 10, 4, 80, 1), 1, 0},
    {"loss L1", OTHER_BACK(loss, 5, 7, 5, LOSS_L1, 1, 0), 0, 0},
    {"loss Huber", OTHER_BACK(loss, 6, 9, 3, LOSS_HUBER, 1, 1), 0, 0},
    {"loss square", OTHER_BACK(loss, 5, 8, 80, LOSS_MSE, 1, 0), 0, 0},
    /* B T M n whole with_cost */
    {"align 1 symbol, 1 frame", OTHER(align, 1, 1, 1, 1, 1, 1), 1, 0},
    {"align 1 symbol", OTHER(align, 6, 1, 9, 3, 1, 1), 1, 0},
    {"align whole numbers", OTHER(align, 6, 7, 31, 3, 1, 1), 1, 0},
    {"align whole numbers, no cost", OTHER(align, 11, 31, 97, 5, 1, 0), 1, 0},
    {"align more symbols than frames", OTHER(align, 6, 9, 4, 2, 1, 1), 1, 0},
    {"align", OTHER(align, 6, 13, 64, 80, 0, 1), 0, 0},
    {"align, more of it", OTHER(align, 5, 37, 131, 17, 0, 1), 0, 0},
    {"align, as in training", OTHER(align, 5, 131, 620, 80, 0, 1), 0, 0},
    {"align, the longest there are", OTHER(align, 5, 200, 907, 80, 0, 1), 0, 0},
    /* B T M with_length */
    {"durations_place 1", OTHER(place, 1, 1, 1, 1), 1, 0},
    {"durations_place", OTHER(place, 6, 7, 23, 1), 1, 0},
    {"durations_place, cut off", OTHER(place, 6, 13, 11, 1), 1, 0},
    {"durations_place, no length", OTHER(place, 11, 301, 997, 0), 1, 0},
    /* B T M C */
    {"repeat 1", OTHER_BACK(repeat, 1, 1, 1, 1), 0, 0},
    {"repeat", OTHER_BACK(repeat, 6, 7, 23, 5), 0, 0},
    {"repeat, cut off", OTHER_BACK(repeat, 6, 13, 11, 16), 0, 0},
    {"repeat, wide", OTHER_BACK(repeat, 5, 11, 37, 264), 0, 0},
    /* B T M */
    {"symbol_means 1", OTHER(means, 1, 1, 1), 0, 0},
    {"symbol_means", OTHER(means, 6, 17, 53), 0, 0},
    {"symbol_means, cut off", OTHER(means, 6, 300, 211), 0, 0},
    /* B T C in_place */
    {"add_traits 1", OTHER_BACK(traits, 1, 1, 1, 0), 0, 0},
    {"add_traits", OTHER_BACK(traits, 6, 7, 13, 0), 0, 0},
    {"add_traits in place", OTHER_BACK(traits, 5, 9, 16, 1), 0, 0},
    {"add_traits, wide", OTHER_BACK(traits, 6, 31, 264, 0), 0, 0},
    /* B T M n */
    {"align_loss 1", OTHER_BACK(align_loss, 1, 1, 1, 1), 0, 0},
    {"align_loss", OTHER_BACK(align_loss, 6, 7, 23, 5), 0, 0},
    {"align_loss, cut off", OTHER_BACK(align_loss, 6, 13, 11, 80), 0, 0},
    /* B T */
    {"traits_loss 1", OTHER_BACK(traits_loss, 1, 1), 0, 0},
    {"traits_loss", OTHER_BACK(traits_loss, 6, 17), 0, 0},
    {"traits_loss, more of it", OTHER_BACK(traits_loss, 7, 301), 0, 0},
    {"norm2", OTHER(norm2, 1), 0, 0},
    {"norm2 in parts", OTHER(norm2, 70003), 0, 0},
    {"guard, made", OTHER(guard, 400, 1, 37, 0, 4, 30), 0, 0},
    {"guard, clipped", OTHER(guard, 400, 1, 7, 50, 4, 99), 0, 0},
    {"guard, not finite", OTHER(guard, 400, 0, 37, 50, 4, 30), 0, 0},
    {"guard, far too high", OTHER(guard, 40000, 1, 11, 50, 4, 20), 0, 0},
    {"guard, high but early", OTHER(guard, 40000, 1, 11, 50, 4, 19), 0, 0},
    {"guard, no frames", OTHER(guard, 0, 1, 0, 50, 4, 30), 0, 0},
    {"adamw", OTHER(adamw, 37, 0, 1), 0, 0},
    {"adamw in parts", OTHER(adamw, 70003, 0, 0), 0, 0},
    {"adamw skipped", OTHER(adamw, 37, 1, 1), 1, 0},
    {"convert", OTHER(convert, 1001), 1, 0},
};
const int ops_case_count = (int)(sizeof ops_cases / sizeof ops_cases[0]);

/* Shapes of a training step of a small model: batch 32, 60 symbols, 200 frames. */
const OpsCase ops_speed_cases[] = {
    {"linear 6400x576x192 (qkv)", LINEAR(6400, 576, 192, ACT_NONE, 1, 0, 1), 0, 0},
    {"linear 6400x192x576 (down)", LINEAR(6400, 192, 576, ACT_NONE, 1, 0, 1), 0, 0},
    {"linear 1920x128x128", LINEAR(1920, 128, 128, ACT_NONE, 1, 0, 1), 0, 0},
    {"linear 32x192x64 (voice)", LINEAR(32, 192, 64, ACT_NONE, 1, 0, 1), 0, 0},
    {"norm 6400x192, dropout", NORM(6400, 192, 1, 10, 1), 0, 0},
    {"attention self, 200", ATTENTION(32, 3, 64, 200, 200, 0, 1), 0, 0},
    {"attention self, 60", ATTENTION(32, 2, 64, 60, 60, 0, 1), 0, 0},
    {"embed 32x60x128", EMBED(32, 60, 128, 150, 1, 10, 0), 0, 0},
    {"conv 32x200, 192 to 576, 3 (up)", CONV(32, 200, 192, 576, 3, ACT_RELU, 0, 1), 0, 0},
    {"conv 32x50, 320 to 128, 5 (voice)", CONV(32, 50, 320, 128, 5, ACT_RELU, 0, 1), 0, 0},
    {"dropout 1228800", OTHER_BACK(dropout, 1228800, 50), 0, 0},
    {"add 1228800", OTHER(add, 1228800), 0, 0},
    {"align 32x60, 200 frames of 80", OTHER(align, 32, 60, 200, 80, 0, 1), 0, 0},
    {"repeat 32x60, 200 frames of 192", OTHER_BACK(repeat, 32, 60, 200, 192), 0, 0},
    {"add_traits 32x60x128", OTHER_BACK(traits, 32, 60, 128, 0), 0, 0},
    {"align_loss 32x60, 200 frames of 80", OTHER_BACK(align_loss, 32, 60, 200, 80), 0, 0},
    {"traits_loss 32x60", OTHER_BACK(traits_loss, 32, 60), 0, 0},
    {"loss L1 32x200x80", OTHER_BACK(loss, 32, 200, 80, LOSS_L1, 0, 0), 0, 0},
    {"norm2 2.7 M", OTHER(norm2, 2700000), 0, 0},
    {"adamw 2.7 M", OTHER(adamw, 2700000, 0, 0), 0, 0},
};
const int ops_speed_case_count = (int)(sizeof ops_speed_cases / sizeof ops_speed_cases[0]);
