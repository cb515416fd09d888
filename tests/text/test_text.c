/* The path of a line: Unicode, language, abbreviations and numbers, phonemes, tokens. */
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/utf8.h"
#include "config/config.h"
#include "config/languages.h"
#include "text/aloud/persian.h"
#include "text/clean.h"
#include "text/language.h"
#include "text/phonemes/phonemes.h"
#include "text/phonemes/tokens.h"
#include "text/text.h"
#include "text/unicode.h"

/* libespeak-ng 1.51 loses memory on each change of voice; that is not ours to find here. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libespeak-ng\n"; }

static Str str(const char *s) { return (Str){s, (uint32_t)strlen(s)}; }

static void expect_normal(const char *in, size_t n, const char *want)
{
    UnicodeScratch s = {0};
    Buf out = {0};
    assert_int_equal(unicode_normalise(&s, &out, in, n), 0);
    buf_add(&out, "", 1);
    assert_string_equal(out.data, want);
    buf_free(&out);
    unicode_scratch_free(&s);
}
#define NORMAL(in, want) expect_normal(in, sizeof(in) - 1, want)

static void test_normalise(void **state)
{
    NORMAL("", "");
    NORMAL("   \t\n", "");
    NORMAL("  plain \t text\r\n", "plain text");
    NORMAL("a\u00A0b\u3000c\u2009d\u2028e", "a b c d e");
    NORMAL("e\u0301", "\u00E9");                        /* composed */
    NORMAL("\u1112\u1161\u11AB", "\uD55C");             /* jamo to a syllable */
    NORMAL("\uD55C\uAD6D", "\uD55C\uAD6D");             /* and never apart */
    NORMAL("\u304B\u3099", "\u304C");                   /* ka + voicing mark */
    NORMAL("zero\u200Bwidth\uFEFF\u00AD", "zerowidth"); /* dropped */
    NORMAL("a\0b\x07"
           "c\x7F",
           "abc");
    NORMAL("\u0645\u06CC\u200C\u062E\u0648\u0627\u0647\u0645",
           "\u0645\u06CC\u200C\u062E\u0648\u0627\u0647\u0645"); /* Persian spelling */
    NORMAL("\u0645\u06CC\u200E\u062E\u0648\u0627\u0647\u0645",
           "\u0645\u06CC\u200C\u062E\u0648\u0627\u0647\u0645"); /* as some keyboards type it */
    NORMAL("a\u200Cb", "ab");
    NORMAL("\u201Cquoted\u201D \u2014 dash", "\u201Cquoted\u201D \u2014 dash");
    NORMAL("\u00F1\u015F\u0439\u0651", "\u00F1\u015F\u0439\u0651"); /* accents stay */
}

static void test_valid_prefix(void **state)
{
    assert_int_equal(utf8_valid("abcdefghij", 10), 10);
    assert_int_equal(utf8_valid("abcdefgh\xFF", 9), 8);
    assert_int_equal(utf8_valid("\xC0\x80", 2), 0);         /* overlong */
    assert_int_equal(utf8_valid("a\xED\xA0\x80", 4), 1);    /* surrogate */
    assert_int_equal(utf8_valid("a\xE2\x82", 3), 1);        /* cut off */
    assert_int_equal(utf8_valid("\xF4\x90\x80\x80", 4), 0); /* above U+10FFFF */
    assert_int_equal(utf8_valid("\U0001F600", 4), 4);
}

static void expect_clean(TextCleaner kind, int lower, const char *language, const char *in, const char *want)
{
    UnicodeScratch s = {0};
    Cleaner c;
    Buf out = {0};
    assert_int_equal(clean_open(&c, kind, lower, &s), 0);
    assert_int_equal(clean_text(&c, &out, in, strlen(in), language), 0);
    buf_add(&out, "", 1);
    assert_string_equal(out.data, want);
    buf_free(&out);
    clean_close(&c);
    unicode_scratch_free(&s);
}
#define CLEAN(language, in, want) expect_clean(CLEANER_MULTILINGUAL, 0, language, in, want)

static void test_abbreviations(void **state)
{
    CLEAN("en", "He went to San Francisco.", "He went to San Francisco.");
    CLEAN("en", "Mr. Poole & Co. owe Dr. Lane.", "Mister Poole and Company owe Doctor Lane.");
    CLEAN("en", "He met St. Paul at No. 7; no. Not so.", "He met Saint Paul at number seven; no. Not so.");
    CLEAN("en", "Apples, pears, etc.", "Apples, pears, et cetera.");
    CLEAN("en", "Tisco. disco. MRS. X", "Tisco. disco. Missus X");
    CLEAN("de", "z. B. Dr. Maier usw.", "zum Beispiel Doktor Maier und so weiter.");
    CLEAN("fr", "M. Dupont, plan M.", "monsieur Dupont, plan M.");
    CLEAN("ru", "т. е. так", "то есть так");
    CLEAN("ko", "한국어 문장입니다.", "한국어 문장입니다.");
    CLEAN("xx", "Dr. 5", "Dr. 5"); /* unknown language: left alone */
}

static void test_cleaners(void **state)
{
    expect_clean(CLEANER_NONE, 1, "en", "Mr. X has 5", "Mr. X has 5");
    expect_clean(CLEANER_BASIC, 0, "en", "Mr. X has 5", "Mr. X has 5");
    expect_clean(CLEANER_BASIC, 1, "en", "Mr. X has 5", "mr. x has 5");
    expect_clean(CLEANER_ENGLISH, 0, "en", "Mr. X has 5", "Mister X has five");
    expect_clean(CLEANER_ENGLISH, 0, "de", "5 Dr.", "5 Dr.");
    expect_clean(CLEANER_BASIC, 1, "tr", "ISPARTA İZMİR", "ısparta izmir");
    expect_clean(CLEANER_BASIC, 1, "de", "ÄÖÜ Straße", "äöü straße");
    expect_clean(CLEANER_BASIC, 1, "es", "NIÑO", "niño");
    CLEAN("ar", "أين المكتبة؟ هناك، نعم", "أين المكتبة? هناك, نعم");
    CLEAN("zh", "好。你呢？", "好. 你呢?");
}

static void test_numbers(void **state)
{
    CLEAN("en", "1,000 and 1,234,567.",
          "one thousand and one million two hundred thirty-four thousand five hundred sixty-seven.");
    CLEAN("en", "1, 2 and 3.", "one, two and three.");
    CLEAN("en", "3.14 and -5", "three point one four and minus five");
    CLEAN("en", "the 1st, 22nd, 3rd", "the first, twenty-second, third");
    CLEAN("en", "in 1890, the 1890s, 1905", "in eighteen ninety, the eighteen nineties, nineteen oh-five");
    CLEAN("en", "1939-1945", "nineteen thirty-nine to nineteen forty-five");
    CLEAN("en", "555-1234", "five five five, one two three four");
    CLEAN("en", "$3.50, $1, £2, $0.01, $2 million",
          "three dollars and fifty cents, one dollar, two pounds, one cent, two million dollars");
    CLEAN("en", "50% or 12 %", "fifty percent or twelve percent");
    CLEAN("en", "12:30, 9:05, 9:00, 7:00 p.m.", "twelve thirty, nine oh five, nine o'clock, seven PM.");
    CLEAN("en", "June 5, 1890 and 5 June", "June fifth, eighteen ninety and the fifth of June");
    CLEAN("en", "2024-03-05", "March fifth, twenty twenty-four");
    CLEAN("en", "3/4 of 1/2", "three quarters of one half");
    CLEAN("en", "MP3 5km 007", "MP three five kilometers zero zero seven");
    CLEAN("en", "12345678901234567",
          "one two three four five six seven eight nine zero one two three four five six seven");
    CLEAN("en", "1.2.3", "one point two point three");
    CLEAN("en", "99999999999999999999.9999999999999999999999%",
          "nine nine nine nine nine nine nine nine nine nine nine nine nine nine nine "
          "nine nine nine nine nine nine nine nine nine nine nine nine nine nine nine nine nine nine nine "
          "nine nine nine nine nine "
          "nine "
          "nine nine%");
    CLEAN("de", "1.000,5 am 3. Mai, 22", "eintausend Komma fünf am dritten Mai, zweiundzwanzig");
    CLEAN("de", "10-12 oder 1990-1995, B-52, 030-1234",
          "zehn bis zwölf oder neunzehnhundertneunzig bis neunzehnhundertfünfundneunzig, B-zweiundfünfzig, "
          "null drei null-zwölfhundertvierunddreißig");
    CLEAN("de", "um 12:30 Uhr", "um zwölf Uhr dreißig");
    CLEAN("fr", "1 000 le 1er, 2e, 80", "mille le premier, deuxième, quatre-vingts");
    CLEAN("fr", "10-12 et 12-10-8", "dix à douze et douze-dix-huit");
    CLEAN("es", "21 años, 3,5 %", "veintiún años, tres coma cinco por ciento");
    CLEAN("tr", "%5", "yüzde beş");
    CLEAN("ru", "1%, 2%, 5%", "один процент, два процента, пять процентов");
    CLEAN("fa", "۱۲۳ و ۴۵٪", "صد و بیست و سه و چهل و پنج درصد");
    CLEAN("ar", "٣٫٥", "ثلاثة فاصل خمسة");
    CLEAN("zh", "1890年,50%", "一八九〇年,百分之五十");
    CLEAN("ja", "３人", "三人");
    CLEAN("ko", "123명", "백이십삼명");
}

static void test_language_codes(void **state)
{
    char out[LANGUAGE_MAX];
    assert_int_equal(language_normalise(out, "EN_us", 5), 0);
    assert_string_equal(out, "en-us");
    assert_int_equal(language_normalise(out, "Persian", 7), 0);
    assert_string_equal(out, "fa");
    assert_int_equal(language_normalise(out, "x", 1), -1);
    assert_int_equal(language_normalise(out, "12", 2), -1);
    assert_int_equal(language_normalise(out, "this-is-far-too-long", 20), -1);
    language_primary(out, "pt-br");
    assert_string_equal(out, "pt");
    language_primary(out, "cmn");
    assert_string_equal(out, "zh");
    assert_string_equal(language_voice("en"), "en-us");
    assert_string_equal(language_voice("fr"), "fr-fr");
    assert_string_equal(language_voice("de"), "de");
}

static const StringList seventeen = {.items = {"en", "es", "fr", "de", "it", "pt", "pl", "tr", "ru", "nl",
                                               "cs", "ar", "fa", "zh", "ja", "hu", "ko"},
                                     .count = 17};

static void expect_from_id(const char *id, const char *want)
{
    char out[LANGUAGE_MAX] = "";
    assert_int_equal(language_from_id(out, &seventeen, str(id)), *want != 0);
    assert_string_equal(out, want);
}

static void test_language_from_id(void **state)
{
    expect_from_id("spk_de_0012", "de");
    expect_from_id("spk-FR-0012", "fr");
    expect_from_id("fa/clip_0001", "fa");
    expect_from_id("corpus.ru.12", "ru");
    expect_from_id("item0012", "");
    expect_from_id("ended_0012", ""); /* "en", "de" inside a word */
    expect_from_id("spk_xx_1", "");
    expect_from_id("", "");
    StringList brazil = {.items = {"pt", "pt-br"}, .count = 2};
    char out[LANGUAGE_MAX];
    assert_int_equal(language_from_id(out, &brazil, str("spk_pt-BR_001")), 1);
    assert_string_equal(out, "pt-br");
}

static void expect_from_text(const char *text, const char *want)
{
    char out[LANGUAGE_MAX] = "";
    language_from_text(out, &seventeen, text, strlen(text));
    if (strcmp(out, want))
        print_error("%s\n", text);
    assert_string_equal(out, want);
}

static void test_language_from_text(void **state)
{
    expect_from_text("今日は天気がいいです。", "ja"); /* kanji with kana is not Chinese */
    expect_from_text("今天天气很好。", "zh");
    expect_from_text("پسر در باغ یک سیب می‌خورد", "fa"); /* Persian is not Arabic */
    expect_from_text("ذهبت القطة الصغيرة إلى النهر", "ar");
    expect_from_text("오늘은 날씨가 좋습니다", "ko");
    expect_from_text("12345 ...", "");
    const char *golden = getenv("MYXTTS_GOLDEN") ? getenv("MYXTTS_GOLDEN") : "tests/golden";
    char path[1024], line[4096];
    snprintf(path, sizeof path, "%s/sentences_multi.tsv", golden);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        char *tab = strchr(line, '\t');
        *tab = 0;
        tab[strcspn(tab + 1, "\n") + 1] = 0;
        expect_from_text(tab + 1, line);
    }
    fclose(f);
    /* restricted: German is not on offer */
    StringList two = {.items = {"en", "fr"}, .count = 2};
    char out[LANGUAGE_MAX] = "";
    language_from_text(out, &two, "Der Junge isst einen roten Apfel im Garten.", 43);
    assert_string_not_equal(out, "de");
}

static void test_language_choice(void **state)
{
    Config cfg;
    Err err = {0};
    char out[LANGUAGE_MAX];
    const char *german = "Der Junge isst einen roten Apfel im Garten seiner Großmutter.";
    assert_int_equal(config_defaults(&cfg, &err), 0);
    cfg.language_detection_method = LANGUAGE_AUTO;
    language_choose(out, &cfg, str("fr"), str("spk_it_1"), german, strlen(german));
    assert_string_equal(out, "fr"); /* the column wins */
    language_choose(out, &cfg, str(""), str("spk_it_1"), german, strlen(german));
    assert_string_equal(out, "de");
    cfg.language_detection_method = LANGUAGE_FROM_FILENAME;
    language_choose(out, &cfg, str(""), str("spk_it_1"), german, strlen(german));
    assert_string_equal(out, "it");
    language_choose(out, &cfg, str(""), str("spk_1"), german, strlen(german));
    assert_string_equal(out, "en");
    cfg.language_detection_method = LANGUAGE_FROM_METADATA;
    language_choose(out, &cfg, str(""), str("spk_it_1"), german, strlen(german));
    assert_string_equal(out, "en");
    config_close(&cfg);
}

/* Every row of a golden file through the voice of its language, or en-us: equal to what phonemizer made. */
static void check_golden(const char *name, int by_language)
{
    const char *golden = getenv("MYXTTS_GOLDEN") ? getenv("MYXTTS_GOLDEN") : "tests/golden";
    char path[1024], line[8192];
    Err err = {0};
    Phonemes *p = NULL;
    Buf out = {0}, tokens = {0}, unknown = {0};
    snprintf(path, sizeof path, "%s/%s", golden, name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(phonemes_open(&p, &err), 0);
    int rows = 0, wrong = 0;
    assert_non_null(fgets(line, sizeof line, f)); /* the versions */
    while (fgets(line, sizeof line, f)) {
        char *text = strchr(line, '\t') + 1, *want = strchr(text, '\t') + 1;
        text[-1] = want[-1] = want[strcspn(want, "\n")] = 0;
        assert_int_equal(phonemes_set_voice(p, by_language ? language_voice(line) : "en-us", &err), 0);
        buf_clear(&out);
        assert_int_equal(phonemes_speak(p, &out, NULL, text, strlen(text)), 0);
        buf_add(&out, "", 1);
        if (strcmp(out.data, want)) {
            print_error("%s\n  ours   %s\n  golden %s\n", text, out.data, want);
            wrong++;
        }
        tokens_encode(&tokens, &unknown, out.data, out.size - 1, 0);
        if (unknown.size)
            print_error("unknown symbols in %s\n", out.data);
        assert_int_equal(unknown.size, 0);
        rows++;
    }
    fclose(f);
    buf_free(&out);
    buf_free(&tokens);
    phonemes_close(p);
    assert_true(rows >= 50);
    assert_int_equal(wrong, 0);
}
static void test_golden_english(void **state) { check_golden("phonemes_en.tsv", 0); }
static void test_golden_languages(void **state) { check_golden("phonemes_multi.tsv", 1); }

static void test_phonemes_punctuation(void **state)
{
    static const char *const pairs[][2] = {
        {"", ""},
        {"...", "..."},
        {" hello , world ! ", "həlˈoʊ , wˈɜːld ! "},
        {"(hello)", "(həlˈoʊ)"},
        {"2.5.", "tˈuː pɔɪnt fˈaɪv."}, /* phonemizer loses its place here */
        {"-", ""},
    };
    Err err = {0};
    Phonemes *p = NULL;
    assert_int_equal(phonemes_open(&p, &err), 0);
    assert_int_equal(phonemes_set_voice(p, "klingon-x", &err), ERR_MISSING);
    assert_non_null(strstr(err.msg, "klingon-x"));
    assert_int_equal(phonemes_set_voice(p, "en-us", &err), 0);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        Buf out = {0};
        assert_int_equal(phonemes_speak(p, &out, NULL, pairs[i][0], strlen(pairs[i][0])), 0);
        buf_add(&out, "", 1);
        assert_string_equal(out.data, pairs[i][1]);
        buf_free(&out);
    }
    phonemes_close(p);
}

static void test_missing_voice_data(void **state)
{
    char dir[] = "/tmp/myxtts-text-XXXXXX", sub[64];
    assert_non_null(mkdtemp(dir));
    snprintf(sub, sizeof sub, "%s/espeak-ng-data", dir);
    assert_int_equal(mkdir(sub, 0700), 0);
    setenv("ESPEAK_DATA_PATH", dir, 1);
    Err err = {0};
    Phonemes *p = NULL;
    assert_int_equal(phonemes_open(&p, &err), ERR_MISSING);
    assert_null(p);
    assert_non_null(strstr(err.msg, dir));
    unsetenv("ESPEAK_DATA_PATH");
    rmdir(sub);
    rmdir(dir);
}

static RejectReason process(TextEngine *t, TextResult *r, const char *text, const char *language)
{
    return text_process(t, r, str(text), str(language), str("id"));
}

static void test_text_process(void **state)
{
    Config cfg;
    Err err = {0};
    TextEngine *t = NULL;
    TextResult r = {0};
    assert_int_equal(config_defaults(&cfg, &err), 0);
    cfg.add_blank = 1;
    assert_int_equal(text_engine_open(&t, &cfg, TEXT_TO_LEARN, &err), 0);

    assert_int_equal(process(t, &r, "Mr.  Poole has 5.", ""), REJECT_NONE);
    assert_string_equal(r.language, "en");
    assert_int_equal(r.cleaned.size, strlen("Mister Poole has five."));
    assert_string_equal(r.phonemes.data, "mˈɪstɚ pˈuːl hɐz fˈaɪv.");
    const uint16_t *tokens = (const uint16_t *)(const void *)r.tokens.data;
    size_t n = r.tokens.size / 2;
    assert_int_equal(n, 2 + 2 * 23);
    assert_int_equal(tokens[0], TOKEN_BOS);
    assert_int_equal(tokens[1], tokens_find('m'));
    assert_int_equal(tokens[2], TOKEN_BLANK);
    assert_int_equal(tokens[n - 1], TOKEN_EOS);
    assert_int_equal(r.unknown.size, 0);

    text_engine_close(t);
    text_result_free(&r);
    config_close(&cfg);
}

static void test_what_is_spoken_and_what_is_not(void **state)
{
    Config cfg;
    Err err = {0};
    TextEngine *t = NULL;
    TextResult r = {0};
    assert_int_equal(config_defaults(&cfg, &err), 0);
    assert_int_equal(text_engine_open(&t, &cfg, TEXT_TO_LEARN, &err), 0);
    assert_int_equal(process(t, &r, "bonjour", "fr"), REJECT_NONE);
    assert_string_equal(r.phonemes.data, "bɔ̃ʒˈuʁ");
    assert_int_equal(process(t, &r, "colour", "en-gb"), REJECT_NONE);
    assert_string_equal(r.phonemes.data, "kˈʌlə");
    assert_int_equal(process(t, &r, "colour", "en-zz"),
                     REJECT_NONE); /* a region without a voice: the language's */
    assert_int_equal(process(t, &r, "colour", "xx"), REJECT_LANGUAGE);
    assert_non_null(strstr(r.detail, "'xx'"));
    assert_int_equal(process(t, &r, "", ""), REJECT_EMPTY_TEXT);
    assert_int_equal(process(t, &r, " \u200B ", ""), REJECT_EMPTY_TEXT);
    assert_int_equal(process(t, &r, "?!", ""), REJECT_NO_PHONEMES);
    assert_int_equal(process(t, &r, "a\xFFz", ""), REJECT_UTF8);
    assert_non_null(strstr(r.detail, "0xFF"));
    assert_int_equal(process(t, &r, "男の子", "ja"), REJECT_NO_PHONEMES); /* the voice reads no kanji */
    assert_non_null(strstr(r.detail, "U+7537"));
    assert_int_equal(process(t, &r, "おとこ", "ja"), REJECT_NONE);
    assert_int_equal(process(t, &r, "hello 男", "en"), REJECT_NO_PHONEMES);
    assert_int_equal(process(t, &r, "ok \U0001F600", ""), REJECT_NONE);
    text_engine_close(t);
    text_result_free(&r);
    config_close(&cfg);
}

static void test_a_voice_that_was_chosen(void **state)
{
    Config cfg;
    Err err = {0};
    TextEngine *t = NULL;
    TextResult r = {0};
    assert_int_equal(config_defaults(&cfg, &err), 0);
    cfg.phoneme_language = "en-gb";
    assert_int_equal(text_engine_open(&t, &cfg, TEXT_TO_LEARN, &err), 0);
    assert_int_equal(process(t, &r, "colour", "fr"), REJECT_NONE);
    assert_string_equal(r.phonemes.data, "kˈʌlə");
    text_engine_close(t);
    cfg.phoneme_language = "no-such-voice";
    assert_int_equal(text_engine_open(&t, &cfg, TEXT_TO_LEARN, &err), 0);
    assert_int_equal(process(t, &r, "colour", ""), REJECT_LANGUAGE);
    assert_non_null(strstr(r.detail, "no-such-voice"));
    text_engine_close(t);
    text_result_free(&r);
    config_close(&cfg);
}

static void test_without_phonemes(void **state)
{
    Config cfg;
    Err err = {0};
    TextEngine *t = NULL;
    TextResult r = {0};
    assert_int_equal(config_defaults(&cfg, &err), 0);
    cfg.use_phonemes = 0;
    assert_int_equal(text_engine_open(&t, &cfg, TEXT_TO_LEARN, &err), 0);
    assert_int_equal(process(t, &r, "Über 5", "de"), REJECT_NONE);
    assert_string_equal(r.phonemes.data, "über fünf");
    assert_int_equal(r.tokens.size / 2, 2 + 9);
    assert_int_equal(process(t, &r, "中a", "zh"), REJECT_NONE);
    assert_int_equal(r.unknown.size, 4);
    text_engine_close(t);
    text_result_free(&r);
    config_close(&cfg);
}

static void test_settings_hash(void **state)
{
    Config cfg;
    Err err = {0};
    assert_int_equal(config_defaults(&cfg, &err), 0);
    Hash128 base = text_settings_hash(&cfg);
    assert_true(hash_equal(base, text_settings_hash(&cfg)));
    cfg.batch_size++; /* nothing to do with text */
    assert_true(hash_equal(base, text_settings_hash(&cfg)));
    Config changed = cfg;
    changed.add_blank = !changed.add_blank;
    assert_false(hash_equal(base, text_settings_hash(&changed)));
    changed = cfg;
    changed.language = "de";
    assert_false(hash_equal(base, text_settings_hash(&changed)));
    changed = cfg;
    changed.phoneme_language = "en-gb";
    assert_false(hash_equal(base, text_settings_hash(&changed)));
    changed = cfg;
    changed.text_cleaners = CLEANER_NONE;
    assert_false(hash_equal(base, text_settings_hash(&changed)));
    changed = cfg;
    changed.use_phonemes = 0;
    assert_false(hash_equal(base, text_settings_hash(&changed)));
    config_close(&cfg);
}

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* Everything in a row that a written text depends on. */
static void hash_language(Hasher *h, const Language *l)
{
    const NumberRules *n = &l->numbers;
    const char *words[] = {n->percent[0],  n->percent[1], n->percent[2], n->hour,        n->hour_below_two,
                           n->one_hour,    n->to,         n->ordinals,   n->and_word,    n->one_before_noun,
                           n->cents_after, n->date_link,  n->first_day,  n->minute_link, n->minute,
                           n->zero_minute, n->hour_sign,  n->clock_sign, n->ordinal_end};
    const int numbers[] = {n->decimal,      n->group,           n->joined,        n->english,
                           n->ordinal_days, n->masculine,       n->years,         n->masculine_before_noun,
                           n->date,         n->spelled_years,   n->percent_first, n->year_first,
                           n->dotted_times, n->stopped_ordinal, n->slash_decimal, n->own_years};
    hasher_str(h, l->code);
    for (const Abbreviation *a = l->abbreviations; a && a->written; a++) {
        hasher_str(h, a->written);
        hasher_str(h, a->spoken);
        hasher_u64(h, (uint64_t)a->flags);
    }
    for (size_t i = 0; i < COUNT(words); i++)
        hasher_str(h, words[i]);
    for (size_t i = 0; l->aloud && i < COUNT(l->aloud->signs); i++)
        hasher_str(h, l->aloud->signs[i]);
    hasher_str(h, l->aloud ? l->aloud->hosts : NULL);
    for (size_t i = 0; i < COUNT(numbers); i++)
        hasher_u64(h, (uint64_t)numbers[i]);
    for (int i = 0; i < 3; i++)
        hasher_str(h, n->date_signs[i]);
    hasher_str(h, l->openers ? l->openers : "");
    for (const UnitName *u = n->units; u && u->sign; u++) {
        hasher_str(h, u->sign);
        hasher_str(h, u->one);
        hasher_str(h, u->many);
        hasher_u64(h, (uint64_t)u->flags);
    }
    for (int i = 0; n->months && i < 12; i++)
        hasher_str(h, n->months[i]);
    for (const MoneyNames *m = n->money; m && m->iso; m++) {
        const char *names[] = {m->iso, m->one, m->many, m->small_one, m->small_many};
        for (size_t i = 0; i < COUNT(names); i++)
            hasher_str(h, names[i]);
    }
}

/* Vowel signs: \u064E a, \u0650 e, \u064F o. */
static void expect_respelled(const char *text, const char *want)
{
    Buf out = {0};
    persian_respell(&out, text, strlen(text));
    buf_add(&out, "", 1);
    assert_string_equal(out.data, want);
    buf_free(&out);
}

static void persian_gets_its_vowels(void **state)
{
    (void)state;
    expect_respelled("می‌شه", "می\u200Cش\u0650");                  /* mishe */
    expect_respelled("نمی‌ره", "ن\u0650می\u200Cر\u0650");         /* nemire */
    expect_respelled("می‌بینمت", "می\u200Cبیین\u064Eم\u0650ت"); /* mibinamet */
    expect_respelled("کتابو", "کتاب\u200C\u064F");                       /* ketabo */
    expect_respelled("آرزو", "آرزو");                                    /* not "arzo" */
    expect_respelled("مادرش آمد", "مادر\u200C\u0650ش آمد");              /* madaresh */
    expect_respelled("مادرش را دید", "مادر\u200C\u064Eش را دید");        /* in writing: madarash */
    expect_respelled("کنار خیابون", "کنار\u0650 خیابون");                /* ezafe */
    expect_respelled("کنار رفت", "کنار رفت");                            /* none before a verb */
    expect_respelled("تو خونه", "طو خونه");                              /* tu: in */
    expect_respelled("تو رفتی", "تو رفتی");                              /* to: you */
    expect_respelled("من رو دید", "من ر\u064F دید");                     /* ro */
    expect_respelled("بیست و سه", "بیست\u064F سه");                      /* bist-o se */
    expect_respelled("رفت و گفت", "رفت و گفت");                          /* va between clauses */
    expect_respelled("abc, 5", "abc, 5");
    Buf phonemes = {0};
    buf_add(&phonemes, "xq1ˈa ziˈɑd ˈɑiɑ", strlen("xq1ˈa ziˈɑd ˈɑiɑ"));
    persian_mend(&phonemes, 1);
    buf_add(&phonemes, "", 1);
    assert_string_equal(phonemes.data, "xqˈa zijˈɑd ˈɑjɑ");
    buf_free(&phonemes);
}

/* Caches hold texts that were written with these words: other words need another version. */
static void words_belong_to_their_version(void **state)
{
    (void)state;
    const struct {
        int version;
        uint64_t words;
    } pinned = {4, UINT64_C(0xd6c32a7bfb4d5ce8)};
    Hasher h;
    assert_int_equal(hasher_open(&h), 0);
    for (int i = 0; language_row(i); i++)
        hash_language(&h, language_row(i));
    uint64_t words = hasher_close(&h).lo;
    if (pinned.version != CLEAN_VERSION || pinned.words != words)
        fail_msg(
            "the words of languages.c are not those of CLEAN_VERSION %d: raise it in text/clean.h, so that "
            "caches are rebuilt, and pin 0x%016" PRIx64 " here",
            CLEAN_VERSION, words);
}

/* libespeak-ng has one state for the process: engines of two languages take turns, line by line. */
typedef struct Speller {
    pthread_t thread;
    const char *language, *text;
    Buf alone; /* phonemes, with nobody beside */
    int wrong;
} Speller;

static void spell(Speller *s, Buf *out, TextEngine *t)
{
    TextResult r = {0};
    if (text_process(t, &r, str(s->text), str(s->language), str("")) == REJECT_NONE)
        buf_add(out, r.phonemes.data, r.phonemes.size);
    text_result_free(&r);
}

static void *speller_run(void *arg)
{
    Speller *s = arg;
    Config cfg;
    TextEngine *t = NULL;
    s->wrong = config_defaults(&cfg, NULL) || text_engine_open(&t, &cfg, TEXT_TO_LEARN, NULL);
    for (int i = 0; i < 200 && !s->wrong; i++) {
        Buf out = {0};
        spell(s, &out, t);
        s->wrong += out.size != s->alone.size || memcmp(out.data, s->alone.data, out.size) != 0;
        buf_free(&out);
    }
    text_engine_close(t);
    config_close(&cfg);
    return NULL;
}

static void test_engines_side_by_side(void **state)
{
    Speller spellers[] = {{.language = "en", .text = "A table, and the chairs around it."},
                          {.language = "de", .text = "Ein Tisch und die Stühle darum."}};
    Config cfg;
    TextEngine *t;
    assert_int_equal(config_defaults(&cfg, NULL), 0);
    assert_int_equal(text_engine_open(&t, &cfg, TEXT_TO_LEARN, NULL), 0);
    for (int i = 0; i < 2; i++) {
        spell(&spellers[i], &spellers[i].alone, t);
        assert_true(spellers[i].alone.size > 10);
    }
    text_engine_close(t);
    config_close(&cfg);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&spellers[i].thread, NULL, speller_run, &spellers[i]), 0);
    for (int i = 0; i < 2; i++) {
        pthread_join(spellers[i].thread, NULL);
        assert_int_equal(spellers[i].wrong, 0);
        buf_free(&spellers[i].alone);
    }
}

/* Reads lines until it is told to end. */
static void *read_on(void *arg)
{
    atomic_int *goes_on = arg;
    TextResult r = {0};
    Config cfg;
    TextEngine *t;
    if (config_defaults(&cfg, NULL) || text_engine_open(&t, &cfg, TEXT_TO_LEARN, NULL))
        return NULL;
    while (*goes_on)
        text_process(t, &r, str("A table, and the chairs around it, and what lies on the floor."), str("en"),
                     str("a"));
    text_result_free(&r);
    text_engine_close(t);
    config_close(&cfg);
    return NULL;
}

/* Whatever the other threads were at, a forked child can read texts with an engine of its own. */
static void test_forked_child_reads(void **state)
{
    enum { READERS = 2, CHILDREN = 10 };
    pthread_t readers[READERS];
    atomic_int goes_on = 1;
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_on, &goes_on), 0);
    for (int i = 0; i < CHILDREN; i++) {
        int status = -1;
        usleep(2000);
        pid_t child = fork();
        if (child == 0) {
            Speller own = {.language = "de", .text = "Ein Tisch."};
            Config cfg;
            TextEngine *t;
            alarm(120); /* one that hangs is ended */
            if (config_defaults(&cfg, NULL) || text_engine_open(&t, &cfg, TEXT_TO_LEARN, NULL))
                _exit(1);
            spell(&own, &own.alone, t);
            _exit(own.alone.size == 0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    goes_on = 0;
    for (int i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_belong_to_their_version),
        cmocka_unit_test(test_normalise),
        cmocka_unit_test(test_valid_prefix),
        cmocka_unit_test(test_abbreviations),
        cmocka_unit_test(test_cleaners),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(persian_gets_its_vowels),
        cmocka_unit_test(test_language_codes),
        cmocka_unit_test(test_language_from_id),
        cmocka_unit_test(test_language_from_text),
        cmocka_unit_test(test_language_choice),
        cmocka_unit_test(test_golden_english),
        cmocka_unit_test(test_golden_languages),
        cmocka_unit_test(test_phonemes_punctuation),
        cmocka_unit_test(test_missing_voice_data),
        cmocka_unit_test(test_text_process),
        cmocka_unit_test(test_what_is_spoken_and_what_is_not),
        cmocka_unit_test(test_a_voice_that_was_chosen),
        cmocka_unit_test(test_without_phonemes),
        cmocka_unit_test(test_settings_hash),
        cmocka_unit_test(test_engines_side_by_side),
        cmocka_unit_test(test_forked_child_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
