/* fuzz_markup.c - any text as Markdown, HTML and a line with addresses: valid UTF-8 stays valid, every byte
 * has a place in the text, and places never go back. The first byte chooses format and language. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/utf8.h"
#include "text/aloud/addresses.h"
#include "text/markup/html.h"
#include "text/markup/markdown.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const languages[] = {"en", "de", "fa", "ko"};
    const size_t n = size ? size - 1 : 0;
    if (!size || utf8_valid((const char *)data + 1, n) != n)
        return 0;
    /* A block of its own, so that the address sanitizer sees its end. */
    char *text = malloc(n ? n : 1);
    ASSERT(text != NULL);
    if (n)
        memcpy(text, data + 1, n);
    Reading r = {.language = languages[data[0] >> 1 & 3]};
    ASSERT((data[0] & 1 ? html_read : markdown_read)(&r, text, n) == 0);
    ASSERT_CMP(utf8_valid(r.text.data, r.text.size), ==, r.text.size);
    const uint32_t *places = (const uint32_t *)(const void *)r.places.data;
    ASSERT_CMP(r.places.size, ==, (r.text.size + 1) * sizeof *places);
    for (size_t i = 0; i <= r.text.size; i++)
        ASSERT(places[i] <= n && (!i || places[i - 1] <= places[i]));
    markdown_is_likely(text, n);
    html_is_likely(text, n);
    Buf out = {0};
    if (n)
        addresses_rewrite(&out, text, n, r.language);
    ASSERT_CMP(utf8_valid(out.data, out.size), ==, out.size);
    buf_free(&out);
    reading_free(&r);
    free(text);
    return 0;
}
