/* ops_cases_symbols.c - the cases of ops that stand between symbols and frames; a part of ops_cases.c. */
#include "ops_cases_private.h"

/* --- symbols and frames. align: B T M n whole with_cost. whole: small whole numbers, so that every sum is
 * exact and paths tie --- */
NAMES(SYM_LEN, SYM_MEL_LEN, SYM_FRAMES, SYM_START, SYM_SYMBOL, SYM_A, SYM_B, SYM_C, SYM_W, SYM_W2, SYM_OUT,
      SYM_DOUT, SYM_DA, SYM_DW, SYM_DW2);
static OpsTensor *whole_tensor(OpsRun *r, int slot, const char *name, TensorRole role, int64_t n, int fill)
{
    OpsTensor *t = ops_tensor(r, slot, name, KIND_INT, role, n, 0);
    for (int64_t i = 0; i < n; i++)
        t->value[i] = fill;
    return t;
}
void align_build(OpsRun *r, const int *s)
{
    int B = s[0], T = s[1], M = s[2], n = s[3];
    ops_lengths(r, SYM_LEN, "text_len", B, T, 1);
    ops_lengths(r, SYM_MEL_LEN, "mel_len", B, M, 1);
    for (int b = 0; b < B; b++) { /* 1: one symbol, many frames; 4: more symbols than frames; 5: frames, no
                                     symbols; 7: as many of both */
        int some[] = {M, M - 1, M, M, T / 2, M, 0, T < M ? T : M, M, M / 2},
            text[] = {T, 1, 0, (T + 1) / 2, T, 0, T, T, T - 1, T / 3};
        r->t[SYM_MEL_LEN].value[b] = some[b % 10] < 1 ? b % 10 != 6 : some[b % 10];
        r->t[SYM_LEN].value[b] = text[b % 10];
    }
    ops_tensor(r, SYM_A, "mu", KIND_REAL, ROLE_FIXED, (int64_t)B * T * n, 1);
    ops_tensor(r, SYM_B, "mel", KIND_FLOAT, ROLE_FIXED, (int64_t)B * M * n, 1);
    for (int slot = SYM_A; slot <= SYM_B && s[4]; slot++)
        for (int64_t i = 0; i < r->t[slot].n; i++)
            r->t[slot].value[i] = (double)rng_below(&r->rng, 5) - 2;
    ops_hide_rows(r, SYM_A, SYM_LEN, B, T, n);
    ops_hide_rows(r, SYM_B, SYM_MEL_LEN, B, M, n);
    whole_tensor(r, SYM_FRAMES, "frames", ROLE_OUTPUT, (int64_t)B * T, -7);
    if (s[5])
        ops_tensor(r, SYM_OUT, "cost", KIND_FLOAT, ROLE_OUTPUT, B, 0);
}
void align_go(OpsRun *r, const int *s)
{
    CALL(align_search, AT(SYM_FRAMES), AT(SYM_OUT), AT(SYM_A), AT(SYM_B), AT(SYM_LEN), AT(SYM_MEL_LEN), s[0],
         s[1], s[2], s[3]);
}

/* Durations of B items: some symbols have no frames, some items more frames than M, some fewer. */
static void durations_build(OpsRun *r, int B, int T, int M, int placed)
{
    ops_lengths(r, SYM_LEN, "text_len", B, T, 1);
    OpsTensor *f = whole_tensor(r, SYM_FRAMES, "frames", ROLE_FIXED, (int64_t)B * T, 0);
    OpsTensor *start =
        whole_tensor(r, SYM_START, "start", placed ? ROLE_FIXED : ROLE_OUTPUT, (int64_t)B * T, -7);
    OpsTensor *symbol =
        whole_tensor(r, SYM_SYMBOL, "symbol", placed ? ROLE_FIXED : ROLE_OUTPUT, (int64_t)B * M, -7);
    for (int b = 0; b < B; b++) {
        int text = (int)r->t[SYM_LEN].value[b], at = 0;
        for (int t = 0; t < text; t++)
            f->value[(int64_t)b * T + t] = (double)rng_below(&r->rng, (uint64_t)(2 * M / (T + 1) + 2));
        for (int t = 0; t < T && placed; t++) {
            start->value[(int64_t)b * T + t] = at;
            for (int k = 0; k < f->value[(int64_t)b * T + t] && at < M; k++)
                symbol->value[(int64_t)b * M + at++] = t;
        }
        for (; at < M && placed; at++)
            symbol->value[(int64_t)b * M + at] = -1;
    }
}
static Durations durations_of(OpsRun *r)
{
    return (Durations){AT(SYM_FRAMES), AT(SYM_START), AT(SYM_SYMBOL)};
}
/* Marks frames without a symbol in [B,M,n], and symbols without frames in [B,T,n]. */
static void hide_frames(OpsRun *r, int slot, int n)
{
    OpsTensor *t = &r->t[slot];
    t->hidden = calloc((size_t)t->n + 1, 1);
    for (int64_t i = 0; i < t->n; i++)
        t->hidden[i] = r->t[SYM_SYMBOL].value[i / n] < 0;
}
static void hide_symbols(OpsRun *r, int slot, int T, int M, int n)
{
    OpsTensor *t = &r->t[slot];
    t->hidden = malloc((size_t)t->n + 1);
    memset(t->hidden, 1, (size_t)t->n);
    for (int64_t m = 0; m < r->t[SYM_SYMBOL].n; m++)
        if (r->t[SYM_SYMBOL].value[m] >= 0)
            memset(t->hidden + (m / M * T + (int64_t)r->t[SYM_SYMBOL].value[m]) * n, 0, (size_t)n);
}

void place_build(OpsRun *r, const int *s)
{
    durations_build(r, s[0], s[1], s[2], 0);
    if (s[3])
        whole_tensor(r, SYM_OUT, "length", ROLE_OUTPUT, s[0], -7);
}
void place_go(OpsRun *r, const int *s)
{
    Durations d = durations_of(r);
    CALL(durations_place, &d, AT(SYM_OUT), AT(SYM_LEN), s[0], s[1], s[2]);
}

void repeat_build(OpsRun *r, const int *s)
{
    int B = s[0], T = s[1], M = s[2], C = s[3];
    durations_build(r, B, T, M, 1);
    ops_tensor(r, SYM_A, "in", KIND_REAL, ROLE_INPUT, (int64_t)B * T * C, 1);
    ops_output(r, SYM_OUT, SYM_DOUT, "out", "dout", (int64_t)B * M * C);
    ops_gradient(r, SYM_DA, SYM_A, "din", ROLE_GRAD);
    hide_symbols(r, SYM_A, T, M, C);
    hide_frames(r, SYM_DOUT, C);
}
void repeat_go(OpsRun *r, const int *s)
{
    Durations d = durations_of(r);
    CALL(repeat_forward, AT(SYM_OUT), AT(SYM_A), &d, s[0], s[1], s[2], s[3]);
}
void repeat_back(OpsRun *r, const int *s)
{
    Durations d = durations_of(r);
    CALL(repeat_backward, AT(SYM_DA), AT(SYM_DOUT), &d, s[0], s[1], s[2], s[3]);
}

void means_build(OpsRun *r, const int *s)
{
    durations_build(r, s[0], s[1], s[2], 1);
    ops_tensor(r, SYM_A, "in", KIND_FLOAT, ROLE_FIXED, (int64_t)s[0] * s[2], 1);
    ops_tensor(r, SYM_OUT, "out", KIND_FLOAT, ROLE_OUTPUT, (int64_t)s[0] * s[1], 0);
    hide_frames(r, SYM_A, 1);
}
void means_go(OpsRun *r, const int *s)
{
    Durations d = durations_of(r);
    CALL(symbol_means, AT(SYM_OUT), AT(SYM_A), &d, s[0], s[1], s[2]);
}

void traits_build(OpsRun *r, const int *s)
{
    int B = s[0], T = s[1], C = s[2];
    int64_t n = (int64_t)B * T * C;
    ops_lengths(r, SYM_LEN, "len", B, T, 1);
    ops_tensor(r, SYM_B, "pitch", KIND_FLOAT, ROLE_FIXED, (int64_t)B * T, 1);
    ops_tensor(r, SYM_C, "energy", KIND_FLOAT, ROLE_FIXED, (int64_t)B * T, 1);
    ops_tensor(r, SYM_W, "w_pitch", KIND_REAL, ROLE_INPUT, C, 1);
    ops_tensor(r, SYM_W2, "w_energy", KIND_REAL, ROLE_INPUT, C, 1);
    if (!s[3])
        ops_tensor(r, SYM_A, "in", KIND_REAL, ROLE_INPUT, n, 1);
    ops_output(r, SYM_OUT, SYM_DOUT, "out", "dout", n);
    for (int64_t i = 0; i < n && s[3]; i++) {
        r->t[SYM_OUT].role = ROLE_CHANGED;
        r->t[SYM_OUT].value[i] = ops_round(rng_normal(&r->rng));
    }
    ops_gradient(r, SYM_DW, SYM_W, "dw_pitch", ROLE_GRAD_ADD);
    ops_gradient(r, SYM_DW2, SYM_W2, "dw_energy", ROLE_GRAD_ADD);
    ops_hide_rows(r, SYM_DOUT, SYM_LEN, B, T, C);
    for (int64_t i = 0; i < n; i++) /* finite differences know nothing of rows without gradient */
        if (r->t[SYM_DOUT].hidden[i])
            r->t[SYM_DOUT].value[i] = 0;
}
void traits_go(OpsRun *r, const int *s)
{
    void *in = s[3] ? AT(SYM_OUT) : AT(SYM_A);
    CALL(add_traits_forward, AT(SYM_OUT), in, AT(SYM_B), AT(SYM_C), AT(SYM_W), AT(SYM_W2),
         (int64_t)s[0] * s[1], s[2]);
}
void traits_back(OpsRun *r, const int *s)
{
    CALL(add_traits_backward, AT(SYM_DW), AT(SYM_DW2), AT(SYM_DOUT), AT(SYM_B), AT(SYM_C), AT(SYM_LEN), s[0],
         s[1], s[2]);
}

/* As the other losses: forward passes NULL, backward asks for value and gradient. */
void align_loss_build(OpsRun *r, const int *s)
{
    int B = s[0], T = s[1], M = s[2], n = s[3];
    durations_build(r, B, T, M, 1);
    ops_tensor(r, SYM_A, "mu", KIND_REAL, ROLE_INPUT, (int64_t)B * T * n, 1);
    ops_tensor(r, SYM_B, "mel", KIND_FLOAT, ROLE_FIXED, (int64_t)B * M * n, 1);
    ops_tensor(r, SYM_OUT, "value", KIND_ACC, ROLE_CHANGED, 1, 1)->constant = 1;
    ops_gradient(r, SYM_DA, SYM_A, "dmu", ROLE_GRAD);
    hide_symbols(r, SYM_A, T, M, n);
    hide_frames(r, SYM_B, n);
}
static void align_loss_run(OpsRun *r, const int *s, void *dmu)
{
    Durations d = durations_of(r);
    CALL(align_loss, AT(SYM_OUT), dmu, AT(SYM_A), AT(SYM_B), &d, AT(SYM_LEN), s[0], s[1], s[2], s[3], 0.25f);
}
void align_loss_go(OpsRun *r, const int *s) { align_loss_run(r, s, NULL); }
void align_loss_back(OpsRun *r, const int *s) { align_loss_run(r, s, AT(SYM_DA)); }

void traits_loss_build(OpsRun *r, const int *s)
{
    int B = s[0], T = s[1];
    ops_lengths(r, SYM_LEN, "len", B, T, 1);
    OpsTensor *f = whole_tensor(r, SYM_FRAMES, "frames", ROLE_FIXED, (int64_t)B * T, 0);
    for (int64_t i = 0; i < f->n; i++)
        f->value[i] = (double)rng_below(&r->rng, 9);
    ops_tensor(r, SYM_A, "pred", KIND_REAL, ROLE_INPUT, (int64_t)B * T * TRAIT_COUNT, 1);
    ops_tensor(r, SYM_B, "pitch", KIND_FLOAT, ROLE_FIXED, (int64_t)B * T, 1);
    ops_tensor(r, SYM_C, "energy", KIND_FLOAT, ROLE_FIXED, (int64_t)B * T, 1);
    ops_tensor(r, SYM_OUT, "values", KIND_ACC, ROLE_CHANGED, TRAIT_COUNT, 1)->constant = 1;
    ops_gradient(r, SYM_DA, SYM_A, "dpred", ROLE_GRAD);
    ops_hide_rows(r, SYM_A, SYM_LEN, B, T, TRAIT_COUNT);
    ops_hide_rows(r, SYM_B, SYM_LEN, B, T, 1);
    ops_hide_rows(r, SYM_C, SYM_LEN, B, T, 1);
    ops_hide_rows(r, SYM_FRAMES, SYM_LEN, B, T, 1);
}
static void traits_loss_run(OpsRun *r, const int *s, void *dpred)
{
    static const float weight[TRAIT_COUNT] = {0.25f, 0.5f, 2};
    CALL(traits_loss, AT(SYM_OUT), dpred, AT(SYM_A), AT(SYM_FRAMES), AT(SYM_B), AT(SYM_C), AT(SYM_LEN), s[0],
         s[1], weight);
}
void traits_loss_go(OpsRun *r, const int *s) { traits_loss_run(r, s, NULL); }
void traits_loss_back(OpsRun *r, const int *s) { traits_loss_run(r, s, AT(SYM_DA)); }
