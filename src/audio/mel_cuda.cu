/* mel_cuda.cu - the mel's tables as the GPU wants them; the arithmetic is in mel_cuda.h. */
#include "audio/mel_cuda.h"

#include <string.h>

#define ALIGN 256 /* bytes: where every table begins */

/* Appends a table to the image, if there is one; returns where it begins. */
static size_t put(uint8_t *image, size_t *at, const void *data, size_t bytes)
{
    size_t offset = *at;
    if (image)
        memcpy(image + offset, data, bytes);
    *at = (offset + bytes + ALIGN - 1) / ALIGN * ALIGN;
    return offset;
}

size_t mel_cuda_layout(MelCuda *m, const MelTables *t, uint8_t *image, const uint8_t *memory)
{
    size_t at = 0;
    const FftPlan *f = &t->fft;
    *m = {};
    m->n_fft = t->n_fft;
    m->hop = t->hop;
    m->n_bands = t->n_bands;
    m->n_bins = t->n_bins;
    m->packed = t->packed;
    m->n = f->n;
    m->n_passes = f->n_passes;
    m->window = (const double *)(memory + put(image, &at, t->window, (size_t)t->n_fft * sizeof(double)));
    m->unpack_twiddles = (const double2 *)(memory + put(image, &at, t->unpack_twiddles,
                                                        (size_t)(t->n_fft / 4 + 1) * sizeof(double2)));
    /* The passes, with twists and roots of their own. */
    for (int i = 0; i < f->n_passes; i++) {
        const FftPass *p = &f->passes[i];
        size_t twists = (size_t)(p->length / p->radix) * (size_t)(p->radix - 1);
        m->passes[i].radix = p->radix;
        m->passes[i].length = p->length;
        m->passes[i].twist = (const double2 *)(memory + put(image, &at, p->twist, twists * sizeof(double2)));
        m->passes[i].roots =
            (const double2 *)(memory + put(image, &at, p->roots, (size_t)p->radix * sizeof(double2)));
        m->out_of_place |= p->radix != 8 && p->radix != 4 && p->radix != 2;
    }
    /* The host leaves gaps between the blocks of the first pass; here there are none. */
    size_t places = at;
    for (int k = 0; k < f->n; k++) {
        int place = f->place[k] / f->block_step * f->block + f->place[k] % f->block_step;
        if (image)
            memcpy(image + places + (size_t)k * sizeof place, &place, sizeof place);
    }
    at = (places + (size_t)f->n * sizeof(int) + ALIGN - 1) / ALIGN * ALIGN;
    m->place = (const int *)(memory + places);
    /* Bands as the kernels load them, four ints at once. */
    size_t bands = at;
    int weights = 0;
    for (int b = 0; b < t->n_bands; b++) {
        int4 band = {t->bands[b].first, t->bands[b].count, t->bands[b].weight, 0};
        weights = band.z + band.y;
        if (image)
            memcpy(image + bands + (size_t)b * sizeof band, &band, sizeof band);
    }
    at = (bands + (size_t)t->n_bands * sizeof(int4) + ALIGN - 1) / ALIGN * ALIGN;
    m->bands = (const int4 *)(memory + bands);
    m->weights = (const double *)(memory + put(image, &at, t->weights, (size_t)weights * sizeof(double)));
    return at;
}
