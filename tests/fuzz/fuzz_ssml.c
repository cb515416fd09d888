/* fuzz_ssml.c - any bytes as SSML: errors have a line and a column; words are UTF-8 with as many controls in
 * them as there are in the list, every number within its limits, every place inside the document. The first
 * byte: with phonemes, or English, or neither. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/utf8.h"
#include "text/markup/format.h"
#include "text/markup/ssml_values.h"
#include "text/markup/xml.h"
#include "text/unicode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_controls(const Markup *m)
{
    const MarkupControl *all = (const MarkupControl *)(const void *)m->controls.data;
    const size_t count = m->controls.size / sizeof *all;
    size_t found = 0;
    for (size_t i = 0; i < m->text.size;)
        found += unicode_next(m->text.data, m->text.size, &i) == MARKUP_CONTROL;
    ASSERT_CMP(found, ==, count);
    for (size_t i = 0; i < count; i++) {
        const MarkupManner *h = &all[i].manner;
        ASSERT(h->rate >= 0.25 && h->rate <= 4 && fabs(h->pitch) <= 24 && isfinite(h->hz));
        ASSERT(h->volume >= 0 && h->volume <= 16 && fabs(h->emphasis) <= 1 && isfinite(h->base_hz));
        ASSERT(all[i].seconds >= 0 && all[i].seconds <= SSML_LONGEST_BREAK);
        ASSERT(all[i].kind != MARKUP_MARK || *markup_string(m, all[i].name));
    }
}

static void check_places(const Markup *m, size_t n)
{
    for (size_t i = 0; i < m->text.size; i++) {
        size_t from, length;
        markup_source(m, i, 1, &from, &length);
        ASSERT(from <= n && length <= n - from);
        ASSERT_CMP(markup_section(m, i)->from, <=, i);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    const size_t n = size - 1;
    const TextFormatUse use = {.phonemes = data[0] & 1, .language = data[0] & 2 ? "en" : NULL};
    Markup m = {0};
    Err err = {0};
    char *text = malloc(n ? n : 1); /* of its own, so that the address sanitizer sees its end */
    ASSERT(text != NULL);
    memcpy(text, data + 1, n);
    text_format_of(TEXT_FORMAT_AUTO, text, n);
    int rc = text_format_read(&m, TEXT_FORMAT_SSML, text, n, &use, &err);
    if (rc != 1) {
        ASSERT(rc == ERR_DATA && !strncmp(err.msg, "line ", 5) && strstr(err.msg, ", column "));
        ASSERT(!m.text.data);
    } else {
        ASSERT_CMP(utf8_valid(m.text.data, m.text.size), ==, m.text.size);
        check_controls(&m);
        check_places(&m, n);
    }
    markup_free(&m);
    free(text);
    return 0;
}
