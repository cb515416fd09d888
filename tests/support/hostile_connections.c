/* hostile_connections.c - hostile requests: how connections begin, stand still and end. */
#include "hostile_testing.h"

#include <sys/socket.h>

void half_a_header_and_gone(void)
{
    static const char whole[] = SPEECH_HEAD "Content-Length: 30\r\n\r\n";
    int fd = dial(port());
    send_bytes(fd, whole, below(sizeof whole));
    close(fd);
}

void half_a_body_and_gone(void)
{
    int fd = dial(port());
    send_text(fd, SPEECH_HEAD "Content-Length: 30\r\n\r\n{\"input\":");
    if (below(2)) { /* with a reset */
        struct linger hard = {1, 0};
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    }
    close(fd);
}

void half_a_header_and_silence(void)
{
    static const char whole[] = "GET /health HTTP/1.1\r\nHost: localhost\r\nX: ";
    int fd = dial(port());
    send_bytes(fd, whole, below(sizeof whole));
    linger(fd, 0, 0);
}

void half_a_body_and_silence(void)
{
    int fd = dial(port());
    send_text(fd, SPEECH_HEAD "Content-Length: 300\r\n\r\n{\"input\":");
    linger(fd, 0, 0);
}

void byte_by_byte(void)
{
    int fd = dial(port());
    if (below(2))
        send_text(fd, SPEECH_HEAD "Content-Length: 9999\r\n\r\n");
    else
        send_text(fd, "GET /health HTTP/1.1\r\nHost: localhost\r\nX: ");
    linger(fd, 1, 0);
}

static int begin_speech(int long_text)
{
    char text[1800], request[2200];
    int fd = dial(port());
    for (size_t i = 0; i + 1 < sizeof text; i++)
        text[i] = "old hill. "[i % 10];
    text[long_text ? sizeof text - 1 : 8] = 0;
    snprintf(request, sizeof request,
             SPEECH_HEAD "Content-Length: %zu\r\n\r\n{\"response_format\":\"wav\",\"input\":\"%s\"}",
             strlen(text) + 36, text);
    send_text(fd, request);
    return fd;
}

void left_while_spoken_to(void)
{
    char piece[64];
    int fd = begin_speech(1);
    if (below(2))
        (void)!recv(fd, piece, sizeof piece, 0);
    if (below(2)) {
        struct linger hard = {1, 0};
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    }
    close(fd);
}

/* It takes some of the sound, and no more of it. */
void listens_no_further(void)
{
    int small = 2048, fd = begin_speech(1);
    char piece[64];
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    assert_true(recv(fd, piece, sizeof piece, 0) > 0);
    linger(fd, 0, 1);
}

void pipelined(void)
{
    static const char one[] = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const int n = 2 + (int)below(20);
    int fd = dial(port());
    for (int i = 0; i < n; i++)
        send_text(fd, one);
    int bad = (int)below(2);
    if (bad)
        send_text(fd, "nonsense\r\n\r\n");
    for (int i = 0; i < n + bad; i++) {
        Reply r;
        read_reply(fd, &r);
        if (i < n)
            EXPECT(&r, 200);
        else
            EXPECT(&r, 400, 0);
    }
    close(fd);
}

void smuggled(void)
{
    Reply r;
    int fd = dial(port());
    send_text(fd, "GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 44\r\n\r\nGET /metrics "
                  "HTTP/1.1\r\nHost: localhost\r\n\r\n..");
    read_reply(fd, &r);
    EXPECT(&r, 413);
    read_reply(fd, &r);
    EXPECT(&r, 0);
    close(fd);
}

/* At once and idle; the good request comes between them. */
void many_connections(void)
{
    static int fds[1000];
    const int n = below(10) ? 50 : 1000;
    Reply r;
    for (int i = 0; i < n; i++)
        fds[i] = dial(port());
    ask(&r, port(), "GET", "/health", NULL, NULL, 0);
    EXPECT(&r, 200);
    for (int i = 0; i < n; i++)
        close(fds[i]);
}

void more_than_can_be_spoken(void)
{
    int fds[40];
    for (int i = 0; i < 40; i++)
        fds[i] = begin_speech(0);
    for (int i = 0; i < 40; i++) {
        Reply r;
        read_reply(fds[i], &r);
        EXPECT(&r, 200, 429);
        close(fds[i]);
    }
}
