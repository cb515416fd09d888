/* vocoder_tables.h - what a vocoder's ops need besides weights: windows and turns of the transforms, the
 * bands that its loss compares, and how a mel's bands spread over the bins of a spectrum. Computed once from
 * the settings. Private to src/model. Threads: read-only after they are made. */
#ifndef MYXTTS_VOCODER_TABLES_H
#define MYXTTS_VOCODER_TABLES_H

#include "model/model.h"

#define VOCODER_LOSSES 4 /* resolutions that the loss compares spectra at */

/* Weighted sums as bytes of the image. */
typedef struct BandsAt {
    int count;
    size_t first, width, at, weights;
} BandsAt;

typedef struct VocoderTables {
    struct {
        int n, hop; /* of the transforms */
        BandsAt bands;
    } loss[VOCODER_LOSSES];
    BandsAt spread; /* for each bin: the bands of the mel that lie over it */
    BandsAt mel;    /* the bands of the mel themselves */
    size_t bytes;   /* of the image, a multiple of 256 */
    uint8_t image[];
} VocoderTables;

/* malloc'd. ERR_CONFIG, ERR_NOMEM. */
int vocoder_tables_make(VocoderTables **t, const Config *cfg, Err *err);

/* Device bytes of the image and of the tables of all transforms behind it. */
uint64_t vocoder_tables_bytes(const Model *m, const Ops *ops);
/* Fills m->tables. */
int vocoder_tables_attach(Model *m, Err *err);
/* Where the ops find them. */
SoundBands vocoder_spread(const Model *m);
SoundBands vocoder_bands(const Model *m, int loss);
int vocoder_band_count(const Model *m, int loss);
int vocoder_hop(const Model *m, int loss);
SoundFrames vocoder_loss_frames(const Model *m, const Ops *ops, int loss);
SoundFrames vocoder_frames(const Model *m, const Ops *ops); /* of the sound that it makes */
SoundBands vocoder_mel_bands(const Model *m);
SoundFrames vocoder_mel_frames(const Model *m, const Ops *ops); /* under the window of the mel */

#endif
