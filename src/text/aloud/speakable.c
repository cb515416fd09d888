/* speakable.c - see speakable.h. */
#include "text/aloud/speakable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/uloc.h>
#include <unicode/unorm2.h>
#include <unicode/uscript.h>
#include <unicode/ustring.h>
#include <unicode/utrans.h>

#include "base/utf8.h"
#include "config/languages.h"
#include "text/scripts.h"
#include "text/unicode.h"

enum { PROBES = 2048, SAID = 1, SILENT = 2 }; /* answers that are remembered */
enum { REPEATED = 4 };                        /* of one sign in a row: an ornament, named once */

typedef struct Probe {
    uint32_t code_point;
    char answer; /* 0: none */
} Probe;

struct Speakable {
    char voice[32]; /* that the probes are of */
    Probe probes[PROBES];
    size_t without;          /* bytes of IPA that the voice makes of "1 1" */
    char code[LANGUAGE_MAX]; /* that the scripts are of */
    ScriptSet scripts;
    UTransliterator *latin; /* opened when it is first needed */
    int no_latin;           /* ICU has none */
    Buf sound;
};

Speakable *speakable_open(void) { return mem_calloc(1, sizeof(Speakable)); }

void speakable_close(Speakable *s)
{
    if (!s)
        return;
    if (s->latin)
        utrans_close(s->latin);
    buf_free(&s->sound);
    free(s);
}

/* --- what a voice reads --- */

/* 1 when the voice is one of those that can read the script. */
static int reads(const char *voice, Script script)
{
    int row = 0;
    for (const Language *l; (l = language_row(row)); row++) {
        if (l->script != script || !l->readers)
            continue;
        for (const char *p = l->readers; *p; p += strspn(p, " ")) {
            size_t n = strcspn(p, " ");
            if (!strncmp(voice, p, n))
                return 1;
            p += n;
        }
    }
    return 0;
}

static int is_han(uint32_t cp) { return (cp >= 0x3400 && cp < 0xA000) || (cp >= 0x20000 && cp < 0x32000); }

int speakable_is_read(const char *voice, uint32_t cp)
{
    if (is_han(cp))
        return reads(voice, SCRIPT_HAN);
    if (cp >= 0x3041 && cp <= 0x30FF && cp != 0x30FB)
        return reads(voice, SCRIPT_KANA);
    return !(cp >= 0xAC00 && cp < 0xD7B0) || reads(voice, SCRIPT_HANGUL);
}

const char *speakable_hint(const char *voice)
{
    int row = 0;
    for (const Language *l; (l = language_row(row)); row++)
        if (l->unreadable_hint && !strncmp(voice, l->code, strlen(l->code)))
            return l->unreadable_hint;
    return NULL;
}

/* Bytes of IPA that the voice makes of a text; 0 without memory. */
static size_t sound_of(Speakable *s, Phonemes *p, const char *text, size_t n)
{
    size_t spoken = 0;
    buf_clear(&s->sound);
    return phonemes_speak(p, &s->sound, &spoken, text, n) < 0 ? 0 : spoken;
}

/* Whether the voice says anything when the character stands between numbers: some are read only when they
 * stand alone. */
static int is_said(Speakable *s, Phonemes *p, uint32_t cp)
{
    char text[] = "1     1";
    if (strcmp(s->voice, phonemes_voice(p))) {
        memset(s->probes, 0, sizeof s->probes);
        snprintf(s->voice, sizeof s->voice, "%s", phonemes_voice(p));
        s->without = sound_of(s, p, "1 1", 3);
    }
    Probe *known = &s->probes[cp * 2654435761u % PROBES];
    if (known->code_point == cp && known->answer)
        return known->answer == SAID;
    utf8_put(text + 2, cp);
    const int said = sound_of(s, p, text, sizeof text - 1) > s->without + 1; /* more than a blank */
    *known = (Probe){cp, said ? SAID : SILENT};
    return said;
}

/* --- other forms --- */

static int in(uint32_t cp, uint32_t first, uint32_t last) { return cp >= first && cp <= last; }

/* Blocks of letters, digits and words in another form. */
static int is_form(uint32_t cp)
{
    return in(cp, 0x2160, 0x2188) || in(cp, 0x2460, 0x24FF) || in(cp, 0x3200, 0x33FF) ||
           in(cp, 0xFB00, 0xFB06) || in(cp, 0xFB50, 0xFDFF) || in(cp, 0xFE70, 0xFEFC) ||
           in(cp, 0xFF01, 0xFFEE) || in(cp, 0x1D400, 0x1D7FF) || in(cp, 0x1F100, 0x1F189);
}

/* Appends the plain form; 0: there is none. */
static int add_plain(Buf *out, uint32_t cp)
{
    UErrorCode status = U_ZERO_ERROR;
    UChar from[2], plain[32];
    int32_t n = 0;
    const UNormalizer2 *nfkc = unorm2_getNFKCInstance(&status);
    U16_APPEND_UNSAFE(from, n, cp);
    int32_t made = U_FAILURE(status) ? 0 : unorm2_normalize(nfkc, from, n, plain, 32, &status);
    if (U_FAILURE(status) || made == 0 || (made == n && !memcmp(from, plain, (size_t)n * sizeof *from)))
        return 0;
    for (int32_t i = 0; i < made; i++)
        plain[i] = plain[i] == 0x2044 ? '/' : plain[i]; /* the slash of fractions */
    unicode_append_utf16(out, (const uint16_t *)plain, (size_t)made);
    return 1;
}

/* The name of a character as words: "BLACK STAR", "CYRILLIC SMALL LETTER ZHE" -> "cyrillic zhe". */
static int add_name(Buf *out, uint32_t cp)
{
    static const char *const idle[] = {"SIGN", "SMALL", "CAPITAL", "LETTER"};
    char name[128];
    UErrorCode status = U_ZERO_ERROR;
    int32_t n = u_charName((UChar32)cp, U_UNICODE_CHAR_NAME, name, sizeof name, &status);
    const int letter = u_isalpha((UChar32)cp);
    if (U_FAILURE(status) || n <= 0 || !strncmp(name, "CJK", 3))
        return 0;
    char *rest = name;
    for (char *word; (word = strtok_r(rest, " ", &rest));) {
        int skip = 0;
        for (size_t i = 0; i < (letter ? sizeof idle / sizeof *idle : out->size > 0); i++)
            skip |= !strcmp(word, idle[i]);
        if (skip)
            continue;
        if (out->size)
            buf_add(out, " ", 1);
        for (; *word; word++) {
            char c = *word >= 'A' && *word <= 'Z' ? (char)(*word | 32) : *word == '-' ? ' ' : *word;
            buf_add(out, &c, 1);
        }
    }
    return out->size > 0;
}

/* Appends the word in Latin letters; 0: ICU cannot do it. */
static int add_latin(Speakable *s, Buf *out, const char *word, size_t n)
{
    enum { ROOM = 1024 };
    UChar wide[ROOM], rules[64];
    UErrorCode status = U_ZERO_ERROR;
    if (!s->latin && !s->no_latin) {
        u_uastrcpy(rules, "Any-Latin; Latin-ASCII");
        s->latin = utrans_openU(rules, -1, UTRANS_FORWARD, NULL, 0, NULL, &status);
        s->no_latin = U_FAILURE(status) || !s->latin;
        status = U_ZERO_ERROR;
    }
    int32_t units = 0;
    u_strFromUTF8WithSub(wide, ROOM / 4, &units, word, (int32_t)n, 0xFFFD, NULL, &status);
    if (s->no_latin || U_FAILURE(status))
        return 0;
    int32_t limit = units;
    utrans_transUChars(s->latin, wide, &units, ROOM, 0, &limit, &status);
    if (U_FAILURE(status))
        return 0;
    for (int32_t i = 0; i < units; i++) {
        char c = (char)wide[i];
        if (wide[i] >= 0x80 && u_isalpha(wide[i]) && u_charType(wide[i]) != U_MODIFIER_LETTER)
            return 0; /* a script that ICU does not know */
        if (wide[i] < 0x80 && (u_isalnum(wide[i]) || (c == ' ' && out->size)))
            buf_add(out, &c, 1);
    }
    return out->size > 0;
}

/* --- the rules --- */

static SayHow lose(Buf *out, uint32_t cp, const char *why)
{
    buf_clear(out);
    buf_printf(out, "U+%04X %s", cp, why);
    return SAY_LOST;
}

static int is_foreign(Speakable *s, uint32_t cp, const char *code, const char *voice)
{
    UErrorCode status = U_ZERO_ERROR;
    if (cp < 0x250 || !unicode_is_letter(cp) || cp >= UNICODE_STAND_IN)
        return 0;
    if (!speakable_is_read(voice, cp))
        return 1;
    int script = uscript_getScript((UChar32)cp, &status);
    if (U_FAILURE(status) || script == USCRIPT_COMMON || script == USCRIPT_INHERITED ||
        script == USCRIPT_LATIN)
        return 0;
    if (strcmp(s->code, code)) {
        s->scripts = (ScriptSet){0};
        scripts_of_language(&s->scripts, code);
        snprintf(s->code, sizeof s->code, "%s", code);
    }
    for (int i = 0; i < s->scripts.count; i++)
        if (s->scripts.scripts[i] == script)
            return 0;
    return s->scripts.count > 0;
}

/* A run of letters that the voice does not read. */
static SayHow judge_foreign(Speakable *s, Buf *out, size_t *size, const char *text, size_t n, size_t at,
                            const char *code, Phonemes *p)
{
    enum { MOST = 200 }; /* bytes: a text without blanks is done piece by piece */
    const char *voice = phonemes_voice(p);
    size_t end = at, letters = 0;
    uint32_t first = 0;
    while (end < n && end - at < MOST) {
        size_t next = end;
        uint32_t cp = unicode_next(text, n, &next);
        if (!is_foreign(s, cp, code, voice) &&
            !(letters && (u_charType((UChar32)cp) == U_NON_SPACING_MARK ||
                          u_charType((UChar32)cp) == U_COMBINING_SPACING_MARK)))
            break;
        first = first ? first : cp;
        /* Pinyin would be no Japanese: one character at a time is left out. */
        if (is_han(cp) && speakable_hint(voice)) {
            if (letters)
                break;
            *size = next - at;
            return lose(out, cp, speakable_hint(voice));
        }
        letters++;
        end = next;
    }
    *size = end - at;
    /* By itself: beside Latin letters libespeak-ng may lose its way, and the words around it. */
    if (letters == 1 && speakable_is_read(voice, first) && is_said(s, p, first)) {
        buf_add(out, text + at, end - at);
        return SAY_WORDS;
    }
    if (letters > 1 || !speakable_is_read(voice, first))
        if (add_latin(s, out, text + at, end - at))
            return SAY_WORDS;
    buf_clear(out);
    *size = 0;
    uint32_t cp = unicode_next(text + at, n - at, size); /* the first one alone */
    return add_name(out, cp) ? SAY_WORDS : lose(out, cp, "is a letter that cannot be read");
}

/* Signs that rules of a cleaner read: they are looked at when it is done. */
static int is_cleaners(uint32_t cp)
{
    return cp < 0x180 || in(cp, 0x2000, 0x20CF) || in(cp, 0x2150, 0x215F) || in(cp, 0x2200, 0x22FF);
}

/* Three or more of one of these, in a row or with blanks between them, are a line and no signs: its bytes, or
 * 0. Nothing but blanks stands beside it. */
static size_t ornament_size(const char *text, size_t n, size_t at)
{
    size_t end = at, count = 0;
    if (!strchr("=-*_~#+<>", text[at]) || (at && text[at - 1] != ' ') ||
        (at > 1 && text[at - 2] == text[at])) /* it was looked at from its beginning */
        return 0;
    while (end < n && text[end] == text[at]) {
        const int apart = end + 2 < n && text[end + 1] == ' ' && text[end + 2] == text[at];
        end += apart ? 2 : 1;
        count++;
    }
    return count >= 3 && (end == n || text[end] == ' ') ? end - at : 0;
}

static SayHow judge_sign(Speakable *s, Buf *out, size_t *size, const char *text, size_t n, size_t at,
                         uint32_t cp, Phonemes *p)
{
    if (in(cp, 0x2500, 0x259F) || in(cp, 0x2800, 0x28FF) || cp == '|' || cp == '^' || cp == '`')
        return SAY_NOTHING;
    if (!p || is_said(s, p, cp))
        return SAY_IT;
    if (U_GET_GC_MASK((UChar32)cp) & (U_GC_SK_MASK | U_GC_LM_MASK))
        return SAY_NOTHING;
    if (!is_cleaners(cp) && add_plain(out, cp)) {
        if (!ornament_size(out->data, out->size, 0)) /* "⩶" is one sign */
            return SAY_TEXT;
        buf_clear(out);
    }
    if (!add_name(out, cp))
        return lose(out, cp, "has no name");
    size_t end = at + *size, run = 1;
    while (end < n) {
        size_t next = end;
        if (unicode_next(text, n, &next) != cp)
            break;
        end = next;
        run++;
    }
    if (run >= REPEATED)
        *size = end - at;
    return SAY_WORDS;
}

static int is_flag(uint32_t cp) { return in(cp, 0x1F1E6, 0x1F1FF); }

static int is_emoji(uint32_t cp)
{
    return (cp >= 0x1F000 || in(cp, 0x2600, 0x27BF)) && u_hasBinaryProperty((UChar32)cp, UCHAR_EMOJI);
}

static int is_skin(uint32_t cp) { return in(cp, 0x1F3FB, 0x1F3FF); }

/* Two letters of a country: its name in the language of the text. */
static int add_country(Buf *out, uint32_t first, uint32_t second, const char *code)
{
    UErrorCode status = U_ZERO_ERROR;
    const char locale[] = {'u', 'n', 'd', '_', (char)('A' + first - 0x1F1E6), (char)('A' + second - 0x1F1E6),
                           0};
    UChar name[64];
    int32_t n = uloc_getDisplayCountry(locale, code, name, 64, &status);
    if (status != U_ZERO_ERROR || n <= 0)
        return 0;
    unicode_append_utf16(out, (const uint16_t *)name, (size_t)n);
    return 1;
}

/* A voice names an emoji best when it stands alone. A row of the same one, with blanks or without, is named
 * once. */
static SayHow judge_emoji(Speakable *s, Buf *out, size_t *size, const char *text, size_t n, size_t at,
                          uint32_t cp, const char *code, Phonemes *p)
{
    size_t end = at + *size, next = end;
    const uint32_t second = end < n ? unicode_next(text, n, &next) : 0;
    if (is_skin(cp))
        return SAY_NOTHING;
    if (is_flag(cp) && is_flag(second) && add_country(out, cp, second, code)) {
        *size = next - at;
        return SAY_WORDS;
    }
    for (next = end; next < n;) {
        uint32_t follows = unicode_next(text, n, &next);
        if (follows == cp || is_skin(follows))
            end = next;
        else if (follows != ' ')
            break;
    }
    *size = end - at;
    if (!p)
        return SAY_IT; /* characters are the symbols */
    if (is_said(s, p, cp)) {
        unicode_append(out, cp);
        return SAY_WORDS;
    }
    return add_name(out, cp) ? SAY_WORDS : lose(out, cp, "has no name");
}

/* Whether a mark belongs to the letter before it. With one that does not, a voice drops a Latin letter of no
 * usual alphabet, which it would have named alone; one of another script takes its words along. */
static int is_own_mark(uint32_t letter, uint32_t mark)
{
    UErrorCode status = U_ZERO_ERROR;
    const UScriptCode of_letter = uscript_getScript((UChar32)letter, &status),
                      of_mark = uscript_getScript((UChar32)mark, &status);
    return unicode_is_letter(letter) && !(letter >= 0x250 && of_letter == USCRIPT_LATIN) &&
           (of_mark == USCRIPT_INHERITED || of_mark == USCRIPT_COMMON || of_mark == of_letter);
}

/* The mark of an item at the beginning of a line: "* Milk", "• Milk". */
static int is_bullet(const char *text, size_t n, size_t at, size_t size, uint32_t cp)
{
    return at == 0 && size + 1 < n && text[size] == ' ' &&
           (cp == '*' || cp == 0x2022 || cp == 0x2023 || cp == 0x25AA || cp == 0x25CF || cp == 0x25E6);
}

SayHow speakable_judge(Speakable *s, Buf *out, size_t *size, const char *text, size_t n, size_t at,
                       const char *code, Phonemes *p, int cleaned)
{
    size_t end = at;
    uint32_t cp = unicode_next(text, n, &end);
    const uint32_t kind = U_GET_GC_MASK((UChar32)cp);
    *size = end - at;
    buf_clear(out);
    if (kind & (U_GC_CO_MASK | U_GC_CN_MASK | U_GC_CS_MASK))
        return cp >= UNICODE_STAND_IN && cleaned
                   ? SAY_IT
                   : lose(out, cp, kind & U_GC_CO_MASK ? "is a private character" : "is no character");
    if (is_bullet(text, n, at, *size, cp) && !ornament_size(text, n, at))
        return SAY_NOTHING;
    if (!cleaned && is_cleaners(cp))
        return SAY_IT;
    if (cp < 0x80 && cp) {
        const size_t line = ornament_size(text, n, at);
        *size = line ? line : *size;
        if (line)
            return SAY_NOTHING;
    }
    if (is_emoji(cp))
        return judge_emoji(s, out, size, text, n, at, cp, code, p);
    if (cp < 0x80)
        return strchr("<>=+%&@#$~|^`", (int)cp) ? judge_sign(s, out, size, text, n, at, cp, p) : SAY_IT;
    if (kind & U_GC_ND_MASK) {
        if (in(cp, 0x660, 0x669) || in(cp, 0x6F0, 0x6F9))
            return SAY_IT;
        buf_printf(out, "%d", u_charDigitValue((UChar32)cp));
        return SAY_TEXT;
    }
    if (is_form(cp) && add_plain(out, cp))
        return SAY_TEXT;
    if (kind & U_GC_M_MASK)
        return is_own_mark(unicode_before(text, at), cp) ? SAY_IT : SAY_TEXT; /* without it, in one word */
    if (kind & U_GC_L_MASK) {
        if (!p)
            return SAY_IT;
        if (is_foreign(s, cp, code, phonemes_voice(p)))
            return judge_foreign(s, out, size, text, n, at, code, p);
        if (cp < 0x250 || is_said(s, p, cp))
            return SAY_IT;
        return judge_sign(s, out, size, text, n, at, cp, p);
    }
    /* A raised digit belongs to a word, or is read like any other. */
    if (cleaned && kind & U_GC_NO_MASK && !unicode_is_letter(unicode_before(text, at)) && add_plain(out, cp))
        return SAY_WORDS;
    if (kind & (U_GC_S_MASK | U_GC_NL_MASK | U_GC_NO_MASK))
        return judge_sign(s, out, size, text, n, at, cp, p);
    return SAY_IT; /* punctuation */
}
