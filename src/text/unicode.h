/* unicode.h - reading and writing UTF-8, character classes, normalisation (NFC, white space), lower case.
 * Text is a pointer and a length in bytes, valid UTF-8, not NUL-terminated. ICU does composition and case;
 * text that needs neither, such as most ASCII, is not passed to it. Threads: any, each with its own
 * UnicodeScratch. */
#ifndef MYXTTS_UNICODE_H
#define MYXTTS_UNICODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

/* Buffers for the conversions around ICU, which works on UTF-16. Zero-initialise once, reuse for every call.
 * Freeing a zeroed or freed one is allowed. */
typedef struct UnicodeScratch {
    Buf utf16_in, utf16_out; /* UChar */
    Buf utf8;
} UnicodeScratch;
void unicode_scratch_free(UnicodeScratch *s);

/* Returns the code point at *at and advances *at past it. *at must be less than n. */
uint32_t unicode_next(const char *text, size_t n, size_t *at);
/* The code point just before byte `at`; 0 if `at` is 0. */
uint32_t unicode_before(const char *text, size_t at);
/* Appends the code point as UTF-8. Out of memory is remembered in out->failed. */
void unicode_append(Buf *out, uint32_t code_point);

/* Private characters that take a word's place while the text around it is cleaned (spans.h). They count as
 * letters, those from UNICODE_STAND_IN_CAPITAL on as capitals. There are UNICODE_STAND_INS of each. */
#define UNICODE_STAND_IN 0xF0000u
#define UNICODE_STAND_IN_CAPITAL 0x100000u
#define UNICODE_STAND_INS 0xFFFEu

int unicode_is_letter(uint32_t cp); /* letters and combining marks */
int unicode_is_upper(uint32_t cp);
/* White space as Python's str.isspace and \s define it, because phonemizer splits text there. */
int unicode_is_space(uint32_t cp);

/* Whether unicode_normalise drops it; the zero-width non-joiner is kept where Persian needs it. */
int unicode_is_dropped(uint32_t cp);

/* Appends the text to out, normalised: composed (NFC), each run of white space replaced by one space, none at
 * the ends. Control characters, zero-width characters, bidi controls and variation selectors are dropped,
 * except the zero-width non-joiner between Arabic letters, where it is part of the spelling (Persian); a
 * left-to-right mark in that place becomes one.
 * Returns 0 or ERR_NOMEM. */
int unicode_normalise(UnicodeScratch *s, Buf *out, const char *text, size_t n);

/* Appends the text in lower case, by the rules of the language ("tr": I becomes dotless i). Returns 0 or
 * ERR_NOMEM. */
int unicode_lower(UnicodeScratch *s, Buf *out, const char *text, size_t n, const char *language);

/* Appends n units of UTF-16 as UTF-8. Out of memory is remembered in out->failed. */
void unicode_append_utf16(Buf *out, const uint16_t *text, size_t n);

#endif
