/* test_config_bindings.c - what caches and checkpoints are bound to. The hashes are pinned: they are those of
 * the program before the settings were marked in the option table, so that caches of then are still valid. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cache/features.h"
#include "config/bindings.h"
#include "config/option_table.h"

#define MOST_ARGUMENTS 16

/* A configuration from words with blanks between them. */
static void load(Config *cfg, const char *line)
{
    static char words[512];
    char *argv[MOST_ARGUMENTS], *rest = NULL;
    int argc = 0;
    Err err = {0};
    snprintf(words, sizeof words, "%s", line);
    for (char *w = strtok_r(words, " ", &rest); w && argc < MOST_ARGUMENTS; w = strtok_r(NULL, " ", &rest))
        argv[argc++] = w;
    if (config_load(cfg, NULL, argc, argv, &err))
        fail_msg("%s: %s", line, err.msg);
}

static const struct {
    const char *arguments;
    Hash128 mel;
} pinned[] = {
    {"", {0x0255f3065a926785, 0x2ac36856c0564611}},
    {"--sample-rate 24000 --n-fft 2048 --win-length 1200 --hop-length 300 --n-mels 100",
     {0xd28df15b18bbadbd, 0x177ac944f3721e32}},
    {"--mel-fmin 50 --mel-fmax 7600", {0xacba9352d7581bb3, 0x809d909afbb3e88b}},
    {"--trim-silence false", {0x66f34fceccabdf84, 0xa47731ba242b3edb}},
    {"--trim-silence false --trim-top-db 30", {0x66f34fceccabdf84, 0xa47731ba242b3edb}},
    {"--trim-top-db 30", {0x4c3bbb63d4522feb, 0xa33238c32be6a828}},
    {"--enable-loudness-normalization false --target-loudness-lufs -20",
     {0x0e59c41e6ff26388, 0xed2fabdf42812b63}},
    {"--target-loudness-lufs -20", {0xeb4fcc3b208de9e0, 0x1852b48679d1fd12}},
    {"--mel-storage float16", {0x22b6df952c364b73, 0x6be14f565a1e727e}},
    {"--max-mel-frames 500 --batch-size 3 --max-text-length 100", {0x0255f3065a926785, 0x2ac36856c0564611}},
};

static void mel_caches_of_before_are_valid(void **state)
{
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned; i++) {
        Config cfg;
        load(&cfg, pinned[i].arguments);
        Hash128 h = mel_settings_hash(&cfg);
        if (!hash_equal(h, pinned[i].mel))
            fail_msg("'%s': the hash of the mel settings is 0x%016llx 0x%016llx", pinned[i].arguments,
                     (unsigned long long)h.lo, (unsigned long long)h.hi);
        config_close(&cfg);
    }
}

/* Another hash would build every audio cache anew. */
static void audio_caches_stay_valid(void **state)
{
    Config cfg;
    load(&cfg, "");
    Hash128 h = audio_settings_hash(&cfg), want = {0x542bc0eee42464f3, 0x3aa7332643753eff};
    if (!hash_equal(h, want))
        fail_msg("the hash of the audio settings is 0x%016llx 0x%016llx", (unsigned long long)h.lo,
                 (unsigned long long)h.hi);
    config_close(&cfg);
}

/* The versions of libraries are in the hash of the text too; the settings' part of it is fixed. */
static Hash128 text_settings_of_before(const Config *cfg)
{
    Hasher h;
    assert_int_equal(hasher_open(&h), 0);
    hasher_str(&h, cfg->language);
    hasher_u64(&h, cfg->language_detection_method);
    hasher_u64(&h, (uint64_t)cfg->supported_languages.count);
    for (int i = 0; i < cfg->supported_languages.count; i++)
        hasher_str(&h, cfg->supported_languages.items[i]);
    hasher_u64(&h, cfg->text_cleaners);
    hasher_u64(&h, (uint64_t)cfg->use_phonemes);
    hasher_str(&h, cfg->phoneme_language);
    hasher_u64(&h, (uint64_t)cfg->add_blank);
    return hasher_close(&h);
}

static void text_caches_of_before_are_valid(void **state)
{
    static const char *const lines[] = {"",
                                        "--use-phonemes false",
                                        "--language de --add-blank true",
                                        "--text-cleaners basic --supported-languages en,fa",
                                        "--language-detection-method auto --phoneme-language fa",
                                        "--phoneme-timeout-ms 900 --max-text-length 100 --batch-size 3"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        Config cfg;
        Hasher h;
        load(&cfg, lines[i]);
        assert_int_equal(hasher_open(&h), 0);
        config_hash_bound(&h, &cfg, BOUND_TEXT_CACHE);
        if (!hash_equal(hasher_close(&h), text_settings_of_before(&cfg)))
            fail_msg("'%s': the hash of the text settings has changed", lines[i]);
        config_close(&cfg);
    }
}

/* Every setting that binds a checkpoint, with another value than the default. */
static const char *const other_values[] = {
    "text_encoder_dim 192",
    "text_encoder_layers 2",
    "text_encoder_heads 4",
    "audio_encoder_dim 128",
    "audio_encoder_layers 1",
    "audio_encoder_heads 2",
    "decoder_dim 192",
    "decoder_layers 2",
    "decoder_heads 4",
    "critic_dim 128",
    "speaker_embedding_dim 128",
    "use_voice_conditioning false",
    "use_gst false",
    "gst_num_style_tokens 5",
    "gst_num_heads 2",
    "feed_forward_ratio 4",
    "predictor_dim 128",
    "network vocoder",
    "sample_rate 24000",
    "n_fft 2048",
    "win_length 800",
    "hop_length 200",
    "n_mels 64",
    "mel_fmin 50",
    "mel_fmax 7600",
    "use_phonemes false",
    "add_blank true",
};

static void checkpoints_are_bound_to_these(void **state)
{
    const int count = (int)(sizeof other_values / sizeof *other_values);
    Config base, other;
    ConfigRow a, b;
    load(&base, "");
    for (int i = 0; i < count; i++) {
        char line[64];
        snprintf(line, sizeof line, "--%s", other_values[i]);
        load(&other, line);
        assert_int_equal(config_bound_differs(&base, &other, BOUND_CHECKPOINT, &a, &b), 1);
        assert_memory_equal(a.key, other_values[i], strlen(a.key));
        assert_string_equal(b.value, strchr(other_values[i], ' ') + 1);
        config_close(&other);
    }
    int bound = 0;
    for (int i = 0; i < option_count(); i++)
        bound += (option_table[i].binds & BOUND_CHECKPOINT) != 0;
    assert_int_equal(bound, count);
    /* Another way to train. */
    load(&other, "--learning-rate 0.5 --batch-size 3 --dropout 0.3 --trim-silence false --language de");
    assert_int_equal(config_bound_differs(&base, &other, BOUND_CHECKPOINT, &a, &b), 0);
    assert_int_equal(config_bound_differs(&base, &other, BOUND_LOSS, &a, &b), 0);
    config_close(&other);
    /* The size of a part that neither network has. */
    config_close(&base);
    load(&base, "--use-voice-conditioning false");
    load(&other, "--use-voice-conditioning false --audio-encoder-dim 128 --use-gst false");
    assert_int_equal(config_bound_differs(&base, &other, BOUND_CHECKPOINT, &a, &b), 0);
    config_close(&other);
    config_close(&base);
}

/* Vocoders, and the hash that tells whether a voice and a vocoder have the same mel. */
static void vocoders_are_bound_to_these(void **state)
{
    static const struct {
        const char *line;
        int mel; /* it is another mel */
    } others[] = {{"network voice", 0},         {"vocoder_dim 128", 0},   {"vocoder_layers 2", 0},
                  {"vocoder_critic_dim 64", 0}, {"sample_rate 24000", 1}, {"n_fft 2048", 1},
                  {"win_length 800", 1},        {"hop_length 200", 1},    {"n_mels 64", 1},
                  {"mel_fmin 50", 1},           {"mel_fmax 7600", 1}};
    const int count = (int)(sizeof others / sizeof *others);
    Config base, other;
    ConfigRow a, b;
    load(&base, "--network vocoder");
    for (int i = 0; i < count; i++) {
        char line[64];
        snprintf(line, sizeof line, "--network vocoder --%s", others[i].line);
        load(&other, line);
        assert_int_equal(config_bound_differs(&base, &other, BOUND_VOCODER, &a, &b), 1);
        assert_memory_equal(a.key, others[i].line, strlen(a.key));
        assert_int_equal(hash_equal(config_mel_hash(&base), config_mel_hash(&other)), !others[i].mel);
        config_close(&other);
    }
    int bound = 0;
    for (int i = 0; i < option_count(); i++)
        bound += (option_table[i].binds & BOUND_VOCODER) != 0;
    assert_int_equal(bound, count);
    load(&other, "--network vocoder --model-size nano --use-phonemes false --vocoder-segment-frames 99");
    assert_int_equal(config_bound_differs(&base, &other, BOUND_VOCODER, &a, &b), 0);
    assert_true(hash_equal(config_mel_hash(&base), config_mel_hash(&other)));
    config_close(&other);
    config_close(&base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mel_caches_of_before_are_valid),  cmocka_unit_test(audio_caches_stay_valid),
        cmocka_unit_test(text_caches_of_before_are_valid), cmocka_unit_test(checkpoints_are_bound_to_these),
        cmocka_unit_test(vocoders_are_bound_to_these),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
