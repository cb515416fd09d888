/* utf8.h - UTF-8 as bytes: validity, cutting, counting, encoding. What a character is (letter, space) is in
 * text/unicode.h, which has the tables of Unicode. Threads: any. */
#ifndef MYXTTS_UTF8_H
#define MYXTTS_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* 1 for a continuation byte, any but the first of a character. */
static inline int utf8_continues(char c) { return ((unsigned char)c & 0xC0) == 0x80; }

/* Returns the number of bytes before the first malformed sequence (overlong, surrogate, cut off, above
 * U+10FFFF), or n if all are valid. */
size_t utf8_valid(const char *s, size_t n);

/* Returns the length in bytes of the longest start of s that has at most `max` bytes and whole characters. */
size_t utf8_cut(const char *s, size_t n, size_t max);

/* Number of characters in n bytes. */
size_t utf8_count(const char *s, size_t n);
/* Length in bytes of the first `characters` characters; n if there are no more than that. */
size_t utf8_prefix(const char *s, size_t n, size_t characters);

/* Writes the character, without a NUL, and returns its length in bytes, 1 to 4. */
size_t utf8_put(char out[4], uint32_t code_point);

/* Copies s for a message: only whole characters, control characters as '?', "..." at the end if it was cut.
 * out is always NUL-terminated; cap must be at least 4. */
void utf8_show(char *out, size_t cap, const char *s);

/* Makes text safe for a terminal, in place: every control character but \n and \t becomes '?', those of the
 * range U+0080 to U+009F and stray bytes too. What is in a metadata file must not move the cursor, change
 * colours or ask the terminal questions. Returns the new length, which is never longer. A character that is
 * cut off at the end is treated as stray. */
size_t utf8_tame(char *s, size_t n);

#endif
