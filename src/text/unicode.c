/* unicode.c - see unicode.h. */
#include "text/unicode.h"

#include <string.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/ustring.h>
#include <unicode/utf8.h>

#include "base/check.h"
#include "base/utf8.h"
#include "config/languages.h"

enum { ZERO_WIDTH_NON_JOINER = 0x200C, LEFT_TO_RIGHT_MARK = 0x200E };

void unicode_scratch_free(UnicodeScratch *s)
{
    buf_free(&s->utf16_in);
    buf_free(&s->utf16_out);
    buf_free(&s->utf8);
}

/* Length in bytes of the ASCII text at the start. */
static size_t ascii_prefix(const char *text, size_t n)
{
    size_t i = 0;
    for (uint64_t word; i + 8 <= n; i += 8) {
        memcpy(&word, text + i, 8);
        if (word & 0x8080808080808080u)
            break;
    }
    while (i < n && !(text[i] & 0x80))
        i++;
    return i;
}

uint32_t unicode_next(const char *text, size_t n, size_t *at)
{
    UChar32 c;
    size_t i = *at;
    U8_NEXT((const uint8_t *)text, i, n, c);
    *at = i;
    return c < 0 ? 0xFFFD : (uint32_t)c;
}

/* A code point has at most four bytes. */
uint32_t unicode_before(const char *text, size_t at)
{
    if (at == 0)
        return 0;
    size_t i = at - 1;
    while (i > 0 && at - i < 4 && utf8_continues(text[i]))
        i--;
    return unicode_next(text, at, &i);
}

void unicode_append(Buf *out, uint32_t cp)
{
    char bytes[4];
    buf_add(out, bytes, utf8_put(bytes, cp));
}

int unicode_is_letter(uint32_t cp)
{
    if (cp < 0x80)
        return (cp | 32) >= 'a' && (cp | 32) <= 'z';
    if (cp >= UNICODE_STAND_IN)
        return 1;
    return u_isalpha((UChar32)cp) || (U_GET_GC_MASK((UChar32)cp) & (U_GC_MN_MASK | U_GC_MC_MASK)) != 0;
}

int unicode_is_upper(uint32_t cp)
{
    if (cp < 0x80)
        return cp >= 'A' && cp <= 'Z';
    return cp >= UNICODE_STAND_IN_CAPITAL || u_isUUppercase((UChar32)cp);
}

int unicode_is_space(uint32_t cp)
{
    if (cp < 0x80)
        return cp == ' ' || (cp >= 9 && cp <= 13) || (cp >= 0x1C && cp <= 0x1F);
    return cp == 0x85 || cp == 0xA0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200A) || cp == 0x2028 ||
           cp == 0x2029 || cp == 0x202F || cp == 0x205F || cp == 0x3000;
}

/* Control and zero-width characters, bidi controls, variation selectors and tags, byte order marks, and the
 * soft hyphen. */
int unicode_is_dropped(uint32_t cp)
{
    if (cp < 0xAD)
        return cp < 0x20 || (cp >= 0x7F && cp < 0xA0);
    return cp == 0xAD || cp == 0x34F || cp == 0x61C || cp == 0x180E || (cp >= 0x200B && cp <= 0x200F) ||
           (cp >= 0x202A && cp <= 0x202E) || (cp >= 0x2060 && cp <= 0x206F) ||
           (cp >= 0xFE00 && cp <= 0xFE0F) || cp == 0xFEFF || (cp >= 0xFFF9 && cp <= 0xFFFC) ||
           (cp >= 0xE0000 && cp <= 0xE0FFF);
}

static int is_arabic(uint32_t cp) { return (cp >= 0x620 && cp <= 0x64A) || (cp >= 0x66E && cp <= 0x6D3); }

/* Sizes the buffer for `units` UChars; NULL if out of memory. */
static UChar *utf16_room(Buf *b, size_t units)
{
    buf_clear(b);
    buf_zero(b, units * sizeof(UChar));
    return b->failed ? NULL : (UChar *)(void *)b->data;
}

/* Composes the text: 1 with the NFC form in s->utf8, 0 if the text is NFC already, or ERR_NOMEM. */
static int compose(UnicodeScratch *s, const char *text, size_t n)
{
    UErrorCode status = U_ZERO_ERROR;
    const UNormalizer2 *nfc = unorm2_getNFCInstance(&status);
    UChar *wide = utf16_room(&s->utf16_in, n + 1);
    if (!wide || U_FAILURE(status))
        return ERR_NOMEM;
    int32_t units = 0;
    u_strFromUTF8WithSub(wide, (int32_t)n + 1, &units, text, (int32_t)n, 0xFFFD, NULL, &status);
    if (U_SUCCESS(status) && unorm2_quickCheck(nfc, wide, units, &status) == UNORM_YES)
        return 0;
    int32_t room = 3 * units + 16; /* NFC makes no character more than three times as long */
    UChar *composed = utf16_room(&s->utf16_out, (size_t)room);
    if (!composed)
        return ERR_NOMEM;
    status = U_ZERO_ERROR;
    int32_t made = unorm2_normalize(nfc, wide, units, composed, room, &status);
    if (U_FAILURE(status))
        return ERR_NOMEM;
    buf_clear(&s->utf8);
    unicode_append_utf16(&s->utf8, (const uint16_t *)composed, (size_t)made);
    return s->utf8.failed ? ERR_NOMEM : 1;
}

void unicode_append_utf16(Buf *out, const uint16_t *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        UChar32 c;
        U16_NEXT(text, i, n, c);
        unicode_append(out, U_IS_SURROGATE(c) ? 0xFFFD : (uint32_t)c);
    }
}

/* 0 if the text has no code point from U+0300 on (lead byte 0xCC): such text is always NFC. */
static int may_need_composing(const char *text, size_t from, size_t n)
{
    for (size_t i = from; i < n; i++)
        if ((uint8_t)text[i] >= 0xCC)
            return 1;
    return 0;
}

/* White space and what is dropped. Runs of bytes that stay as they are are copied in one piece. */
static void copy_runs(Buf *out, const char *text, size_t n)
{
    int space = 0;  /* white space was read: write a space before the next character */
    int any = 0;    /* something was written */
    size_t run = 0; /* start of the run of bytes to be copied as they are */
    for (size_t i = 0; i < n;) {
        size_t start = i;
        uint32_t cp = (uint8_t)text[i];
        if (cp > ' ' && cp < 0x7F) {
            i++;
        } else {
            if (cp < 0x80)
                i++;
            else
                cp = unicode_next(text, n, &i);
            int blank = unicode_is_space(cp);
            int drop = !blank && unicode_is_dropped(cp);
            /* Between two Arabic letters it is part of the spelling; some keyboards type the other mark. */
            if (drop && (cp == ZERO_WIDTH_NON_JOINER || cp == LEFT_TO_RIGHT_MARK) && i < n &&
                is_arabic(unicode_before(text, start))) {
                size_t next = i;
                drop = !is_arabic(unicode_next(text, n, &next));
                if (!drop && cp == LEFT_TO_RIGHT_MARK) {
                    buf_add(out, text + run, start - run);
                    unicode_append(out, ZERO_WIDTH_NON_JOINER);
                    run = i;
                    continue;
                }
            }
            if (blank || drop) {
                if (start > run)
                    buf_add(out, text + run, start - run);
                run = i;
                space |= blank;
                continue;
            }
        }
        /* A run of white space becomes one space, written only when something follows. */
        if (space && any) {
            if (start > run)
                buf_add(out, text + run, start - run);
            buf_add(out, " ", 1);
            run = start;
        }
        space = 0;
        any = 1;
    }
    if (n > run)
        buf_add(out, text + run, n - run);
}

int unicode_normalise(UnicodeScratch *s, Buf *out, const char *text, size_t n)
{
    const size_t plain = ascii_prefix(text, n);
    /* ICU is called only if something could be composed. */
    if (plain < n && may_need_composing(text, plain, n)) {
        int rc = compose(s, text, n);
        if (rc < 0)
            return rc;
        if (rc == 1) {
            text = s->utf8.data;
            n = s->utf8.size;
        }
    }
    copy_runs(out, text, n);
    return out->failed ? ERR_NOMEM : 0;
}
int unicode_lower(UnicodeScratch *s, Buf *out, const char *text, size_t n, const char *language)
{
    int turkic = language_has_dotless_i(language);
    /* ASCII needs no ICU, except in languages where I becomes a dotless i. */
    if (!turkic && ascii_prefix(text, n) == n) {
        size_t at = out->size;
        buf_add(out, text, n);
        if (out->failed)
            return ERR_NOMEM;
        for (size_t i = at; i < at + n; i++)
            if (out->data[i] >= 'A' && out->data[i] <= 'Z')
                out->data[i] |= 32;
        return 0;
    }
    UErrorCode status = U_ZERO_ERROR;
    UChar *wide = utf16_room(&s->utf16_in, n + 1);
    int32_t units = 0, room = 3 * (int32_t)n + 16; /* no lower-case form is more than three times as long */
    UChar *lower = utf16_room(&s->utf16_out, (size_t)room);
    if (!wide || !lower)
        return ERR_NOMEM;
    u_strFromUTF8WithSub(wide, (int32_t)n + 1, &units, text, (int32_t)n, 0xFFFD, NULL, &status);
    int32_t made = u_strToLower(lower, room, wide, units, language, &status);
    if (U_FAILURE(status))
        return ERR_NOMEM;
    unicode_append_utf16(out, (const uint16_t *)lower, (size_t)made);
    return out->failed ? ERR_NOMEM : 0;
}
