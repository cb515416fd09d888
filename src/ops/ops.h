/* ops.h - the arithmetic of the network: one function table, filled for host (float, double) and for CUDA
 * (float, bf16). The model is written once over this table and never asks what device it runs on.
 *
 * Types: `real` is the table's type of activations and working weights (float, double or bf16; pointers are
 * void *). Gradients of parameters, statistics, losses and positions are `acc`: float (double in the double
 * table). int32 for ids and lengths. Layout: row major, the last dimension is contiguous. B batch, T time, C
 * channels, H heads, D head size. Gradients: parameters are always +=; activations are = unless the comment
 * says +=. Pointers that may be NULL say so. Lengths: len [B] int32; rows t >= len[b] are padding. Every op
 * that mixes rows (attention, convolution, pooling, losses) takes lengths and gives the same result whatever
 * is in the padding; row-wise ops do not care. Errors: shapes are asserted; failed launches come back
 * from check. Everything is enqueued on c->stream; nothing waits or allocates. Determinism: results do not
 * depend on thread counts; on CUDA no atomics on floats are used, so equal inputs give equal bits. */
#ifndef MYXTTS_OPS_H
#define MYXTTS_OPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "device/device.h"

typedef enum { REAL_F32, REAL_F64, REAL_BF16 } RealType;
typedef enum { ACT_NONE, ACT_RELU, ACT_TANH } Activation;

/* What changes from step to step, read by the ops when they run and not when they are enqueued: a captured
 * graph then serves every step. */
typedef struct OpsStep {
    uint64_t seed;  /* added to the seed of every Dropout */
    int64_t number; /* of adamw, from 1; it replaces the argument `step` */
    float lr;       /* of adamw; it replaces the argument `lr` */
    float stop;     /* 1: this rank wishes to stop; no op reads it */
    int64_t share;  /* which share of its batch this is, from 0; see Dropout */
} OpsStep;

/* What watches over the gradients, on the device; it goes into checkpoints as it is. */
typedef struct OpsGuard {
    float norm;          /* of the newest gradient, per frame */
    float mean;          /* running mean of the norms of steps that were made */
    int32_t seen;        /* steps made */
    int32_t skipped;     /* the newest step was not made: 1 not finite, 2 far too high; 0 it was made */
    int32_t consecutive; /* steps in a row that were not made */
    int32_t total;       /* steps that were not made, ever */
} OpsGuard;
#define GUARD_SETTLE 20 /* steps before a high norm counts as one */

typedef struct OpsContext {
    const struct Ops *ops;
    Device *device;
    Stream *stream;
    void *workspace; /* device memory for the ops' own use, ops->workspace_bytes at least */
    size_t workspace_bytes;
    const OpsStep *step; /* device memory; NULL: nothing is added, the arguments hold */
    int threads; /* host: threads that compute, the caller among them; 0 and 1: the caller alone. Set before
                    open. CUDA: unused */
    /* CUDA. deterministic: of products that come for the first time, algorithms are taken as the library
     * offers them, none is timed; it may change between calls. unfused, set before open: bias and activation
     * are operations of their own after the product. */
    int deterministic, unfused;
    void *own; /* of the implementation: handles, tables */
} OpsContext;

/* Dropout: element i of a call is kept where 16 random bits of (seed, i) say so (philox.h), with probability
 * 1 - p, and then scaled so that its mean stays; p is rounded to a multiple of 2^-16. The same on every
 * device. p = 0: nothing happens. Backward uses the same seed. In share k of a batch element i of n is number
 * k * n + i: rows are dropped out in the same places, however the batch is shared out. */
typedef struct Dropout {
    float p;
    uint64_t seed;
} Dropout;

/* Attention: O = softmax(scale * Q K^T, masked) V for each batch and head. Rows of q start at q + ((b * tq) +
 * t) * ldq, head h at + h * D. Keys j >= k_len[b] are invisible; queries i >= q_len[b], and all queries where
 * k_len[b] is 0, give zeros (o, lse) and no gradient (dq, dk, dv are zero there). The score matrix is never
 * stored on CUDA. */
typedef struct AttentionShape {
    int batch, heads, head_size, tq, tk;
    int64_t ldq, ldk, ldv, ldo;   /* elements between rows */
    const int32_t *q_len, *k_len; /* [B] on the device */
    float scale;
} AttentionShape;

/* Which frames belong to which symbol, on the device; durations_place fills start and symbol from durations.
 */
typedef struct Durations {
    int32_t *frames; /* [B,T] frames of a symbol; 0 past the text */
    int32_t *start;  /* [B,T] its first frame */
    int32_t *symbol; /* [B,M] the symbol of a frame; -1 past the last */
} Durations;

/* Columns of what is predicted for every symbol. */
typedef enum { TRAIT_DURATION, TRAIT_PITCH, TRAIT_ENERGY, TRAIT_COUNT } Trait;

/* How a signal is cut into frames: frame t is n samples (a power of two, at most 4096) around sample t * hop,
 * under a periodic Hann window, that of sound_tables. T frames are (T - 1) * hop samples. */
typedef struct SoundFrames {
    int n, hop;
    const void *tables; /* [2 * n] acc */
} SoundFrames;

/* Weighted sums of neighbouring values of a row. As bands of a spectrum [n / 2 + 1] they are triangles, every
 * second of which may not overlap. On the device. */
typedef struct SoundBands {
    int count;
    const int32_t *first, *width, *at; /* [count] first value, values, where their weights begin */
    const float *weights;
    float floor; /* least value before the logarithm */
} SoundBands;

/* Layers of one shape, whose arrays lie at equal distances: those of the first, and how many elements (acc of
 * parameters, real of activations, acc of rows) are from one to the next. */
typedef struct Linears {
    int count;
    void *dw, *dbias;      /* [N,K], [N] acc */
    const void *dout, *in; /* [M,N], [M,K] */
    int64_t param_step, dout_step, in_step;
} Linears;

typedef struct FilterNorms {
    int count;
    void *dw, *dbias, *dnorm_w, *dnorm_b; /* [K,C], [C], [C], [C] acc */
    const void *in, *deep, *dout;         /* [B,T,C] */
    void *ddeep;                          /* [B,T,C]; filter_norm_backward writes it */
    const void *mean, *rstd;              /* [B,T] acc */
    int64_t param_step, real_step, row_step;
} FilterNorms;

/* What a critic sees of a mel [B,T,n]: `windows` of `width` neighbouring bands, spread evenly over all of
 * them, and `pool` frames as their mean. It is [B * windows, T / pool, channels]: the bands, then, of several
 * windows, a 1 at the number of the window, then zeros. Row b * windows + k is window k of item b. */
typedef struct CriticView {
    int windows, width, pool, channels;
} CriticView;
/* The first band of a window. A macro, because both kinds of compilers need it. */
#define CRITIC_VIEW_FIRST(v, n, window) \
    ((v).windows > 1 ? (window) * ((n) - (v).width) / ((v).windows - 1) : 0)

typedef enum { LOSS_L1, LOSS_HUBER, LOSS_MSE } LossKind;

#define SIDE_NOTES 4
#define SOUND_LOUDEST 100 /* magnitude of wave_forward */
#define SOUND_SCALES 4    /* most resolutions of spectral_loss */

/* One resolution of spectral_loss, which has samples / hop + 1 frames. */
typedef struct SoundScale {
    SoundFrames frames;
    SoundBands bands;
    float weight;
    /* [B,frames,bands] real: the gradient, times dbands_scale, that the logarithms of the wave's bands have
     * from elsewhere; NULL: none. */
    const void *dbands;
    float dbands_scale;
} SoundScale;

typedef struct Ops {
    RealType real;
    size_t real_bytes, acc_bytes;
    /* Opens handles and tables; the workspace is the caller's. */
    int (*open)(OpsContext *c, Device *d, Stream *s, Err *err);
    void (*close)(OpsContext *c);          /* safe on a zeroed context */
    int (*check)(OpsContext *c, Err *err); /* 0, or the first launch that failed since open */
    size_t workspace_bytes;                /* enough for any problem */

    /* out [M,N] = act(in [M,K] * w [N,K]^T + bias [N]); bias may be NULL. accumulate: out += (then act is
     * NONE). */
    void (*linear_forward)(OpsContext *c, void *out, const void *in, const void *w, const void *bias,
                           int64_t M, int N, int K, Activation act, int accumulate);
    /* Gradients of the above. dout [M,N] is changed in place to the gradient before the activation (out is
     * read for that; unused for NONE). din [M,K] = or += (accumulate), dw [N,K] +=, dbias [N] +=, the last
     * two acc; NULL: not wanted, but dbias only with dw. */
    void (*linear_backward)(OpsContext *c, void *din, void *dw, void *dbias, void *dout, const void *out,
                            const void *in, const void *w, int64_t M, int N, int K, Activation act,
                            int accumulate);

    /* out [M,N] = add [M,N] + in w^T + bias; out may be add. */
    void (*linear_add)(OpsContext *c, void *out, const void *add, const void *in, const void *w,
                       const void *bias, int64_t M, int N, int K);
    /* dw and dbias of linears without activation, as linear_backward adds them. */
    void (*linear_weights)(OpsContext *c, const Linears *l, int64_t M, int N, int K);
    /* How many layers linear_weights and filter_norm_weights are best called for at once; 1: it makes no
     * difference. */
    int layers_at_once;

    /* sum [R,C] = x + dropout(y); y NULL: sum is x (and may be x itself). out [R,C] = layer norm of sum, eps
     * 1e-5; mean, rstd [R] acc. */
    void (*norm_forward)(OpsContext *c, void *sum, void *out, void *mean, void *rstd, const void *x,
                         const void *y, const void *w, const void *b, int64_t R, int C, Dropout drop);
    /* dx [R,C] = dsum (gradient that reaches sum from later layers, may be NULL) + the norm's part from dout;
     * dy = dropout's gradient of dx (NULL: none). dw, db [C] acc +=. dy_sum [C] acc += the column sums of dy,
     * which is the gradient of a bias that was added to y (NULL: not wanted, or no dy). */
    void (*norm_backward)(OpsContext *c, void *dx, void *dy, void *dw, void *db, void *dy_sum,
                          const void *dout, const void *dsum, const void *sum, const void *mean,
                          const void *rstd, const void *w, int64_t R, int C, Dropout drop);

    /* o [B,Tq,H*D]; lse [B,H,Tq] acc. */
    void (*attention_forward)(OpsContext *c, void *o, void *lse, const void *q, const void *k, const void *v,
                              const AttentionShape *s);
    /* dq, dk, dv have the strides of q, k, v and are =. */
    void (*attention_backward)(OpsContext *c, void *dq, void *dk, void *dv, const void *dout, const void *o,
                               const void *lse, const void *q, const void *k, const void *v,
                               const AttentionShape *s);

    /* out [B,T,C] = table[id] + alpha * PE(t) (sinusoids: channel 2i sin, 2i+1 cos of t / 10000^(2i/C)), then
     * dropout. id NULL: out = in + alpha * PE. */
    void (*embed_forward)(OpsContext *c, void *out, const int32_t *id, const void *table, const void *in,
                          const void *alpha, int B, int T, int C, Dropout drop);
    /* dtable [V,C] acc += (with id), din = (without id, may be NULL), dalpha [1] acc += (may be NULL). Rows
     * t >= len[b] have no gradient (len may be NULL). */
    void (*embed_backward)(OpsContext *c, void *dtable, void *din, void *dalpha, const void *dout,
                           const int32_t *id, const int32_t *len, int B, int T, int C, int V, Dropout drop);

    /* out [B,T,N] = act(conv over time, "same" zero padding, odd kernel K): w [N,K,C], bias [N]. Input rows t
     * >= len[b] count as zero; output rows there are zero. unfolded (unfolded_bytes; NULL: none): where the
     * input is kept as conv_backward needs it. */
    void (*conv_forward)(OpsContext *c, void *out, void *unfolded, const void *in, const void *w,
                         const void *bias, const int32_t *len, int B, int T, int C, int N, int K,
                         Activation act);
    /* dout is changed in place to the gradient before the activation; out is not read for ACT_NONE. din, dw,
     * dbias NULL: not wanted. unfolded: what conv_forward kept of this input; NULL: nothing. */
    void (*conv_backward)(OpsContext *c, void *din, void *dw, void *dbias, void *dout, const void *out,
                          const void *in, const void *unfolded, const void *w, const int32_t *len, int B,
                          int T, int C, int N, int K, Activation act);
    /* 0: there is no use for it, pass NULL. */
    uint64_t (*unfolded_bytes)(int64_t rows, int C, int K);

    /* deep [B,T,C] = convolution over time with one filter for each channel: w [K,C], bias [C], K odd and at
     * most 7, zero padding; input rows t >= len[b] count as zero, and rows of deep there are zero. out
     * [B,T,C] = the norm of deep, as norm_forward has it; mean, rstd [B,T] acc. */
    void (*filter_norm_forward)(OpsContext *c, void *out, void *deep, void *mean, void *rstd, const void *in,
                                const void *w, const void *bias, const void *norm_w, const void *norm_b,
                                const int32_t *len, int B, int T, int C, int K);
    /* Gradients of the above, of one layer: ddeep, and din = add [B,T,C] + the gradient of in. The gradients
     * of the parameters (+=) are complete when filter_norm_weights has been called, too: an implementation
     * may add them in either. din is none of the others. */
    void (*filter_norm_backward)(OpsContext *c, void *din, const void *add, const FilterNorms *f,
                                 const void *w, const void *norm_w, const int32_t *len, int B, int T, int C,
                                 int K);
    void (*filter_norm_weights)(OpsContext *c, const FilterNorms *f, const int32_t *len, int B, int T, int C,
                                int K);

    /* Two lanes. What is enqueued between side_begin and side_end goes to the side lane: it starts after
     * everything that was enqueued before side_begin, and may then run in parallel with what follows
     * side_end. side_note marks the present end of the side lane with a number below SIDE_NOTES;
     * side_await makes the main lane wait for that mark (not at all if it was never set). side_join makes it
     * wait for the whole side lane; every graph ends with one. Devices that do one thing at a time run
     * everything in order. */
    void (*side_begin)(OpsContext *c);
    void (*side_end)(OpsContext *c);
    void (*side_note)(OpsContext *c, int note);
    void (*side_await)(OpsContext *c, int note);
    void (*side_join)(OpsContext *c);
    /* Makes another stream of the device wait for all that was enqueued on the main lane until now, and with
     * side != 0 also on the side lane, which must have been used since the last join. */
    void (*side_follow)(OpsContext *c, Stream *s, int side);
    /* *at = nanoseconds of the device's clock, when the work before it is done. */
    void (*stamp)(OpsContext *c, uint64_t *at);

    /* out may be in. Backward is the same call on gradients. */
    void (*dropout_forward)(OpsContext *c, void *out, const void *in, int64_t n, Dropout drop);
    /* out = a + b; out may be either. */
    void (*add_forward)(OpsContext *c, void *out, const void *a, const void *b, int64_t n);
    /* out [B,T,C] = in + v [B,C] at every t. Backward: dv [B,C] = sum over t < len[b] of dout (din is dout
     * itself). */
    void (*add_vector_forward)(OpsContext *c, void *out, const void *in, const void *v, int B, int T, int C);
    void (*add_vector_backward)(OpsContext *c, void *dv, const void *dout, const int32_t *len, int B, int T,
                                int C, int accumulate);
    /* out [B,C] = mean over t < len[b] of in (zero for len 0). */
    void (*pool_forward)(OpsContext *c, void *out, const void *in, const int32_t *len, int B, int T, int C);
    void (*pool_backward)(OpsContext *c, void *din, const void *dout, const int32_t *len, int B, int T,
                          int C);
    /* out [B,N] = the same row in [N] for every b; backward: din [N] acc += sum over b. (Style tokens.) */
    void (*broadcast_forward)(OpsContext *c, void *out, const void *in, int B, int64_t N);
    void (*broadcast_backward)(OpsContext *c, void *din, const void *dout, int B, int64_t N);
    void (*fill_zero)(OpsContext *c, void *p, size_t bytes);
    void (*fill_int)(OpsContext *c, int32_t *out, int32_t value, int n);
    /* out [B,C] = row index[b] of in [any,C]; backward: din [B,C] = sum over the b that took it, in their
     * order. (Voice references; forward also languages, whose backward is that of embed.) */
    void (*gather_forward)(OpsContext *c, void *out, const void *in, const int32_t *index, int B, int C);
    void (*gather_backward)(OpsContext *c, void *din, const void *dout, const int32_t *index, int B, int C);
    /* out [B] = ceil(len[b] / r); total [1] acc += sum of len (NULL: not wanted). */
    void (*length_groups)(OpsContext *c, int32_t *out, void *total, const int32_t *len, int B, int r);
    /* out [rows] float = mean of in [rows,n] float. */
    void (*band_mean)(OpsContext *c, float *out, const float *in, int64_t rows, int n);
    /* out [B,G,r*n] (real) = frames of mel [B,T,n] (float) in groups of r side by side; frames at or past
     * len[b] are zero. G = ceil(T / r). */
    void (*group_frames)(OpsContext *c, void *out, const float *mel, const int32_t *len, int B, int T, int r,
                         int n);

    /* --- symbols and frames --- */

    /* Monotonic search (docs/MODEL.md): frames [B,T] = the durations that give every symbol at least one
     * frame, in order, and maximise the sum over frames of mel[m] . mu[s] - |mu[s]|^2 / 2. mu [B,T,n] real,
     * mel [B,M,n] float. cost [B] float = mean over the clip's frames of |mel - mu|^2 / n along that path
     * (NULL: not wanted). Items with more symbols than frames: the first mel_len[b] symbols get one frame
     * each. Ties go to the later symbol: walking back from the end, the path moves on to the symbol before
     * only where that is strictly better. */
    void (*align_search)(OpsContext *c, int32_t *frames, float *cost, const void *mu, const float *mel,
                         const int32_t *text_len, const int32_t *mel_len, int B, int T, int M, int n);
    /* start and symbol from d->frames. Frames past M are cut off. length [B] (NULL: not wanted) = the sum of
     * an item's frames, at most M. */
    void (*durations_place)(OpsContext *c, const Durations *d, int32_t *length, const int32_t *text_len,
                            int B, int T, int M);
    /* out [B,M,C] = in [B,T,C] at the symbol of each frame; zero where there is none. */
    void (*repeat_forward)(OpsContext *c, void *out, const void *in, const Durations *d, int B, int T, int M,
                           int C);
    /* din [B,T,C] = sum over the frames of each symbol, in their order. */
    void (*repeat_backward)(OpsContext *c, void *din, const void *dout, const Durations *d, int B, int T,
                            int M, int C);
    /* out [B,T] = mean of in [B,M] over the frames of each symbol; 0 for symbols without frames. */
    void (*symbol_means)(OpsContext *c, float *out, const float *in, const Durations *d, int B, int T, int M);
    /* out [B,T,C] = in + pitch[b,t] w_pitch + energy[b,t] w_energy; pitch, energy float [B,T]; out may be in.
     */
    void (*add_traits_forward)(OpsContext *c, void *out, const void *in, const float *pitch,
                               const float *energy, const void *w_pitch, const void *w_energy, int64_t rows,
                               int C);
    /* dw_pitch, dw_energy [C] acc += sum over rows t < len[b] of pitch (energy) times dout [B,T,C]. (din is
     * dout itself.) */
    void (*add_traits_backward)(OpsContext *c, void *dw_pitch, void *dw_energy, const void *dout,
                                const float *pitch, const float *energy, const int32_t *len, int B, int T,
                                int C);

    /* Losses: value [1] acc += weight * sum; dpred = weight * gradient of the sum (NULL: value only; d = pred
     * - target, L1 |d|, MSE d^2, Huber d^2 / 2 up to delta, then delta (|d| - delta / 2)). Only rows t <
     * len[b] count; others get gradient 0. pred [B,T,n] real, target [B,T,n] float. The weight holds the
     * normalisation, so that accumulation over micro-batches is a sum. accumulate: dpred +=. */
    void (*loss_forward)(OpsContext *c, void *value, void *dpred, const void *pred, const float *target,
                         const int32_t *len, int B, int T, int n, LossKind kind, float delta, float weight,
                         int accumulate);
    /* value [1] acc += weight * sum over frames of |mel - mu[symbol]|^2; dmu [B,T,n] = its gradient (NULL:
     * value only). */
    void (*align_loss)(OpsContext *c, void *value, void *dmu, const void *mu, const float *mel,
                       const Durations *d, const int32_t *text_len, int B, int T, int M, int n, float weight);
    /* What is predicted for every symbol, pred [B,T,TRAIT_COUNT] real, against what it is; rows t < len[b]
     * count, others get gradient 0. values [TRAIT_COUNT] acc +=: weight[0] * (exp(l) - d + d (log d - l)),
     * weight[1] * (p - pitch)^2, weight[2] * (e - energy)^2. A symbol without frames counts as one of
     * duration 1. dpred = the gradient; NULL: values only. */
    void (*traits_loss)(OpsContext *c, void *values, void *dpred, const void *pred, const int32_t *frames,
                        const float *pitch, const float *energy, const int32_t *len, int B, int T,
                        const float weight[TRAIT_COUNT]);

    /* --- critics --- */

    /* out [B * windows, T / pool, channels] and view_len [B * windows] of a mel: `in` [B,T,n] real, or where
     * that is NULL `mel` [B,T,n] float. Rows from len[b] / pool on are zero. */
    void (*view_forward)(OpsContext *c, void *out, int32_t *view_len, const void *in, const float *mel,
                         const int32_t *len, int B, int T, int n, CriticView v);
    /* din [B,T,n] += the gradient of `in`. */
    void (*view_backward)(OpsContext *c, void *din, const void *dout, const int32_t *len, int B, int T, int n,
                          CriticView v);
    /* Least squares (Mao 2017) over score [2 R,T] real, of R rows of recordings and R of a voice; rows t <
     * len[r] count, others get gradient 0. values [2] acc +=: critic * ((1 - recording)^2 + voice^2), voice *
     * (1 - voice)^2. dcritic [2 R,T] = the gradient of the first, dvoice [R,T] = that of the second in the
     * voice's scores. */
    void (*critic_loss)(OpsContext *c, void *values, void *dcritic, void *dvoice, const void *score,
                        const int32_t *len, int R, int T, float critic, float voice);
    /* value [1] acc += weight * sum of |in - target|, both [R,T,C] real; din += its gradient. Rows t < len[r]
     * count. */
    void (*feature_loss)(OpsContext *c, void *value, void *din, const void *in, const void *target,
                         const int32_t *len, int R, int T, int C, float weight);

    /* --- sound --- */

    /* out [B,T,n] = (in [B,T,n] float + shift) * scale; zero at and past len[b]. */
    void (*scale_frames)(OpsContext *c, void *out, const float *in, const int32_t *len, int B, int T, int n,
                         float shift, float scale);
    /* out [rows,bands->count] float = shift + the logarithms of the sums over exp(in [rows,n] float). */
    void (*log_spread)(OpsContext *c, float *out, const float *in, const SoundBands *bands, int64_t rows,
                       int n, float shift);

    /* tables [2 * n] acc: cos and -sin of 2 pi k / n for k < n / 2, then the window: `window` (even, <= n)
     * values in the middle of the n, with zeros around them. */
    void (*sound_tables)(OpsContext *c, void *tables, int n, int window);
    /* wave [B, (T-1) * hop] acc = the inverse transform of T frames. Row t of spectrum [B,T,ld] real has, for
     * F = n / 2 + 1 bins, the logarithms of the magnitudes, to which prior [B,T,F] float is added, then the
     * phases; magnitudes are at most SOUND_LOUDEST. */
    void (*wave_forward)(OpsContext *c, void *wave, const void *spectrum, int ld, const float *prior,
                         const SoundFrames *f, int B, int T);
    /* dspectrum [B,T,ld] =, zero past the phases. */
    void (*wave_backward)(OpsContext *c, void *dspectrum, const void *dwave, const void *spectrum, int ld,
                          const float *prior, const SoundFrames *f, int B, int T);
    /* value [1] acc += the sum over resolutions, frames and bands of weight * |log band(wave) - log
     * band(target)|, where a band is a weighted sum of magnitudes; the ends are reflected. dwave [B,samples]
     * acc = its gradient (NULL: value only). wave acc, target float; samples > n / 2 of every resolution.
     * Items with len[b] 0 do not count (len may be NULL). */
    void (*spectral_loss)(OpsContext *c, void *value, void *dwave, const void *wave, const float *target,
                          const int32_t *len, const SoundScale *scales, int count, int B, int samples);
    /* What critics see of a resolution, of 256 to 2048 points: ours and theirs [B,frames,bands] real =
     * (logarithm of the bands + shift) * scale, of the wave and of the target. rows [B] = frames; where
     * len[b] is 0 it is 0, and so are ours and theirs. */
    void (*sound_bands)(OpsContext *c, void *ours, void *theirs, int32_t *rows, const void *wave,
                        const float *target, const int32_t *len, const SoundScale *s, int B, int samples,
                        float shift, float scale);
    /* Rounds of the fast Griffin-Lim algorithm (audio/griffin_lim.h) that begin with a sound: wave [B, (T-1)
     * * hop] acc is changed until its bands are those of mel [B,T,bands->count] float, logarithms. In every
     * round the spectrum of a frame keeps the direction it has (with momentum), and its magnitudes, after one
     * multiplicative update towards the bands; those that no band covers are left alone. The ends are
     * reflected. Samples depend on what is up to `rounds` windows away. room: sound_refine_bytes. */
    void (*sound_refine)(OpsContext *c, void *wave, void *room, const float *mel, const SoundFrames *f,
                         const SoundBands *bands, int B, int T, int rounds);
    uint64_t (*sound_refine_bytes)(int B, int T, int n);

    /* Flat memory of n parameters. norm2 [1] acc = sum of squares of grad in double, and *finite int32 = 1,
     * or 0 when one of them or the sum is not finite. */
    void (*norm2)(OpsContext *c, void *norm2, int32_t *finite, const void *grad, int64_t n);
    /* Decides about a step: norm = sqrt(norm2) / frames; not finite, or over spike times the running mean
     * once GUARD_SETTLE steps were made: gscale [1] acc = 0. Otherwise gscale = 1 / frames, made smaller so
     * that the norm is at most clip (0: no limit). See guard.h. */
    void (*guard)(OpsContext *c, OpsGuard *g, void *gscale, const void *norm2, const int32_t *finite,
                  const void *frames, float clip, float spike);
    /* AdamW on master [n] acc: grad is scaled by gscale [1] acc on the device (0: the step is skipped,
     * nothing changes), m, v [n] acc, decay [n] uint8: 1 = weight decay applies. real_out [n]: the working
     * copy in `real` (NULL when real is acc: master is used itself). */
    void (*adamw)(OpsContext *c, void *master, void *real_out, void *m, void *v, const void *grad,
                  const uint8_t *decay, const void *gscale, int64_t n, float lr, float beta1, float beta2,
                  float eps, float weight_decay, int64_t step);
    void (*convert)(OpsContext *c, void *real_out, const void *acc_in, int64_t n); /* acc -> real */
    void (*unconvert)(OpsContext *c, void *acc_out, const void *real_in, int64_t n);
} Ops;

static inline int ops_check(OpsContext *c, Err *err) { return c->ops->check ? c->ops->check(c, err) : 0; }

extern const Ops ops_host_f32, ops_host_f64;

/* X(name) for every op of the table that computes, from linear_forward on. */
/* clang-format off */
#define OPS_LIST(X) \
    X(linear_forward) X(linear_backward) X(linear_add) X(linear_weights) X(norm_forward) X(norm_backward) \
    X(attention_forward) X(attention_backward) X(embed_forward) X(embed_backward) \
    X(conv_forward) X(conv_backward) X(unfolded_bytes) \
    X(filter_norm_forward) X(filter_norm_backward) X(filter_norm_weights) \
    X(dropout_forward) X(add_forward) X(add_vector_forward) X(add_vector_backward) \
    X(pool_forward) X(pool_backward) X(broadcast_forward) X(broadcast_backward) \
    X(fill_zero) X(fill_int) X(stamp) X(gather_forward) X(gather_backward) X(length_groups) X(band_mean) \
    X(group_frames) X(align_search) X(durations_place) X(repeat_forward) X(repeat_backward) \
    X(symbol_means) X(add_traits_forward) X(add_traits_backward) \
    X(view_forward) X(view_backward) X(critic_loss) X(feature_loss) \
    X(scale_frames) X(log_spread) X(sound_tables) X(wave_forward) X(wave_backward) X(spectral_loss) \
    X(sound_bands) X(sound_refine) X(sound_refine_bytes) \
    X(loss_forward) X(align_loss) X(traits_loss) X(norm2) X(guard) X(adamw) X(convert) X(unconvert)
/* clang-format on */

/* What libmyxtts_cuda.so exports; ops_open.h asks for it. The number: raised whenever the meaning of
 * something in this header changes, with the size of the table below it. */
#define OPS_ABI (11 << 16 | (int)sizeof(Ops))
#ifdef __cplusplus
extern "C" {
#endif
int myxtts_cuda_ops_abi(void);
const Ops *myxtts_cuda_ops(RealType real); /* NULL where there is none */
#ifdef __cplusplus
}
#endif

#endif
