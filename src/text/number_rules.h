/* number_rules.h - what differs between the languages when a number is read aloud: separators, and the words
 * around numbers that ICU's spell-out does not know. Private to numbers.c and number_rules.c. Threads: any;
 * constant. */
#ifndef MYXTTS_NUMBER_RULES_H
#define MYXTTS_NUMBER_RULES_H

#include <stddef.h>

typedef enum { YEARS_AS_NUMBERS, YEARS_ALWAYS, YEARS_BEFORE_NIAN } YearHabit;

typedef struct NumberRules {
    const char *code;
    char decimal;                /* '.' or ',' */
    char group;                  /* ',' '.' or ' ' */
    unsigned char spaced;        /* words are separated by spaces */
    unsigned char years;         /* YearHabit: four digits without separators are read as a year */
    const char *percent[3];      /* after one, after a few, after many */
    unsigned char percent_first; /* the word stands before the number */
    const char *hour;            /* "Uhr" between hours and minutes, or NULL */
    const char *to;              /* between two years, or NULL */
    const char *ordinals; /* suffixes that make an ordinal, separated by spaces; those after '|' make the
                             feminine one */
    const char *and_word;
} NumberRules;

/* NULL when we know nothing about the language. */
const NumberRules *number_rules_find(const char *code);

/* Money sign at text: its ISO code and length in bytes; NULL when there is none. */
const char *number_rules_currency(const char *text, size_t n, size_t *length);
/* English names: "dollar", "dollars", "cent", "cents"; NULL for a currency that ICU names well enough. */
typedef struct MoneyNames {
    const char *iso, *one, *many, *small_one, *small_many;
} MoneyNames;
const MoneyNames *number_rules_money(const char *iso);

/* Index 0-11 when an English (or German) month name stands at text and ends there; -1 otherwise. */
int number_rules_month(const char *language, const char *text, size_t n, size_t *length);

#endif
