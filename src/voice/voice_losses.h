/* voice_losses.h - pieces of a text that are left out when it is spoken. Threads: one for each list. */
#ifndef MYXTTS_VOICE_LOSSES_H
#define MYXTTS_VOICE_LOSSES_H

#include <jansson.h>
#include <stddef.h>

typedef struct VoiceLoss {
    size_t at, size; /* bytes of the text */
    char why[120];
} VoiceLoss;

/* In the order of the text. Zero-initialise. */
typedef struct VoiceLosses {
    VoiceLoss *all; /* [count] */
    size_t count, room;
} VoiceLosses;
void voice_losses_free(VoiceLosses *l);
/* Adds those of another list. 0 or ERR_NOMEM. */
int voice_losses_add(VoiceLosses *l, const VoiceLoss *more, size_t count);

/* Line and column, both from 1, the column in characters. */
void voice_loss_place(const VoiceLoss *l, const char *text, size_t *line, size_t *column);
/* [{"text", "at" (in characters, from 0), "line", "column", "why"}]; NULL if out of memory. */
json_t *voice_losses_json(const VoiceLosses *l, const char *text);

#endif
