/* html.h - HTML as a person would read it aloud: tags are silent, blocks end a sentence, <br> and cells of a
 * table are short pauses, items of <ol> have their numbers, <pre> is named, images are read by their alt
 * text; scripts, styles, comments and what is hidden are not read. It takes any bytes: anything that is not a
 * tag is text. Time and memory are linear in the text. Threads: one per Reading. */
#ifndef MYXTTS_HTML_H
#define MYXTTS_HTML_H

#include <stddef.h>

#include "text/markup/reading.h"

/* Fills r up to reading_end. 0 or ERR_NOMEM. */
int html_read(Reading *r, const char *text, size_t n);

/* Whether a text is HTML beyond doubt: it starts like a page, or an element of HTML encloses it. */
int html_is_likely(const char *text, size_t n);

/* --- for Markdown, which may have tags in it --- */

typedef enum { TAG_INLINE, TAG_BLOCK, TAG_BREAK, TAG_SKIPPED, TAG_IMAGE, TAG_UNKNOWN } TagKind;
typedef struct Tag {
    size_t size;   /* bytes with both brackets */
    char name[16]; /* in small letters */
    TagKind kind;
    int closes; /* </p> */
    int is_hidden;
    size_t alt, alt_size; /* bytes of the text: of an image */
    size_t class_at, class_size;
} Tag;
/* The tag, comment (kind TAG_SKIPPED, no name) or declaration at `at`, where there is a '<': 1, or 0: it is
 * text. *wasted counts bytes that were looked at in vain: when they are many times the text, nothing is a
 * tag any more. */
int html_tag(Tag *t, const char *text, size_t n, size_t at, size_t *wasted);

/* The character that "&...;" at `at` stands for and its bytes in *size; 0: it is text. */
uint32_t html_entity(const char *text, size_t n, size_t at, size_t *size);
/* Text with entities. */
void html_put(Reading *r, const char *text, size_t n, size_t from, size_t to);

#endif
