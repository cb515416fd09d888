/* name_forms.h - the two ways to write a letter with a mark. On a Mac, and in archives packed on one, file
 * names have the mark after its letter (NFD); nearly everything else uses one character (NFC).
 * Threads: any. */
#ifndef MYXTTS_NAME_FORMS_H
#define MYXTTS_NAME_FORMS_H

#include <stddef.h>

#include "dataset/dataset.h"

/* Writes the name with marks composed, or apart, into out [cap]. 0: the name would not change, or it does not
 * fit. */
int name_form(char *out, size_t cap, Str name, int composed);

#endif
