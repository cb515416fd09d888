/* renewal.h - watches the files that the voices of a server were opened from. A file that is overwritten
 * or replaced is loaded when it is complete and no longer being written; until then, and if it is removed,
 * the loaded voice keeps speaking. The same goes for a vocoder that did not exist before. Texts that are
 * being spoken end with the voice they began with. Threads: renewal_look by one at a time, renewal_json by
 * any. */
#ifndef MYXTTS_RENEWAL_H
#define MYXTTS_RENEWAL_H

#include <jansson.h>

#include "base/err.h"
#include "base/log.h"
#include "serve/catalogue.h"
#include "studio/studio.h"

typedef struct Renewal Renewal;

/* voices [studio_voice_count]: what they were opened with. Studio, catalogue and the texts of voices must
 * outlive it. */
int renewal_open(Renewal **r, Studio *studio, const Catalogue *catalogue, const StudioVoice *voices, Log *log,
                 Err *err);
void renewal_close(Renewal *r); /* NULL is fine */
/* Asks for the state of each file. Where one has changed since the last look but one, it is opened, which
 * takes as long as it does when a server starts. */
void renewal_look(Renewal *r);
/* Of each voice: its name, the file it speaks from, the step, since when, and whether that is what is on the
 * disk. */
json_t *renewal_json(Renewal *r);

#endif
