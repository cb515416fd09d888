/* fuzz_lexicon.c - any bytes as a lexicon, looked up in any text: errors have a line, entries hold symbols of
 * the table, matches are whole characters inside the text. What stands behind the first NUL is the text. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/utf8.h"
#include "text/front_end.h"
#include "text/phonemes/lexicon.h"
#include "text/phonemes/tokens.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_entries(const Lexicon *l)
{
    const char *word, *ipa;
    int line;
    for (int i = 0; (ipa = lexicon_entry(l, i, &word, &line)); i++) {
        ASSERT_CMP(line, >, 0);
        ASSERT(*word && *ipa && utf8_valid(word, strlen(word)) == strlen(word));
        for (size_t at = 0, n = strlen(ipa); at < n;)
            ASSERT_CMP(tokens_find(unicode_next(ipa, n, &at)), >=, 0);
    }
}

/* Sections and letters: matches are whole characters. */
static void check_front_ends(const char *lexicon, size_t size, const char *text, size_t n)
{
    FrontEnds f;
    Err err = {0};
    if (front_ends_open(&f, FRONT_ESPEAK, lexicon, size, "f", 0, &err))
        ASSERT(!strncmp(err.msg, "f:", 2));
    for (size_t k = 0; !err.code && k < f.count; k++)
        for (size_t at = 0; at < n;) {
            const char *ipa;
            const size_t letters = front_letters(&f.all[k], text, n, at, &ipa);
            ASSERT(at + letters <= n && (at + letters == n || !utf8_continues(text[at + letters])));
            unicode_next(text, n, &at);
        }
    front_ends_close(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
    const size_t n = nul ? (size_t)(nul - data) : size, rest = nul ? size - n - 1 : 0;
    Lexicon *l;
    Err err = {0};
    UnicodeScratch scratch = {0};
    Buf text = {0};
    if (rest && utf8_valid((const char *)nul + 1, rest) == rest)
        ASSERT(unicode_normalise(&scratch, &text, (const char *)nul + 1, rest) == 0);
    /* A block of its own, so that the address sanitizer sees its end. */
    char *line = malloc(text.size ? text.size : 1);
    ASSERT(line != NULL);
    if (text.size)
        memcpy(line, text.data, text.size);
    check_front_ends((const char *)data, n, line, text.size);
    if (lexicon_open(&l, (const char *)data, n, "f", 0, &err))
        ASSERT(l == NULL && !strncmp(err.msg, "f:", 2));
    else
        check_entries(l);
    for (size_t at = 0; l && at < text.size;) {
        LexiconMatch m;
        for (int english = 0; english < 2; english++)
            if (lexicon_find(l, &m, line, text.size, at, english)) {
                ASSERT(m.size && at + m.size <= text.size && m.ipa_size);
                ASSERT(at + m.size == text.size || !utf8_continues(line[at + m.size]));
            }
        unicode_next(line, text.size, &at);
    }
    free(line);
    buf_free(&text);
    unicode_scratch_free(&scratch);
    lexicon_close(l);
    return 0;
}
