/* english_line.h - one pass over an English line that rewrites forms on its way, and looking at the words
 * around. Private to english.c, english_names.c and english_formulas.c. Threads: one per Line. */
#ifndef MYXTTS_ENGLISH_LINE_H
#define MYXTTS_ENGLISH_LINE_H

#include <string.h>

#include "base/mem.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
enum { WORD = 24 }; /* longer ones are in no list */

typedef struct Line {
    const char *s;
    size_t n, at, copied; /* copied: what is before it is in out */
    Buf *out;
} Line;

static inline int is_digit(char c) { return c >= '0' && c <= '9'; }
static inline int is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static inline int is_alpha(char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }

static inline void say(Line *l, const char *words) { buf_add(l->out, words, strlen(words)); }

/* Copies what was passed over and drops the next `length` bytes; the caller says what they stand for. */
static inline void take(Line *l, size_t length)
{
    buf_add(l->out, l->s + l->copied, l->at - l->copied);
    l->at += length;
    l->copied = l->at;
}

static inline int begins(const Line *l, size_t at, const char *word)
{
    size_t n = strlen(word);
    return at <= l->n && l->n - at >= n && !memcmp(l->s + at, word, n);
}

/* The word of letters at `at`; its length, 0 if there is none or it is too long for any list. */
static inline size_t word_at(const Line *l, size_t at, char word[WORD])
{
    size_t n = 0;
    while (at + n < l->n && is_alpha(l->s[at + n]))
        n++;
    if (n >= WORD)
        n = 0;
    memcpy(word, l->s + at, n);
    word[n] = 0;
    return n;
}

/* The word of letters before the blank before `at`, which may have a full stop; where it begins, or `at`. */
static inline size_t word_before(const Line *l, size_t at, char word[WORD])
{
    word[0] = 0;
    if (!at || l->s[at - 1] != ' ')
        return at;
    size_t end = at - 1, from;
    if (end && l->s[end - 1] == '.')
        end--;
    for (from = end; from && is_alpha(l->s[from - 1]); from--)
        ;
    if (end == from || end - from >= WORD || (from && (uint8_t)l->s[from - 1] >= 0x80))
        return at;
    memcpy(word, l->s + from, end - from);
    word[end - from] = 0;
    return from;
}

static inline int in_list(const char *word, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(word, list[i]))
            return 1;
    return 0;
}

/* Each returns 1 if the form that begins at l->at has been said. */

/* Months, days and states by their short names: "in Dec.", "Mon-Fri", "Austin, TX", "(D-Mass.)". */
int english_try_name(Line *l);
/* "CA 90210": the state by its name, the code digit by digit. */
int english_try_zip(Line *l);
/* Powers, numbers with an exponent, equations, versions: 10^6, 1.5e-3, 3-1=2, v2.0.1. */
int english_try_formula(Line *l);
/* The digits of `value` with the suffix of an ordinal, if it is to be one. */
void english_say_number(Line *l, int value, int ordinal);

#endif
