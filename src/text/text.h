/* text.h - the text of an utterance -> phonemes -> tokens. Every caller takes the whole path:
 *
 *     NFC and white space -> language -> [[IPA]], lexicon -> cleaner (numbers, abbreviations) -> lexicon
 *     -> espeak-ng IPA -> tokens
 *
 * A text that is to be learned from is taken as it is, or rejected; in a text that will be spoken, characters
 * that cannot be spoken are replaced or left out (speakable.h).
 * Threads: one per TextEngine. All of a process share its libespeak-ng, one at a time (phonemes.h);
 * phoneme_pool.h runs many in parallel, each in a separate process. */
#ifndef MYXTTS_TEXT_H
#define MYXTTS_TEXT_H

#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "config/config.h"
#include "dataset/dataset.h"
#include "text/phonemes/lexicon.h"
#include "text/spans.h"

typedef enum { TEXT_TO_LEARN, TEXT_TO_SPEAK } TextAim;

/* ERR_DATA: the lexicon of cfg has a line that is not an entry. */
typedef struct TextEngine TextEngine;
int text_engine_open(TextEngine **t, const Config *cfg, TextAim aim, Err *err);
void text_engine_close(TextEngine *t);
const Lexicon *text_engine_lexicon(const TextEngine *t); /* NULL: there is none */

/* 1 if the process should be replaced by a new one: libespeak-ng leaks memory with each change of voice. */
int text_engine_is_worn(const TextEngine *t);

/* Result of one line. Zero-initialise once, reuse for every line, then text_result_free. */
typedef struct TextResult {
    char language[16]; /* "en" */
    Buf cleaned;       /* UTF-8, the output of the cleaner */
    Buf phonemes;      /* UTF-8 IPA, NUL-terminated */
    Buf tokens;        /* uint16_t values: BOS, symbols (with blanks), EOS */
    Buf unknown;       /* uint32_t code points that are not in the symbol table, once per occurrence */
    Buf spans;         /* TextSpan; of texts to speak only */
    Buf controls;      /* TextControl, in order; also of a piece that has nothing else */
    Buf losses;        /* TextLoss, of text_process; of texts to speak only */
    char detail[256];  /* of the rejection, if there is one */
    TextBlock block;   /* of text_process */
} TextResult;
void text_result_free(TextResult *r);

/* Returns REJECT_NONE, or a reason with r->detail. */
RejectReason text_process(TextEngine *t, TextResult *r, Str text, Str language_column, Str id);

/* The same in two steps, with a cut in between: a text becomes a block of words, any piece of b->said becomes
 * phonemes and tokens. r is for the piece, its language and r->detail; in text_read for the latter only. */
RejectReason text_read(TextEngine *t, TextBlock *b, TextResult *r, Str text, Str language_column, Str id);
RejectReason text_speak(TextEngine *t, TextBlock *b, TextResult *r, size_t from, size_t n);

/* The language that text_read would read it in. */
void text_language(const TextEngine *t, char out[16], Str text, Str language_column);

/* Whether espeak-ng only guesses at a word of the language: 1 and its guess at the end of ipa, 0: it is in
 * its dictionary; or ERR_NOMEM. Without phonemes it is always 0. */
int text_is_guess(TextEngine *t, Buf *ipa, const char *language, Str word);

/* Tokens that a text of this many characters becomes, where no text is there to count: a little more than
 * most do. */
int text_likely_tokens(const Config *cfg, int characters);

/* A hash of everything the result depends on besides the text itself, for cache keys: versions of espeak-ng,
 * its data, ICU and the cleaner, the symbol table, and all text settings. Needs no TextEngine. Zeros if out
 * of memory or if the data of espeak-ng cannot be read. */
Hash128 text_settings_hash(const Config *cfg);

#endif
