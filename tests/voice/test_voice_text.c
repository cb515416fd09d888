/* What becomes of a text before it is spoken: lexicon and [[IPA]], characters that cannot be spoken, where it
 * is cut. No voice is needed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/utf8.h"
#include "config/config.h"
#include "support/random_text.h"
#include "text/phonemes/tokens.h"
#include "text/text.h"
#include "voice/voice_text.h"

/* libespeak-ng 1.51 loses memory on each change of voice; that is not ours to find here. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libespeak-ng\n"; }

static TextEngine *engine_with(Config *cfg, const char *lexicon, TextAim aim)
{
    Err err = {0};
    TextEngine *t;
    assert_int_equal(config_defaults(cfg, &err), 0);
    cfg->lexicon = "names.tsv";
    cfg->lexicon_text = lexicon;
    if (text_engine_open(&t, cfg, aim, &err))
        fail_msg("%s", err.msg);
    return t;
}

static void expect_phonemes(TextEngine *t, const char *text, const char *want)
{
    TextResult r = {0};
    RejectReason why = text_process(t, &r, (Str){text, (uint32_t)strlen(text)}, (Str){"", 0}, (Str){"", 0});
    if (why || strcmp(r.phonemes.data, want))
        fail_msg("%s: '%s' %s, not '%s'", text, r.phonemes.data ? r.phonemes.data : "", r.detail, want);
    text_result_free(&r);
}

/* ---- the lexicon ---- */

static const char names[] = "# names\r\n"
                            "siobhan\tʃɪˈvɔːn\n"
                            "Reading\tˈɹɛdɪŋ\t# the town\n"
                            "new york\tnjuː jˈɔːk\n"
                            "york\tjˈɔːk\n"
                            "\n"
                            "lead\tlˈiːd\n"
                            "lead\tlˈɛd\tlast\n"
                            "so\tsˈʊ\tfirst\n"
                            "no\tnˈɒ\n"
                            "3M\tθɹˈiː ˈɛm\n"
                            "C++\tsˈiː\n"
                            "seven\tsˈɛbm\n"
                            "gigi\t'gi:gi\n";

static void entries_are_found(void **state)
{
    Config cfg;
    TextEngine *t = engine_with(&cfg, names, TEXT_TO_SPEAK);
    expect_phonemes(t, "Siobhan, SIOBHAN and siobhan.", "ʃɪˈvɔːn, ʃɪˈvɔːn ænd ʃɪˈvɔːn.");
    expect_phonemes(t, "Siobhans", "ʃɪvˈɔːnz"); /* another word */
    expect_phonemes(t, "Reading is reading", "ˈɹɛdɪŋ ɪz ɹˈiːdɪŋ");
    expect_phonemes(t, "New York and York", "njuː jˈɔːk ænd jˈɔːk");
    expect_phonemes(t, "Siobhan's cat", "ʃɪˈvɔːnz kˈæt");
    expect_phonemes(t, "New York’s cat", "njuː jˈɔːks kˈæt");
    expect_phonemes(t, "lead, lead on", "lˈɛd, lˈiːd ˈɔn");
    expect_phonemes(t, "So it is so", "sˈʊ ɪɾ ɪz sˈoʊ");
    expect_phonemes(t, "No. 5", "nˈʌmbɚ fˈaɪv"); /* an abbreviation stays one */
    expect_phonemes(t, "3M and C++", "θɹˈiː ˈɛm ænd sˈiː");
    expect_phonemes(t, "at 7", "æt sˈɛbm"); /* what a number becomes is said so, too */
    expect_phonemes(t, "Dr. Siobhan", "dˈɑːktɚ ʃɪˈvɔːn");
    expect_phonemes(t, "gigi", "ˈɡiːɡi");
    /* The words beside it sound as before a word with that sound. */
    expect_phonemes(t, "the siobhan the [[ˈæpəl]]", "ðə ʃɪˈvɔːn ðɪ ˈæpəl");
    text_engine_close(t);
    config_close(&cfg);
    t = engine_with(&cfg, names, TEXT_TO_LEARN);
    expect_phonemes(t, "Siobhan [[ˈwɜːd]]", "ʃɪˈvɔːn ˈwɜːd");
    text_engine_close(t);
    cfg.lexicon_text = "";
    config_close(&cfg);
}

static void wrong_entries_have_a_line(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {{"a\tb\nword\n", "names.tsv:2: the TAB between"},
                 {"\tb\n", "names.tsv:1: the word before the TAB is missing"},
                 {"a\t\t# b\n", "names.tsv:1: the pronunciation after the TAB is missing"},
                 {"# x\n\na\tʃ\nb\tpʘ𝄞\n", "names.tsv:4: 𝄞 (U+1D11E) is not a symbol"},
                 {"a\tb\tmiddle\n", "names.tsv:1: only `first`, `last`"},
                 {"a\tb\xFF\n", "names.tsv:1: the line is not valid UTF-8"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Err err = {0};
        Lexicon *l;
        assert_int_equal(lexicon_open(&l, cases[i].text, strlen(cases[i].text), "names.tsv", 0, &err),
                         ERR_DATA);
        assert_null(l);
        if (!strstr(err.msg, cases[i].says))
            fail_msg("'%s', not '%s'", err.msg, cases[i].says);
    }
    /* Lines that came with a voice are not counted. */
    Err err = {0};
    Lexicon *l;
    assert_int_equal(lexicon_open(&l, "a\tb\nc\td\nword\n", 13, "names.tsv", 2, &err), ERR_DATA);
    assert_non_null(strstr(err.msg, "names.tsv:1:"));
}

/* A text that was learned with another pronunciation is another text. */
static void caches_depend_on_it(void **state)
{
    Config cfg;
    assert_int_equal(config_defaults(&cfg, NULL), 0);
    Hash128 none = text_settings_hash(&cfg);
    cfg.lexicon = "names.tsv"; /* the name alone says nothing */
    assert_true(hash_equal(none, text_settings_hash(&cfg)));
    cfg.lexicon_text = "a\tb\n";
    Hash128 one = text_settings_hash(&cfg);
    cfg.lexicon_text = "a\tp\n";
    assert_false(hash_equal(none, one));
    assert_false(hash_equal(one, text_settings_hash(&cfg)));
    config_close(&cfg);
}

/* ---- spans ---- */

static void spans_say_where_it_comes_from(void **state)
{
    static const char text[] = "In  1997 Siobhan paid ★ [[wɜːd]]\u00A0for Привет.";
    static const struct {
        SpanOrigin origin;
        const char *source, *said, *phonemes;
    } want[] = {{SPAN_ESPEAK, "In  1997", "In nineteen ninety-seven", "ɪn nˈaɪntiːn nˈaɪntisˈɛvən"},
                {SPAN_LEXICON, "Siobhan", "Siobhan", "ʃɪˈvɔːn"},
                {SPAN_ESPEAK, "paid", "paid", "pˈeɪd"},
                {SPAN_RULE, "★", "black star", "blˈæk stˈɑːɹ"},
                {SPAN_INLINE, "[[wɜːd]]", "[[wɜːd]]", "wɜːd"},
                {SPAN_ESPEAK, "for", "for", "fɔːɹ"},
                {SPAN_RULE, "Привет", "Privet", "pɹˈɪvɪt"}};
    Config cfg;
    TextEngine *t = engine_with(&cfg, "siobhan\tʃɪˈvɔːn\n", TEXT_TO_SPEAK);
    TextResult r = {0};
    assert_int_equal(text_process(t, &r, (Str){text, sizeof text - 1}, (Str){"", 0}, (Str){"", 0}), 0);
    const TextSpan *s = (const TextSpan *)(const void *)r.spans.data;
    assert_int_equal(r.spans.size / sizeof *s, sizeof want / sizeof *want);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        assert_int_equal(s[i].origin, want[i].origin);
        char got[3][80];
        snprintf(got[0], sizeof got[0], "%.*s", (int)s[i].source_size, text + s[i].source);
        snprintf(got[1], sizeof got[1], "%.*s", (int)s[i].said_size, r.cleaned.data + s[i].said);
        snprintf(got[2], sizeof got[2], "%.*s", (int)s[i].phonemes_size, r.phonemes.data + s[i].phonemes);
        assert_string_equal(got[0], want[i].source);
        assert_string_equal(got[1], want[i].said);
        assert_string_equal(got[2], want[i].phonemes);
    }
    text_result_free(&r);
    text_engine_close(t);
    cfg.lexicon_text = "";
    config_close(&cfg);
}

/* ---- guesses ---- */

static void guesses_are_told_from_entries(void **state)
{
    Config cfg;
    TextEngine *t = engine_with(&cfg, "", TEXT_TO_SPEAK);
    Buf ipa = {0};
    assert_int_equal(text_is_guess(t, &ipa, "en", (Str){"the", 3}), 0);
    assert_int_equal(text_is_guess(t, &ipa, "en", (Str){"NASA", 4}), 0);
    assert_int_equal(text_is_guess(t, &ipa, "en", (Str){"Xyzzy", 5}), 1);
    assert_string_equal(ipa.data, "zˈaɪzi");
    buf_free(&ipa);
    text_engine_close(t);
    config_close(&cfg);
}

/* ---- cutting ---- */

static const VoiceLimits usual = {120, 400};

/* Parts of a text, joined by '|'. */
static void expect_parts(const char *text, size_t n, const VoiceLimits *limits, const char *want,
                         size_t left_out)
{
    Config cfg;
    TextEngine *t = engine_with(&cfg, "", TEXT_TO_SPEAK);
    VoiceText rest = {.p = text, .n = n};
    VoiceLosses losses = {0};
    VoicePart part;
    Buf said = {0};
    Err err = {0};
    int rc;
    while ((rc = voice_text_next(&rest, &part, t, "", limits, &losses, NULL, &err)) == 1) {
        assert_true(part.symbols <= limits->most);
        buf_printf(&said, "%s%s", said.size ? "|" : "", part.said);
        voice_part_free(&part);
    }
    assert_int_equal(rc, 0);
    assert_true(voice_text_is_over(&rest));
    assert_string_equal(said.data ? said.data : "", want);
    assert_int_equal(losses.count, left_out);
    VoiceLosses foreseen = {0};
    assert_int_equal(voice_text_losses(&foreseen, &(VoiceText){.p = text, .n = n}, t, "", &err), 0);
    assert_int_equal(foreseen.count, left_out);
    voice_losses_free(&foreseen);
    voice_losses_free(&losses);
    voice_text_close(&rest);
    buf_free(&said);
    text_engine_close(t);
    config_close(&cfg);
}
#define PARTS(text, limits, want, left_out) expect_parts(text, sizeof(text) - 1, limits, want, left_out)

static void texts_are_cut_when_they_are_in_words(void **state)
{
    static const VoiceLimits little = {30, 60};
    PARTS("Dr. Smith paid $5.20. He left.", &usual,
          "Doctor Smith paid five dollars and twenty cents.|He left.", 0);
    PARTS("The code is 123456.", &little,
          "The code is one hundred |twenty-three thousand |four hundred "
          "fifty-six.",
          0);
    PARTS("One\ntwo. Three", &usual, "One|two.|Three", 0);
    PARTS("It is small, it is green, and nobody has it.", &little,
          "It is small, |it is green, |and nobody has it.", 0);
    PARTS("---\n* * *\nGone.", &usual, "Gone.", 0);
    PARTS("", &usual, "", 0);
    PARTS(" \n...\n", &usual, "", 0);
}

static void characters_cost_themselves(void **state)
{
    PARTS("One \xEE\x80\x80 two.", &usual, "One two.", 1);
    PARTS("One \xFF\xFE two.", &usual, "One two.", 1);
    PARTS("One \xF3\xB0\x80\x80 two.", &usual, "One two.", 1); /* a character that marks are made of */
    PARTS("One ४२ 日本 𝐓𝐰𝐨.", &usual, "One forty-two ri ben Two.", 0);
    PARTS("One [[h𝄞ɪl]] two.", &usual, "One [[h𝄞ɪl]] two.", 1);
    PARTS("One ؁\U000f5c3a two.", &usual, "One ؁ two.", 1);
    PARTS("One ────── ★★★★★★ two.", &usual, "One black star two.", 0);
    /* A mark of another script, one that its letter cannot have, and a sign that is a row of signs in one. */
    PARTS("One Nિ, Ḽ̃ ⩶ === हि two.", &usual, "One N, Ḽ three consecutive equals signs hi two.", 0);
}

/* libespeak-ng 1.51 goes on in another language behind these. */
static void one_text_does_not_change_the_next(void **state)
{
    static const char *const texts[] = {"S\u090A", "\u13A0", "\uA74D", "\u0E01 \u0905 \u0421"};
    Config cfg;
    for (int aim = 0; aim < 2; aim++) {
        TextEngine *t = engine_with(&cfg, "", aim ? TEXT_TO_SPEAK : TEXT_TO_LEARN);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            TextResult r = {0};
            text_process(t, &r, (Str){texts[i], (uint32_t)strlen(texts[i])}, (Str){"", 0}, (Str){"", 0});
            text_result_free(&r);
            expect_phonemes(t, "bravo house", "bɹˈɑːvoʊ hˈaʊs");
        }
        if (aim)
            expect_phonemes(t, "bravo S\u090A bravo", "bɹˈɑːvoʊ ˈɛs hˈɪndiˈu bɹˈɑːvoʊ");
        text_engine_close(t);
        config_close(&cfg);
    }
}

/* Words of any length are spoken to their end, and overrun nothing. */
static void long_words_are_whole(void **state)
{
    Config cfg;
    TextEngine *t = engine_with(&cfg, "", TEXT_TO_LEARN);
    char text[4000] = "";
    TextResult r = {0};
    for (int i = 0; i < 300; i++)
        strcat(text, i % 3 ? "zu" : "mjwkau");
    assert_int_equal(text_process(t, &r, (Str){text, (uint32_t)strlen(text)}, (Str){"", 0}, (Str){"", 0}), 0);
    assert_true(r.tokens.size / sizeof(uint16_t) > 900);
    text_result_free(&r);
    text_engine_close(t);
    config_close(&cfg);
}

/* Every word between is heard, and everything else is heard or named. */
static void nothing_is_missing(void **state)
{
    Config cfg;
    TextEngine *t = engine_with(&cfg, "", TEXT_TO_SPEAK);
    RandomText text = {0};
    RandomFaults f = {0};
    Rng r;
    rng_seed(&r, 24);
    for (int i = 0; i < 200; i++) {
        char why[200] = "";
        Err err = {0};
        VoiceLosses losses = {0};
        random_text_make(&text, &r, 1 + rng_below(&r, 600), 1);
        if (random_text_read(&text, &losses, t, &usual, &err))
            fail_msg("%s", err.msg);
        random_text_check(&text, &f, &losses, why, sizeof why);
        if (*why)
            fail_msg("text %d: %s", i, why);
        voice_losses_free(&losses);
    }
    assert_true(f.items > 1000 && f.named > 50);
    assert_int_equal(f.lost_words + f.silent, 0);
    random_text_free(&text);
    text_engine_close(t);
    config_close(&cfg);
}

/* ---- languages ---- */

static void expect_in(TextEngine *t, const char *language, const char *text, const char *want, size_t losses)
{
    TextResult r = {0};
    RejectReason why = text_process(t, &r, (Str){text, (uint32_t)strlen(text)},
                                    (Str){language, (uint32_t)strlen(language)}, (Str){"", 0});
    if (why || strcmp(r.phonemes.data, want) || r.losses.size != losses * sizeof(TextLoss))
        fail_msg("%s: '%s' %s (%zu left out), not '%s'", text, r.phonemes.data ? r.phonemes.data : "",
                 r.detail, r.losses.size / sizeof(TextLoss), want);
    text_result_free(&r);
}

static const char sections[] = "york\tjˈɔːk\n"
                               "%language tok lexicon\n"
                               "Sonja\tˈsonja\n"
                               "%letters\n"
                               "a\ta\nn\tn\nnk\tŋk\nk\tk\no\to\nt\tt\ni\ti\n1\twan\nh\t\n"
                               "%language xx characters\n"
                               "%language de espeak\n"
                               "ort\tʔɔɐt\n"
                               "%language any\n"
                               "oslo\tˈuslu\n";

/* One voice, four ways to symbols; entries of a section are for its language, the others for all. */
static void languages_have_front_ends_of_their_own(void **state)
{
    (void)state;
    Config cfg;
    TextEngine *t = engine_with(&cfg, sections, TEXT_TO_SPEAK);
    expect_in(t, "tok", "Toki, ANKA oslo!", "toki, aŋka ˈuslu!", 0);
    expect_in(t, "tok", "Sonja [[p]] ta 11", "ˈsonja p ta wan wan", 0);
    expect_in(t, "tok-us", "hat", "at", 0);
    expect_in(t, "tok", "toki x 2 ☃ ta", "toki ta", 3);
    expect_in(t, "xx", "Abc York.", "abc york.", 0);
    expect_in(t, "de", "ort york", "ʔɔɐt jˈɔːk", 0);
    expect_in(t, "en", "york", "jˈɔːk", 0);
    expect_in(t, "en", "Sonja", "sˈɑːnjə", 0);
    text_engine_close(t);
    /* What cannot be said is not learned from. */
    config_close(&cfg);
    t = engine_with(&cfg, sections, TEXT_TO_LEARN);
    TextResult r = {0};
    expect_in(t, "tok", "Toki anka", "toki aŋka", 0);
    assert_int_equal(text_process(t, &r, (Str){"toki x", 6}, (Str){"tok", 3}, (Str){"", 0}),
                     REJECT_NO_PHONEMES);
    assert_non_null(strstr(r.detail, "no rule for U+0078"));
    text_result_free(&r);
    text_engine_close(t);
    config_close(&cfg);
}

static void sections_of_a_voice_end_before_a_file(void **state)
{
    (void)state;
    Config cfg;
    Err err = {0};
    TextEngine *t;
    assert_int_equal(config_defaults(&cfg, &err), 0);
    cfg.lexicon_text = "oslo\tˈuslu\n";
    static const char own[] = "%language tok lexicon\n%letters\na\ta";
    assert_int_equal(config_add_lexicon(&cfg, own, strlen(own), &err), 0);
    assert_int_equal(text_engine_open(&t, &cfg, TEXT_TO_SPEAK, &err), 0);
    expect_in(t, "tok", "aa", "aa", 0);
    expect_in(t, "en", "oslo", "ˈuslu", 0);
    text_engine_close(t);
    config_close(&cfg);
}

static void a_wrong_section_is_told_by_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"a\tb\n%language\n", "names.tsv:2: this does not start a section"},
        {"%language tok words\n", "names.tsv:1: this does not start"},
        {"%language tok lexicon more\n", "names.tsv:1: this does not start"},
        {"%letters\na\ta\n", "names.tsv:1: letter rules are only for"},
        {"%language tok lexicon\n%letters\nabc\n", "names.tsv:3: a letter rule is"},
        {"%language tok lexicon\n%letters\na\t\xE2\x98\x83\n", "names.tsv:3: U+2603 is not a symbol"},
        {"%language tok lexicon\nword\n", "names.tsv:2: the TAB between"},
        {"%other\n", "names.tsv:1: the TAB between"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Config cfg;
        Err err = {0};
        TextEngine *t;
        assert_int_equal(config_defaults(&cfg, &err), 0);
        cfg.lexicon = "names.tsv";
        cfg.lexicon_text = cases[i].text;
        assert_int_equal(text_engine_open(&t, &cfg, TEXT_TO_SPEAK, &err), ERR_DATA);
        if (strncmp(err.msg, cases[i].message, strlen(cases[i].message)))
            fail_msg("'%s', not '%s'", err.msg, cases[i].message);
        config_close(&cfg);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(languages_have_front_ends_of_their_own),
        cmocka_unit_test(sections_of_a_voice_end_before_a_file),
        cmocka_unit_test(a_wrong_section_is_told_by_its_line),
        cmocka_unit_test(entries_are_found),
        cmocka_unit_test(wrong_entries_have_a_line),
        cmocka_unit_test(caches_depend_on_it),
        cmocka_unit_test(spans_say_where_it_comes_from),
        cmocka_unit_test(guesses_are_told_from_entries),
        cmocka_unit_test(texts_are_cut_when_they_are_in_words),
        cmocka_unit_test(characters_cost_themselves),
        cmocka_unit_test(one_text_does_not_change_the_next),
        cmocka_unit_test(long_words_are_whole),
        cmocka_unit_test(nothing_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
