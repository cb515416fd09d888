/* voice_pass.h - the activations of one batch of the voice. Private to src/model. M4: steps of the voice
 * encoder. */
#ifndef MYXTTS_VOICE_PASS_H
#define MYXTTS_VOICE_PASS_H

#include "model/critic.h"
#include "model/network.h"

/* Voice encoder and style tokens: mel -> voice vector of each row. */
typedef struct VoicePass {
    int M4;
    int32_t *len;                          /* [B] in steps */
    void *frames;                          /* [B, M4, 4n] */
    void *a1, *a2;                         /* [B, M4, A] */
    StackPass stack;                       /* [B, M4, A] */
    void *pooled;                          /* [B, A] */
    void *speaker;                         /* [B, S], then speaker + style */
    void *query;                           /* [B, S] */
    void *key, *value;                     /* [K, S] */
    void *keys, *values;                   /* [B, K, S] */
    void *o, *lse;                         /* [B, S], [B, heads, 1] acc */
    void *style;                           /* [B, S] */
    int32_t *one, *tokens;                 /* [B] filled with 1 and with K */
    void *dvector, *dpooled, *dO, *dquery; /* [B, S], [B, A], [B, S], [B, S] */
    void *dkeys, *dvalues;                 /* [B, K, S] */
    void *dkey_sum;                        /* [K, S] acc */
    void *dkey, *dtokens;                  /* [K, S] */
} VoicePass;

/* The predictor: memory -> duration, pitch and energy of every symbol. */
typedef struct PredictorPass {
    void *a1, *a2;   /* [B, T, P] after the convolutions */
    NormPass n1, n2; /* [B, T, P]; sum is unused */
    void *traits;    /* [B, T, TRAIT_COUNT] */
    void *dtraits;   /* like it */
    void *dp[2];     /* [B, T, P] */
} PredictorPass;

/* From symbols with durations, pitch and energy to the mel. */
typedef struct DecoderPass {
    Durations d;           /* [B, T], [B, T], [B, M] */
    float *pitch, *energy; /* [B, T] */
    const int32_t *len;    /* [B] frames */
    int B, T, M;
    void *prosody;   /* [B, T, Ct] memory with pitch and energy */
    void *states;    /* [B, T, Cd] */
    void *frames;    /* [B, M, Cd] */
    StackPass stack; /* [B, M, Cd] */
    void *mel;       /* [B, M, n] */
    void *dmel;      /* [B, M, n] */
    void *dd;        /* [B, M, Cd] gradient of the stack's output, then of frames */
    void *dstates;   /* [B, T, Cd] */
} DecoderPass;

typedef struct SpeechPass {
    Pass pass;
    int32_t *unused_len; /* [B] where length_groups writes when only its sum is wanted */
    StackScratch text_scratch, voice_scratch, decoder_scratch; /* separate, since stacks run in parallel */
    StackPass text;
    VoicePass voice;
    void *reference;  /* [B, S] voice vector of the reference row */
    void *voice_text; /* [B, Ct] */
    void *language;   /* [B, Ct] the vector of each row's language, then its gradient */
    void *memory;     /* [B, T, Ct] */
    void *mu;         /* [B, T, n] */
    float *cost;      /* [B] */
    float *energy;    /* [B, M] of every frame */
    PredictorPass predictor;
    DecoderPass decoder;
    CriticPass critic[CRITICS_MOST];
    /* gradients */
    void *dmu;     /* [B, T, n] */
    void *dmemory; /* [B, T, Ct] */
    void *dreference, *dvoice_text;
} SpeechPass;
static inline SpeechPass *speech_of(Pass *r) { return (SpeechPass *)(void *)r; }

/* voice_pass.c, and voice_losses.c: the functions of network_voice. */
void voice_pass_cut(Pass *p, const Ops *ops, Cut *c);
void voice_pass_forward(Pass *p, int training);
void voice_pass_losses(Pass *p, void *sums);
void voice_pass_backward(Pass *p);
void voice_pass_output(const Pass *p, PassOutput *o);
/* Symbols x [B, T, Ct] become those of a line in its language; vector [B, Ct] is scratch. Nothing happens in
 * a network that tells no languages apart. */
void language_forward(Model *m, void *x, void *vector, const int32_t *language, int B, int T);

/* What makes the vector of a voice (v->speaker) of a mel, as a table of functions. Another one is a file with
 * such a table, and a word in voice_encoder_of. drop 0: no dropout. */
typedef struct VoiceEncoder {
    void (*list)(Model *m); /* its parameters */
    void (*cut)(VoicePass *v, const Model *m, const Ops *ops, Cut *c, int B, int M, int training);
    void (*forward)(Model *m, VoicePass *v, StackScratch *x, const ModelInput *in, float drop);
    /* From v->dvector. */
    void (*backward)(Model *m, VoicePass *v, StackScratch *x, const ModelInput *in, float drop);
} VoiceEncoder;
const VoiceEncoder *voice_encoder_of(const Model *m); /* voice_encoder.c */

/* voice_params.c: a product whose first values keep the variance of what passes through it. */
LinearAt plain_list(ParamList *l, const char *prefix, const char *name, int out, int in);
/* The parameters of a transformer stack. site: where its dropout seeds begin, apart from all others. */
void stack_list(ParamList *l, StackAt *s, const char *name, int dim, int heads, int layers, int ratio,
                uint64_t site);

/* predictor.c. len [B]: symbols. */
void predictor_cut(PredictorPass *p, const Model *m, const Ops *ops, Cut *c, int B, int T, int training);
void predictor_forward(Model *m, PredictorPass *p, const void *memory, const int32_t *len, int B, int T,
                       float drop);
/* From p->dtraits. */
void predictor_backward(Model *m, PredictorPass *p, const void *memory, const int32_t *len, int B, int T,
                        float drop);
/* decoder.c. The durations (d.frames), pitch and energy are given; text_len [B]. */
void decoder_cut(DecoderPass *r, const Model *m, const Ops *ops, Cut *c, int B, int T, int M, int training);
void decoder_forward(Model *m, DecoderPass *r, StackScratch *x, const void *memory, float drop);
/* From r->dmel; dmemory [B, T, Ct] is =. */
void decoder_backward(Model *m, DecoderPass *r, StackScratch *x, void *dmemory, const int32_t *text_len,
                      float drop);
#endif
