/* text_diff.h - two texts as a unified diff with three lines of context. */
#ifndef MYXTTS_DIAG_TEXT_DIFF_H
#define MYXTTS_DIAG_TEXT_DIFF_H

#include <stddef.h>

#include "base/mem.h"

/* Appends the diff to out; nothing when the texts are equal. 0 or ERR_NOMEM. The fewest lines that differ, up
 * to a thousand of them; beyond that the whole middle counts as one change. */
int text_diff(Buf *out, const char *old_name, const char *old_text, size_t old_size, const char *new_name,
              const char *new_text, size_t new_size);

#endif
