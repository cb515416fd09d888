/* ops_cases_sound.c - the cases of ops_cases.h for filters of single channels, spectra and sound. */
#include "ops_cases_private.h"

/* --- depthwise: B T C K mixed din --- */
NAMES(DEEP_IN, DEEP_W, DEEP_BIAS, DEEP_LEN, DEEP_OUT, DEEP_DOUT, DEEP_DIN, DEEP_DW, DEEP_DBIAS);
void depthwise_build(OpsRun *r, const int *s)
{
    int B = s[0], T = s[1], C = s[2], K = s[3];
    ops_lengths(r, DEEP_LEN, "len", B, T, s[4]);
    ops_tensor(r, DEEP_IN, "in", KIND_REAL, ROLE_INPUT, (int64_t)B * T * C, 1);
    ops_tensor(r, DEEP_W, "w", KIND_REAL, ROLE_INPUT, (int64_t)K * C, 1 / sqrt((double)K));
    ops_tensor(r, DEEP_BIAS, "bias", KIND_REAL, ROLE_INPUT, C, 0.5);
    ops_output(r, DEEP_OUT, DEEP_DOUT, "out", "dout", (int64_t)B * T * C);
    if (s[5])
        ops_gradient(r, DEEP_DIN, DEEP_IN, "din", ROLE_GRAD);
    ops_gradient(r, DEEP_DW, DEEP_W, "dw", ROLE_GRAD_ADD);
    ops_gradient(r, DEEP_DBIAS, DEEP_BIAS, "dbias", ROLE_GRAD_ADD);
    ops_hide_rows(r, DEEP_IN, DEEP_LEN, B, T, C);
    ops_hide_rows(r, DEEP_DOUT, DEEP_LEN, B, T, C);
}
void depthwise_go(OpsRun *r, const int *s)
{
    CALL(depthwise_forward, AT(DEEP_OUT), AT(DEEP_IN), AT(DEEP_W), AT(DEEP_BIAS), AT(DEEP_LEN), s[0], s[1],
         s[2], s[3]);
}
void depthwise_back(OpsRun *r, const int *s)
{
    CALL(depthwise_backward, AT(DEEP_DIN), AT(DEEP_DW), AT(DEEP_DBIAS), AT(DEEP_DOUT), AT(DEEP_IN),
         AT(DEEP_W), AT(DEEP_LEN), s[0], s[1], s[2], s[3]);
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
    CALL(sound_tables, AT(WAVE_TABLES), s[2]);
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

/* --- spectral: B samples n hop bands mixed --- */
NAMES(BAND_WAVE, BAND_LEN, BAND_TARGET, BAND_TABLES, BAND_FIRST, BAND_WIDTH, BAND_AT, BAND_WEIGHTS,
      BAND_VALUE, BAND_DWAVE);
void spectral_build(OpsRun *r, const int *s)
{
    int B = s[0], n = s[2], count = s[4], step = (n / 2 - 1) / (count + 1), width = 2 * step - 1;
    if (s[5])
        ops_lengths(r, BAND_LEN, "len", B, 9, 1);
    ops_tensor(r, BAND_WAVE, "wave", KIND_ACC, ROLE_INPUT, (int64_t)B * s[1], 1);
    ops_tensor(r, BAND_TARGET, "target", KIND_FLOAT, ROLE_FIXED, (int64_t)B * s[1], 1);
    ops_tensor(r, BAND_TABLES, "tables", KIND_ACC, ROLE_OUTPUT, 2 * n, 0);
    OpsTensor *first = ops_tensor(r, BAND_FIRST, "first", KIND_INT, ROLE_FIXED, count, 0);
    OpsTensor *wide = ops_tensor(r, BAND_WIDTH, "width", KIND_INT, ROLE_FIXED, count, 0);
    OpsTensor *at = ops_tensor(r, BAND_AT, "at", KIND_INT, ROLE_FIXED, count, 0);
    OpsTensor *weights = ops_tensor(r, BAND_WEIGHTS, "weights", KIND_FLOAT, ROLE_FIXED, count * width, 1);
    for (int b = 0; b < count; b++) {
        first->value[b] = b * step + 1;
        wide->value[b] = width;
        at->value[b] = b * width;
        for (int i = 0; i < width; i++)
            weights->value[b * width + i] = (double)(i < step ? i + 1 : width - i) / 8;
    }
    ops_tensor(r, BAND_VALUE, "value", KIND_ACC, ROLE_CHANGED, 1, 1)->constant = 1;
    ops_gradient(r, BAND_DWAVE, BAND_WAVE, "dwave", ROLE_GRAD_ADD);
    r->t[BAND_DWAVE].kind = KIND_ACC;
    if (s[5])
        ops_hide_rows(r, BAND_WAVE, BAND_LEN, B, 1, s[1]);
}
static void spectral(OpsRun *r, const int *s, void *dwave)
{
    SoundFrames f = {s[2], s[3], AT(BAND_TABLES)};
    SoundBands bands = {s[4], AT(BAND_FIRST), AT(BAND_WIDTH), AT(BAND_AT), AT(BAND_WEIGHTS), 1e-5f};
    CALL(sound_tables, AT(BAND_TABLES), s[2]);
    CALL(spectral_loss, AT(BAND_VALUE), dwave, AT(BAND_WAVE), AT(BAND_TARGET), AT(BAND_LEN), &f, &bands, s[0],
         s[1], 0.25f);
}
void spectral_go(OpsRun *r, const int *s) { spectral(r, s, NULL); }
void spectral_back(OpsRun *r, const int *s) { spectral(r, s, AT(BAND_DWAVE)); }
