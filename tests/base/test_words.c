/* test_words.c - the table of sentences in two languages: each row is whole, and what is written from it can
 * be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/utf8.h"
#include "base/words/words.h"

#define MOST_VALUES 12

/* The conversions of a format by the place of their argument, without flags, width and precision: "s", "lld".
 * numbered: how many say which argument they mean, all or none of them (C has no format in between). */
typedef struct Values {
    char kind[MOST_VALUES][8];
    int count, numbered, all;
} Values;

static Values values_of(const char *s)
{
    Values v = {.count = 0};
    for (int next = 0; (s = strchr(s, '%')) != NULL;) {
        s++;
        if (*s == '%') {
            s++;
            continue;
        }
        char *after;
        const long numbered = strtol(s, &after, 10);
        const int at = *after == '$' ? (int)numbered - 1 : next++;
        v.numbered += *after == '$';
        v.all++;
        s = *after == '$' ? after + 1 : s;
        s += strspn(s, "+-0 #.123456789");
        const size_t n = strcspn(s, "diufgeGEsx") + 1;
        assert_in_range(at, 0, MOST_VALUES - 1);
        assert_true(n < sizeof v.kind[0]);
        memcpy(v.kind[at], s, n);
        v.count = at + 1 > v.count ? at + 1 : v.count;
        s += n;
    }
    return v;
}

static int count_of(const char *s, const char *what)
{
    int n = 0;
    for (; (s = strstr(s, what)) != NULL; s += strlen(what))
        n++;
    return n;
}

static void test_rows(void **state)
{
    int bad = 0;
    for (int w = 0; w < WORD_COUNT; w++) {
        const char *en = word_in((Word)w, MESSAGES_ENGLISH), *fa = word_in((Word)w, MESSAGES_PERSIAN);
        const char *wrong = NULL;
        if (!en || !*en || !fa || !*fa)
            wrong = "a language is missing";
        else if (words_are_persian(en) || !words_are_persian(fa))
            wrong = "a sentence is in the wrong language";
        else if (strstr(fa, "\u064A") || strstr(fa, "\u0643"))
            wrong = "Arabic yeh or kaf, where Persian has its own";
        else if (strstr(fa, "\u0647\u200C\u200C") || strstr(fa, "  ") || strstr(fa, " \u200C") ||
                 strstr(fa, "\u200C "))
            wrong = "blanks or joiners too many";
        else if (count_of(fa, "`") % 2)
            wrong = "a backtick alone";
        else if (utf8_valid(fa, strlen(fa)) != strlen(fa))
            wrong = "no UTF-8";
        Values a = {0}, b = {0};
        if (!wrong) {
            a = values_of(en);
            b = values_of(fa);
        }
        if (!wrong && (a.count != b.count || memcmp(a.kind, b.kind, sizeof a.kind) != 0))
            wrong = "the conversions differ";
        if (!wrong && b.numbered && b.numbered != b.all)
            wrong = "some conversions are numbered, others not";
        if (wrong) {
            print_error("row %d: %s\n  %s\n  %s\n", w, wrong, en ? en : "", fa ? fa : "");
            bad++;
        }
    }
    print_message("%d sentences\n", WORD_COUNT);
    assert_true(WORD_COUNT > 50);
    assert_int_equal(bad, 0);
}

static void test_values(void **state)
{
    char text[400], small[24];
    words_choose(MESSAGES_ENGLISH);
    say(text, sizeof text, SAY_SLOW_DISK, 12.34, 5.0);
    assert_non_null(strstr(text, "12.3 ms a batch"));
    say_count(text, sizeof text, SAY_WALL_WORKERS, 1, 1, 2.0);
    assert_string_equal(text, "1 worker needs 2.0 ms a batch");
    say_count(text, sizeof text, SAY_WALL_WORKERS, 3, 3, 2.0);
    say_more(text, sizeof text, SAY_WALL_WAITS, 7.0);
    assert_string_equal(text, "3 workers need 2.0 ms a batch; the model device waits 7.0 % of the time");

    words_choose(MESSAGES_PERSIAN);
    say(text, sizeof text, SAY_PERCENT_1, -12.5);
    assert_string_equal(text, "\u2068-۱۲\u066B۵\u2069٪");
    /* A value is isolated and keeps its digits where it is text; a command reads from left to right. */
    say(text, sizeof text, SAY_SET_THIS, "num_workers: 8");
    assert_string_equal(text, "بگذارید \u2068num_workers: 8\u2069.");
    say(text, sizeof text, SAY_ALONE_STAGE, 100.0, "read", "x");
    assert_non_null(strstr(text, "\u2066`myxtts diagnose`\u2069"));
    /* Another order of the same values. */
    say(text, sizeof text, SAY_WALL_STALL, 1.0, 2.0, 30, 4);
    assert_true(strstr(text, "۳۰") < strstr(text, "۱\u066B۰"));
    /* Cut off between characters, whatever the room. */
    for (size_t cap = 1; cap <= sizeof small; cap++) {
        say(small, cap, SAY_PERCENT_1, 1.0);
        assert_true(strlen(small) < cap);
        assert_int_equal(utf8_valid(small, strlen(small)), strlen(small));
        words_choose(MESSAGES_ENGLISH);
        say(small, cap, SAY_SET_THIS, "éèéèéèéèéèéèéèéè");
        assert_int_equal(utf8_valid(small, strlen(small)), strlen(small));
        words_choose(MESSAGES_PERSIAN);
    }
    Buf b = {0};
    words_column(&b, "\u2068می\u200Cرود\u2069", 8);
    assert_string_equal(b.data, "\u2068می\u200Cرود\u2069   ");
    buf_free(&b);
    words_choose(MESSAGES_ENGLISH);
}

static void test_chooser(void **state)
{
    static const struct {
        const char *all, *messages, *lang;
        Messages want;
    } cases[] = {
        {NULL, NULL, NULL, MESSAGES_ENGLISH},       {NULL, NULL, "fa_IR.UTF-8", MESSAGES_PERSIAN},
        {NULL, NULL, "fa", MESSAGES_PERSIAN},       {NULL, "en_GB.UTF-8", "fa_IR.UTF-8", MESSAGES_ENGLISH},
        {NULL, "fa_IR", "de_DE", MESSAGES_PERSIAN}, {"C", "fa_IR", "fa_IR", MESSAGES_ENGLISH},
        {"", "", "fa_IR@x", MESSAGES_PERSIAN},      {NULL, NULL, "fao_FO", MESSAGES_ENGLISH},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const names[] = {"LC_ALL", "LC_MESSAGES", "LANG"};
        const char *const values[] = {cases[i].all, cases[i].messages, cases[i].lang};
        for (int k = 0; k < 3; k++)
            if (values[k])
                setenv(names[k], values[k], 1);
            else
                unsetenv(names[k]);
        assert_int_equal(words_of_environment(), cases[i].want);
    }
    assert_int_equal(words_find("fa"), MESSAGES_PERSIAN);
    assert_int_equal(words_find("en"), MESSAGES_ENGLISH);
    assert_int_equal(words_find("FA"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_chooser),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
