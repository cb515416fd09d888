/* rules.c - the one table of rules between settings. A row has the keys, the check, the message and the fix.
 * Loading, `validate` and `validate --fix` all use this table. To add a rule, write its check (and its fix,
 * if one value is clearly the right one) and append a row to the table. */
#include "config/rules.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "config/languages.h"
#include "config/option_table.h"

#define GOOD_LEARNING_RATE "0.0003"
#define SHORTEST_CLIP 0.1       /* seconds; what min_audio_length falls back to */
#define LEAST_LEARNING_PART 100 /* learning_rate over the usual min_learning_rate */
#define WIDTH_UNIT 8            /* the ops work on rows of a multiple of this many numbers */
#define USUAL_HOPS 4            /* in a window */
#define SHORT_WINDOW 64         /* below this a quarter of the window is no useful hop */
#define SHORTEST_HOP 16

/* ---- what checks and fixes look at ---- */

static int row_of(const char *key)
{
    int row = option_find(key, strlen(key));
    ASSERT(row >= 0); /* a rule about a key that is not in the option table */
    return row;
}

static int int_of(const Config *c, const char *key)
{
    const Option *o = &option_table[row_of(key)];
    ASSERT(o->type == OPT_INT);
    return *(const int *)((const char *)c + o->offset);
}

/* The command line is not ours to change. */
static int is_argument(const Config *c, const char *key)
{
    return c->state->origins[row_of(key)].kind == ORIGIN_ARGUMENT;
}

static int set_int(RuleFix *fix, const char *key, int value)
{
    fix->key = key;
    snprintf(fix->value, sizeof fix->value, "%d", value);
    return 1;
}

static int set_double(RuleFix *fix, const char *key, double value)
{
    /* A quotient such as 1e-5 / 100 has digits that no person would write. */
    char text[40];
    snprintf(text, sizeof text, "%.12g", value);
    fix->key = key;
    option_format_double(fix->value, sizeof fix->value, strtod(text, NULL));
    return 1;
}

static int set_text(RuleFix *fix, const char *key, const char *value)
{
    fix->key = key;
    snprintf(fix->value, sizeof fix->value, "%s", value);
    return 1;
}

#define HINT(report, ...) snprintf((report)->hint, sizeof(report)->hint, __VA_ARGS__)

/* ---- features ---- */

static int window_over_fft(const Rule *rule, const Config *c, RuleReport *r)
{
    HINT(r, "set win_length to %d or less, or n_fft to %d or more", c->n_fft, c->win_length);
    return c->win_length > c->n_fft;
}

static int fix_window(const Rule *rule, const Config *c, RuleFix *fix)
{
    /* An FFT of odd length is wrong whatever the window is; with it even, the window may fit already. */
    if (c->n_fft % 2 && !is_argument(c, "n_fft"))
        return set_int(fix, "n_fft", c->n_fft + 1);
    return set_int(fix, "win_length", c->n_fft);
}

static int odd_fft(const Rule *rule, const Config *c, RuleReport *r)
{
    HINT(r, "a power of two is fastest: 512, 1024, 2048");
    return c->n_fft % 2;
}

static int fix_odd_fft(const Rule *rule, const Config *c, RuleFix *fix)
{
    return set_int(fix, "n_fft", c->n_fft + 1);
}

static int hop_over_window(const Rule *rule, const Config *c, RuleReport *r)
{
    HINT(r, "set hop_length to %d or less; a quarter of win_length is usual", c->win_length);
    return c->hop_length > c->win_length;
}

/* A quarter of the window, as usual. */
static int fix_hop(const Rule *rule, const Config *c, RuleFix *fix)
{
    return set_int(fix, "hop_length",
                   c->win_length >= SHORT_WINDOW ? c->win_length / USUAL_HOPS : SHORTEST_HOP);
}

static int fmax_over_nyquist(const Rule *rule, const Config *c, RuleReport *r)
{
    char limit[40];
    option_format_double(limit, sizeof limit, c->sample_rate / 2.0);
    HINT(r, "set mel_fmax to %s or less", limit);
    return c->mel_fmax > c->sample_rate / 2.0;
}

static int fix_fmax(const Rule *rule, const Config *c, RuleFix *fix)
{
    return set_double(fix, "mel_fmax", c->sample_rate / 2.0);
}

static int fmin_over_fmax(const Rule *rule, const Config *c, RuleReport *r)
{
    HINT(r, "mel_fmin is usually 0");
    return c->mel_fmin >= c->mel_fmax;
}

static int fix_fmin(const Rule *rule, const Config *c, RuleFix *fix)
{
    return set_text(fix, "mel_fmin", "0");
}

static int more_bands_than_frequencies(const Rule *rule, const Config *c, RuleReport *r)
{
    HINT(r, "set n_mels to %d or less, or a longer n_fft", c->n_fft / 2);
    return c->n_mels > c->n_fft / 2;
}

static int fix_bands(const Rule *rule, const Config *c, RuleFix *fix)
{
    return set_int(fix, "n_mels", c->n_fft / 2);
}

/* ---- the network ---- */

/* The vector units of every device take whole groups of numbers. */
static int uneven_width(const Rule *rule, const Config *c, RuleReport *r)
{
    int width = int_of(c, rule->key);
    HINT(r, "%d would work", round_to_multiple(width, WIDTH_UNIT));
    return width % WIDTH_UNIT;
}

static int fix_width(const Rule *rule, const Config *c, RuleFix *fix)
{
    return set_int(fix, rule->key, round_to_multiple(int_of(c, rule->key), WIDTH_UNIT));
}

/* The largest number of heads that divides the width and is not over the one given. */
static int fitting_heads(int heads, int width)
{
    while (width % heads)
        heads--;
    return heads;
}

static int heads_do_not_divide(const Rule *rule, const Config *c, RuleReport *r)
{
    int heads = int_of(c, rule->key), width = int_of(c, rule->other);
    HINT(r, "set %s to %d; 64 of the width per head is usual", rule->key, fitting_heads(heads, width));
    return width % heads;
}

/* Without style tokens their heads are not used. */
static int gst_heads_do_not_divide(const Rule *rule, const Config *c, RuleReport *r)
{
    return c->use_gst && heads_do_not_divide(rule, c, r);
}

static int fix_heads(const Rule *rule, const Config *c, RuleFix *fix)
{
    return set_int(fix, rule->key, fitting_heads(int_of(c, rule->key), int_of(c, rule->other)));
}

/* More channels of a head than the attention of every device takes (ATTENTION_MOST of src/ops). */
#define HEAD_MOST 128

/* The fewest heads, at least those given, that divide the width into pieces that are not too large. */
static int enough_heads(int heads, int width)
{
    while (width % heads || width / heads > HEAD_MOST)
        heads++;
    return heads;
}

static int heads_too_wide(const Rule *rule, const Config *c, RuleReport *r)
{
    int heads = int_of(c, rule->key), width = int_of(c, rule->other);
    HINT(r, "set %s to %d; 64 of the width per head is usual", rule->key, enough_heads(heads, width));
    return width / heads > HEAD_MOST;
}

static int gst_heads_too_wide(const Rule *rule, const Config *c, RuleReport *r)
{
    return c->use_gst && heads_too_wide(rule, c, r);
}

static int fix_wide_heads(const Rule *rule, const Config *c, RuleFix *fix)
{
    return set_int(fix, rule->key, enough_heads(int_of(c, rule->key), int_of(c, rule->other)));
}

/* ---- the vocoder ---- */

#define TRANSFORM_MOST 4096 /* points, in powers of two, of what makes sound of a spectrum (src/ops) */
#define LONGEST_LOSS 2048   /* points of the longest spectra that its loss compares */

static int power_of_two(int n)
{
    int power = 64;
    while (power < n && power < TRANSFORM_MOST)
        power *= 2;
    return power;
}

static int has_vocoder(const Config *c) { return c->network != NETWORK_VOICE; }

static int fft_no_power(const Rule *rule, const Config *c, RuleReport *r)
{
    HINT(r, "set n_fft to %d", power_of_two(c->n_fft));
    return has_vocoder(c) && c->n_fft != power_of_two(c->n_fft);
}

static int fix_power(const Rule *rule, const Config *c, RuleFix *fix)
{
    return set_int(fix, "n_fft", power_of_two(c->n_fft));
}

/* Between two windows with a larger step there would be samples that neither reaches. */
static int hop_over_half(const Rule *rule, const Config *c, RuleReport *r)
{
    HINT(r, "set hop_length to %d or less; a quarter of n_fft is usual", c->n_fft / 2);
    return has_vocoder(c) && c->hop_length > c->n_fft / 2;
}

static int fix_wide_hop(const Rule *rule, const Config *c, RuleFix *fix)
{
    return set_int(fix, "hop_length", c->n_fft / USUAL_HOPS);
}

/* T frames are (T - 1) * hop samples; more than half a spectrum, which is reflected at the ends. */
static int least_segment(const Config *c) { return LONGEST_LOSS / 2 / c->hop_length + 2; }

static int short_segment(const Rule *rule, const Config *c, RuleReport *r)
{
    HINT(r, "set vocoder_segment_frames to %d or more", least_segment(c));
    return has_vocoder(c) && c->vocoder_segment_frames < least_segment(c);
}

static int fix_segment(const Rule *rule, const Config *c, RuleFix *fix)
{
    return set_int(fix, "vocoder_segment_frames", least_segment(c));
}

/* ---- data ---- */

static int no_clip_fits(const Rule *rule, const Config *c, RuleReport *r)
{
    HINT(r, "both are seconds");
    return c->min_audio_length >= c->max_audio_length;
}

static int fix_shortest_clip(const Rule *rule, const Config *c, RuleFix *fix)
{
    return set_double(fix, "min_audio_length", c->max_audio_length > SHORTEST_CLIP ? SHORTEST_CLIP : 0);
}

/* regcomp's own words are the best hint. */
static int bad_pattern(const Rule *rule, const Config *c, RuleReport *r)
{
    regex_t pattern;
    if (!c->speaker_id_pattern[0])
        return 0;
    int rc = regcomp(&pattern, c->speaker_id_pattern, REG_EXTENDED);
    if (rc)
        regerror(rc, &pattern, r->hint, sizeof r->hint);
    else
        regfree(&pattern);
    return rc != 0;
}

/* Runs after bad_pattern, so the pattern compiles. */
static int pattern_without_group(const Rule *rule, const Config *c, RuleReport *r)
{
    regex_t pattern;
    if (!c->speaker_id_pattern[0] || regcomp(&pattern, c->speaker_id_pattern, REG_EXTENDED))
        return 0;
    size_t groups = pattern.re_nsub;
    regfree(&pattern);
    HINT(r, "put parentheses around the part that is the speaker: ^(p[0-9]+)_");
    return groups < 1;
}

/* ---- languages ---- */

/* Two or three letters, and perhaps a region. */
static int bad_language_code(const Rule *rule, const Config *c, RuleReport *r)
{
    size_t letters = strspn(c->language, "abcdefghijklmnopqrstuvwxyz");
    char after = c->language[letters];
    HINT(r, "write two letters, such as en or fa, or a variant, such as en-us");
    if (letters < 2 || letters > 3)
        return 1;
    return after && !(strchr("-_", after) && c->language[letters + 1]);
}

/* The hint lists the table, so that a new language shows up by itself. */
static int unknown_language(const Rule *rule, const Config *c, RuleReport *r)
{
    const StringList *list = &c->supported_languages;
    size_t used = (size_t)HINT(r, "known languages:");
    for (int i = 0; language_code(i); i++)
        used += (size_t)snprintf(r->hint + used, sizeof r->hint - used, " %s", language_code(i));
    for (int i = 0; i < list->count; i++)
        if (!language_is_known(list->items[i])) {
            option_quote(r->subject, sizeof r->subject, list->items[i]);
            return 1;
        }
    return 0;
}

static int repeated_language(const Rule *rule, const Config *c, RuleReport *r)
{
    const StringList *list = &c->supported_languages;
    for (int i = 1; i < list->count; i++)
        for (int j = 0; j < i; j++)
            if (strcmp(list->items[i], list->items[j]) == 0) {
                option_quote(r->subject, sizeof r->subject, list->items[i]);
                return 1;
            }
    return 0;
}

/* supported_languages without unknown languages and duplicates, and with `more` if it is not NULL. 0 when
 * nothing would be left. */
static int set_languages(const Config *c, RuleFix *fix, const char *more)
{
    const char *kept[CONFIG_MAX_LIST + 1];
    int count = 0;
    for (int i = 0; i <= c->supported_languages.count; i++) {
        const char *code = i < c->supported_languages.count ? c->supported_languages.items[i] : more;
        int wanted = code && language_is_known(code) && count < CONFIG_MAX_LIST;
        for (int k = 0; k < count && wanted; k++)
            wanted = strcmp(kept[k], code) != 0;
        if (wanted)
            kept[count++] = code;
    }
    fix->key = "supported_languages";
    size_t used = (size_t)snprintf(fix->value, sizeof fix->value, "[");
    for (int k = 0; k < count && used + 8 < sizeof fix->value; k++)
        used += (size_t)snprintf(fix->value + used, sizeof fix->value - used, "%s%s", k ? ", " : "", kept[k]);
    snprintf(fix->value + used, sizeof fix->value - used, "]");
    return count > 0;
}

static int fix_languages(const Rule *rule, const Config *c, RuleFix *fix)
{
    return set_languages(c, fix, NULL);
}

static void fall_back_code(char out[3], const Config *c) { snprintf(out, 3, "%s", c->language); }

/* Only detection uses the list; with another method any language may be the default. */
static int fall_back_not_supported(const Rule *rule, const Config *c, RuleReport *r)
{
    char code[3];
    fall_back_code(code, c);
    HINT(r, "choose one of supported_languages, or add it there");
    for (int i = 0; i < c->supported_languages.count; i++)
        if (strcmp(c->supported_languages.items[i], code) == 0)
            return 0;
    return c->language_detection_method == LANGUAGE_AUTO;
}

/* Adds the language to those that detection may choose. */
static int fix_fall_back(const Rule *rule, const Config *c, RuleFix *fix)
{
    char code[3];
    fall_back_code(code, c);
    return language_is_known(code) && set_languages(c, fix, code);
}

/* ---- training ---- */

static int rising_rate(const Rule *rule, const Config *c, RuleReport *r)
{
    HINT(r, "set min_learning_rate to a hundredth of learning_rate");
    return c->min_learning_rate > c->learning_rate;
}

/* A rate of 0 is the worse mistake, so it is mended first. */
static int fix_rising_rate(const Rule *rule, const Config *c, RuleFix *fix)
{
    if (c->learning_rate <= 0 && !is_argument(c, "learning_rate"))
        return set_text(fix, "learning_rate", GOOD_LEARNING_RATE);
    return set_double(fix, "min_learning_rate", c->learning_rate / LEAST_LEARNING_PART);
}

static int no_rate(const Rule *rule, const Config *c, RuleReport *r)
{
    HINT(r, GOOD_LEARNING_RATE " is a good start");
    return c->learning_rate <= 0;
}

static int fix_no_rate(const Rule *rule, const Config *c, RuleFix *fix)
{
    return set_text(fix, "learning_rate", GOOD_LEARNING_RATE);
}

/* Both say where the weights come from. */
static int two_beginnings(const Rule *rule, const Config *c, RuleReport *r)
{
    HINT(r, "--resume continues a run, --init-from starts a new one with its weights: give only one of them");
    return config_begins_with(c) && strcmp(c->resume, "auto") != 0 && strcmp(c->resume, "none") != 0;
}

/* Only a vocoder learns from mels alone. */
static int voice_of_a_voice(const Rule *rule, const Config *c, RuleReport *r)
{
    HINT(r, "--network vocoder trains a vocoder on the mels of a voice; without --from-voice it learns from "
            "recordings");
    return c->from_voice[0] && c->network != NETWORK_VOCODER;
}

/* In a file 0 is what the default says: no limit. Who types it means something else than hours. */
static int no_time(const Rule *rule, const Config *c, RuleReport *r)
{
    HINT(r, "--minutes 10 trains for ten minutes; without --minutes, epochs and max_steps end the run");
    return is_argument(c, "minutes") && c->minutes <= 0;
}

/* ---- the table ---- */

#define WIDTH(dim) \
    { \
        dim, NULL, uneven_width, "the width must be a multiple of 8", fix_width \
    }
#define HEADS(heads, dim, check) \
    { \
        heads, dim, check, "the heads must divide the width", fix_heads \
    }

#define HEAD_SIZE(heads, dim, check) \
    { \
        heads, dim, check, "a head may have at most 128 of the width", fix_wide_heads \
    }

/* clang-format off */
static const Rule rules[] = {
    {"win_length", "n_fft", window_over_fft, "the window must fit into the FFT", fix_window},
    {"n_fft", NULL, odd_fft, "the FFT length must be even", fix_odd_fft},
    {"hop_length", "win_length", hop_over_window, "samples between the windows would be lost", fix_hop},
    {"mel_fmax", "sample_rate", fmax_over_nyquist, "there are no frequencies above half of the sample rate",
     fix_fmax},
    {"mel_fmin", "mel_fmax", fmin_over_fmax, "the lowest frequency must be below the highest", fix_fmin},
    {"n_mels", "n_fft", more_bands_than_frequencies, "there are more bands than frequencies", fix_bands},

    WIDTH("text_encoder_dim"),
    HEADS("text_encoder_heads", "text_encoder_dim", heads_do_not_divide),
    HEAD_SIZE("text_encoder_heads", "text_encoder_dim", heads_too_wide),
    WIDTH("audio_encoder_dim"),
    HEADS("audio_encoder_heads", "audio_encoder_dim", heads_do_not_divide),
    HEAD_SIZE("audio_encoder_heads", "audio_encoder_dim", heads_too_wide),
    WIDTH("decoder_dim"),
    HEADS("decoder_heads", "decoder_dim", heads_do_not_divide),
    HEAD_SIZE("decoder_heads", "decoder_dim", heads_too_wide),
    WIDTH("speaker_embedding_dim"),
    HEADS("gst_num_heads", "speaker_embedding_dim", gst_heads_do_not_divide),
    HEAD_SIZE("gst_num_heads", "speaker_embedding_dim", gst_heads_too_wide),

    WIDTH("vocoder_dim"),
    {"n_fft", "network", fft_no_power, "a vocoder needs a power of two, at most 4096", fix_power},
    {"hop_length", "n_fft", hop_over_half, "a vocoder needs windows that overlap by half at least",
     fix_wide_hop},
    {"vocoder_segment_frames", "hop_length", short_segment,
     "the spectra that a vocoder learns from are longer than the segment", fix_segment},

    {"min_audio_length", "max_audio_length", no_clip_fits, "no clip could meet both limits",
     fix_shortest_clip},
    {"speaker_id_pattern", NULL, bad_pattern, "not a POSIX extended regular expression", NULL},
    {"speaker_id_pattern", NULL, pattern_without_group, "it has no group for the speaker", NULL},

    {"language", NULL, bad_language_code, "not a language code", NULL},
    {"supported_languages", NULL, unknown_language, "is not a language that detection supports",
     fix_languages},
    {"supported_languages", NULL, repeated_language, "is in the list twice", fix_languages},
    {"language", "supported_languages", fall_back_not_supported,
     "detection falls back to a language that is not in supported_languages", fix_fall_back},

    {"min_learning_rate", "learning_rate", rising_rate, "the rate would rise instead of fall",
     fix_rising_rate},
    {"learning_rate", NULL, no_rate, "nothing would be learned", fix_no_rate},
    {"minutes", NULL, no_time, "in no time nothing is learned", NULL},
    {"init_from", "resume", two_beginnings, "a run can only start in one way", NULL},
    {"from_voice", "network", voice_of_a_voice, "the mels of a voice can only train a vocoder", NULL},
};
/* clang-format on */

/* ---- walking it ---- */

/* "win_length is 2048 (my.yaml:3)" */
static void name_value(char *out, size_t cap, const Config *cfg, const char *key)
{
    char origin[300];
    Buf value = {0};
    int row = row_of(key);
    config_origin(origin, sizeof origin, cfg, row);
    option_format(&value, &option_table[row], cfg);
    snprintf(out, cap, "%s is %.100s (%s)", key, value.data ? value.data : "?", origin);
    buf_free(&value);
}

/* Composes the message: the current values, where each came from, what is wrong, what to do. */
static void say_broken(const Rule *rule, const Config *cfg, const RuleReport *report, Err *err)
{
    char first[500], second[500] = "";
    const char *space = report->subject[0] ? " " : "";
    name_value(first, sizeof first, cfg, rule->key);
    if (rule->other) {
        name_value(second, sizeof second, cfg, rule->other);
        err_set(err, ERR_CONFIG, "%.350s and %.350s: %s%s%s", first, second, report->subject, space,
                rule->message);
    } else {
        err_set(err, ERR_CONFIG, "%s: %s%s%s", first, report->subject, space, rule->message);
    }
    if (report->hint[0])
        err_hint(err, "%s", report->hint);
}

/* The order of the table is the order of the messages: causes before what follows from them. */
const Rule *rules_first_broken(const Config *cfg, Err *err)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        RuleReport report = {0};
        if (rules[i].is_broken(&rules[i], cfg, &report)) {
            say_broken(&rules[i], cfg, &report, err);
            return &rules[i];
        }
    }
    return NULL;
}

int rule_fix(const Rule *rule, const Config *cfg, RuleFix *fix)
{
    *fix = (RuleFix){0};
    if (!rule->fix || is_argument(cfg, rule->key) || !rule->fix(rule, cfg, fix))
        return 0;
    return !is_argument(cfg, fix->key);
}
