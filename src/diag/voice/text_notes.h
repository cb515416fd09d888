/* text_notes.h - parts of a text that are not spoken: notes of a transcriber, addresses, broken letters.
 * Threads: any. */
#ifndef MYXTTS_DIAG_TEXT_NOTES_H
#define MYXTTS_DIAG_TEXT_NOTES_H

#include <stddef.h>

#include "dataset/dataset.h"

/* Looks for the first of them and copies it to out, cut between characters: "[laughs]". 1, or 0 if the text
 * has none; out is then "". Brackets that a sentence may have, as (see above), digits and usual punctuation
 * are none. */
int text_find_note(char *out, size_t cap, Str text);

#endif
