/* lexicon.c - see lexicon.h. Entries are found by the hash of their first word in small letters. */
#include "text/phonemes/lexicon.h"

#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/utf8.h"
#include "dataset/dataset.h"
#include "text/phonemes/tokens.h"

enum { MOST_WORD = 400, MOST_IPA = 1000 }; /* bytes */
enum { ANYWHERE, FIRST, LAST };            /* of a phrase */

typedef struct Entry {
    const char *word, *ipa;
    uint32_t word_size, ipa_size;
    int line;
    char exact; /* the case counts */
    char where;
} Entry;

struct Lexicon {
    Block block;
    Entry *entries;
    size_t count, room;
    Map map; /* first word -> entries */
};

static uint32_t small(uint32_t cp)
{
    if (cp < 0x80)
        return cp >= 'A' && cp <= 'Z' ? cp | 32 : cp;
    return (uint32_t)u_tolower((UChar32)cp);
}

static int is_word(uint32_t cp) { return unicode_is_letter(cp) || u_isdigit((UChar32)cp); }

static int is_apostrophe(uint32_t cp) { return cp == '\'' || cp == 0x2019; }

/* Hash of the word at `at`: letters and digits, or the one sign that stands there. */
static uint64_t hash_word(const char *text, size_t n, size_t at)
{
    char key[64];
    size_t used = 0;
    while (at < n && used + 4 <= sizeof key) {
        uint32_t cp = unicode_next(text, n, &at);
        if (used && !is_word(cp))
            break;
        used += utf8_put(key + used, small(cp));
        if (!is_word(cp))
            break;
    }
    return hash64(key, used);
}

/* --- IPA --- */

/* What is typed for want of the symbol. */
static uint32_t as_symbol(uint32_t cp)
{
    switch (cp) {
    case 'g':
        return 0x261;
    case '\'':
        return 0x2C8;
    case ':':
        return 0x2D0;
    default:
        return cp;
    }
}

/* The parts of a letter with marks, where the table has all of them. */
static int add_parts(Buf *out, uint32_t cp)
{
    UErrorCode status = U_ZERO_ERROR;
    UChar parts[8];
    const UNormalizer2 *nfd = unorm2_getNFDInstance(&status);
    int32_t n = U_FAILURE(status) ? -1 : unorm2_getRawDecomposition(nfd, (UChar32)cp, parts, 8, &status);
    for (int32_t i = 0; i < n; i++)
        if (U_FAILURE(status) || tokens_find(parts[i]) < 0)
            return 0;
    for (int32_t i = 0; i < n; i++)
        unicode_append(out, parts[i]);
    return n > 0;
}

uint32_t lexicon_ipa(UnicodeScratch *s, Buf *out, const char *ipa, size_t n)
{
    Buf normal = {0};
    uint32_t unknown = 0;
    if (unicode_normalise(s, &normal, ipa, n))
        out->failed = 1;
    for (size_t i = 0; i < normal.size;) {
        uint32_t cp = as_symbol(unicode_next(normal.data, normal.size, &i));
        if (tokens_find(cp) >= 0)
            unicode_append(out, cp);
        else if (!add_parts(out, cp) && !unknown)
            unknown = cp;
    }
    buf_free(&normal);
    return unknown;
}

/* --- reading --- */

typedef struct Reader {
    Lexicon *l;
    const char *name;
    int line;
    UnicodeScratch scratch;
    Buf word, ipa;
    Err *err;
} Reader;

static int fault(Reader *r, const char *what)
{
    err_set(r->err, ERR_DATA, "%s:%d: %s", r->name, r->line, what);
    return err_hint(r->err, "a line of a lexicon is written: word, TAB, IPA; `myxtts phonemize` prints IPA");
}

static int unknown_symbol(Reader *r, uint32_t cp)
{
    char symbol[8] = "";
    symbol[utf8_put(symbol, cp)] = 0;
    err_set(r->err, ERR_DATA, "%s:%d: %s (U+%04X) is not a symbol that voices have", r->name, r->line,
            u_iscntrl((UChar32)cp) ? "?" : symbol, cp);
    return err_hint(r->err, "`myxtts phonemize --text \"...\"` shows how the symbols are written");
}

static int add_entry(Reader *r, int where)
{
    Lexicon *l = r->l;
    if (mem_grow(&l->entries, &l->room, l->count + 1, sizeof *l->entries))
        return err_set(r->err, ERR_NOMEM, "no memory for the entries of %s", r->name);
    Entry *e = &l->entries[l->count];
    *e = (Entry){.word = block_strndup(&l->block, r->word.data, r->word.size),
                 .ipa = block_strndup(&l->block, r->ipa.data, r->ipa.size),
                 .word_size = (uint32_t)r->word.size,
                 .ipa_size = (uint32_t)r->ipa.size,
                 .line = r->line,
                 .where = (char)where};
    if (!e->word || !e->ipa)
        return err_set(r->err, ERR_NOMEM, "no memory for the entries of %s", r->name);
    for (size_t i = 0; i < e->word_size;) {
        uint32_t cp = unicode_next(e->word, e->word_size, &i);
        e->exact |= small(cp) != cp;
    }
    l->count++;
    return 0;
}

/* The field before the next TAB; *at moves behind it. */
static Str field(const char *p, size_t n, size_t *at)
{
    size_t from = *at, end = from;
    while (end < n && p[end] != '\t')
        end++;
    *at = end < n ? end + 1 : n;
    return (Str){p + from, (uint32_t)(end - from)};
}

static int same(Str s, const char *word) { return s.n == strlen(word) && !memcmp(s.p, word, s.n); }

static int read_line(Reader *r, const char *p, size_t n)
{
    size_t at = 0;
    while (n && (p[n - 1] == ' ' || p[n - 1] == '\r' || p[n - 1] == '\t'))
        n--;
    if (!n || *p == '#')
        return 0;
    if (utf8_valid(p, n) != n || memchr(p, 0, n))
        return fault(r, "the line is not valid UTF-8");
    if (!memchr(p, '\t', n))
        return fault(r, "the TAB between word and pronunciation is missing");
    const Str word = field(p, n, &at), ipa = field(p, n, &at), where = field(p, n, &at);
    buf_clear(&r->word);
    buf_clear(&r->ipa);
    if (unicode_normalise(&r->scratch, &r->word, word.p, word.n))
        return err_set(r->err, ERR_NOMEM, "no memory for the entries of %s", r->name);
    uint32_t unknown = lexicon_ipa(&r->scratch, &r->ipa, ipa.p, ipa.n);
    if (unknown)
        return unknown_symbol(r, unknown);
    if (!r->word.size || r->word.size > MOST_WORD)
        return fault(r, r->word.size ? "the word has more than 400 bytes"
                                     : "the word before the TAB is missing");
    if (!r->ipa.size || r->ipa.size > MOST_IPA)
        return fault(r, r->ipa.size ? "the pronunciation has more than 1000 bytes"
                                    : "the pronunciation after the TAB is missing");
    if (where.n && *where.p != '#' && !same(where, "first") && !same(where, "last"))
        return fault(r, "only `first`, `last` or a comment may follow the pronunciation");
    return add_entry(r, same(where, "first") ? FIRST : same(where, "last") ? LAST : ANYWHERE);
}

static int read_lines(Reader *r, const char *text, size_t n)
{
    int rc = 0;
    if (n >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3)) {
        text += 3;
        n -= 3;
    }
    for (size_t at = 0; at < n && !rc;) {
        const char *newline = memchr(text + at, '\n', n - at);
        size_t end = newline ? (size_t)(newline - text) : n;
        r->line++;
        rc = read_line(r, text + at, end - at);
        at = end + 1;
    }
    return rc;
}

int lexicon_open(Lexicon **out, const char *text, size_t n, const char *name, int skipped, Err *err)
{
    *out = NULL;
    Lexicon *l = mem_calloc(1, sizeof *l);
    if (!l)
        return err_set(err, ERR_NOMEM, "no memory for the lexicon");
    Reader r = {.l = l, .name = name, .line = -skipped, .err = err};
    int rc = read_lines(&r, text, n);
    unicode_scratch_free(&r.scratch);
    buf_free(&r.word);
    buf_free(&r.ipa);
    if (!rc && map_reserve(&l->map, l->count))
        rc = err_set(err, ERR_NOMEM, "no memory for the entries of %s", name);
    for (size_t i = 0; i < l->count && !rc; i++)
        map_add(&l->map, hash_word(l->entries[i].word, l->entries[i].word_size, 0), (uint32_t)i);
    if (rc) {
        lexicon_close(l);
        return rc;
    }
    *out = l;
    return 0;
}

void lexicon_close(Lexicon *l)
{
    if (!l)
        return;
    block_free(&l->block);
    map_free(&l->map);
    free(l->entries);
    free(l);
}

int lexicon_count(const Lexicon *l) { return l ? (int)l->count : 0; }

const char *lexicon_entry(const Lexicon *l, int i, const char **word, int *line)
{
    if (i < 0 || i >= lexicon_count(l))
        return NULL;
    *word = l->entries[i].word;
    *line = l->entries[i].line;
    return l->entries[i].ipa;
}

/* --- looking up --- */

/* Bytes of the text that the entry covers, or 0. */
static size_t covers(const Entry *e, const char *text, size_t n, size_t at)
{
    size_t i = at;
    for (size_t k = 0; k < e->word_size;) {
        if (i == n)
            return 0;
        uint32_t want = unicode_next(e->word, e->word_size, &k), is = unicode_next(text, n, &i);
        if (is_apostrophe(want) && is_apostrophe(is))
            continue;
        if (is != want && (e->exact || small(is) != want))
            return 0;
    }
    return i - at;
}

/* No letter or digit goes on behind `end`; an apostrophe and a letter do, but for the English "'s". */
static int ends_word(const char *text, size_t n, size_t end, int english)
{
    if (!is_word(unicode_before(text, end)) || end == n)
        return 1;
    uint32_t cp = unicode_next(text, n, &end);
    if (!is_apostrophe(cp) || end == n)
        return !is_word(cp);
    cp = unicode_next(text, n, &end);
    if (!unicode_is_letter(cp))
        return 1;
    size_t behind = end;
    return english && small(cp) == 's' && (end == n || !is_word(unicode_next(text, n, &behind)));
}

static int begins_word(const char *text, size_t n, size_t at, int english)
{
    size_t i = at;
    if (!at || !is_word(unicode_next(text, n, &i)))
        return 1;
    uint32_t before = unicode_before(text, at);
    if (english && is_apostrophe(before)) {
        size_t apostrophe = at - (before == '\'' ? 1 : 3);
        return !is_word(unicode_before(text, apostrophe));
    }
    return !is_word(before);
}

/* Ends of phrases are marks between which people pause. */
static int is_pause(uint32_t cp)
{
    return cp < 0x80 ? cp && strchr(".,;:!?()[]{}\"", (int)cp) != NULL
                     : cp == 0x2014 || cp == 0x2026 || cp == 0x60C || cp == 0x61B || cp == 0x61F ||
                           cp == 0x3001 || cp == 0x3002;
}

static int stands(const Entry *e, const char *text, size_t n, size_t at, size_t end)
{
    if (e->where == ANYWHERE)
        return 1;
    if (e->where == LAST) {
        while (end < n && text[end] == ' ')
            end++;
        return end == n || is_pause(unicode_next(text, n, &end));
    }
    while (at && text[at - 1] == ' ')
        at--;
    return !at || is_pause(unicode_before(text, at));
}

/* How good a match is; the map hands them out in the order of their lines. */
static size_t rank(const Entry *e, size_t size)
{
    return size * 4 + (e->exact ? 2 : 0) + (e->where != ANYWHERE);
}

int lexicon_find(const Lexicon *l, LexiconMatch *m, const char *text, size_t n, size_t at, int english)
{
    size_t best = 0;
    uint32_t i;
    if (!l || !l->count || at >= n || text[at] == ' ' || !begins_word(text, n, at, english))
        return 0;
    for (MapWalk w = map_walk(&l->map, hash_word(text, n, at)); map_next(&w, &i);) {
        const Entry *e = &l->entries[i];
        size_t size = covers(e, text, n, at);
        if (!size || rank(e, size) < best || !ends_word(text, n, at + size, english) ||
            !stands(e, text, n, at, at + size))
            continue;
        best = rank(e, size);
        *m = (LexiconMatch){size, e->ipa, e->ipa_size};
    }
    return best > 0;
}
