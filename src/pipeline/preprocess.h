/* preprocess.h - the work on a batch on the data device: mel from samples (on_the_fly), halves to floats,
 * normalisation, padding, augmentation. It is the same on every device: host and sim run preprocess_host.c as
 * a kernel of their stream, CUDA runs preprocess_cuda.cu. The input, raw, is a copy of a host slot
 * (batch_layout_host); the output is a device batch (batch_layout_device), in which the padding of the mel is
 * exactly 0.0. The loader has already computed the pitch; only its padding is set here.
 * Threads: a Preprocess belongs to one thread at a time. */
#ifndef MYXTTS_PREPROCESS_H
#define MYXTTS_PREPROCESS_H

#include "audio/mel.h"
#include "device/device.h"
#include "pipeline/batch.h"

typedef struct PreprocessArgs {
    const uint8_t *raw;
    uint8_t *out;
    BatchLayout in_layout, out_layout;
    int rows, text, frames, bands, mel_bytes; /* padded sizes of this batch; mel_bytes: 2 or 4 */
    int16_t keeps_samples;                    /* 1: out has the samples too, `samples` a row, 0-padded */
    int16_t brings_mel; /* 1: the mel comes from the cache, although there are samples */
    int64_t samples;    /* per row; 0: the mel comes from the cache */
    int64_t batch;      /* its number, for the simulated time */
} PreprocessArgs;

typedef struct Preprocess Preprocess;
/* mean, deviation: [bands], NULL = no normalisation; they are copied. The tables are kept on the device. */
int preprocess_open(Preprocess **p, Device *d, const Config *cfg, const double *mean, const double *deviation,
                    Err *err);
void preprocess_close(Preprocess *p);
uint64_t preprocess_bytes(const Preprocess *p); /* device memory in use, for the memory plan */
/* Enqueues the work; never waits. */
int preprocess_run(Preprocess *p, Stream *s, const PreprocessArgs *args, Err *err);
/* Preprocesses one row on the host, in the calling thread; the loader's workers do so if the data device is
 * the CPU. stored: the row's mel or samples if they are not in raw (but in a mapped cache or a decoder's
 * buffer), else NULL. Each thread needs its own Preprocess. */
void preprocess_row(Preprocess *p, const PreprocessArgs *args, int row, const void *stored);

#endif
