/* critic.h - the critics: small networks that learn to tell recordings from what a network makes, while that
 * network learns to pass for a recording (docs/MODEL.md). They look at mels: those of a voice, or the spectra
 * of a vocoder's sound. They exist only during training. Private to src/model. */
#ifndef MYXTTS_CRITIC_H
#define MYXTTS_CRITIC_H

#include "model/network.h"

/* Mels that critics see: [B, T, bands] each. */
typedef struct CriticSight {
    int T, bands;
    const int32_t *len;   /* [B] frames */
    const void *made;     /* real */
    const void *recorded; /* real; NULL: it is recorded_mel */
    const float *recorded_mel;
    void *dmade; /* real, +=: the gradient of made */
} CriticSight;

/* A critic's view of the recordings, then of the network's versions of them. R: rows of one of the two; V
 * frames. */
typedef struct CriticPass {
    int R, V;
    int32_t *len;           /* [2 R] */
    void *x;                /* [2 R, V, channels] */
    void *a[CRITIC_LAYERS]; /* [2 R, V, dim] */
    void *score;            /* [2 R, V] */
    void *dcritic, *dmade;  /* [2 R, V], [R, V] */
    void *da[2], *dx;       /* [2 R, V, dim] each, [R, V, channels] */
    void *nowhere;          /* [dim + 64] acc: gradients that are thrown away */
} CriticPass;

/* Appends the parameters of the critics of a voice, which see one mel, or of a vocoder, which see several:
 * bands [sights]. dim: their width; 0: there are none. */
void critics_list(Model *m, const int *bands, int sights, int dim);
/* T [sights]: frames of each mel. */
void critics_cut(CriticPass *critics, const Model *m, const Ops *ops, Cut *c, int B, const int *T);
/* The terms of the critics and, in their parameters and in dmade, the gradients: all at once, since a critic
 * learns from the same forward pass as the network. M: mel frames of the batch, which the sums of a step are
 * divided by. */
void critics_learn(Model *m, CriticPass *critics, void *sums, const CriticSight *sights, int B, int M);
/* All their gradients are there. */
void critics_final(Model *m, int side);

#endif
