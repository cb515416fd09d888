/* words.h - what the program tells people about their data, trainings and voices, in English and in Persian:
 * one table (pipeline.h, voice.h, ... beside this file) that every report takes its sentences from. Messages
 * about the command line are English and are not here.
 *
 * Which of the two is chosen once, before threads are started, as a locale is. In Persian, what replaces a
 * conversion is isolated (U+2068, U+2069), so that file names do not disturb the order of a line, numbers
 * have Persian digits, and what stands between backticks is read from left to right. Threads: any;
 * words_choose only before there are others. */
#ifndef MYXTTS_WORDS_H
#define MYXTTS_WORDS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "base/mem.h"

/* A row has two sentences with the same conversions; where Persian has another order it numbers them
 * ("%2$s"). A counted row has two English ones, for 1 and for other numbers. */
typedef enum {
#define WORD(id, english, persian) id,
#define COUNTED(id, one, many, persian) id##_ONE, id,
#include "base/words/table.h"
#undef WORD
#undef COUNTED
    WORD_COUNT
} Word;

/* So that the compiler checks the arguments of say(); tests/base/test_words.c compares the Persian ones. */
#define WORD(id, english, persian) __attribute__((unused)) static const char id##_EN[] = english;
#define COUNTED(id, one, many, persian) WORD(id, many, persian) WORD(id##_ONE, one, persian)
#include "base/words/table.h"
#undef WORD
#undef COUNTED

typedef enum { MESSAGES_ENGLISH, MESSAGES_PERSIAN } Messages;

void words_choose(Messages m);
Messages words_chosen(void);
/* "en" or "fa"; -1 for anything else. */
int words_find(const char *name);
/* As LC_ALL, LC_MESSAGES and LANG ask for it, the first of them that is set. */
Messages words_of_environment(void);

/* A sentence without conversions. */
const char *word(Word w);
/* The sentence in one of the languages, as it stands in the table. */
const char *word_in(Word w, Messages m);

/* Writes the sentence to out; what does not fit is cut off between characters. */
#define say(out, cap, id, ...) (WORD_CHECK(id##_EN, ##__VA_ARGS__), words_write(out, cap, id, ##__VA_ARGS__))
/* The same, behind what is in out already. */
#define say_more(out, cap, id, ...) \
    (WORD_CHECK(id##_EN, ##__VA_ARGS__), words_append(out, cap, id, ##__VA_ARGS__))
#define buf_say(buf, id, ...) (WORD_CHECK(id##_EN, ##__VA_ARGS__), words_to_buf(buf, id, ##__VA_ARGS__))
/* Of a counted row; n is not printed by itself. */
#define say_count(out, cap, id, n, ...) \
    (WORD_CHECK(id##_ONE_EN, ##__VA_ARGS__), WORD_CHECK(id##_EN, ##__VA_ARGS__), \
     words_write(out, cap, (n) == 1 ? id##_ONE : id, ##__VA_ARGS__))
#define say_more_count(out, cap, id, n, ...) \
    (WORD_CHECK(id##_ONE_EN, ##__VA_ARGS__), WORD_CHECK(id##_EN, ##__VA_ARGS__), \
     words_append(out, cap, (n) == 1 ? id##_ONE : id, ##__VA_ARGS__))
#define WORD_CHECK(format, ...) (void)(0 ? snprintf(NULL, 0, format, ##__VA_ARGS__) : 0)

void words_write(char *out, size_t cap, Word w, ...);
void words_append(char *out, size_t cap, Word w, ...);
void words_to_buf(Buf *b, Word w, ...);

/* 1: there are letters of Arabic script in it (U+0600 to U+06FF). */
int words_are_persian(const char *s);

/* "1 h 05 min", "5 min 00 s", "2 s". */
void words_duration(char *out, size_t cap, double seconds);

/* Pads s with blanks to so many columns, a negative number of them: from the left; isolates and joiners take
 * none. */
void words_column(Buf *b, const char *s, int columns);

#endif
