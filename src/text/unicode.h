/* unicode.h - UTF-8 in and out, canonical composition (NFC), and one kind of space.
 * Text is bytes plus a length; nothing here needs a NUL. Case and composition come from ICU; plain text never
 * reaches it. Threads: any, each with its own UnicodeScratch. */
#ifndef MYXTTS_UNICODE_H
#define MYXTTS_UNICODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

/* Memory for the UTF-16 that ICU works on; zero-initialise, reuse. unicode_scratch_free is always safe. */
typedef struct UnicodeScratch {
    Buf a, b; /* UChar */
    Buf utf8;
} UnicodeScratch;
void unicode_scratch_free(UnicodeScratch *s);

/* The code point at *at, which is advanced past it. Text must be valid; *at < n. */
uint32_t unicode_next(const char *text, size_t n, size_t *at);
/* The code point that ends before `at`, or 0 at the start. */
uint32_t unicode_before(const char *text, size_t at);
void unicode_append(Buf *out, uint32_t code_point);

int unicode_is_letter(uint32_t cp);
int unicode_is_upper(uint32_t cp);
/* What Python's str.isspace and \s call white space, which is what decides where phonemizer cuts. */
int unicode_is_space(uint32_t cp);

/* Appends text to out: NFC, every run of white space one space, none at the ends; control, zero-width,
 * direction and variation characters dropped. The zero-width non-joiner stays between Arabic letters, where
 * it is spelling (Persian). 0, or ERR_NOMEM. Text must be valid. */
int unicode_normalise(UnicodeScratch *s, Buf *out, const char *text, size_t n);

/* Appends the lower-case form by the rules of the language ("tr": I becomes dotless i). 0, or ERR_NOMEM. */
int unicode_lower(UnicodeScratch *s, Buf *out, const char *text, size_t n, const char *language);

/* Appends UTF-16 of n units as UTF-8. */
void unicode_append_utf16(Buf *out, const uint16_t *text, size_t n);

#endif
