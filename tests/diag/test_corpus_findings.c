/* test_corpus_findings.c - what is wrong with recordings and texts is found, with the right file, and nothing
 * in a corpus without faults. `prepare`, `info` (before and after it) and `validate` agree, also in their
 * exit codes. The sounds are made here: syllables of a pulse train through three resonances, hisses and
 * pauses. */
#include "support/prepare_testing.h"

#include "diag/voice/text_notes.h"
#include "support/wav_testing.h"

#define RATE 22050
#define CLIPS 30
#define SYLLABLES 16
#define SYLLABLE (RATE / 6) /* samples, of which a fifth is a pause */

enum {
    GOOD,
    NOISE,
    CLIPPED,
    EMPTY_CHANNEL,
    CANCELLED,
    NARROW,
    SHORT_TEXT,
    SILENCE,
    OTHER_VOICE,
    NOTE,
    REPEATED,
    SOFT,
    KINDS
};
static const char *const kinds[KINDS] = {
    "",        "noise",       "clipped", "empty_channel", "channels_cancel", "bandwidth", "speech_rate",
    "silence", "other_voice", "notes",   "repeated",      "loudness"};

/* ---- a voice ---- */

typedef struct Speaker {
    double pitch, size; /* Hz; of the throat */
} Speaker;

/* A resonance, in place. */
static void resonate(double *x, int n, double hz, double width)
{
    const double r = exp(-M_PI * width / RATE), a = 2 * r * cos(2 * M_PI * hz / RATE), b = -r * r;
    double one = 0, two = 0;
    for (int i = 0; i < n; i++) {
        const double y = x[i] * (1 - r) + a * one + b * two;
        two = one;
        one = y;
        x[i] = y;
    }
}

static void speak(double *out, Speaker s, Rng *rng)
{
    static const double vowels[][3] = {
        {730, 1090, 2440}, {270, 2290, 3010}, {300, 870, 2240}, {530, 1840, 2480}, {570, 840, 2410}};
    double x[SYLLABLE];
    for (int k = 0; k < SYLLABLES; k++) {
        const double *vowel = vowels[rng_below(rng, 5)];
        const double hz = s.pitch * (0.94 + 0.12 * rng_uniform(rng));
        double phase = 0;
        for (int i = 0; i < SYLLABLE; i++) {
            phase += hz / RATE;
            x[i] = phase >= 1 ? 1 : 0;
            phase -= x[i];
        }
        for (int f = 0; f < 3; f++)
            resonate(x, SYLLABLE, vowel[f] * s.size, 80 + 40 * f);
        double most = 1e-9;
        for (int i = 0; i < SYLLABLE; i++)
            most = fmax(most, fabs(x[i]));
        /* A hiss, the vowel, a pause; and the noise of a room. */
        for (int i = 0; i < SYLLABLE; i++) {
            const int hiss = i<SYLLABLE / 5, pause = i> SYLLABLE * 4 / 5;
            out[k * SYLLABLE + i] = (pause  ? 0
                                     : hiss ? 0.03 * rng_normal(rng)
                                            : 0.25 * x[i] / most) +
                                    0.0003 * rng_normal(rng);
        }
    }
}

/* ---- faults ---- */

/* Above 3.5 kHz nothing is left, as in a recording of 8 kHz. */
static void lowpass(double *x, int n)
{
    enum { TAPS = 201 };
    double *y = calloc((size_t)n, sizeof *y);
    for (int i = 0; i < n; i++)
        for (int t = 0; t < TAPS; t++) {
            const double at = t - TAPS / 2, w = 0.5 - 0.5 * cos(2 * M_PI * (t + 0.5) / TAPS);
            const double h = at == 0 ? 2 * 3500.0 / RATE : sin(2 * M_PI * 3500 / RATE * at) / (M_PI * at);
            if (i - t >= 0)
                y[i] += w * h * x[i - t];
        }
    memcpy(x, y, (size_t)n * sizeof *x);
    free(y);
}

static void write_clip(const char *path, int fault, uint64_t seed)
{
    enum { SPOKEN = SYLLABLES * SYLLABLE, BEFORE = 3 * RATE };
    Rng rng;
    rng_seed(&rng, seed);
    double *x = calloc(SPOKEN + BEFORE, sizeof *x);
    const int before = fault == SILENCE ? BEFORE : 0, n = before + SPOKEN,
              channels = fault == EMPTY_CHANNEL || fault == CANCELLED ? 2 : 1;
    speak(x + before, fault == OTHER_VOICE ? (Speaker){230, 1.3} : (Speaker){115, 1}, &rng);
    if (fault == NARROW)
        lowpass(x, n);
    const double gain = fault == CLIPPED ? 12 : fault == SOFT ? 0.1 : 1, noise = fault == NOISE ? 0.03 : 0;
    uint8_t *bytes = calloc(1, 44 + 4 * (size_t)n);
    put_wav_header(bytes, 1, channels, RATE, 16, (uint32_t)(2 * channels * n));
    for (int i = 0; i < n; i++) {
        const double v = fmin(1, fmax(-1, gain * x[i] + noise * rng_normal(&rng)));
        const double second = fault == CANCELLED ? -0.95 * v : 0;
        put_u16(bytes + 44 + 2 * channels * i, (uint16_t)(int16_t)lrint(32767 * v));
        if (channels == 2)
            put_u16(bytes + 46 + 4 * i, (uint16_t)(int16_t)lrint(32767 * second));
    }
    file_put(path, bytes, 44 + 2 * (size_t)(channels * n));
    free(bytes);
    free(x);
}

/* Clip number k has fault number k where faults are wanted: c01 the noise, and so on. */
static void make(const Corpus *c, int faults)
{
    Rng rng;
    rng_seed(&rng, 7);
    mkdir(c->data, 0777);
    mkdir(path_of(c->data, "wavs"), 0777);
    FILE *f = fopen(path_of(c->data, "metadata.csv"), "wb");
    for (int k = 0; k < CLIPS; k++) {
        const int fault = faults && k < KINDS ? k : GOOD;
        char path[300], text[80] = "";
        snprintf(path, sizeof path, "%s/wavs/c%02d.wav", c->data, k);
        write_clip(path, fault, (uint64_t)k + 1);
        for (int s = 0; s < SYLLABLES; s++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%c%c%s",
                     "bdfgklmn"[rng_below(&rng, 8)], "aeiou"[rng_below(&rng, 5)], s % 3 == 2 ? " " : "");
        if (fault == SHORT_TEXT)
            strcpy(text, "bada ga");
        if (fault == REPEATED || (faults && k == KINDS))
            strcpy(text, k == KINDS ? "Gada, badaga deki moro luna!" : "gada badaga deki moro luna");
        fprintf(f, "c%02d|%s%s\n", k, text, fault == NOTE ? " [laughs]" : "");
    }
    fclose(f);
}

/* ---- what is said ---- */

static const char *const plain[] = {"--use-phonemes",
                                    "false",
                                    "--text-cleaners",
                                    "basic",
                                    "--num-workers",
                                    "1",
                                    "--data-gpu",
                                    "cpu",
                                    "--model-gpu",
                                    "cpu",
                                    NULL};

static json_t *told(const Corpus *c, const char *command, int code)
{
    const char *args[24] = {command, "--data-path", c->data, "--cache-dir", c->cache, "--json"};
    Run r;
    int n = 6;
    for (int i = 0; plain[i]; i++)
        args[n++] = plain[i];
    run_program_env(&r, args, NULL);
    if (r.code != code)
        fail_msg("%s ends with %d, not %d: %s%s", command, r.code, code, (const char *)r.stderr_text.data,
                 (const char *)r.stdout_text.data);
    json_t *o = json_loads((const char *)r.stdout_text.data, 0, NULL);
    assert_non_null(o);
    run_free(&r);
    return o;
}

/* The finding of a kind, or NULL. */
static const json_t *finding(const json_t *o, const char *kind)
{
    size_t i;
    const json_t *f;
    json_array_foreach(json_object_get(o, "findings"), i,
                       f) if (!strcmp(json_string_value(json_object_get(f, "kind")), kind)) return f;
    return NULL;
}

/* Of each kind one clip, and it is the right one. */
static void check_all(const json_t *o, const char *command, unsigned without)
{
    for (int k = 1; k < KINDS; k++) {
        const json_t *f = finding(o, kinds[k]);
        char file[32];
        snprintf(file, sizeof file, "wavs/c%02d.wav", k);
        if (without & 1u << k) {
            assert_null(f);
            continue;
        }
        if (!f)
            fail_msg("%s does not tell of %s", command, kinds[k]);
        const char *worst = json_string_value(json_array_get(json_object_get(f, "worst"), 0));
        const int found = (int)json_integer_value(json_object_get(f, "clips"));
        const int few = k == SOFT ? 4 : 1; /* clipped and cancelled clips have another level too */
        int is_named = 0;
        for (int i = 0; i < found; i++) {
            const json_t *name = json_array_get(json_object_get(f, "worst"), (size_t)i);
            is_named |= strcmp(json_string_value(name), file) == 0;
        }
        if (!is_named || found > few)
            fail_msg("%s: %s names %d clips, first %s, not %s", command, kinds[k], found, worst, file);
        assert_true(json_string_length(json_object_get(f, "advice")) > 0);
    }
}

static void faults_are_found(void **state)
{
    Corpus *c = *state;
    make(c, 1);
    json_t *o = told(c, "info", 1); /* nothing is prepared: no trimming, no voices */
    check_all(o, "info", 1u << SILENCE | 1u << OTHER_VOICE);
    assert_int_equal(access(c->cache, F_OK), -1);
    json_decref(o);
    o = told(c, "prepare", 1);
    check_all(o, "prepare", 0);
    json_t *again = told(c, "info", 1);
    check_all(again, "info", 0);
    assert_true(json_equal(json_object_get(o, "findings"), json_object_get(again, "findings")));
    assert_true(json_equal(json_object_get(o, "recordings"), json_object_get(again, "recordings")));
    json_decref(o);
    json_decref(again);
    json_decref(told(c, "validate", 1));
    /* Beside the caches all of them. */
    Buf tsv = file_bytes(path_of(c->cache, "findings.tsv"));
    buf_zero(&tsv, 1);
    assert_non_null(strstr(tsv.data, "severity\tkind\tfile\tvalue\n"));
    assert_non_null(strstr(tsv.data, "\nfinding\tnotes\twavs/c09.wav\t[laughs]\n"));
    assert_non_null(strstr(tsv.data, "\nremark\tsilence\twavs/c07.wav\t"));
    buf_free(&tsv);
}

static ino_t inode_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_ino;
}

/* Another text in the line of a clip. */
static void rewrite_text(const Corpus *c, const char *id, const char *text)
{
    const char *path = path_of(c->data, "metadata.csv");
    Buf old = file_bytes(path), out = {0};
    buf_zero(&old, 1);
    const char *line = strstr(old.data, id), *end = strchr(line, '\n');
    buf_add(&out, old.data, (size_t)(line - old.data));
    buf_printf(&out, "%s|%s%s", id, text, end);
    file_put(path, out.data, out.size);
    buf_free(&old);
    buf_free(&out);
}

/* The second prepare reads clip.facts and says the same; a damaged file, and one of other texts, is not
 * believed. */
static void facts_are_kept(void **state)
{
    Corpus *c = *state;
    make(c, 1);
    json_t *first = told(c, "prepare", 1);
    const char *path = path_of(c->cache, "clip.facts");
    const ino_t inode = inode_of(path);
    json_t *second = told(c, "prepare", 1);
    assert_true(inode_of(path) == inode);
    assert_true(json_equal(json_object_get(first, "findings"), json_object_get(second, "findings")));
    assert_true(json_equal(json_object_get(first, "recordings"), json_object_get(second, "recordings")));
    json_decref(second);

    Buf facts = file_bytes(path);
    for (size_t i = facts.size - 20 * 136; i < facts.size; i++)
        facts.data[i] = 0;
    file_put(path, facts.data, facts.size);
    second = told(c, "prepare", 1);
    assert_true(inode_of(path) != inode);
    assert_true(json_equal(json_object_get(first, "findings"), json_object_get(second, "findings")));
    json_decref(second);
    buf_free(&facts);

    assert_non_null(finding(first, kinds[SHORT_TEXT]));
    rewrite_text(c, "c06", "gada bade kimoru lano bedi fagu moka lide");
    second = told(c, "prepare", 1);
    assert_null(finding(second, kinds[SHORT_TEXT]));
    json_decref(second);
    json_decref(first);
}

static void good_recordings_have_no_findings(void **state)
{
    Corpus *c = *state;
    make(c, 0);
    static const char *const commands[] = {"info", "prepare", "info", "validate"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        json_t *o = told(c, commands[i], 0);
        size_t k;
        const json_t *f;
        json_array_foreach(json_object_get(o, "findings"), k,
                           f) if (strcmp(json_string_value(json_object_get(f, "kind")), "little") != 0)
            fail_msg("%s tells of %s", commands[i], json_string_value(json_object_get(f, "kind")));
        json_decref(o);
    }
}

static void notes_in_texts(void **state)
{
    static const struct {
        const char *text, *note;
    } cases[] = {{"Well, (see above) it is 5 % of $30, at 20 \xC2\xB0"
                  "C.",
                  ""},
                 {"He said: \"No!\" \xE2\x80\x93 and went; didn't he? Fran\xC3\xA7ois & Co.", ""},
                 {"That was [laughs] good.", "[laughs]"},
                 {"Yes (laughter).", "(laughter)"},
                 {"Yes (noise) no.", "(noise)"},
                 {"Ja (lacht) nein.", "(lacht)"},
                 {"So <unk> it is.", "<unk>"},
                 {"She *coughs* says.", "*coughs*"},
                 {"See https://a.org/b?c now.", "https://a.org/b?c"},
                 {"Tom &amp; Jerry.", "&amp;"},
                 {"sch\xC3\x83\xC2\xB6n", "\xC3\x83"}, /* UTF-8 taken for Latin-1 */
                 {"fine \xF0\x9F\x98\x80 day", "\xF0\x9F\x98\x80"},
                 {"3 * 4 * 5", ""},
                 {"a | b", "|"}};
    char out[40];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = cases[i].text;
        assert_int_equal(text_find_note(out, sizeof out, (Str){text, (uint32_t)strlen(text)}),
                         cases[i].note[0] != 0);
        assert_string_equal(out, cases[i].note);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(faults_are_found),
        T(facts_are_kept),
        T(good_recordings_have_no_findings),
        cmocka_unit_test(notes_in_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
