/* persian.c - see persian.h. A word is looked up whole, then as a verb, then as a noun with an ending; what
 * is in no table is left to espeak-ng. Vowel signs: \u064E a, \u0650 e, \u064F o. Behind a zero-width
 * non-joiner espeak-ng reads an ending on its own, and the noun before it as its dictionary has it. */
#include "text/aloud/persian.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "text/aloud/persian_words.h"
#include "text/unicode.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define A_SIGN "\u064E"
#define E_SIGN "\u0650"
#define O_SIGN "\u064F"
#define JOINER "\u200C"
enum { WORD = 64, JOINER_SIZE = 3 }; /* longer words are in no table */

static int compare_words(const void *key, const void *row) { return strcmp(key, *(const char *const *)row); }

/* The row whose first field is the word, in a sorted table of rows of `size` bytes. */
static const void *find_row(const char *word, const void *table, size_t count, size_t size)
{
    return bsearch(word, table, count, size, compare_words);
}
#define FIND(word, table) find_row(word, table, COUNT(table), sizeof *(table))

static int ends_with(const char *word, const char *end)
{
    size_t n = strlen(word), m = strlen(end);
    return n > m && !strcmp(word + n - m, end);
}

static int ends_in_vowel(const char *word)
{
    return ends_with(word, "ا") || ends_with(word, "و") || ends_with(word, "ی");
}

/* ---- words ---- */

/* 1 for letters, vowel signs and the joiner, of which words consist. */
static int in_word(uint32_t cp)
{
    return (cp >= 0x620 && cp <= 0x65F && cp != 0x640) || (cp >= 0x670 && cp <= 0x6D3) || cp == 0x6D5 ||
           cp == 0x200C;
}

/* The word at `at` in Persian letters: Arabic yeh and kaf become Persian ones, doubling signs and ornaments
 * go. Returns where it ends; word is "" if it is too long or already has vowel signs. */
static size_t read_word(const char *text, size_t n, size_t at, char word[WORD])
{
    size_t used = 0, next = at;
    int plain = 1;
    while (next < n) {
        size_t from = next, i = next;
        uint32_t cp = unicode_next(text, n, &i);
        if (!in_word(cp) && cp != 0x640)
            break;
        next = i;
        const char *letter = text + from;
        size_t length = i - from;
        if (cp == 0x640 || cp == 0x651)
            continue;
        if (cp == 0x64A || cp == 0x649 || cp == 0x643) {
            letter = cp == 0x643 ? "ک" : "ی";
            length = 2;
        }
        plain &= !(cp >= 0x64B && cp <= 0x652);
        if (used + length < WORD)
            memcpy(word + used, letter, length);
        used += length;
    }
    if (used >= WORD)
        plain = 0;
    word[used < WORD ? used : 0] = 0;
    /* Joiners at the ends are typing errors. */
    while (plain && used >= JOINER_SIZE && !strcmp(word + used - JOINER_SIZE, JOINER))
        word[used -= JOINER_SIZE] = 0;
    if (!plain)
        word[0] = 0;
    return next;
}

/* ---- verbs ---- */

typedef struct Ending {
    const char *written, *spoken, *after_vowel;
} Ending;

/* Of the present: "miram, miri, mire, mirim, mirin, miran". A doubled yeh is always i. */
static const Ending present[] = {
    {"یم", "ییم", "ی\u0652م"}, /* im */
    {"ید", "یید", "ی\u0652د"}, /* id */
    {"ین", "یین", "ی\u0652ن"}, /* in */
    {"ند", A_SIGN "ند", "ند"}, /* and */
    {"م", A_SIGN "م", "م"},    /* am */
    {"ی", "یی", "ی"},          /* i */
    {"ه", E_SIGN, NULL},       /* e */
    {"د", A_SIGN "د", "د"},    /* ad */
    {"ن", A_SIGN "ن", "ن"},    /* an */
    {"", "", ""},              /* the imperative */
};
/* Objects behind a verb, endings behind a noun; the longer ones first. */
static const Ending objects[] = {
    {"شونو", E_SIGN "شون" O_SIGN, NULL}, /* eshuno */
    {"تونو", E_SIGN "تون" O_SIGN, NULL}, /* etuno */
    {"مونو", E_SIGN "مون" O_SIGN, NULL}, /* emuno */
    {"شون", E_SIGN "شون", NULL},         /* eshun */
    {"تون", E_SIGN "تون", NULL},         /* etun */
    {"مون", E_SIGN "مون", NULL},         /* emun */
    {"شو", E_SIGN "ش" O_SIGN, NULL},     /* esho */
    {"تو", E_SIGN "ت" O_SIGN, NULL},     /* eto */
    {"مو", A_SIGN "م" O_SIGN, NULL},     /* amo */
    {"شم", E_SIGN "ش" A_SIGN "م", NULL}, /* esham */
    {"شه", E_SIGN "ش" E_SIGN, NULL},     /* eshe */
    {"ته", E_SIGN "ت" E_SIGN, NULL},     /* ete */
    {"ش", E_SIGN "ش", NULL},             /* esh */
    {"ت", E_SIGN "ت", NULL},             /* et */
    {"م", A_SIGN "م", NULL},             /* am */
    {"و", O_SIGN, NULL},                 /* o */
};

/* Says stem and ending if what is left of the word is just that. */
static int try_present(Buf *out, const char *prefix, const char *rest, int subjunctive)
{
    char stem[WORD];
    size_t n = strlen(rest);
    for (size_t i = 0; i < COUNT(present); i++) {
        const Ending *e = &present[i];
        size_t m = strlen(e->written);
        if (m >= n || strcmp(rest + n - m, e->written) != 0 || (!m && !subjunctive))
            continue;
        memcpy(stem, rest, n - m);
        stem[n - m] = 0;
        const PersianStem *s = FIND(stem, persian_stems);
        if (!s || (subjunctive && s->only_mi))
            continue;
        int vowel = ends_with(s->spoken, "ا");
        /* espeak-ng reads these well behind a stem of more than one letter. */
        if (!vowel && strlen(stem) > 2 && !strncmp(e->written, "ی", 2))
            return 0;
        const char *ending = vowel ? e->after_vowel : e->spoken;
        if (!ending)
            continue;
        buf_add(out, prefix, strlen(prefix));
        buf_add(out, s->spoken, strlen(s->spoken));
        buf_add(out, ending, strlen(ending));
        return 1;
    }
    return 0;
}

/* "mi-", "nemi-", "be-", "na-" and the stem of the present, perhaps with an object: "mibinamet". */
static int try_verb(Buf *out, const char *word)
{
    static const struct {
        const char *written, *spoken;
        int subjunctive;
    } prefixes[] = {{"نمی", "ن" E_SIGN "می" JOINER, 0},
                    {"می", "می" JOINER, 0},
                    {"ب", "ب" E_SIGN, 1},
                    {"ن", "ن" A_SIGN, 1}};
    for (size_t i = 0; i < COUNT(prefixes); i++) {
        size_t n = strlen(prefixes[i].written);
        if (strncmp(word, prefixes[i].written, n) != 0)
            continue;
        const char *rest = word + n;
        if (!strncmp(rest, JOINER, JOINER_SIZE))
            rest += JOINER_SIZE;
        if (try_present(out, prefixes[i].spoken, rest, prefixes[i].subjunctive))
            return 1;
        for (size_t o = 0; o < COUNT(objects); o++) {
            char verb[WORD];
            if (!ends_with(rest, objects[o].written))
                continue;
            size_t m = strlen(rest) - strlen(objects[o].written);
            memcpy(verb, rest, m);
            verb[m] = 0;
            /* Only behind an ending: "mibinam-et". */
            if (!ends_with(verb, "م") && !ends_with(verb, "ن"))
                continue;
            if (try_present(out, prefixes[i].spoken, verb, 0)) {
                buf_add(out, objects[o].spoken, strlen(objects[o].spoken));
                return 1;
            }
        }
    }
    return 0;
}

/* ---- endings of nouns ---- */

/* "ketabesh", "ketabo": a noun of the table and an ending. formal: -ash and -at. */
static int try_noun(Buf *out, const char *word, int formal)
{
    char noun[WORD];
    for (size_t i = 0; i < COUNT(objects); i++) {
        const Ending *e = &objects[i];
        if (!ends_with(word, e->written))
            continue;
        size_t n = strlen(word) - strlen(e->written);
        memcpy(noun, word, n);
        noun[n] = 0;
        const PersianNoun *row = FIND(noun, persian_nouns);
        if (!row || ends_in_vowel(noun))
            continue;
        const char *spoken = e->spoken;
        if (formal && i + 4 >= COUNT(objects) && spoken[0] == E_SIGN[0] && !strncmp(spoken, E_SIGN, 2)) {
            buf_add(out, noun, n);
            buf_add(out, JOINER A_SIGN, JOINER_SIZE + 2);
            spoken += 2;
        } else {
            const PersianWord *own = FIND(noun, persian_words);
            const char *said = own ? own->spoken : noun;
            buf_add(out, said, strlen(said));
            buf_add(out, JOINER, JOINER_SIZE);
        }
        buf_add(out, spoken, strlen(spoken));
        return 1;
    }
    return 0;
}

/* "inu" is ino: a word that ends in a consonant and waw has the object behind it, unless it is one of those
 * that end in u. */
static int try_object(Buf *out, const char *word)
{
    size_t n = strlen(word);
    if (n < 8 || !ends_with(word, "و") || FIND(word, persian_u_words))
        return 0;
    uint32_t before = unicode_before(word, n - 2);
    if (before == 0x627 || before == 0x622 || before == 0x648 || before == 0x6CC || before == 0x647 ||
        before == 0x200C)
        return 0;
    buf_add(out, word, n - 2);
    buf_add(out, JOINER O_SIGN, JOINER_SIZE + 2);
    return 1;
}

/* ---- the line ---- */

/* Written Persian says "ketabash", spoken Persian "ketabesh": words that only the written language has. */
static int is_formal(const char *text, size_t n)
{
    static const char *const words[] = {" را ", " است", "می\u200Cشود", "می\u200Cکند"};
    for (size_t i = 0; i < COUNT(words); i++)
        if (memmem(text, n, words[i], strlen(words[i])))
            return 1;
    return 0;
}

/* The -e behind a noun of the table that usually has it, unless the next word rules it out. */
static int takes_ezafe(const char *word, const char *next)
{
    const PersianNoun *noun = FIND(word, persian_nouns);
    if (!noun || !noun->linked)
        return 0;
    return next[0] && !FIND(next, persian_stops) && strncmp(next, "می" JOINER, 7) != 0 &&
           strncmp(next, "نمی", 6) != 0;
}

static void say_ezafe(Buf *out, const char *word)
{
    if (ends_in_vowel(word))
        buf_add(out, JOINER "ی" E_SIGN, JOINER_SIZE + 4);
    else
        buf_add(out, E_SIGN, 2);
}

/* Looks like a verb, or like another word behind which "and" is va. */
static int may_be_verb(const char *word)
{
    static const char *const ends[] = {"م", "ی", "ه", "ن", "د"};
    for (size_t i = 0; i < COUNT(ends); i++)
        if (ends_with(word, ends[i]))
            return 1;
    return FIND(word, persian_stops) != NULL;
}

static int is_number(const char *word)
{
    for (size_t i = 0; i < COUNT(persian_numbers); i++)
        if (!strcmp(word, persian_numbers[i]))
            return 1;
    return 0;
}

/* "And" is -o between numbers and between nouns, va between clauses. */
static int is_o(const char *before, const char *next)
{
    if (is_number(before))
        return is_number(next);
    return before[0] && next[0] && !may_be_verb(before) && !may_be_verb(next);
}

/* Homographs that the next word decides: "to" is you, "tu" is in. */
static const char *homograph(const char *word, const char *next)
{
    if (!strcmp(word, "تو") && next[0] && FIND(next, persian_places))
        return "طو";
    return NULL;
}

/* One word; `first`: none stands before it in its clause. */
static void say_word(Buf *out, const char *word, const char *next, int first, int formal)
{
    const PersianWord *w = FIND(word, persian_words);
    const char *special = homograph(word, next);
    if (special)
        buf_add(out, special, strlen(special));
    else if (w && !(first && w->not_first))
        buf_add(out, w->spoken, strlen(w->spoken));
    else if (w || (!try_verb(out, word) && !try_noun(out, word, formal) && !try_object(out, word)))
        buf_add(out, word, strlen(word));
}

void persian_respell(Buf *out, const char *text, size_t n)
{
    char word[WORD], next[WORD], before[WORD] = "";
    int formal = is_formal(text, n);
    for (size_t at = 0; at < n;) {
        size_t end = at;
        uint32_t cp = unicode_next(text, n, &end);
        if (!in_word(cp) || cp == 0x200C) {
            if (text[at] != ' ')
                before[0] = 0; /* a new clause */
            buf_add(out, text + at, end - at);
            at = end;
            continue;
        }
        end = read_word(text, n, at, word);
        next[0] = 0;
        if (end < n && text[end] == ' ')
            read_word(text, n, end + 1, next);
        if (!word[0]) {
            /* espeak-ng spells an alef with a vowel sign, if it stands alone. */
            int lone = end - at == 4 && !strncmp(text + at, "ا", 2);
            buf_add(out, lone ? "ئ" : "", lone ? 2 : 0);
            buf_add(out, text + at + 2 * lone, end - at - 2 * (size_t)lone);
        } else if (!strcmp(word, "و") && out->size && out->data[out->size - 1] == ' ' && is_o(before, next)) {
            if (ends_in_vowel(before) || ends_with(before, "ه")) {
                buf_add(out, "و" O_SIGN, 4);
            } else { /* "ketabo daftar" */
                out->size--;
                buf_add(out, O_SIGN, 2);
            }
        } else {
            say_word(out, word, next, !before[0], formal);
            if (takes_ezafe(word, next))
                say_ezafe(out, word);
        }
        memcpy(before, word, WORD);
        at = end;
    }
}

/* ---- phonemes ---- */

static int is_mark(const char *p) { return !strncmp(p, "\u02C8", 2) || !strncmp(p, "\u02CC", 2); }

/* Bytes of a vowel at p, which ends with a NUL, or 0. */
static size_t vowel_at(const char *p)
{
    if (!strncmp(p, "\u0251", 2))
        return 2;
    return *p && strchr("aeiou", *p) ? 1 : 0;
}

/* One phoneme at p; the one after it, behind length and stress, decides about glides. Returns its bytes. */
static size_t mend_vowel(Buf *out, const char *p, int after_vowel)
{
    size_t vowel = vowel_at(p), length = vowel + (strncmp(p + vowel, "\u02D0", 2) ? 0 : 2);
    const char *next = p + length + (is_mark(p + length) ? 2 : 0);
    size_t follows = vowel_at(next);
    if (*p == 'i' && after_vowel && follows) {
        buf_add(out, "j", 1); /* "\u0101y\u0101" */
        return length;
    }
    buf_add(out, p, length);
    if (follows && (*p == 'i' || (*next == 'i' && (vowel == 2 || *p == 'u') && !vowel_at(next + 1))))
        buf_add(out, "j", 1);
    return length;
}

void persian_mend(Buf *phonemes, size_t from)
{
    Buf raw = {0};
    buf_add(&raw, phonemes->data + from, phonemes->size - from);
    buf_add(&raw, "", 1);
    phonemes->failed |= raw.failed;
    if (!raw.failed)
        phonemes->size = from;
    int after_vowel = 0;
    for (const char *p = raw.failed ? "" : raw.data; *p;) {
        if (vowel_at(p)) {
            p += mend_vowel(phonemes, p, after_vowel);
            after_vowel = 1;
        } else if (p[0] == 'q' && p[1] == '1') {
            buf_add(phonemes, "q", 1);
            p += 2;
            after_vowel = 0;
        } else {
            after_vowel &= is_mark(p) || utf8_continues(*p);
            buf_add(phonemes, p++, 1);
        }
    }
    buf_free(&raw);
}
