/* language_doubt.h - a dataset whose texts are in another language than they are read as: nobody has named
 * one, and the default is not theirs. Threads: any. */
#ifndef MYXTTS_LANGUAGE_DOUBT_H
#define MYXTTS_LANGUAGE_DOUBT_H

#include "text/language.h"

typedef struct LanguageDoubt {
    size_t looked_at, other;    /* texts; those beyond doubt in `is` */
    char read_as[LANGUAGE_MAX]; /* of those */
    char is[LANGUAGE_MAX];
} LanguageDoubt;

/* 1: most of the texts whose language can be told are in one that they are not read as. A language that was
 * named, for all lines (--language) or for one, is believed. */
int language_doubt(LanguageDoubt *out, const Dataset *d, const Config *cfg);

#endif
