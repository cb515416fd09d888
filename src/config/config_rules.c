/* config_rules.c - what must hold between settings, and for one setting beyond its range.
 * Every violation names the keys, their values, where each value came from, and what to do. */
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "config/option_table.h"

/* "win_length is 2048 (my.yaml:3)" */
static void name_value(char *out, size_t cap, const Config *cfg, const char *key)
{
    char origin[300];
    Buf value = {0};
    int row = option_find(key, strlen(key));
    ASSERT(row >= 0);
    config_origin(origin, sizeof origin, cfg, row);
    option_format(&value, &option_table[row], cfg);
    snprintf(out, cap, "%s is %.100s (%s)", key, value.data ? value.data : "?", origin);
    buf_free(&value);
}

static int violated(const Config *cfg, const char *key, const char *rule, Err *err)
{
    char text[500];
    name_value(text, sizeof text, cfg, key);
    return err_set(err, ERR_CONFIG, "%s: %s", text, rule);
}

static int violated_pair(const Config *cfg, const char *a, const char *b, const char *rule, Err *err)
{
    char first[500], second[500];
    name_value(first, sizeof first, cfg, a);
    name_value(second, sizeof second, cfg, b);
    return err_set(err, ERR_CONFIG, "%.350s and %.350s: %s", first, second, rule);
}

static int check_features(const Config *c, Err *err)
{
    double nyquist = c->sample_rate / 2.0;
    char limit[40];
    if (c->win_length > c->n_fft) {
        violated_pair(c, "win_length", "n_fft", "the window must fit into the FFT", err);
        return err_hint(err, "set win_length to %d or less, or n_fft to %d or more", c->n_fft, c->win_length);
    }
    if (c->n_fft % 2) {
        violated(c, "n_fft", "the FFT length must be even", err);
        return err_hint(err, "a power of two is fastest: 512, 1024, 2048");
    }
    if (c->hop_length > c->win_length) {
        violated_pair(c, "hop_length", "win_length", "samples between the windows would be lost", err);
        return err_hint(err, "set hop_length to %d or less; a quarter of win_length is usual", c->win_length);
    }
    if (c->mel_fmax > nyquist) {
        option_format_double(limit, sizeof limit, nyquist);
        violated_pair(c, "mel_fmax", "sample_rate", "nothing sounds above half of the sample rate", err);
        return err_hint(err, "set mel_fmax to %s or less", limit);
    }
    if (c->mel_fmin >= c->mel_fmax) {
        violated_pair(c, "mel_fmin", "mel_fmax", "the lowest frequency must be below the highest", err);
        return err_hint(err, "mel_fmin is usually 0");
    }
    if (c->n_mels > c->n_fft / 2) {
        violated_pair(c, "n_mels", "n_fft", "there are more bands than frequencies", err);
        return err_hint(err, "set n_mels to %d or less, or a longer n_fft", c->n_fft / 2);
    }
    return 0;
}

static int check_network(const Config *c, Err *err)
{
    const struct {
        const char *dim_key, *heads_key;
        int dim, heads;
    } parts[] = {
        {"text_encoder_dim", "text_encoder_heads", c->text_encoder_dim, c->text_encoder_heads},
        {"audio_encoder_dim", "audio_encoder_heads", c->audio_encoder_dim, c->audio_encoder_heads},
        {"decoder_dim", "decoder_heads", c->decoder_dim, c->decoder_heads},
        {"speaker_embedding_dim", "gst_num_heads", c->speaker_embedding_dim,
         c->use_gst ? c->gst_num_heads : 1},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i].dim % 8) {
            violated(c, parts[i].dim_key, "the width must be a multiple of 8", err);
            return err_hint(err, "%d would do", (parts[i].dim + 7) / 8 * 8);
        }
        if (parts[i].dim % parts[i].heads) {
            violated_pair(c, parts[i].heads_key, parts[i].dim_key, "the heads must divide the width", err);
            int down = parts[i].heads;
            while (parts[i].dim % down)
                down--;
            return err_hint(err, "set %s to %d; 64 of the width per head is usual", parts[i].heads_key, down);
        }
    }
    return 0;
}

static int check_data(const Config *c, Err *err)
{
    if (c->min_audio_length >= c->max_audio_length) {
        violated_pair(c, "min_audio_length", "max_audio_length", "no clip could be long and short enough",
                      err);
        return err_hint(err, "both are seconds");
    }
    if (c->speaker_id_pattern[0]) {
        regex_t pattern;
        char reason[200];
        int rc = regcomp(&pattern, c->speaker_id_pattern, REG_EXTENDED);
        if (rc) {
            regerror(rc, &pattern, reason, sizeof reason);
            violated(c, "speaker_id_pattern", "not a POSIX extended regular expression", err);
            return err_hint(err, "%s", reason);
        }
        size_t groups = pattern.re_nsub;
        regfree(&pattern);
        if (groups < 1) {
            violated(c, "speaker_id_pattern", "there is no group that could be the speaker", err);
            return err_hint(err, "put the speaker's part in parentheses: ^(p[0-9]+)_");
        }
    }
    return 0;
}

static int is_language_code(const char *s)
{
    size_t letters = strspn(s, "abcdefghijklmnopqrstuvwxyz");
    if (letters < 2 || letters > 3)
        return 0;
    return s[letters] == 0 || (strchr("-_", s[letters]) && s[letters + 1]);
}

static int check_languages(const Config *c, Err *err)
{
    static const char known[] = "en es fr de it pt pl tr ru nl cs ar fa zh ja hu ko";
    const StringList *list = &c->supported_languages;
    int found = 0;

    if (!is_language_code(c->language)) {
        violated(c, "language", "not a language code", err);
        return err_hint(err, "write two letters, as en or fa, or a variant, as en-us");
    }
    for (int i = 0; i < list->count; i++) {
        const char *code = list->items[i], *at = strlen(code) == 2 ? strstr(known, code) : NULL;
        char rule[200], quoted[100];
        option_quote(quoted, sizeof quoted, code);
        if (!at) {
            snprintf(rule, sizeof rule, "%s is no language that detection knows", quoted);
            violated(c, "supported_languages", rule, err);
            return err_hint(err, "known are %s", known);
        }
        for (int j = 0; j < i; j++)
            if (strcmp(code, list->items[j]) == 0) {
                snprintf(rule, sizeof rule, "%s is there twice", quoted);
                return violated(c, "supported_languages", rule, err);
            }
        found |= strncmp(code, c->language, 2) == 0;
    }
    if (!found && c->language_detection_method == LANGUAGE_AUTO) {
        violated_pair(c, "language", "supported_languages",
                      "detection falls back to a language that it does not support", err);
        return err_hint(err, "choose one of supported_languages, or add it there");
    }
    return 0;
}

static int check_training(const Config *c, Err *err)
{
    if (c->min_learning_rate > c->learning_rate) {
        violated_pair(c, "min_learning_rate", "learning_rate", "the rate would rise instead of fall", err);
        return err_hint(err, "set min_learning_rate to a hundredth of learning_rate");
    }
    if (c->learning_rate <= 0) {
        violated(c, "learning_rate", "nothing would be learned", err);
        return err_hint(err, "0.0003 is a good beginning");
    }
    return 0;
}

int config_check_rules(const Config *cfg, Err *err)
{
    int rc = check_features(cfg, err);
    if (rc == 0)
        rc = check_network(cfg, err);
    if (rc == 0)
        rc = check_data(cfg, err);
    if (rc == 0)
        rc = check_languages(cfg, err);
    if (rc == 0)
        rc = check_training(cfg, err);
    return rc;
}
