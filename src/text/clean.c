#include "text/clean.h"

#include <string.h>

enum { NEEDS_CAPITAL = 1, NEEDS_DIGIT = 2, SAME_CASE = 4 };

/* Written form, spoken form, and what must follow: a capital (a name), a digit (a number), nothing in
 * particular. All begin at a word border and end with their full stop; SAME_CASE ones are not matched in
 * another case. */
typedef struct Abbreviation {
    const char *language, *written, *spoken;
    int flags;
} Abbreviation;

static const Abbreviation table[] = {
    {"en", "mr.", "Mister", 0},
    {"en", "mrs.", "Missus", 0},
    {"en", "ms.", "Miz", NEEDS_CAPITAL},
    {"en", "dr.", "Doctor", 0},
    {"en", "prof.", "Professor", 0},
    {"en", "st.", "Saint", NEEDS_CAPITAL},
    {"en", "sr.", "Senior", 0},
    {"en", "jr.", "Junior", 0},
    {"en", "ltd.", "Limited", 0},
    {"en", "inc.", "Incorporated", 0},
    {"en", "co.", "Company", 0},
    {"en", "corp.", "Corporation", 0},
    {"en", "etc.", "et cetera", 0},
    {"en", "vs.", "versus", 0},
    {"en", "e.g.", "for example", 0},
    {"en", "i.e.", "that is", 0},
    {"en", "no.", "number", NEEDS_DIGIT},
    {"en", "nos.", "numbers", NEEDS_DIGIT},
    {"en", "vol.", "volume", NEEDS_DIGIT},
    {"en", "fig.", "figure", NEEDS_DIGIT},
    {"en", "gen.", "General", NEEDS_CAPITAL},
    {"en", "col.", "Colonel", NEEDS_CAPITAL},
    {"en", "capt.", "Captain", NEEDS_CAPITAL},
    {"en", "lt.", "Lieutenant", NEEDS_CAPITAL},
    {"en", "sgt.", "Sergeant", NEEDS_CAPITAL},
    {"en", "maj.", "Major", NEEDS_CAPITAL},
    {"en", "rev.", "Reverend", NEEDS_CAPITAL},
    {"en", "hon.", "Honorable", NEEDS_CAPITAL},
    {"en", "gov.", "Governor", NEEDS_CAPITAL},
    {"en", "sen.", "Senator", NEEDS_CAPITAL},
    {"en", "approx.", "approximately", 0},
    {"es", "sr.", "señor", 0},
    {"es", "sra.", "señora", 0},
    {"es", "srta.", "señorita", 0},
    {"es", "dr.", "doctor", 0},
    {"es", "dra.", "doctora", 0},
    {"es", "ud.", "usted", 0},
    {"es", "uds.", "ustedes", 0},
    {"es", "p. ej.", "por ejemplo", 0},
    {"es", "etc.", "etcétera", 0},
    {"es", "n.º", "número", NEEDS_DIGIT},
    {"fr", "M.", "monsieur", NEEDS_CAPITAL | SAME_CASE},
    {"fr", "MM.", "messieurs", NEEDS_CAPITAL | SAME_CASE},
    {"fr", "dr.", "docteur", 0},
    {"fr", "etc.", "et cetera", 0},
    {"fr", "p. ex.", "par exemple", 0},
    {"de", "z. b.", "zum Beispiel", 0},
    {"de", "z.b.", "zum Beispiel", 0},
    {"de", "d. h.", "das heißt", 0},
    {"de", "d.h.", "das heißt", 0},
    {"de", "u. a.", "unter anderem", 0},
    {"de", "usw.", "und so weiter", 0},
    {"de", "bzw.", "beziehungsweise", 0},
    {"de", "ca.", "circa", 0},
    {"de", "nr.", "Nummer", NEEDS_DIGIT},
    {"de", "dr.", "Doktor", 0},
    {"de", "prof.", "Professor", 0},
    {"de", "hr.", "Herr", NEEDS_CAPITAL},
    {"de", "fr.", "Frau", NEEDS_CAPITAL},
    {"de", "evtl.", "eventuell", 0},
    {"it", "sig.", "signor", 0},
    {"it", "sig.ra", "signora", 0},
    {"it", "dott.", "dottor", 0},
    {"it", "prof.", "professor", 0},
    {"it", "ecc.", "eccetera", 0},
    {"it", "p. es.", "per esempio", 0},
    {"pt", "sr.", "senhor", 0},
    {"pt", "sra.", "senhora", 0},
    {"pt", "dr.", "doutor", 0},
    {"pt", "dra.", "doutora", 0},
    {"pt", "etc.", "et cetera", 0},
    {"pt", "p. ex.", "por exemplo", 0},
    {"pl", "np.", "na przykład", 0},
    {"pl", "itd.", "i tak dalej", 0},
    {"pl", "itp.", "i tym podobne", 0},
    {"pl", "prof.", "profesor", 0},
    {"pl", "tzn.", "to znaczy", 0},
    {"tr", "dr.", "Doktor", 0},
    {"tr", "prof.", "Profesör", 0},
    {"tr", "vb.", "ve benzeri", 0},
    {"tr", "örn.", "örneğin", 0},
    {"ru", "т. е.", "то есть", 0},
    {"ru", "т.е.", "то есть", 0},
    {"ru", "и т. д.", "и так далее", 0},
    {"ru", "и т.д.", "и так далее", 0},
    {"ru", "и т. п.", "и тому подобное", 0},
    {"ru", "др.", "другие", 0},
    {"nl", "dhr.", "de heer", 0},
    {"nl", "mevr.", "mevrouw", 0},
    {"nl", "dr.", "dokter", 0},
    {"nl", "bijv.", "bijvoorbeeld", 0},
    {"nl", "bv.", "bijvoorbeeld", 0},
    {"nl", "enz.", "enzovoort", 0},
    {"nl", "d.w.z.", "dat wil zeggen", 0},
    {"cs", "např.", "například", 0},
    {"cs", "atd.", "a tak dále", 0},
    {"cs", "apod.", "a podobně", 0},
    {"cs", "tj.", "to jest", 0},
    {"cs", "dr.", "doktor", 0},
    {"hu", "pl.", "például", 0},
    {"hu", "stb.", "és a többi", 0},
    {"hu", "dr.", "doktor", 0},
    {"hu", "kb.", "körülbelül", 0},
};

int clean_open(Cleaner *c, TextCleaner kind, int lower, UnicodeScratch *scratch)
{
    memset(c, 0, sizeof *c);
    c->kind = kind;
    c->lower = lower && kind != CLEANER_NONE;
    c->scratch = scratch;
    c->numbers = numbers_open();
    return c->numbers ? 0 : ERR_NOMEM;
}

void clean_close(Cleaner *c)
{
    numbers_close(c->numbers);
    buf_free(&c->a);
    buf_free(&c->b);
    memset(c, 0, sizeof *c);
}

static char fold(char c) { return c >= 'A' && c <= 'Z' ? (char)(c | 32) : c; }

/* Bytes of text that the written form covers, or 0. Only ASCII letters are compared without case: the others
 * stand as written. */
static size_t match(const Abbreviation *a, const char *text, size_t n)
{
    size_t i = 0;
    for (; a->written[i]; i++)
        if (i == n ||
            (a->flags & SAME_CASE ? text[i] != a->written[i] : fold(text[i]) != fold(a->written[i])))
            return 0;
    size_t after = i;
    if (after < n && unicode_is_letter(unicode_next(text, n, &after)))
        return 0; /* "e.g.x", "sig.ra" */
    if (a->flags & NEEDS_CAPITAL) {
        size_t next = i + 1;
        if (next >= n || text[i] != ' ' || !unicode_is_upper(unicode_next(text, n, &next)))
            return 0;
    }
    if (a->flags & NEEDS_DIGIT &&
        !(i + 1 < n && text[i] == ' ' && text[i + 1] >= '0' && text[i + 1] <= '9') &&
        !(i < n && text[i] >= '0' && text[i] <= '9'))
        return 0;
    return i;
}

static int at_word_border(const char *text, size_t at)
{
    uint32_t before = unicode_before(text, at);
    return !unicode_is_letter(before) && !(before >= '0' && before <= '9') && before != '.' &&
           before != '\'' && before != 0x2019;
}

int clean_abbreviations(Buf *out, const char *text, size_t n, const char *language)
{
    size_t from = 0;
    int changed = 0;
    const char *and_word = memchr(text, '&', n) ? numbers_and_word(language) : NULL;
    if (!memchr(text, '.', n) && !and_word)
        return 0;
    for (size_t i = 0; i < n;) {
        size_t length = 0;
        const char *spoken = NULL;
        if (text[i] == '&' && and_word && i > 0 && i + 1 < n && text[i - 1] == ' ' && text[i + 1] == ' ') {
            spoken = and_word;
            length = 1;
        }
        int starts = ((text[i] | 32) >= 'a' && (text[i] | 32) <= 'z') || (uint8_t)text[i] >= 0xC0;
        if (starts && at_word_border(text, i))
            for (size_t k = 0; k < sizeof table / sizeof table[0] && !spoken; k++)
                if (!strcmp(table[k].language, language) && (length = match(&table[k], text + i, n - i)))
                    spoken = table[k].spoken;
        if (!spoken) {
            i++;
            continue;
        }
        buf_add(out, text + from, i - from);
        buf_add(out, spoken, strlen(spoken));
        i += length;
        from = i;
        changed = 1;
        if (i == n && text[n - 1] == '.')
            buf_add(out, ".", 1); /* the full stop also ended the sentence */
        else if (i < n && text[i] >= '0' && text[i] <= '9')
            buf_add(out, " ", 1);
    }
    if (changed)
        buf_add(out, text + from, n - from);
    return changed;
}

/* The ASCII mark that a sentence mark of another script stands for, or 0. */
static char plain_mark(uint32_t cp)
{
    switch (cp) {
    case 0x60C:  /* Arabic comma */
    case 0x3001: /* ideographic comma */
    case 0xFF0C:
        return ',';
    case 0x61B:
    case 0xFF1B:
        return ';';
    case 0x61F:
    case 0xFF1F:
        return '?';
    case 0x6D4:
    case 0x3002: /* ideographic full stop */
    case 0xFF0E:
        return '.';
    case 0xFF01:
        return '!';
    case 0xFF1A:
        return ':';
    default:
        return 0;
    }
}

/* 1 when out holds the text with plain marks, 0 when there was nothing to do. */
static int fold_marks(Buf *out, const char *text, size_t n)
{
    size_t from = 0;
    for (size_t i = 0; i < n;) {
        uint8_t lead = (uint8_t)text[i];
        if (lead != 0xD8 && lead != 0xDB && lead != 0xE3 && lead != 0xEF) {
            i++;
            continue;
        }
        size_t start = i;
        char mark = plain_mark(unicode_next(text, n, &i));
        if (!mark)
            continue;
        buf_add(out, text + from, start - from);
        buf_add(out, &mark, 1);
        if (lead >= 0xE0 && i < n && text[i] != ' ') /* wide marks hold their own space */
            buf_add(out, " ", 1);
        from = i;
    }
    if (from)
        buf_add(out, text + from, n - from);
    return from != 0;
}

int clean_text(Cleaner *c, Buf *out, const char *text, size_t n, const char *language)
{
    int words = c->kind == CLEANER_MULTILINGUAL || (c->kind == CLEANER_ENGLISH && !strcmp(language, "en"));
    if (words) {
        buf_clear(&c->a);
        if (clean_abbreviations(&c->a, text, n, language)) {
            text = c->a.data;
            n = c->a.size;
        }
        buf_clear(&c->b);
        int rc = numbers_expand(c->numbers, &c->b, text, n, language);
        if (rc < 0 || c->a.failed)
            return ERR_NOMEM;
        if (rc == 1) {
            text = c->b.data;
            n = c->b.size;
        }
    }
    if (c->lower)
        return unicode_lower(c->scratch, out, text, n, language);
    if (c->kind == CLEANER_NONE || !fold_marks(out, text, n))
        buf_add(out, text, n);
    return out->failed ? ERR_NOMEM : 0;
}
