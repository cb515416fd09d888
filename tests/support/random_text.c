/* random_text.c - see random_text.h. */
#include "random_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>

#include "base/utf8.h"
#include "text/phonemes/tokens.h"
#include "text/unicode.h"

#define WORD "bravo"
#define WORD_IPA "bɹɑːvoʊ" /* without its stress */

void random_text_free(RandomText *t)
{
    buf_free(&t->text);
    buf_free(&t->items);
    buf_free(&t->heard);
}

/* --- making --- */

static void add_code_point(Buf *out, uint32_t cp)
{
    if (cp && (cp < 0xD800 || cp > 0xDFFF) && cp <= 0x10FFFF && cp != '\n')
        unicode_append(out, cp);
}

static void add_digits(Buf *out, Rng *r, int n)
{
    for (int i = 0; i < n; i++)
        buf_printf(out, "%d", (int)rng_below(r, 10));
}

static void add_number(Buf *out, Rng *r)
{
    static const char *const before[] = {"", "", "$", "-", "+", "#", "No. ", "~", "<", "€"},
                             *const behind[] = {"",   "",    "%",   " km",  "th",  "°C", "!",  "x", "s",
                                                "/7", ":30", ".75", ",000", "-12", "e5", "^6", "½"};
    buf_str(out, before[rng_below(r, sizeof before / sizeof *before)]);
    add_digits(out, r, 1 + (int)rng_below(r, rng_below(r, 4) ? 6 : 24));
    buf_str(out, behind[rng_below(r, sizeof behind / sizeof *behind)]);
}

/* A word of letters of one block. */
static void add_foreign(Buf *out, Rng *r)
{
    static const uint32_t blocks[][2] = {
        {0x391, 0x3C9},   {0x410, 0x44F},   {0x5D0, 0x5EA},   {0x627, 0x64A},   {0x905, 0x939},
        {0xE01, 0xE2E},   {0x10D0, 0x10F0}, {0x4E00, 0x9FA5}, {0x3041, 0x3096}, {0xAC00, 0xD7A3},
        {0x13A0, 0x13F4}, {0x1200, 0x1248}, {0x16A0, 0x16EA}, {0x561, 0x586},   {0x1D400, 0x1D433},
        {0xFF21, 0xFF5A}, {0xC0, 0x17F},    {0x966, 0x96F}};
    const uint32_t *block = blocks[rng_below(r, sizeof blocks / sizeof *blocks)];
    for (uint64_t n = 1 + rng_below(r, 8); n; n--)
        add_code_point(out, block[0] + (uint32_t)rng_below(r, block[1] - block[0] + 1));
}

static void add_item(Buf *out, Rng *r)
{
    static const char *const words[] = {"house",    "Dr. Who", "e.g.", "O'Neil", "naïve",     "St. Ives",
                                        "[[wɜːd]]", "C++",     "AT&T", "i.e.",   "www.a.org", "me@home.net"};
    switch (rng_below(r, 9)) {
    case 0:
        buf_str(out, words[rng_below(r, sizeof words / sizeof *words)]);
        break;
    case 1:
    case 2:
        add_number(out, r);
        break;
    case 3: /* ASCII */
        for (uint64_t n = 1 + rng_below(r, 4); n; n--)
            add_code_point(out, 0x21 + (uint32_t)rng_below(r, 94));
        break;
    case 4: /* arrows, signs, boxes, shapes, emoji */
        add_code_point(out, rng_below(r, 2) ? 0x2190 + (uint32_t)rng_below(r, 0x670)
                                            : 0x1F300 + (uint32_t)rng_below(r, 0x400));
        break;
    case 5:
        add_foreign(out, r);
        break;
    case 6: /* anything */
        for (uint64_t n = 1 + rng_below(r, 3); n; n--)
            add_code_point(out, (uint32_t)rng_below(r, rng_below(r, 2) ? 0x3000 : 0x110000));
        break;
    case 7: /* a long word */
        for (uint64_t n = 10 + rng_below(r, rng_below(r, 8) ? 30 : 700); n; n--)
            add_code_point(out, 'a' + (uint32_t)rng_below(r, 26));
        break;
    default:
        buf_str(out, rng_below(r, 2) ? "---" : "...");
        break;
    }
}

/* Letters, digits and signs are said or named. Modifiers, accents, punctuation and ornaments have no sound.
 */
static int has_sound(const char *p, size_t n)
{
    const uint32_t sounding = (U_GC_L_MASK & ~U_GC_LM_MASK) | U_GC_N_MASK | U_GC_SM_MASK | U_GC_SC_MASK |
                              U_GC_SO_MASK | U_GC_CO_MASK | U_GC_CN_MASK;
    for (size_t i = 0; i < n;) {
        uint32_t cp = unicode_next(p, n, &i);
        const int ornament = (cp >= 0x2500 && cp <= 0x259F) || (cp >= 0x2800 && cp <= 0x28FF) || cp == '|' ||
                             (cp >= 0xE0000 && cp <= 0xE0FFF) || (cp >= 0xFFF9 && cp <= 0xFFFC) ||
                             u_hasBinaryProperty((UChar32)cp, UCHAR_DEFAULT_IGNORABLE_CODE_POINT);
        if (!ornament && U_GET_GC_MASK((UChar32)cp) & sounding)
            return 1;
    }
    return 0;
}

void random_text_make(RandomText *t, Rng *r, size_t characters, int lines)
{
    size_t left = characters > sizeof WORD ? characters - sizeof WORD : 0;
    Buf item = {0};
    buf_clear(&t->text);
    buf_clear(&t->items);
    buf_str(&t->text, WORD);
    for (;;) {
        buf_clear(&item);
        add_item(&item, r);
        size_t needs = utf8_count(item.data ? item.data : "", item.size) + 3 + sizeof WORD;
        if (needs > left)
            break;
        left -= needs;
        buf_str(&t->text, rng_below(r, 6) ? " " : ", ");
        RandomItem made = {t->text.size, item.size, has_sound(item.data ? item.data : "", item.size)};
        buf_add(&t->text, item.data, item.size);
        buf_add(&t->items, &made, sizeof made);
        buf_str(&t->text, rng_below(r, 8) ? " " : lines ? "\n" : ". ");
        buf_str(&t->text, WORD);
    }
    buf_free(&item);
}

/* --- reading --- */

int random_text_read(RandomText *t, VoiceLosses *losses, TextEngine *engine, const VoiceLimits *limits,
                     Err *err)
{
    VoiceText rest = {.p = t->text.data, .n = t->text.size};
    VoicePart part;
    int rc;
    buf_clear(&t->heard);
    t->parts = 0;
    while ((rc = voice_text_next(&rest, &part, engine, "", limits, losses, NULL, err)) == 1) {
        char name[8];
        if (part.symbols > limits->most)
            rc = err_set(err, ERR_DATA, "a part has %d symbols", part.symbols);
        for (int i = 0; i < part.symbols; i++)
            if (part.tokens[i] >= TOKEN_FIRST_SYMBOL)
                buf_str(&t->heard, tokens_name(part.tokens[i], name));
        buf_str(&t->heard, " ");
        voice_part_free(&part);
        t->parts++;
        if (rc < 0)
            break;
    }
    voice_text_close(&rest);
    return rc;
}

/* 1: a letter follows, Latin, Greek or of the IPA: without its stress, the word is the beginning of another.
 */
static int goes_on(const Buf *heard, size_t at)
{
    const unsigned char c = at < heard->size ? (unsigned char)heard->data[at] : 0;
    return (c >= 'a' && c <= 'z') || (c >= 0xC3 && c <= 0xCF);
}

/* The next word in what was heard, by itself, stress or none: its place and its end; 0: there is none. */
static int next_word(const Buf *heard, size_t *at, size_t *end)
{
    static const char ipa[] = WORD_IPA;
    for (size_t from = *at; from < heard->size; from++) {
        size_t i = from, k = 0;
        int stressed = 0;
        while (i < heard->size && k + 1 < sizeof ipa) {
            if (!memcmp(heard->data + i, "ˈ", 2) || !memcmp(heard->data + i, "ˌ", 2)) {
                stressed |= heard->data[i + 1] == "ˈ"[1];
                i += 2;
                continue;
            }
            if (heard->data[i] != ipa[k])
                break;
            i++;
            k++;
        }
        if (k + 1 == sizeof ipa && (stressed || !goes_on(heard, i))) {
            *at = from;
            *end = i;
            return 1;
        }
    }
    return 0;
}

static int any_letter(const char *p, size_t n)
{
    for (size_t i = 0; i < n;) {
        int id = tokens_find(unicode_next(p, n, &i));
        if (id >= 0 && tokens_is_letter(id) && id != tokens_find(0x2C8) && id != tokens_find(0x2CC))
            return 1;
    }
    return 0;
}

static int is_named(const RandomItem *item, const VoiceLosses *losses)
{
    for (size_t i = 0; i < losses->count; i++)
        if (losses->all[i].at < item->at + item->size && losses->all[i].at + losses->all[i].size > item->at)
            return 1;
    return 0;
}

void random_text_check(const RandomText *t, RandomFaults *f, const VoiceLosses *losses, char *why, size_t cap)
{
    const RandomItem *items = (const RandomItem *)(const void *)t->items.data;
    const size_t count = t->items.size / sizeof *items;
    size_t at = 0, end = 0;
    f->words += count + 1;
    f->items += count;
    if (!next_word(&t->heard, &at, &end)) {
        f->lost_words += count + 1;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        size_t from = end;
        at = end;
        if (!next_word(&t->heard, &at, &end)) {
            f->lost_words += count - i;
            if (why && !*why)
                snprintf(why, cap, "a word behind \"%.*s\" is lost", (int)items[i].size,
                         t->text.data + items[i].at);
            return;
        }
        const int named = is_named(&items[i], losses);
        f->named += (size_t)named;
        if (items[i].has_sound && !named && !any_letter(t->heard.data + from, at - from)) {
            f->silent++;
            if (why && !*why)
                snprintf(why, cap, "\"%.*s\" is neither heard nor named", (int)items[i].size,
                         t->text.data + items[i].at);
        }
    }
}
