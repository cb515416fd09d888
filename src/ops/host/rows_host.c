/* rows_host.c - rows by index, lengths in groups of frames, the mean of every row.
 * Compiled twice, with -DREAL=float and -DREAL=double: see host_real.h. */
#include <string.h>

#include "ops/host/host_real.h"

void HOST(gather_forward)(OpsContext *c, void *out, const void *in, const int32_t *index, int B, int C)
{
    for (int b = 0; b < B; b++)
        memcpy((REAL *)out + (int64_t)b * C, (const REAL *)in + (int64_t)index[b] * C,
               (size_t)C * sizeof(REAL));
}

void HOST(gather_backward)(OpsContext *c, void *din, const void *dout, const int32_t *index, int B, int C)
{
    /* Rows may be taken more than once: gradients add up. */
    memset(din, 0, (size_t)B * (size_t)C * sizeof(REAL));
    for (int b = 0; b < B; b++) {
        REAL *to = (REAL *)din + (int64_t)index[b] * C;
        VEC(host_of(c))->add(to, to, (const REAL *)dout + (int64_t)b * C, C);
    }
}

void HOST(length_groups)(OpsContext *c, int32_t *out, void *total, const int32_t *len, int B, int r)
{
    int64_t sum = 0;
    for (int b = 0; b < B; b++) {
        /* The last group may not be full. */
        out[b] = (len[b] + r - 1) / r;
        sum += len[b];
    }
    if (total)
        *(REAL *)total += (REAL)sum;
}

void HOST(band_mean)(OpsContext *c, float *out, const float *in, int64_t rows, int n)
{
    for (int64_t i = 0; i < rows; i++) {
        float sum = 0;
        for (int k = 0; k < n; k++)
            sum += in[i * n + k];
        out[i] = sum / (float)n;
    }
}
