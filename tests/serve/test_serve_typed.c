/* test_serve_typed.c - POST /v1/audio/speech with a text that is still being written: it is heard before it
 * has ended, sounds as `synth` writes it, and keeps the limits of every other request. */
#include "support/command_testing.h"
#include "support/folder_testing.h"
#include "support/http_testing.h"

#include <sys/socket.h>

#include "base/base64.h"

#define TEXT "Old hill. Green hill! Is it 3.5 miles old; or 7? A g\xC3\xA4rten hill.\nOld stone"
#define WAV "?response_format=wav"

static ServeLab lab;
static ServeRun server;

static int setup_lab(void **state)
{
    if (serve_lab_open(&lab))
        return -1;
    serve_start(&server, ARGS("--checkpoint", lab.run, "--max-text", "2000", "--max-body", "0.05",
                              "--max-wait", "3600"));
    return 0;
}

static int teardown_lab(void **state)
{
    serve_stop(&server);
    return serve_lab_close(&lab);
}

static Buf synth(const char *text) { return synth_sound(lab.run, text, NULL, NULL); }

static void same(const Buf *expected, const Reply *r)
{
    if (expected->size != r->body.size || memcmp(expected->data, r->body.data, r->body.size) != 0)
        fail_msg("%zu and %zu bytes are not the same", expected->size, r->body.size);
}

/* Waits until so much of the answer is there, without taking it. */
static void hear(int fd, size_t n)
{
    char bytes[4096];
    assert_true(n <= sizeof bytes);
    if (recv(fd, bytes, n, MSG_PEEK | MSG_WAITALL) != (ssize_t)n)
        fail_msg("%zu bytes have not come", n);
    assert_memory_equal(bytes, "HTTP/1.1 200 ", 13);
}
enum { HEARD = 2000 }; /* more than the head of an answer and of a WAV */

static void type_in_pieces(int fd, const char *text, size_t piece)
{
    for (size_t at = 0, n = strlen(text); at < n; at += piece)
        type_bytes(fd, text + at, n - at < piece ? n - at : piece);
    type_end(fd);
}

static void expect_sound(int fd, const Buf *expected)
{
    Reply r;
    read_reply(fd, &r);
    if (r.status != 200)
        fail_msg("%d: %s", r.status, (const char *)r.body.data);
    assert_true(r.whole);
    same(expected, &r);
    reply_free(&r);
    close(fd);
}

/* An error before any sound. */
static void expect_refusal(int fd, int status, const char *param, const char *words)
{
    Reply r;
    read_reply(fd, &r);
    json_t *o = reply_object(&r, status), *e = json_object_get(o, "error");
    if (param)
        assert_string_equal(text_at(e, "param"), param);
    if (!strstr(text_at(e, "message"), words))
        fail_msg("\"%s\" is not in: %s", words, text_at(e, "message"));
    json_decref(o);
    close(fd);
}

/* Sound, but no end of it: the connection has ended, and not only its patience. */
static void expect_cut(int fd)
{
    Reply r;
    char byte;
    read_reply(fd, &r);
    assert_int_equal(r.status, 200);
    assert_true(r.body.size > 44);
    assert_false(r.whole);
    ssize_t n = recv(fd, &byte, 1, 0);
    assert_true(n >= 0 || errno == ECONNRESET);
    reply_free(&r);
    close(fd);
}

/* But for the connection that asks; the one before it takes a moment to go. */
static void nothing_is_left(int port)
{
    double talks = -1, connections = -1;
    for (double end = clock_now() + 60; clock_now() < end;) {
        clock_sleep(0.05);
        talks = serve_metric(port, "myxtts_talks_open");
        clock_sleep(0.05);
        connections = serve_metric(port, "myxtts_http_connections");
        if (talks == 0 && connections == 1)
            return;
    }
    fail_msg("%g talks and %g connections are left", talks, connections);
}

/* ---- sound ---- */

static void the_first_sentence_is_heard_before_the_last_is_written(void **state)
{
    Buf expected = synth("old hill. green hill.");
    Reply r;
    int fd = type_open(server.port, WAV, NULL);
    type_text(fd, "old hill. gr");
    hear(fd, HEARD);
    type_text(fd, "een hill.");
    type_end(fd);
    read_reply(fd, &r);
    assert_string_equal(reply_header(&r, "Content-Type"), "audio/wav");
    assert_string_equal(reply_header(&r, "X-Sample-Rate"), "8000");
    assert_string_equal(reply_header(&r, "Connection"), "close");
    assert_string_equal(reply_header(&r, "Cache-Control"), "no-store");
    assert_true(r.whole);
    same(&expected, &r);
    reply_free(&r);
    close(fd);
    buf_free(&expected);
}

static void pieces_sound_as_the_whole_does(void **state)
{
    static const size_t sizes[] = {1, 7, 33, sizeof TEXT};
    static const char ssml[] = "<speak>old hill. <break time='1s'/> green hill.</speak>";
    Buf expected = synth(TEXT), marked = synth(ssml),
        boris = synth_sound(lab.run, TEXT, "--speaker", "boris");
    int fd;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        fd = type_open(server.port, WAV, NULL);
        type_in_pieces(fd, TEXT, sizes[i]);
        expect_sound(fd, &expected);
    }
    fd = type_open(server.port, WAV "&voice=boris", "Expect: 100-continue\r\n");
    type_in_pieces(fd, TEXT, 9);
    expect_sound(fd, &boris);
    fd = type_open(server.port, WAV, NULL);
    type_in_pieces(fd, ssml, 5);
    expect_sound(fd, &marked);
    /* On a connection that was used before, with headers behind the body. */
    Reply r;
    fd = type_open(server.port, WAV, NULL);
    close(fd);
    fd = dial(server.port);
    send_speech(fd, "old hill", 1);
    read_reply(fd, &r);
    assert_int_equal(r.status, 200);
    reply_free(&r);
    send_text(fd, "POST /v1/audio/speech" WAV " HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain; "
                  "charset=utf-8\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n");
    type_bytes(fd, TEXT, sizeof TEXT - 1);
    send_text(fd, "0\r\nX: y\r\nX-Long: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n\r\n");
    expect_sound(fd, &expected);
    buf_free(&expected);
    buf_free(&marked);
    buf_free(&boris);
}

/* A text that comes with its length, or from a client that knows no chunks, is an ordinary request. */
static void a_text_of_known_length_is_spoken_too(void **state)
{
    Buf expected = synth(TEXT);
    Reply r;
    char request[400];
    int fd = dial(server.port);
    snprintf(request, sizeof request,
             "POST /v1/audio/speech" WAV " HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
             "Content-Length: %zu\r\n\r\n" TEXT,
             sizeof TEXT - 1);
    for (int i = 0; i < 2; i++) { /* the connection stays */
        send_text(fd, request);
        read_reply(fd, &r);
        assert_int_equal(r.status, 200);
        assert_non_null(reply_header(&r, "X-Myxtts-Left-Out"));
        assert_true(r.whole);
        same(&expected, &r);
        reply_free(&r);
    }
    close(fd);
    fd = dial(server.port);
    send_text(fd, "POST /v1/audio/speech" WAV " HTTP/1.0\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
                  "Transfer-Encoding: chunked\r\n\r\n");
    type_in_pieces(fd, TEXT, 7);
    expect_sound(fd, &expected);
    buf_free(&expected);
}

static void every_format_is_heard(void **state)
{
    static const char *const formats[][3] = {{"wav", "audio/wav", "RIFF"},
                                             {"pcm", "audio/pcm", ""},
                                             {"flac", "audio/flac", "fLaC"},
                                             {"opus", "audio/ogg", "OggS"},
                                             {"mp3", "audio/mpeg", ""}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        char query[100], json[200];
        Reply r, whole;
        snprintf(query, sizeof query, "?response_format=%s", formats[i][0]);
        snprintf(json, sizeof json, "{\"input\":\"old hill. green hill.\",\"response_format\":\"%s\"}",
                 formats[i][0]);
        post_json(&whole, server.port, json);
        int fd = type_open(server.port, query, NULL);
        if (whole.status == 400) {
            print_message("SKIPPED: this libsndfile writes no %s\n", formats[i][0]);
            expect_refusal(fd, 400, "response_format", "");
            reply_free(&whole);
            continue;
        }
        type_in_pieces(fd, "old hill. green hill.", 3);
        read_reply(fd, &r);
        assert_int_equal(r.status, 200);
        assert_string_equal(reply_header(&r, "Content-Type"), formats[i][1]);
        assert_memory_equal(r.body.data, formats[i][2], strlen(formats[i][2]));
        assert_true(r.whole);
        if (strcmp(formats[i][0], "opus") == 0) /* a number of its own in each stream */
            assert_int_equal(r.body.size, whole.body.size);
        else
            same(&whole.body, &r);
        reply_free(&r);
        reply_free(&whole);
        close(fd);
    }
}

/* The events, an array; the sound of them is appended. */
static json_t *events_of(const Reply *r, Buf *sound)
{
    json_t *all = json_array();
    for (const char *p = r->body.data; *p; p = strstr(p, "\n\n") + 2) {
        assert_memory_equal(p, "data: ", 6);
        assert_non_null(strstr(p, "\n\n"));
        json_t *o = json_loadb(p + 6, (size_t)(strstr(p, "\n\n") - p) - 6, 0, NULL);
        assert_non_null(o);
        if (strcmp(text_at(o, "type"), "speech.audio.delta") == 0)
            assert_int_equal(base64_decode(sound, text_at(o, "audio"), strlen(text_at(o, "audio"))), 0);
        json_array_append_new(all, o);
    }
    return all;
}

static json_t *last_of(const json_t *events) { return json_array_get(events, json_array_size(events) - 1); }

/* Places in the text and in the sound are those of the whole, whatever came apart. */
static void events_tell_of_the_whole(void **state)
{
    static const char text[] = "old hill. green \xEE\x80\x80 hill. \xEE\x80\x80 old stone. yes.";
    char json[300];
    Reply r, whole;
    Buf sound = {0}, expected = {0};
    snprintf(json, sizeof json,
             "{\"input\":\"%s\",\"response_format\":\"wav\",\"stream_format\":\"sse\",\"details\":true}",
             text);
    post_json(&whole, server.port, json);
    assert_int_equal(whole.status, 200);
    int fd = type_open(server.port, WAV "&stream_format=sse&details=true", NULL);
    type_in_pieces(fd, text, 1);
    read_reply(fd, &r);
    assert_string_equal(reply_header(&r, "Content-Type"), "text/event-stream");
    assert_true(r.whole);
    json_t *is = events_of(&r, &sound), *due = events_of(&whole, &expected);
    assert_int_equal(sound.size, expected.size);
    assert_memory_equal(sound.data, expected.data, sound.size);
    assert_int_equal(json_integer_value(json_object_get(last_of(is), "left_out")), 2);
    assert_true(json_equal(json_object_get(last_of(is), "left_out_pieces"),
                           json_object_get(last_of(due), "left_out_pieces")));
    size_t i, k = 0;
    json_t *e;
    json_array_foreach(due, i, e)
    {
        if (strcmp(text_at(e, "type"), "speech.part") != 0)
            continue;
        while (strcmp(text_at(json_array_get(is, k), "type"), "speech.part") != 0)
            k++;
        assert_true(json_equal(e, json_array_get(is, k++)));
    }
    json_decref(is);
    json_decref(due);
    reply_free(&r);
    reply_free(&whole);
    close(fd);
    buf_free(&sound);
    buf_free(&expected);
    /* An error in the middle is an event. */
    fd = type_open(server.port, WAV "&stream_format=sse", NULL);
    type_text(fd, "old hill. gr");
    hear(fd, HEARD);
    type_text(fd, "een \xFF\xFF\xFF\xFF hill.");
    read_reply(fd, &r);
    assert_true(r.whole);
    is = events_of(&r, &sound);
    assert_string_equal(text_at(last_of(is), "type"), "error");
    json_decref(is);
    reply_free(&r);
    buf_free(&sound);
    close(fd);
}

static void many_write_at_once(void **state)
{
    enum { MANY = 90 };
    static const char *const texts[] = {"old hill. green hill. old stone.", TEXT,
                                        "green stone; yes. old hill"};
    Buf expected[3];
    int fd[MANY];
    for (int i = 0; i < 3; i++)
        expected[i] = synth(texts[i]);
    for (int i = 0; i < MANY; i++)
        fd[i] = type_open(server.port, WAV, NULL);
    for (size_t at = 0; at < sizeof TEXT; at += 5)
        for (int i = 0; i < MANY; i++) {
            const char *text = texts[i % 3];
            const size_t n = strlen(text);
            if (at < n)
                type_bytes(fd[i], text + at, n - at < 5 ? n - at : 5);
        }
    for (int i = 0; i < MANY; i++) {
        type_end(fd[i]);
        expect_sound(fd[i], &expected[i % 3]);
    }
    nothing_is_left(server.port);
    for (int i = 0; i < 3; i++)
        buf_free(&expected[i]);
}

/* ---- errors ---- */

/* Without a sentence, without anything but blanks, and without an end to its first part. */
static void refuse_endless_texts(void)
{
    int fd = type_open(server.port, "", NULL);
    for (int i = 0; i < 300; i++)
        type_text(fd, "old hill ");
    expect_refusal(fd, 400, "input", "2000 characters");
    fd = type_open(server.port, "", NULL);
    for (int i = 0; i < 3000; i++)
        type_text(fd, "\n");
    expect_refusal(fd, 400, "input", "2000 characters");
    char *large = calloc(1, 60000);
    memset(large, 'a', 60000);
    fd = type_open(server.port, "", NULL);
    type_bytes(fd, large, 60000);
    Reply r;
    read_reply(fd, &r);
    assert_true(r.status == 413 || r.status == 400); /* bytes of a body, or characters of its first part */
    reply_free(&r);
    close(fd);
    free(large);
}

static void what_is_wrong_is_said_before_any_sound(void **state)
{
    static const struct {
        const char *query, *text;
        int status;
        const char *param, *words;
    } rows[] = {
        {"?voice=nobody", NULL, 400, "voice", "anna, boris"},
        {"?model=nobody", NULL, 404, "model", "run"},
        {"?response_format=au", NULL, 400, "response_format", "mp3, wav, flac"},
        {"?speed=9", NULL, 400, "speed", "0.25 to 4"},
        {"?input=a", NULL, 400, "input", "leave it out"},
        {"?language=fr", "old hill. ", 400, "language", "'fr': it speaks en"},
        {"", "\xD1\x83\xD1\x82\xD1\x80\xD0\xBE. ", 400, "input", "Cyrillic"},
        {"", "", 400, "input", "nothing to speak"},
        {"", " \n \r\n\t ", 400, "input", "nothing to speak"},
        {"", "\xE2\x98\x83", 400, "input", "nothing to speak"},
        {"", "old \xFF\xFE\xFD\xFC hill", 400, "input", "not UTF-8"},
        {"", "old \xE2\x98", 400, "input", "not UTF-8"},
        {"?ssml=true", "old hill. ", 400, "input", "line 1, column 1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int fd = type_open(server.port, rows[i].query, NULL);
        if (rows[i].text && *rows[i].text)
            type_text(fd, rows[i].text);
        if (rows[i].text)
            type_end(fd);
        expect_refusal(fd, rows[i].status, rows[i].param, rows[i].words);
    }
    int fd = type_open(server.port, "", NULL);
    type_bytes(fd, "old\0hill", 8);
    expect_refusal(fd, 400, "input", "NUL");
    refuse_endless_texts();
    Reply r;
    ask(&r, server.port, "POST", "/v1/audio/speech", "Content-Type: text/html\r\n", "a", 1);
    json_t *o = reply_object(&r, 415);
    assert_non_null(
        strstr(text_at(json_object_get(o, "error"), "message"), "application/json or text/plain"));
    json_decref(o);
    /* A client hears of an error while it goes on writing. */
    fd = type_open(server.port, "", NULL);
    type_text(fd, "\xFF\xFF\xFF\xFF");
    assert_int_equal(recv(fd, &(char){0}, 1, MSG_PEEK), 1);
    for (int i = 0; i < 20; i++)
        type_text(fd, "old hill. ");
    expect_refusal(fd, 400, "input", "not UTF-8");
    nothing_is_left(server.port);
}

static void an_error_in_the_middle_cuts_it_short(void **state)
{
    static const char *const wrong[] = {"\xFF\xFF\xFF\xFF", "\xD1\x83\xD1\x82\xD1\x80\xD0\xBE. a"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int fd = type_open(server.port, WAV, NULL);
        type_text(fd, "old hill. green");
        hear(fd, HEARD);
        type_text(fd, " hill. ");
        type_text(fd, wrong[i]);
        expect_cut(fd);
    }
    int fd = type_open(server.port, WAV, NULL);
    type_text(fd, "old hill. green");
    hear(fd, HEARD);
    for (int i = 0; i < 2200 && !type_text(fd, "a"); i++) {
    }
    expect_cut(fd);
    /* Chunks that are none: whatever comes is no end of the sound. */
    fd = type_open(server.port, WAV, NULL);
    type_text(fd, "old hill. green");
    hear(fd, HEARD);
    send_text(fd, "hill\r\n");
    expect_cut(fd);
    nothing_is_left(server.port);
}

static void a_line_that_says_nothing_is_passed_over(void **state)
{
    Reply r;
    int fd = type_open(server.port, WAV, NULL);
    type_text(fd, "\xE2\x98\x83\n\nold");
    clock_sleep(0.2); /* it is a talk of its own */
    type_text(fd, " hill.\n\xE2\x98\x83\n\n- - -\n\ngreen hill.\n");
    type_end(fd);
    read_reply(fd, &r);
    assert_int_equal(r.status, 200);
    assert_true(r.whole && r.body.size > 5000);
    reply_free(&r);
    close(fd);
}

/* ---- limits ---- */

static void who_may_not_is_told(void **state)
{
    static const char token[] = "a-key-of-sixteen-or-more\n";
    const char *key = path_of(lab.c->root, "key");
    ServeRun s;
    int fd = type_open(server.port, "", "Origin: https://example.com\r\n");
    expect_refusal(fd, 403, NULL, "other sites");
    fd = type_open(server.port, "", "Sec-Fetch-Site: cross-site\r\n");
    expect_refusal(fd, 403, NULL, "other sites");
    file_put(key, token, sizeof token - 1);
    serve_start(&s, ARGS("--checkpoint", lab.run, "--token-file", key));
    fd = type_open(s.port, "", NULL);
    expect_refusal(fd, 401, NULL, "token");
    fd = type_open(s.port, WAV, "Authorization: Bearer a-key-of-sixteen-or-more\r\n");
    Buf expected = synth("old hill.");
    type_in_pieces(fd, "old hill.", 4);
    expect_sound(fd, &expected);
    buf_free(&expected);
    serve_stop(&s);
}

/* Only a text that is being spoken counts. */
static void too_many_are_told_when_to_come_again(void **state)
{
    ServeRun s;
    Reply r;
    char byte;
    serve_start(&s, ARGS("--checkpoint", lab.run, "--max-requests", "1", "--max-wait", "3600"));
    int first = dial(s.port), fd = type_open(s.port, WAV, NULL);
    type_text(fd, "old"); /* no sentence: nothing is spoken */
    send_speech(first, LONG_TEXT, 40);
    assert_int_equal(recv(first, &byte, 1, MSG_PEEK), 1);
    type_text(fd, " hill. a");
    read_reply(fd, &r);
    assert_non_null(reply_header(&r, "Retry-After"));
    assert_in_range(atoi(reply_header(&r, "Retry-After")), 1, 60);
    json_t *o = reply_object(&r, 429);
    assert_string_equal(text_at(json_object_get(o, "error"), "code"), "rate_limit_exceeded");
    json_decref(o);
    close(fd);
    close(first);
    nothing_is_left(s.port);
    Buf expected = synth("old hill.");
    fd = type_open(s.port, WAV, NULL);
    type_in_pieces(fd, "old hill.", 1);
    expect_sound(fd, &expected);
    buf_free(&expected);
    serve_stop(&s);
}

/* Who stops writing, before the first sentence and behind it, and who stops listening. */
static void standing_still_has_an_end(void **state)
{
    ServeRun s;
    Reply r;
    serve_start(&s, ARGS("--checkpoint", lab.run, "--request-timeout", "1", "--max-wait", "3600"));
    int silent = type_open(s.port, WAV, NULL), half = type_open(s.port, WAV, NULL),
        heard = type_open(s.port, WAV, NULL), deaf = type_open(s.port, WAV "&sample_rate=48000", NULL);
    type_text(half, "old hi");
    type_text(heard, "old hill. gr");
    for (int i = 0; i < 40; i++)
        type_text(deaf, LONG_TEXT);
    expect_refusal(silent, 408, NULL, "not complete in time");
    expect_refusal(half, 408, NULL, "not complete in time");
    expect_cut(heard);
    nothing_is_left(s.port);
    read_reply(deaf, &r);
    assert_int_equal(r.status, 200);
    assert_false(r.whole);
    reply_free(&r);
    close(deaf);
    /* A text that goes on has time, however long it takes. */
    Buf expected = synth("old hill. green hill.");
    int fd = type_open(s.port, WAV, NULL);
    for (const char *p = "old hill. green hill."; *p; p++) {
        type_bytes(fd, p, 1);
        clock_sleep(0.1);
    }
    type_end(fd);
    expect_sound(fd, &expected);
    buf_free(&expected);
    serve_stop(&s);
}

/* A voice that is too slow for its server. */
static void waiting_for_sound_has_an_end(void **state)
{
    ServeRun s;
    serve_start(&s, ARGS("--checkpoint", lab.run, "--vocoder", "griffin_lim", "--iterations", "6000",
                         "--request-timeout", "0.2"));
    int fd = type_open(s.port, WAV, NULL);
    type_text(fd, "green hill old hill green stone old stone green hill. a");
    expect_refusal(fd, 503, NULL, "too long");
    serve_stop(&s);
}

static void who_leaves_is_not_spoken_to(void **state)
{
    const double cancelled = serve_metric(server.port, "myxtts_cancelled_total");
    for (int i = 0; i < 24; i++) {
        int fd = type_open(server.port, WAV, NULL);
        if (i % 4)
            type_text(fd, LONG_TEXT LONG_TEXT);
        if (i % 4 == 2)
            hear(fd, HEARD);
        if (i % 4 == 3)
            type_end(fd);
        if (i % 3 == 0)
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
        close(fd);
    }
    nothing_is_left(server.port);
    assert_true(serve_metric(server.port, "myxtts_cancelled_total") > cancelled);
}

/* ---- the end ---- */

static void stopping_lets_it_be_written_to_its_end(void **state)
{
    static const char health[] = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    Buf expected = synth(TEXT);
    ServeRun s;
    Reply r;
    serve_start(&s, ARGS("--checkpoint", lab.run));
    int fd = type_open(s.port, WAV, NULL), idle = dial(s.port);
    type_bytes(fd, TEXT, 20);
    hear(fd, HEARD);
    kill(s.run.pid, SIGTERM);
    for (int status = 200; status == 200;) { /* until it has noticed */
        assert_int_equal(send_text(idle, health), 0);
        read_reply(idle, &r);
        status = r.status;
        reply_free(&r);
    }
    type_in_pieces(fd, TEXT + 20, 5);
    expect_sound(fd, &expected);
    run_wait(&s.run, 60);
    assert_int_equal(s.run.code, 0);
    run_free(&s.run);
    close(idle);
    buf_free(&expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_sentence_is_heard_before_the_last_is_written),
        cmocka_unit_test(pieces_sound_as_the_whole_does),
        cmocka_unit_test(a_text_of_known_length_is_spoken_too),
        cmocka_unit_test(every_format_is_heard),
        cmocka_unit_test(events_tell_of_the_whole),
        cmocka_unit_test(many_write_at_once),
        cmocka_unit_test(what_is_wrong_is_said_before_any_sound),
        cmocka_unit_test(an_error_in_the_middle_cuts_it_short),
        cmocka_unit_test(a_line_that_says_nothing_is_passed_over),
        cmocka_unit_test(who_may_not_is_told),
        cmocka_unit_test(too_many_are_told_when_to_come_again),
        cmocka_unit_test(standing_still_has_an_end),
        cmocka_unit_test(waiting_for_sound_has_an_end),
        cmocka_unit_test(who_leaves_is_not_spoken_to),
        cmocka_unit_test(stopping_lets_it_be_written_to_its_end),
    };
    return cmocka_run_group_tests(tests, setup_lab, teardown_lab);
}
