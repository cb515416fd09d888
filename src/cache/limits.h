/* limits.h - what the limits on length (min_audio_length, max_audio_length, max_text_length, max_mel_frames)
 * cost a dataset: how many clips each leaves out, and the value with which it would leave out hardly any.
 * accept.h applies the limits. Threads: one. */
#ifndef MYXTTS_LIMITS_H
#define MYXTTS_LIMITS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/store/store.h"
#include "config/config.h"
#include "dataset/dataset.h"

#define LIMITS_COUNT 4
#define LIMITS_KEEP 0.995 /* share of the clips that a limit should keep */

typedef struct LimitCost {
    const char *key; /* of the configuration */
    double limit;    /* its value */
    uint64_t clips;  /* looked at; 0: the limit could not be judged */
    uint64_t lost;   /* of these, outside this limit, whatever the other limits say */
    uint64_t
        guessed;  /* of these, judged by the header of the recording because nothing has been built of it */
    double keeps; /* the tightest value that keeps LIMITS_KEEP of the clips */
} LimitCost;
typedef struct LimitCosts {
    LimitCost limit[LIMITS_COUNT];
} LimitCosts;

typedef struct LimitsInput {
    const Config *cfg;
    const Dataset *dataset;
    const Store *mel;        /* NULL or closed: none. Lengths of clips it lacks come from their headers */
    const Store *audio;      /* stands in for a mel store that is not there */
    const uint8_t *rejected; /* [dataset->count] RejectReason; clips that no limit rejected are ignored. NULL:
                                none is known to be rejected */
    const double
        *seconds;        /* [dataset->count] by headers that have been read, 0: unusable. NULL: read here, */
    size_t most_headers; /* this many at most, evenly spread over the clips without a mel; 0: no audio */
} LimitsInput;
const char *limits_key(int i); /* LimitCost.key of limit i */
/* Reads audio headers, writes nothing. 0 or ERR_NOMEM. */
int limits_measure(LimitCosts *out, const LimitsInput *in, Err *err);

/* 1 if the limit leaves out more clips than LIMITS_KEEP allows. */
int limit_costs_much(const LimitCost *c);
/* "max_text_length 200 leaves out 7 of 100 clips (7.0 %); 243 would keep 99.5 %". Returns out; "" if the
 * limit costs nothing. */
const char *limit_sentence(const LimitCost *c, char *out, size_t cap);
/* An array with an object {key, limit, clips, lost, share, keeps} for each limit that was judged. */
json_t *limits_json(const LimitCosts *c);

#endif
