/* test_piper_voice.c - what lies beside a voice for Piper's programs: every phoneme that they send stands for
 * a symbol that the voice has learned, and the settings say what those programs look for. */
#include "support/folder_testing.h"

#include <jansson.h>

#include "base/utf8.h"
#include "text/phonemes/tokens.h"
#include "voice/share/model_card.h"
#include "voice/share/piper_symbols.h"

#define BASE "bases/english-nano.safetensors"

static int id_of(uint32_t c)
{
    const int id = tokens_find(c);
    assert_true(id > 0);
    return id;
}

/* What c stands for in a voice that has learned `learned`, ended by 0. */
static int stands_for(uint32_t c, const uint32_t *learned)
{
    uint8_t *seen = calloc((size_t)tokens_count(), 1);
    PiperSymbol *all = calloc((size_t)tokens_count(), sizeof *all);
    for (; *learned; learned++)
        seen[id_of(*learned)] = 1;
    const int count = piper_symbols(all, seen);
    int id = -1;
    for (int i = 0; i < count; i++)
        if (all[i].code_point == c) {
            assert_int_equal(id, -1); /* once */
            id = all[i].id;
        }
    free(seen);
    free(all);
    return id;
}
#define LEARNED(...) ((const uint32_t[]){__VA_ARGS__, 0})

/* ---- symbols ---- */

static void a_symbol_that_was_learned_stands_for_itself(void **state)
{
    assert_int_equal(stands_for('a', LEARNED('a', 'b')), id_of('a'));
    assert_int_equal(stands_for(' ', LEARNED('a', ' ')), id_of(' '));
    assert_int_equal(stands_for('_', LEARNED('a', '_')), TOKEN_PAD);
    assert_int_equal(stands_for('^', LEARNED('a', '^')), TOKEN_BOS);
    assert_int_equal(stands_for('$', LEARNED('a')), TOKEN_EOS);
    PiperSymbol *all = calloc((size_t)tokens_count(), sizeof *all);
    const int count = piper_symbols(all, NULL); /* nobody knows what was learned */
    assert_int_equal(count, tokens_count() - TOKEN_FIRST_SYMBOL);
    for (int i = 3; i < count; i++)
        assert_int_equal(tokens_code_point(all[i].id), all[i].code_point);
    free(all);
}

static void later_spellings_are_those_that_were_learned(void **state)
{
    /* Of German: espeak-ng 1.51 writes fynf and a tap, later ones f\u028fnf and r. */
    const uint32_t *german = LEARNED('a', 'i', 'y', 0x26A, 0x27E, 0x259, 0x25C);
    assert_int_equal(stands_for(0x28F, german), id_of('y'));
    assert_int_equal(stands_for('r', german), id_of(0x27E));
    assert_int_equal(stands_for(0x250, german), id_of(0x259));
    assert_int_equal(stands_for(0x28F, LEARNED('a', 0x26A)), id_of(0x26A)); /* English has no y */
    assert_int_equal(stands_for(0x28F, LEARNED('y', 0x28F)), id_of(0x28F));
}

static void marks_that_were_not_learned_are_silent(void **state)
{
    assert_int_equal(stands_for(0x2B2, LEARNED('a')), TOKEN_PAD); /* the glide of "thirty o'clock" */
    assert_int_equal(stands_for(0x2B2, LEARNED('a', 0x2B2)), id_of(0x2B2));
    assert_int_equal(stands_for(0x303, LEARNED('a')), TOKEN_PAD);
    assert_int_equal(stands_for('1', LEARNED('a')), TOKEN_PAD);
    assert_int_equal(stands_for(0x2CC, LEARNED('a', 0x2C8)), id_of(0x2C8)); /* stress is stress */
}

/* Piper sends c and a cedilla for the sound of "ich". */
static void letters_that_come_in_two_pieces_are_whole(void **state)
{
    assert_int_equal(stands_for('c', LEARNED('a', 'k', 0xE7)), id_of(0xE7));
    assert_int_equal(stands_for(0x327, LEARNED('a', 'k', 0xE7)), TOKEN_PAD);
    assert_int_equal(stands_for(0xE7, LEARNED('a', 'k', 0xE7)), id_of(0xE7));
    assert_int_equal(stands_for('c', LEARNED('c', 'k', 0xE7)), id_of('c'));
    assert_int_equal(stands_for('c', LEARNED('a', 'k')), id_of('k'));
}

/* ---- files ---- */

static struct {
    Folder folder;
    Checkpoint voice;
    Credits credits;
} lab;

static int open_base(void **state)
{
    Err err = {0};
    lab.folder = folder_make();
    if (checkpoint_open(&lab.voice, BASE, BASE, 0, NULL, NULL, &err))
        return -1;
    lab.credits = (Credits){.source = "flite\nvoices"};
    credits_complete(&lab.credits, &lab.voice);
    return 0;
}

static int close_base(void **state)
{
    checkpoint_close(&lab.voice);
    folder_remove(&lab.folder);
    return 0;
}

static const char *at(const char *name) { return folder_file(&lab.folder, name); }

static int open_voice(PiperVoice *p, const char *name, Err *err)
{
    static const int speakers[] = {3, 0};
    return piper_voice_open(p, at(name), &lab.voice, &lab.credits, speakers, 2, err);
}

static json_t *member(json_t *o, const char *key)
{
    json_t *found = json_object_get(o, key);
    if (!found)
        fail_msg("the settings have no %s", key);
    return found;
}

static void settings_say_what_programs_look_for(void **state)
{
    PiperVoice p;
    Err err = {0};
    assert_int_equal(open_voice(&p, "en_GB-anna_2-high.onnx", &err), 0);
    assert_int_equal(piper_voice_write(&p, at("en_GB-anna_2-high.onnx"), &err), 0);
    json_t *o = json_load_file(at("en_GB-anna_2-high.onnx.json"), 0, NULL);
    assert_int_equal(json_integer_value(member(member(o, "audio"), "sample_rate")), 22050);
    assert_string_equal(json_string_value(member(member(o, "audio"), "quality")), "high");
    assert_string_equal(json_string_value(member(member(o, "espeak"), "voice")), "en-us");
    assert_string_equal(json_string_value(member(member(o, "language"), "code")), "en_GB");
    assert_string_equal(json_string_value(member(member(o, "language"), "name_english")), "English");
    assert_string_equal(json_string_value(member(member(o, "language"), "country_english")),
                        "United Kingdom");
    assert_string_equal(json_string_value(member(o, "phoneme_type")), "espeak");
    assert_int_equal(json_object_size(member(o, "phoneme_map")), 0);
    assert_int_equal(json_integer_value(member(o, "num_symbols")), tokens_count());
    assert_int_equal(json_integer_value(member(o, "num_speakers")), 2);
    assert_int_equal(json_integer_value(member(member(o, "speaker_id_map"), "slt")), 0);
    assert_int_equal(json_integer_value(member(member(o, "speaker_id_map"), "awb")), 1);
    assert_int_equal(json_integer_value(member(o, "hop_length")), 256);
    assert_true(json_real_value(member(member(o, "inference"), "length_scale")) == 1);
    assert_string_equal(json_string_value(member(o, "source")), "flite\nvoices");
    assert_non_null(strstr(json_string_value(member(o, "licence")), "Carnegie Mellon"));
    json_t *map = member(o, "phoneme_id_map"), *ids;
    const char *key;
    json_object_foreach(map, key, ids)
    {
        assert_int_equal(utf8_count(key, strlen(key)), 1); /* NVDA's add-on reads one character */
        assert_int_equal(json_array_size(ids), 1);
        assert_in_range(json_integer_value(json_array_get(ids, 0)), 0, tokens_count() - 1);
    }
    assert_int_equal(json_integer_value(json_array_get(member(map, "\u02b2"), 0)), TOKEN_PAD);
    assert_int_equal(json_integer_value(json_array_get(member(map, "\u0259"), 0)), id_of(0x259));
    json_decref(o);
}

static void tokens_are_the_same_symbols(void **state)
{
    PiperVoice p;
    Err err = {0};
    assert_int_equal(open_voice(&p, "en_US-anna-low.onnx", &err), 0);
    assert_int_equal(piper_voice_write(&p, at("en_US-anna-low.onnx"), &err), 0);
    json_t *o = json_load_file(at("en_US-anna-low.onnx.json"), 0, NULL), *map = member(o, "phoneme_id_map");
    FILE *f = fopen(at("tokens.txt"), "r");
    assert_non_null(f);
    char line[64];
    size_t lines = 0;
    for (; fgets(line, sizeof line, f); lines++) {
        char *blank = strrchr(line, ' ');
        *blank = 0;
        assert_int_equal(json_integer_value(json_array_get(member(map, line), 0)), atoi(blank + 1));
    }
    fclose(f);
    assert_int_equal(lines, json_object_size(map));
    json_decref(o);
}

static const char *entry(const PiperVoice *p, const char *key)
{
    for (int i = 0; i < PIPER_ENTRIES; i++)
        if (strcmp(p->entries[i].key, key) == 0)
            return p->entries[i].value;
    fail_msg("no entry %s", key);
    return NULL;
}

static void names_and_entries(void **state)
{
    static const struct {
        const char *name, *code, *quality;
        int is_usual;
    } cases[] = {{"en_US-anna-medium.onnx", "en_US", "medium", 1},
                 {"en_GB-Anna_B-x_low.onnx", "en_GB", "x_low", 1},
                 {"en_GB-anna-b-high.onnx", "en_GB", "high", 0},
                 {"en_GB-anna2-high.onnx", "en_GB", "high", 0},
                 {"anna.onnx", "en_US", "medium", 0},
                 {"en-anna-medium.onnx", "en_US", "medium", 0},
                 {"en_US-medium.onnx", "en_US", "medium", 0},
                 {"en_US-anna-best.onnx", "en_US", "medium", 0},
                 {"EN_us-anna-medium.onnx", "en_US", "medium", 0}};
    PiperVoice p;
    Err err = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(open_voice(&p, cases[i].name, &err), 0);
        assert_string_equal(p.code, cases[i].code);
        assert_string_equal(p.quality, cases[i].quality);
        assert_int_equal(p.is_usual, cases[i].is_usual);
    }
    assert_string_equal(entry(&p, "comment"), "piper");
    assert_string_equal(entry(&p, "model_type"), "vits");
    assert_string_equal(entry(&p, "language"), "English");
    assert_string_equal(entry(&p, "voice"), "en-us");
    assert_string_equal(entry(&p, "has_espeak"), "1");
    assert_string_equal(entry(&p, "n_speakers"), "2");
    assert_string_equal(entry(&p, "sample_rate"), "22050");
}

/* With "ar" these programs add vowels to the text; "fr-fr" is no voice of their espeak-ng. */
static void voices_of_espeak_have_other_names_there(void **state)
{
    static const char *const cases[][2] = {
        {"ar", "sem/ar"}, {"fr", "fr"}, {"de", "de"}, {"fr-be", "fr-be"}, {"en-gb", "en-gb"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        PiperVoice p;
        Err err = {0};
        snprintf(lab.voice.language, sizeof lab.voice.language, "%s", cases[i][0]);
        assert_int_equal(open_voice(&p, "anna.onnx", &err), 0);
        assert_string_equal(p.espeak, cases[i][1]);
    }
    snprintf(lab.voice.language, sizeof lab.voice.language, "en");
}

static void what_cannot_be_spoken_to_is_refused(void **state)
{
    PiperVoice p;
    Err err = {0};
    assert_int_equal(open_voice(&p, "de_DE-anna-medium.onnx", &err), ERR_USAGE);
    assert_non_null(strstr(err.msg, "de_DE-anna-medium"));
    lab.voice.cfg.use_phonemes = 0;
    assert_int_equal(open_voice(&p, "en_US-anna-medium.onnx", &err), ERR_USAGE);
    assert_non_null(strstr(err.msg, "letters"));
    lab.voice.cfg.use_phonemes = 1;
    const char *lexicon = lab.voice.cfg.lexicon_text;
    lab.voice.cfg.lexicon_text = "%language en lexicon\nhello\th\n";
    assert_int_equal(open_voice(&p, "en_US-anna-medium.onnx", &err), ERR_USAGE);
    assert_non_null(strstr(err.msg, "list of words"));
    lab.voice.cfg.lexicon_text = lexicon;
    assert_int_equal(open_voice(&p, "en_US-anna-medium.onnx", &err), 0);
}

static void the_card_says_what_it_was_made_of(void **state)
{
    PiperVoice p;
    Err err = {0};
    Checkpoint vocoder = {0};
    assert_int_equal(checkpoint_open_vocoder(&vocoder, lab.voice.path, &err), 0);
    assert_int_equal(open_voice(&p, "en_US-anna-medium.onnx", &err), 0);
    lab.voice.data.seconds = 3330;
    assert_int_equal(model_card_write(&p, &vocoder, at("en_US-anna-medium.onnx"), &err), 0);
    checkpoint_close(&vocoder);
    Buf card = file_bytes(at("MODEL_CARD"));
    buf_add(&card, "", 1);
    static const char *const words[] = {"# Model card of en_US-anna-medium\n",
                                        "* Language: en_US (English)\n",
                                        "* speaker 0: slt\n",
                                        "* speaker 1: awb\n",
                                        "* Source: flite voices\n",
                                        "* Licence: Made of speech of CMU Flite's voices",
                                        "* Speech: 55.5 minutes\n",
                                        "* Steps: 9195 of the voice, 21870 of the vocoder\n",
                                        "does not say how it was judged"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strstr(card.data, words[i]))
            fail_msg("the card has no \"%s\":\n%s", words[i], card.data);
    buf_free(&card);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_symbol_that_was_learned_stands_for_itself),
        cmocka_unit_test(later_spellings_are_those_that_were_learned),
        cmocka_unit_test(marks_that_were_not_learned_are_silent),
        cmocka_unit_test(letters_that_come_in_two_pieces_are_whole),
        cmocka_unit_test(settings_say_what_programs_look_for),
        cmocka_unit_test(tokens_are_the_same_symbols),
        cmocka_unit_test(names_and_entries),
        cmocka_unit_test(voices_of_espeak_have_other_names_there),
        cmocka_unit_test(what_cannot_be_spoken_to_is_refused),
        cmocka_unit_test(the_card_says_what_it_was_made_of),
    };
    return cmocka_run_group_tests(tests, open_base, close_base);
}
