/* fuzz_metadata.c - any bytes as a metadata file. The first byte chooses the delimiter and the prefix, the
 * rest is the file, cut in two at a byte of its own for the train and the eval file of one dataset. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/check.h"
#include "dataset/metadata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A second, slow decoder: the parser's own must not be the judge of itself. */
static int is_utf8(Str s)
{
    for (uint32_t i = 0; i < s.n;) {
        uint8_t c = (uint8_t)s.p[i++];
        int more = c < 0x80 ? 0 : c >> 5 == 6 ? 1 : c >> 4 == 14 ? 2 : c >> 3 == 30 ? 3 : -1;
        static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
        if (more < 0 || s.n - i < (uint32_t)more)
            return 0;
        uint32_t point = more ? c & (0x3Fu >> more) : c;
        for (int k = 0; k < more; k++, i++) {
            if (((uint8_t)s.p[i] & 0xC0) != 0x80)
                return 0;
            point = point << 6 | ((uint8_t)s.p[i] & 0x3F);
        }
        if (point < least[more] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF))
            return 0;
    }
    return 1;
}

/* Inside the input, or in the block: is_utf8 reads every byte, so that the address sanitizer sees a slice of
 * neither. */
static void check_slice(Str s)
{
    ASSERT(s.p != NULL);
    ASSERT_CMP(s.n, <=, 65536);
    ASSERT(is_utf8(s));
}

static void check_id(Str id)
{
    check_slice(id);
    ASSERT_CMP(id.n, >, 0);
    ASSERT(id.p[0] != '/' && id.p[0] != '\\');
    ASSERT(id.n < 2 || id.p[1] != ':' || !((id.p[0] | 32) >= 'a' && (id.p[0] | 32) <= 'z'));
    for (uint32_t i = 0; i < id.n; i++) {
        ASSERT((uint8_t)id.p[i] >= 0x20);
        int begins = i == 0 || id.p[i - 1] == '/' || id.p[i - 1] == '\\';
        int ends = i + 2 == id.n || (i + 2 < id.n && (id.p[i + 2] == '/' || id.p[i + 2] == '\\'));
        ASSERT(!(begins && ends && id.p[i] == '.' && id.p[i + 1] == '.'));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char delimiters[] = {0, '|', '\t', ','};
    if (size < 2)
        return 0;
    MetadataOptions opt = {.delimiter = delimiters[data[0] & 3],
                           .prefix = {data[0] & 4 ? "wavs/" : NULL, data[0] & 8 ? "a/" : NULL}};
    const uint8_t *bytes = data + 2;
    size_t cut = (size_t)(((uint64_t)(size - 2) * data[1]) / 255), n = size - 2;
    Dataset d = {0};
    Map ids = {0};
    MetadataForm form;
    Err err = {0};
    int rc = metadata_parse(&d, &ids, &form, bytes, cut, 0, &opt, &err);
    if (!rc)
        rc = metadata_parse(&d, &ids, &form, bytes + cut, n - cut, 1, &opt, &err);
    ASSERT(rc == 0 || rc == ERR_FORMAT);
    if (!rc)
        ASSERT_CMP(d.count + d.rejected_count, ==, d.lines);
    ASSERT_CMP(ids.count, ==, d.count);
    for (size_t i = 0; i < d.count; i++) {
        const Utterance *u = &d.utterances[i];
        check_id(u->id);
        check_slice(u->text);
        check_slice(u->speaker);
        check_slice(u->language);
        ASSERT_CMP(u->text.n, >, 0);
        ASSERT(!memchr(u->text.p, 0, u->text.n));
        ASSERT(u->line >= 1 && u->file <= 1);
    }
    for (size_t i = 0; i < d.rejected_count; i++) {
        const Rejection *r = &d.rejected[i];
        check_slice(r->id);
        ASSERT(r->detail && r->line >= 1 && r->reason > REJECT_NONE && r->reason < REJECT_COUNT);
    }
    map_free(&ids);
    dataset_close(&d);
    return 0;
}
