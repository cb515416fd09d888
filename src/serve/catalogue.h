/* catalogue.h - the voices of a server by name, their speakers, and what clients are told about them.
 * Threads: any, once it is open. */
#ifndef MYXTTS_CATALOGUE_H
#define MYXTTS_CATALOGUE_H

#include <jansson.h>

#include "base/err.h"
#include "studio/studio.h"

typedef struct Catalogue {
    Studio *studio;
    char **names; /* [count], each once */
    int count;
    long long opened; /* seconds since 1970 */
} Catalogue;

/* voices [count]: what the studio's were opened from. A failed one is closed. */
int catalogue_open(Catalogue *c, Studio *s, const StudioVoice *voices, Err *err);
void catalogue_close(Catalogue *c); /* a zeroed or closed one is allowed */

/* The number of a voice; NULL and OpenAI's names are the first. -1: there is none of that name. */
int catalogue_find(const Catalogue *c, const char *model);
/* Who speaks: the speaker of the model that is called `name`; else the voice that is, whatever the model, by
 * its first speaker or, as VOICE/SPEAKER, by that one; else, for none and for OpenAI's names, the model's
 * first. *speaker is NULL for the first, and lies in `name` otherwise. */
enum { CATALOGUE_NO_MODEL = -1, CATALOGUE_NO_SPEAKER = -2 };
int catalogue_choose(const Catalogue *c, const char *model, const char *name, int *voice,
                     const char **speaker);
/* The names, with commas: of the voices, or of the speakers of one. Cut where it does not fit. */
void catalogue_voices_text(const Catalogue *c, char *out, size_t cap);
void catalogue_speakers_text(const Catalogue *c, int voice, char *out, size_t cap);

json_t *catalogue_models(const Catalogue *c); /* as OpenAI lists models */
json_t *catalogue_voices(const Catalogue *c);
/* All that `name` of catalogue_choose may be but speakers alone, as Open WebUI asks for it. */
json_t *catalogue_choices(const Catalogue *c);

#endif
