/* fuzz_text.c - any text through the cleaners: valid UTF-8 stays valid, and nothing is read outside the line.
 * The first byte chooses the language and whether letters become small. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/utf8.h"
#include "config/languages.h"
#include "text/clean.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static Cleaner cleaners[2];
    static UnicodeScratch scratch;
    if (!cleaners[0].numbers)
        for (int lower = 0; lower < 2; lower++)
            if (clean_open(&cleaners[lower], CLEANER_MULTILINGUAL, lower, &scratch) < 0)
                return 0;
    if (size < 1 || utf8_valid((const char *)data + 1, size - 1) != size - 1)
        return 0;
    /* Every second one in English, which has the most rules. */
    int rows = 0;
    while (language_row(rows))
        rows++;
    const char *language = data[0] & 1 ? "en" : language_code((data[0] >> 2) % rows);
    Buf normal = {0}, out = {0};
    ASSERT(unicode_normalise(&scratch, &normal, (const char *)data + 1, size - 1) == 0);
    /* A block of its own, so that the address sanitizer sees its end. */
    char *line = malloc(normal.size ? normal.size : 1);
    ASSERT(line != NULL);
    if (normal.size)
        memcpy(line, normal.data, normal.size);
    ASSERT(clean_text(&cleaners[data[0] >> 1 & 1], &out, line, normal.size, language) == 0);
    ASSERT_CMP(utf8_valid(out.data, out.size), ==, out.size);
    free(line);
    buf_free(&normal);
    buf_free(&out);
    return 0;
}
