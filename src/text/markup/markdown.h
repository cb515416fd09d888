/* markdown.h - Markdown as a person would read it aloud: headings, items and rows of a table are sentences,
 * links are read by their text and images by their alt text, a block of code is named, marks of emphasis and
 * rules are silent. CommonMark with GitHub's tables, tasks and strikethrough, as far as it can be heard; HTML
 * in it is read as html.h does. It takes any bytes. Time and memory are linear in the text. Threads: one per
 * Reading. */
#ifndef MYXTTS_MARKDOWN_H
#define MYXTTS_MARKDOWN_H

#include <stddef.h>

#include "text/markup/reading.h"

/* Fills r up to reading_end. 0 or ERR_NOMEM. */
int markdown_read(Reading *r, const char *text, size_t n);

/* Whether a text is Markdown beyond doubt: it has a heading, a list, a table, a block or span of code, a
 * link, or emphasis. "2 * 3 * 4", "a_b", "#1" and "C#" are none of these. */
int markdown_is_likely(const char *text, size_t n);

#endif
