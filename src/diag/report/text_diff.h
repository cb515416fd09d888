/* text_diff.h - makes a unified diff of two texts, with three lines of context. Threads: any. */
#ifndef MYXTTS_DIAG_TEXT_DIFF_H
#define MYXTTS_DIAG_TEXT_DIFF_H

#include <stddef.h>

#include "base/mem.h"

/* Appends the diff to out; nothing if the texts are equal. The number of changed lines is the minimum, unless
 * it exceeds a thousand: then everything between the first and the last difference is one change. 0 or
 * ERR_NOMEM. */
int text_diff(Buf *out, const char *old_name, const char *old_text, size_t old_size, const char *new_name,
              const char *new_text, size_t new_size);

#endif
