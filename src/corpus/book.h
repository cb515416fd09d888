/* book.h - the text of a recording -> units that are looked for in the sound: sentences, and the parts of
 * sentences too long for one breath. Threads: any may read. */
#ifndef MYXTTS_BOOK_H
#define MYXTTS_BOOK_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

typedef struct BookUnit {
    const char *text; /* NUL-terminated, NFC, single blanks */
    int sentence;     /* units of one sentence have the same number */
    int line;         /* of the file, where its paragraph begins; from 1 */
    int paragraph;    /* a unit of a new paragraph has a new number */
} BookUnit;

typedef struct Book {
    BookUnit *units;
    int count, sentences;
    size_t cap;
    Block block;
} Book;

/* Blank lines divide paragraphs; where nearly every line ends like a sentence, line ends do. What has no
 * letter or digit is left out. name: of the file, for messages; language: a code ("de"), for abbreviations.
 * ERR_FORMAT: not UTF-8; ERR_DATA: there is no text in it; ERR_NOMEM. */
int book_parse(Book *b, const char *text, size_t n, const char *name, const char *language, Err *err);
void book_close(Book *b);

#endif
