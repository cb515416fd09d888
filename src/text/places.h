/* places.h - maps the bytes of a rewritten text back to those they came from. Threads: any. */
#ifndef MYXTTS_PLACES_H
#define MYXTTS_PLACES_H

#include <stddef.h>

#include "base/mem.h"
#include "text/spans.h"

/* normal is unicode_normalise of text: appends a uint32_t for each of its bytes and one for its end, the
 * place in text of the character it belongs to; that of a blank is where its white space begins. */
void places_of_normal(Buf *places, const char *text, size_t n, const char *normal, size_t size);

/* Fills b->anchors: marks, and words that are in b->said as they are in b->normal. */
void places_anchor(TextBlock *b);

#endif
