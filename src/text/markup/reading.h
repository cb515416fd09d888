/* reading.h - plain text made from a marked-up one, as a person would read it aloud: pauses become
 * marks of punctuation if there is none, a new line separates paragraphs. markdown.h and html.h fill it;
 * every byte knows where it comes from. The words that are added ("Code in Python, 12 lines") are those of
 * the language; a language without a row in the table just says "code". Threads: one per Reading. */
#ifndef MYXTTS_READING_H
#define MYXTTS_READING_H

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

typedef enum { PAUSE_NONE, PAUSE_BLANK, PAUSE_SHORT, PAUSE_STOP } Pause;

/* Zero-initialise, set language, fill, reading_end, then reading_free. */
typedef struct Reading {
    const char *language; /* a primary code: "de" */
    Buf text;             /* UTF-8 */
    Buf places;           /* uint32_t [text.size + 1]: bytes of the marked-up text, never going back */
    uint32_t last;        /* of them */
    Pause pause;          /* before what comes next */
    size_t pause_at;
    Buf scratch;
} Reading;
void reading_free(Reading *r);

/* Appends bytes of the source that begin at `at`; white space becomes one blank. */
void reading_put(Reading *r, const char *p, size_t n, size_t at);
/* Appends words that stand for `size` bytes at `at`. */
void reading_say(Reading *r, const char *words, size_t n, size_t at);
void reading_pause(Reading *r, Pause pause, size_t at);

/* Code in a line: names are split into words, signs said. */
void reading_code(Reading *r, const char *p, size_t n, size_t at);
/* A block of code is named. tag [n]: its language as it is marked, such as "js". */
void reading_code_block(Reading *r, const char *tag, size_t n, size_t lines, size_t at);
/* The number of an item, and whether it is done. */
void reading_number(Reading *r, unsigned long number, size_t at);
void reading_task(Reading *r, int done, size_t at);

/* The end of the text, of `size` bytes. 0 or ERR_NOMEM. */
int reading_end(Reading *r, size_t size);

#endif
