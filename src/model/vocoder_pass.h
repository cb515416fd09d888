/* vocoder_pass.h - the activations of one batch of the vocoder. Private to src/model. R: frames of all rows.
 */
#ifndef MYXTTS_VOCODER_PASS_H
#define MYXTTS_VOCODER_PASS_H

#include "model/critic.h"
#include "model/network.h"
#include "model/vocoder_tables.h"

/* What a block keeps of the forward pass, and the gradients of its backward pass. */
typedef struct BlockPass {
    void *x;           /* [R, C] what goes in */
    void *deep;        /* [R, C] after the filters of single channels */
    void *out;         /* [R, C] its norm */
    void *mean, *rstd; /* [R] acc */
    void *h;           /* [R, VOCODER_WIDEN * C] */
    void *dn, *dd;     /* of out, deep */
    void *dh;
} BlockPass;

typedef struct VocoderPass {
    Pass pass;
    int32_t *unused_len;     /* [B] where length_groups writes when only its sum is wanted */
    void *mel;               /* [R, n] scaled */
    float *prior;            /* [R, n_fft / 2 + 1] logarithms of the magnitudes, guessed from the mel */
    NormPass first;          /* sum: the convolution's output; its out is what goes into the first block */
    BlockPass block;         /* of the first; those of the others lie behind them, a step apart */
    int kept, grads;         /* blocks that have their own; 1: all share it */
    NormPass last;           /* sum: what comes out of the last block */
    void *spectrum;          /* [R, ld] */
    void *wave;              /* [B, samples] acc */
    void *unfolded;          /* kept of the convolution; NULL where ops have no use for it */
    struct {                 /* of a resolution, for the critics */
        int32_t *len;        /* [B] frames */
        void *ours, *theirs; /* [B, frames, bands] of the sound, of the recording */
        void *dours;
    } seen[VOCODER_LOSSES];
    CriticPass critic[CRITICS_MOST];
    /* gradients */
    void *dwave;     /* like wave */
    void *dspectrum; /* [R, ld] */
    void *dx;        /* [R, C] of what goes into each block, and of what comes out of the last */
    void *dedge;     /* [R, C] before the first block and behind the last */
} VocoderPass;

/* The functions of network_vocoder. */
void vocoder_pass_cut(Pass *p, const Ops *ops, Cut *c);
void vocoder_pass_forward(Pass *p, int training);
void vocoder_pass_losses(Pass *p, void *sums);
void vocoder_pass_backward(Pass *p);
void vocoder_pass_output(const Pass *p, PassOutput *o);

#endif
