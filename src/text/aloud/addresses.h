/* addresses.h - web and mail addresses as people say them: "example dot com slash docs", "info at example dot
 * org". The scheme is not said. Words for the signs are those of the language; a language without its own row
 * has blanks in their place. Threads: any. */
#ifndef MYXTTS_ADDRESSES_H
#define MYXTTS_ADDRESSES_H

#include <stddef.h>

#include "base/mem.h"

typedef struct Address {
    size_t from, end; /* what is said: behind the scheme */
    size_t host;      /* where the name of the host ends */
} Address;

/* The address that begins at `at` of normalised text: 1, or 0. language: a primary code. */
int address_find(Address *a, const char *text, size_t n, size_t at, const char *language);
void address_say(Buf *out, const char *text, const Address *a, const char *language);

/* Appends the text with all its addresses said; returns 1 if there is one, else 0 and out is as it was. */
int addresses_rewrite(Buf *out, const char *text, size_t n, const char *language);

/* Bytes of "https://" or the like at the beginning, or 0. */
size_t address_scheme(const char *s, size_t n);

/* The word for an ASCII sign in names of files, programs and hosts: "dot"; NULL: it has none. */
const char *address_sign(char sign, const char *language);

#endif
