/* sharpen.c - see sharpen.h. */
#include "model/sharpen.h"

#include <math.h>
#include <string.h>

#define WIDTH 0.05 /* deviation of the Gaussian, in parts of all bands: about a formant */
#define REACH 3.0  /* deviations */

static double deviation_of(int bands) { return fmax(WIDTH * bands, 0.5); }
static int reach_of(int bands) { return (int)(REACH * deviation_of(bands)); }

void sharpen_matrix(float *out, int bands, double amount)
{
    const double deviation = deviation_of(bands);
    const int reach = reach_of(bands);
    double all = 0;
    for (int d = -reach; d <= reach; d++)
        all += exp(-0.5 * d * d / (deviation * deviation));
    memset(out, 0, (size_t)bands * (size_t)bands * sizeof *out);
    for (int b = 0; b < bands; b++) {
        float *row = out + (size_t)b * (size_t)bands;
        row[b] = (float)(1 + amount);
        for (int d = -reach; d <= reach; d++) {
            const int from = b + d < 0 ? 0 : b + d >= bands ? bands - 1 : b + d;
            row[from] -= (float)(amount * exp(-0.5 * d * d / (deviation * deviation)) / all);
        }
    }
}

void sharpen_mel(float *mel, float *row, int frames, int bands, const float *matrix)
{
    const int reach = reach_of(bands);
    for (int m = 0; m < frames; m++, mel += bands) {
        for (int b = 0; b < bands; b++) {
            const float *weights = matrix + (size_t)b * (size_t)bands;
            const int from = b > reach ? b - reach : 0, to = b + reach < bands ? b + reach : bands - 1;
            float sum = 0;
            for (int k = from; k <= to; k++)
                sum += weights[k] * mel[k];
            row[b] = sum;
        }
        memcpy(mel, row, (size_t)bands * sizeof *mel);
    }
}
