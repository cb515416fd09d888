/* hostile_bodies.c - hostile requests: bodies and their lengths. */
#include "hostile_testing.h"

#include <sys/socket.h>

#include "base/base64.h"

/* ---- bodies ---- */

void json_cut_off(void)
{
    static const char whole[] = "{\"model\":\"run\",\"input\":\"old hill\",\"voice\":\"anna\",\"speed\":1.5}";
    send_json(whole, 1 + below(sizeof whole - 2), (const int[]){400, -1});
}

void json_of_another_kind(void)
{
    static const char *const bodies[] = {"[]",   "\"input\"",           "17", "null",
                                         "true", "[{\"input\":\"a\"}]", "{}", "{}{}"};
    JSON(PICK(bodies), 400);
}

void json_very_deep(void)
{
    Buf b = {0};
    size_t depth = 100 + below(100000);
    buf_str(&b, "{\"input\":");
    for (size_t i = 0; i < depth; i++)
        buf_str(&b, below(2) ? "[" : "{\"a\":");
    send_json(b.data, b.size, (const int[]){400, -1});
    buf_free(&b);
}

void json_of_a_million_values(void)
{
    static const char *const values[] = {"[],", "{},", "1,", "\"a\":{},", "[[[],"};
    const char *value = PICK(values);
    Buf b = {0};
    buf_str(&b, "{\"input\":\"a\",\"x\":[");
    while (b.size + 100 < MAX_BODY)
        buf_str(&b, value);
    send_json(b.data, b.size, (const int[]){400, -1});
    buf_free(&b);
}

void json_not_utf8(void)
{
    static const char *const bad[] = {"\xFF",     "\xC0\xAF", "\xED\xA0\x80", "\xF5\x80\x80\x80",
                                      "\xE2\x82", "\x80"};
    char body[100];
    snprintf(body, sizeof body, "{\"input\":\"old %s hill\"}", PICK(bad));
    JSON(body, 400);
}

void json_bad_escapes(void)
{
    static const char *const bad[] = {"\\u0000", "\\ud800", "\\udc00\\ud800", "\\x41", "\\u12", "\\"};
    char body[100];
    snprintf(body, sizeof body, "{\"input\":\"old %s\"}", PICK(bad));
    JSON(body, 400);
}

void body_of_noise(void)
{
    char noise[4096];
    size_t n = 1 + below(sizeof noise);
    fill_random(noise, n);
    noise[0] = '\x01';
    send_json(noise, n, (const int[]){400, -1});
}

void body_empty(void) { JSON("", 400); }

void members_of_wrong_types(void)
{
    static const char *const keys[] = {"input", "model", "response_format", "stream_format", "reference"},
                             *const numbers[] = {"speed", "pitch", "details"},
                             *const values[] = {"17", "[]", "{}", "true", "1e3"};
    char body[200];
    if (below(2))
        snprintf(body, sizeof body, "{\"input\":\"a\",\"%s\":%s}", PICK(keys), PICK(values));
    else
        snprintf(body, sizeof body, "{\"input\":\"a\",\"%s\":\"high\"}", PICK(numbers));
    JSON(body, 400);
}

void numbers_that_are_none(void)
{
    static const char *const numbers[] = {"NaN",  "Infinity", "-Infinity", "1e999", "-1e999",
                                          "0x10", "1.",       ".5",        "+1"};
    char body[100];
    snprintf(body, sizeof body, "{\"input\":\"a\",\"%s\":%s}", below(2) ? "speed" : "pitch", PICK(numbers));
    JSON(body, 400);
}

void numbers_out_of_range(void)
{
    static const char *const speeds[] =
        {"0", "0.2499", "4.001", "-1", "1e308", "1e-300", "99999999999999999999"},
                             *const pitches[] = {"-25", "24.5", "1e30", "-1e300"};
    char body[100];
    if (below(2))
        snprintf(body, sizeof body, "{\"input\":\"a\",\"speed\":%s}", PICK(speeds));
    else
        snprintf(body, sizeof body, "{\"input\":\"a\",\"pitch\":%s}", PICK(pitches));
    JSON(body, 400);
}

void names_of_nobody(void)
{
    static const char *const names[] = {"../run", "run/", "", "RUN", "/etc/passwd", "run\\n", "%s%s%n", "☃"};
    char body[200];
    if (below(2)) {
        snprintf(body, sizeof body, "{\"input\":\"a\",\"model\":\"%s\"}", PICK(names));
        JSON(body, 404);
    } else {
        snprintf(body, sizeof body, "{\"input\":\"a\",\"voice\":\"x%s\"}", PICK(names));
        JSON(body, 400);
    }
}

void name_very_long(void)
{
    Buf b = {0};
    buf_str(&b, "{\"input\":\"a\",\"model\":\"");
    for (size_t n = 1000 + below(100000); n; n--)
        buf_str(&b, "ü");
    buf_str(&b, "\"}");
    send_json(b.data, b.size, (const int[]){404, -1});
    buf_free(&b);
}

void formats_of_nobody(void)
{
    static const char *const bodies[] = {
        "{\"input\":\"a\",\"response_format\":\"au\"}", "{\"input\":\"a\",\"response_format\":\"\"}",
        "{\"input\":\"a\",\"response_format\":\"ogg\"}", "{\"input\":\"a\",\"stream_format\":\"raw\"}",
        "{\"input\":\"a\",\"stream_format\":\"SSE\"}"};
    JSON(PICK(bodies), 400);
}

void text_too_long(void)
{
    Buf b = {0};
    buf_str(&b, "{\"input\":\"");
    for (size_t n = 2001 + below(50000); n; n--)
        buf_str(&b, n % 2 ? "ä" : " ");
    buf_str(&b, "\"}");
    send_json(b.data, b.size, (const int[]){400, -1});
    buf_free(&b);
}

void text_without_anything_to_say(void)
{
    static const char *const texts[] = {"", " ", "\\n\\t ", "☃", "\\u200b\\u200b", "    \\r\\n"};
    char body[100];
    snprintf(body, sizeof body, "{\"input\":\"%s\"}", PICK(texts));
    JSON(body, 400);
}

void reference_not_base64(void)
{
    static const char *const bad[] = {"*",      "AAA*", "A", "AAAAA", "AA=A", "====", "data:audio/wav;base64",
                                      "\\u00e4"};
    char body[200];
    snprintf(body, sizeof body, "{\"input\":\"a\",\"reference\":\"%s\"}", PICK(bad));
    JSON(body, 400);
}

static void send_reference(const char *p, size_t n, const int *allowed)
{
    Buf b = {0};
    buf_str(&b, "{\"input\":\"a\",\"response_format\":\"pcm\",\"reference\":\"");
    base64_encode(&b, p, n);
    buf_str(&b, "\"}");
    send_json(b.data, b.size, allowed);
    buf_free(&b);
}

void reference_of_noise(void)
{
    char noise[5000];
    size_t n = 1 + below(sizeof noise);
    static const char *const magics[] = {"RIFF", "fLaC", "OggS", "ID3", "....WAVEfmt "};
    const char *magic = PICK(magics);
    fill_random(noise, n);
    memcpy(noise, magic, strlen(magic) < n ? strlen(magic) : n);
    send_reference(noise, n, (const int[]){400, -1});
}

void reference_damaged(void)
{
    Buf file = file_bytes(clip_path(hostile.c, (int)below(10)));
    const size_t from = below(2) ? 0 : 44, to = from ? file.size : 60; /* its header, or its samples */
    for (size_t k = 1 + below(20); k; k--)
        file.data[from + below(to - from)] = (char)below(256);
    send_reference(file.data, below(2) ? file.size : below(file.size), (const int[]){200, 400, -1});
    buf_free(&file);
}

void reference_too_large(void)
{
    size_t n = 110000 + below(300000);
    char *zeros = calloc(n, 1);
    send_reference(zeros, n, (const int[]){413, -1});
    free(zeros);
}

/* ---- lengths ---- */

/* It is refused by its length alone, however much of it comes. */
void body_too_large(void)
{
    Reply r;
    char head[300];
    int fd = dial(port());
    snprintf(head, sizeof head, SPEECH_HEAD "%sContent-Length: %llu\r\n\r\n",
             below(2) ? "Expect: 100-continue\r\n" : "",
             (unsigned long long)(MAX_BODY + 1 + below(UINT64_C(1) << 40)));
    send_text(fd, head);
    for (size_t n = below(100); n; n--)
        send_bytes(fd, hostile.good.data, hostile.good.size);
    read_reply(fd, &r);
    close(fd);
    EXPECT(&r, 413);
}

void chunks_too_large(void)
{
    static char chunk[65536];
    Reply r;
    int fd = dial(port());
    memset(chunk, ' ', sizeof chunk);
    send_text(fd, SPEECH_HEAD "Transfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 40; i++)
        if (send_text(fd, "10000\r\n") || send_bytes(fd, chunk, sizeof chunk) || send_text(fd, "\r\n"))
            break;
    read_reply(fd, &r);
    close(fd);
    EXPECT(&r, 413, 0); /* 0: the answer is lost where the rest of the body meets a closed door */
}

void body_without_a_length(void) { RAW(SPEECH_HEAD "\r\n", 411); }

void body_of_another_type(void)
{
    static const char *const types[] = {"",
                                        "Content-Type: text/plainly\r\n",
                                        "Content-Type: application/jsonx\r\n",
                                        "Content-Type: application/x-www-form-urlencoded\r\n",
                                        "Content-Type: multipart/form-data; boundary=x\r\n",
                                        "Content-Type: \r\n"};
    Reply r;
    ask(&r, port(), "POST", "/v1/audio/speech", PICK(types), "{\"input\":\"a\"}", 13);
    EXPECT(&r, 415);
}

void lengths_that_disagree(void)
{
    static const char *const heads[] = {"Content-Length: 2\r\nContent-Length: 13\r\n",
                                        "Content-Length: 13\r\nContent-Length: 13\r\n",
                                        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
                                        "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n"};
    char request[400];
    snprintf(request, sizeof request, SPEECH_HEAD "%s\r\n2\r\n{}\r\n0\r\n\r\n", PICK(heads));
    RAW(request, 400);
}

void lengths_that_are_none(void)
{
    static const char *const lengths[] = {"-1",  "two",   "0x10", "99999999999999999999999999",
                                          "1 3", "13,13", "+13"};
    char request[400];
    snprintf(request, sizeof request, SPEECH_HEAD "Content-Length: %s\r\n\r\n{\"input\":\"a\"}",
             PICK(lengths));
    RAW(request, 400, 413);
}

void chunks_that_are_none(void)
{
    static const char *const chunks[] = {"z\r\n{}\r\n0\r\n\r\n", "-2\r\n{}\r\n", "fffffffffffffffff\r\n{}",
                                         "2\r\n{}xx\r\n0\r\n\r\n", "\r\n\r\n"};
    char request[400];
    snprintf(request, sizeof request, SPEECH_HEAD "Transfer-Encoding: chunked\r\n\r\n%s", PICK(chunks));
    RAW(request, 400, 413, 0);
}

/* No more will come, and it says so. */
void length_longer_than_the_body(void)
{
    char request[300];
    int fd = dial(port());
    snprintf(request, sizeof request, SPEECH_HEAD "Content-Length: %d\r\n\r\n{\"input\":\"a\"}",
             14 + (int)below(1000));
    send_text(fd, request);
    shutdown(fd, SHUT_WR);
    linger(fd, 0, 0);
}
