/* run.h - the activations of one batch. Private to src/model. G decoder steps, M4 steps of the voice encoder. */
#ifndef MYXTTS_RUN_H
#define MYXTTS_RUN_H

#include "model/stack.h"

/* Voice encoder and style tokens: mel -> voice vector of each row. */
typedef struct VoiceRun {
    int M4;
    int32_t *len;                          /* [B] in steps */
    void *frames;                          /* [B, M4, 4n] */
    void *a1, *a2;                         /* [B, M4, A] */
    StackRun stack;                        /* [B, M4, A] */
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
} VoiceRun;

struct Run {
    Model *m;
    ModelInput in;
    int G, training;
    int32_t *group_len; /* [B] */
    StackScratch scratch;
    StackRun text;
    VoiceRun voice;
    void *reference;     /* [B, S] voice vector of the reference row */
    void *voice_text;    /* [B, Ct] */
    void *voice_decoder; /* [B, Cd] */
    void *memory;        /* [B, T, Ct] */
    void *frames;        /* [B, G, r n] */
    void *h1, *h2, *x;   /* [B, G, P], [B, G, P / 2], [B, G, Cd] */
    StackRun decoder;
    void *before, *after;          /* [B, M, n] */
    void *stop;                    /* [B, G] */
    void *pitch, *energy;          /* [B, M] */
    float *energy_target;          /* [B, M] */
    void *post[MODEL_MAX_POSTNET]; /* [B, M, postnet_dim]; the last one [B, M, n] */
    /* gradients */
    void *dbefore, *dafter, *dstop, *dpitch, *denergy;
    void *dpost[2]; /* [B, M, max(postnet_dim, n)] */
    void *dd;       /* [B, G, Cd] gradient of the decoder's output */
    void *dmemory;  /* [B, T, Ct] */
    void *dreference, *dvoice_text, *dvoice_decoder;
    void *dh1, *dh2;
};

/* voice.c. drop 0: no dropout. */
void voice_cut(VoiceRun *v, const Model *m, const Ops *ops, Cut *c, int B, int M, int training);
void voice_forward(Model *m, VoiceRun *v, StackScratch *x, const ModelInput *in, float drop);
void voice_backward(Model *m, VoiceRun *v, StackScratch *x, const ModelInput *in, float drop); /* from v->dvector */
/* decoder.c */
void decoder_forward(Run *r, float drop, float pre_drop);
void decoder_backward(Run *r, float drop, float pre_drop);

#endif
