/* level.c - how loud a clip is, frame by frame (trim) and as a whole (loudness), and where it was cut off.
 * Trim reproduces librosa 0.11 effects.trim: feature.rms(center=True, zeros outside),
 * amplitude_to_db(ref=np.max, amin=1e-5). */
#include <ebur128.h>
#include <math.h>

#include "audio/process.h"

#define FULL_SCALE 0.999
#define FLAT 1e-4       /* of the highest sample: as high as it, give or take three steps of 16 bits */
#define FLAT_RUN 3      /* samples in a row at the top: no sound of that level has such a peak */
#define FLAT_LEVEL 0.25 /* a softer recording was not cut off by anything */

/* Mean square of the frame centred on f * hop. Eight sums side by side, so that the order of additions does
 * not depend on the compiler and the loop is not bound by the latency of one. */
static double frame_power(const float *x, int64_t n, int frame, int hop, int64_t f)
{
    int64_t from = f * hop - frame / 2, to = from + frame;
    if (from < 0)
        from = 0;
    if (to > n)
        to = n;
    double sums[8] = {0};
    int64_t i = from;
    for (; i + 8 <= to; i += 8)
        for (int l = 0; l < 8; l++)
            sums[l] += (double)x[i + l] * (double)x[i + l];
    for (; i < to; i++)
        sums[0] += (double)x[i] * (double)x[i];
    return (((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]))) /
           frame;
}

double audio_trim_range(int64_t *first, int64_t *last, const float *x, int64_t n, int frame, int hop,
                        double top_db)
{
    const double least = 1e-10; /* amin squared */
    int64_t frames = n > 0 ? 1 + (n - frame % 2) / hop : 0, begin = 0, end = frames;
    double loudest = 0.0;
    *first = 0;
    *last = n;
    for (int64_t f = 0; f < frames; f++) {
        double power = frame_power(x, n, frame, hop, f);
        if (power > loudest)
            loudest = power;
    }
    /* Frames are silent when they are top_db below the loudest. */
    double reference = 10.0 * log10(fmax(least, loudest));
#define IS_SILENT(f) (10.0 * log10(fmax(least, frame_power(x, n, frame, hop, f))) - reference <= -top_db)
    /* From both ends; what is silent in between stays. */
    while (begin < end && IS_SILENT(begin))
        begin++;
    while (end > begin && IS_SILENT(end - 1))
        end--;
#undef IS_SILENT
    if (begin < end) {
        /* Frames are centred: frame f begins to count at sample f * hop. */
        *first = begin * hop < n ? begin * hop : n - 1;
        *last = end * hop < n ? end * hop : n;
    }
    return sqrt(loudest);
}

double audio_loudness(const float *x, int64_t n, int rate)
{
    if (n < 1 || rate < 16)
        return -HUGE_VAL;
    ebur128_state *state = ebur128_init(1, (unsigned long)rate, EBUR128_MODE_I);
    if (!state)
        return NAN;
    /* A gating block (0.4 s), and one sample for rates that 10 does not divide. */
    int64_t block = (int64_t)rate * 4 / 10 + 1, fed = 0;
    int failed = 0;
    /* The whole clip, again and again until a gating block is full. */
    do {
        failed |= ebur128_add_frames_float(state, x, (size_t)n);
        fed += n;
    } while (!failed && fed < block);
    double lufs = -HUGE_VAL;
    failed |= ebur128_loudness_global(state, &lufs);
    ebur128_destroy(&state);
    return failed ? NAN : isfinite(lufs) ? lufs : -HUGE_VAL;
}

double audio_gain(const float *x, int64_t n, int rate, double target_lufs)
{
    double lufs = audio_loudness(x, n, rate);
    if (!isfinite(lufs))
        return isnan(lufs) ? NAN : 1.0;
    float peak = 0.0f;
    for (int64_t i = 0; i < n; i++)
        peak = fabsf(x[i]) > peak ? fabsf(x[i]) : peak;
    /* Never so much that the highest sample exceeds 1. */
    double gain = pow(10.0, (target_lufs - lufs) / 20.0);
    return gain * peak > 1.0 ? 1.0 / peak : gain;
}

int64_t audio_clipped(const float *x, int64_t n)
{
    float top = 0;
    int64_t clipped = 0, run = 0;
    for (int64_t i = 0; i < n; i++)
        top = fmaxf(top, fabsf(x[i]));
    if ((double)top < FLAT_LEVEL)
        return 0;
    /* Runs of samples at the top, each side of zero by itself. */
    const float flat = top * (float)(1 - FLAT);
    for (int64_t i = 0; i <= n; i++) {
        const float now = i < n ? x[i] : 0;
        if (fabsf(now) >= flat && (!run || (now > 0) == (x[i - 1] > 0))) {
            run++;
            continue;
        }
        if (run >= FLAT_RUN)
            clipped += run;
        run = fabsf(now) >= flat;
    }
    /* A lossy file of a clipped one has ripples on its tops. */
    for (int64_t i = 0; i < n && !clipped && (double)top > 1 / FULL_SCALE; i++)
        clipped += (double)fabsf(x[i]) >= FULL_SCALE;
    return clipped;
}
