/* spans.c - see spans.h. */
#include "text/spans.h"

#include <string.h>

#include "text/unicode.h"

const char *span_origin_name(SpanOrigin o)
{
    static const char *const names[SPAN_ORIGINS] = {"espeak", "lexicon", "inline", "letters", "rule"};
    return o < SPAN_ORIGINS ? names[o] : "";
}

void text_block_free(TextBlock *b)
{
    Buf *const all[] = {&b->said,   &b->marks,  &b->losses,  &b->strings,
                        &b->normal, &b->places, &b->anchors, &b->marked};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buf_free(all[i]);
}

/* Strings of marks lie one behind the other. */
static uint32_t keep(TextBlock *b, const char *s, uint32_t *size)
{
    uint32_t at = (uint32_t)b->strings.size;
    *size = s ? (uint32_t)strlen(s) : 0;
    buf_add(&b->strings, s, *size);
    return at;
}

int text_mark(TextBlock *b, Buf *out, const TextMark *m, const char *ipa, const char *words, int capital)
{
    const uint32_t number = (uint32_t)(b->marks.size / sizeof *m);
    TextMark made = *m;
    if (number >= UNICODE_STAND_INS)
        return 0;
    made.ipa = keep(b, ipa, &made.ipa_size);
    made.words = keep(b, words, &made.words_size);
    buf_add(&b->marks, &made, sizeof made);
    unicode_append(out, (capital ? UNICODE_STAND_IN_CAPITAL : UNICODE_STAND_IN) + number);
    return 1;
}

TextMark *text_mark_of(const TextBlock *b, uint32_t cp)
{
    if (cp < UNICODE_STAND_IN)
        return NULL;
    const uint32_t number =
        cp - (cp >= UNICODE_STAND_IN_CAPITAL ? UNICODE_STAND_IN_CAPITAL : UNICODE_STAND_IN);
    TextMark *all = (TextMark *)(void *)b->marks.data;
    return number < b->marks.size / sizeof *all ? &all[number] : NULL;
}

/* Words that are the same in both are where they are; what lies between two of them belongs together. */
void text_source(const TextBlock *b, size_t said, size_t size, uint32_t *from, uint32_t *to)
{
    const uint32_t *a = (const uint32_t *)(const void *)b->anchors.data,
                   *places = (const uint32_t *)(const void *)b->places.data;
    size_t low = 0, high = b->anchors.size / (2 * sizeof *a), begin = 0, end = b->normal.size;
    *from = *to = 0;
    if (!b->places.size)
        return;
    const size_t count = high;
    while (low < high) { /* the first anchor behind `said` */
        size_t middle = (low + high) / 2;
        if (a[2 * middle] <= said)
            low = middle + 1;
        else
            high = middle;
    }
    if (low)
        begin = a[2 * (low - 1) + 1];
    while (low < count && a[2 * low] < said + size)
        low++;
    if (low < count)
        end = a[2 * low + 1];
    while (end > begin && b->normal.data[end - 1] == ' ')
        end--;
    *from = places[begin];
    *to = places[end];
}
