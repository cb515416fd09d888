/* manner.c - see manner.h. */
#include "train/listen/manner.h"

#include <math.h>

#define FEW_CLIPS 3
#define DOUBT 5.0       /* clips that say as much as the belief that lengths are right */
#define MOST_PACE 1.25  /* and as much less */
#define MOST_SPREAD 1.6 /* at least 1: no voice is made flatter */
#define LONGEST_LOG 7.6 /* of a duration, in frames: what a broken network may ask for at most */

/* Squares of the distance from the mean, weighted by frames. stride: numbers from one symbol's pitch to the
 * next. */
static double strays(const float *pitch, int stride, const int32_t *frames, int n)
{
    double weight = 0, mean = 0, sum = 0;
    for (int t = 0; t < n; t++) {
        weight += frames[t];
        mean += frames[t] * (double)pitch[t * stride];
    }
    mean = weight > 0 ? mean / weight : 0;
    for (int t = 0; t < n; t++)
        sum += frames[t] * pow((double)pitch[t * stride] - mean, 2);
    return sum;
}

void manner_add(MannerSums *s, const EngineLook *clip)
{
    if (!clip->text || !clip->durations)
        return;
    s->clips++;
    /* The silence at both ends, which the first and the last symbol have, says nothing about the pace. */
    for (int t = 1; t < clip->text - 1; t++) {
        s->frames += clip->durations[t];
        s->predicted_frames +=
            fmax(1, exp(fmin((double)clip->traits[t * TRAIT_COUNT + TRAIT_DURATION], LONGEST_LOG)));
    }
    s->pitch += strays(clip->pitch, 1, clip->durations, clip->text);
    s->predicted_pitch += strays(clip->traits + TRAIT_PITCH, TRAIT_COUNT, clip->durations, clip->text);
}

void manner_measure(const MannerSums *s, double *pace, double *spread)
{
    *pace = *spread = 1;
    if (s->clips < FEW_CLIPS)
        return;
    const double longer = s->frames / s->predicted_frames, wider = sqrt(s->pitch / s->predicted_pitch);
    /* A few sentences may just be slow ones. */
    if (isfinite(longer))
        *pace = 1 + (fmin(fmax(longer, 1 / MOST_PACE), MOST_PACE) - 1) * s->clips / (s->clips + DOUBT);
    if (isfinite(wider))
        *spread = fmin(fmax(wider, 1), MOST_SPREAD);
}
