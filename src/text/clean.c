/* clean.c - see clean.h. The abbreviations are in config/languages.c. */
#include "text/clean.h"

#include <string.h>

#include "config/languages.h"
#include "text/aloud/addresses.h"
#include "text/aloud/english.h"

int clean_open(Cleaner *c, TextCleaner kind, int lower, UnicodeScratch *scratch)
{
    memset(c, 0, sizeof *c);
    c->kind = kind;
    c->lower = lower && kind != CLEANER_NONE;
    c->scratch = scratch;
    c->numbers = numbers_open();
    if (!c->numbers) {
        clean_close(c);
        return ERR_NOMEM;
    }
    return 0;
}

void clean_close(Cleaner *c)
{
    numbers_close(c->numbers);
    buf_free(&c->english);
    buf_free(&c->a);
    buf_free(&c->b);
    memset(c, 0, sizeof *c);
}

static char fold(char c) { return c >= 'A' && c <= 'Z' ? (char)(c | 32) : c; }

static int is_digit(char c) { return c >= '0' && c <= '9'; }

/* Also Arabic and Persian ones. */
static int is_digit_at(const char *text, size_t n, size_t at)
{
    uint32_t cp = at < n ? unicode_next(text, n, &at) : 0;
    return (cp >= '0' && cp <= '9') || (cp >= 0x660 && cp <= 0x669) || (cp >= 0x6F0 && cp <= 0x6F9);
}

/* A word of the list begins at `at` and a blank follows it. */
static int is_opener(const char *openers, const char *text, size_t n, size_t at)
{
    char word[16];
    size_t length = 0;
    while (at + length < n && length < sizeof word && text[at + length] != ' ')
        length++;
    if (!length || length >= sizeof word || at + length == n)
        return 0;
    memcpy(word, text + at, length);
    word[length] = 0;
    return language_has_word(openers, word);
}

/* Where the word before the blank before `at` begins; `at` if there is none. */
static size_t word_before(const char *text, size_t at)
{
    if (!at || text[at - 1] != ' ')
        return at;
    size_t from = at - 1;
    while (from && text[from - 1] != ' ')
        from--;
    return from;
}

static int is_capital_at(const char *text, size_t n, size_t at)
{
    return at < n && unicode_is_upper(unicode_next(text, n, &at));
}

/* Behind up to three capitalised words stands something that begins with a digit: "123 Main ", "5th ". */
static int follows_house_number(const char *text, size_t n, size_t at)
{
    for (int words = 0; words < 4; words++) {
        size_t from = word_before(text, at);
        if (from == at)
            return 0;
        if (is_digit(text[from]))
            return 1;
        if (!is_capital_at(text, n, from) || strchr(".,;:!?", text[at - 2]))
            return 0;
        at = from;
    }
    return 0;
}

/* "Rodeo " without anything at `end` that would make what follows a name: "Rodeo Dr. is", not "See Dr.
 * Who". */
static int follows_name(const char *openers, const char *text, size_t n, size_t at, size_t end)
{
    if (follows_house_number(text, n, at))
        return 1;
    size_t from = word_before(text, at);
    if (from == at || !is_capital_at(text, n, from) || is_opener(openers, text, n, from) ||
        strchr(".,;:!?", text[at - 2]))
        return 0;
    return !(end + 1 < n && text[end] == ' ' && is_capital_at(text, n, end + 1)) ||
           is_opener(openers, text, n, end + 1);
}

/* Bytes that the written form covers at `at`, or 0. Only ASCII letters are compared without case: the others
 * stand as written. */
static size_t match(const Language *l, const Abbreviation *a, const char *text, size_t n, size_t at)
{
    size_t i = at;
    for (const char *w = a->written; *w; w++, i++)
        if (i == n || (a->flags & SAME_CASE ? text[i] != *w : fold(text[i]) != fold(*w)))
            return 0;
    /* The written form must end its word. */
    size_t after = i;
    if (after < n && unicode_is_letter(unicode_next(text, n, &after)))
        return 0; /* "e.g.x", "sig.ra" */
    int blank = i + 1 < n && text[i] == ' ';
    /* One blank and a capital: a name follows. */
    if (a->flags & NEEDS_CAPITAL && !(blank && is_capital_at(text, n, i + 1)))
        return 0;
    /* "No. 5", "No.5", "No. V510". */
    size_t figure = i + (size_t)(blank && i + 2 < n && text[i + 1] >= 'A' && text[i + 1] <= 'Z');
    if (a->flags & NEEDS_DIGIT && !(blank && is_digit_at(text, n, figure + 1)) && !is_digit_at(text, n, i))
        return 0;
    if (a->flags & NEEDS_BLANK && !blank && i < n)
        return 0;
    if ((a->flags & AFTER_NAME && !follows_name(l->openers, text, n, at, i)) ||
        (a->flags & IN_ADDRESS && !follows_house_number(text, n, at)))
        return 0;
    return i - at;
}

/* Nothing before it that would make it the end of another word or number. */
static int at_word_border(const char *text, size_t at)
{
    uint32_t before = unicode_before(text, at);
    return !unicode_is_letter(before) && !(before >= '0' && before <= '9') && before != '.' &&
           before != '\'' && before != 0x2019;
}

/* Untouched text is not copied: out is used only from the first abbreviation on. */
int clean_abbreviations(Buf *out, const char *text, size_t n, const char *language)
{
    size_t from = 0;
    int changed = 0;
    const Language *l = language_find(language);
    const char *and_word = l && memchr(text, '&', n) ? l->numbers.and_word : NULL;
    for (size_t i = 0; i < n;) {
        size_t length = 0;
        const char *spoken = NULL;
        /* A sign between two blanks stands for the word; inside of a name it stays. */
        if (text[i] == '&' && and_word && i > 0 && i + 1 < n && text[i - 1] == ' ' && text[i + 1] == ' ') {
            spoken = and_word;
            length = 1;
        }
        int starts = ((text[i] | 32) >= 'a' && (text[i] | 32) <= 'z') || (uint8_t)text[i] >= 0xC0;
        const Abbreviation *list = !starts || !l             ? NULL
                                   : at_word_border(text, i) ? l->abbreviations
                                                             : l->endings;
        for (const Abbreviation *a = list; a && a->written && !spoken; a++)
            if ((length = match(l, a, text, n, i)))
                spoken = a->spoken;
        if (!spoken) {
            i++;
            continue;
        }
        buf_add(out, text + from, i - from);
        buf_add(out, spoken, strlen(spoken));
        i += length;
        from = i;
        changed = 1;
        /* The full stop may have ended the sentence, too. */
        if (text[i - 1] == '.' &&
            (i == n || (l->openers && text[i] == ' ' && is_opener(l->openers, text, n, i + 1))))
            buf_add(out, ".", 1);
        else if (i < n && text[i] >= '0' && text[i] <= '9')
            buf_add(out, " ", 1);
    }
    if (changed)
        buf_add(out, text + from, n - from);
    return changed;
}

int clean_is_abbreviation(const char *text, size_t n, size_t at, const char *language)
{
    const Language *l = language_find(language);
    if (!at_word_border(text, at))
        return 0;
    for (const Abbreviation *a = l ? l->abbreviations : NULL; a && a->written; a++)
        if (strchr(a->written, '.') && match(l, a, text, n, at))
            return 1;
    return 0;
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
        /* The lead bytes of all these marks; everything else is skipped without decoding. */
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

/* What only English has, addresses in all languages, then abbreviations, because their full stops would end a
 * number; then numbers; then case or marks. */
int clean_text(Cleaner *c, Buf *out, const char *text, size_t n, const char *language)
{
    const Language *l = language_find(language);
    int own = c->kind != CLEANER_NONE && l && l->cleaner == c->kind;
    if (c->kind == CLEANER_MULTILINGUAL || own) {
        buf_clear(&c->english);
        if (l && l->numbers.english ? english_rewrite(&c->english, text, n)
                                    : addresses_rewrite(&c->english, text, n, language)) {
            text = c->english.data;
            n = c->english.size;
        }
        buf_clear(&c->a);
        if (clean_abbreviations(&c->a, text, n, language)) {
            text = c->a.data;
            n = c->a.size;
        }
        buf_clear(&c->b);
        int rc = numbers_expand(c->numbers, &c->b, text, n, language);
        if (rc < 0 || c->a.failed || c->english.failed)
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
