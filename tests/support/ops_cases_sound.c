/* ops_cases_sound.c - the cases of ops_cases.h for filters of single channels, spectra and sound. */
#include "ops_cases_private.h"

/* --- filter_norm: B T C K mixed layers stream (without it one layer). The parameters of a layer lie side by
 * side, so that their gradients do. stream: what goes in also goes on as it is, so that there is a gradient
 * to add to --- */
NAMES(DEEP_IN, DEEP_PARAMS, DEEP_LEN, DEEP_OUT, DEEP_DOUT, DEEP_DEEP, DEEP_MEAN, DEEP_RSTD, DEEP_ON, DEEP_DON,
      DEEP_DIN, DEEP_DDEEP, DEEP_DPARAMS);
void filter_norm_build(OpsRun *r, const int *s)
{
    int B = s[0], T = s[1], C = s[2], K = s[3], layers = s[5];
    int64_t n = (int64_t)layers * B * T * C;
    ops_lengths(r, DEEP_LEN, "len", B, T, s[4]);
    ops_tensor(r, DEEP_IN, "in", KIND_REAL, ROLE_INPUT, n, 1);
    ops_tensor(r, DEEP_PARAMS, "params", KIND_REAL, ROLE_INPUT, (int64_t)layers * (K + 3) * C, 0.5);
    ops_output(r, DEEP_OUT, DEEP_DOUT, "out", "dout", n);
    ops_tensor(r, DEEP_DEEP, "deep", KIND_REAL, ROLE_OUTPUT, n, 0);
    ops_tensor(r, DEEP_MEAN, "mean", KIND_ACC, ROLE_OUTPUT, (int64_t)layers * B * T, 0);
    ops_tensor(r, DEEP_RSTD, "rstd", KIND_ACC, ROLE_OUTPUT, (int64_t)layers * B * T, 0);
    ops_gradient(r, DEEP_DIN, DEEP_IN, "din", ROLE_GRAD);
    ops_tensor(r, DEEP_DDEEP, "ddeep", KIND_REAL, ROLE_CHANGED, n, 1);
    ops_gradient(r, DEEP_DPARAMS, DEEP_PARAMS, "dparams", ROLE_GRAD_ADD);
    if (s[6]) {
        ops_output(r, DEEP_ON, DEEP_DON, "on", "don", n);
    } else {
        ops_tensor(r, DEEP_DON, "nothing", KIND_REAL, ROLE_FIXED, n, 0);
        ops_hide_rows(r, DEEP_IN, DEEP_LEN, B, T, C);
    }
}
static void *real_from(OpsRun *r, int slot, int64_t n)
{
    return (char *)AT(slot) + n * (int64_t)r->c->ops->real_bytes;
}
static void *acc_from(OpsRun *r, int slot, int64_t n)
{
    return AT(slot) ? (char *)AT(slot) + n * (int64_t)r->c->ops->acc_bytes : NULL;
}
static FilterNorms filter_norms(OpsRun *r, const int *s, int layer, int count)
{
    const int64_t C = s[2], K = s[3], rows = (int64_t)s[0] * s[1], params = layer * (K + 3) * C;
    return (FilterNorms){.count = count,
                         .dw = acc_from(r, DEEP_DPARAMS, params),
                         .dbias = acc_from(r, DEEP_DPARAMS, params + K * C),
                         .dnorm_w = acc_from(r, DEEP_DPARAMS, params + (K + 1) * C),
                         .dnorm_b = acc_from(r, DEEP_DPARAMS, params + (K + 2) * C),
                         .in = real_from(r, DEEP_IN, layer * rows * C),
                         .deep = real_from(r, DEEP_DEEP, layer * rows * C),
                         .dout = real_from(r, DEEP_DOUT, layer * rows * C),
                         .ddeep = real_from(r, DEEP_DDEEP, layer * rows * C),
                         .mean = acc_from(r, DEEP_MEAN, layer * rows),
                         .rstd = acc_from(r, DEEP_RSTD, layer * rows),
                         .param_step = (K + 3) * C,
                         .real_step = rows * C,
                         .row_step = rows};
}
void filter_norm_go(OpsRun *r, const int *s)
{
    const int64_t C = s[2], K = s[3], rows = (int64_t)s[0] * s[1], params = (K + 3) * C;
    for (int i = 0; i < s[5]; i++)
        CALL(filter_norm_forward, real_from(r, DEEP_OUT, i * rows * C), real_from(r, DEEP_DEEP, i * rows * C),
             acc_from(r, DEEP_MEAN, i * rows), acc_from(r, DEEP_RSTD, i * rows),
             real_from(r, DEEP_IN, i * rows * C), real_from(r, DEEP_PARAMS, i * params),
             real_from(r, DEEP_PARAMS, i * params + K * C),
             real_from(r, DEEP_PARAMS, i * params + (K + 1) * C),
             real_from(r, DEEP_PARAMS, i * params + (K + 2) * C), AT(DEEP_LEN), s[0], s[1], s[2], s[3]);
    if (s[6])
        CALL(dropout_forward, AT(DEEP_ON), AT(DEEP_IN), s[5] * rows * C, DROP(0));
}
void filter_norm_back(OpsRun *r, const int *s)
{
    const int64_t C = s[2], K = s[3], rows = (int64_t)s[0] * s[1], params = (K + 3) * C;
    for (int i = 0; i < s[5]; i++) {
        const FilterNorms one = filter_norms(r, s, i, 1);
        CALL(filter_norm_backward, real_from(r, DEEP_DIN, i * rows * C), real_from(r, DEEP_DON, i * rows * C),
             &one, real_from(r, DEEP_PARAMS, i * params), real_from(r, DEEP_PARAMS, i * params + (K + 1) * C),
             AT(DEEP_LEN), s[0], s[1], s[2], s[3]);
    }
    const FilterNorms all = filter_norms(r, s, 0, s[5]);
    CALL(filter_norm_weights, &all, AT(DEEP_LEN), s[0], s[1], s[2], s[3]);
}

/* --- linears: M N K layers. As above, weights and bias of a layer lie side by side --- */
NAMES(MANY_IN, MANY_PARAMS, MANY_OUT, MANY_DOUT, MANY_DPARAMS);
void linears_build(OpsRun *r, const int *s)
{
    int64_t M = s[0], N = s[1], K = s[2], layers = s[3];
    ops_tensor(r, MANY_IN, "in", KIND_REAL, ROLE_INPUT, layers * M * K, 1);
    ops_tensor(r, MANY_PARAMS, "params", KIND_REAL, ROLE_INPUT, layers * (K + 1) * N, 1 / sqrt((double)K));
    ops_output(r, MANY_OUT, MANY_DOUT, "out", "dout", layers * M * N);
    ops_gradient(r, MANY_DPARAMS, MANY_PARAMS, "dparams", ROLE_GRAD_ADD);
}
void linears_go(OpsRun *r, const int *s)
{
    int64_t M = s[0], N = s[1], K = s[2];
    for (int i = 0; i < s[3]; i++)
        CALL(linear_forward, real_from(r, MANY_OUT, i * M * N), real_from(r, MANY_IN, i * M * K),
             real_from(r, MANY_PARAMS, i * (K + 1) * N), real_from(r, MANY_PARAMS, (i * (K + 1) + K) * N), M,
             (int)N, (int)K, ACT_NONE, 0);
}
void linears_back(OpsRun *r, const int *s)
{
    int64_t M = s[0], N = s[1], K = s[2];
    const Linears l = {.count = s[3],
                       .dw = AT(MANY_DPARAMS),
                       .dbias = acc_from(r, MANY_DPARAMS, K * N),
                       .dout = AT(MANY_DOUT),
                       .in = AT(MANY_IN),
                       .param_step = (K + 1) * N,
                       .dout_step = M * N,
                       .in_step = M * K};
    CALL(linear_weights, &l, M, (int)N, (int)K);
}

/* --- linear_add: M N K in_place --- */
NAMES(PLUS_IN, PLUS_W, PLUS_BIAS, PLUS_ADD, PLUS_OUT);
void linear_add_build(OpsRun *r, const int *s)
{
    int64_t M = s[0], N = s[1], K = s[2];
    ops_tensor(r, PLUS_IN, "in", KIND_REAL, ROLE_FIXED, M * K, 1);
    ops_tensor(r, PLUS_W, "w", KIND_REAL, ROLE_FIXED, N * K, 1 / sqrt((double)K));
    ops_tensor(r, PLUS_BIAS, "bias", KIND_REAL, ROLE_FIXED, N, 0.5);
    if (!s[3])
        ops_tensor(r, PLUS_ADD, "add", KIND_REAL, ROLE_FIXED, M * N, 1);
    ops_tensor(r, PLUS_OUT, "out", KIND_REAL, s[3] ? ROLE_CHANGED : ROLE_OUTPUT, M * N, s[3] ? 1 : 0);
}
void linear_add_go(OpsRun *r, const int *s)
{
    CALL(linear_add, AT(PLUS_OUT), AT(s[3] ? PLUS_OUT : PLUS_ADD), AT(PLUS_IN), AT(PLUS_W), AT(PLUS_BIAS),
         s[0], s[1], s[2]);
}

/* --- wave: B T n hop more; ld = n + 2 + more --- */
NAMES(WAVE_SPECTRUM, WAVE_PRIOR, WAVE_TABLES, WAVE_OUT, WAVE_DOUT, WAVE_DSPECTRUM);
void wave_build(OpsRun *r, const int *s)
{
    int B = s[0], T = s[1], n = s[2], hop = s[3], F = n / 2 + 1, ld = n + 2 + s[4];
    ops_tensor(r, WAVE_SPECTRUM, "spectrum", KIND_REAL, ROLE_INPUT, (int64_t)B * T * ld, 1);
    ops_tensor(r, WAVE_PRIOR, "prior", KIND_FLOAT, ROLE_FIXED, (int64_t)B * T * F, 1);
    ops_tensor(r, WAVE_TABLES, "tables", KIND_ACC, ROLE_OUTPUT, 2 * n, 0);
    ops_output(r, WAVE_OUT, WAVE_DOUT, "wave", "dwave", (int64_t)B * (T - 1) * hop);
    r->t[WAVE_OUT].kind = r->t[WAVE_DOUT].kind = KIND_ACC;
    ops_gradient(r, WAVE_DSPECTRUM, WAVE_SPECTRUM, "dspectrum", ROLE_GRAD);
    r->t[WAVE_PRIOR].value[F / 2] = 9; /* over the limit */
}
void wave_go(OpsRun *r, const int *s)
{
    SoundFrames f = {s[2], s[3], AT(WAVE_TABLES)};
    CALL(sound_tables, AT(WAVE_TABLES), s[2], s[2]);
    CALL(wave_forward, AT(WAVE_OUT), AT(WAVE_SPECTRUM), s[2] + 2 + s[4], AT(WAVE_PRIOR), &f, s[0], s[1]);
}
void wave_back(OpsRun *r, const int *s)
{
    SoundFrames f = {s[2], s[3], AT(WAVE_TABLES)};
    CALL(wave_backward, AT(WAVE_DSPECTRUM), AT(WAVE_DOUT), AT(WAVE_SPECTRUM), s[2] + 2 + s[4], AT(WAVE_PRIOR),
         &f, s[0], s[1]);
}

/* --- scale: B T n mixed --- */
NAMES(SCALE_IN, SCALE_LEN, SCALE_OUT);
void scale_build(OpsRun *r, const int *s)
{
    int64_t n = (int64_t)s[0] * s[1] * s[2];
    ops_lengths(r, SCALE_LEN, "len", s[0], s[1], s[3]);
    ops_tensor(r, SCALE_IN, "in", KIND_FLOAT, ROLE_FIXED, n, 3);
    ops_tensor(r, SCALE_OUT, "out", KIND_REAL, ROLE_OUTPUT, n, 0);
    ops_hide_rows(r, SCALE_IN, SCALE_LEN, s[0], s[1], s[2]);
}
void scale_go(OpsRun *r, const int *s)
{
    CALL(scale_frames, AT(SCALE_OUT), AT(SCALE_IN), AT(SCALE_LEN), s[0], s[1], s[2], 5, 0.25f);
}

/* --- spread: rows n count; every sum over three neighbours, fewer at the end --- */
NAMES(SPREAD_IN, SPREAD_FIRST, SPREAD_WIDTH, SPREAD_AT, SPREAD_WEIGHTS, SPREAD_OUT);
void spread_build(OpsRun *r, const int *s)
{
    int n = s[1], count = s[2];
    ops_tensor(r, SPREAD_IN, "in", KIND_FLOAT, ROLE_FIXED, (int64_t)s[0] * n, 3);
    OpsTensor *first = ops_tensor(r, SPREAD_FIRST, "first", KIND_INT, ROLE_FIXED, count, 0);
    OpsTensor *wide = ops_tensor(r, SPREAD_WIDTH, "width", KIND_INT, ROLE_FIXED, count, 0);
    OpsTensor *at = ops_tensor(r, SPREAD_AT, "at", KIND_INT, ROLE_FIXED, count, 0);
    OpsTensor *weights = ops_tensor(r, SPREAD_WEIGHTS, "weights", KIND_FLOAT, ROLE_FIXED, 3 * count, 1);
    for (int k = 0; k < count; k++) {
        first->value[k] = k % n;
        wide->value[k] = k % n + 3 <= n ? 3 : n - k % n;
        at->value[k] = 3 * k;
        for (int i = 0; i < 3; i++) /* some sums have only zeros: the floor */
            weights->value[3 * k + i] = k % 5 ? (double)(i + 1) / 8 : 0;
    }
    ops_tensor(r, SPREAD_OUT, "out", KIND_FLOAT, ROLE_OUTPUT, (int64_t)s[0] * count, 0);
}
void spread_go(OpsRun *r, const int *s)
{
    SoundBands bands = {s[2], AT(SPREAD_FIRST), AT(SPREAD_WIDTH), AT(SPREAD_AT), AT(SPREAD_WEIGHTS), 1e-5f};
    CALL(log_spread, AT(SPREAD_OUT), AT(SPREAD_IN), &bands, s[0], s[1], 0.25f);
}

/* Bands of a spectrum in four slots: every one reaches over half of the next. */
static void triangles(OpsRun *r, int slot, int count, int step)
{
    const int width = 2 * step - 1;
    OpsTensor *first = ops_tensor(r, slot, "first", KIND_INT, ROLE_FIXED, count, 0);
    OpsTensor *wide = ops_tensor(r, slot + 1, "width", KIND_INT, ROLE_FIXED, count, 0);
    OpsTensor *at = ops_tensor(r, slot + 2, "at", KIND_INT, ROLE_FIXED, count, 0);
    OpsTensor *weights = ops_tensor(r, slot + 3, "weights", KIND_FLOAT, ROLE_FIXED, count * width, 1);
    for (int b = 0; b < count; b++) {
        first->value[b] = b * step + 1;
        wide->value[b] = width;
        at->value[b] = b * width;
        for (int i = 0; i < width; i++)
            weights->value[b * width + i] = (double)(i < step ? i + 1 : width - i) / 8;
    }
}

/* --- refine: B T n hop window bands rounds --- */
NAMES(ROUND_WAVE, ROUND_MEL, ROUND_TABLES, ROUND_FIRST, ROUND_WIDTH, ROUND_AT, ROUND_WEIGHTS, ROUND_ROOM);
void refine_build(OpsRun *r, const int *s)
{
    const int B = s[0], T = s[1], n = s[2], count = s[5];
    ops_tensor(r, ROUND_WAVE, "wave", KIND_ACC, ROLE_CHANGED, (int64_t)B * (T - 1) * s[3], 1);
    ops_tensor(r, ROUND_MEL, "mel", KIND_FLOAT, ROLE_FIXED, (int64_t)B * T * count, 1);
    ops_tensor(r, ROUND_TABLES, "tables", KIND_ACC, ROLE_OUTPUT, 2 * n, 0);
    triangles(r, ROUND_FIRST, count, (n / 2 - 1) / (count + 2)); /* some bins have no band */
    ops_tensor(r, ROUND_ROOM, "room", KIND_BYTE, ROLE_FIXED, (int64_t)r->c->ops->sound_refine_bytes(B, T, n),
               0);
    r->t[ROUND_MEL].value[1] = -40; /* silence */
    r->t[ROUND_MEL].value[2] = 20;  /* louder than can be */
}
void refine_go(OpsRun *r, const int *s)
{
    SoundFrames f = {s[2], s[3], AT(ROUND_TABLES)};
    SoundBands bands = {s[5], AT(ROUND_FIRST), AT(ROUND_WIDTH), AT(ROUND_AT), AT(ROUND_WEIGHTS), 1e-5f};
    CALL(sound_tables, AT(ROUND_TABLES), s[2], s[4]);
    CALL(sound_refine, AT(ROUND_WAVE), AT(ROUND_ROOM), AT(ROUND_MEL), &f, &bands, s[0], s[1], s[6]);
}

/* --- spectral: B samples n hop bands mixed scales; of every scale half the points and the hop of the one
 * before, and the bands of the last --- */
NAMES(BAND_WAVE, BAND_LEN, BAND_TARGET, BAND_TABLES, BAND_FIRST, BAND_WIDTH, BAND_AT, BAND_WEIGHTS,
      BAND_VALUE, BAND_DWAVE);
void spectral_build(OpsRun *r, const int *s)
{
    int B = s[0], n = s[2] >> (s[6] ? s[6] - 1 : 0), count = s[4], step = (n / 2 - 1) / (count + 1);
    if (s[5])
        ops_lengths(r, BAND_LEN, "len", B, 9, 1);
    ops_tensor(r, BAND_WAVE, "wave", KIND_ACC, ROLE_INPUT, (int64_t)B * s[1], 1);
    ops_tensor(r, BAND_TARGET, "target", KIND_FLOAT, ROLE_FIXED, (int64_t)B * s[1], 1);
    ops_tensor(r, BAND_TABLES, "tables", KIND_ACC, ROLE_OUTPUT, 4 * s[2], 0);
    triangles(r, BAND_FIRST, count, step);
    ops_tensor(r, BAND_VALUE, "value", KIND_ACC, ROLE_CHANGED, 1, 1)->constant = 1;
    ops_gradient(r, BAND_DWAVE, BAND_WAVE, "dwave", ROLE_GRAD);
    r->t[BAND_DWAVE].kind = KIND_ACC;
    if (s[5])
        ops_hide_rows(r, BAND_WAVE, BAND_LEN, B, 1, s[1]);
}
static void spectral(OpsRun *r, const int *s, void *dwave)
{
    SoundBands bands = {s[4], AT(BAND_FIRST), AT(BAND_WIDTH), AT(BAND_AT), AT(BAND_WEIGHTS), 1e-5f};
    SoundScale scales[SOUND_SCALES];
    const int count = s[6] ? s[6] : 1;
    int64_t at = 0;
    CALL(fill_zero, AT(BAND_TABLES), (size_t)s[2] * 4 * r->c->ops->acc_bytes);
    for (int i = 0; i < count; i++) {
        const int n = s[2] >> i;
        scales[i] = (SoundScale){.frames = {n, s[3] >> i, acc_from(r, BAND_TABLES, at)},
                                 .bands = bands,
                                 .weight = 0.25f / (float)(i + 1)};
        CALL(sound_tables, acc_from(r, BAND_TABLES, at), n, n);
        at += 2 * n;
    }
    CALL(spectral_loss, AT(BAND_VALUE), dwave, AT(BAND_WAVE), AT(BAND_TARGET), AT(BAND_LEN), scales, count,
         s[0], s[1]);
}
void spectral_go(OpsRun *r, const int *s) { spectral(r, s, NULL); }
void spectral_back(OpsRun *r, const int *s) { spectral(r, s, AT(BAND_DWAVE)); }

/* --- seen: B samples n hop bands mixed; its gradient is what spectral_loss adds for it --- */
NAMES(SEEN_WAVE, SEEN_LEN, SEEN_TARGET, SEEN_TABLES, SEEN_FIRST, SEEN_WIDTH, SEEN_AT, SEEN_WEIGHTS, SEEN_OURS,
      SEEN_THEIRS, SEEN_ROWS, SEEN_DOURS, SEEN_VALUE, SEEN_DWAVE);
#define SEEN_SCALE 0.25f
void seen_build(OpsRun *r, const int *s)
{
    const int B = s[0], n = s[2], count = s[4];
    const int64_t all = (int64_t)B * (s[1] / s[3] + 1) * count;
    if (s[5])
        ops_lengths(r, SEEN_LEN, "len", B, 9, 1);
    ops_tensor(r, SEEN_WAVE, "wave", KIND_ACC, ROLE_INPUT, (int64_t)B * s[1], 1);
    ops_tensor(r, SEEN_TARGET, "target", KIND_FLOAT, ROLE_FIXED, (int64_t)B * s[1], 1);
    ops_tensor(r, SEEN_TABLES, "tables", KIND_ACC, ROLE_OUTPUT, 2 * n, 0);
    triangles(r, SEEN_FIRST, count, (n / 2 - 1) / (count + 1));
    ops_output(r, SEEN_OURS, SEEN_DOURS, "ours", "dours", all);
    ops_tensor(r, SEEN_THEIRS, "theirs", KIND_REAL, ROLE_OUTPUT, all, 0);
    ops_tensor(r, SEEN_ROWS, "rows", KIND_INT, ROLE_OUTPUT, B, 0);
    ops_tensor(r, SEEN_VALUE, "value", KIND_ACC, ROLE_CHANGED, 1, 1);
    ops_gradient(r, SEEN_DWAVE, SEEN_WAVE, "dwave", ROLE_GRAD);
    r->t[SEEN_DWAVE].kind = KIND_ACC;
    if (s[5])
        ops_hide_rows(r, SEEN_WAVE, SEEN_LEN, B, 1, s[1]);
}
static SoundScale seen_scale(OpsRun *r, const int *s)
{
    const SoundBands bands = {s[4], AT(SEEN_FIRST), AT(SEEN_WIDTH), AT(SEEN_AT), AT(SEEN_WEIGHTS), 1e-5f};
    CALL(sound_tables, AT(SEEN_TABLES), s[2], s[2]);
    return (SoundScale){.frames = {s[2], s[3], AT(SEEN_TABLES)}, .bands = bands};
}
void seen_go(OpsRun *r, const int *s)
{
    const SoundScale scale = seen_scale(r, s);
    CALL(sound_bands, AT(SEEN_OURS), AT(SEEN_THEIRS), AT(SEEN_ROWS), AT(SEEN_WAVE), AT(SEEN_TARGET),
         AT(SEEN_LEN), &scale, s[0], s[1], 3, SEEN_SCALE);
}
/* The loss itself counts next to nothing. */
void seen_back(OpsRun *r, const int *s)
{
    SoundScale scale = seen_scale(r, s);
    scale.weight = 1e-9f;
    scale.dbands = AT(SEEN_DOURS);
    scale.dbands_scale = SEEN_SCALE;
    CALL(spectral_loss, AT(SEEN_VALUE), AT(SEEN_DWAVE), AT(SEEN_WAVE), AT(SEEN_TARGET), AT(SEEN_LEN), &scale,
         1, s[0], s[1]);
}
