/* credits.h - what the recipient of a voice has to know about it: what may be done with it, whose recordings
 * it was made of, and a note. They are in every file that is made to be passed on. Threads: any. */
#ifndef MYXTTS_CREDITS_H
#define MYXTTS_CREDITS_H

#include "voice/checkpoint.h"

/* What a file says if it is not known, so that readers see that. */
#define CREDITS_UNKNOWN "unknown"

typedef struct Credits {
    const char *licence; /* "CC BY 4.0" */
    const char *source;  /* "LJSpeech, https://keithito.com/LJ-Speech-Dataset" */
    const char *note;    /* as its owner wants it; may be NULL */
} Credits;

/* Fills in what is NULL: from the voice's own file, else CREDITS_UNKNOWN (a note stays NULL). Strings are
 * those of c and v. */
void credits_complete(Credits *c, const Checkpoint *v);
/* 1: the text is there, and is not CREDITS_UNKNOWN. */
int credits_known(const char *text);

#endif
