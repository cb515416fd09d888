#include "text/language.h"

#include <string.h>
#include <strings.h>

#include "text/cld2_shim.h"
#include "text/unicode.h"

/* Voices that are not called like the code, and codes that are spelled in more than one way. espeak-ng 1.51's
 * voice "cmn" turns Chinese characters into Pinyin and then reads that as English; "cmn-latn-pinyin" reads
 * both as Mandarin. */
static const struct {
    const char *code, *voice, *primary; /* primary NULL: what stands before the dash */
} voices[] = {
    {"en", "en-us", NULL},
    {"en-uk", "en-gb", NULL},
    {"fr", "fr-fr", NULL},
    {"zh", "cmn-latn-pinyin", NULL},
    {"zh-cn", "cmn-latn-pinyin", NULL},
    {"zh-tw", "cmn-latn-pinyin", NULL},
    {"zh-sg", "cmn-latn-pinyin", NULL},
    {"zh-hans", "cmn-latn-pinyin", NULL},
    {"zh-hant", "cmn-latn-pinyin", NULL},
    {"zh-hk", "yue", NULL},
    {"cmn", "cmn-latn-pinyin", "zh"},
    {"yue", "yue", "zh"},
    {"jp", "ja", "ja"},
    {"kr", "ko", "ko"},
    {"cz", "cs", "cs"},
    {"pt-pt", "pt", NULL},
    {"es-es", "es", NULL},
    {"es-mx", "es-419", NULL},
    {"es-ar", "es-419", NULL},
    {"es-us", "es-419", NULL},
    {"es-co", "es-419", NULL},
    {"no", "nb", NULL},
    {"fa-ir", "fa", NULL},
};

static const struct {
    const char *name, *code;
} names[] = {
    {"english", "en"},    {"spanish", "es"},  {"french", "fr"},    {"german", "de"},  {"italian", "it"},
    {"portuguese", "pt"}, {"polish", "pl"},   {"turkish", "tr"},   {"russian", "ru"}, {"dutch", "nl"},
    {"czech", "cs"},      {"arabic", "ar"},   {"persian", "fa"},   {"farsi", "fa"},   {"chinese", "zh"},
    {"mandarin", "zh"},   {"japanese", "ja"}, {"hungarian", "hu"}, {"korean", "ko"},
};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

int language_normalise(char out[LANGUAGE_MAX], const char *code, size_t n)
{
    while (n && (*code == ' ' || *code == '\t'))
        code++, n--;
    while (n && (code[n - 1] == ' ' || code[n - 1] == '\t'))
        n--;
    if (n < 2 || n >= LANGUAGE_MAX)
        return -1;
    for (size_t i = 0; i < n; i++) {
        char c = code[i] == '_' ? '-' : code[i];
        if (c >= 'A' && c <= 'Z')
            c |= 32;
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9' && i > 1) || (c == '-' && i > 1 && i + 1 < n)))
            return -1;
        out[i] = c;
    }
    out[n] = 0;
    for (size_t i = 0; i < COUNT(names); i++)
        if (!strcmp(out, names[i].name))
            strcpy(out, names[i].code);
    return 0;
}

void language_primary(char out[LANGUAGE_MAX], const char *code)
{
    for (size_t i = 0; i < COUNT(voices); i++)
        if (voices[i].primary && !strcmp(code, voices[i].code))
            code = voices[i].primary;
    size_t n = strcspn(code, "-_");
    if (n >= LANGUAGE_MAX)
        n = LANGUAGE_MAX - 1;
    memmove(out, code, n);
    out[n] = 0;
}

const char *language_voice(const char *code)
{
    for (size_t i = 0; i < COUNT(voices); i++)
        if (!strcmp(code, voices[i].code))
            return voices[i].voice;
    return code;
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

static int take(char out[LANGUAGE_MAX], const StringList *supported, const char *code)
{
    const char *found = find_supported(supported, code);
    return found && language_normalise(out, found, strlen(found)) == 0;
}

int language_from_id(char out[LANGUAGE_MAX], const StringList *supported, Str id)
{
    static const char separators[] = "_-./ ";
    for (size_t i = 0; i < id.n;) {
        size_t end = i;
        while (end < id.n && !strchr(separators, id.p[end]))
            end++;
        char code[LANGUAGE_MAX], regional[LANGUAGE_MAX];
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

typedef struct Scripts {
    int latin, cyrillic, arabic, han, kana, hangul, other;
    int persian, arabic_only; /* letters that only one of the two languages writes */
} Scripts;

static void count_arabic(Scripts *s, uint32_t cp)
{
    s->arabic++;
    switch (cp) {
    case 0x67E: /* peh */
    case 0x686: /* tcheh */
    case 0x698: /* jeh */
    case 0x6AF: /* gaf */
    case 0x6A9: /* keheh */
    case 0x6CC: /* Farsi yeh */
        s->persian++;
        break;
    case 0x629: /* teh marbuta */
    case 0x643: /* kaf */
    case 0x64A: /* yeh */
    case 0x649: /* alef maksura */
    case 0x625: /* alef with hamza below */
        s->arabic_only++;
        break;
    default:
        break;
    }
}

static void count_scripts(Scripts *s, const char *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        uint32_t cp = unicode_next(text, n, &i);
        if (cp < 0x80)
            s->latin += (cp | 32) >= 'a' && (cp | 32) <= 'z';
        else if (cp < 0x250)
            s->latin += cp >= 0xC0;
        else if (cp >= 0x400 && cp < 0x530)
            s->cyrillic++;
        else if ((cp >= 0x620 && cp <= 0x64A) || (cp >= 0x66E && cp <= 0x6D5))
            count_arabic(s, cp);
        else if ((cp >= 0x3041 && cp <= 0x30FF && cp != 0x30FB) || (cp >= 0xFF66 && cp <= 0xFF9F))
            s->kana++;
        else if ((cp >= 0x3400 && cp < 0xA000) || (cp >= 0x20000 && cp < 0x32000) || cp == 0x3005)
            s->han++;
        else if ((cp >= 0xAC00 && cp < 0xD7B0) || (cp >= 0x1100 && cp < 0x1200))
            s->hangul++;
        else if (unicode_is_letter(cp))
            s->other++;
    }
}

/* Neighbours that short lines are taken for; they count as the language on the right when they are not
 * supported themselves. */
static const char *const neighbours[][2] = {
    {"az", "tr"}, {"tk", "tr"}, {"sk", "cs"}, {"gl", "es"},  {"ca", "es"}, {"af", "nl"}, {"lb", "de"},
    {"uk", "ru"}, {"be", "ru"}, {"bg", "ru"}, {"sco", "en"}, {"co", "it"}, {"oc", "fr"},
};

static const char *neighbour_of(const char *code)
{
    for (size_t i = 0; i < COUNT(neighbours); i++)
        if (!strcmp(neighbours[i][0], code))
            return neighbours[i][1];
    return NULL;
}

/* CLD2's best guess among the supported languages that `wanted` names (NULL: all), then among the neighbours
 * of its guesses. */
static int guess(char out[LANGUAGE_MAX], const StringList *supported, const char *text, size_t n,
                 const char *wanted)
{
    Cld2Guess g[3];
    cld2_detect(g, text, (int)(n > 1 << 20 ? 1 << 20 : n));
    for (int i = 0; i < 6; i++) {
        char code[LANGUAGE_MAX], primary[LANGUAGE_MAX];
        const Cld2Guess *this = &g[i % 3];
        if (!this->code[0] || language_normalise(code, this->code, strlen(this->code)) < 0)
            continue;
        language_primary(primary, code);
        const char *found = i < 3 ? primary : neighbour_of(primary);
        if (found && (!wanted || strstr(wanted, found)) && take(out, supported, found))
            return 1;
    }
    return 0;
}

int language_from_text(char out[LANGUAGE_MAX], const StringList *supported, const char *text, size_t n)
{
    Scripts s = {0};
    count_scripts(&s, text, n);
    int east = s.han + s.kana, most = s.latin;
    most = s.cyrillic > most ? s.cyrillic : most;
    most = s.arabic > most ? s.arabic : most;
    most = s.hangul > most ? s.hangul : most;
    most = s.other > most ? s.other : most;
    most = east > most ? east : most;
    if (most == 0)
        return 0;
    if (most == east) /* Chinese has no kana; Japanese sentences always have some */
        return take(out, supported, s.kana ? "ja" : "zh") || take(out, supported, s.kana ? "zh" : "ja");
    if (most == s.hangul)
        return take(out, supported, "ko");
    if (most == s.arabic) {
        if (s.persian != s.arabic_only && take(out, supported, s.persian > s.arabic_only ? "fa" : "ar"))
            return 1;
        return guess(out, supported, text, n, "fa ar ur ku ps") || take(out, supported, "ar") ||
               take(out, supported, "fa");
    }
    if (most == s.cyrillic)
        return guess(out, supported, text, n, "ru uk be bg sr mk kk ky tt mn tg") ||
               take(out, supported, "ru");
    return guess(out, supported, text, n, NULL);
}

/* The code, or its text cut short when it is none: nothing is guessed, the missing voice is reported with it.
 */
static void set_code(char out[LANGUAGE_MAX], const char *code, size_t n)
{
    if (language_normalise(out, code, n) == 0)
        return;
    n = unicode_valid_prefix(code, n < LANGUAGE_MAX ? n : LANGUAGE_MAX - 1);
    memcpy(out, code, n);
    out[n] = 0;
}

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
