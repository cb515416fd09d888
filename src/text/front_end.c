/* front_end.c - see front_end.h. */
#include "text/front_end.h"

#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>

#include "base/utf8.h"
#include "text/language.h"
#include "text/phonemes/tokens.h"

typedef struct Letter {
    const char *letters, *ipa; /* letters: small ones */
    size_t size;
} Letter;

static const char *const kinds[FRONT_KINDS] = {"espeak", "characters", "lexicon"};

typedef struct Sections {
    FrontEnds *f;
    const char *text, *name;
    size_t n;
    int skipped;
    UnicodeScratch scratch;
    Buf a, b;
    Err *err;
} Sections;

static int fault(const Sections *s, int line, const char *what)
{
    err_set(s->err, ERR_DATA, "%s:%d: %s", s->name, line, what);
    return err_hint(s->err, "a section of a lexicon starts with `%%language CODE espeak`, `characters` or "
                            "`lexicon`; its letter rules start with `%%letters`");
}

static FrontEnd *add_front(FrontEnds *f, const char *code, FrontKind kind)
{
    if (mem_grow(&f->all, &f->room, f->count + 1, sizeof *f->all))
        return NULL;
    FrontEnd *made = &f->all[f->count++];
    memset(made, 0, sizeof *made);
    strcpy(made->code, code);
    made->kind = kind;
    return made;
}

/* "%language tok lexicon": the front end, after what was said of that language before is forgotten. */
static int begin_section(Sections *s, size_t *which, int line, const char *p, size_t n)
{
    char word[2][LANGUAGE_MAX] = {"", ""}, code[LANGUAGE_MAX];
    size_t at = strlen("%language");
    for (int k = 0; k < 2; k++) {
        while (at < n && p[at] == ' ')
            at++;
        for (size_t used = 0; at < n && p[at] != ' ' && used + 1 < LANGUAGE_MAX; at++)
            word[k][used++] = p[at];
    }
    *which = 0;
    if (!strcmp(word[0], "any") && !*word[1])
        return 0;
    int kind = 0;
    while (kind < FRONT_KINDS && strcmp(kinds[kind], word[1]) != 0)
        kind++;
    if (at < n || kind == FRONT_KINDS || language_normalise(code, word[0], strlen(word[0])))
        return fault(s, line, "this does not start a section");
    for (size_t i = 1; i < s->f->count; i++)
        if (!strcmp(s->f->all[i].code, code))
            *which = i;
    if (!*which) {
        *which = s->f->count;
        if (!add_front(s->f, code, (FrontKind)kind))
            return err_set(s->err, ERR_NOMEM, "no memory for %s", s->name);
    }
    s->f->all[*which].kind = (FrontKind)kind;
    return 0;
}

/* "ch<TAB>tʃ" */
static int add_letter(Sections *s, FrontEnd *f, int line, const char *p, size_t n)
{
    const char *tab = memchr(p, '\t', n);
    if (!tab || utf8_valid(p, n) != n || memchr(p, 0, n))
        return fault(s, line, "a letter rule is written: letters, TAB, IPA");
    const size_t size = (size_t)(tab - p);
    const char *end = memchr(tab + 1, '\t', n - size - 1);
    const size_t ipa = (end ? (size_t)(end - p) : n) - size - 1;
    buf_clear(&s->a);
    buf_clear(&s->b);
    if (unicode_normalise(&s->scratch, &s->a, p, size) || s->a.size == 0)
        return fault(s, line, "letters are missing before the TAB");
    if (unicode_lower(&s->scratch, &s->b, s->a.data, s->a.size, f->code) || s->b.failed ||
        mem_grow(&f->letters, &f->room, f->count + 1, sizeof *f->letters))
        return err_set(s->err, ERR_NOMEM, "no memory for %s", s->name);
    Letter *l = &f->letters[f->count];
    l->size = s->b.size;
    l->letters = block_strndup(&f->block, s->b.data, s->b.size);
    buf_clear(&s->a);
    const uint32_t unknown = lexicon_ipa(&s->scratch, &s->a, tab + 1, ipa);
    if (unknown) {
        err_set(s->err, ERR_DATA, "%s:%d: U+%04X is not a symbol that voices have", s->name, line, unknown);
        return err_hint(s->err, "`myxtts phonemize --text \"...\"` shows how the symbols are written");
    }
    l->ipa = block_strndup(&f->block, s->a.data ? s->a.data : "", s->a.size);
    if (!l->letters || !l->ipa || s->a.failed)
        return err_set(s->err, ERR_NOMEM, "no memory for %s", s->name);
    f->count++;
    return 0;
}

/* Goes over the lines once; those of section `wanted` that are entries go to `out` with all others as empty
 * lines, so that their numbers stay. SIZE_MAX: reads sections and letters instead. */
static int walk(Sections *s, size_t wanted, Buf *out)
{
    const char *text = s->text;
    size_t which = 0;
    int line = -s->skipped, letters = 0, rc = 0;
    for (size_t at = 0; at < s->n && !rc;) {
        const char *newline = memchr(text + at, '\n', s->n - at), *p = text + at;
        size_t end = newline ? (size_t)(newline - text) : s->n, size = end - at;
        line++;
        at = end + 1;
        while (size && (p[size - 1] == '\r' || p[size - 1] == ' '))
            size--;
        const int directive = size && *p == '%' && !memchr(p, '\t', size);
        if (directive && size >= 9 && !memcmp(p, "%language", 9)) {
            letters = 0;
            rc = begin_section(s, &which, line, p, size);
        } else if (directive && size == 8 && !memcmp(p, "%letters", 8)) {
            letters = 1;
            if (!which || s->f->all[which].kind != FRONT_LEXICON)
                rc = fault(s, line, "letter rules are only for a language with `lexicon`");
        } else if (letters && wanted == SIZE_MAX && size && *p != '#') {
            rc = add_letter(s, &s->f->all[which], line, p, size);
        } else if (!letters && which == wanted) {
            buf_add(out, p, size);
        }
        if (out)
            buf_str(out, "\n");
    }
    return rc;
}

/* Those with the most letters first. */
static int compare_letters(const void *a, const void *b)
{
    const Letter *x = a, *y = b;
    return (x->size < y->size) - (x->size > y->size);
}

int front_ends_open(FrontEnds *f, FrontKind others, const char *text, size_t n, const char *name, int skipped,
                    Err *err)
{
    Sections s = {.f = f, .text = text, .n = n, .name = name, .skipped = skipped, .err = err};
    Buf lines = {0};
    memset(f, 0, sizeof *f);
    int rc = add_front(f, "", others) ? walk(&s, SIZE_MAX, NULL)
                                      : err_set(err, ERR_NOMEM, "no memory for %s", name);
    for (size_t i = 0; i < f->count && !rc; i++) {
        FrontEnd *front = &f->all[i];
        if (front->count)
            qsort(front->letters, front->count, sizeof *front->letters, compare_letters);
        buf_clear(&lines);
        rc = walk(&s, i, &lines);
        if (!rc && lines.failed)
            rc = err_set(err, ERR_NOMEM, "no memory for %s", name);
        if (!rc && lines.size && front->kind != FRONT_CHARACTERS)
            rc = lexicon_open(&front->words, lines.data, lines.size, name, skipped, err);
        if (!rc && front->words && !lexicon_count(front->words)) {
            lexicon_close(front->words);
            front->words = NULL;
        }
    }
    unicode_scratch_free(&s.scratch);
    buf_free(&s.a);
    buf_free(&s.b);
    buf_free(&lines);
    return rc;
}

void front_ends_close(FrontEnds *f)
{
    for (size_t i = 0; i < f->count; i++) {
        lexicon_close(f->all[i].words);
        free(f->all[i].letters);
        block_free(&f->all[i].block);
    }
    free(f->all);
    memset(f, 0, sizeof *f);
}

const FrontEnd *front_ends_find(const FrontEnds *f, const char *code)
{
    char primary[LANGUAGE_MAX];
    language_primary(primary, code);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 1; i < f->count; i++)
            if (!strcmp(f->all[i].code, pass ? primary : code))
                return &f->all[i];
    return &f->all[0];
}

int front_ends_need_espeak(const FrontEnds *f)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->all[i].kind == FRONT_ESPEAK)
            return 1;
    return 0;
}

size_t front_letters(const FrontEnd *f, const char *text, size_t n, size_t at, const char **ipa)
{
    for (size_t k = 0; k < f->count; k++) {
        const Letter *l = &f->letters[k];
        size_t i = at, j = 0;
        while (i < n && j < l->size) {
            size_t next = i, mine = j;
            const uint32_t cp = unicode_next(text, n, &next);
            if ((uint32_t)u_tolower((UChar32)cp) != unicode_next(l->letters, l->size, &mine))
                break;
            i = next;
            j = mine;
        }
        if (j == l->size) {
            *ipa = l->ipa;
            return i - at;
        }
    }
    return 0;
}

/* --- speaking --- */

static int is_digit(const char *text, size_t at) { return text[at] >= '0' && text[at] <= '9'; }

/* A word is what stands between blanks and marks of punctuation; those are kept. */
int front_speak(const FrontEnd *f, Buf *out, size_t *spoken, const char *text, size_t n,
                const PhonemeMarks *marks)
{
    PhonemePlace word = {0};
    for (size_t i = 0; i <= n;) {
        const char *ipa = NULL;
        const size_t letters = i < n ? front_letters(f, text, n, i, &ipa) : 0;
        size_t end = i, size = letters ? strlen(ipa) : 0;
        const uint32_t cp = i < n ? unicode_next(text, n, &end) : ' ';
        if (!letters)
            ipa = marks->ipa(marks->arg, cp, &size);
        if (word.text_size && (!letters || word.mark)) { /* the word is over */
            word.phonemes_size = (uint32_t)out->size - word.phonemes;
            if (marks->places)
                buf_add(marks->places, &word, sizeof word);
            word.text_size = 0;
        }
        if (ipa && !word.text_size)
            word = (PhonemePlace){(uint32_t)i, 0, (uint32_t)out->size, 0, letters ? 0 : cp};
        end = letters ? i + letters : i < n ? end : n + 1;
        if (letters && i && is_digit(text, i) && is_digit(text, i - 1)) /* a word for each */
            buf_str(out, " ");
        if (ipa)
            buf_add(out, ipa, size);
        else if (i < n && tokens_find(cp) >= 0)
            buf_add(out, text + i, end - i);
        word.text_size += ipa ? (uint32_t)(end - i) : 0;
        *spoken += size;
        i = end;
    }
    return out->failed ? ERR_NOMEM : 0;
}
