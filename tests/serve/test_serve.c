/* test_serve.c - `myxtts serve`: the API of docs/SERVER.md, sound byte for byte as `synth` writes it, tokens,
 * limits, clients that leave, and how it stops. */
#include "support/command_testing.h"
#include "support/folder_testing.h"
#include "support/http_testing.h"

#include <arpa/inet.h>
#include <math.h>
#include <sys/socket.h>

#include "base/base64.h"

static ServeLab lab;
static ServeRun server;

static int setup_lab(void **state)
{
    if (serve_lab_open(&lab))
        return -1;
    json_decref(run_json(ARGS("export", "--checkpoint", lab.run, "--output",
                              path_of(lab.c->root, "small.safetensors"), "--precision", "float32", "--json"),
                         NULL));
    serve_start(&server, ARGS("--checkpoint", lab.run, path_of(lab.c->root, "small.safetensors"),
                              "--max-text", "2000", "--max-upload", "0.1", "--max-wait", "3600"));
    return 0;
}

static int teardown_lab(void **state)
{
    serve_stop(&server);
    return serve_lab_close(&lab);
}

static int port(void) { return server.port; }

static json_t *get_json(const char *path)
{
    Reply r;
    ask(&r, port(), "GET", path, NULL, NULL, 0);
    return reply_object(&r, 200);
}

static Buf synth(const char *text, const char *option, const char *value)
{
    return synth_sound(lab.run, text, option, value);
}

static void same(const Buf *a, const char *b, size_t size)
{
    if (a->size != size || memcmp(a->data, b, size) != 0)
        fail_msg("%zu and %zu bytes are not the same", a->size, size);
}

/* ---- what is said of it ---- */

static void voices_are_listed(void **state)
{
    json_t *o = get_json("/v1/models"), *first = json_array_get(json_object_get(o, "data"), 0);
    assert_string_equal(text_at(o, "object"), "list");
    assert_int_equal(json_array_size(json_object_get(o, "data")), 2);
    assert_string_equal(text_at(first, "id"), "run");
    assert_string_equal(text_at(first, "object"), "model");
    json_decref(o);
    o = get_json("/v1/models/small");
    assert_string_equal(text_at(o, "id"), "small");
    json_decref(o);
    o = get_json("/v1/voices");
    first = json_array_get(json_object_get(o, "data"), 0);
    assert_int_equal(json_integer_value(json_object_get(first, "sample_rate")), 8000);
    assert_int_equal(json_integer_value(json_object_get(first, "step")), 20);
    assert_string_equal(text_at(first, "vocoder"), "vocoder");
    assert_int_equal(json_array_size(json_object_get(first, "speakers")), 4);
    json_decref(o);
    o = get_json("/health");
    assert_string_equal(text_at(o, "status"), "ok");
    json_decref(o);
}

/* ---- sound ---- */

/* Of 16-bit samples; times the time between them it does not depend on their rate. */
static double energy(const Buf *samples, size_t from)
{
    double sum = 0;
    for (size_t i = from; i + 1 < samples->size; i += 2) {
        int16_t x;
        memcpy(&x, samples->data + i, 2);
        sum += (double)x * x;
    }
    return sum;
}

/* Clients of OpenAI's take samples without a header for 24,000 a second; who asks gets another rate. */
static void samples_come_at_the_rate_that_is_wanted(void **state)
{
    static const struct {
        const char *asked;
        int rate;
        size_t head;
    } ways[] = {{"\"response_format\":\"pcm\"", 24000, 0},
                {"\"response_format\":\"pcm\",\"sample_rate\":0", 8000, 0},
                {"\"response_format\":\"pcm\",\"sample_rate\":16000", 16000, 0},
                {"\"response_format\":\"wav\"", 8000, 44},
                {"\"response_format\":\"wav\",\"sample_rate\":48000", 48000, 44}};
    Reply r;
    Buf own = synth("green hill", NULL, NULL);
    const double loud = energy(&own, 44), seconds = (double)(own.size - 44) / 2 / 8000;
    assert_true(loud > 0);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char json[200], rate[16];
        snprintf(json, sizeof json, "{\"input\":\"green hill\",%s}", ways[i].asked);
        snprintf(rate, sizeof rate, "%d", ways[i].rate);
        post_json(&r, port(), json);
        assert_int_equal(r.status, 200);
        assert_string_equal(reply_header(&r, "X-Sample-Rate"), rate);
        const size_t n = (r.body.size - ways[i].head) / 2;
        assert_true(fabs((double)n / ways[i].rate - seconds) < 2.0 / 8000);
        assert_true(fabs(energy(&r.body, ways[i].head) * 8000 / ways[i].rate / loud - 1) < 0.02);
        if (ways[i].head) { /* what the header says */
            uint32_t said;
            memcpy(&said, r.body.data + 24, 4);
            assert_int_equal(said, ways[i].rate);
        }
        reply_free(&r);
    }
    buf_free(&own);
    static const char *const wrong[] = {"7999", "48001", "-1", "22050.5", "\"24000\"", "true"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char json[200];
        snprintf(json, sizeof json, "{\"input\":\"a\",\"sample_rate\":%s}", wrong[i]);
        post_json(&r, port(), json);
        json_t *o = reply_object(&r, 400);
        assert_string_equal(text_at(json_object_get(o, "error"), "param"), "sample_rate");
        json_decref(o);
    }
}

/* A program that lets its user choose asks what there is, and sends the choice as `voice`, whatever model it
 * was set up with. */
static void voices_can_be_chosen_by_name(void **state)
{
    json_t *o = get_json("/v1/audio/voices"), *all = json_object_get(o, "voices"), *choice;
    size_t i;
    Buf expected[2] = {synth("green hill", NULL, NULL), synth("green hill", "--speaker", "boris")};
    Reply r;
    assert_int_equal(json_array_size(all), 10); /* two voices of four speakers */
    json_array_foreach(all, i, choice)
    {
        char json[300];
        const char *id = text_at(choice, "id");
        assert_string_equal(text_at(choice, "name"), id);
        if (strchr(id, '/') && !strstr(id, "/boris"))
            continue;
        snprintf(
            json, sizeof json,
            "{\"model\":\"tts-1\",\"input\":\"green hill\",\"response_format\":\"wav\",\"voice\":\"%s\"}",
            id);
        post_json(&r, port(), json);
        assert_int_equal(r.status, 200);
        const Buf *wanted = &expected[strchr(id, '/') != NULL];
        same(wanted, r.body.data, r.body.size);
        reply_free(&r);
    }
    static const char *const nobody[] = {"run/nobody", "nobody/boris", "run/", "/boris", "boris/run"};
    for (i = 0; i < sizeof nobody / sizeof *nobody; i++) {
        char json[200];
        snprintf(json, sizeof json, "{\"input\":\"a\",\"voice\":\"%s\"}", nobody[i]);
        post_json(&r, port(), json);
        json_decref(reply_object(&r, 400));
    }
    json_decref(o);
    buf_free(&expected[0]);
    buf_free(&expected[1]);
}

static void sound_is_that_of_synth(void **state)
{
    static const char text[] = LONG_TEXT;
    char json[512];
    Reply r;
    Buf expected = synth(text, NULL, NULL);
    snprintf(json, sizeof json,
             "{\"model\":\"run\",\"input\":\"%s\",\"voice\":\"alloy\",\"response_format\":\"wav\"}", text);
    post_json(&r, port(), json);
    assert_int_equal(r.status, 200);
    assert_string_equal(reply_header(&r, "Content-Type"), "audio/wav");
    same(&expected, r.body.data, r.body.size);
    reply_free(&r);
    snprintf(json, sizeof json,
             "{\"model\":\"small\",\"input\":\"%s\",\"response_format\":\"pcm\",\"sample_rate\":0}", text);
    post_json(&r, port(), json);
    assert_string_equal(reply_header(&r, "X-Sample-Rate"), "8000");
    expected.size -= 44;
    memmove(expected.data, expected.data + 44, expected.size);
    same(&expected, r.body.data, r.body.size);
    reply_free(&r);
    buf_free(&expected);
    static const char *const ways[][3] = {{"--speaker", "boris", "\"voice\":\"boris\""},
                                          {"--speaker", "boris", "\"voice\":{\"id\":\"boris\"}"},
                                          {"--speed", "1.5", "\"speed\":1.5"},
                                          {"--pitch", "3", "\"pitch\":3"}};
    for (int i = 0; i < 4; i++) {
        expected = synth("green hill", ways[i][0], ways[i][1]);
        snprintf(json, sizeof json, "{\"input\":\"green hill\",\"response_format\":\"wav\",%s}", ways[i][2]);
        post_json(&r, port(), json);
        same(&expected, r.body.data, r.body.size);
        reply_free(&r);
        buf_free(&expected);
    }
    expected = synth("green hill", NULL, NULL);
    ask(&r, port(), "GET", "/v1/audio/speech?input=green+hill&response_format=wav&model=tts-1", NULL, NULL,
        0);
    same(&expected, r.body.data, r.body.size);
    reply_free(&r);
    buf_free(&expected);
}

static void a_recording_lends_its_voice(void **state)
{
    size_t size;
    const char *clip = clip_path(lab.c, 3);
    Buf file = file_bytes(clip), json = {0}, expected = synth("green hill", "--reference", clip);
    Reply r;
    buf_str(&json, "{\"input\":\"green hill\",\"response_format\":\"wav\",\"reference\":\"");
    base64_encode(&json, file.data, file.size);
    buf_str(&json, "\"}");
    post_json(&r, port(), json.data);
    same(&expected, r.body.data, r.body.size);
    reply_free(&r);
    buf_free(&json);
    /* More than --max-upload. */
    uint8_t *wav = make_wav(&size, 1, 8, 8000, 1);
    buf_str(&json, "{\"input\":\"green hill\",\"reference\":\"");
    base64_encode(&json, wav, size);
    buf_str(&json, "\"}");
    post_json(&r, port(), json.data);
    json_decref(reply_object(&r, 413));
    free(wav);
    buf_free(&json);
    buf_free(&file);
    buf_free(&expected);
}

static void every_format_is_sent(void **state)
{
    static const char *const formats[][3] = {{"wav", "audio/wav", "RIFF"},
                                             {"flac", "audio/flac", "fLaC"},
                                             {"opus", "audio/ogg", "OggS"},
                                             {"mp3", "audio/mpeg", ""}};
    for (int i = 0; i < 4; i++) {
        char json[200];
        Reply r;
        snprintf(json, sizeof json, "{\"input\":\"green hill\",\"response_format\":\"%s\"}", formats[i][0]);
        post_json(&r, port(), json);
        if (r.status == 400 && strstr(r.body.data, "is not supported")) {
            print_message("SKIPPED: this libsndfile writes no %s\n", formats[i][0]);
            reply_free(&r);
            continue;
        }
        assert_int_equal(r.status, 200);
        assert_string_equal(reply_header(&r, "Content-Type"), formats[i][1]);
        assert_true(r.whole && r.body.size > 100);
        assert_memory_equal(r.body.data, formats[i][2], strlen(formats[i][2]));
        reply_free(&r);
    }
}

/* The events of an answer, an array. */
static json_t *events_of(Reply *r)
{
    json_t *all = json_array();
    assert_int_equal(r->status, 200);
    assert_string_equal(reply_header(r, "Content-Type"), "text/event-stream");
    for (const char *p = r->body.data; *p; p = strstr(p, "\n\n") + 2) {
        assert_memory_equal(p, "data: ", 6);
        assert_non_null(strstr(p, "\n\n"));
        json_t *o = json_loadb(p + 6, (size_t)(strstr(p, "\n\n") - p) - 6, 0, NULL);
        assert_non_null(o);
        json_array_append_new(all, o);
    }
    reply_free(r);
    return all;
}

static void check_part(const json_t *e, double *end)
{
    const json_t *symbols = json_object_get(e, "symbols"), *mel = json_object_get(e, "mel");
    double at = json_number_value(json_object_get(e, "start"));
    assert_true(at >= *end - 1e-6);
    *end = json_number_value(json_object_get(e, "end"));
    assert_true(json_array_size(symbols) > 3);
    for (size_t i = 0; i < json_array_size(symbols); i++) {
        const json_t *s = json_array_get(symbols, i);
        assert_true(json_number_value(json_object_get(s, "start")) >= at - 1e-6);
        at = json_number_value(json_object_get(s, "end"));
        assert_true(at <= *end + 1e-6 && *text_at(s, "symbol"));
    }
    Buf bytes = {0};
    assert_int_equal(base64_decode(&bytes, text_at(mel, "data"), strlen(text_at(mel, "data"))), 0);
    assert_int_equal(bytes.size, 16 * json_integer_value(json_object_get(mel, "frames")));
    assert_int_equal(json_integer_value(json_object_get(mel, "bands")), 16);
    buf_free(&bytes);
}

static void ssml_is_spoken(void **state)
{
    static const char text[] =
        "<speak>old <mark name='a'/><break time='1s'/><mark name='b'/>hill. green.</speak>";
    Reply r;
    Buf sound = {0}, expected = synth(text, NULL, NULL);
    double at[2] = {0};
    int marks = 0;
    char body[300];
    snprintf(body, sizeof body, "{\"input\":\"%s\",\"response_format\":\"wav\",\"stream_format\":\"sse\"}",
             text);
    post_json(&r, port(), body);
    json_t *all = events_of(&r);
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *e = json_array_get(all, i);
        if (strcmp(text_at(e, "type"), "speech.mark") == 0) {
            assert_string_equal(text_at(e, "name"), marks ? "b" : "a");
            at[marks++ & 1] = json_number_value(json_object_get(e, "start"));
        } else if (strcmp(text_at(e, "type"), "speech.audio.delta") == 0) {
            assert_int_equal(base64_decode(&sound, text_at(e, "audio"), strlen(text_at(e, "audio"))), 0);
        }
    }
    assert_int_equal(marks, 2);
    print_message("marks at %.4f and %.4f s\n", at[0], at[1]);
    assert_true(fabs(at[1] - at[0] - 1) < 0.02); /* within half a frame */
    assert_int_equal(sound.size, expected.size);
    assert_memory_equal(sound.data + 44, expected.data + 44, sound.size - 44);
    json_decref(all);
    buf_free(&sound);
    buf_free(&expected);
    static const char *const wrong[][2] = {
        {"{\"input\":\"<speak>a\\n<b></speak>\"}", "line 2, column 4: </speak> where </b> should be"},
        {"{\"input\":\"old\",\"ssml\":true}", "line 1, column 1: there is text outside"},
        {"{\"input\":\"old\",\"text_format\":\"rtf\"}", "unknown text_format 'rtf'"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        post_json(&r, port(), wrong[i][0]);
        assert_int_equal(r.status, 400);
        if (!strstr(r.body.data, wrong[i][1]))
            fail_msg("%s", (const char *)r.body.data);
        reply_free(&r);
    }
}

static void events_carry_the_sound_and_its_parts(void **state)
{
    Reply r;
    Buf sound = {0}, expected = synth("old hill. green hill.", NULL, NULL);
    int parts = 0, done = 0;
    double end = 0;
    post_json(&r, port(),
              "{\"input\":\"old hill. green hill.\",\"response_format\":\"wav\",\"stream_format\":\"sse\","
              "\"details\":true}");
    json_t *all = events_of(&r);
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *e = json_array_get(all, i);
        const char *type = text_at(e, "type");
        assert_false(done);
        if (strcmp(type, "speech.audio.delta") == 0) {
            assert_true(parts > 0);
            assert_int_equal(base64_decode(&sound, text_at(e, "audio"), strlen(text_at(e, "audio"))), 0);
        } else if (strcmp(type, "speech.part") == 0) {
            check_part(e, &end);
            assert_string_equal(text_at(e, "said"), parts ? "green hill." : "old hill.");
            assert_int_equal(json_integer_value(json_object_get(e, "part")), parts++);
        } else {
            assert_string_equal(type, "speech.audio.done");
            assert_true(number_at(e, "usage", "input_tokens") > 10 &&
                        number_at(e, "usage", "output_tokens") > 10);
            done = 1;
        }
    }
    assert_true(done && parts == 2);
    same(&expected, sound.data, sound.size);
    json_decref(all);
    buf_free(&sound);
    buf_free(&expected);
}

/* ---- languages ---- */

static int status_of(const char *json)
{
    Reply r;
    post_json(&r, port(), json);
    int status = r.status;
    reply_free(&r);
    return status;
}

static void languages_can_be_asked_for(void **state)
{
    json_t *o = get_json("/v1/voices"), *first = json_array_get(json_object_get(o, "data"), 0);
    json_t *languages = json_object_get(first, "languages");
    assert_int_equal(json_array_size(languages), 1);
    assert_string_equal(json_string_value(json_array_get(languages, 0)), "en");
    json_decref(o);
    assert_int_equal(status_of("{\"input\":\"old hill\",\"language\":\"en-us\"}"), 200);
    assert_int_equal(status_of("{\"input\":\"old hill\",\"language\":\"fr\",\"force_language\":true}"), 200);
    Reply r;
    static const char german[] = "Nahe bei dem Schlosse lag ein dunkler Wald, und darin war ein Brunnen.";
    char json[300];
    snprintf(json, sizeof json, "{\"input\":\"%s\"}", german);
    post_json(&r, port(), json);
    o = reply_object(&r, 400);
    assert_string_equal(text_at(json_object_get(o, "error"), "code"), "language_not_learned");
    json_decref(o);
    snprintf(json, sizeof json, "{\"input\":\"%s\",\"force_language\":true}", german);
    assert_int_equal(status_of(json), 200);
    ask(&r, port(), "GET", "/v1/audio/speech?input=old&language=fr", NULL, NULL, 0);
    assert_int_equal(r.status, 400);
    reply_free(&r);
    ask(&r, port(), "GET", "/v1/audio/speech?input=old&language=fr&force_language=1", NULL, NULL, 0);
    assert_int_equal(r.status, 200);
    reply_free(&r);
}

/* ---- errors ---- */

static void expect_error(const char *json, int status, const char *param, const char *word)
{
    Reply r;
    post_json(&r, port(), json);
    json_t *o = reply_object(&r, status), *e = json_object_get(o, "error");
    assert_string_equal(text_at(e, "type"), "invalid_request_error");
    assert_string_equal(text_at(e, "param"), param);
    if (!strstr(text_at(e, "message"), word))
        fail_msg("\"%s\" is not in: %s", word, text_at(e, "message"));
    json_decref(o);
}

static void errors_say_what_is_there(void **state)
{
    expect_error("{\"input\":\"a\",\"model\":\"nobody\"}", 404, "model", "run, small");
    expect_error("{\"input\":\"a\",\"voice\":\"nobody\"}", 400, "voice", "anna, boris");
    expect_error("{\"input\":\"a\",\"response_format\":\"au\"}", 400, "response_format", "mp3, wav, flac");
    expect_error("{\"model\":\"run\"}", 400, "input", "missing");
    expect_error("{\"input\":\"\\u2603\"}", 400, "input", "nothing to speak");
    expect_error("{\"input\":\"a\",\"speed\":4.5}", 400, "speed", "0.25 to 4");
    expect_error("{\"input\":\"a\",\"language\":\"fr\"}", 400, "language", "'fr': it speaks en");
    expect_error("{\"input\":\"a\",\"language\":7}", 400, "language", "must be a string");
    expect_error("{\"input\":\"a\",\"force_language\":\"yes\"}", 400, "force_language", "true or false");
    expect_error("{\"input\":\"\u0443\u0442\u0440\u043e a\"}", 400, "input", "Cyrillic script: it speaks en");
    expect_error("{\"input\":\"Nahe bei dem Schlosse lag ein dunkler Wald, und darin war ein Brunnen.\"}",
                 400, "input", "'de', which this text is in: it speaks en; force_language speaks it anyway");
    expect_error("{\"input\":\"a\",\"reference\":\"UklGRg==\"}", 400, "reference", "reference");
    Reply r;
    const char *const methods[] = {"DELETE", "HEAD", "OPTIONS"};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        ask(&r, port(), methods[i], "/v1/audio/speech", NULL, NULL, 0);
        assert_int_equal(r.status, i < 2 ? 405 : 204);
        assert_string_equal(reply_header(&r, "Allow"), "POST, GET");
        reply_free(&r);
    }
    ask(&r, port(), "POST", "/v1/audio/speech", NULL, "{}", 2);
    assert_int_equal(r.status, 415);
    reply_free(&r);
}

/* ---- clients ---- */

static double metric(const char *name) { return serve_metric(port(), name); }

/* Its talk ends, whether it has heard something or not; so does that of one who does not listen. */
static void who_leaves_is_not_spoken_to(void **state)
{
    double cancelled = metric("myxtts_cancelled_total");
    for (int heard = 0; heard < 2; heard++) {
        int fd = dial(port());
        char piece[100];
        send_speech(fd, LONG_TEXT, 20);
        if (heard)
            assert_int_equal(recv(fd, piece, sizeof piece, MSG_WAITALL), sizeof piece);
        close(fd);
    }
    for (double end = clock_now() + 60; metric("myxtts_talks_open") > 0 && clock_now() < end;)
        clock_sleep(0.02);
    assert_true(metric("myxtts_talks_open") == 0);
    assert_true(metric("myxtts_cancelled_total") > cancelled);
    assert_true(metric("myxtts_first_sound_seconds_count") > 5);
    assert_true(metric("myxtts_speech_seconds_total") > 1);
    assert_true(metric("process_resident_memory_bytes") > 1e6);
}

static void one_connection_for_many_requests(void **state)
{
    int fd = dial(port());
    for (int i = 0; i < 3; i++) {
        Reply r;
        send_speech(fd, "green hill", 1);
        read_reply(fd, &r);
        assert_int_equal(r.status, 200);
        assert_true(r.whole);
        reply_free(&r);
    }
    close(fd);
}

/* Many at once hear what each would hear alone. */
static void at_once_each_hears_its_own(void **state)
{
    static const char *const texts[] = {"green hill. old hill.", "old stone.", "a green and old hill. yes."};
    Buf expected[3];
    int fd[12];
    for (int i = 0; i < 3; i++)
        expected[i] = synth(texts[i], NULL, NULL);
    for (int i = 0; i < 12; i++) {
        fd[i] = dial(port());
        send_speech(fd[i], texts[i % 3], 1);
    }
    for (int i = 0; i < 12; i++) {
        Reply r;
        read_reply(fd[i], &r);
        same(&expected[i % 3], r.body.data, r.body.size);
        reply_free(&r);
        close(fd[i]);
    }
    for (int i = 0; i < 3; i++)
        buf_free(&expected[i]);
}

/* ---- the beginning ---- */

static void an_open_door_needs_a_key(void **state)
{
    const char *key = path_of(lab.c->root, "key"), *weak = path_of(lab.c->root, "weak");
    static const char token[] = "a-key-of-sixteen-or-more\n";
    file_put(key, token, sizeof token - 1);
    file_put(weak, "short", 5);
    expect_failure(2, ARGS("serve", lab.run, "--listen", "0.0.0.0:0"), WORDS("--token-file"), NULL);
    expect_failure(2, ARGS("serve", lab.run, "--listen", "[::]:0"), WORDS("--token-file"), NULL);
    expect_failure(2, ARGS("serve", lab.run, "--token-file", weak), WORDS("5 characters"), NULL);
    expect_failure(2, ARGS("serve", lab.run, "--listen", "nothing"), WORDS("127.0.0.1:8000"), NULL);
    expect_failure(2, ARGS("serve"), WORDS("--checkpoint"), NULL);
    expect_failure(2, ARGS("serve", lab.run, "--max-text", "none"), WORDS("--max-text"), NULL);
    ServeRun s;
    Reply r;
    serve_start(&s, ARGS("--checkpoint", lab.run, "--token-file", key));
    static const char *const wrong[] = {
        NULL, "Authorization: Bearer nothing\r\n", "Authorization: Bearer \r\n",
        "Authorization: a-key-of-sixteen-or-more\r\n",
        "Authorization: Bearer a-key-of-sixteen-or-morea-key-of-sixteen-or-more\r\n"};
    for (int i = 0; i < 5; i++) {
        ask(&r, s.port, "GET", "/v1/models", wrong[i], NULL, 0);
        assert_string_equal(reply_header(&r, "WWW-Authenticate"), "Bearer");
        json_decref(reply_object(&r, 401));
    }
    ask(&r, s.port, "GET", "/v1/models", "Authorization: Bearer a-key-of-sixteen-or-more\r\n", NULL, 0);
    json_decref(reply_object(&r, 200));
    ask(&r, s.port, "GET", "/health", NULL, NULL, 0);
    json_decref(reply_object(&r, 200));
    serve_stop(&s);
}

/* What a page elsewhere has the browser send is refused, but for a link to a page. */
static void other_sites_are_refused(void **state)
{
    static const char speech[] = "/v1/audio/speech?input=old";
    static const struct {
        const char *path, *headers;
        int status;
    } rows[] = {
        {speech, "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n", 403},
        {"/v1/voices", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n", 403},
        {"/metrics", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n", 403},
        {speech, "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n", 403},
        {speech, "Origin: https://example.com\r\n", 403},
        {speech, "Origin: http://127.0.0.1.example.com:8000\r\n", 403},
        {"/", "Origin: https://example.com\r\n", 403},
        {"/", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n", 200},
        {speech, "Sec-Fetch-Site: none\r\nSec-Fetch-Mode: navigate\r\n", 200},
        {speech, "Sec-Fetch-Site: same-origin\r\nOrigin: http://localhost:8000\r\n", 200},
        {speech, NULL, 200},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Reply r;
        ask(&r, port(), "GET", rows[i].path, rows[i].headers, NULL, 0);
        if (r.status != rows[i].status)
            fail_msg("%s with %s is answered by %d", rows[i].path, rows[i].headers, r.status);
        reply_free(&r);
    }
}

/* A voice that takes seconds for its first sound, and a server that has none. */
static void waiting_has_an_end(void **state)
{
    ServeRun s;
    Reply r;
    serve_start(&s, ARGS("--checkpoint", lab.run, "--vocoder", "griffin_lim", "--iterations", "10000",
                         "--request-timeout", "0.1"));
    post_json(&r, s.port, "{\"input\":\"green hill old hill green stone\"}");
    assert_non_null(reply_header(&r, "Retry-After"));
    json_t *o = reply_object(&r, 503);
    assert_string_equal(text_at(json_object_get(o, "error"), "code"), "timeout");
    assert_string_equal(text_at(json_object_get(o, "error"), "type"), "server_error");
    json_decref(o);
    serve_stop(&s);
}

/* ---- the end ---- */

/* What is being spoken comes to its end, nothing new begins; a second Ctrl-C does not wait. */
static void stopping_finishes_what_is_spoken(void **state)
{
    static const char health[] = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    ServeRun s;
    Reply r;
    char byte, text[16 * sizeof LONG_TEXT] = "";
    for (int i = 0; i < 16; i++)
        strcat(text, LONG_TEXT);
    Buf expected = synth(text, NULL, NULL);
    serve_start(&s, ARGS("--checkpoint", lab.run));
    int fd = dial(s.port), idle = dial(s.port);
    assert_int_equal(send_text(idle, health), 0);
    read_reply(idle, &r);
    json_decref(reply_object(&r, 200));
    send_speech(fd, LONG_TEXT, 16); /* more than fits between here and there */
    assert_int_equal(recv(fd, &byte, 1, MSG_PEEK), 1);
    kill(s.run.pid, SIGTERM);
    for (;;) { /* until it has noticed */
        assert_int_equal(send_text(idle, health), 0);
        read_reply(idle, &r);
        if (r.status != 200)
            break;
        reply_free(&r);
    }
    assert_non_null(reply_header(&r, "Connection"));
    assert_string_equal(reply_header(&r, "Connection"), "close");
    json_decref(reply_object(&r, 503));
    read_reply(fd, &r);
    assert_int_equal(r.status, 200);
    same(&expected, r.body.data, r.body.size);
    reply_free(&r);
    run_wait(&s.run, 60);
    assert_int_equal(s.run.code, 0);
    run_free(&s.run);
    close(fd);
    close(idle);
    buf_free(&expected);
    serve_start(&s, ARGS("--checkpoint", lab.run));
    fd = dial(s.port);
    send_speech(fd, LONG_TEXT, 500);
    assert_int_equal(recv(fd, &byte, 1, MSG_PEEK), 1);
    kill(s.run.pid, SIGINT);
    fcntl(s.run.err, F_SETFL, 0);
    wait_for(&s.run, "stopping");
    kill(s.run.pid, SIGINT);
    run_wait(&s.run, 60);
    assert_int_equal(s.run.code, 130);
    run_free(&s.run);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(voices_are_listed),
        cmocka_unit_test(sound_is_that_of_synth),
        cmocka_unit_test(samples_come_at_the_rate_that_is_wanted),
        cmocka_unit_test(voices_can_be_chosen_by_name),
        cmocka_unit_test(a_recording_lends_its_voice),
        cmocka_unit_test(every_format_is_sent),
        cmocka_unit_test(ssml_is_spoken),
        cmocka_unit_test(events_carry_the_sound_and_its_parts),
        cmocka_unit_test(languages_can_be_asked_for),
        cmocka_unit_test(errors_say_what_is_there),
        cmocka_unit_test(who_leaves_is_not_spoken_to),
        cmocka_unit_test(one_connection_for_many_requests),
        cmocka_unit_test(at_once_each_hears_its_own),
        cmocka_unit_test(an_open_door_needs_a_key),
        cmocka_unit_test(other_sites_are_refused),
        cmocka_unit_test(waiting_has_an_end),
        cmocka_unit_test(stopping_finishes_what_is_spoken),
    };
    return cmocka_run_group_tests(tests, setup_lab, teardown_lab);
}
