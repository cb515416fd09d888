/* What is written against what a reader says: the tables of tests/data, line by line. Only words are
 * compared; case, hyphens and other marks do not count. */
#include <ctype.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "text/clean.h"
#include "text/unicode.h"

enum { LINE = 1024 };

static FILE *open_data(const char *name)
{
    const char *data = getenv("MYXTTS_TEST_DATA") ? getenv("MYXTTS_TEST_DATA") : "tests/data";
    char path[LINE];
    snprintf(path, sizeof path, "%s/%s", data, name);
    FILE *f = fopen(path, "r");
    if (!f)
        fail_msg("cannot open %s", path);
    return f;
}

/* Words in lower case with one blank between them; full stops are dropped ("p.m."), other marks separate. */
static void words_of(char *out, const char *text)
{
    size_t n = 0;
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '.')
            continue;
        int part = isalnum(c) || c == '\'' || c == '&' || c == '#' || c == '@' || c == '/' || c == '%' ||
                   c == '$' || c == '+' || c == '=' || c >= 0x80;
        if (part)
            out[n++] = (char)tolower(c);
        else if (n && out[n - 1] != ' ')
            out[n++] = ' ';
    }
    while (n && out[n - 1] == ' ')
        n--;
    out[n] = 0;
}

typedef struct Table {
    const char *file, *language;
    int least; /* lines */
} Table;
static const Table tables[] = {
    {"english_said.tsv", "en", 600}, {"german_said.tsv", "de", 50},  {"dutch_said.tsv", "nl", 50},
    {"spanish_said.tsv", "es", 50},  {"french_said.tsv", "fr", 50},  {"turkish_said.tsv", "tr", 50},
    {"arabic_said.tsv", "ar", 50},   {"persian_said.tsv", "fa", 50},
};

/* Another tab separates another reading that is as good. Prints a line that is read in none of these ways. */
static int is_said(Cleaner *c, Buf *out, const char *language, char *written)
{
    char ours[4 * LINE], want[4 * LINE];
    char *said = strchr(written, '\t');
    *said++ = 0;
    buf_clear(out);
    assert_int_equal(clean_text(c, out, written, strlen(written), language), 0);
    buf_add(out, "", 1);
    assert_true(out->size < sizeof ours);
    words_of(ours, out->data);
    for (char *rest = said; rest;) {
        char *tab = strchr(rest, '\t');
        if (tab)
            *tab = 0;
        words_of(want, rest);
        if (!strcmp(ours, want))
            return 1;
        rest = tab ? tab + 1 : NULL;
    }
    print_error("%s\n  ours   %s\n  reader %s\n", written, out->data, said);
    return 0;
}

static void read_table(const Table *t, Cleaner *c, Hasher *h)
{
    Buf out = {0};
    char line[LINE];
    int lines = 0, wrong = 0;
    FILE *f = open_data(t->file);
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        if (line[0] == '#' || !strchr(line, '\t'))
            continue;
        wrong += !is_said(c, &out, t->language, line);
        hasher_str(h, out.data);
        lines++;
    }
    fclose(f);
    buf_free(&out);
    if (wrong)
        print_error("%s: %d of %d lines are read wrongly\n", t->file, wrong, lines);
    assert_int_equal(wrong, 0);
    assert_true(lines >= t->least);
}

/* Another reading needs another CLEAN_VERSION, or caches would keep the old one: the hash of all readings is
 * pinned beside it. */
static void readings_are_those_of_a_person(void **state)
{
    (void)state;
    const struct {
        int version;
        uint64_t readings;
    } pinned = {4, UINT64_C(0xd5b26a492f2355ae)};
    UnicodeScratch scratch = {0};
    Cleaner c;
    Hasher h;
    assert_int_equal(clean_open(&c, CLEANER_MULTILINGUAL, 0, &scratch), 0);
    assert_int_equal(hasher_open(&h), 0);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        read_table(&tables[i], &c, &h);
    clean_close(&c);
    unicode_scratch_free(&scratch);
    uint64_t readings = hasher_close(&h).lo;
    if (pinned.version != CLEAN_VERSION || pinned.readings != readings)
        fail_msg("lines are read in another way than by CLEAN_VERSION %d: raise it in text/clean.h, so that "
                 "caches are rebuilt, and pin 0x%016" PRIx64 " here",
                 CLEAN_VERSION, readings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readings_are_those_of_a_person),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
