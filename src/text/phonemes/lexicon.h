/* lexicon.h - words with given pronunciations. One entry a line:
 *
 *     word<TAB>IPA             # a comment: a line that begins with '#', or what follows a third TAB
 *     word<TAB>IPA<TAB>last    only as the last word of a phrase; `first`: only as its first
 *
 * A word in small letters stands for itself in any case, one with a capital only for that exact spelling.
 * An entry may have several words, digits and signs ("AT&T", "New York"). At one place the longest entry
 * wins, then one in its exact case, then one for the part of the phrase, then the later one. IPA is what
 * `myxtts phonemize` prints; g, ' and : may stand for ɡ, ˈ and ː. Threads: several may look up at the same
 * time. */
#ifndef MYXTTS_LEXICON_H
#define MYXTTS_LEXICON_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "text/unicode.h"

typedef struct Lexicon Lexicon;

/* Reads the lines of a text. name: of the file, for messages ("names.tsv:3: ..."); skipped: lines at its
 * beginning that are not counted in these. ERR_DATA: a line that is not an entry, with its number, and the
 * symbol that is not in the table of tokens.h. A failed one is NULL. */
int lexicon_open(Lexicon **l, const char *text, size_t n, const char *name, int skipped, Err *err);
void lexicon_close(Lexicon *l); /* NULL is fine */
int lexicon_count(const Lexicon *l);
/* The pronunciation of entry i, from 0, and its line; NULL: there is none. */
const char *lexicon_entry(const Lexicon *l, int i, const char **word, int *line);

typedef struct LexiconMatch {
    size_t size;     /* bytes of the text */
    const char *ipa; /* [ipa_size], lives as long as the lexicon */
    size_t ipa_size;
} LexiconMatch;
/* The entry for the words that begin at `at` in normalised text: 1, or 0 if there is none. english: "'s" may
 * follow, and a word does not begin after an apostrophe ("o'clock"). */
int lexicon_find(const Lexicon *l, LexiconMatch *m, const char *text, size_t n, size_t at, int english);

/* Appends IPA as the symbol table has it: g becomes ɡ and so on, letters with marks are taken apart where the
 * table has only the parts. Returns 0, or the first code point that is not in the table, which is skipped,
 * and so are further ones. Out of memory is remembered in out->failed. */
uint32_t lexicon_ipa(UnicodeScratch *s, Buf *out, const char *ipa, size_t n);

#endif
