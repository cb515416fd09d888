/* distance.c - see distance.h. Sums of one row of the table are kept, and of every cell one byte: the step it
 * was reached by. */
#include "judge/distance.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

#define COEFFICIENTS 13

enum { STEP_BOTH, STEP_A, STEP_B }; /* which sound went one frame on */

typedef struct Sound {
    const float *f0;
    const uint8_t *voiced;
    int64_t frames;
    double *cepstra; /* [frames, COEFFICIENTS] */
} Sound;

/* The cosine transform of a mel frame, without coefficient 0, which is loudness. transform: [COEFFICIENTS,
 * bands]; rows that the bands do not give are 0. */
static void fill_transform(double *transform, int bands)
{
    for (int k = 1; k <= COEFFICIENTS; k++)
        for (int m = 0; m < bands; m++)
            transform[(size_t)(k - 1) * bands + m] =
                k < bands ? 2.0 / bands * cos(M_PI * k * (m + 0.5) / bands) : 0.0;
}

/* Frame by frame; one bad value would make every path NaN. */
static int fill_cepstra(Sound *s, const float *mel, int bands, const double *transform, Err *err)
{
    for (int64_t t = 0; t < s->frames; t++)
        for (int k = 0; k < COEFFICIENTS; k++) {
            const double *row = transform + (size_t)k * bands;
            const float *x = mel + t * bands;
            double sum = 0;
            for (int m = 0; m < bands; m++)
                sum += row[m] * (double)x[m];
            if (!isfinite(sum))
                return err_set(err, ERR_DATA, "frame %lld of a mel holds a value that is not a number",
                               (long long)t);
            s->cepstra[t * COEFFICIENTS + k] = sum;
        }
    return 0;
}

/* dB between frame i of a and frame j of b. */
static double frame_distance(const Sound *a, int64_t i, const Sound *b, int64_t j)
{
    const double *x = a->cepstra + i * COEFFICIENTS, *y = b->cepstra + j * COEFFICIENTS;
    double sum = 0;
    for (int k = 0; k < COEFFICIENTS; k++)
        sum += (x[k] - y[k]) * (x[k] - y[k]);
    return 10.0 / M_LN10 * sqrt(2.0 * sum);
}

/* Dynamic time warping: the cheapest way to walk through both sounds, frame by frame. steps: [frames of a,
 * frames of b]; row: [frames of b]. */
static void find_path(uint8_t *steps, double *row, const Sound *a, const Sound *b)
{
    for (int64_t i = 0; i < a->frames; i++) {
        double diagonal = 0; /* the row above at j - 1 */
        for (int64_t j = 0; j < b->frames; j++) {
            double above = i > 0 ? row[j] : INFINITY, left = j > 0 ? row[j - 1] : INFINITY;
            double best = i > 0 && j > 0 ? diagonal : i == 0 && j == 0 ? 0.0 : INFINITY;
            uint8_t step = STEP_BOTH;
            if (above < best) {
                best = above;
                step = STEP_A;
            }
            if (left < best) {
                best = left;
                step = STEP_B;
            }
            steps[i * b->frames + j] = step;
            diagonal = above;
            row[j] = best + frame_distance(a, i, b, j);
        }
    }
}

/* From the end to the beginning, adding up what lies on the path. */
static void walk_path(SoundDistance *out, const uint8_t *steps, const Sound *a, const Sound *b)
{
    int has_pitch = a->f0 && a->voiced && b->f0 && b->voiced;
    double db = 0, squares = 0;
    int64_t i = a->frames - 1, j = b->frames - 1;
    for (;;) {
        db += frame_distance(a, i, b, j);
        out->frames++;
        if (has_pitch && a->voiced[i] && b->voiced[j]) {
            /* f0 is a logarithm, so a difference is an interval. */
            double semitones = 12.0 / M_LN2 * ((double)a->f0[i] - (double)b->f0[j]);
            squares += semitones * semitones;
            out->voiced++;
        }
        if (i == 0 && j == 0)
            break;
        uint8_t step = steps[i * b->frames + j];
        i -= step != STEP_B;
        j -= step != STEP_A;
    }
    out->mcd_db = db / (double)out->frames;
    out->f0_rmse_semitones = out->voiced ? sqrt(squares / (double)out->voiced) : NAN;
}

/* Memory is frames_a times frames_b bytes: hence the limit on frames. */
int sound_distance(SoundDistance *out, const float *mel_a, const float *f0_a, const uint8_t *voiced_a,
                   int64_t frames_a, const float *mel_b, const float *f0_b, const uint8_t *voiced_b,
                   int64_t frames_b, int bands, Err *err)
{
    *out = (SoundDistance){.f0_rmse_semitones = NAN};
    if (frames_a < 1 || frames_b < 1 || frames_a > SOUND_DISTANCE_FRAMES || frames_b > SOUND_DISTANCE_FRAMES)
        return err_set(err, ERR_DATA,
                       "sounds of %lld and %lld frames cannot be compared; each must have 1 to %d",
                       (long long)frames_a, (long long)frames_b, SOUND_DISTANCE_FRAMES);
    if (bands < 2)
        return err_set(err, ERR_DATA, "mels of %d bands cannot be compared", bands);
    Sound a = {.f0 = f0_a, .voiced = voiced_a, .frames = frames_a};
    Sound b = {.f0 = f0_b, .voiced = voiced_b, .frames = frames_b};
    double *transform = mem_calloc((size_t)bands * COEFFICIENTS, sizeof *transform);
    double *row = mem_calloc((size_t)frames_b, sizeof *row);
    uint8_t *steps = mem_calloc((size_t)frames_a, (size_t)frames_b);
    a.cepstra = mem_calloc((size_t)frames_a * COEFFICIENTS, sizeof(double));
    b.cepstra = mem_calloc((size_t)frames_b * COEFFICIENTS, sizeof(double));
    int rc = 0;
    if (!transform || !row || !steps || !a.cepstra || !b.cepstra)
        rc = err_set(err, ERR_NOMEM, "no memory to compare %lld with %lld frames", (long long)frames_a,
                     (long long)frames_b);
    if (!rc) {
        fill_transform(transform, bands);
        rc = fill_cepstra(&a, mel_a, bands, transform, err);
    }
    if (!rc)
        rc = fill_cepstra(&b, mel_b, bands, transform, err);
    if (!rc) {
        find_path(steps, row, &a, &b);
        walk_path(out, steps, &a, &b);
    }
    free(transform);
    free(row);
    free(steps);
    free(a.cepstra);
    free(b.cepstra);
    return rc;
}
