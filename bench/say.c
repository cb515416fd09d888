/* say.c - what becomes of a text before it is spoken: is anything missing that is not named, are all digits
 * of a number there, does a lexicon cost anything. say [TEXTS]            10,000 random texts of 1 to 5,000
 * characters; 100 numbers; 100 names; 10,000 entries say --lines N FILE     writes N random texts as lines,
 * and into FILE.expected what is left out of each: for bench/say_outside, which sends them through synth and
 * HTTP Exit code 1: something is missing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tests/support/random_text.h"
#include "base/clock.h"
#include "base/plural.h"
#include "config/config.h"

enum { SEED = 24, NUMBERS = 100, NAMES = 100, ENTRIES = 10000, ROUNDS = 2000 };

static const VoiceLimits limits = {180, 400};

static TextEngine *open_engine(Config *cfg, const char *lexicon)
{
    Err err = {0};
    TextEngine *t = NULL;
    if (config_defaults(cfg, &err) == 0) {
        cfg->lexicon_text = lexicon;
        text_engine_open(&t, cfg, TEXT_TO_SPEAK, &err);
    }
    if (!t) {
        fprintf(stderr, "%s\n", err.msg);
        exit(3);
    }
    return t;
}

/* --- random texts --- */

static int random_texts(int count)
{
    Config cfg;
    TextEngine *t = open_engine(&cfg, "");
    RandomText text = {0};
    RandomFaults f = {0};
    Rng r;
    size_t characters = 0, parts = 0;
    int shown = 0;
    const double from = clock_now();
    rng_seed(&r, SEED);
    for (int i = 0; i < count; i++) {
        VoiceLosses losses = {0};
        Err err = {0};
        char why[300] = "";
        const size_t most = 1 + rng_below(&r, 5000);
        random_text_make(&text, &r, most, 1);
        if (random_text_read(&text, &losses, t, &limits, &err))
            snprintf(why, sizeof why, "%s", err.msg);
        random_text_check(&text, &f, &losses, why, sizeof why);
        if (*why && shown++ < 20)
            printf("text %d: %s\n", i, why);
        characters += most;
        parts += text.parts;
        voice_losses_free(&losses);
    }
    printf("%d random texts, %.1f million characters, %zu parts, %.1f s: %zu words between, %zu lost; %zu "
           "items, "
           "%zu named as left out, %zu neither heard nor named\n",
           count, (double)characters * 1e-6, parts, clock_now() - from, f.words, f.lost_words, f.items,
           f.named, f.silent);
    random_text_free(&text);
    text_engine_close(t);
    config_close(&cfg);
    return shown > 0;
}

/* --- numbers --- */

/* English words of a number -> its digits: "one hundred twenty-three thousand" -> 123000, and what is said
 * group by group ("nineteen ninety-seven") -> 1997. */
static void digits_of(char *out, size_t cap, const char *said)
{
    static const char *const ones[] = {"zero",    "one",     "two",       "three",    "four",
                                       "five",    "six",     "seven",     "eight",    "nine",
                                       "ten",     "eleven",  "twelve",    "thirteen", "fourteen",
                                       "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"},
                             *const tens[] = {"twenty", "thirty",  "forty",  "fifty",
                                              "sixty",  "seventy", "eighty", "ninety"},
                             *const powers[] = {"thousand", "million", "billion", "trillion"};
    char copy[400], *rest = copy;
    long long total = 0, group = -1;
    size_t used = 0;
    int in_tens = 0;
    snprintf(copy, sizeof copy, "%s", said);
    out[0] = 0;
    for (char *w; (w = strtok_r(rest, " -.,", &rest));) {
        long long value = -1, scale = 0;
        for (int i = 0; i < 20; i++)
            value = strcmp(w, ones[i]) ? value : i;
        if (!strcmp(w, "oh") || !strcmp(w, "o"))
            value = 0;
        for (int i = 0; i < 8; i++)
            value = strcmp(w, tens[i]) ? value : 20 + 10 * i;
        for (int i = 0, p = 3; i < 4; i++, p += 3)
            if (!strcmp(w, powers[i])) {
                scale = 1;
                for (int k = 0; k < p; k++)
                    scale *= 10;
            }
        if (!strcmp(w, "hundred"))
            group = (group < 0 ? 1 : group) * 100;
        else if (scale) {
            total += (group < 0 ? 1 : group) * scale;
            group = 0;
        } else if (value >= 0) {
            /* A second number without a power between: groups are said one by one. */
            if (group >= 0 && !total && !(group % 100 == 0 && group && value > 0 && value < 100) &&
                !(in_tens && value && value < 10)) {
                used += (size_t)snprintf(out + used, cap - used, "%lld", group);
                group = 0;
            }
            group = (group < 0 ? 0 : group) + value;
            in_tens = value >= 20;
            continue;
        }
        in_tens = 0;
    }
    if (group >= 0 || total)
        snprintf(out + used, cap - used, "%lld", total + (group < 0 ? 0 : group));
}

static int numbers(void)
{
    Config cfg;
    TextEngine *t = open_engine(&cfg, "");
    Rng r;
    int right = 0, digits = 0;
    rng_seed(&r, SEED);
    for (int i = 0; i < NUMBERS; i++) {
        char number[16] = "", text[64], got[64];
        const int n = 4 + (int)rng_below(&r, 9);
        for (int k = 0; k < n; k++)
            number[k] = (char)('0' + (k ? rng_below(&r, 10) : 1 + rng_below(&r, 9)));
        snprintf(text, sizeof text, "The code is %s.", number);
        VoiceText rest = {.p = text, .n = strlen(text)};
        VoiceLosses losses = {0};
        VoicePart part;
        Buf said = {0};
        Err err = {0};
        while (voice_text_next(&rest, &part, t, "", &limits, &losses, NULL, &err) == 1) {
            buf_printf(&said, "%s ", part.said);
            voice_part_free(&part);
        }
        digits_of(got, sizeof got, said.data ? said.data : "");
        digits += n;
        if (!strcmp(got, number) && !losses.count)
            right++;
        else
            printf("%s is said as \"%s\", which is %s\n", number, said.data ? said.data : "", got);
        voice_losses_free(&losses);
        voice_text_close(&rest);
        buf_free(&said);
    }
    printf("%d numbers of 4 to 12 digits (%d digits): %d are said whole\n", NUMBERS, digits, right);
    text_engine_close(t);
    config_close(&cfg);
    return right != NUMBERS;
}

/* --- lexicon --- */

static void made_up(Rng *r, char *word, char *ipa)
{
    static const char *const c[] = {"b", "d", "f", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z"},
                             *const ci[] = {"b", "d", "f", "k", "l", "m", "n", "p", "ɹ", "s", "t", "v", "ʒ"},
                             *const v[] = {"a", "e", "i", "o", "u"},
                             *const vi[] = {"ɑː", "ɛ", "iː", "ɔː", "ʊ"};
    *word = *ipa = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t a = rng_below(r, 13), b = rng_below(r, 5);
        sprintf(word + strlen(word), "%s%s", c[a], v[b]);
        sprintf(ipa + strlen(ipa), "%s%s%s", i == 1 ? "ˈ" : "", ci[a], vi[b]);
    }
}

static double seconds_a_sentence(TextEngine *t, const char *sentence)
{
    TextResult r = {0};
    const Str text = {sentence, (uint32_t)strlen(sentence)};
    double best = 1e9;
    for (int round = 0; round < 5; round++) {
        double from = clock_now();
        for (int i = 0; i < ROUNDS / 5; i++)
            text_process(t, &r, text, (Str){"", 0}, (Str){"", 0});
        double took = (clock_now() - from) / (ROUNDS / 5);
        best = took < best ? took : best;
    }
    text_result_free(&r);
    return best;
}

static int lexicon(void)
{
    static const char sentence[] =
        "Yesterday the committee met in the old town hall, and nobody from the press "
        "was allowed to hear what they had to say.";
    Config cfg, plain;
    Rng r;
    Buf text = {0};
    char(*words)[32] = calloc(ENTRIES, sizeof *words), (*ipas)[64] = calloc(ENTRIES, sizeof *ipas);
    int right = 0, before = 0;
    if (!words || !ipas)
        return 1;
    rng_seed(&r, SEED);
    for (int i = 0; i < ENTRIES; i++) {
        made_up(&r, words[i], ipas[i]);
        buf_printf(&text, "%s\t%s\n", words[i], ipas[i]);
    }
    double from = clock_now();
    TextEngine *t = open_engine(&cfg, text.data), *none = open_engine(&plain, "");
    const double opened = clock_now() - from;
    for (int i = 0; i < NAMES; i++) {
        char line[100];
        words[i][0] = (char)(words[i][0] - 32); /* a name has a capital */
        snprintf(line, sizeof line, "I met %s there.", words[i]);
        TextResult a = {0}, b = {0};
        const Str s = {line, (uint32_t)strlen(line)};
        text_process(t, &a, s, (Str){"", 0}, (Str){"", 0});
        text_process(none, &b, s, (Str){"", 0}, (Str){"", 0});
        right += a.phonemes.data && strstr(a.phonemes.data, ipas[i]) != NULL;
        before += b.phonemes.data && strstr(b.phonemes.data, ipas[i]) != NULL;
        text_result_free(&a);
        text_result_free(&b);
    }
    const double without = seconds_a_sentence(none, sentence), with = seconds_a_sentence(t, sentence);
    printf("%d names: %d as the lexicon has them, %d without it\n", NAMES, right, before);
    printf("%d entries: both engines opened in %.1f ms; a sentence of %zu characters takes %.1f us, without "
           "them "
           "%.1f us\n",
           ENTRIES, opened * 1e3, strlen(sentence), with * 1e6, without * 1e6);
    text_engine_close(t);
    text_engine_close(none);
    config_close(&cfg);
    config_close(&plain);
    buf_free(&text);
    free(words);
    free(ipas);
    return right != NAMES;
}

/* --- for others --- */

static int write_lines(int count, const char *path)
{
    Config cfg;
    TextEngine *t = open_engine(&cfg, "");
    RandomText text = {0};
    Rng r;
    char expected[4096];
    snprintf(expected, sizeof expected, "%s.expected", path);
    FILE *lines = fopen(path, "w"), *counts = fopen(expected, "w");
    rng_seed(&r, SEED + 1);
    for (int i = 0; lines && counts && i < count; i++) {
        VoiceLosses losses = {0};
        Err err = {0};
        random_text_make(&text, &r, 1 + rng_below(&r, 300), 0);
        random_text_read(&text, &losses, t, &limits, &err);
        fprintf(lines, "%s\n", text.text.data);
        fprintf(counts, "%zu\n", losses.count);
        voice_losses_free(&losses);
    }
    const int failed = !lines || !counts || fclose(lines) || fclose(counts);
    random_text_free(&text);
    text_engine_close(t);
    config_close(&cfg);
    return failed ? 3 : 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "--lines"))
        return write_lines(atoi(argv[2]), argv[3]);
    int missing = random_texts(argc > 1 ? atoi(argv[1]) : 10000);
    missing |= numbers();
    missing |= lexicon();
    return missing;
}
