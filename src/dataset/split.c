/* split.c - which clips are held out for validation: by text, so that a sentence that was read several times
 * is never on both sides. */
#include <math.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/utf16.h>
#include <unicode/utf8.h>

#include "base/rng.h"
#include "dataset/dataset.h"

#define MOST_PIECES 20 /* UTF-16 units that one character decomposes into; ICU's longest has 18 */

/* Don't, don’t and dont are one word. */
static int is_apostrophe(UChar32 c) { return c == '\'' || c == 0x2018 || c == 0x2019 || c == 0x02BC; }

static int belongs_to_words(UChar32 c)
{
    const int type = u_charType(c);
    return u_isalnum(c) || type == U_NON_SPACING_MARK || type == U_COMBINING_SPACING_MARK;
}

/* Adds one character of a word. */
static uint64_t add(uint64_t h, UChar32 c)
{
    return rng_mix(h, (uint64_t)u_foldCase(c, U_FOLD_CASE_DEFAULT));
}

/* Adds a letter: an accented one may be one character or two. */
static uint64_t add_letter(uint64_t h, UChar32 c, const UNormalizer2 *nfd)
{
    UChar pieces[MOST_PIECES];
    UErrorCode failed = U_ZERO_ERROR;
    const int32_t n = nfd ? unorm2_getDecomposition(nfd, c, pieces, MOST_PIECES, &failed) : -1;
    if (n < 0 || U_FAILURE(failed))
        return add(h, c);
    for (int32_t i = 0; i < n;) {
        U16_NEXT(pieces, i, n, c);
        h = add(h, c);
    }
    return h;
}

/* Of a text without words. */
static uint64_t hash_characters(Str text)
{
    uint64_t h = 0;
    for (int32_t at = 0; at < (int32_t)text.n;) {
        UChar32 c;
        U8_NEXT_OR_FFFD(text.p, at, (int32_t)text.n, c);
        h = rng_mix(h, (uint64_t)c);
    }
    return h;
}

/* Words alone count: a run of anything else is one space, and none at the ends. */
uint64_t dataset_text_hash(Str text)
{
    UErrorCode status = U_ZERO_ERROR;
    const UNormalizer2 *nfd = unorm2_getNFDInstance(&status);
    uint64_t words = 0;
    int in_words = 0, gap = 0;
    for (int32_t at = 0; at < (int32_t)text.n;) {
        UChar32 c;
        U8_NEXT_OR_FFFD(text.p, at, (int32_t)text.n, c);
        if (is_apostrophe(c))
            continue;
        const int small = c >= 'a' && c <= 'z'; /* most letters are, and every start sees them all */
        if (!small && !belongs_to_words(c)) {
            gap = in_words;
            continue;
        }
        if (gap)
            words = rng_mix(words, ' ');
        gap = 0;
        in_words = 1;
        words = small ? rng_mix(words, (uint64_t)c) : c < 0x80 ? add(words, c) : add_letter(words, c, nfd);
    }
    return in_words ? words : hash_characters(text);
}

/* In [0, 1): below the share is held out. */
static double place_of(Str text, int64_t seed)
{
    return (double)(rng_mix(dataset_text_hash(text), (uint64_t)seed) >> 11) * 0x1p-53;
}

Split dataset_split(Str text, int64_t seed, double val_share)
{
    return place_of(text, seed) < val_share ? SPLIT_VAL : SPLIT_TRAIN;
}

void dataset_split_all(Dataset *d, int64_t seed, double val_share)
{
    size_t held = 0;
    double last = -1;
    for (size_t i = 0; i < d->count; i++) {
        Utterance *u = &d->utterances[i];
        u->split = dataset_split(u->text, seed, val_share);
        held += u->split == SPLIT_VAL;
    }
    /* Of a few texts in many takes all may be drawn: then the text that was drawn last goes to training. */
    if (held < d->count)
        return;
    for (size_t i = 0; i < d->count; i++)
        last = fmax(last, place_of(d->utterances[i].text, seed));
    for (size_t i = 0; i < d->count; i++)
        if (!(place_of(d->utterances[i].text, seed) < last))
            d->utterances[i].split = SPLIT_TRAIN;
}
