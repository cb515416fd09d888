/* model.h - the networks of docs/MODEL.md over the operations of ops.h: forward, losses, backward, update.
 * There are two, the voice and the vocoder (Config.network). This interface is the same for both; where they
 * differ, it uses the table of network.h. The same source serves every device. Everything is enqueued on the
 * stream of the OpsContext; nothing waits or allocates after model_open.
 *
 *   model_open      lists the parameters and their places in memory
 *   model_attach    gives it memory: weights, gradients, moments (the caller's, from device_alloc)
 *   pass_open       cuts the memory of one batch's activations, for one shape
 *   pass_forward, pass_losses, pass_backward, model_update
 *
 * Types as in ops.h: `real` working weights and activations, `acc` masters, gradients and losses.
 * Threads: one at a time. */
#ifndef MYXTTS_MODEL_H
#define MYXTTS_MODEL_H

#include <stdint.h>

#include "base/err.h"
#include "config/config.h"
#include "model/loss_terms.h"
#include "model/params.h"
#include "ops/ops.h"

#define MODEL_MAX_LAYERS 64
#define VOICE_FRAMES 4 /* mel frames in one step of the voice encoder */
#define VOICE_KERNEL 5 /* of the convolutions before its stack */
#define FEED_KERNEL 3  /* of the feed-forward parts and the predictor */
#define VOCODER_KERNEL 7
#define CRITIC_KERNEL 5
#define CRITIC_LAYERS 3
#define CRITICS_MOST 7 /* of a network */
/* A vocoder's input is the log mel, shifted and scaled to about mean 0 and deviation 1 for speech. These are
 * constants instead of the corpus' statistics, so that a vocoder serves every voice with the same mel. */
#define VOCODER_MEL_MEAN (-5)
#define VOCODER_MEL_DEVIATION 3
#define VOCODER_PRIOR_SHIFT 0.3f /* what the flat bands of the prior lack of a spectrum's peaks */
#define VOCODER_WIDEN 3          /* width of the middle of a block / width of the vocoder */

/* Where parameters lie: offsets in flat memory. */
typedef struct LinearAt {
    int64_t w, b; /* b -1: no bias */
    int out, in;
} LinearAt;

typedef struct NormAt {
    int64_t w, b;
} NormAt;

typedef struct LayerAt {
    NormAt norm_self, norm_feed;
    LinearAt qkv, out, up, down; /* up: a convolution */
} LayerAt;

typedef struct StackAt {
    const char *name;             /* "text", "voice", "decoder" */
    int dim, heads, layers, feed; /* feed: width of the feed-forward parts */
    uint64_t site;                /* first number of its dropouts */
    LayerAt layer[MODEL_MAX_LAYERS];
    NormAt norm;
} StackAt;

/* A critic: convolutions over its view of a mel, and a score of every frame. sight: which of the mels that
 * the network shows it sees; a voice shows one, a vocoder one for each resolution of its loss. */
typedef struct CriticAt {
    CriticView view;
    int sight, dim;
    LinearAt conv[CRITIC_LAYERS], score;
} CriticAt;

/* Of the voice. */
typedef struct ModelAt {
    int64_t symbols, languages, text_position, voice_position, decoder_position, style_tokens;
    StackAt text, voice, decoder;
    LinearAt voice_conv1, voice_conv2, speaker, style_query, style_key, style_value, style_out, to_text;
    LinearAt prior;                /* what a symbol's mel looks like, for the alignment */
    LinearAt conv1, conv2, traits; /* the predictor of duration, pitch and energy */
    NormAt norm1, norm2;
    int64_t pitch, energy; /* what pitch and energy add to a symbol */
    LinearAt lift, mel;
} ModelAt;

/* A block of the vocoder. */
typedef struct BlockAt {
    LinearAt depthwise; /* [VOCODER_KERNEL, C] */
    NormAt norm;
    LinearAt up, down;
} BlockAt;

/* Of the vocoder. */
typedef struct VocoderAt {
    LinearAt input; /* a convolution */
    NormAt norm_in, norm_out;
    BlockAt block[MODEL_MAX_LAYERS];
    LinearAt head; /* rows: the logarithms of magnitudes, then phases, then what rounds them up */
} VocoderAt;

#define LOSS_TERM_ENUM(term, name, weight, network) term,
typedef enum { LOSS_TERMS(LOSS_TERM_ENUM) TERM_COUNT } LossTerm;
#undef LOSS_TERM_ENUM
const char *loss_term_name(LossTerm t); /* as logs and reports call it */
double loss_term_weight(LossTerm t, const Config *cfg);
const char *loss_term_weight_key(LossTerm t);         /* the setting */
int loss_term_is_of(LossTerm t, NetworkKind network); /* 1: the network learns from it */
/* 0: it says how critic and voice compare, not how good the network is, and is not part of the loss that is
 * reported and compared. */
int loss_term_counts(LossTerm t);

/* Sums over the batches of one step, on the device; acc: float, or double in the double table. */
typedef enum {
    SUM_FRAMES = TERM_COUNT,
    SUM_STOP, /* with ranks: those that wish to stop */
    SUM_COUNT
} LossSum; /* [SUM_COUNT] acc: the terms, then the frames they are sums over */

struct Network;

typedef struct Model {
    Config cfg; /* copy; only numbers are used */
    const struct Network *network;
    int symbols;
    int languages; /* that it tells apart; 0: it has no input for them */
    int use_voice, use_style;
    int critics_speak; /* the losses of critics count; set between steps, by the trainer */
    ParamList params;
    ModelAt at;
    VocoderAt vocoder;
    CriticAt critic[CRITICS_MOST];
    int critics;     /* 0: there are none */
    void *constants; /* of the network, on the host */
    OpsContext *c;
    /* flat memory on the device, [params.size] each */
    void *weights;  /* real; the masters themselves where real is acc */
    void *masters;  /* acc */
    void *grads;    /* acc; NULL: no training */
    void *moments1; /* acc */
    void *moments2; /* acc */
    uint8_t *decay;
    uint8_t *tables; /* constants of the network, which no step changes */
    /* Called where a part of the network begins (layer -1: it has none), for code that measures the parts;
     * NULL: not called. Not under graph capture. */
    void (*mark)(void *arg, const char *part, int layer, int backward);
    void *mark_arg;
    /* Called in pass_backward as soon as nothing more of this pass will change the gradients [from, to) of
     * flat memory; NULL: not called. The ranges are whole parameters, gaps included, and cover all of it
     * once. What writes them is enqueued, not done: on the main lane, with side != 0 also on the side lane
     * (ops->side_follow lets a stream wait for it). Called under graph capture too; it must not use the lanes
     * itself. Where micro-batches add up, only the pass of the last one is final. */
    void (*final)(void *arg, int64_t from, int64_t to, int side);
    void *final_arg;
    int on_side; /* private: what is enqueued now goes to the side lane */
} Model;
static inline void model_mark(const Model *m, const char *part, int layer, int backward)
{
    if (m->mark)
        m->mark(m->mark_arg, part, layer, backward);
}

/* The network that cfg->network names, which is not NETWORK_BOTH. symbols: size of the symbol table.
 * languages: of the voice; with fewer than two there is nothing to tell apart. ERR_CONFIG for sizes that do
 * not go together, ERR_NOMEM. */
int model_open(Model *m, const Config *cfg, int symbols, int languages, Err *err);
void model_close(Model *m); /* always safe; memory that was attached is the caller's */

/* Device bytes for weights alone (training = 0), or for weights, gradients, moments and flags. */
uint64_t model_bytes(const Model *m, const Ops *ops, int training);
/* c: open. Enqueues what fills the constants of the network. */
int model_attach(Model *m, OpsContext *c, void *memory, int training, Err *err);
/* In place of model_attach: weights and tables are those of another network with the same settings on the
 * same device, which has its own and outlives this one. For synthesis alone. */
void model_share(Model *m, OpsContext *c, const Model *lender);
/* Enqueues copies of host numbers (float [params.size]; the host memory must live until the stream got there)
 * into masters and weights. The first also zeroes moments and sets the decay flags. decay [params.size]: of
 * params_decay. For float tables (real f32 or bf16) only. */
int model_load(Model *m, const float *masters, const float *moments1, const float *moments2,
               const uint8_t *decay, Err *err);

/* One batch on the device. Empty rows have lengths 0. */
typedef struct ModelInput {
    int B, T, M;                /* rows, symbols, mel frames */
    const int32_t *tokens;      /* [B, T] */
    const int32_t *text_length; /* [B] */
    const int32_t *mel_length;  /* [B] frames */
    const int32_t *reference;   /* [B] row that gives the voice */
    const int32_t *language;    /* [B] below Model.languages; not read where that is 0 */
    const float *mel;           /* [B, M, n_mels] normalised, zeros past the end; raw for a vocoder */
    const float *pitch;         /* [B, M] log F0, normalised */
    const float *samples; /* [B, (M - 1) * hop_length] of a vocoder, whose mel_length is M, or 0 in empty
                             rows; it reads none of tokens, text_length, reference, language and pitch */
} ModelInput;

typedef struct Pass Pass;
/* Bytes of the activations of a batch of this shape; training = 0 leaves the gradients out. */
uint64_t pass_bytes(const Model *m, const Ops *ops, int B, int T, int M, int training);
/* Cuts `memory` (pass_bytes of it) for this shape. ERR_NOMEM. Many runs may share one memory when they are
 * not used at once. */
int pass_open(Pass **r, Model *m, const ModelInput *in, void *memory, int training, Err *err);
void pass_close(Pass *r);
/* Zeroes sums and gradients (before the first batch of a step), in parallel with the forward pass that has to
 * follow. */
void pass_clear(Model *m, void *sums);
/* training: dropout is on. */
void pass_forward(Pass *r, int training);
void pass_losses(Pass *r, void *sums /* [SUM_COUNT] acc on the device, += */);
void pass_backward(Pass *r); /* adds to the gradients; wants losses and the forward of training */
/* The optimiser. state, scale and finite: device memory, see ops.h. */
void model_update(Model *m, OpsGuard *guard, void *scale, void *norm2, int32_t *finite, const void *sums);

/* What a run has computed, for tests, pictures and validation. On the device. */
typedef struct PassOutput {
    const void *wave;      /* [B, (M - 1) * hop_length] acc, of a vocoder; the rest is a voice's */
    const void *mel;       /* [B, M, n_mels] real */
    const void *mu;        /* [B, T, n_mels] real */
    const void *traits;    /* [B, T, TRAIT_COUNT] real: predicted */
    const int32_t *frames; /* [B, T] durations found */
    const float *pitch;    /* [B, T] of the clip */
    const float *energy;   /* [B, T] of the clip */
    const float *cost;     /* [B] of the alignment: mean squared distance of the mel from mu */
    const void *voice; /* [B, S] real, of each row's own mel, before the references are taken; NULL without
                          voice conditioning */
} PassOutput;
void pass_output(const Pass *r, PassOutput *o);

#endif
