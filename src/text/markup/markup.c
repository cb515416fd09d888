/* markup.c - see markup.h. */
#include "text/markup/markup.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "text/unicode.h"

void markup_free(Markup *s)
{
    Buf *const all[] = {&s->text, &s->strings, &s->controls, &s->sections, &s->places, &s->notes};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buf_free(all[i]);
}

int markup_failed(const Markup *s)
{
    return s->text.failed || s->strings.failed || s->controls.failed || s->sections.failed ||
           s->places.failed || s->notes.failed;
}

/* The last of [count] structures that begin with an offset not behind `at`; 0: the first. */
static size_t last_before(const char *all, size_t count, size_t size, size_t at)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        uint32_t from;
        memcpy(&from, all + middle * size, sizeof from);
        if (from <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : 0;
}

void markup_source(const Markup *s, size_t at, size_t size, size_t *from, size_t *source_size)
{
    const MarkupPlace *all = (const MarkupPlace *)(const void *)s->places.data;
    const size_t count = s->places.size / sizeof *all;
    *from = *source_size = 0;
    if (!count)
        return;
    const MarkupPlace *first = &all[last_before(s->places.data, count, sizeof *all, at)],
                      *last = &all[last_before(s->places.data, count, sizeof *all, at + size - (size > 0))];
    *from = first->source + (first->size || at < first->text ? 0 : at - first->text);
    const size_t end = last->size ? last->source + last->size : last->source + (at + size - last->text);
    *source_size = end > *from ? end - *from : 0;
}

const MarkupSection *markup_section(const Markup *s, size_t at)
{
    const MarkupSection *all = (const MarkupSection *)(const void *)s->sections.data;
    return &all[last_before(s->sections.data, s->sections.size / sizeof *all, sizeof *all, at)];
}

const char *markup_string(const Markup *s, uint32_t at) { return at ? s->strings.data + at : NULL; }

uint32_t markup_keep(Markup *s, const char *p, size_t n)
{
    if (!s->strings.size)
        buf_add(&s->strings, "", 1);
    const uint32_t at = (uint32_t)s->strings.size;
    buf_add(&s->strings, p, n);
    buf_add(&s->strings, "", 1);
    return s->strings.failed ? 0 : at;
}

void markup_note(Markup *s, size_t at, const char *fmt, ...)
{
    MarkupNote note = {.at = (uint32_t)at, .count = 1}, *all = (MarkupNote *)(void *)s->notes.data;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(note.what, sizeof note.what, fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < s->notes.size / sizeof note; i++)
        if (!strcmp(all[i].what, note.what)) {
            all[i].count++;
            return;
        }
    if (s->notes.size / sizeof note < MARKUP_MOST_NOTES)
        buf_add(&s->notes, &note, sizeof note);
}

void markup_add(Markup *s, const char *p, size_t n, size_t source, size_t source_size)
{
    const MarkupPlace place = {(uint32_t)s->text.size, (uint32_t)source, (uint32_t)source_size};
    if (!n)
        return;
    buf_add(&s->places, &place, sizeof place);
    buf_add(&s->text, p, n);
}

void markup_control(Markup *s, const MarkupControl *c)
{
    if (s->text.size && s->text.data[s->text.size - 1] != ' ' && s->text.data[s->text.size - 1] != '\n')
        buf_str(&s->text, " ");
    unicode_append(&s->text, MARKUP_CONTROL);
    buf_add(&s->controls, c, sizeof *c);
}

static int same(const Markup *s, uint32_t a, uint32_t b)
{
    return a == b || (a && b && !strcmp(s->strings.data + a, s->strings.data + b));
}

void markup_begin_section(Markup *s, uint32_t language, uint32_t speaker)
{
    const MarkupSection *all = (const MarkupSection *)(const void *)s->sections.data,
                        *last = s->sections.size ? &all[s->sections.size / sizeof *all - 1] : NULL;
    if (last && same(s, last->language, language) && same(s, last->speaker, speaker))
        return;
    if (s->text.size && s->text.data[s->text.size - 1] != '\n')
        buf_str(&s->text, "\n");
    const MarkupSection made = {(uint32_t)s->text.size, language, speaker};
    buf_add(&s->sections, &made, sizeof made);
}
