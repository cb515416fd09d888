/* controls.c - see controls.h. */
#include "text/markup/controls.h"

#include "base/utf8.h"
#include "text/phonemes/tokens.h"
#include "text/unicode.h"

static int is_letter_at(const char *p, size_t n, size_t at)
{
    return at < n && tokens_is_letter(tokens_find(unicode_next(p, n, &at)));
}

int controls_has_letter(const char *p, size_t n)
{
    for (size_t i = 0; i < n; unicode_next(p, n, &i))
        if (is_letter_at(p, n, i))
            return 1;
    return 0;
}

/* Whether words follow behind `at`, past blanks and controls. *end: nothing does. */
static int word_follows(const TextBlock *b, const char *p, size_t n, size_t at, int *end)
{
    for (size_t i = at; i < n;) {
        const size_t here = i;
        const uint32_t cp = unicode_next(p, n, &i);
        const TextMark *m = text_mark_of(b, cp);
        *end = 0;
        if (cp != ' ' && !(m && m->is_control))
            return is_letter_at(p, n, here);
    }
    *end = 1;
    return 0;
}

/* One blank where a control stood between words, none before a mark or at the end. A break where nothing says
 * so already is a comma. */
static void put_control(TextResult *r, Buf *out, const TextBlock *b, const TextMark *m, size_t at)
{
    const MarkupControl *c = (const MarkupControl *)(const void *)b->markup->controls.data + m->control;
    int at_end = 0;
    const int follows = word_follows(b, r->phonemes.data, r->phonemes.size, at, &at_end),
              blank = out->size && out->data[out->size - 1] == ' ';
    size_t last = out->size - (size_t)blank;
    if (c->kind == MARKUP_BREAK && c->seconds > 0 && (follows || at_end) && last) {
        do
            last--;
        while (last && utf8_continues(out->data[last]));
        if (is_letter_at(out->data, out->size, last)) {
            out->size -= (size_t)blank;
            buf_str(out, ",");
        }
    }
    if (follows && out->size && out->data[out->size - 1] != ' ')
        buf_str(out, " ");
    else if (!follows && out->size && out->data[out->size - 1] == ' ')
        out->size--;
    const TextControl made = {.number = m->control, .phonemes = (uint32_t)out->size};
    buf_add(&r->controls, &made, sizeof made);
}

int controls_take(TextResult *r, const TextBlock *b)
{
    Buf out = {0}, at = {0};
    int controls = 0;
    for (size_t i = 0; i < r->phonemes.size;) {
        size_t from = i;
        const uint32_t place = (uint32_t)out.size, cp = unicode_next(r->phonemes.data, r->phonemes.size, &i);
        const TextMark *m = text_mark_of(b, cp);
        if (m && m->is_control) {
            put_control(r, &out, b, m, i);
            controls = 1;
        } else if (cp != ' ' || !controls || (out.size && out.data[out.size - 1] != ' ')) {
            buf_add(&out, r->phonemes.data + from, i - from);
            controls = 0;
        }
        for (; from < i; from++)
            buf_add(&at, &place, sizeof place);
    }
    const uint32_t end = (uint32_t)out.size;
    buf_add(&at, &end, sizeof end);
    const uint32_t *where = (const uint32_t *)(const void *)at.data;
    TextSpan *spans = (TextSpan *)(void *)r->spans.data;
    for (size_t i = 0; !at.failed && i < r->spans.size / sizeof *spans; i++) {
        const uint32_t from = where[spans[i].phonemes],
                       to = where[spans[i].phonemes + spans[i].phonemes_size];
        spans[i].phonemes = from;
        spans[i].phonemes_size = to - from;
    }
    buf_clear(&r->phonemes);
    buf_add(&r->phonemes, out.data, out.size);
    const int failed = out.failed || at.failed || r->phonemes.failed || r->controls.failed;
    buf_free(&out);
    buf_free(&at);
    return failed ? ERR_NOMEM : 0;
}
