/* sentences.h - sentences to read aloud: a list of the program's for a language (src/serve/sentences), or a
 * file of the user's: UTF-8, one sentence a line, lines that begin with # are left out. Threads: one. */
#ifndef MYXTTS_SENTENCES_H
#define MYXTTS_SENTENCES_H

#include <stddef.h>

#include "base/err.h"
#include "base/mem.h"

#define SENTENCES_LONGEST 500 /* characters of one */
#define SENTENCES_MOST 20000

typedef struct Sentences {
    const char **texts; /* [count], each once */
    size_t count;
    Block block;
} Sentences;

/* file: NULL takes the list of the language ("de", "en-gb"). ERR_USAGE: there is none; ERR_FORMAT: a line
 * that is not a sentence, with its number; ERR_MISSING, ERR_IO, ERR_NOMEM. A failed one is closed. */
int sentences_open(Sentences *s, const char *file, const char *language, Err *err);
void sentences_close(Sentences *s); /* a zeroed or closed one is allowed */

#endif
