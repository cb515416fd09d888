/* test_studio.c - many texts at once, in several voices: the sound of each is that of the text alone, to the
 * bit; errors, listeners who wait, do not listen or leave; limits. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "ops/ops.h"
#include "studio/studio.h"
#include "support/folder_testing.h"
#include "support/vocoder_testing.h"
#include "support/voice_testing.h"
#include "support/wav_testing.h"
#include "text/phonemes/tokens.h"

#define CHECKPOINT "tests/golden/checkpoint.safetensors"
#define SPEAKER "anna"
enum { GRIFFIN_LIM, VOCODER, VOICES };
enum { LISTENERS = 6, TEXTS = 9 };

static const char *const texts[TEXTS] = {
    "A short one.",
    "Two sentences are here. The second one is a little longer than the first!",
    "Is it heard? Yes; it is, and it goes on, and on, and on for a while.",
    "One.",
    "This text has a line\nand another line\nand one more.",
    "Words, words, words.",
    "The end is near. It is not here. It is there, far away from here. Now it comes.",
    "Something with -- dashes -- in it.",
    "<speak>Old <break time='700ms'/>hill. <prosody rate='70%' volume='-6dB'>Low. <voice name='anna'>And "
    "<mark "
    "name='m'/>high</voice></prosody>.</speak>",
};

static struct {
    Folder folder;
    char checkpoint[300], vocoder[300], recording[300];
    Device *device;
    Log log;
} lab;

static int setup_lab(void **state)
{
    lab.folder = folder_make();
    snprintf(lab.vocoder, sizeof lab.vocoder, "%s", folder_file(&lab.folder, "vocoder.safetensors"));
    snprintf(lab.recording, sizeof lab.recording, "%s", folder_file(&lab.folder, "recording.wav"));
    snprintf(lab.checkpoint, sizeof lab.checkpoint, "%s", folder_file(&lab.folder, "voice.safetensors"));
    write_languages(lab.checkpoint, CHECKPOINT, "{\"codes\": [\"de\", \"en\"], \"scripts\": [\"Latn\"]}", 2);
    write_vocoder(lab.vocoder,
                  "\"sample_rate\": 8000, \"n_fft\": 256, \"win_length\": 200, \"hop_length\": 100, "
                  "\"n_mels\": 8, \"mel_fmax\": 4000, \"vocoder_dim\": 16, \"vocoder_layers\": 2",
                  NULL);
    write_sweep(lab.recording, 2, 1.5, 8000);
    log_init(&lab.log, LOG_ERROR);
    return device_open(&lab.device, "cpu", &(DeviceOptions){.log = &lab.log}, NULL);
}

static int teardown_lab(void **state)
{
    device_close(lab.device);
    folder_remove(&lab.folder);
    return 0;
}

static Studio *open_studio_with(Device *device, int threads, int most_talks)
{
    const StudioVoice voices[VOICES] = {{lab.checkpoint, "griffin_lim", 4}, {lab.checkpoint, lab.vocoder, 4}};
    StudioOptions o = {.voices = voices,
                       .count = VOICES,
                       .device = device,
                       .threads = threads,
                       .most_talks = most_talks,
                       .log = &lab.log};
    Studio *s;
    Err err = {0};
    if (studio_open(&s, &o, &err))
        fail_msg("%s", err.msg);
    return s;
}

static Studio *open_studio_on(Device *device, int most_talks)
{
    return open_studio_with(device, 3, most_talks);
}

static Studio *open_studio(int most_talks) { return open_studio_on(lab.device, most_talks); }

static TalkOrder order_of(int voice, int text)
{
    return (TalkOrder){.voice = voice,
                       .text = texts[text],
                       .size = strlen(texts[text]),
                       .speed = text % 3 == 2 ? 1.5 : 1,
                       .pitch = text % 2 ? 2 : 0,
                       .wish = {.language = text % 3 ? NULL : "de"},
                       .speaker = text % 4 ? SPEAKER : NULL};
}

/* What the voice says by itself. */
static Buf said_alone(int voice, int text, const char *recording)
{
    const TalkOrder order = order_of(voice, text);
    VoiceOptions o = {.checkpoint = lab.checkpoint,
                      .device = lab.device,
                      .vocoder = voice == VOCODER ? lab.vocoder : "griffin_lim",
                      .iterations = 4,
                      .speed = order.speed,
                      .pitch = order.pitch,
                      .wish = order.wish,
                      .log = &lab.log};
    Voice *v;
    Err err = {0};
    Spoken spoken = {0};
    Buf out = {0};
    if (voice_open(&v, &o, &err) || (recording && voice_of_recording(v, recording, &err)) ||
        voice_say(v, &spoken, order.text, order.size, NULL, NULL, &err))
        fail_msg("%s", err.msg);
    buf_add(&out, spoken.samples, (size_t)spoken.count * sizeof(float));
    spoken_free(&spoken);
    voice_close(v);
    return out;
}

/* To its end; the parts that begin are counted. */
static int listen(Talk *t, Buf *out, int *parts, Err *err)
{
    TalkPiece piece;
    int rc;
    while ((rc = talk_next(t, &piece, 1, err)) == TALK_PIECE) {
        if (piece.at * 8000 * sizeof(float) != (double)out->size)
            return err_set(err, ERR_DATA, "a piece is said to begin at %g s", piece.at);
        buf_add(out, piece.samples, (size_t)piece.count * sizeof(float));
        *parts += piece.part != NULL;
    }
    return rc;
}

typedef struct Listener {
    pthread_t thread;
    Studio *s;
    int number;
    Buf heard[TEXTS];
    Err err;
} Listener;

static void *listener_run(void *arg)
{
    Listener *l = arg;
    for (int i = 0; i < TEXTS && !l->err.code; i++) {
        const int text = (i + l->number) % TEXTS;
        const TalkOrder order = order_of(l->number % VOICES, text);
        Talk *t;
        int parts = 0;
        if (talk_begin(&t, l->s, &order, &l->err))
            break;
        listen(t, &l->heard[text], &parts, &l->err);
        if (!l->err.code && !parts)
            err_set(&l->err, ERR_DATA, "no part began");
        talk_close(t);
    }
    return NULL;
}

static void many_speak_as_one(void **state)
{
    Studio *s = open_studio(0);
    Listener listeners[LISTENERS] = {{0}};
    for (int i = 0; i < LISTENERS; i++) {
        listeners[i].s = s;
        listeners[i].number = i;
        assert_int_equal(pthread_create(&listeners[i].thread, NULL, listener_run, &listeners[i]), 0);
    }
    for (int i = 0; i < LISTENERS; i++)
        pthread_join(listeners[i].thread, NULL);
    for (int text = 0; text < TEXTS; text++)
        for (int voice = 0; voice < VOICES; voice++) {
            Buf alone = said_alone(voice, text, NULL);
            for (int i = voice; i < LISTENERS; i += VOICES) {
                if (listeners[i].err.code)
                    fail_msg("%s", listeners[i].err.msg);
                assert_int_equal(listeners[i].heard[text].size, alone.size);
                assert_memory_equal(listeners[i].heard[text].data, alone.data, alone.size);
                buf_free(&listeners[i].heard[text]);
            }
            buf_free(&alone);
        }
    StudioReport r;
    studio_report(s, &r);
    assert_int_equal(r.begun, LISTENERS * TEXTS);
    assert_int_equal(r.ended, LISTENERS * TEXTS);
    assert_int_equal(r.open, 0);
    assert_int_equal(r.waiting, 0);
    assert_true(r.rows >= r.calls && r.speech_seconds > 1);
    studio_close(s);
}

/* A device that is no CPU speaks several in one call; one of them has nothing to say. Sums of its rows are
 * rounded otherwise here than on a GPU, so only lengths are compared. */
static void rows_of_one_call(void **state)
{
    Device *device;
    Talk *talks[3 * TEXTS];
    Err err = {0};
    assert_int_equal(device_open(&device, "sim0", &(DeviceOptions){.log = &lab.log}, &err), 0);
    Studio *s = open_studio_on(device, 0);
    const TalkOrder empty = {.voice = VOCODER, .text = " ", .size = 1};
    for (int i = 0; i < 3 * TEXTS; i++) {
        const TalkOrder order = i == 5 ? empty : order_of(VOCODER, i % TEXTS);
        assert_int_equal(talk_begin(&talks[i], s, &order, &err), 0);
    }
    for (int i = 0; i < 3 * TEXTS; i++) {
        Buf heard = {0}, alone = i == 5 ? (Buf){0} : said_alone(VOCODER, i % TEXTS, NULL);
        int parts = 0;
        assert_int_equal(listen(talks[i], &heard, &parts, &err), i == 5 ? ERR_DATA : TALK_END);
        assert_int_equal(heard.size, alone.size);
        talk_close(talks[i]);
        buf_free(&heard);
        buf_free(&alone);
    }
    StudioReport r;
    studio_report(s, &r);
    assert_true(r.calls < r.rows);
    printf("%lld parts were spoken in %lld calls\n", (long long)r.rows, (long long)r.calls);
    studio_close(s);
    device_close(device);
}

/* However many speak with them, weights are there once. */
static void weights_are_shared(void **state)
{
    const uint64_t before = lab.device->used;
    Studio *s = open_studio_with(lab.device, 1, 0);
    const uint64_t one = lab.device->used - before;
    const Checkpoint *file = voice_checkpoint(studio_voice(s, VOCODER));
    Model m;
    assert_int_equal(model_open(&m, &file->cfg, tokens_count(), file->language_input, NULL), 0);
    const uint64_t weights = model_bytes(&m, &ops_host_f32, 0);
    model_close(&m);
    studio_close(s);
    s = open_studio_with(lab.device, 5, 0);
    const uint64_t more = (lab.device->used - before - one) / 4;
    studio_close(s);
    printf("%llu bytes for one worker, of which %llu are weights of %d voices; %llu for one more\n",
           (unsigned long long)one, (unsigned long long)(VOICES * weights), VOICES, (unsigned long long)more);
    assert_true(more <= one - VOICES * weights);
    assert_int_equal(lab.device->used, before);
}

/* --- errors --- */

static int fails_with(Studio *s, const TalkOrder *order, Err *err)
{
    Talk *t;
    Buf heard = {0};
    int parts = 0, rc = talk_begin(&t, s, order, err);
    if (!rc)
        rc = listen(t, &heard, &parts, err);
    talk_close(t);
    buf_free(&heard);
    return rc;
}

static void errors_are_their_own(void **state)
{
    Studio *s = open_studio(0);
    Err err = {0};
    TalkOrder empty = {.text = " \n  ", .size = 4}, nobody = order_of(0, 0), none = order_of(VOICES, 0),
              noise = order_of(0, 0), good = order_of(0, 0);
    nobody.speaker = "nobody";
    noise.recording = "this is no sound";
    noise.recording_size = 16;
    assert_int_equal(fails_with(s, &empty, &err), ERR_DATA);
    assert_non_null(strstr(err.msg, "nothing to speak"));
    assert_int_equal(fails_with(s, &nobody, &err), ERR_MISSING);
    assert_non_null(strstr(err.hint, SPEAKER));
    assert_int_equal(fails_with(s, &none, &err), ERR_MISSING);
    assert_int_equal(fails_with(s, &noise, &err), ERR_DATA);
    assert_non_null(strstr(err.msg, "the recording"));
    assert_int_equal(fails_with(s, &good, &err), TALK_END);
    studio_close(s);
}

/* The rest is spoken. */
/* One that the voice has is heard; another is told of before anything is spoken. */
static void a_language_is_one_of_the_voices(void **state)
{
    Studio *s = open_studio(0);
    TalkOrder order = {.voice = VOCODER, .text = "Morgen.", .size = 7};
    static const struct {
        LanguageWish wish;
        const char *text;
        int code;
    } cases[] = {{{.language = "de"}, "Morgen.", 0},
                 {{.language = "en-us"}, "Morgen.", 0},
                 {{.language = "fr"}, "Morgen.", ERR_LANGUAGE},
                 {{.language = "fr", .force = 1}, "Morgen.", 0},
                 {{0}, "Утро.", ERR_LANGUAGE},
                 {{.force = 1}, "Утро a.", 0}};
    Buf heard[6] = {{0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Err err = {0};
        Talk *t;
        int parts = 0;
        order.wish = cases[i].wish;
        order.text = cases[i].text;
        order.size = strlen(order.text);
        assert_int_equal(talk_begin(&t, s, &order, &err), cases[i].code);
        if (!cases[i].code)
            assert_int_equal(listen(t, &heard[i], &parts, &err), TALK_END);
        else
            assert_non_null(strstr(err.msg, "it speaks de, en"));
        talk_close(t);
    }
    assert_true(heard[0].size != heard[1].size || memcmp(heard[0].data, heard[1].data, heard[0].size) != 0);
    for (int i = 0; i < 6; i++)
        buf_free(&heard[i]);
    studio_close(s);
}

/* A word that is longer than the network's memory is spoken in pieces; what has no sound is named, with its
 * place, before the first sound. */
static void nothing_is_dropped(void **state)
{
    Studio *s = open_studio(0);
    Buf text = {0}, heard = {0};
    Err err = {0};
    Talk *t;
    int parts = 0;
    buf_str(&text, "Here it comes. A ");
    for (int i = 0; i < 600; i++)
        buf_str(&text, "o");
    const size_t at = text.size + strlen(". It is ");
    buf_str(&text, ". It is \xEE\x80\x80 gone.");
    assert_int_equal(
        talk_begin(&t, s, &(TalkOrder){.voice = VOCODER, .text = text.data, .size = text.size}, &err), 0);
    TalkPiece piece;
    assert_int_equal(talk_next(t, &piece, 1, &err), TALK_PIECE);
    buf_add(&heard, piece.samples, (size_t)piece.count * sizeof(float));
    assert_int_equal(talk_left_out(t, NULL), 1);
    assert_int_equal(listen(t, &heard, &parts, &err), TALK_END);
    VoiceLosses losses = {0};
    assert_int_equal(talk_left_out(t, &losses), 1);
    assert_int_equal(losses.all[0].at, at);
    assert_int_equal(losses.all[0].size, 3);
    assert_string_equal(losses.all[0].why, "U+E000 is a private character");
    assert_true(parts > 3);
    voice_losses_free(&losses);
    talk_close(t);
    buf_free(&text);
    buf_free(&heard);
    studio_close(s);
}

static void a_recording_gives_its_voice(void **state)
{
    Studio *s = open_studio(0);
    Buf recording = file_bytes(lab.recording), alone = said_alone(VOCODER, 1, lab.recording),
        usual = said_alone(VOCODER, 1, NULL), heard = {0};
    TalkOrder order = order_of(VOCODER, 1);
    Err err = {0};
    Talk *t;
    int parts = 0;
    order.speaker = NULL;
    order.recording = recording.data;
    order.recording_size = recording.size;
    assert_int_equal(talk_begin(&t, s, &order, &err), 0);
    assert_int_equal(listen(t, &heard, &parts, &err), TALK_END);
    talk_close(t);
    assert_int_equal(heard.size, alone.size);
    assert_memory_equal(heard.data, alone.data, alone.size);
    assert_true(heard.size != usual.size || memcmp(heard.data, usual.data, usual.size) != 0);
    buf_free(&recording);
    buf_free(&alone);
    buf_free(&usual);
    buf_free(&heard);
    studio_close(s);
}

/* --- listeners --- */

static void too_many_are_refused(void **state)
{
    Studio *s = open_studio(2);
    const TalkOrder order = order_of(0, 0);
    Err err = {0};
    Talk *a, *b, *c;
    assert_int_equal(talk_begin(&a, s, &order, &err), 0);
    assert_int_equal(talk_begin(&b, s, &order, &err), 0);
    assert_int_equal(talk_begin(&c, s, &order, &err), ERR_BUSY);
    assert_null(c);
    talk_close(a);
    assert_int_equal(talk_begin(&c, s, &order, &err), 0);
    talk_close(b);
    talk_close(c);
    StudioReport r;
    studio_report(s, &r);
    assert_int_equal(r.refused, 1);
    studio_close(s);
}

/* A long text is made only so far ahead; the listener leaves at every moment. */
static void nobody_listens(void **state)
{
    Studio *s = open_studio(0);
    Buf text = {0};
    for (int i = 0; i < 200; i++)
        buf_printf(&text, "Sentence number %d of a long text. ", i);
    const TalkOrder order = {.voice = GRIFFIN_LIM, .text = text.data, .size = text.size};
    Err err = {0};
    Talk *t;
    StudioReport r, later;
    assert_int_equal(talk_begin(&t, s, &order, &err), 0);
    do { /* until nothing more is made */
        studio_report(s, &r);
        clock_sleep(0.05);
        studio_report(s, &later);
    } while (r.waiting || r.speech_seconds < later.speech_seconds);
    assert_true(later.speech_seconds >= 4 && later.speech_seconds < 20);
    talk_close(t);
    for (int i = 0; i < 40; i++) {
        TalkPiece piece;
        assert_int_equal(talk_begin(&t, s, &order, &err), 0);
        for (int k = 0; k < i % 4; k++)
            assert_int_equal(talk_next(t, &piece, 1, &err), TALK_PIECE);
        talk_close(t);
    }
    buf_free(&text);
    studio_close(s);
}

typedef struct Bell {
    pthread_mutex_t lock;
    pthread_cond_t rung;
    int rings;
} Bell;

static void ring(void *arg)
{
    Bell *b = arg;
    pthread_mutex_lock(&b->lock);
    b->rings++;
    pthread_cond_signal(&b->rung);
    pthread_mutex_unlock(&b->lock);
}

static void those_who_do_not_wait_are_called(void **state)
{
    Studio *s = open_studio(0);
    Bell bell = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
    TalkOrder order = order_of(VOCODER, 6);
    Buf heard = {0}, alone = said_alone(VOCODER, 6, NULL);
    Err err = {0};
    Talk *t;
    order.ready = ring;
    order.arg = &bell;
    assert_int_equal(talk_begin(&t, s, &order, &err), 0);
    for (int asked = 0;;) {
        TalkPiece piece;
        int rc = talk_next(t, &piece, 0, &err);
        if (rc == TALK_PIECE)
            buf_add(&heard, piece.samples, (size_t)piece.count * sizeof(float));
        if (rc == TALK_END)
            break;
        if (rc != TALK_LATER)
            continue;
        asked++;
        pthread_mutex_lock(&bell.lock);
        while (bell.rings < asked)
            pthread_cond_wait(&bell.rung, &bell.lock);
        assert_int_equal(bell.rings, asked); /* once for each time */
        pthread_mutex_unlock(&bell.lock);
    }
    talk_close(t);
    assert_int_equal(heard.size, alone.size);
    assert_memory_equal(heard.data, alone.data, alone.size);
    buf_free(&heard);
    buf_free(&alone);
    studio_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_speak_as_one),
        cmocka_unit_test(rows_of_one_call),
        cmocka_unit_test(weights_are_shared),
        cmocka_unit_test(errors_are_their_own),
        cmocka_unit_test(a_recording_gives_its_voice),
        cmocka_unit_test(a_language_is_one_of_the_voices),
        cmocka_unit_test(nothing_is_dropped),
        cmocka_unit_test(too_many_are_refused),
        cmocka_unit_test(nobody_listens),
        cmocka_unit_test(those_who_do_not_wait_are_called),
    };
    return cmocka_run_group_tests(tests, setup_lab, teardown_lab);
}
