/* test_wyoming.c - the Wyoming port over real sockets: what it says of the voices, sound that is that of the
 * studio, text in chunks, clients that send nonsense, stand still or leave, and an end that finishes what is
 * being spoken. tests/serve/test_wyoming.sh lets the protocol's own package speak with it. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "audio/wav.h"
#include "base/clock.h"
#include "base/thread.h"
#include "serve/wyoming.h"
#include "serve/wyoming_event.h"
#include "support/folder_testing.h"
#include "support/voice_testing.h"

#define TEXT "Old hill. Green hill! Is it 3.5 miles old; or 7? \xDA\x86\xDB\x8C hill.\nGreen"

#define CHECKPOINT "tests/golden/checkpoint.safetensors"

static struct {
    Folder folder;
    char both[300]; /* a voice of English and German */
    Device *device;
    Log log;
} lab;

static int setup_lab(void **state)
{
    lab.folder = folder_make();
    snprintf(lab.both, sizeof lab.both, "%s", folder_file(&lab.folder, "voice.safetensors"));
    write_languages(lab.both, CHECKPOINT, "{\"codes\": [\"en\", \"de\"], \"scripts\": [\"Latn\"]}", 2);
    log_init(&lab.log, LOG_ERROR);
    return device_open(&lab.device, "cpu", &(DeviceOptions){.log = &lab.log}, NULL);
}

static int teardown_lab(void **state)
{
    device_close(lab.device);
    folder_remove(&lab.folder);
    return 0;
}

/* --- a port --- */

typedef struct Port {
    Studio *studio;
    Wyoming *w;
    struct sockaddr_in address;
} Port;

static const char *const names[] = {"hills", "again"};

static void port_open(Port *p, WyomingOptions o, int most_talks)
{
    Err err = {0};
    const StudioVoice voices[] = {{CHECKPOINT, "griffin_lim", 4}, {lab.both, "griffin_lim", 1}};
    StudioOptions s = {.voices = voices,
                       .count = 2,
                       .device = lab.device,
                       .threads = 1,
                       .most_talks = most_talks,
                       .log = &lab.log};
    if (studio_open(&p->studio, &s, &err))
        fail_msg("%s", err.msg);
    o.listen = o.listen ? o.listen : "127.0.0.1:0";
    o.names = names;
    o.version = "1";
    o.log = &lab.log;
    o.stop_seconds = o.stop_seconds ? o.stop_seconds : 60;
    if (wyoming_open(&p->w, p->studio, &o, &err))
        fail_msg("%s", err.msg);
    p->address = (struct sockaddr_in){.sin_family = AF_INET};
    p->address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    p->address.sin_port = htons((uint16_t)atoi(strrchr(wyoming_address(p->w), ':') + 1));
}

static void port_close(Port *p)
{
    StudioReport r;
    wyoming_close(p->w);
    studio_report(p->studio, &r);
    assert_int_equal(r.open, 0);
    studio_close(p->studio);
}

/* --- a client --- */

typedef struct Client {
    int fd;
    Buf in;
} Client;

static void client_open(Client *c, const Port *p)
{
    const struct timeval patience = {.tv_sec = 60};
    *c = (Client){.fd = socket(AF_INET, SOCK_STREAM, 0)};
    assert_true(c->fd >= 0);
    setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    assert_int_equal(connect(c->fd, (const struct sockaddr *)&p->address, sizeof p->address), 0);
}

static void client_close(Client *c)
{
    close(c->fd);
    buf_free(&c->in);
}

/* The server may have ended the connection meanwhile. */
static void client_send(Client *c, const void *bytes, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t sent = send(c->fd, (const char *)bytes + at, n - at, MSG_NOSIGNAL);
        if (sent < 0)
            return;
        at += (size_t)sent;
    }
}
static void client_say(Client *c, const char *line) { client_send(c, line, strlen(line)); }

static int client_read(Client *c)
{
    char bytes[4096];
    ssize_t n = recv(c->fd, bytes, sizeof bytes, 0);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        fail_msg("the server says nothing");
    if (n > 0)
        buf_add(&c->in, bytes, (size_t)n);
    return n > 0;
}

/* The next event, its data as JSON under "data"; its payload goes to *payload. NULL: the end. */
static json_t *client_event(Client *c, Buf *payload)
{
    char *end = NULL;
    while (!c->in.size || !(end = memchr(c->in.data, '\n', c->in.size)))
        if (!client_read(c))
            return NULL;
    const size_t line = (size_t)(end - c->in.data) + 1;
    json_t *head = json_loadb(c->in.data, line, 0, NULL);
    assert_non_null(head);
    const size_t data = (size_t)json_integer_value(json_object_get(head, "data_length")),
                 more = (size_t)json_integer_value(json_object_get(head, "payload_length"));
    while (c->in.size < line + data + more)
        assert_true(client_read(c));
    json_t *o = data ? json_loadb(c->in.data + line, data, 0, NULL) : json_object();
    assert_non_null(o);
    json_object_set_new(head, "data", o);
    if (payload)
        buf_add(payload, c->in.data + line + data, more);
    memmove(c->in.data, c->in.data + line + data + more, c->in.size - line - data - more);
    c->in.size -= line + data + more;
    return head;
}

static const char *type_of(const json_t *event) { return json_string_value(json_object_get(event, "type")); }

static json_t *expect_event(Client *c, const char *type, Buf *payload)
{
    json_t *event = client_event(c, payload);
    if (!event)
        fail_msg("the connection ended where %s was expected", type);
    if (strcmp(type_of(event), type) != 0) {
        char *text = json_dumps(event, 0);
        fail_msg("%s came where %s was expected", text, type);
    }
    return event;
}

/* audio-start, chunks, audio-stop; the samples are appended to sound. */
static void expect_sound(Client *c, Buf *sound)
{
    json_t *event = expect_event(c, "audio-start", NULL);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(event, "data"), "rate")), 8000);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(event, "data"), "width")), 2);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(event, "data"), "channels")), 1);
    json_decref(event);
    const size_t before = sound->size;
    for (;;) {
        const size_t at = sound->size - before;
        event = client_event(c, sound);
        assert_non_null(event);
        const json_t *data = json_object_get(event, "data");
        assert_int_equal(json_integer_value(json_object_get(data, "timestamp")), at / 2 * 1000 / 8000);
        int over = strcmp(type_of(event), "audio-stop") == 0;
        if (!over)
            assert_string_equal(type_of(event), "audio-chunk");
        json_decref(event);
        if (over)
            return;
        assert_true(sound->size - before > at);
    }
}

static void expect_end(Client *c) { assert_null(client_event(c, NULL)); }

/* An error event, and then the end. Its text holds the words. */
static void expect_error(Client *c, const char *code, const char *words)
{
    json_t *event = expect_event(c, "error", NULL);
    const json_t *data = json_object_get(event, "data");
    const char *text = json_string_value(json_object_get(data, "text"));
    if (!text || !strstr(text, words))
        fail_msg("\"%s\" is not in: %s", words, text ? text : "nothing");
    assert_string_equal(json_string_value(json_object_get(data, "code")), code);
    json_decref(event);
    expect_end(c);
}

/* An event as the protocol's own package writes it. */
static void client_event_out(Client *c, const char *type, json_t *data)
{
    Buf out = {0};
    assert_int_equal(wyoming_event_write(&out, type, data, NULL, 0, NULL), 0);
    client_send(c, out.data, out.size);
    buf_free(&out);
}

static void synthesize(Client *c, const char *text, const char *voice, const char *speaker)
{
    json_t *data = json_pack("{s:s}", "text", text);
    if (voice)
        json_object_set_new(data, "voice", json_pack("{s:s, s:s*}", "name", voice, "speaker", speaker));
    client_event_out(c, "synthesize", data);
}

/* What the studio says. */
static void studio_sound(Port *p, Buf *sound, const char *text, int voice)
{
    Talk *t;
    TalkPiece piece;
    Err err = {0};
    int rc = talk_begin(&t, p->studio,
                        &(TalkOrder){.voice = voice, .text = text, .size = strlen(text), .speed = 1}, &err);
    assert_int_equal(rc, 0);
    while ((rc = talk_next(t, &piece, 1, &err)) == TALK_PIECE)
        assert_int_equal(wav_samples(sound, piece.samples, piece.count, &err), 0);
    if (rc)
        fail_msg("%s", err.msg);
    talk_close(t);
}

static void same_sound(const Buf *a, const Buf *b)
{
    assert_true(a->size > 2000);
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->data, b->data, a->size);
}

static void expect_works(const Port *p)
{
    Client c;
    Buf sound = {0};
    client_open(&c, p);
    synthesize(&c, "old hill", NULL, NULL);
    expect_sound(&c, &sound);
    assert_true(sound.size > 1000);
    buf_free(&sound);
    client_close(&c);
}

/* --- what is asked for --- */

static void voices_are_described(void **state)
{
    Port p;
    Client c;
    port_open(&p, (WyomingOptions){0}, 0);
    client_open(&c, &p);
    client_say(&c, "{\"type\": \"describe\"}\n{\"type\": \"ping\", \"data\": {\"text\": \"\\u0686\"}}\n");
    json_t *event = expect_event(&c, "info", NULL);
    const json_t *program = json_array_get(json_object_get(json_object_get(event, "data"), "tts"), 0);
    assert_string_equal(json_string_value(json_object_get(program, "name")), "myxtts");
    assert_true(json_is_true(json_object_get(program, "supports_synthesize_streaming")));
    const json_t *voices = json_object_get(program, "voices"), *voice = json_array_get(voices, 1);
    assert_int_equal(json_array_size(voices), 2);
    assert_string_equal(json_string_value(json_object_get(voice, "name")), "again");
    assert_string_equal(json_string_value(json_array_get(json_object_get(voice, "languages"), 0)), "en");
    assert_string_equal(json_string_value(json_array_get(json_object_get(voice, "languages"), 1)), "de");
    assert_true(json_is_true(json_object_get(voice, "installed")));
    assert_int_equal(json_array_size(json_object_get(voice, "speakers")), 1);
    json_decref(event);
    event = expect_event(&c, "pong", NULL);
    assert_string_equal(json_string_value(json_object_get(json_object_get(event, "data"), "text")),
                        "\xDA\x86");
    json_decref(event);
    client_say(&c, "{\"type\": \"ping\"}\n");
    json_decref(expect_event(&c, "pong", NULL));
    client_close(&c);
    port_close(&p);
}

static void sound_is_that_of_the_studio(void **state)
{
    Port p;
    Client c;
    Buf is = {0}, expected = {0}, other = {0};
    port_open(&p, (WyomingOptions){0}, 0);
    client_open(&c, &p);
    studio_sound(&p, &expected, TEXT, 0);
    synthesize(&c, TEXT, NULL, NULL);
    expect_sound(&c, &is);
    same_sound(&is, &expected);

    /* Two at once, the second in another voice; whoever shuts his side down still hears all of it. */
    buf_clear(&is);
    synthesize(&c, TEXT, "hills", NULL);
    synthesize(&c, TEXT, "again", "anna");
    shutdown(c.fd, SHUT_WR);
    expect_sound(&c, &is);
    same_sound(&is, &expected);
    buf_clear(&is);
    buf_clear(&expected);
    expect_sound(&c, &is);
    studio_sound(&p, &expected, TEXT, 1);
    same_sound(&is, &expected);
    expect_end(&c);
    client_close(&c);

    /* By language. */
    client_open(&c, &p);
    client_event_out(&c, "synthesize",
                     json_pack("{s:s, s:{s:s}}", "text", TEXT, "voice", "language", "en_US"));
    buf_clear(&expected);
    studio_sound(&p, &expected, TEXT, 0);
    expect_sound(&c, &other);
    same_sound(&other, &expected);

    /* Only the second voice has this one, and it sounds otherwise than its first. */
    client_event_out(&c, "synthesize",
                     json_pack("{s:s, s:{s:s}}", "text", TEXT, "voice", "language", "de_AT"));
    buf_clear(&expected);
    buf_clear(&other);
    studio_sound(&p, &expected, TEXT, 1);
    expect_sound(&c, &other);
    assert_true(other.size != expected.size || memcmp(other.data, expected.data, other.size) != 0);
    client_close(&c);
    buf_free(&is);
    buf_free(&expected);
    buf_free(&other);
    port_close(&p);
}

/* Whole, and in chunks that are no documents. */
static void ssml_is_spoken(void **state)
{
    static const char text[] = "<speak>Old hill. <break time='1s'/> Green hill.</speak>";
    Port p;
    Client c;
    Buf is = {0}, expected = {0}, plain = {0};
    port_open(&p, (WyomingOptions){0}, 0);
    studio_sound(&p, &expected, text, 0);
    studio_sound(&p, &plain, "Old hill. Green hill.", 0);
    assert_true(expected.size > plain.size);
    client_open(&c, &p);
    synthesize(&c, text, NULL, NULL);
    expect_sound(&c, &is);
    same_sound(&is, &expected);
    buf_clear(&is);
    client_event_out(&c, "synthesize-start", NULL);
    for (size_t at = 0; at < sizeof text - 1; at += 7)
        client_event_out(
            &c, "synthesize-chunk",
            json_pack("{s:s%}", "text", text + at, sizeof text - 1 - at < 7 ? sizeof text - 1 - at : 7));
    client_event_out(&c, "synthesize-stop", NULL);
    expect_sound(&c, &is);
    same_sound(&is, &expected);
    client_close(&c);
    buf_free(&is);
    buf_free(&expected);
    buf_free(&plain);
    port_close(&p);
}

/* Whatever the pieces are in which a text comes, it sounds like all of it at once. */
static void text_in_chunks(void **state)
{
    const size_t sizes[] = {1, 7, 33, sizeof TEXT};
    Port p;
    Client c;
    Buf expected = {0};
    port_open(&p, (WyomingOptions){0}, 0);
    studio_sound(&p, &expected, TEXT, 1);
    client_open(&c, &p);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        Buf is = {0};
        client_event_out(&c, "synthesize-start",
                         json_pack("{s:{s:s, s:s}}", "voice", "name", "again", "speaker", "anna"));
        for (size_t at = 0; at < strlen(TEXT);) {
            size_t n = sizes[k] < strlen(TEXT) - at ? sizes[k] : strlen(TEXT) - at;
            while (((unsigned char)TEXT[at + n] & 0xC0) == 0x80) /* whole characters */
                n++;
            client_event_out(&c, "synthesize-chunk", json_pack("{s:s%}", "text", TEXT + at, n));
            at += n;
        }
        synthesize(&c, TEXT, NULL, NULL); /* as Home Assistant does, for those who know no streams */
        client_event_out(&c, "synthesize-stop", NULL);
        expect_sound(&c, &is);
        json_decref(expect_event(&c, "synthesize-stopped", NULL));
        same_sound(&is, &expected);
        buf_free(&is);
    }
    client_close(&c);

    /* The first sentence is heard before the last has come, and a picture is passed over. */
    client_open(&c, &p);
    client_event_out(&c, "synthesize-start", NULL);
    client_event_out(&c, "synthesize-chunk", json_pack("{s:s}", "text", "Old hill. "));
    client_event_out(&c, "synthesize-chunk", json_pack("{s:s}", "text", "Green "));
    json_decref(expect_event(&c, "audio-start", NULL));
    json_decref(expect_event(&c, "audio-chunk", NULL));
    client_event_out(&c, "synthesize-chunk", json_pack("{s:s}", "text", "hill.\n\xF0\x9F\x8E\x89\n"));
    client_event_out(&c, "synthesize-stop", NULL);
    for (;;) {
        json_t *event = client_event(&c, NULL);
        assert_non_null(event);
        int over = strcmp(type_of(event), "synthesize-stopped") == 0;
        assert_string_not_equal(type_of(event), "error");
        json_decref(event);
        if (over)
            break;
    }
    client_close(&c);
    buf_free(&expected);
    port_close(&p);
}

/* --- what nobody should send --- */

static char *repeat(const char *before, const char *text, size_t times, const char *after)
{
    Buf b = {0};
    buf_str(&b, before);
    for (size_t i = 0; i < times; i++)
        buf_str(&b, text);
    buf_str(&b, after);
    return b.data;
}

#define SAY(data) "{\"type\": \"synthesize\", \"data\": " data "}\n"

static const struct {
    const char *sent, *code, *words;
} refused[] = {
    {"hello\n", "bad-request", "JSON"},
    {"\n", "bad-request", "JSON"},
    {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "bad-request", "JSON"},
    {"[1, 2]\n", "bad-request", "not a JSON object"},
    {"{}\n", "bad-request", "type"},
    {"{\"type\": 3}\n", "bad-request", "type"},
    {"{\"type\": \"ping\", \"data\": 3}\n", "bad-request", "data"},
    {"{\"type\": \"ping\", \"data_length\": -1}\n", "bad-request", "data_length"},
    {"{\"type\": \"ping\", \"data_length\": 1.5}\n", "bad-request", "data_length"},
    {"{\"type\": \"ping\", \"data_length\": \"9\"}\n", "bad-request", "data_length"},
    {"{\"type\": \"ping\", \"data_length\": 999999999999}\n", "bad-request", "999999999999"},
    {"{\"type\": \"ping\", \"data_length\": 99999999999999999999}\n", "bad-request", "JSON"},
    {"{\"type\": \"ping\", \"payload_length\": 1000000000}\n", "bad-request", "payload_length"},
    {"{\"type\": \"ping\", \"data_length\": 4}\nnull", "bad-request", "not a JSON object"},
    {"{\"type\": \"ping\", \"data_length\": 4}\n{\"a\"", "bad-request", "JSON"},
    {"{\"type\": \"ping\", \"data\": {\"text\": \"\xFF\"}}\n", "bad-request", "JSON"},
    {"{\"type\": \"ping\", \"data\": {\"text\": \"\xED\xA0\x80\"}}\n", "bad-request", "JSON"},
    {"{\"type\": \"ping\", \"data\": {\"text\": \"\\u0000\"}}\n", "bad-request", "JSON"},
    {"{\"type\": \"synthesize\"}\n", "bad-request", "no text"},
    {SAY("{\"text\": 7}"), "bad-request", "no text"},
    {SAY("{\"text\": \"\"}"), "bad-request", "nothing to speak"},
    {SAY("{\"text\": \" \\n\\t\"}"), "bad-request", "nothing to speak"},
    {SAY("{\"text\": \"\xF0\x9F\x8E\x89\"}"), "bad-request", "nothing to speak"},
    {SAY("{\"text\": \"a\", \"voice\": 5}"), "bad-request", "voice"},
    {SAY("{\"text\": \"a\", \"voice\": {\"name\": \"nobody\"}}"), "not-found", "hills, again"},
    {SAY("{\"text\": \"a\", \"voice\": {\"language\": \"fr\"}}"), "not-found", "'fr'"},
    {SAY("{\"text\": \"a\", \"voice\": {\"name\": \"again\", \"language\": \"fr\"}}"), "not-found",
     "never trained"},
    {SAY("{\"text\": \"a\", \"voice\": {\"name\": \"hills\", \"speaker\": \"zoe\"}}"), "not-found", "zoe"},
    {SAY("{\"text\": \"a\", \"text_format\": \"rtf\"}"), "bad-request", "rtf"},
    {SAY("{\"text\": \"<speak>\"}"), "bad-request", "line 1, column 1"},
    {"{\"type\": \"synthesize-chunk\", \"data\": {\"text\": \"a\"}}\n", "bad-request", "without"},
    {"{\"type\": \"synthesize-stop\"}\n", "bad-request", "without"},
    {"{\"type\": \"synthesize-start\"}\n{\"type\": \"synthesize-start\"}\n", "bad-request", "middle"},
    {"{\"type\": \"synthesize-start\"}\n{\"type\": \"synthesize-stop\"}\n", "bad-request", "nothing"},
    {"{\"type\": \"synthesize-start\"}\n{\"type\": \"synthesize-chunk\"}\n", "bad-request", "no text"},
};

static void nonsense(void **state)
{
    Port p;
    port_open(&p, (WyomingOptions){.max_text = 1000}, 0);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        Client c;
        client_open(&c, &p);
        client_say(&c, refused[i].sent);
        expect_error(&c, refused[i].code, refused[i].words);
        client_close(&c);
        if (i % 8 == 0)
            expect_works(&p);
    }
    /* What is not understood is passed over, with all that belongs to it. */
    Client c;
    client_open(&c, &p);
    client_say(&c,
               "{\"type\": \"select-program\", \"data\": {\"name\": \"x\"}, \"payload_length\": null}\n"
               "{\"type\": \"audio-chunk\", \"data_length\": 2, \"payload_length\": 5}\n{}\n\n\n\n\n"
               "{\"type\": \"ping\", \"data\": {\"text\": \"a\"}, \"data_length\": 13}\n{\"text\": \"b\"}");
    json_t *event = expect_event(&c, "pong", NULL);
    assert_string_equal(json_string_value(json_object_get(json_object_get(event, "data"), "text")), "b");
    json_decref(event);
    client_close(&c);
    expect_works(&p);
    port_close(&p);
}

static void too_much(void **state)
{
    static const char start[] = "{\"type\": \"synthesize-start\"}\n";
    char *const large[] = {
        repeat("{\"type\": \"", "x", 70000, ""), /* a line without an end */
        repeat("{\"type\": \"", "x", 70000, "\"}\n"),
        repeat("{\"type\": \"ping\", \"data\": {\"text\": ", "[", 30000, "}}\n"),
        repeat(SAY("{\"text\": \"a\"}") "{\"type\": \"synthesize\", \"data\": {\"text\": \"", "a ", 501,
               "\"}}\n"),
        repeat(start, "{\"type\": \"synthesize-chunk\", \"data\": {\"text\": \"aaaaaaaaaa\"}}\n", 101, ""),
    };
    const char *const words[] = {"longer", "longer", "JSON", "1000 characters", "1000 characters"};
    Port p;
    port_open(&p, (WyomingOptions){.max_text = 1000}, 0);
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        Client c;
        Buf sound = {0};
        client_open(&c, &p);
        client_say(&c, large[i]);
        if (i == 3)
            expect_sound(&c, &sound); /* of the text before */
        expect_error(&c, "bad-request", words[i]);
        client_close(&c);
        buf_free(&sound);
        free(large[i]);
    }
    expect_works(&p);
    port_close(&p);
}

/* --- clients that do nothing, or leave --- */

static void slow_clients_are_left(void **state)
{
    static const char *const beginnings[] = {
        "", "{\"type\": \"pi", "{\"type\": \"ping\", \"data_length\": 9}\n{",
        "{\"type\": \"ping\", \"payload_length\": 9}\n123", "{\"type\": \"synthesize-start\"}\n"};
    enum { COUNT = sizeof beginnings / sizeof *beginnings };
    Port p;
    Client c[COUNT];
    port_open(&p, (WyomingOptions){.timeout = 0.2}, 0);
    for (int i = 0; i < COUNT; i++) {
        client_open(&c[i], &p);
        client_say(&c[i], beginnings[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        expect_end(&c[i]);
        client_close(&c[i]);
    }
    expect_works(&p);
    port_close(&p);
}

/* A text that never comes, in empty pieces that do. */
static void a_text_that_never_comes(void **state)
{
    static const char chunk[] = "{\"type\": \"synthesize-chunk\", \"data\": {\"text\": \"\"}}\n";
    Port p;
    Client c;
    char byte;
    port_open(&p, (WyomingOptions){.timeout = 0.3}, 0);
    client_open(&c, &p);
    client_say(&c, "{\"type\": \"synthesize-start\"}\n");
    int ended = 0;
    for (int i = 0; i < 300 && !ended; i++) {
        client_say(&c, chunk);
        clock_sleep(0.03);
        ssize_t n = recv(c.fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
        ended = n == 0 || (n < 0 && errno != EAGAIN);
    }
    assert_true(ended);
    client_close(&c);
    port_close(&p);
}

/* Pings without end whose pongs nobody takes: memory stays small, others are served, and the time comes. */
static void who_takes_nothing_gets_no_more(void **state)
{
    Port p;
    Client c;
    port_open(&p, (WyomingOptions){.timeout = 0.5}, 0);
    client_open(&c, &p);
    char *pings = repeat("", "{\"type\": \"ping\"}\n", 4000, "");
    fcntl(c.fd, F_SETFL, O_NONBLOCK);
    int64_t sent = 0;
    double quiet = clock_now();
    while (clock_now() - quiet < 0.1) {
        ssize_t n = send(c.fd, pings, strlen(pings), MSG_NOSIGNAL);
        if (n > 0) {
            sent += n;
            quiet = clock_now();
        } else if (errno != EAGAIN) {
            break; /* it has been left already */
        }
    }
    assert_true(sent < 64 << 20);
    expect_works(&p);
    fcntl(c.fd, F_SETFL, 0);
    while (client_read(&c))
        c.in.size = 0;
    client_close(&c);
    free(pings);
    port_close(&p);
}

static void who_leaves_is_not_spoken_to(void **state)
{
    Port p;
    char *text = repeat("", "Old hill and green hill. ", 200, "");
    port_open(&p, (WyomingOptions){.stop_seconds = 60}, 0);
    for (int i = 0; i < 12; i++) {
        Client c;
        client_open(&c, &p);
        synthesize(&c, text, NULL, NULL);
        if (i % 2)
            json_decref(expect_event(&c, "audio-start", NULL));
        if (i % 3 == 0)
            setsockopt(c.fd, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
        client_close(&c);
    }
    for (;;) { /* all of them are noticed */
        StudioReport r;
        studio_report(p.studio, &r);
        if (!r.open)
            break;
        clock_sleep(0.01);
    }
    expect_works(&p);
    free(text);
    port_close(&p);
}

static void limits_on_many(void **state)
{
    Port p;
    Client c[3], more;
    port_open(&p, (WyomingOptions){.max_connections = 3}, 1);
    for (int i = 0; i < 3; i++) {
        client_open(&c[i], &p);
        client_say(&c[i], "{\"type\": \"ping\"}\n");
        json_decref(expect_event(&c[i], "pong", NULL));
    }
    for (int i = 0; i < 40; i++) {
        client_open(&more, &p);
        client_say(&more, "{\"type\": \"ping\"}\n");
        expect_error(&more, "busy", "3 connections");
        client_close(&more);
    }
    /* One talk at a time: while it is spoken, another client is told so. */
    char *text = repeat("", "Old hill and green hill. ", 100, "");
    synthesize(&c[0], text, NULL, NULL);
    json_decref(expect_event(&c[0], "audio-start", NULL));
    synthesize(&c[1], "old hill", NULL, NULL);
    expect_error(&c[1], "busy", "");
    for (int i = 0; i < 3; i++)
        client_close(&c[i]);
    free(text);
    for (;;) { /* there is room again, as soon as the server has noticed */
        client_open(&more, &p);
        client_say(&more, "{\"type\": \"ping\"}\n");
        json_t *event = client_event(&more, NULL);
        int served = event && strcmp(type_of(event), "pong") == 0;
        json_decref(event);
        client_close(&more);
        if (served)
            break;
    }
    port_close(&p);
}

/* --- the end --- */

static void *read_all(void *arg)
{
    Client *c = arg;
    while (client_read(c)) {
    }
    return NULL;
}

static void closing_finishes(void **state)
{
    const int threads = entries_of("/proc/self/task");
    Port p;
    Client c, idle, half;
    Buf expected = {0}, is = {0};
    Thread t;
    Err err = {0};
    port_open(&p, (WyomingOptions){0}, 0);
    studio_sound(&p, &expected, TEXT TEXT TEXT, 0);
    client_open(&idle, &p);
    client_open(&half, &p);
    client_say(&half, "{\"type\": \"pi");
    client_open(&c, &p);
    synthesize(&c, TEXT TEXT TEXT, NULL, NULL);
    json_decref(expect_event(&c, "audio-start", NULL));
    assert_int_equal(thread_start(&t, "reader", read_all, &c, &err), 0);
    wyoming_stop(p.w);
    port_close(&p);
    thread_join(&t);
    for (int over = 0; !over;) {
        json_t *event = expect_event(&c, "audio-chunk", &is);
        json_decref(event);
        over = is.size >= expected.size;
    }
    same_sound(&is, &expected);
    json_decref(expect_event(&c, "audio-stop", NULL));
    expect_end(&c);
    expect_end(&idle);
    expect_end(&half);
    client_close(&c);
    client_close(&idle);
    client_close(&half);
    buf_free(&expected);
    buf_free(&is);
    assert_int_equal(entries_of("/proc/self/task"), threads);
}

/* Who does not listen is not waited for. */
static void closing_at_once(void **state)
{
    Port p;
    Client c;
    char *text = repeat("", "Old hill and green hill. ", 400, "");
    port_open(&p, (WyomingOptions){.stop_seconds = 0.01}, 0);
    client_open(&c, &p);
    synthesize(&c, text, NULL, NULL);
    json_decref(expect_event(&c, "audio-start", NULL));
    port_close(&p);
    client_close(&c);
    free(text);
}

static void addresses(void **state)
{
    Wyoming *w = NULL;
    Err err = {0};
    Port p;
    WyomingOptions o = {.listen = "0.0.0.0:0", .names = names, .version = "1"};
    port_open(&p, (WyomingOptions){0}, 0);
    assert_int_equal(wyoming_open(&w, p.studio, &o, &err), ERR_USAGE);
    assert_null(w);
    assert_non_null(strstr(err.msg, "no token"));
    assert_non_null(strstr(err.hint, "--wyoming-open"));
    o.listen = wyoming_address(p.w);
    assert_int_equal(wyoming_open(&w, p.studio, &o, &err), ERR_IO);
    o.listen = "nonsense";
    assert_int_equal(wyoming_open(&w, p.studio, &o, &err), ERR_USAGE);
    o.listen = "0.0.0.0:0";
    o.open = 1;
    assert_int_equal(wyoming_open(&w, p.studio, &o, &err), 0);
    wyoming_close(w);
    wyoming_close(NULL);
    port_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(voices_are_described),
        cmocka_unit_test(sound_is_that_of_the_studio),
        cmocka_unit_test(ssml_is_spoken),
        cmocka_unit_test(text_in_chunks),
        cmocka_unit_test(nonsense),
        cmocka_unit_test(too_much),
        cmocka_unit_test(slow_clients_are_left),
        cmocka_unit_test(a_text_that_never_comes),
        cmocka_unit_test(who_takes_nothing_gets_no_more),
        cmocka_unit_test(who_leaves_is_not_spoken_to),
        cmocka_unit_test(limits_on_many),
        cmocka_unit_test(closing_finishes),
        cmocka_unit_test(closing_at_once),
        cmocka_unit_test(addresses),
    };
    return cmocka_run_group_tests(tests, setup_lab, teardown_lab);
}
