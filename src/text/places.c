/* places.c - see places.h. */
#include "text/places.h"

#include <string.h>
#include <unicode/uchar.h>

#include "text/unicode.h"

/* --- normal -> text --- */

/* What normalisation has dropped or made a blank of. */
static int is_passed_over(uint32_t cp) { return unicode_is_space(cp) || unicode_is_dropped(cp); }

/* Marks, and vowels and finals of Hangul: what is composed with the character before it. */
static int is_composed(uint32_t cp)
{
    return (cp >= 0x300 && (U_GET_GC_MASK((UChar32)cp) & U_GC_M_MASK) != 0) || (cp >= 0x1160 && cp <= 0x11FF);
}

static size_t skip(const char *p, size_t n, size_t at, int (*is)(uint32_t))
{
    while (at < n) {
        size_t next = at;
        if (!is(unicode_next(p, n, &next)))
            break;
        at = next;
    }
    return at;
}

void places_of_normal(Buf *places, const char *text, size_t n, const char *normal, size_t size)
{
    size_t i = 0;
    for (size_t j = 0; j < size;) {
        size_t from = j, at = i;
        uint32_t cp = unicode_next(normal, size, &j);
        if (cp == ' ') {
            i = skip(text, n, i, is_passed_over);
        } else {
            size_t next = at;
            /* A non-joiner of Persian stays, though others like it go. */
            if (at < n && unicode_next(text, n, &next) != cp)
                at = skip(text, n, at, is_passed_over);
            next = at;
            uint32_t is = at < n ? unicode_next(text, n, &next) : cp;
            i = next;
            if (is != cp) { /* composed, or put in order: the character with all its marks */
                i = skip(text, n, next, is_composed);
                j = skip(normal, size, j, is_composed);
            }
        }
        const uint32_t place = (uint32_t)at;
        for (size_t k = from; k < j; k++)
            buf_add(places, &place, sizeof place);
    }
    const uint32_t end = (uint32_t)i;
    buf_add(places, &end, sizeof end);
}

/* --- said -> normal --- */

/* The next word: letters, digits and what is neither a blank nor ASCII punctuation. 0 at the end. */
static size_t next_word(const char *p, size_t n, size_t *at)
{
    static const char between[] = " .,;:!?\"()[]{}-";
    while (*at < n && strchr(between, p[*at]))
        (*at)++;
    size_t end = *at;
    while (end < n && !strchr(between, p[end]))
        end++;
    return end - *at;
}

static void add_anchor(TextBlock *b, size_t said, size_t normal)
{
    const uint32_t pair[2] = {(uint32_t)said, (uint32_t)normal};
    buf_add(&b->anchors, pair, sizeof pair);
}

/* The word is in normal, not far behind `from`: 1 and its place. */
static int find_word(const TextBlock *b, size_t from, const char *word, size_t size, size_t *place)
{
    enum { AHEAD = 24 }; /* words: a number may become more of them */
    size_t at = from, length;
    for (int k = 0; k < AHEAD && (length = next_word(b->normal.data, b->normal.size, &at)); k++) {
        if (length == size && !memcmp(b->normal.data + at, word, size)) {
            *place = at;
            return 1;
        }
        at += length;
    }
    return 0;
}

void places_anchor(TextBlock *b)
{
    size_t at = 0, length, from = 0;
    buf_clear(&b->anchors);
    while ((length = next_word(b->said.data, b->said.size, &at))) {
        size_t i = at, place;
        uint32_t cp = unicode_next(b->said.data, b->said.size, &i);
        const TextMark *m = text_mark_of(b, cp);
        if (m && !m->is_found) {
            if (m->source >= from)
                add_anchor(b, at, m->source);
            from = m->source >= from ? m->source + m->source_size : from;
            at = i; /* the rest of the word is one of its own */
            continue;
        }
        if (!m && find_word(b, from, b->said.data + at, length, &place)) {
            add_anchor(b, at, place);
            from = place + length;
        }
        at += length;
    }
}
