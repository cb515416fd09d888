/* fuzz_serve.c - any bytes as the body of a request for speech, as its query string, and as all that a client
 * sends to the server: a request that keeps its limits, a fault with a sentence, an answer of HTTP or none.
 * The server listens at a socket without a network and has no voice. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/check.h"
#include "base/utf8.h"
#include "serve/server.h"
#include "serve/speech_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const SpeechLimits limits = {.text = 1000, .upload = 2000};

static void check(SpeechRequest *q, int rc, const SpeechFault *fault)
{
    if (rc) {
        ASSERT(fault->status == 400 || fault->status == 413);
        ASSERT(fault->message[0]);
    } else {
        ASSERT(q->input && q->input_size == strlen(q->input) && q->input_size > 0);
        ASSERT(utf8_valid(q->input, q->input_size) == q->input_size);
        ASSERT(utf8_count(q->input, q->input_size) <= (size_t)limits.text);
        ASSERT(q->speed >= 0.25 && q->speed <= 4 && q->pitch >= -24 && q->pitch <= 24);
        ASSERT(q->sample_rate == 0 || (q->sample_rate >= 8000 && q->sample_rate <= 48000));
        ASSERT(q->recording.size <= limits.upload + 3 && (int)q->format < SOUND_FORMATS);
    }
    speech_request_free(q);
}

/* The value of a name in lines of name=value. */
static const char *get_line(void *arg, const char *name)
{
    static char value[4096];
    size_t n = strlen(name);
    for (const char *p = arg; p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
        if (strncmp(p, name, n) == 0 && p[n] == '=') {
            snprintf(value, sizeof value, "%.*s", (int)strcspn(p + n + 1, "\n"), p + n + 1);
            return value;
        }
    return NULL;
}

static void parse(const uint8_t *data, size_t size)
{
    SpeechRequest q;
    SpeechFault fault;
    char text[4096];
    int rc = speech_request_parse(&q, (const char *)data, size, &limits, &fault);
    check(&q, rc, &fault);
    snprintf(text, sizeof text, "%.*s", (int)(size < sizeof text ? size : sizeof text - 1),
             (const char *)data);
    rc = speech_request_query(&q, get_line, text, &limits, &fault);
    check(&q, rc, &fault);
    /* The same lines as the query of a text, which is all of it, or comes later. */
    rc = speech_request_text(&q, (const char *)data, size, get_line, text, &limits, &fault);
    check(&q, rc, &fault);
    rc = speech_request_text(&q, NULL, 0, get_line, text, &limits, &fault);
    ASSERT(rc || !q.input);
    speech_request_free(&q);
}

/* One server for all inputs. An address of its own in a space that has no files. */
static struct sockaddr_un address = {.sun_family = AF_UNIX};

static Server *the_server(void)
{
    static Server s;
    if (s.http)
        return &s;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "myxtts-fuzz-%ld", (long)getpid());
    ASSERT(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 8) == 0);
    s = (Server){.o = {.listen = "nowhere",
                       .max_connections = 64,
                       .max_requests = 8,
                       .max_queue = 8,
                       .max_text = limits.text,
                       .max_body = 3000,
                       .max_upload = limits.upload,
                       .request_timeout = 20},
                 .fd = fd};
    metrics_open(&s.metrics);
    ASSERT(server_begin(&s, NULL, NULL, NULL) == 0);
    return &s;
}

/* All is sent, then the client goes; what was answered by then begins as an answer does. */
static void send_all(const uint8_t *data, size_t size)
{
    Server *s = the_server();
    char reply[4096];
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), rc;
    do /* the fuzzer's clock interrupts it */
        rc = connect(fd, (struct sockaddr *)&address, sizeof address);
    while (rc && errno == EINTR);
    ASSERT(fd >= 0 && rc == 0);
    ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (sent > 0 && poll(&p, 1, size % 4 == 0 ? 2 : 0) == 1) {
        ssize_t n = recv(fd, reply, sizeof reply, MSG_DONTWAIT);
        ASSERT(n <= 0 || (n > 9 && memcmp(reply, "HTTP/1.1 ", 9) == 0));
    }
    close(fd);
    while (http_connections(s->http) > 0)
        sched_yield();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    parse(data, size);
    send_all(data, size);
    return 0;
}
