/* preprocess_math.h - the arithmetic of preprocessing for one value, with the same bits on the CPU and on the
 * GPU (audio/exact.h). Private to the loader and the preprocessing.
 *
 *     samples --speed--> samples --mel--> log mel --gain--> --noise--> --normalise--> what the network sees
 *
 *   - speed reads the samples at 0, s, 2s, ... by linear interpolation: s > 1 is faster, shorter and higher.
 *     If the result would not fit into the frames of the batch, s is raised: nothing is cut. The loader does
 *     the same to the pitch, and adds log s.
 *   - gain adds gain_db * ln(10) / 20 to the log mel, but does not go below the mel's floor.
 *   - noise is log(exp(x) + level * (0.5 + u)), with u uniform in [0, 1) from (seed, frame, band). level is
 *     noise_db below the mean of exp(x) over the clip. White noise is equally loud in all bands of this
 *     filterbank, because its triangles have the same area.
 *   - segments for a vocoder have their gain in the samples (preprocess_factor), and nothing else is changed:
 *     what the mel says and what the samples sound like must be the same. */
#ifndef MYXTTS_PREPROCESS_MATH_H
#define MYXTTS_PREPROCESS_MATH_H

#include <stdint.h>

#include "audio/exact.h"
#include "audio/mel.h"
#include "audio/normaliser.h"
#include "pipeline/batch.h"

/* What is drawn for a row (config/augmentations.h); neutral where an augmentation is off. */
typedef struct Drawn {
    float v[AUGMENT_COUNT];
} Drawn;

/* Augmentations that are off get neutral values, whatever the loader drew. */
EXACT void preprocess_drawn(Drawn *d, const int on[AUGMENT_SEED])
{
#define NEUTRAL_IF_OFF(name, key, most, of, neutral, drawn, salt, segments, help) \
    d->v[AUGMENT_##name] = on[AUGMENT_##name] ? d->v[AUGMENT_##name] : (float)(neutral);
    AUGMENTATIONS(NEUTRAL_IF_OFF)
#undef NEUTRAL_IF_OFF
}

#define LN10_20 0.11512925464970229 /* ln(10) / 20 */
#define SUM_SCALE 1073741824.0   /* 2^30: values are summed as integers, so that the order does not matter */
#define SUM_MOST 1099511627776.0 /* 2^40: maximum of one value, so that the sum of 2^24 fits into 64 bits */

EXACT float preprocess_gain(float x, float gain_db)
{
    if (gain_db == 0.0f)
        return x;
    x = exact_addf(x, exact_mulf(gain_db, (float)LN10_20));
    return x < MEL_LOG_FLOOR ? MEL_LOG_FLOOR : x;
}

/* The same gain for samples. */
EXACT float preprocess_factor(float gain_db)
{
    return gain_db == 0.0f ? 1.0f : (float)exact_exp(exact_mul((double)gain_db, LN10_20));
}

/* What one value adds to the sum of its clip. The mean over the clip, divided by SUM_SCALE, is its level. */
EXACT uint64_t preprocess_loudness(float x)
{
    double v = exact_mul(exact_exp((double)x), SUM_SCALE);
    return (uint64_t)(v < SUM_MOST ? v : SUM_MOST);
}

EXACT double preprocess_noise_level(uint64_t sum, int64_t values, float noise_db)
{
    double mean = exact_div((double)sum, exact_mul((double)values, SUM_SCALE));
    return exact_mul(mean, exact_exp(-exact_mul((double)noise_db, LN10_20)));
}

EXACT float preprocess_noise(float x, double level, uint32_t seed, int64_t frame, int band)
{
    double u = exact_mul((double)(exact_hash(seed, (uint64_t)frame, (uint64_t)band) >> 11),
                         1.0 / 9007199254740992.0);
    return (float)exact_log(exact_add(exact_exp((double)x), exact_mul(level, exact_add(0.5, u))));
}

/* 1: every augmentation of the mel is neutral. */
EXACT int preprocess_keeps_mel(const Drawn *d)
{
    int keeps = 1;
#define LOOK(name, key, most, of, neutral, drawn, salt, segments, help) \
    keeps &= (of) != OF_MEL || d->v[AUGMENT_##name] == (float)(neutral);
    AUGMENTATIONS(LOOK)
#undef LOOK
    return keeps;
}

/* A value of the log mel after all augmentations of the mel but noise, whose level follows from the result.
 */
EXACT float preprocess_value(float x, const Drawn *d) { return preprocess_gain(x, d->v[AUGMENT_GAIN]); }

/* A clip before and after the augmentations of the recording. */
typedef struct Clip {
    const float *x; /* [from] samples */
    int64_t from;
    int64_t n;   /* number of samples after the change */
    double step; /* of the change of speed; 1: none */
    int frames;  /* after the change */
} Clip;

/* Of so many frames, and unchanged. */
EXACT void preprocess_plain_clip(Clip *c, int frames)
{
    c->x = NULL;
    c->from = c->n = 0;
    c->step = 1.0;
    c->frames = frames;
}

/* 1: its samples are those that were read. */
EXACT int preprocess_is_plain(const Clip *c) { return c->step == 1.0; }

/* length: number of samples from the loader; samples, frames: capacity of a row; odd: n_fft % 2. */
EXACT void preprocess_clip(Clip *c, const float *x, int64_t length, const Drawn *d, int64_t samples,
                           int frames, int hop, int odd)
{
    const float speed = d->v[AUGMENT_SPEED];
    int64_t most = (int64_t)frames * hop - 1 + odd; /* one more sample would make one more frame */
    c->x = x;
    c->from = length < 0 ? 0 : length > samples ? samples : length;
    c->step = speed > 0.1f && speed < 10.0f ? (double)speed : 1.0;
    c->n = c->step == 1.0 ? c->from : (int64_t)exact_div((double)c->from, c->step);
    if (c->n > most && c->step != 1.0)
        c->step = exact_div((double)c->from, (double)most);
    if (c->n > most)
        c->n = most;
    if (c->n < 1)
        c->n = c->from > 0 && most > 0 ? 1 : 0;
    c->frames = c->n > 0 ? (int)(1 + (c->n - odd) / hop) : 0;
}

/* x [count] at i * step, between its values where it lies between them. */
EXACT double preprocess_between(const float *x, int64_t count, double step, int64_t i)
{
    double at = exact_mul((double)i, step);
    int64_t left = (int64_t)at;
    left = left < count - 1 ? left : count - 1;
    double a = x[left], b = x[left + 1 < count ? left + 1 : left];
    return exact_add(a, exact_mul(exact_sub(b, a), exact_sub(at, (double)left)));
}

/* Sample i of the changed clip, 0 .. n - 1. */
EXACT float preprocess_sample(const Clip *c, int64_t i)
{
    return preprocess_is_plain(c) ? c->x[i] : (float)preprocess_between(c->x, c->from, c->step, i);
}

/* By how much the log of its pitch rises. */
EXACT float preprocess_higher(const Clip *c) { return (float)exact_log(c->step); }

/* Frame t of the pitch of a clip that is not plain; contour [frames]: before the change. */
EXACT float preprocess_pitch(const Clip *c, const float *contour, int64_t frames, float higher, int64_t t)
{
    return exact_addf((float)preprocess_between(contour, frames, c->step, t), higher);
}

#endif
