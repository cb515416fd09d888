/* name_forms.h - the two ways to write a letter with a mark. A Mac, and archives that were packed on one,
 * have file names with the mark behind its letter (NFD), nearly everything else has one character (NFC).
 * Threads: any. */
#ifndef MYXTTS_NAME_FORMS_H
#define MYXTTS_NAME_FORMS_H

#include <stddef.h>

#include "dataset/dataset.h"

/* Writes the name with marks composed, or apart, into out [cap]. 0: the name would not change, or it does not
 * fit. */
int name_form(char *out, size_t cap, Str name, int composed);

#endif
