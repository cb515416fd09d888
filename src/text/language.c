/* language.c - codes of languages, and which language an id or a text is in. What differs between languages
 * is in config/languages.c. */
#include "text/language.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"
#include "config/languages.h"
#include "text/cld2_shim.h"
#include "text/unicode.h"

/* Blanks at the ends go, capitals become small, '_' becomes '-'; an English name becomes its code. */
int language_normalise(char out[LANGUAGE_MAX], const char *code, size_t n)
{
    int row = 0;
    while (n && (*code == ' ' || *code == '\t')) {
        code++;
        n--;
    }
    while (n && (code[n - 1] == ' ' || code[n - 1] == '\t'))
        n--;
    if (n < 2 || n >= LANGUAGE_MAX)
        return -1;
    for (size_t i = 0; i < n; i++) {
        char c = code[i] == '_' ? '-' : code[i];
        if (c >= 'A' && c <= 'Z')
            c |= 32;
        /* Two letters first; digits and dashes only behind them, no dash at the end. */
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9' && i > 1) || (c == '-' && i > 1 && i + 1 < n)))
            return -1;
        out[i] = c;
    }
    out[n] = 0;
    for (const Language *l; (l = language_row(row)); row++)
        if (language_has_word(l->names, out)) {
            strcpy(out, l->code);
            break;
        }
    return 0;
}

void language_primary(char out[LANGUAGE_MAX], const char *code)
{
    const LanguageVariant *v = language_variant(code);
    if (v && v->primary)
        code = v->primary;
    size_t n = strcspn(code, "-_");
    if (n >= LANGUAGE_MAX)
        n = LANGUAGE_MAX - 1;
    memmove(out, code, n);
    out[n] = 0;
}

/* Region first, then the language, else the code itself. */
const char *language_voice(const char *code)
{
    const LanguageVariant *v = language_variant(code);
    if (v)
        return v->voice;
    const Language *l = language_find(code);
    return l && l->voice ? l->voice : code;
}

/* The entry of the list that means this code: itself, or one with the same language before the dash. */
static const char *find_supported(const StringList *list, const char *code)
{
    char normal[LANGUAGE_MAX], primary[LANGUAGE_MAX], wanted[LANGUAGE_MAX];
    const char *near = NULL;
    language_primary(wanted, code);
    for (int i = 0; i < list->count; i++) {
        if (language_normalise(normal, list->items[i], strlen(list->items[i])) < 0)
            continue;
        if (!strcmp(normal, code))
            return list->items[i];
        language_primary(primary, normal);
        if (!near && !strcmp(primary, wanted))
            near = list->items[i];
    }
    return near;
}

/* 1 when the code, or one with the same language before the dash, is in the list. */
static int take(char out[LANGUAGE_MAX], const StringList *supported, const char *code)
{
    const char *found = find_supported(supported, code);
    return found && language_normalise(out, found, strlen(found)) == 0;
}

/* Parts between separators: "spk_de_0012" is German, "ended_0012" is not. */
int language_from_id(char out[LANGUAGE_MAX], const StringList *supported, Str id)
{
    static const char separators[] = "_-./ ";
    for (size_t i = 0; i < id.n;) {
        size_t end = i;
        while (end < id.n && !strchr(separators, id.p[end]))
            end++;
        char code[LANGUAGE_MAX], regional[LANGUAGE_MAX];
        /* The first part of the id that is a supported code. */
        if ((end - i == 2 || end - i == 3) && language_normalise(code, id.p + i, end - i) == 0 &&
            find_supported(supported, code)) {
            /* "pt-br" in the id, when the region has a voice of its own or was asked for */
            size_t more = end + 1;
            while (more < id.n && !strchr(separators, id.p[more]))
                more++;
            if (end < id.n && id.p[end] != '.' && more - end - 1 == 2 &&
                language_normalise(regional, id.p + i, more - i) == 0) {
                const char *exact = find_supported(supported, regional);
                char normal[LANGUAGE_MAX] = "";
                if (exact && language_normalise(normal, exact, strlen(exact)) == 0 &&
                    !strcmp(normal, regional)) {
                    strcpy(out, regional);
                    return 1;
                }
            }
            return take(out, supported, code);
        }
        i = end + 1;
    }
    return 0;
}

/* Letters of each script. */
typedef struct Scripts {
    int count[SCRIPT_COUNT];
} Scripts;

/* By blocks of Unicode; the middle dot of Katakana also stands in other texts. */
static Script script_of(uint32_t cp)
{
    if ((cp >= 0x400 && cp < 0x530))
        return SCRIPT_CYRILLIC;
    if ((cp >= 0x620 && cp <= 0x64A) || (cp >= 0x66E && cp <= 0x6D5))
        return SCRIPT_ARABIC;
    if ((cp >= 0x3041 && cp <= 0x30FF && cp != 0x30FB) || (cp >= 0xFF66 && cp <= 0xFF9F))
        return SCRIPT_KANA;
    if ((cp >= 0x3400 && cp < 0xA000) || (cp >= 0x20000 && cp < 0x32000) || cp == 0x3005)
        return SCRIPT_HAN;
    if ((cp >= 0xAC00 && cp < 0xD7B0) || (cp >= 0x1100 && cp < 0x1200))
        return SCRIPT_HANGUL;
    return SCRIPT_OTHER;
}

/* Digits and punctuation belong to no script. */
static void count_scripts(Scripts *s, const char *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        uint32_t cp = unicode_next(text, n, &i);
        if (cp < 0x80) {
            s->count[SCRIPT_LATIN] += (cp | 32) >= 'a' && (cp | 32) <= 'z';
        } else if (cp < 0x250) {
            s->count[SCRIPT_LATIN] += cp >= 0xC0;
        } else {
            Script script = script_of(cp);
            s->count[script] += script != SCRIPT_OTHER || unicode_is_letter(cp);
        }
    }
}

/* The language that short lines of `code` are taken for when `code` itself is not supported, or NULL. */
static const char *neighbour_of(const char *code)
{
    int row = 0;
    for (const Language *l; (l = language_row(row)); row++)
        if (language_has_word(l->neighbours, code))
            return l->code;
    return NULL;
}

/* CLD2's best guess among the supported languages of a script (SCRIPT_OTHER: of any), then among those that
 * its guesses are neighbours of. */
static int guess(char out[LANGUAGE_MAX], const StringList *supported, const char *text, size_t n,
                 Script script)
{
    enum { GUESSES = 3, MOST_BYTES = 1 << 20 };
    Cld2Guess g[GUESSES];
    cld2_detect(g, text, (int)(n > MOST_BYTES ? MOST_BYTES : n));
    for (int i = 0; i < 2 * GUESSES; i++) {
        char code[LANGUAGE_MAX], primary[LANGUAGE_MAX];
        const Cld2Guess *this = &g[i % GUESSES];
        if (!this->code[0] || language_normalise(code, this->code, strlen(this->code)) < 0)
            continue;
        language_primary(primary, code);
        const char *found = i < GUESSES ? primary : neighbour_of(primary);
        const Language *l = found ? language_find(found) : NULL;
        int wanted = found && (script == SCRIPT_OTHER || (l && l->script == script));
        if (wanted && take(out, supported, found))
            return 1;
    }
    return 0;
}

/* What cld2_sure says, as a code of the table: its own language, or whose neighbour it is. */
static int sure(char out[LANGUAGE_MAX], const char *text, size_t n)
{
    char guess[8], code[LANGUAGE_MAX];
    if (!cld2_sure(guess, text, (int)n) || language_normalise(code, guess, strlen(guess)) < 0)
        return 0;
    language_primary(out, code);
    const char *found = language_find(out) ? out : neighbour_of(out);
    if (!found)
        return 0;
    memmove(out, found, strlen(found) + 1);
    return 1;
}

/* Names begin with a capital in most languages: the other words must say the same on their own. */
int language_sure(char out[LANGUAGE_MAX], const char *text, size_t n)
{
    enum { WORDS = 6, SMALL = 3, MOST_BYTES = 1 << 20 };
    char alone[LANGUAGE_MAX];
    int words = 0, small = 0, yes = 0;
    Buf rest = {0};
    n = utf8_cut(text, n, MOST_BYTES);
    if (utf8_valid(text, n) != n)
        return 0;
    for (size_t at = 0; at < n;) {
        const size_t from = at;
        uint32_t first = 0;
        size_t end = at;
        while (at < n) {
            const uint32_t cp = unicode_next(text, n, &at);
            if (unicode_is_space(cp))
                break;
            end = at;
            if (!first && unicode_is_letter(cp))
                first = cp;
        }
        words += first != 0;
        if (!first || unicode_is_upper(first))
            continue;
        small++;
        buf_add(&rest, text + from, end - from);
        buf_add(&rest, " ", 1);
    }
    if (words >= WORDS && small >= SMALL && !rest.failed && sure(out, text, n))
        yes = sure(alone, rest.data, rest.size) && strcmp(alone, out) == 0;
    buf_free(&rest);
    return yes;
}

/* How many letters of the text only this language writes. */
static int count_own(const Language *l, const char *text, size_t n)
{
    int count = 0;
    for (size_t i = 0; i < n && l->own_letters;) {
        uint32_t cp = unicode_next(text, n, &i);
        for (const uint32_t *letter = l->own_letters; *letter; letter++)
            count += cp == *letter;
    }
    return count;
}

/* The language of a script whose own letters occur most often; NULL when two are even. */
static const Language *most_own_letters(Script script, const char *text, size_t n)
{
    const Language *best = NULL;
    int row = 0, most = 0, even = 1;
    for (const Language *l; (l = language_row(row)); row++) {
        int count = l->script == script ? count_own(l, text, n) : 0;
        if (count > most) {
            best = l;
            most = count;
            even = 0;
        } else if (count == most) {
            even = 1;
        }
    }
    return even ? NULL : best;
}

/* A language by its script: by letters of its own, by CLD2, then the first that is supported. */
static int take_by_script(char out[LANGUAGE_MAX], const StringList *supported, Script script,
                          const char *text, size_t n)
{
    const Language *own = most_own_letters(script, text, n);
    int row = 0, languages = 0;
    if (own && take(out, supported, own->code))
        return 1;
    for (const Language *l; (l = language_row(row)); row++)
        languages += l->script == script;
    if (languages > 1 && guess(out, supported, text, n, script))
        return 1;
    row = 0;
    for (const Language *l; (l = language_row(row)); row++)
        if (l->script == script && take(out, supported, l->code))
            return 1;
    return 0;
}

/* The script of most letters narrows it down; CLD2 decides among what is left. */
int language_from_text(char out[LANGUAGE_MAX], const StringList *supported, const char *text, size_t n)
{
    Scripts s = {{0}};
    count_scripts(&s, text, n);
    /* Han and kana count together: Japanese writes both. */
    int kana = s.count[SCRIPT_KANA], east = s.count[SCRIPT_HAN] + kana, most = east;
    for (int i = 0; i < SCRIPT_COUNT; i++)
        most = s.count[i] > most ? s.count[i] : most;
    if (most == 0)
        return 0;
    if (most == east) { /* Chinese has no kana; Japanese sentences always have some */
        Script first = kana ? SCRIPT_KANA : SCRIPT_HAN, second = kana ? SCRIPT_HAN : SCRIPT_KANA;
        return take_by_script(out, supported, first, text, n) ||
               take_by_script(out, supported, second, text, n);
    }
    /* These scripts leave few languages to choose from. */
    static const Script one_glance[] = {SCRIPT_HANGUL, SCRIPT_ARABIC, SCRIPT_CYRILLIC};
    for (size_t i = 0; i < sizeof one_glance / sizeof one_glance[0]; i++)
        if (most == s.count[one_glance[i]])
            return take_by_script(out, supported, one_glance[i], text, n);
    return guess(out, supported, text, n, SCRIPT_OTHER);
}

/* The code, or its text cut short when it is none: nothing is guessed, the missing voice is
 * reported with it. */
static void set_code(char out[LANGUAGE_MAX], const char *code, size_t n)
{
    if (language_normalise(out, code, n) == 0)
        return;
    n = utf8_valid(code, n < LANGUAGE_MAX ? n : LANGUAGE_MAX - 1);
    memcpy(out, code, n);
    out[n] = 0;
}

/* The column wins; then the method of the configuration; then its default language. */
void language_choose(char out[LANGUAGE_MAX], const Config *cfg, Str column, Str id, const char *text,
                     size_t n)
{
    if (column.n)
        set_code(out, column.p, column.n);
    else if (cfg->language_detection_method == LANGUAGE_FROM_FILENAME &&
             language_from_id(out, &cfg->supported_languages, id))
        return;
    else if (cfg->language_detection_method == LANGUAGE_AUTO &&
             language_from_text(out, &cfg->supported_languages, text, n))
        return;
    else
        set_code(out, cfg->language, strlen(cfg->language));
}

/* ---- the languages of a voice ---- */

int language_list_find(const LanguageList *l, const char *code)
{
    for (int i = 0; i < l->count; i++)
        if (strcmp(l->codes[i], code) == 0)
            return i;
    for (int i = 0; i < l->count; i++)
        if (strcmp(language_voice(l->codes[i]), language_voice(code)) == 0)
            return i;
    return -1;
}

int language_list_near(const LanguageList *l, const char *code)
{
    char wanted[LANGUAGE_MAX], primary[LANGUAGE_MAX];
    int found = language_list_find(l, code);
    language_primary(wanted, code);
    for (int i = 0; i < l->count && found < 0; i++) {
        language_primary(primary, l->codes[i]);
        if (strcmp(primary, wanted) == 0)
            found = i;
    }
    return found;
}

int language_list_add(LanguageList *l, const char *code)
{
    int found = language_list_find(l, code);
    if (found >= 0 || l->count == LANGUAGES_MOST)
        return found;
    snprintf(l->codes[l->count], LANGUAGE_MAX, "%s", code);
    return l->count++;
}

static int compare_codes(const void *a, const void *b) { return strcmp(a, b); }

void language_list_sort(LanguageList *l)
{
    qsort(l->codes, (size_t)l->count, sizeof *l->codes, compare_codes);
}

void language_list_show(const LanguageList *l, char *out, size_t cap)
{
    size_t used = 0;
    out[0] = 0;
    for (int i = 0; i < l->count && used < cap; i++)
        used += (size_t)snprintf(out + used, cap - used, "%s%s", i ? ", " : "", l->codes[i]);
}
