/* languages.h - THE table of languages: one row each, with everything that differs between them.
 * The default and the rules of supported_languages, detection, abbreviations, numbers, voices and judge read
 * these rows. A new language is a new row in languages.c, with its word tables above it.
 * Threads: any; the table is constant. */
#ifndef MYXTTS_LANGUAGES_H
#define MYXTTS_LANGUAGES_H

#include <stddef.h>
#include <stdint.h>

#include "config/config.h"

typedef enum {
    SCRIPT_OTHER,
    SCRIPT_LATIN,
    SCRIPT_CYRILLIC,
    SCRIPT_ARABIC,
    SCRIPT_HAN,
    SCRIPT_KANA,
    SCRIPT_HANGUL,
    SCRIPT_COUNT
} Script;

/* A written form ends with its full stop and begins at the border of a word. */
enum { NEEDS_CAPITAL = 1, NEEDS_DIGIT = 2, SAME_CASE = 4 };
typedef struct Abbreviation {
    const char *written, *spoken; /* ASCII letters match in either case, unless SAME_CASE */
    int flags;                    /* what must follow: a capital (a name), a digit (a number) */
} Abbreviation;

typedef struct MoneyNames { /* "dollar", "dollars", "cent", "cents" */
    const char *iso, *one, *many, *small_one, *small_many;
} MoneyNames;

/* Which numbers of four digits are years: none, all, those before the sign for "year". */
typedef enum { YEARS_AS_NUMBERS, YEARS_ALWAYS, YEARS_BEFORE_SIGN } YearHabit;
/* How 2024-05-03 is read. Marked: year, month and day, each with its sign behind it. */
typedef enum { DATE_DAY_MONTH_YEAR, DATE_MONTH_DAY_YEAR, DATE_YEAR_MONTH_DAY, DATE_MARKED } DateHabit;

/* What ICU's spell-out does not know about reading numbers. */
typedef struct NumberRules {
    char decimal;         /* '.' or ',' */
    char group;           /* ',' '.' or ' ' */
    unsigned char joined; /* no spaces between words */
    /* The grammar of English around numbers: o'clock, decades, fractions, money, "the third of May". */
    unsigned char english;
    unsigned char ordinal_days;          /* a day beside its month is a dative ordinal: "am dritten Mai" */
    unsigned char masculine;             /* ICU's plain cardinal is not the masculine one, which is wanted */
    unsigned char masculine_before_noun; /* "veintiuno", but "veintiún años" */
    YearHabit years;
    DateHabit date;
    const char *date_signs[3];   /* DATE_MARKED: behind year, month and day */
    unsigned char spelled_years; /* DATE_MARKED: the year is read digit by digit */
    const char *const *months;   /* [12] names beside which a bare number is a day; NULL: not looked for */
    const char *percent[3];      /* after one, after a few, after many; the others NULL: as after one */
    unsigned char percent_first; /* the word stands before the number */
    /* Between hours and minutes: "heures"; after hours below 2 "heure"; and 1 before it: "une". Or NULL. */
    const char *hour, *hour_below_two, *one_hour;
    const char *to;          /* between two years, or NULL */
    const char *ordinals;    /* suffixes that make an ordinal, between blanks; behind '|' the feminine ones */
    const char *and_word;    /* for '&' */
    const MoneyNames *money; /* ends with iso NULL; NULL: ICU's names are good enough */
} NumberRules;

typedef struct Language {
    const char *code;       /* two letters */
    const char *names;      /* in English, lower case, between blanks */
    const char *voice;      /* of espeak-ng; NULL: the code */
    const char *dictionary; /* of espeak-ng; NULL: the code */
    TextCleaner cleaner;    /* the cleaner that is made for it alone; CLEANER_NONE: there is none */
    unsigned char is_heard; /* there is a model of the recogniser for it */

    /* Detection. */
    Script script;
    const uint32_t *own_letters; /* no other language of its script writes these; ends with 0; or NULL */
    const char *neighbours;      /* codes that CLD2 takes short lines of it for, between blanks; or NULL */

    const char *dotless; /* codes, itself and others, whose lower-case I has no dot; or NULL */

    /* A script that only the voices of one language can read: prefixes of their names, and what to do with
     * text that they cannot. */
    const char *readers, *unreadable_hint;

    const Abbreviation *abbreviations; /* the first that matches counts; ends with written NULL; or NULL */
    NumberRules numbers;
} Language;

const char *language_code(int i);                /* of row i; NULL past the last */
const Language *language_find(const char *code); /* by its two letters; NULL when there is no such row */
const Language *language_row(int i);             /* NULL past the last */
int language_is_known(const char *code);
int language_has_dotless_i(const char *code);               /* of "tr" or "tr-cy" */
int language_has_word(const char *words, const char *word); /* words: between blanks, or NULL */

/* Codes of regions and other spellings: "en-uk" is spoken by "en-gb", "cmn" is "zh". */
typedef struct LanguageVariant {
    const char *code, *voice;
    const char *primary; /* NULL: what stands before the dash */
} LanguageVariant;
const LanguageVariant *language_variant(const char *code); /* NULL: it stands for itself */

#endif
