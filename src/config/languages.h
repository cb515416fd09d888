/* languages.h - the one table of languages: one row each, with everything that differs between them.
 * The rows are used by the setting supported_languages (default and rules), detection, abbreviations,
 * numbers, voices and the judge. A new language is a new row in languages.c, with its word tables above it.
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

/* Flags of an abbreviation. */
enum {
    NEEDS_CAPITAL = 1, /* applies only before a capital letter (a name) */
    NEEDS_DIGIT = 2,   /* applies only before a digit (a number) */
    SAME_CASE = 4,     /* case must match; otherwise ASCII letters match in either case */
    AFTER_NAME = 8,    /* applies only after a name or an ordinal, and not before a name: "Rodeo Dr." */
    IN_ADDRESS = 16,   /* applies only after a house number and a name: "123 Main St" */
    NEEDS_BLANK = 32   /* applies only before a blank or the end */
};
typedef struct Abbreviation {
    const char *written; /* with its full stop, if it has one; matches at the beginning of a word only */
    const char *spoken;
    int flags;
} Abbreviation;

/* Flags of a unit. */
enum {
    UNIT_JOINED = 1,     /* only without a blank: "6in" */
    UNIT_APART = 2,      /* a blank must stand before it, unless the number has decimals: "5 s", not "5s" */
    UNIT_STOPPED = 4,    /* may have a full stop: "6 ft." */
    UNIT_NEEDS_STOP = 8, /* after a blank only with its full stop: "6 in." */
    UNIT_YEAR = 16,      /* only behind a year */
};
typedef struct UnitName {
    const char *sign, *one, *many;
    int flags;
} UnitName;

typedef struct MoneyNames { /* "dollar", "dollars", "cent", "cents" */
    const char *iso, *one, *many, *small_one, *small_many;
} MoneyNames;

/* Words of a number that ICU spells in another way; "^": only at the beginning. */
typedef struct Respelling {
    const char *from, *to;
} Respelling;

/* Which numbers of four digits are read as years: none, all, or those before the sign for "year". */
typedef enum { YEARS_AS_NUMBERS, YEARS_ALWAYS, YEARS_BEFORE_SIGN } YearHabit;
/* How 2024-05-03 is read. Marked: year, month and day, each followed by its sign. */
typedef enum { DATE_DAY_MONTH_YEAR, DATE_MONTH_DAY_YEAR, DATE_YEAR_MONTH_DAY, DATE_MARKED } DateHabit;

/* What ICU's spell-out rules do not cover about reading numbers. */
typedef struct NumberRules {
    char decimal;         /* '.' or ',' */
    char group;           /* ',' '.' or ' ' */
    unsigned char joined; /* no spaces between words */
    /* The grammar of English around numbers: o'clock, decades, fractions, money, "the third of May". */
    unsigned char english;
    unsigned char ordinal_days;          /* a day next to its month is a dative ordinal: "am dritten Mai" */
    unsigned char masculine;             /* use ICU's masculine cardinal, which is not its default */
    unsigned char masculine_before_noun; /* "veintiuno", but "veintiún años" */
    YearHabit years;
    DateHabit date;
    const char *date_signs[3];   /* DATE_MARKED: after year, month and day */
    unsigned char spelled_years; /* DATE_MARKED: the year is read digit by digit */
    const char *const *months;   /* [12] names next to which a bare number is a day; NULL: no such reading */
    const char *percent[3];      /* after one, a few, many; NULL for the last two: as after one */
    unsigned char percent_first; /* the word comes before the number */
    /* The word between hours and minutes ("heures"), the one for less than two hours ("heure"), and the
     * number one before it ("une"); or NULL. */
    const char *hour, *hour_below_two, *one_hour;
    const char *to;          /* between two years, or NULL */
    const char *ordinals;    /* suffixes of ordinals, separated by spaces; feminine ones after a '|' */
    const char *and_word;    /* for '&' */
    const MoneyNames *money; /* ends with iso NULL; NULL: use ICU's names. small_one NULL: not said */
    const UnitName *units;   /* ends with sign NULL; or NULL */

    /* Of languages other than English; NULL or 0: no such habit. */
    const char *one_before_noun; /* "ein" Euro */
    const char *cents_after;    /* between a currency and its cents ("con"); "": nothing; NULL: as decimals */
    const char *date_link;      /* before month and year: "de" */
    const char *first_day;      /* the first of a month: "premier" */
    const char *minute_link;    /* before minutes: "و" */
    const char *minute;         /* behind minutes */
    const char *zero_minute;    /* before minutes below ten: "cero" */
    const char *hour_sign;      /* 14h30 */
    const char *clock_sign;     /* behind 14:30, not said: "h" */
    unsigned char year_first;   /* 1402/5/12 */
    unsigned char dotted_times; /* 14.30; 2: only before the word for hour */
    unsigned char stopped_ordinal; /* "3. gün" */
    unsigned char slash_decimal;   /* "3/5 درصد" is a decimal */
    const char *ordinal_end;       /* joined to a cardinal, where ICU has no ordinals */
    const char *const *own_months; /* [12] of years below own_years */
    int own_years;
    const char *const *hours; /* [12] of the clock; with "the quarter" and "the half" */
    const char *quarter_and_half[2];
    const char *halves_of_day[4];  /* "ص" صباحا, "م" مساء */
    const Respelling *respellings; /* ends with from NULL */
} NumberRules;

/* What is said of signs in addresses and code, and of what is named rather than read. */
#define ALOUD_SIGNS ".@/-_?=&#%+:~,\\*<>"
typedef struct AloudWords {
    const char *signs[sizeof ALOUD_SIGNS - 1]; /* in that order */
    const char *hosts;            /* ends of their names that only this language takes for such; or NULL */
    const char *block, *block_in; /* "Code", "Code in " */
    const char *lines, *one_line; /* "lines" behind a number, "one line" */
    const char *done, *open;      /* of a task */
} AloudWords;

typedef struct Language {
    const char *code;       /* two letters */
    const char *names;      /* in English, lower case, separated by spaces */
    const char *voice;      /* name of the espeak-ng voice; NULL: the code */
    const char *dictionary; /* name of the espeak-ng dictionary; NULL: the code */
    /* Another name of that voice, for programs of Piper's kind with an espeak-ng of their own; or NULL. */
    const char *piper_voice;
    TextCleaner cleaner;    /* the cleaner that is for this language only; CLEANER_NONE: none is */
    unsigned char is_heard; /* the recogniser has a model for it */

    /* Detection. */
    Script script;
    const uint32_t *own_letters; /* letters that no other language of the script has; ends with 0; or NULL */
    const char *neighbours;      /* codes that CLD2 mistakes short lines for, separated by spaces; or NULL */

    const char *dotless; /* codes, its own and others, whose lower-case I has no dot; or NULL */

    /* For a script that only the voices of one language can read: prefixes of the names of these voices, and
     * a hint for text that other voices cannot read. */
    const char *readers, *unreadable_hint;

    /* Words that often begin a sentence, separated by spaces: an abbreviation before one of them keeps its
     * full stop. Or NULL. */
    const char *openers;
    const Abbreviation *abbreviations; /* the first that matches is used; ends with written NULL; or NULL */
    const Abbreviation *endings;       /* of words: "Hauptstr."; ends with written NULL; or NULL */
    NumberRules numbers;
    const AloudWords *aloud; /* or NULL */
} Language;

const char *language_code(int i); /* code of row i; NULL past the last */
const Language *language_find(
    const char *code);               /* by the code of two letters; NULL if there is no such row */
const Language *language_row(int i); /* NULL past the last */
int language_is_known(const char *code);
int language_has_dotless_i(const char *code);               /* also for codes such as "tr-cy" */
int language_has_word(const char *words, const char *word); /* words: separated by spaces, or NULL */

/* Codes of regions and other spellings: "en-uk" is spoken by "en-gb", "cmn" is "zh". */
typedef struct LanguageVariant {
    const char *code, *voice;
    const char *primary; /* NULL: what is before the dash */
} LanguageVariant;
const LanguageVariant *language_variant(const char *code); /* NULL if the code is not a variant */

#endif
