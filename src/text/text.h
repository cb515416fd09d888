/* text.h - the text of an utterance -> phonemes -> tokens. Every caller takes the whole path:
 *
 *     NFC and white space -> language -> cleaner (numbers, abbreviations) -> espeak-ng IPA -> tokens
 *
 * Threads: one per TextEngine. All of a process share its libespeak-ng, one at a time (phonemes.h);
 * phoneme_pool.h runs many side by side, each in a process of its own. */
#ifndef MYXTTS_TEXT_H
#define MYXTTS_TEXT_H

#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "config/config.h"
#include "dataset/dataset.h"

typedef struct TextEngine TextEngine;
int text_engine_open(TextEngine **t, const Config *cfg, Err *err);
void text_engine_close(TextEngine *t);

/* 1 if the process should be replaced by a new one: libespeak-ng leaks memory with each change of voice. */
int text_engine_is_worn(const TextEngine *t);

/* Result of one line. Zero-initialise once, reuse for every line, then text_result_free. */
typedef struct TextResult {
    char language[16]; /* "en" */
    Buf cleaned;       /* UTF-8, the output of the cleaner */
    Buf phonemes;      /* UTF-8 IPA, NUL-terminated */
    Buf tokens;        /* uint16_t values: BOS, symbols (with blanks), EOS */
    Buf unknown;       /* uint32_t code points that are not in the symbol table, once per occurrence */
    char detail[256];  /* of the rejection, if there is one */
} TextResult;
void text_result_free(TextResult *r);

/* Returns REJECT_NONE, or a reason with r->detail. */
RejectReason text_process(TextEngine *t, TextResult *r, Str text, Str language_column, Str id);

/* Tokens that a text of so many characters becomes, where no text is there to count: a little more than most
 * do. */
int text_likely_tokens(const Config *cfg, int characters);

/* A hash of everything the result depends on besides the text itself, for cache keys: versions of espeak-ng,
 * its data, ICU and the cleaner, the symbol table, and all text settings. Needs no TextEngine. Zeros if out
 * of memory or if the data of espeak-ng cannot be read. */
Hash128 text_settings_hash(const Config *cfg);

#endif
