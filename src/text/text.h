/* text.h - one utterance's text -> phonemes -> tokens. The whole path of a line, as every caller needs it:
 *   NFC and whitespace -> language -> cleaner (numbers, abbreviations) -> espeak-ng IPA -> tokens.
 * A TextEngine holds one espeak-ng; libespeak-ng has process-wide state, so at most one TextEngine may exist
 * in a process and only one thread may use it. phoneme_pool.h runs many of them, each in a process of its
 * own. */
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

/* 1 when the process should be replaced by a fresh one: libespeak-ng loses memory with each change of voice.
 */
int text_engine_is_worn(const TextEngine *t);

/* Result of one line; zero-initialise, reuse, text_result_free. */
typedef struct TextResult {
    char language[16]; /* "en" */
    Buf cleaned;       /* UTF-8, what was spoken */
    Buf phonemes;      /* UTF-8 IPA, NUL-terminated */
    Buf tokens;        /* uint16_t values: BOS, symbols (with blanks), EOS */
    Buf unknown;       /* uint32_t code points outside the symbol table, each once per occurrence */
    char detail[256];  /* of a rejection */
} TextResult;
void text_result_free(TextResult *r);

/* REJECT_NONE or a reason with r->detail. */
RejectReason text_process(TextEngine *t, TextResult *r, Str text, Str language_column, Str id);

/* Everything besides the text itself that decides the result, for cache keys: espeak-ng and data version,
 * symbol table version and hash, ICU version, cleaner version and all text settings. Needs no TextEngine. */
Hash128 text_settings_hash(const Config *cfg);

#endif
