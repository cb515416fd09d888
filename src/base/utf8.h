/* utf8.h - UTF-8 as bytes: is it valid, where may it be cut, how many letters has it. No tables of Unicode
 * here; text/unicode.h knows what a letter is. Threads: any. */
#ifndef MYXTTS_UTF8_H
#define MYXTTS_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* 1 for a byte that continues a character. */
static inline int utf8_continues(char c) { return ((unsigned char)c & 0xC0) == 0x80; }

/* Bytes before the first malformed sequence (overlong, surrogate, cut off, above U+10FFFF); n when all is
 * well. */
size_t utf8_valid(const char *s, size_t n);

/* The most bytes of s, at most `most`, that do not end inside a character. */
size_t utf8_cut(const char *s, size_t n, size_t most);

/* Characters in n bytes. */
size_t utf8_count(const char *s, size_t n);
/* Bytes of the first `letters` characters; n when there are not more. */
size_t utf8_prefix(const char *s, size_t n, size_t letters);

/* Writes the character and returns its bytes, 1 to 4; no NUL. */
size_t utf8_put(char out[4], uint32_t code_point);

/* Copies s for a message: whole characters, control characters as '?', "..." where it was cut. out is always
 * terminated; cap must be at least 4. */
void utf8_show(char *out, size_t cap, const char *s);

#endif
