/* sharpness.c - see sharpness.h. */
#include "train/listen/sharpness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/sharpen.h"

/* The mels as they were spoken, and memory for a matrix. */
typedef struct Plain {
    float *mels, *matrix;
} Plain;

static int plain_open(Plain *p, const SpokenClips *s, int bands, Err *err)
{
    size_t frames = 0, at = 0;
    for (int i = 0; i < s->count; i++)
        frames += (size_t)s->speech[i].frames;
    p->mels = mem_calloc(frames * (size_t)bands + 1, sizeof *p->mels);
    p->matrix = mem_calloc((size_t)(bands + 1) * (size_t)bands, sizeof *p->matrix);
    if (!p->mels || !p->matrix)
        return err_set(err, ERR_NOMEM, "no memory to sharpen %zu frames", frames);
    for (int i = 0; i < s->count; i++) {
        const size_t n = (size_t)s->speech[i].frames * (size_t)bands;
        memcpy(p->mels + at, s->speech[i].mel, n * sizeof *p->mels);
        at += n;
    }
    return 0;
}

/* Their mels sharpened by this amount, and what is heard then. */
static int hear_sharpened(EarFigures *ear, const Plain *p, const SpokenClips *s, int bands, double amount,
                          Err *err)
{
    size_t at = 0;
    sharpen_matrix(p->matrix, bands, amount);
    for (int i = 0; i < s->count; i++) {
        const Speech *speech = &s->speech[i];
        const size_t n = (size_t)speech->frames * (size_t)bands;
        memcpy(speech->mel, p->mels + at, n * sizeof *p->mels);
        sharpen_mel(speech->mel, p->matrix + (size_t)bands * (size_t)bands, speech->frames, bands, p->matrix);
        at += n;
    }
    return beside_recordings(ear, s, err);
}

/* Sharpening is linear, so the variance that detail is made of is quadratic in its amount: where is it that
 * of the recordings? Given are its shares without, with half of the most, and with the most. */
static double amount_for(double none, double half, double most)
{
    const double a = 2 * (most - 2 * half + none),
                 b = most - none - a; /* of the amount in parts of the most */
    const double root = b * b + 4 * a * (1 - none);
    if (!(most > 1))
        return SHARPEN_MOST;
    const double part = fabs(a) > 1e-6 && root >= 0 ? (sqrt(root) - b) / (2 * a) : (1 - none) / b;
    return isfinite(part) ? SHARPEN_MOST * fmin(fmax(part, 0), 1) : 0;
}

int sharpness_settle(double *amount, EarFigures *ear, const SpokenClips *s, Err *err)
{
    const int bands = (int)s->corpus->statistics.bands;
    EarFigures half = {0}, most = {0};
    Plain p = {0};
    *amount = 0;
    int rc = beside_recordings(ear, s, err);
    /* Mels that are not speech yet have more. */
    if (rc <= 0 || !(ear->detail > 0) || ear->detail >= 1)
        return rc;
    const int compared = rc;
    rc = plain_open(&p, s, bands, err);
    if (!rc)
        rc = hear_sharpened(&half, &p, s, bands, SHARPEN_MOST / 2, err);
    if (rc >= 0)
        rc = hear_sharpened(&most, &p, s, bands, SHARPEN_MOST, err);
    if (rc >= 0) {
        *amount = amount_for(ear->detail, half.detail, most.detail);
        rc = hear_sharpened(ear, &p, s, bands, *amount, err);
    }
    free(p.mels);
    free(p.matrix);
    return rc < 0 ? rc : compared;
}
