/* piper_symbols.c - see piper_symbols.h. */
#include "voice/share/piper_symbols.h"

#include <string.h>
#include <unicode/unorm2.h>

#include "text/phonemes/tokens.h"
#include "voice/symbols_seen.h"

/* What espeak-ng 1.51, which voices learn from, writes for what later ones write: "fünf" was fynf and is now
 * fʏnf. The nearest by ear would be another sound. */
static const struct {
    uint32_t later, earlier;
} respelled[] = {{0x28F, 'y'}};

/* Letters with a mark that are one symbol here and two code points there. 0: the symbol is none of them. */
static int taken_apart(int id, uint32_t *letter)
{
    UErrorCode status = U_ZERO_ERROR;
    const UNormalizer2 *nfd = unorm2_getNFDInstance(&status);
    UChar pieces[8];
    const int32_t n = U_FAILURE(status) ? 0
                                        : unorm2_getRawDecomposition(nfd, (UChar32)tokens_code_point(id),
                                                                     pieces, 8, &status);
    if (U_FAILURE(status) || n < 2)
        return 0;
    *letter = pieces[0];
    return 1;
}

/* A letter that comes only with its mark stands for both. The mark itself is passed over, as any other that
 * the voice has not learned. */
static int whole_of(uint32_t letter, const uint8_t *seen)
{
    for (int id = TOKEN_FIRST_SYMBOL; id < tokens_count(); id++) {
        uint32_t first;
        if (seen[id] && taken_apart(id, &first) && first == letter)
            return id;
    }
    return -1;
}

static int stands_for(int id, const uint8_t *seen)
{
    const uint32_t code_point = tokens_code_point(id);
    if (!seen || seen[id])
        return id;
    int other = whole_of(code_point, seen);
    for (size_t i = 0; i < sizeof respelled / sizeof *respelled && other < 0; i++) {
        const int earlier = tokens_find(respelled[i].earlier);
        if (respelled[i].later == code_point && earlier >= 0 && seen[earlier])
            other = earlier;
    }
    if (other < 0)
        other = symbols_nearest(seen, id);
    return other < 0 ? TOKEN_PAD : other;
}

int piper_symbols(PiperSymbol *symbols, const uint8_t *seen)
{
    static const PiperSymbol special[] = {
        {PIPER_PAD[0], TOKEN_PAD}, {PIPER_BEGIN[0], TOKEN_BOS}, {PIPER_END[0], TOKEN_EOS}};
    int count = (int)(sizeof special / sizeof *special);
    memcpy(symbols, special, sizeof special);
    for (int id = TOKEN_FIRST_SYMBOL; id < tokens_count(); id++) {
        const uint32_t code_point = tokens_code_point(id);
        if (code_point < 0x80 && strchr(PIPER_PAD PIPER_BEGIN PIPER_END, (int)code_point))
            continue;
        symbols[count++] = (PiperSymbol){code_point, stands_for(id, seen)};
    }
    return count;
}
