/* test_languages.c - the languages of a voice: lists of them, the scripts of texts, what a voice is asked for
 * and was never trained on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "voice/voice_language.h"

static LanguageList list_of(const char *const *codes)
{
    LanguageList l = {0};
    for (int i = 0; codes[i]; i++)
        assert_int_equal(language_list_add(&l, codes[i]), i);
    return l;
}

#define LIST(...) list_of((const char *const[]){__VA_ARGS__, NULL})

static void lists_know_the_same_voice(void **state)
{
    LanguageList l = LIST("en-gb", "de", "cmn");
    char shown[64];
    /* espeak-ng speaks "en" as "en-us"; "zh" and "cmn" are one. */
    assert_int_equal(language_list_find(&l, "de"), 1);
    assert_int_equal(language_list_find(&l, "zh"), 2);
    assert_int_equal(language_list_find(&l, "en"), -1);
    assert_int_equal(language_list_near(&l, "en"), 0);
    assert_int_equal(language_list_near(&l, "de-at"), 1);
    assert_int_equal(language_list_near(&l, "fr"), -1);
    assert_int_equal(language_list_add(&l, "zh-cn"), 2);
    assert_int_equal(l.count, 3);
    language_list_sort(&l);
    language_list_show(&l, shown, sizeof shown);
    assert_string_equal(shown, "cmn, de, en-gb");
    language_list_show(&l, shown, 8);
    assert_string_equal(shown, "cmn, de");
}

static void a_full_list_takes_no_more(void **state)
{
    LanguageList l = {0};
    char code[4];
    for (int i = 0; i < LANGUAGES_MOST; i++) {
        snprintf(code, sizeof code, "q%c%c", 'a' + i / 26, 'a' + i % 26);
        assert_int_equal(language_list_add(&l, code), i);
    }
    assert_int_equal(language_list_add(&l, "qaa"), 0);
    assert_int_equal(language_list_add(&l, "zzz"), -1);
    assert_int_equal(l.count, LANGUAGES_MOST);
}

/* ---- scripts ---- */

static int foreign(const char *text, const char *language)
{
    ScriptSet known = {0};
    ScriptCount count = {0};
    scripts_of_language(&known, language);
    script_count(&count, text, strlen(text));
    return script_foreign(&count, &known);
}

static void letters_tell_the_script(void **state)
{
    static const struct {
        const char *text, *language, *foreign; /* NULL: it is none */
    } cases[] = {
        {"Good morning.", "en", NULL},
        {"Größe, naïve, 100 %, 3.5 µ", "de", NULL},
        {"", "en", NULL},
        {"123 - 456 !?", "en", NULL},
        {"The word мир is Russian.", "en", NULL},
        {"Доброе утро", "en", "Cyrillic"},
        {"Доброе утро", "ru", NULL},
        {"ab вг", "en", NULL}, /* half is not more than half */
        {"ab вгд", "en", "Cyrillic"},
        {"صبح بخیر", "en", "Arabic"},
        {"صبح بخیر", "fa", NULL},
        {"早上好", "de", "Han"},
        {"早上好", "zh", NULL},
        {"早上好", "cmn", NULL},
        {"zao3 shang4 hao3", "zh", NULL}, /* pinyin */
        {"東京タワーはたかい。", "ja", NULL},
        {"東京タワーはたかい。", "en", "Hiragana"},
        {"좋은 아침", "ko", NULL},
        {"좋은 아침", "ja", "Hangul"},
        {"Good morning.", "ru", "Latin"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[64] = "none";
        int script = foreign(cases[i].text, cases[i].language);
        if (script >= 0)
            script_long_name(name, script);
        if (strcmp(name, cases[i].foreign ? cases[i].foreign : "none") != 0)
            fail_msg("\"%s\" for %s: %s", cases[i].text, cases[i].language, name);
    }
}

static void a_stray_letter_makes_no_script(void **state)
{
    ScriptCount count = {0};
    ScriptSet used = {0};
    for (int i = 0; i < 30; i++)
        script_count(&count, "the number pi", 13);
    script_count(&count, "π", 2);
    assert_int_equal(count.all, 331);
    scripts_used(&used, &count, 0.01);
    assert_int_equal(used.count, 1);
    assert_string_equal(script_short_name(used.scripts[0]), "Latn");
    assert_int_equal(script_by_name("Latn"), used.scripts[0]);
    assert_int_equal(script_by_name("nonsense"), -1);
    scripts_used(&used, &count, 0.001);
    assert_int_equal(used.count, 2);
}

/* ---- voices ---- */

static Checkpoint voice(const char *setting, const LanguageList *languages)
{
    Checkpoint f = {.path = "v", .knows_languages = 1, .languages = *languages};
    f.cfg.language = setting;
    snprintf(f.language, sizeof f.language, "%s", setting);
    return f;
}

static void what_was_never_learned_is_refused(void **state)
{
    LanguageList both = LIST("de", "en");
    Checkpoint f = voice("en", &both);
    static const struct {
        const char *language, *text;
        int force, code;
        const char *said;
    } cases[] = {
        {NULL, "Good morning.", 0, 0, NULL},
        {"", "Good morning.", 0, 0, NULL},
        {"de", "Guten Morgen.", 0, 0, NULL},
        {"German", "Guten Morgen.", 0, 0, NULL},
        {"en_GB", "Good morning.", 0, 0, NULL},
        {"fr", "Bonjour.", 0, ERR_LANGUAGE, "'fr': it speaks de, en"},
        {"FR_ca", "Bonjour.", 0, ERR_LANGUAGE, "'fr-ca': it speaks de, en"},
        {"fr", NULL, 0, ERR_LANGUAGE, "'fr'"},
        {"fr", "Bonjour.", 1, 0, NULL},
        {"no such thing at all", "Hm.", 0, ERR_LANGUAGE, "'no such"},
        {NULL, "Доброе утро", 0, ERR_LANGUAGE, "Cyrillic script: it speaks de, en"},
        {"de", "Доброе утро", 0, ERR_LANGUAGE, "Cyrillic script"},
        {NULL, "Доброе утро", 1, 0, NULL},
        {NULL, "Мир means peace and world.", 0, 0, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Err err = {0};
        const LanguageWish wish = {.language = cases[i].language, .force = cases[i].force};
        const char *text = cases[i].text;
        int rc = voice_language_check(&f, &wish, text, text ? strlen(text) : 0, NULL, &err);
        if (rc != cases[i].code || (cases[i].said && !strstr(err.msg, cases[i].said)))
            fail_msg("case %zu: %d, %s", i, rc, err.msg);
        assert_true(!rc || strstr(err.hint, "force_language"));
    }
    assert_int_equal(err_exit_code(ERR_LANGUAGE), 2);
    /* A setting that was changed is a wish as well. */
    f.cfg.language = "fr";
    assert_int_equal(voice_language_check(&f, &(LanguageWish){0}, NULL, 0, NULL, NULL), ERR_LANGUAGE);
    assert_int_equal(voice_language_check(&f, &(LanguageWish){.language = "de"}, NULL, 0, NULL, NULL), 0);
}

/* What its texts were written in counts, whatever ICU knows of the language. */
static void scripts_of_the_corpus_count(void **state)
{
    LanguageList serbian = LIST("sr");
    Checkpoint f = voice("sr", &serbian);
    const LanguageWish none = {0};
    const char latin[] = "Dobro jutro", cyrillic[] = "Добро јутро";
    assert_int_equal(voice_language_check(&f, &none, latin, strlen(latin), NULL, NULL), ERR_LANGUAGE);
    script_add(&f.scripts, script_by_name("Latn"));
    assert_int_equal(voice_language_check(&f, &none, latin, strlen(latin), NULL, NULL), 0);
    assert_int_equal(voice_language_check(&f, &none, cyrillic, strlen(cyrillic), NULL, NULL), 0);
}

static void keep_line(void *arg, LogLevel level, const char *line) { snprintf(arg, 400, "%s", line); }

static void an_older_file_is_only_warned_of(void **state)
{
    LanguageList english = LIST("en");
    Checkpoint f = voice("en", &english);
    f.knows_languages = 0;
    char line[400] = "";
    Log log = {.level = LOG_WARN, .sink = keep_line, .sink_arg = line};
    assert_int_equal(voice_language_check(&f, &(LanguageWish){.language = "fr"}, "Bonjour", 7, &log, NULL),
                     0);
    assert_non_null(strstr(line, "'fr'"));
    line[0] = 0;
    assert_int_equal(voice_language_check(&f, &(LanguageWish){0}, "Мир", strlen("Мир"), &log, NULL), 0);
    assert_non_null(strstr(line, "Cyrillic"));
    line[0] = 0;
    assert_int_equal(voice_language_check(&f, &(LanguageWish){0}, "Peace", 5, &log, NULL), 0);
    assert_string_equal(line, "");
}

static const char *column(const Checkpoint *f, const char *wished)
{
    static char code[LANGUAGE_MAX];
    voice_language_column(code, f, wished);
    return code;
}

static void texts_are_read_in_a_language_of_the_voice(void **state)
{
    LanguageList british = LIST("en-gb", "fr");
    Checkpoint f = voice("en", &british);
    assert_string_equal(column(&f, NULL), ""); /* as its settings say */
    assert_string_equal(column(&f, "en"), "en-gb");
    assert_string_equal(column(&f, "en-us"), "en-us");
    assert_string_equal(column(&f, "French"), "fr");
    assert_string_equal(column(&f, "ru"), "ru"); /* forced */
    assert_int_equal(voice_language_number(&f, "fr-be"), 1);
    assert_int_equal(voice_language_number(&f, "en"), 0);
    /* Lines that name their languages leave the setting unused. */
    LanguageList german = LIST("de", "fr");
    f = voice("en", &german);
    assert_string_equal(column(&f, NULL), "de");
    assert_int_equal(voice_language_number(&f, "ru"), 0);
    f.cfg.language_detection_method = LANGUAGE_AUTO;
    assert_string_equal(column(&f, NULL), "");
    /* What it does not know gets the vector of its own language. */
    LanguageList more = LIST("de", "en");
    f = voice("en", &more);
    assert_int_equal(voice_language_number(&f, "ru"), 1);
}

/* ---- the language of a text ---- */

static void a_text_in_a_foreign_language_is_refused(void **state)
{
    static const char german[] = "Nahe bei dem Schlosse des Königs lag ein großer dunkler Wald.";
    LanguageList english = LIST("en"), both = LIST("de", "en-gb");
    Checkpoint one = voice("en", &english), two = voice("en-gb", &both);
    static const struct {
        const char *text;
        LanguageWish wish;
        int code;
    } cases[] = {
        {german, {0}, ERR_LANGUAGE},
        {german, {.force = 1}, 0},
        {german, {.language = "en"}, 0},
        {german, {.goes_on = 1}, 0},
        {"Guten Morgen.", {0}, 0}, /* short */
        {"Nahe bei dem großen Wald.", {0}, 0},
        {"Dr. Müller, Frau Schmidt, Herr Schneider, Frau Fischer, Herr Weber", {0}, 0},
        {"Champs-Élysées, Arc de Triomphe, Notre-Dame de Paris, Musée du Louvre", {0}, 0},
        {"spaghetti carbonara, penne arrabbiata, lasagne al forno", {0}, 0},
        {"We had boeuf bourguignon, coq au vin and crème brûlée.", {0}, 0},
        {"The Deutsche Bank and the Frankfurter Allgemeine Zeitung said so.", {0}, 0},
        {"NAHE BEI DEM SCHLOSSE DES KÖNIGS LAG EIN GROSSER DUNKLER WALD.", {0}, 0}, /* all may be names */
        {"\xff\xfe is no UTF-8, but there are words enough in it", {0}, 0},
        {"", {0}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Err err = {0};
        const char *t = cases[i].text;
        int rc = voice_language_of_text(&one, &cases[i].wish, t, strlen(t), NULL, &err);
        if (rc != cases[i].code || (rc && !strstr(err.msg, "'de', which this text is in: it speaks en")))
            fail_msg("%s: %d, %s", t, rc, err.msg);
        assert_int_equal(voice_language_of_text(&two, &cases[i].wish, t, strlen(t), NULL, &err), 0);
    }
}

/* Counts the texts of a file that have enough words, those that are known, and those that are taken for
 * another language. column: of a table; -1: the lines are the texts. */
static int count_file(int n[3], const char *path, const char *language, int column)
{
    char line[8192];
    FILE *f = fopen(path, "r");
    if (!f)
        return -1;
    while (fgets(line, sizeof line, f)) {
        char code[LANGUAGE_MAX], *rest = line, *text = line;
        line[strcspn(line, "\r\n")] = 0;
        if (line[0] == '#' && column >= 0)
            continue;
        for (int i = 0; i <= column && rest; i++)
            text = strsep(&rest, column == 2 ? "|" : "\t");
        int words = 0;
        for (const char *p = text; *p; p++)
            words += *p != ' ' && (p == text || p[-1] == ' ');
        if (words < 6)
            continue;
        n[0]++;
        if (!language_sure(code, text, strlen(text)))
            continue;
        n[strcmp(code, language) == 0 ? 1 : 2]++;
        if (strcmp(code, language) != 0)
            print_message("%s, as %s: %s\n", language, code, text);
    }
    fclose(f);
    return 0;
}

/* MYXTTS_ENGLISH: a metadata.csv of many English sentences, to be counted as well. */
static void no_text_is_taken_for_another_language(void **state)
{
    static const struct {
        const char *path, *language;
        int column, known; /* least share in per cent of those with six words */
    } files[] = {
        {"tests/data/sentences-en.txt", "en", -1, 95}, {"tests/data/english_said.tsv", "en", 1, 80},
        {"tests/data/sentences-de.txt", "de", -1, 85}, {"tests/data/german_said.tsv", "de", 1, 50},
        {"tests/data/french_said.tsv", "fr", 1, 40},   {"tests/data/spanish_said.tsv", "es", 1, 40},
        {"tests/data/turkish_said.tsv", "tr", 1, 20},  {"tests/data/dutch_said.tsv", "nl", 1, 20},
        {"tests/data/persian_said.tsv", "fa", 1, 0},   {"tests/data/arabic_said.tsv", "ar", 1, 0},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        int n[3] = {0};
        assert_int_equal(count_file(n, files[i].path, files[i].language, files[i].column), 0);
        print_message("%s: %d texts, %d known, %d wrong\n", files[i].path, n[0], n[1], n[2]);
        assert_true(n[0] > 0 && n[2] == 0);
        assert_true(100 * n[1] >= files[i].known * n[0]);
    }
    const char *more = getenv("MYXTTS_ENGLISH");
    int n[3] = {0};
    if (!more)
        return;
    assert_int_equal(count_file(n, more, "en", 2), 0);
    print_message("%s: %d texts, %d known, %d wrong\n", more, n[0], n[1], n[2]);
    assert_int_equal(n[2], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_know_the_same_voice),
        cmocka_unit_test(a_full_list_takes_no_more),
        cmocka_unit_test(letters_tell_the_script),
        cmocka_unit_test(a_stray_letter_makes_no_script),
        cmocka_unit_test(what_was_never_learned_is_refused),
        cmocka_unit_test(scripts_of_the_corpus_count),
        cmocka_unit_test(an_older_file_is_only_warned_of),
        cmocka_unit_test(texts_are_read_in_a_language_of_the_voice),
        cmocka_unit_test(a_text_in_a_foreign_language_is_refused),
        cmocka_unit_test(no_text_is_taken_for_another_language),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
