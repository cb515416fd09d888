/* markdown_inline.h - the inside of a Markdown paragraph: emphasis, code, links, images, tags, entities.
 * Private to markdown.c. */
#ifndef MYXTTS_MARKDOWN_INLINE_H
#define MYXTTS_MARKDOWN_INLINE_H

#include <stddef.h>

#include "text/markup/reading.h"

/* The lines of a paragraph. Zero-initialise. */
typedef struct Inline {
    Buf text;            /* a new line between lines */
    Buf places;          /* uint32_t [text.size]: bytes of the document */
    Buf links;           /* uint32_t [text.size]: where what begins there ends, or 0 */
    Buf stacks;          /* scratch */
    int has_definitions; /* the document has "[label]: address": "[text][label]" is a link */
} Inline;
void inline_add(Inline *p, const char *s, size_t from, size_t to); /* a line */
void inline_clear(Inline *p);
void inline_free(Inline *p);
void inline_read(Inline *p, Reading *r);

/* Whether a line of text has emphasis, code, a link or an image in it. */
int inline_is_likely(const char *s, size_t n);

#endif
