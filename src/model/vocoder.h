/* vocoder.h - a trained vocoder makes sound: log mel -> samples, host memory in and out. Mels are raw natural
 * logarithms, as audio/mel.h has them. T frames are (T - 1) * hop_length samples, frame t around sample t *
 * hop_length. What is more than vocoder_context frames away from a sample has no part in it.
 * Threads: one at a time, not while steps of the same OpsContext are enqueued. */
#ifndef MYXTTS_VOCODER_H
#define MYXTTS_VOCODER_H

#include <stdint.h>

#include "base/err.h"
#include "model/model.h"

typedef struct Vocoder Vocoder;

/* Device bytes that vocoder_open will take. */
uint64_t vocoder_bytes(const Model *m, const Ops *ops, int frames);
/* m: a vocoder, attached, its weights loaded. frames: most at once, at least 2. *v is NULL after a failure.
 */
int vocoder_open(Vocoder **v, Model *m, int frames, Err *err);
void vocoder_close(Vocoder *v); /* NULL is fine */
/* samples [(frames - 1) * hop_length] of mel [frames, n_mels]; 2 <= frames <= those of vocoder_open. Waits
 * for the device. ERR_DATA when samples are not finite. */
int vocoder_run(Vocoder *v, float *samples, const float *mel, int frames, Err *err);

/* Frames on either side of a sample that it depends on: sound made in pieces with this many more frames at
 * their ends is that of the whole. */
int vocoder_context(const Config *cfg);

/* How the bands of a mel spread over the bins of a spectrum, for the first guess of it: weights
 * [n_fft / 2 + 1, n_mels]. The same as the device has; m need not be attached. */
void vocoder_spread_matrix(const Model *m, float *weights);

/* Good defaults; docs/SPEED.md has what more and fewer give. On a CPU 32 take longer than the network. */
#define VOCODER_ROUNDS 32
#define VOCODER_ROUNDS_CPU 16

/* Changes samples [(frames - 1) * hop_length] of vocoder_run by this many rounds of Griffin-Lim, so that
 * their mel comes closer to the one they were made from. What is too short for a transform stays as it is. */
int vocoder_refine(Vocoder *v, float *samples, const float *mel, int frames, int rounds, Err *err);
/* As vocoder_context, of this many rounds. */
int vocoder_refine_context(const Config *cfg, int rounds);

#endif
