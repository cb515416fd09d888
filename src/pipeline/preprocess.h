/* preprocess.h - what happens to a batch on the data device: mel from samples (on_the_fly), halves to floats,
 * normalisation, padding, augmentation. The same work on every device: host and sim run preprocess_host.c as
 * a kernel of their stream, CUDA runs preprocess_cuda.cu. raw is a host slot's memory copied as it was
 * (BatchLayout of batch_layout_host), out a device batch (batch_layout_device). Padding of the output mel is
 * exactly 0.0 after normalisation. The pitch comes finished from the loader; only its padding is set here.
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
    int rows, text, frames, bands, mel_bytes; /* padded sizes of this batch; mel_bytes 2 or 4 */
    int64_t samples;                          /* per row; 0: the mel comes from the cache */
    int64_t batch;                            /* number, for the simulated time */
} PreprocessArgs;

typedef struct Preprocess Preprocess;
/* mean, deviation: [bands], NULL = no normalisation. The Preprocess keeps what it needs on the device
 * (tables, filterbank). */
int preprocess_open(Preprocess **p, Device *d, const Config *cfg, const double *mean, const double *deviation,
                    Err *err);
void preprocess_close(Preprocess *p);
uint64_t preprocess_bytes(const Preprocess *p); /* of device memory it holds, for the plan */
/* Enqueues; never waits. */
int preprocess_run(Preprocess *p, Stream *s, const PreprocessArgs *args, Err *err);
/* One row in the calling thread, on the host: the loader's workers do it where the data device is the CPU.
 * stored: where the row's mel or samples lie when they are not in raw (a mapped cache, a decoder's buffer);
 * NULL otherwise. Each thread needs a Preprocess of its own. */
void preprocess_row(Preprocess *p, const PreprocessArgs *args, int row, const void *stored);

#endif
