/* hostile_testing.c - see hostile_testing.h. */
#include "hostile_testing.h"

#include <sys/socket.h>

#include "command_testing.h"

HostileLab hostile;

int port(void) { return hostile.server.port; }
uint64_t below(uint64_t n) { return rng_below(&hostile.rng, n); }

/* The status must be one of these, -1 at the end; errors of ours are objects as OpenAI's. */
void expect_status(Reply *r, const int *allowed)
{
    int found = 0;
    for (int i = 0; allowed[i] >= 0; i++)
        found |= r->status == allowed[i];
    if (!found)
        fail_msg("%s: status %d: %.300s (sent: %.60s)", hostile.name, r->status,
                 r->body.data ? r->body.data : "", hostile.sent);
    hostile.statuses[hostile.kind][r->status]++;
    const char *type = reply_header(r, "Content-Type");
    if (r->status >= 400 && r->whole && type && strcmp(type, "application/json") == 0 && r->body.size) {
        json_t *o = json_loadb(r->body.data, r->body.size, 0, NULL);
        if (!*text_at(json_object_get(o, "error"), "message"))
            fail_msg("%s: no error: %.300s", hostile.name, r->body.data);
        json_decref(o);
    }
    reply_free(r);
}

void send_json(const char *json, size_t size, const int *allowed)
{
    Reply r;
    ask(&r, port(), "POST", "/v1/audio/speech", JSON_HEAD, json, size == ALL ? strlen(json) : size);
    expect_status(&r, allowed);
}

void send_raw(const void *p, size_t n, const int *allowed)
{
    Reply r;
    int fd = dial(port());
    hostile.sent = p;
    send_bytes(fd, p, n == ALL ? strlen(p) : n);
    shutdown(fd, SHUT_WR);
    read_reply(fd, &r);
    close(fd);
    expect_status(&r, allowed);
}

void fill_random(char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (char)below(256);
}

void linger(int fd, int trickles, int silent_end)
{
    if (hostile.lingering == LINGERERS) {
        close(fd);
        return;
    }
    hostile.lingerers[hostile.lingering++] = (Lingerer){fd, trickles, silent_end, hostile.kind};
}
