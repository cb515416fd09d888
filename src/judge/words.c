/* words.c - see words.h. Every different word gets a number, then two rows of the usual table are enough. */
#include "judge/words.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "text/unicode.h"

typedef struct Word {
    size_t at, size; /* in the text of all words */
} Word;

typedef struct Words {
    Buf text;   /* normalised, words one behind the other */
    Word *list; /* [count] */
    size_t count, cap;
} Words;

static int is_apostrophe(uint32_t cp) { return cp == '\'' || cp == 0x2019; }

/* A letter without its accent, in lower case. */
static uint32_t plain_letter(uint32_t cp)
{
    if (cp < 0x80)
        return cp >= 'A' && cp <= 'Z' ? cp + 32 : cp;
    UErrorCode status = U_ZERO_ERROR;
    const UNormalizer2 *nfd = unorm2_getNFDInstance(&status);
    UChar parts[16];
    if (U_SUCCESS(status) && unorm2_getDecomposition(nfd, (UChar32)cp, parts, 16, &status) > 0 &&
        U_SUCCESS(status) && parts[0] < 0x80)
        cp = parts[0];
    return (uint32_t)u_tolower((UChar32)cp);
}

/* Apostrophes at the end do not belong to the word; an empty one is none. */
static int end_word(Words *w, size_t start)
{
    while (w->text.size > start && w->text.data[w->text.size - 1] == '\'')
        w->text.size--;
    if (w->text.failed)
        return ERR_NOMEM;
    if (w->text.size == start)
        return 0;
    if (mem_grow(&w->list, &w->cap, w->count + 1, sizeof *w->list))
        return ERR_NOMEM;
    w->list[w->count++] = (Word){start, w->text.size - start};
    return 0;
}

/* Appends the words of text to w; at most WORDS_MOST. */
static int add_words(Words *w, const char *text)
{
    size_t n = text ? strlen(text) : 0, at = 0, valid = 0, first = w->count;
    while (at < n) {
        if (at >= valid)
            valid = at + utf8_valid(text + at, n - at);
        size_t start = w->text.size;
        while (at < valid) {
            uint32_t cp = unicode_next(text, valid, &at);
            if (is_apostrophe(cp)) {
                if (w->text.size > start) /* not before the word */
                    buf_add(&w->text, "'", 1);
            } else if (unicode_is_letter(cp)) {
                unicode_append(&w->text, plain_letter(cp));
            } else {
                break;
            }
        }
        if (at == valid) /* the end, or a byte that is not UTF-8: it separates as a blank does */
            at++;
        int rc = end_word(w, start);
        if (rc)
            return rc;
        if (w->count - first > WORDS_MOST)
            return ERR_DATA;
    }
    return 0;
}

/* Order of words, for qsort_r. */
static int by_text(const void *a, const void *b, void *user)
{
    const Words *w = user;
    const Word *x = &w->list[*(const uint32_t *)a], *y = &w->list[*(const uint32_t *)b];
    int order = memcmp(w->text.data + x->at, w->text.data + y->at, x->size < y->size ? x->size : y->size);
    return order ? order : (x->size > y->size) - (x->size < y->size);
}

/* ids[i]: the same for the same word. order is scratch; both [count]. */
static void number_words(Words *w, uint32_t *ids, uint32_t *order)
{
    for (size_t i = 0; i < w->count; i++)
        order[i] = (uint32_t)i;
    if (w->count)
        qsort_r(order, w->count, sizeof *order, by_text, w);
    uint32_t id = 0;
    for (size_t i = 0; i < w->count; i++) {
        id += i > 0 && by_text(&order[i - 1], &order[i], w) != 0;
        ids[order[i]] = id;
    }
}

/* row[j]: errors between the first i words of a and the first j of b. row is [n_b + 1]. */
static uint32_t edit_distance(const uint32_t *a, size_t n_a, const uint32_t *b, size_t n_b, uint32_t *row)
{
    for (size_t j = 0; j <= n_b; j++)
        row[j] = (uint32_t)j;
    for (size_t i = 0; i < n_a; i++) {
        uint32_t diagonal = row[0], left = (uint32_t)i + 1;
        row[0] = left;
        for (size_t j = 0; j < n_b; j++) {
            uint32_t best = diagonal + (a[i] != b[j]), above = row[j + 1];
            diagonal = above;
            if (above + 1 < best)
                best = above + 1;
            if (left + 1 < best)
                best = left + 1;
            row[j + 1] = left = best;
        }
    }
    return row[n_b];
}

/* Both texts in one list: a word has the same number in either. */
int words_wrong(const char *said, const char *heard, int *words)
{
    Words w = {0};
    if (words)
        *words = 0;
    int rc = add_words(&w, said);
    size_t n_said = w.count;
    if (!rc)
        rc = add_words(&w, heard);
    size_t n_heard = w.count - n_said;
    uint32_t *ids = rc ? NULL : mem_calloc(3 * w.count + 1, sizeof *ids); /* numbers, order, row */
    if (!rc && !ids)
        rc = ERR_NOMEM;
    if (!rc) {
        number_words(&w, ids, ids + w.count);
        rc = (int)edit_distance(ids, n_said, ids + n_said, n_heard, ids + 2 * w.count);
        if (words)
            *words = (int)n_said;
    }
    free(ids);
    free(w.list);
    buf_free(&w.text);
    return rc;
}
