/* fuzz_layouts.c - any bytes as a file of JSON lines, or as the four files of a Kaldi folder: the first byte
 * chooses, the next three say where the rest is cut. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/check.h"
#include "base/utf8.h"
#include "dataset/kaldi.h"
#include "dataset/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads every byte, so that the address sanitizer sees a slice of something else. */
static void check_text(Str s)
{
    ASSERT(s.p != NULL);
    ASSERT_CMP(utf8_valid(s.p, s.n), ==, s.n);
    ASSERT(!s.n || !memchr(s.p, 0, s.n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4)
        return 0;
    const char *bytes = (const char *)data + 4;
    const size_t n = size - 4;
    Dataset d = {.root = "/data"};
    Map ids = {0};
    Err err = {0};
    Lines lines = {.d = &d, .ids = &ids, .prefix = {"wavs/"}};
    int rc;
    if (data[0] & 1) {
        KaldiBytes files[KALDI_FILES] = {0};
        size_t at = 0, without_text;
        for (int i = 0; i < KALDI_FILES; i++) {
            size_t length = i + 1 < KALDI_FILES ? (n - at) * data[i + 1] / 255 : n - at;
            files[i] = (KaldiBytes){bytes + at, length};
            at += length;
        }
        rc = kaldi_parse(&lines, files, &without_text, &err);
    } else {
        rc = manifest_parse(&lines, (const uint8_t *)bytes, n, &err);
    }
    ASSERT_CMP(rc, ==, 0);
    ASSERT_CMP(d.count + d.rejected_count, ==, d.lines);
    ASSERT_CMP(ids.count, ==, d.count);
    for (size_t i = 0; i < d.count; i++) {
        const Utterance *u = &d.utterances[i];
        check_text(u->id);
        check_text(u->text);
        check_text(u->speaker);
        check_text(u->language);
        ASSERT(u->id.n && u->text.n && u->line >= 1);
        ASSERT(u->audio.n || !(data[0] & 1)); /* a JSON line may name its recording by the id alone */
        ASSERT(!line_id_fault(u->id));
    }
    for (size_t i = 0; i < d.rejected_count; i++) {
        const Rejection *r = &d.rejected[i];
        ASSERT_CMP(utf8_valid(r->id.p, r->id.n), ==, r->id.n);
        ASSERT_CMP(utf8_valid(r->detail, strlen(r->detail)), ==, strlen(r->detail));
        ASSERT(r->line >= 1 && r->reason > REJECT_NONE && r->reason < REJECT_COUNT);
    }
    map_free(&ids);
    dataset_close(&d);
    return 0;
}
