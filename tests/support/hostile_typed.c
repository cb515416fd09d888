/* hostile_typed.c - hostile requests whose text is spoken while it still comes. */
#include "hostile_testing.h"

#include <sys/socket.h>

#define WAV "?response_format=wav"

/* Bytes of a text that may end anywhere. */
static void type_some(int fd, const char *text) { type_bytes(fd, text, 1 + below(strlen(text))); }

/* Whether it was heard before or not. */
static void expect_end(int fd, int status)
{
    Reply r;
    read_reply(fd, &r);
    if (r.status == 200)
        assert_false(r.whole);
    EXPECT(&r, 200, status, 429);
    close(fd);
}

void typed_errors(void)
{
    static const char *const texts[] = {"\xFF\xFF\xFF\xFF", "\xC0\xAFold", "\xED\xA0\x80 hill",
                                        "\xF5\x80\x80\x80", "\x80hill old"};
    int fd = type_open(port(), WAV, below(2) ? "Expect: 100-continue\r\n" : "");
    if (below(2))
        type_text(fd, "old hill. green ");
    const char *text = PICK(texts);
    if (below(4) == 0)
        type_bytes(fd, "old\0hill", 8);
    else
        type_text(fd, text);
    for (size_t n = below(3); n; n--)
        type_text(fd, "green hill. ");
    expect_end(fd, 400);
}

void typed_endless(void)
{
    static const char *const texts[] = {"old hill ", "\n",           "old hill. ",
                                        "a",         "<speak>old. ", "\xE2\x98\x83\n"};
    const char *text = PICK(texts);
    int fd = type_open(port(), WAV, "");
    for (int i = 0; i < 3000; i++)
        if (type_text(fd, text))
            break;
    expect_end(fd, 400);
}

void typed_byte_by_byte(void)
{
    static const char text[] = "old hill. gr\xC3\xBC"
                               "n? ; .\n\n hill";
    Reply r;
    int fd = type_open(port(), WAV, "");
    for (size_t i = 0; i + 1 < sizeof text; i++)
        type_bytes(fd, text + i, 1);
    type_end(fd);
    read_reply(fd, &r);
    if (r.status == 200)
        assert_true(r.whole);
    EXPECT(&r, 200, 429);
    close(fd);
}

void typed_chunks_that_are_none(void)
{
    static const char *const chunks[] = {"z\r\nold\r\n",     "-2\r\nab\r\n", "fffffffffffffffff\r\nab",
                                         "2\r\noldhill\r\n", "\r\n\r\n",     "0\r\nno header\r\n\r\n"};
    Reply r;
    int fd = type_open(port(), WAV, "");
    if (below(2))
        type_text(fd, "old hill. green");
    send_text(fd, PICK(chunks));
    shutdown(fd, SHUT_WR);
    read_reply(fd, &r);
    EXPECT(&r, 200, 400, 413, 429, 0);
    close(fd);
}

void typed_and_gone(void)
{
    char piece[64];
    int fd = type_open(port(), WAV, "");
    type_some(fd, "old hill. green hill. old stone, green stone. the hill is old.");
    if (below(2))
        type_end(fd);
    if (below(3) == 0)
        (void)!recv(fd, piece, sizeof piece, MSG_DONTWAIT);
    if (below(2)) {
        struct linger hard = {1, 0};
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    }
    close(fd);
}

/* Without a sentence: it is told. */
void typed_and_silence(void)
{
    int fd = type_open(port(), WAV, "");
    if (below(2))
        type_text(fd, "old hi");
    linger(fd, 0, 0);
}

void typed_and_deaf(void)
{
    int small = 2048, fd = type_open(port(), WAV "&sample_rate=48000", "");
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    for (int i = 0; i < 20; i++)
        type_text(fd, LONG_TEXT);
    linger(fd, 0, 1);
}

/* Another request, or anything, behind the body. */
void typed_and_more_behind(void)
{
    static const char *const more[] = {"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n", "0\r\n\r\n",
                                       "nonsense", "POST /v1/audio/speech HTTP/1.1\r\n"};
    Reply r;
    int fd = type_open(port(), WAV, below(2) ? "Trailer: X\r\n" : "");
    type_text(fd, "old hill. green");
    send_text(fd, below(2) ? "0\r\nX: y\r\n\r\n" : "0\r\n\r\n");
    send_text(fd, PICK(more));
    read_reply(fd, &r);
    if (r.status == 200)
        assert_true(r.whole);
    EXPECT(&r, 200, 429);
    read_reply(fd, &r);
    EXPECT(&r, 0);
    close(fd);
}

void typed_by_many(void)
{
    int fds[40];
    for (int i = 0; i < 40; i++)
        fds[i] = type_open(port(), WAV, "");
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 40; i++)
            type_text(fds[i], "old hi");
    for (int i = 0; i < 40; i++)
        type_text(fds[i], "ll. ");
    for (int i = 0; i < 40; i++) {
        Reply r;
        if (below(3))
            type_end(fds[i]);
        else
            shutdown(fds[i], SHUT_WR); /* in the middle of it */
        read_reply(fds[i], &r);
        EXPECT(&r, 200, 429, 0);
        close(fds[i]);
    }
}
