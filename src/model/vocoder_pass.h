/* vocoder_pass.h - the activations of one batch of the vocoder. Private to src/model. R: frames of all rows.
 */
#ifndef MYXTTS_VOCODER_PASS_H
#define MYXTTS_VOCODER_PASS_H

#include "model/network.h"

typedef struct BlockPass {
    void *x;           /* [R, C] what goes in */
    void *deep;        /* [R, C] after the filters of single channels */
    void *out;         /* [R, C] its norm */
    void *mean, *rstd; /* [R] acc */
    void *h;           /* [R, VOCODER_WIDEN * C] */
} BlockPass;

typedef struct VocoderPass {
    Pass pass;
    int32_t *unused_len; /* [B] where length_groups writes when only its sum is wanted */
    void *mel;           /* [R, n] scaled */
    float *prior;        /* [R, n_fft / 2 + 1] logarithms of the magnitudes, guessed from the mel */
    NormPass first;      /* sum: the convolution's output; out: what goes into the first block */
    BlockPass block[MODEL_MAX_LAYERS];
    NormPass last;  /* sum: what comes out of the last block */
    void *y;        /* [R, C] of a branch */
    void *spectrum; /* [R, ld] */
    void *wave;     /* [B, samples] acc */
    void *unfolded; /* kept of the convolution; NULL where ops have no use for it */
    /* gradients */
    void *dwave;     /* like wave */
    void *dspectrum; /* [R, ld] */
    void *dx[2];     /* [R, C] of the stream */
    void *dn, *dd;   /* [R, C] */
    void *dh;        /* like h */
} VocoderPass;

/* The functions of network_vocoder. */
void vocoder_pass_cut(Pass *p, const Ops *ops, Cut *c);
void vocoder_pass_forward(Pass *p, int training);
void vocoder_pass_losses(Pass *p, void *sums);
void vocoder_pass_backward(Pass *p);
void vocoder_pass_output(const Pass *p, PassOutput *o);

#endif
