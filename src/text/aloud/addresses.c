/* addresses.c - see addresses.h. */
#include "text/aloud/addresses.h"

#include <string.h>
#include <strings.h>

#include "config/languages.h"
#include "text/unicode.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const char signs[] = ALOUD_SIGNS;
enum { LONGEST = 2048 };

static const AloudWords *words_of(const char *language)
{
    const Language *l = language_find(language);
    return l ? l->aloud : NULL;
}

const char *address_sign(char sign, const char *language)
{
    const char *at = sign ? strchr(signs, sign) : NULL;
    const AloudWords *w = words_of(language);
    return at && w ? w->signs[at - signs] : NULL;
}

/* --- finding --- */

static int is_digit(char c) { return c >= '0' && c <= '9'; }
static int is_alpha(char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }

/* Ends of names that are known without "www" before them. */
static int is_domain_end(const char *label, size_t n, const char *language)
{
    static const char all[] = "com org net edu gov io ai dev app info uk";
    const AloudWords *w = words_of(language);
    char word[8];
    if (n >= sizeof word)
        return 0;
    for (size_t i = 0; i < n; i++)
        word[i] = (char)(label[i] | 32);
    word[n] = 0;
    return language_has_word(all, word) || (w && language_has_word(w->hosts, word));
}

/* Where the name of a host that begins at `at` ends; 0 if there is none. *known: its last label is. */
static size_t host_end(const char *s, size_t n, size_t at, const char *language, int *known)
{
    size_t label = at, i = at;
    int labels = 0;
    for (;;) {
        while (i < n && (is_alpha(s[i]) || is_digit(s[i]) || (s[i] == '-' && i > label)))
            i++;
        if (i == label)
            return 0;
        labels++;
        if (i + 1 < n && s[i] == '.' && (is_alpha(s[i + 1]) || is_digit(s[i + 1])))
            label = ++i;
        else
            break;
    }
    *known = is_domain_end(s + label, i - label, language);
    return labels >= 2 && is_alpha(s[label]) ? i : 0;
}

/* Marks on either side of an address that are not part of it. */
static int is_border(uint32_t cp)
{
    return cp == 0 || cp == ' ' || cp == 0x60C || cp == 0x61B || cp == 0x61F || cp == 0xAB || cp == 0xBB ||
           (cp >= 0x2018 && cp <= 0x201F) || cp == 0x2026 || (cp >= 0x3000 && cp <= 0x3011) || cp >= 0xFF00;
}

size_t address_scheme(const char *s, size_t n)
{
    static const char *const schemes[] = {"https://", "http://", "ftp://", "mailto:"};
    for (size_t i = 0; i < COUNT(schemes); i++)
        if (n >= strlen(schemes[i]) && !strncasecmp(s, schemes[i], strlen(schemes[i])))
            return strlen(schemes[i]);
    return 0;
}

/* Only at the start of a piece between blanks or brackets. */
int address_find(Address *a, const char *s, size_t n, size_t at, const char *language)
{
    if (at && !strchr("(\"'<[", s[at - 1]) && !is_border(unicode_before(s, at)))
        return 0;
    const size_t scheme = address_scheme(s + at, n - at);
    size_t end = at;
    while (end < n && end - at < LONGEST) {
        size_t next = end;
        if (is_border(unicode_next(s, n, &next)))
            break;
        end = next;
    }
    while (end > at && strchr(".,;:!?)\"'>]", s[end - 1]))
        end--;
    int known = 0;
    size_t name = at + scheme, host = host_end(s, n, name, language, &known);
    while (name < end && (is_alpha(s[name]) || is_digit(s[name]) || strchr("._%+-", s[name])))
        name++;
    const int mail = name > at + scheme && name < end && s[name] == '@';
    if (mail) {
        host = host_end(s, n, name + 1, language, &known);
        end = host;
    } else if (!scheme && !(n - at > 4 && !memcmp(s + at, "www.", 4))) {
        /* A host with a known end and nothing but a path after it. */
        if (!known || (host && host < end && s[host] != '/' && s[host] != '\''))
            return 0;
        if (host < n && s[host] == '\'')
            end = host; /* "Amazon.com's" */
    }
    if (!host)
        return 0;
    *a = (Address){at + scheme, end, host};
    return 1;
}

/* --- saying --- */

static void add_word(Buf *out, const char *word, size_t n)
{
    if (out->size && out->data[out->size - 1] != ' ')
        buf_add(out, " ", 1);
    buf_add(out, word, n);
}

void address_say(Buf *out, const char *s, const Address *a, const char *language)
{
    size_t to = a->end;
    if (to > a->from && s[to - 1] == '/')
        to--;
    for (size_t i = a->from; i < to;) {
        const char *sign = strchr(signs, s[i]), *word = sign ? address_sign(s[i], language) : NULL;
        if (sign) {
            if (word && i > a->from)
                add_word(out, word, strlen(word));
            else if (word)
                buf_add(out, word, strlen(word));
            if (i + 1 < to)
                buf_add(out, " ", 1);
            i++;
            continue;
        }
        size_t run = i, letters = i;
        while (run < to && !strchr(signs, s[run]))
            run++;
        while (letters < run && is_alpha(s[letters]))
            letters++;
        /* A country of two letters is spelled, and so is www. */
        if (letters == run && run - i == 3 && !strncasecmp(s + i, "www", 3)) {
            buf_add(out, "w w w", 5);
        } else if (letters == run && run - i == 2 && run == a->host && i > a->from && s[i - 1] == '.') {
            const char upper[2] = {(char)(s[i] & ~32), (char)(s[i + 1] & ~32)};
            buf_add(out, upper, 2);
        } else {
            buf_add(out, s + i, run - i);
        }
        i = run;
    }
}

int addresses_rewrite(Buf *out, const char *text, size_t n, const char *language)
{
    size_t copied = 0;
    for (size_t i = 0; i < n;) {
        Address a;
        if (!is_alpha(text[i]) && !is_digit(text[i])) {
            i++;
            continue;
        }
        if (address_find(&a, text, n, i, language)) {
            buf_add(out, text + copied, i - copied);
            address_say(out, text, &a, language);
            i = a.end;
            copied = i;
            continue;
        }
        while (i < n && text[i] != ' ' && !strchr("(\"'<[", text[i]) && !((uint8_t)text[i] & 0x80))
            i++; /* the word is looked at once */
    }
    if (copied)
        buf_add(out, text + copied, n - copied);
    return copied != 0;
}
