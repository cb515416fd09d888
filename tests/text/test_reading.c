/* Markup, addresses and emoji against what a person reads aloud: the table of tests/data, line by line, with
 * the voice of each language; where the words come from; what is taken for Markdown or HTML; hostile text. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "config/config.h"
#include "text/markup/format.h"
#include "text/markup/html.h"
#include "text/markup/markdown.h"
#include "text/text.h"
#include "text/unicode.h"

enum { LINE = 2048 };

/* libespeak-ng 1.51 loses memory on each change of voice; that is not ours to find here. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libespeak-ng\n"; }

/* --- the table --- */

static int is_pause(uint32_t cp)
{
    return (cp && cp < 0x80 && strchr(".,;:!?", (int)cp)) || cp == 0x60C || cp == 0x61B || cp == 0x61F ||
           cp == 0x2014 || cp == 0x2026;
}

/* Words in small letters with one blank between them, a bar for pauses; none at the end. */
static void words_of(char *out, const char *text)
{
    const size_t size = strlen(text);
    size_t n = 0;
    int pause = 0;
    for (size_t i = 0; i < size;) {
        const size_t from = i;
        const uint32_t cp = unicode_next(text, size, &i);
        const int word = cp >= 0x80 ? !is_pause(cp) : isalnum((int)cp) || strchr("'&#@/%$+=*<>~", (int)cp);
        if (!word) {
            pause |= is_pause(cp);
            if (n && out[n - 1] != ' ')
                out[n++] = ' ';
            continue;
        }
        if (pause && n) {
            out[n++] = '|';
            out[n++] = ' ';
        }
        pause = 0;
        for (size_t k = from; k < i; k++)
            out[n++] = (char)tolower((unsigned char)text[k]);
    }
    while (n && out[n - 1] == ' ')
        n--;
    out[n] = 0;
}

/* "\n" -> a new line, "\\" -> a backslash; other backslashes stay. */
static void unescape(char *s)
{
    char *out = s;
    for (; *s; s++) {
        const int escape = *s == '\\' && (s[1] == 'n' || s[1] == '\\');
        s += escape;
        *out++ = escape && *s == 'n' ? '\n' : *s;
    }
    *out = 0;
}

/* What a voice of the language says of the text. */
static void say(TextEngine *t, char *out, const char *format, const char *language, const char *text)
{
    TextResult result = {0};
    Reading r = {.language = language};
    Str said = {text, (uint32_t)strlen(text)};
    if (!strcmp(format, "markdown"))
        assert_int_equal(markdown_read(&r, text, strlen(text)), 0);
    else if (!strcmp(format, "html"))
        assert_int_equal(html_read(&r, text, strlen(text)), 0);
    else
        assert_string_equal(format, "plain");
    if (r.places.size)
        said = (Str){r.text.data ? r.text.data : "", (uint32_t)r.text.size};
    text_process(t, &result, said, (Str){language, 2}, (Str){"", 0});
    buf_add(&result.cleaned, "", 1);
    assert_true(result.cleaned.size < LINE);
    words_of(out, result.cleaned.data);
    text_result_free(&result);
    reading_free(&r);
}

static void markup_is_read_as_a_person_reads_it(void **state)
{
    (void)state;
    const char *data = getenv("MYXTTS_TEST_DATA") ? getenv("MYXTTS_TEST_DATA") : "tests/data";
    char path[LINE], line[LINE], ours[2 * LINE], want[2 * LINE];
    int lines = 0, wrong = 0;
    Config cfg;
    Err err = {0};
    TextEngine *t;
    assert_int_equal(config_defaults(&cfg, &err), 0);
    cfg.text_cleaners = CLEANER_MULTILINGUAL;
    assert_int_equal(text_engine_open(&t, &cfg, TEXT_TO_SPEAK, &err), 0);
    snprintf(path, sizeof path, "%s/read-aloud.tsv", data);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        char *rest = line, *columns[8] = {0};
        line[strcspn(line, "\n")] = 0;
        if (line[0] == '#')
            continue;
        for (int i = 0; i < 8 && rest; i++)
            columns[i] = strsep(&rest, "\t");
        assert_non_null(columns[3]);
        unescape(columns[2]);
        say(t, ours, columns[0], columns[1], columns[2]);
        int right = 0;
        for (int i = 3; i < 8 && columns[i]; i++) {
            words_of(want, columns[i]);
            right |= !strcmp(ours, want);
        }
        if (!right)
            print_error("%s\n  ours   %s\n  reader %s\n", columns[2], ours, columns[3]);
        wrong += !right;
        lines++;
    }
    fclose(f);
    text_engine_close(t);
    config_close(&cfg);
    assert_int_equal(wrong, 0);
    assert_true(lines >= 200);
}

/* --- where it comes from --- */

/* Each letter of the text is found where its place says; words that were added stand for something. */
static void every_letter_knows_its_place(void **state)
{
    (void)state;
    static const char markdown[] =
        "# Title\n\n> a **bold** [link](x.md)\n\n1. `get_name`\n| a | b |\n|--|--|\n"
        "| c | d |\n```sh\nls\n```\nend",
                      html[] = "<h1>Title</h1><p>a <b>bold</b> &amp; <img alt='cat'>";
    const struct {
        const char *text;
        int (*read)(Reading *, const char *, size_t);
    } both[] = {{markdown, markdown_read}, {html, html_read}};
    for (size_t k = 0; k < 2; k++) {
        Reading r = {.language = "en"};
        const size_t n = strlen(both[k].text);
        assert_int_equal(both[k].read(&r, both[k].text, n), 0);
        const uint32_t *places = (const uint32_t *)(const void *)r.places.data;
        assert_int_equal(r.places.size, (r.text.size + 1) * sizeof *places);
        const char *bold = strstr(r.text.data, "bold");
        assert_non_null(bold);
        assert_memory_equal(both[k].text + places[bold - r.text.data], "bold", 4);
        for (size_t i = 0; i <= r.text.size; i++) {
            assert_true(places[i] <= n);
            assert_true(!i || places[i] >= places[i - 1]);
        }
        reading_free(&r);
    }
}

/* --- what is Markdown, what is HTML --- */

static void plain_text_stays_plain(void **state)
{
    (void)state;
    static const char *const plain[] = {"2 * 3 * 4",
                                        "a_b and c_d",
                                        "x < y > z",
                                        "#1 in C#",
                                        "I <3 you",
                                        "snake_case_name",
                                        "5* or 4* hotels",
                                        "a*b*c",
                                        "Wait --- what?",
                                        "[sic] and (so on)",
                                        "see [1] (page 2)",
                                        "`tis the season",
                                        "~5 or ~6",
                                        "1. Mai\n2. Mai",
                                        "He said: - no.",
                                        "f**k",
                                        "x = y_1 * z_2",
                                        "use <stdio.h> here",
                                        "a <b and c> d",
                                        "_ _ _",
                                        "***",
                                        "Dear Sir,\n- I agree.",
                                        "**",
                                        "* note",
                                        "$5_000 and 6_000",
                                        "a && b || c",
                                        "<speak",
                                        "The tag <p> opens a paragraph.",
                                        "10 > 5",
                                        "\\o/",
                                        "C:\\path\\_x_y"};
    static const char *const markdown[] = {"# Title\ntext",
                                           "**bold** word",
                                           "a *word* here",
                                           "- one\n- two",
                                           "see [the docs](https://a.b/c)",
                                           "```\ncode\n```",
                                           "| a | b |\n|---|---|\n| c | d |",
                                           "run `make test` now",
                                           "![a cat](cat.png)",
                                           "say _so_ then",
                                           "~~no~~ yes"};
    static const char *const html[] = {"<p>Hello</p>",        "a <b>bold</b> word",  "one<br>two",
                                       "<!DOCTYPE html><p>x", "<ul><li>x</li></ul>", "<img src=a alt=b>"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (markdown_is_likely(plain[i], strlen(plain[i])) || html_is_likely(plain[i], strlen(plain[i])))
            fail_msg("'%s' is no markup", plain[i]);
    for (size_t i = 0; i < sizeof markdown / sizeof *markdown; i++)
        if (!markdown_is_likely(markdown[i], strlen(markdown[i])) ||
            html_is_likely(markdown[i], strlen(markdown[i])))
            fail_msg("'%s' is Markdown", markdown[i]);
    for (size_t i = 0; i < sizeof html / sizeof *html; i++)
        if (!html_is_likely(html[i], strlen(html[i])))
            fail_msg("'%s' is HTML", html[i]);
}

/* The rows of the table: what AUTO means, and that a text that is no markup has none. */
static void formats_are_found_and_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        TextFormat want;
    } cases[] = {{"plain", TEXT_FORMAT_PLAIN},
                 {"", TEXT_FORMAT_PLAIN},
                 {"a **b** c", TEXT_FORMAT_MARKDOWN},
                 {"a **b** <i>c</i>", TEXT_FORMAT_MARKDOWN},
                 {"<p>a **b** c</p>", TEXT_FORMAT_HTML},
                 {"one<br>two", TEXT_FORMAT_HTML},
                 {"<speak><p>a</p></speak>", TEXT_FORMAT_SSML}};
    static const char text[] = "# A\xEF\xBF\xBF title\n\nsome `get_name` words";
    const TextFormatUse use = {.phonemes = 1, .language = "en-us"};
    Err err = {0};
    Markup m = {0};
    TextFormat f;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(text_format_of(TEXT_FORMAT_AUTO, cases[i].text, strlen(cases[i].text)),
                         cases[i].want);
    assert_int_equal(text_format_find(&f, "markdown"), 0);
    assert_int_equal(text_format_read(&m, f, text, strlen(text), &use, &err), 1);
    buf_add(&m.text, "", 1);
    assert_string_equal(m.text.data, "A    title.\nsome get name words.");
    size_t from, size;
    const size_t at = (size_t)(strstr(m.text.data, "words") - m.text.data);
    markup_source(&m, at, 5, &from, &size);
    assert_int_equal(size, 5);
    assert_memory_equal(text + from, "words", 5);
    assert_int_equal(markup_section(&m, at)->language, 0);
    markup_free(&m);
}

static void check_lines(const char *path, int *lines)
{
    char line[LINE];
    FILE *f = fopen(path, "r");
    *lines = 0;
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\t\n")] = 0;
        (*lines)++;
        if (*line == '#')
            continue;
        if (markdown_is_likely(line, strlen(line)) || html_is_likely(line, strlen(line)))
            fail_msg("%s: '%s' is no markup", path, line);
    }
    if (f)
        fclose(f);
}

/* The tables of test_said, and all of LJSpeech where it is there. */
static void lines_of_corpora_are_plain(void **state)
{
    (void)state;
    static const char *const tables[] = {"english", "german", "dutch",   "spanish",
                                         "french",  "arabic", "persian", "turkish"};
    const char *data = getenv("MYXTTS_TEST_DATA") ? getenv("MYXTTS_TEST_DATA") : "tests/data",
               *shared = getenv("MYXTTS_DATA");
    char path[LINE];
    int lines;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        snprintf(path, sizeof path, "%s/%s_said.tsv", data, tables[i]);
        check_lines(path, &lines);
        assert_true(lines >= 50);
    }
    snprintf(path, sizeof path, "%s/ljspeech-text/metadata.csv", shared ? shared : "../shared/data");
    check_lines(path, &lines);
    if (lines)
        assert_int_equal(lines, 13100);
}

/* --- hostile text --- */

/* The pattern again and again: it ends, and soon, however deep it nests. */
static void repeat(const char *pattern, size_t size)
{
    Buf text = {0};
    while (text.size < size)
        buf_str(&text, pattern);
    assert_false(text.failed);
    for (int k = 0; k < 2; k++) {
        Reading r = {.language = "en"};
        assert_int_equal((k ? html_read : markdown_read)(&r, text.data, text.size), 0);
        assert_int_equal(utf8_valid(r.text.data, r.text.size), r.text.size);
        reading_free(&r);
    }
    markdown_is_likely(text.data, text.size);
    html_is_likely(text.data, text.size);
    buf_free(&text);
}

static void hostile_text_costs_linear_time(void **state)
{
    (void)state;
    static const char *const patterns[] = {"[",
                                           "](",
                                           "[a](",
                                           "![[a](b)",
                                           "`",
                                           "` `` ``` ",
                                           "*a ",
                                           "**a _b ",
                                           "_a*",
                                           "<",
                                           "<a",
                                           "<a \"",
                                           "<a b='",
                                           "<!--",
                                           "<div hidden>",
                                           "<svg>",
                                           "<script>",
                                           "<ol><li>",
                                           "> ",
                                           ">",
                                           "- ",
                                           "- - x\n",
                                           "1. ",
                                           "# ",
                                           "|",
                                           "| a |\n|-|\n",
                                           "```\n",
                                           "    x\n\n",
                                           "&",
                                           "&amp;",
                                           "&#x",
                                           "\\",
                                           "~~a",
                                           "[^a]: b\n",
                                           "\n",
                                           "<p <p",
                                           "<a '<a \"",
                                           "</",
                                           "(",
                                           "[x][y]",
                                           "<pre>\n",
                                           "<td>",
                                           "'a",
                                           "a@",
                                           "http://"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        repeat(patterns[i], 300000);
    /* What looks like a tag and never ends is not looked for without end. */
    char open[4000];
    size_t wasted = 0;
    Tag t;
    for (size_t i = 0; i < sizeof open; i++)
        open[i] = "<!--"[i % 4];
    for (size_t i = 0; i < sizeof open; i += 4)
        assert_int_equal(html_tag(&t, open, sizeof open, i, &wasted), 0);
    assert_in_range(wasted, sizeof open, 10 * sizeof open);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markup_is_read_as_a_person_reads_it),
        cmocka_unit_test(every_letter_knows_its_place),
        cmocka_unit_test(plain_text_stays_plain),
        cmocka_unit_test(formats_are_found_and_read),
        cmocka_unit_test(lines_of_corpora_are_plain),
        cmocka_unit_test(hostile_text_costs_linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
