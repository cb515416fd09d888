/* test_library_voice.c - the voices of the C library: many threads with one voice, each hears what `myxtts
 * synth` writes; pieces, waiting with a limit, leaving in the middle, errors, programs with older headers. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/myxtts.h"
#include "support/command_testing.h"
#include "support/folder_testing.h"
#include "support/vocoder_testing.h"
#include "support/voice_testing.h"
#include "support/wav_testing.h"

#define CHECKPOINT "tests/golden/checkpoint.safetensors"
#define SPEAKER "anna"
enum { THREADS = 5, TEXTS = 4, ROUNDS = 4, RATE = 8000 };

static const char *const texts[TEXTS] = {
    "A short one.",
    "Two sentences are here. The second one is a little longer than the first!",
    "Is it heard? Yes; it is, and it goes on, and on, and on for a while.",
    "The end is near. It is not here. It is there, far away from here. Now it comes.",
};
static const char *const long_text = "One sentence is here. Another one follows it, and then a third. "
                                     "That was the third. This is the fourth, and there are more to come. "
                                     "So it goes on. And on. And on, until somebody leaves.";

static struct {
    Folder folder;
    char vocoder[300], recording[300];
    myxtts_voice *voice;
} lab;

static myxtts_voice_options usual_options(void)
{
    myxtts_voice_options o = MYXTTS_VOICE_OPTIONS;
    o.checkpoint = CHECKPOINT;
    o.device = "cpu";
    o.vocoder = lab.vocoder;
    o.rounds = ROUNDS;
    o.threads = 2;
    return o;
}

static int setup_lab(void **state)
{
    myxtts_error e;
    lab.folder = folder_make();
    snprintf(lab.vocoder, sizeof lab.vocoder, "%s", folder_file(&lab.folder, "vocoder.safetensors"));
    snprintf(lab.recording, sizeof lab.recording, "%s", folder_file(&lab.folder, "recording.wav"));
    write_vocoder(lab.vocoder,
                  "\"sample_rate\": 8000, \"n_fft\": 256, \"win_length\": 200, \"hop_length\": 100, "
                  "\"n_mels\": 8, \"mel_fmax\": 4000, \"vocoder_dim\": 16, \"vocoder_layers\": 2",
                  NULL);
    write_sweep(lab.recording, 2, 1.5, RATE);
    myxtts_voice_options o = usual_options();
    if (myxtts_voice_open(&lab.voice, &o, &e)) {
        print_error("%s\n", e.message);
        return -1;
    }
    return 0;
}

static int teardown_lab(void **state)
{
    myxtts_voice_close(lab.voice);
    folder_remove(&lab.folder);
    return 0;
}

/* What the program says with the same text: bytes of a WAV file. */
static Buf said_by_synth(const char *text, const char *option, const char *value)
{
    const char *out = folder_file(&lab.folder, "synth.wav"), *rounds = "4";
    json_t *o =
        run_json(ARGS("synth", "--checkpoint", CHECKPOINT, "--model-gpu", "cpu", "--vocoder", lab.vocoder,
                      "--iterations", rounds, "--text", text, "--output", out, "--json", option, value),
                 NULL);
    json_decref(o);
    return file_bytes(out);
}

/* The same as samples of the library. */
static void assert_same_sound(const Buf *wav, const float *samples, int64_t count)
{
    const char *out = folder_file(&lab.folder, "library.wav");
    myxtts_error e;
    if (myxtts_write_audio(out, samples, count, RATE, &e))
        fail_msg("%s", e.message);
    Buf ours = file_bytes(out);
    assert_int_equal(ours.size, wav->size);
    assert_memory_equal(ours.data, wav->data, wav->size);
    buf_free(&ours);
}

static int say(myxtts_voice *v, const char *text, const myxtts_manner *m, myxtts_error *e)
{
    float *samples;
    int64_t count;
    int rc = myxtts_voice_say(v, &samples, &count, text, text ? strlen(text) : 0, m, e);
    assert_true(rc ? !samples && !count : samples && count > 0);
    myxtts_free(samples);
    return rc;
}

/* ---- speaking ---- */

typedef struct Speaker {
    pthread_t thread;
    myxtts_voice *voice;
    int number;
    float *samples[TEXTS];
    int64_t counts[TEXTS];
    myxtts_error e;
} Speaker;

static void *speaker_run(void *arg)
{
    Speaker *s = arg;
    for (int i = 0; i < TEXTS; i++) {
        const int text = (i + s->number) % TEXTS;
        if (myxtts_voice_say(s->voice, &s->samples[text], &s->counts[text], texts[text], strlen(texts[text]),
                             NULL, &s->e))
            break;
    }
    return NULL;
}

/* Most of them with one voice, the last with another. */
static void threads_speak_together(void **state)
{
    Speaker speakers[THREADS] = {{0}};
    myxtts_voice_options o = usual_options();
    myxtts_voice *other;
    myxtts_error e;
    if (myxtts_voice_open(&other, &o, &e))
        fail_msg("%s", e.message);
    for (int i = 0; i < THREADS; i++) {
        speakers[i].number = i;
        speakers[i].voice = i < THREADS - 1 ? lab.voice : other;
        assert_int_equal(pthread_create(&speakers[i].thread, NULL, speaker_run, &speakers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(speakers[i].thread, NULL);
    myxtts_voice_close(other);
    for (int text = 0; text < TEXTS; text++) {
        Buf wav = said_by_synth(texts[text], "--speed", "1");
        for (int i = 0; i < THREADS; i++) {
            if (speakers[i].e.code)
                fail_msg("%s", speakers[i].e.message);
            assert_same_sound(&wav, speakers[i].samples[text], speakers[i].counts[text]);
            myxtts_free(speakers[i].samples[text]);
        }
        buf_free(&wav);
    }
}

static void a_manner_is_that_of_synth(void **state)
{
    const struct {
        const char *option, *value;
        myxtts_manner m;
    } cases[] = {
        {"--speaker", SPEAKER, {sizeof(myxtts_manner), SPEAKER, NULL, 1, 0, NULL, 0, NULL}},
        {"--reference", lab.recording, {sizeof(myxtts_manner), NULL, lab.recording, 1, 0, NULL, 0, NULL}},
        {"--speed", "1.5", {sizeof(myxtts_manner), NULL, NULL, 1.5, 0, NULL, 0, NULL}},
        {"--pitch", "-3", {sizeof(myxtts_manner), NULL, NULL, 1, -3, NULL, 0, NULL}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Buf wav = said_by_synth(texts[1], cases[i].option, cases[i].value);
        float *samples;
        int64_t count;
        myxtts_error e;
        if (myxtts_voice_say(lab.voice, &samples, &count, texts[1], strlen(texts[1]), &cases[i].m, &e))
            fail_msg("%s", e.message);
        assert_same_sound(&wav, samples, count);
        myxtts_free(samples);
        buf_free(&wav);
    }
}

/* However the pieces are asked for, they are the whole. */
static void pieces_are_the_whole(void **state)
{
    myxtts_error e;
    float *whole;
    int64_t count;
    int later = 0;
    assert_int_equal(myxtts_voice_say(lab.voice, &whole, &count, long_text, strlen(long_text), NULL, &e), 0);
    for (int waits = 0; waits < 3; waits++) {
        myxtts_speech *s;
        const float *piece;
        int64_t n, at = 0;
        int pieces = 0, rc;
        assert_int_equal(myxtts_speech_begin(&s, lab.voice, long_text, strlen(long_text), NULL, &e), 0);
        do {
            rc = waits == 0 ? myxtts_speech_next(s, &piece, &n, &e)
                            : myxtts_speech_poll(s, &piece, &n, waits == 1 ? 0 : 0.01, &e);
            assert_true(rc >= 0);
            if (rc != 1)
                assert_true(!piece && !n);
            later += rc == 2;
            if (rc == 1) {
                assert_true(at + n <= count);
                assert_memory_equal(piece, whole + at, (size_t)n * sizeof *piece);
                at += n;
                pieces++;
            }
        } while (rc > 0);
        assert_int_equal(at, count);
        assert_true(pieces > 1);
        /* The end stays the end. */
        assert_int_equal(myxtts_speech_next(s, &piece, &n, &e), 0);
        assert_int_equal(myxtts_speech_poll(s, &piece, &n, 0, &e), 0);
        myxtts_speech_end(s);
    }
    assert_true(later > 0);
    myxtts_free(whole);
}

/* At every moment, while others go on. */
static void leaving_in_the_middle(void **state)
{
    myxtts_error e;
    myxtts_speech *stays;
    const float *piece;
    int64_t n;
    assert_int_equal(myxtts_speech_begin(&stays, lab.voice, long_text, strlen(long_text), NULL, &e), 0);
    for (int i = 0; i < 24; i++) {
        myxtts_speech *s;
        assert_int_equal(myxtts_speech_begin(&s, lab.voice, long_text, strlen(long_text), NULL, &e), 0);
        for (int k = 0; k < i % 4; k++)
            assert_int_equal(myxtts_speech_next(s, &piece, &n, &e), 1);
        if (i % 5 == 4)
            myxtts_speech_poll(s, &piece, &n, 0, &e);
        myxtts_speech_end(s);
    }
    int rc;
    while ((rc = myxtts_speech_next(stays, &piece, &n, &e)) == 1)
        ;
    assert_int_equal(rc, 0);
    myxtts_speech_end(stays);
    myxtts_speech_end(NULL);
    myxtts_voice_close(NULL);
}

/* ---- what it is ---- */

/* The golden voice as one of two languages. */
static void a_speaker_speaks_another_language(void **state)
{
    const char *path = folder_file(&lab.folder, "languages.safetensors");
    myxtts_voice_options o = usual_options();
    myxtts_manner m = MYXTTS_MANNER;
    myxtts_voice *v;
    myxtts_error e;
    write_languages(path, CHECKPOINT, "{\"codes\": [\"de\", \"en\"], \"scripts\": [\"Latn\"]}", 2);
    o.checkpoint = path;
    if (myxtts_voice_open(&v, &o, &e))
        fail_msg("%s", e.message);
    assert_int_equal(myxtts_voice_language_count(v), 2);
    assert_string_equal(myxtts_voice_language(v, 0), "de");
    assert_string_equal(myxtts_voice_language(v, 1), "en");
    assert_null(myxtts_voice_language(v, 2));
    assert_null(myxtts_voice_language(NULL, 0));
    float *sounds[2];
    int64_t counts[2];
    m.speaker = SPEAKER;
    for (int i = 0; i < 2; i++) {
        m.language = i ? "en" : "de";
        if (myxtts_voice_say(v, &sounds[i], &counts[i], "Morgen.", 7, &m, &e))
            fail_msg("%s", e.message);
    }
    assert_true(counts[0] != counts[1] ||
                memcmp(sounds[0], sounds[1], (size_t)counts[0] * sizeof(float)) != 0);
    myxtts_free(sounds[0]);
    myxtts_free(sounds[1]);
    m.language = "fr";
    assert_int_equal(say(v, "Morgen.", &m, &e), MYXTTS_ERROR_LANGUAGE);
    assert_non_null(strstr(e.message, "'fr': it speaks de, en"));
    assert_non_null(strstr(e.hint, "force_language"));
    m.force_language = 1;
    assert_int_equal(say(v, "Morgen.", &m, &e), 0);
    m = (myxtts_manner)MYXTTS_MANNER;
    assert_int_equal(say(v, "\xd0\xa3\xd1\x82\xd1\x80\xd0\xbe.", &m, &e), MYXTTS_ERROR_LANGUAGE);
    assert_non_null(strstr(e.message, "Cyrillic"));
    myxtts_voice_close(v);
}

/* What the lexicon says sounds as the IPA itself does, to the bit. */
static void a_lexicon_is_a_setting(void **state)
{
    const char *path = folder_file(&lab.folder, "names.tsv"), *const settings[] = {"lexicon", path, NULL};
    static const char *const lines[] = {"Old Siobhan.", "Old [[ʃɪˈvɔːn]]."};
    char checkpoint[300];
    myxtts_voice_options o = usual_options();
    myxtts_voice *v, *plain;
    myxtts_error e;
    float *sounds[3];
    int64_t counts[3];
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "siobhan\tʃɪˈvɔːn\n");
    assert_int_equal(fclose(f), 0);
    snprintf(checkpoint, sizeof checkpoint, "%s", folder_file(&lab.folder, "phonemes.safetensors"));
    write_phoneme_voice(checkpoint, CHECKPOINT);
    o.checkpoint = checkpoint;
    if (myxtts_voice_open(&plain, &o, &e))
        fail_msg("%s", e.message);
    o.settings = settings;
    if (myxtts_voice_open(&v, &o, &e))
        fail_msg("%s", e.message);
    for (int i = 0; i < 3; i++)
        if (myxtts_voice_say(i < 2 ? v : plain, &sounds[i], &counts[i], lines[i % 2], strlen(lines[i % 2]),
                             NULL, &e))
            fail_msg("%s", e.message);
    assert_int_equal(counts[0], counts[1]);
    assert_memory_equal(sounds[0], sounds[1], (size_t)counts[0] * sizeof(float));
    assert_true(counts[0] != counts[2] ||
                memcmp(sounds[0], sounds[2], (size_t)counts[0] * sizeof(float)) != 0);
    for (int i = 0; i < 3; i++)
        myxtts_free(sounds[i]);
    myxtts_voice_close(v);
    myxtts_voice_close(plain);
    f = fopen(path, "w");
    fprintf(f, "siobhan\t𝄞\n");
    assert_int_equal(fclose(f), 0);
    assert_int_equal(myxtts_voice_open(&v, &o, &e), MYXTTS_ERROR_DATA);
    assert_non_null(strstr(e.message, "names.tsv:1: 𝄞 (U+1D11E) is not a symbol"));
}

static void what_is_left_out_is_listed(void **state)
{
    static const char text[] = "Old \xEE\x80\x80 hill \xFF.";
    myxtts_speech *s;
    myxtts_loss l;
    myxtts_error e;
    const float *piece;
    int64_t n;
    if (myxtts_speech_begin(&s, lab.voice, text, sizeof text - 1, NULL, &e))
        fail_msg("%s", e.message);
    while (myxtts_speech_next(s, &piece, &n, &e) == 1)
        ;
    assert_int_equal(myxtts_speech_left_out_count(s), 2);
    assert_int_equal(myxtts_speech_left_out(s, 1, &l), 0);
    assert_true(l.at == 13 && l.bytes == 1);
    assert_int_equal(myxtts_speech_left_out(s, 0, &l), 0);
    assert_true(l.at == 4 && l.bytes == 3);
    assert_string_equal(l.why, "U+E000 is a private character");
    assert_int_equal(myxtts_speech_left_out(s, 2, &l), MYXTTS_ERROR_MISSING);
    assert_int_equal(myxtts_speech_left_out(s, 0, NULL), MYXTTS_ERROR_USAGE);
    myxtts_speech_end(s);
    assert_int_equal(myxtts_speech_left_out_count(NULL), 0);
}

static void ssml_has_marks(void **state)
{
    static const char text[] = "<speak>Old <mark name='a'/><break time='1s'/><mark name='b'/>hill.</speak>";
    myxtts_speech *s;
    myxtts_mark a, b;
    myxtts_error e;
    myxtts_manner m = MYXTTS_MANNER;
    const float *piece;
    int64_t n;
    if (myxtts_speech_begin(&s, lab.voice, text, sizeof text - 1, NULL, &e))
        fail_msg("%s", e.message);
    while (myxtts_speech_next(s, &piece, &n, &e) == 1)
        ;
    assert_int_equal(myxtts_speech_mark_count(s), 2);
    assert_int_equal(myxtts_speech_mark(s, 0, &a) || myxtts_speech_mark(s, 1, &b), 0);
    assert_string_equal(a.name, "a");
    assert_true(fabs(b.seconds - a.seconds - 1) < 0.01);
    assert_int_equal(myxtts_speech_mark(s, 2, &a), MYXTTS_ERROR_MISSING);
    assert_int_equal(myxtts_speech_mark(s, 0, NULL), MYXTTS_ERROR_USAGE);
    myxtts_speech_end(s);
    assert_int_equal(myxtts_speech_mark_count(NULL), 0);
    assert_int_equal(myxtts_speech_begin(&s, lab.voice, "<speak>\n<p>", 11, NULL, &e), MYXTTS_ERROR_DATA);
    assert_non_null(strstr(e.message, "line 2, column 1: the element <p> is not closed"));
    m.text_format = "plain"; /* what looks like SSML is words */
    assert_int_equal(myxtts_speech_begin(&s, lab.voice, "<speak>\n<p>", 11, &m, &e), 0);
    myxtts_speech_end(s);
    m.text_format = "rtf";
    assert_int_equal(myxtts_speech_begin(&s, lab.voice, "a", 1, &m, &e), MYXTTS_ERROR_USAGE);
}

static void a_voice_says_who_it_is(void **state)
{
    assert_int_equal(myxtts_voice_sample_rate(lab.voice), RATE);
    int n = myxtts_voice_speaker_count(lab.voice), found = 0;
    assert_true(n > 0);
    for (int i = 0; i < n; i++)
        found |= strcmp(myxtts_voice_speaker(lab.voice, i), SPEAKER) == 0;
    assert_true(found);
    assert_null(myxtts_voice_speaker(lab.voice, n));
    assert_null(myxtts_voice_speaker(lab.voice, -1));
}

/* ---- errors ---- */

static void expect_error(int rc, int code, const myxtts_error *e, const char *word)
{
    print_message("%d: %s; %s\n", rc, e->message, e->hint);
    assert_int_equal(rc, code);
    assert_int_equal(e->code, code);
    if (!strstr(e->message, word) && !strstr(e->hint, word))
        fail_msg("'%s' is not said: %s; %s", word, e->message, e->hint);
}

static void wrong_options_are_told(void **state)
{
    const char *unknown[] = {"bach_size", "3", NULL}, *half[] = {"batch_size", NULL};
    const char *wrong[] = {"batch_size", "none", NULL};
    const char *no_file = folder_file(&lab.folder, "nothing");
    const struct {
        int code;
        const char *checkpoint, *device, *const *settings;
        int threads;
        const char *word;
    } cases[] = {
        {MYXTTS_ERROR_USAGE, NULL, "cpu", NULL, 0, "checkpoint"},
        {MYXTTS_ERROR_MISSING, no_file, "cpu", NULL, 0, "nothing"},
        {MYXTTS_ERROR_FORMAT, lab.recording, "cpu", NULL, 0, "recording.wav"},
        {MYXTTS_ERROR_CONFIG, CHECKPOINT, "cpu", unknown, 0, "batch_size"},
        {MYXTTS_ERROR_CONFIG, CHECKPOINT, "cpu", wrong, 0, "'none'"},
        {MYXTTS_ERROR_USAGE, CHECKPOINT, "cpu", half, 0, "no value"},
        {MYXTTS_ERROR_CONFIG, CHECKPOINT, "toaster", NULL, 0, "toaster"},
        {MYXTTS_ERROR_USAGE, CHECKPOINT, "cpu", NULL, -1, "threads"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        myxtts_voice_options o = usual_options();
        myxtts_voice *v = lab.voice;
        myxtts_error e = {0};
        o.checkpoint = cases[i].checkpoint;
        o.device = cases[i].device;
        o.settings = cases[i].settings;
        o.threads = cases[i].threads;
        int rc = myxtts_voice_open(&v, &o, &e);
        assert_null(v);
        expect_error(rc, cases[i].code, &e, cases[i].word);
        assert_int_equal(myxtts_voice_open(&v, &o, NULL), rc);
    }
}

static void wrong_orders_are_told(void **state)
{
    const char *no_file = folder_file(&lab.folder, "nothing.wav");
    const char *empty = folder_file(&lab.folder, "empty.wav");
    file_put(empty, "", 0);
    const struct {
        int code;
        const char *text;
        myxtts_manner m;
        const char *word;
    } cases[] = {
        {MYXTTS_ERROR_USAGE, NULL, MYXTTS_MANNER, "no text"},
        {MYXTTS_ERROR_DATA, " \n ", MYXTTS_MANNER, "nothing to speak"},
        {MYXTTS_ERROR_MISSING, "Yes.", {sizeof(myxtts_manner), "nobody", NULL, 1, 0, NULL, 0, NULL}, SPEAKER},
        {MYXTTS_ERROR_MISSING,
         "Yes.",
         {sizeof(myxtts_manner), NULL, no_file, 1, 0, NULL, 0, NULL},
         "nothing.wav"},
        {MYXTTS_ERROR_DATA,
         "Yes.",
         {sizeof(myxtts_manner), NULL, CHECKPOINT, 1, 0, NULL, 0, NULL},
         "recording"},
        {MYXTTS_ERROR_DATA, "Yes.", {sizeof(myxtts_manner), NULL, empty, 1, 0, NULL, 0, NULL}, "recording"},
        {MYXTTS_ERROR_USAGE, "Yes.", {sizeof(myxtts_manner), SPEAKER, no_file, 1, 0, NULL, 0, NULL}, "both"},
        {MYXTTS_ERROR_USAGE, "Yes.", {sizeof(myxtts_manner), NULL, NULL, 0, 0, NULL, 0, NULL}, "speed is 0"},
        {MYXTTS_ERROR_USAGE,
         "Yes.",
         {sizeof(myxtts_manner), NULL, NULL, (double)NAN, 0, NULL, 0, NULL},
         "speed"},
        {MYXTTS_ERROR_USAGE,
         "Yes.",
         {sizeof(myxtts_manner), NULL, NULL, 1, 25, NULL, 0, NULL},
         "25 semitones"},
        {MYXTTS_ERROR_USAGE,
         "Yes.",
         {sizeof(myxtts_manner), NULL, NULL, 1, (double)NAN, NULL, 0, NULL},
         "semitones"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        myxtts_error e = {0};
        int rc = say(lab.voice, cases[i].text, &cases[i].m, &e);
        expect_error(rc, cases[i].code, &e, cases[i].word);
    }
    assert_int_equal(say(lab.voice, "Yes.", NULL, NULL), 0);
}

/* In place of whatever is needed. */
static void null_is_told(void **state)
{
    const int usage = MYXTTS_ERROR_USAGE;
    myxtts_voice_options o = usual_options();
    myxtts_error e = {0};
    myxtts_speech *s = NULL;
    const float *piece;
    float *samples;
    int64_t n;
    expect_error(myxtts_voice_open(NULL, &o, &e), usage, &e, "the voice");
    expect_error(myxtts_speech_begin(&s, NULL, "Yes.", 4, NULL, &e), usage, &e, "a voice");
    assert_null(s);
    expect_error(myxtts_speech_begin(NULL, lab.voice, "Yes.", 4, NULL, &e), usage, &e, "the speech");
    expect_error(myxtts_voice_say(NULL, &samples, &n, "Yes.", 4, NULL, &e), usage, &e, "a voice");
    expect_error(myxtts_voice_say(lab.voice, NULL, &n, "Yes.", 4, NULL, &e), usage, &e, "the samples");
    expect_error(myxtts_speech_next(NULL, &piece, &n, &e), usage, &e, "a speech");
    expect_error(myxtts_speech_poll(NULL, &piece, &n, 0, &e), usage, &e, "a speech");
    assert_int_equal(myxtts_speech_begin(&s, lab.voice, "Yes.", 4, NULL, NULL), 0);
    expect_error(myxtts_speech_next(s, NULL, &n, &e), usage, &e, "the samples");
    expect_error(myxtts_speech_poll(s, &piece, NULL, 0, &e), usage, &e, "the samples");
    myxtts_speech_end(s);
    assert_int_equal(myxtts_voice_sample_rate(NULL), 0);
    assert_int_equal(myxtts_voice_speaker_count(NULL), 0);
    assert_null(myxtts_voice_speaker(NULL, 0));
}

/* Bytes into a file that is there already, as `cp` does it. */
static void overwrite(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

/* What is done to the file of a voice after it was opened does not change what it says. */
static void an_open_voice_needs_no_file(void **state)
{
    const char *copy = folder_file(&lab.folder, "copied.safetensors");
    myxtts_voice_options o = usual_options();
    myxtts_error e = {0};
    float *samples;
    int64_t count;
    Buf file = file_bytes(CHECKPOINT), expected = said_by_synth(texts[0], "--speaker", SPEAKER);
    const size_t sizes[] = {file.size, file.size / 2, 0};
    o.checkpoint = copy;
    for (int i = 0; i < 4; i++) {
        myxtts_manner m = MYXTTS_MANNER;
        myxtts_voice *v;
        m.speaker = SPEAKER;
        overwrite(copy, file.data, file.size);
        if (myxtts_voice_open(&v, &o, &e))
            fail_msg("%s", e.message);
        char *zeros = calloc(1, file.size);
        assert_non_null(zeros);
        if (i < 3)
            overwrite(copy, zeros, sizes[i]);
        else
            assert_int_equal(remove(copy), 0);
        free(zeros);
        if (myxtts_voice_say(v, &samples, &count, texts[0], strlen(texts[0]), &m, &e))
            fail_msg("%s", e.message);
        assert_same_sound(&expected, samples, count);
        myxtts_free(samples);
        myxtts_voice_close(v);
    }
    buf_free(&file);
    buf_free(&expected);
}

/* It has none of the threads: nothing may wait for them. */
static void a_forked_child_keeps_off(void **state)
{
    myxtts_error e = {0};
    myxtts_speech *s;
    const float *piece;
    int64_t n;
    int status = -1;
    assert_int_equal(myxtts_speech_begin(&s, lab.voice, long_text, strlen(long_text), NULL, &e), 0);
    pid_t child = fork();
    if (child == 0) {
        myxtts_speech *other = NULL;
        int wrong = myxtts_speech_begin(&other, lab.voice, "Yes.", 4, NULL, &e) != MYXTTS_ERROR_USAGE;
        wrong |= !strstr(e.message, "another process");
        wrong |= myxtts_speech_next(s, &piece, &n, &e) != MYXTTS_ERROR_USAGE;
        wrong |= myxtts_speech_poll(s, &piece, &n, 1, &e) != MYXTTS_ERROR_USAGE;
        myxtts_speech_end(s);
        myxtts_voice_close(lab.voice);
        _exit(wrong);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(myxtts_speech_next(s, &piece, &n, &e), 1);
    myxtts_speech_end(s);
}

static void sound_goes_into_files(void **state)
{
    const float samples[4] = {0, 0.5f, -0.5f, 0};
    myxtts_error e = {0};
    const char *bad = folder_file(&lab.folder, "a.doc"), *gone = folder_file(&lab.folder, "none/a.wav");
    expect_error(myxtts_write_audio(bad, samples, 4, RATE, &e), MYXTTS_ERROR_USAGE, &e, ".flac");
    expect_error(myxtts_write_audio(gone, samples, 4, RATE, &e), MYXTTS_ERROR_IO, &e, "none");
    expect_error(myxtts_write_audio(NULL, samples, 4, RATE, &e), MYXTTS_ERROR_USAGE, &e, "path");
    assert_int_equal(myxtts_write_audio(folder_file(&lab.folder, "a.flac"), samples, 4, RATE, &e), 0);
    assert_int_equal(myxtts_write_audio(folder_file(&lab.folder, "a.wav"), NULL, 0, RATE, &e), 0);
    assert_null(strstr(folder_names(&lab.folder), "a.doc"));
}

/* ---- versions ---- */

/* A program that was built when the structures were smaller gets the defaults of what came later. */
static void older_programs_go_on(void **state)
{
    myxtts_voice_options o = usual_options();
    myxtts_manner m = MYXTTS_MANNER;
    myxtts_error e = {0};
    myxtts_voice *v;
    o.size = offsetof(myxtts_voice_options, vocoder);
    o.vocoder = "not looked at";
    o.settings = (const char *const *)(uintptr_t)1;
    if (myxtts_voice_open(&v, &o, &e))
        fail_msg("%s", e.message);
    m.size = offsetof(myxtts_manner, speed);
    m.speed = -1;
    m.speaker = SPEAKER;
    assert_int_equal(say(v, "Yes.", &m, &e), 0);
    m.size = sizeof m + 8;
    expect_error(say(v, "Yes.", &m, &e), MYXTTS_ERROR_USAGE, &e, "newer");
    myxtts_voice_close(v);
    o.size = sizeof o + 1;
    expect_error(myxtts_voice_open(&v, &o, &e), MYXTTS_ERROR_USAGE, &e, "newer");
    o.size = 0;
    expect_error(myxtts_voice_open(&v, &o, &e), MYXTTS_ERROR_USAGE, &e, "size");
    expect_error(myxtts_voice_open(&v, NULL, &e), MYXTTS_ERROR_USAGE, &e, "options");
}

static void keep_line(void *arg, int level, const char *line) { buf_printf(arg, "%d %s\n", level, line); }

static void lines_go_to_the_caller(void **state)
{
    Buf lines = {0};
    myxtts_voice_options o = usual_options();
    myxtts_error e;
    myxtts_voice *v;
    o.device = NULL;
    o.log = keep_line;
    o.log_arg = &lines;
    if (myxtts_voice_open(&v, &o, &e))
        fail_msg("%s", e.message);
    say(v, "One. ... Two.", NULL, &e);
    myxtts_voice_close(v);
    assert_true(lines.size > 0 && strstr(lines.data, "2 device: "));
    buf_free(&lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_speak_together),
        cmocka_unit_test(a_manner_is_that_of_synth),
        cmocka_unit_test(pieces_are_the_whole),
        cmocka_unit_test(leaving_in_the_middle),
        cmocka_unit_test(a_speaker_speaks_another_language),
        cmocka_unit_test(a_voice_says_who_it_is),
        cmocka_unit_test(a_lexicon_is_a_setting),
        cmocka_unit_test(what_is_left_out_is_listed),
        cmocka_unit_test(ssml_has_marks),
        cmocka_unit_test(wrong_options_are_told),
        cmocka_unit_test(wrong_orders_are_told),
        cmocka_unit_test(sound_goes_into_files),
        cmocka_unit_test(an_open_voice_needs_no_file),
        cmocka_unit_test(a_forked_child_keeps_off),
        cmocka_unit_test(null_is_told),
        cmocka_unit_test(older_programs_go_on),
        cmocka_unit_test(lines_go_to_the_caller),
    };
    return cmocka_run_group_tests(tests, setup_lab, teardown_lab);
}
