/* phone_models.h - how each sound of a language sounds in one voice: the mean and the spread of its features,
 * for its beginning and its end. The first models come from espeak-ng, whose speech is labelled; then the
 * reader's own speech replaces it. Silence is state 0. Threads: any may score, one learns. */
#ifndef MYXTTS_PHONE_MODELS_H
#define MYXTTS_PHONE_MODELS_H

#include <stdint.h>

#include "base/err.h"
#include "corpus/listening.h"

enum {
    PHONES_MOST = 500,
    PHONE_STATES = 2, /* of a sound: how it begins, how it ends */
    STATE_SILENCE = 0,
    SCORE_FRAMES = 64 /* scored at once */
};

typedef struct PhoneModels {
    char names[PHONES_MOST][8];
    int phones, states;   /* states: 1 + PHONE_STATES * phones */
    float *mean, *spread; /* [states, LISTEN_WIDTH]; spread: variance */
    float *table; /* [2 * LISTEN_WIDTH + 1, states] in panels (product.h): the same for phone_models_score */
    float *log_share;             /* [states]: of all speech, natural log */
    double *sum, *square, *count; /* [states, LISTEN_WIDTH] and [states]: learned since the last update */
} PhoneModels;

/* State of the beginning of a sound, which is added if it is new; 0 if there are too many. */
int phone_models_state(PhoneModels *m, const char name[8]);
/* After the last sound was added: room for the models. ERR_NOMEM. */
int phone_models_open(PhoneModels *m, Err *err);
/* A copy of the models, without what was learned since the last update. ERR_NOMEM. */
int phone_models_copy(PhoneModels *to, const PhoneModels *from, Err *err);
void phone_models_close(PhoneModels *m);

/* Counts a frame for a state. */
void phone_models_learn(PhoneModels *m, int state, const float *feature);
/* Makes models of what was learned since the last update, and forgets it. weight: frames that the models so
 * far are worth; 0: the first update. A state that was seen too seldom keeps what it has. */
void phone_models_update(PhoneModels *m, double weight);

/* How much better each state explains a frame than all speech does: log of the ratio of both likelihoods.
 * out: [count, states], count at most SCORE_FRAMES. */
void phone_models_score(const PhoneModels *m, const Listening *l, int64_t first, int count, float *out);

#endif
