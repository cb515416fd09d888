/* hostile_lines.c - hostile requests: methods, paths, headers, lines. */
#include "hostile_testing.h"

void methods_of_another_path(void)
{
    static const char *const paths[] = {"/health",    "/v1/models", "/metrics",
                                        "/v1/voices", "/",          "/v1/audio/speech"},
                             *const methods[] = {"PUT", "DELETE", "PATCH", "TRACE", "FROB", "post", "GETT"};
    Reply r;
    ask(&r, port(), PICK(methods), PICK(paths), NULL, NULL, 0);
    assert_non_null(reply_header(&r, "Allow"));
    EXPECT(&r, 405);
}

void head_of_speech(void)
{
    Reply r;
    ask(&r, port(), "HEAD", "/v1/audio/speech?input=a", NULL, NULL, 0);
    EXPECT(&r, 405);
}

void paths_out_of_the_house(void)
{
    static const char *const paths[] = {"/../../etc/passwd",
                                        "/%2e%2e/%2e%2e/etc/passwd",
                                        "/page/../../etc/passwd",
                                        "/page/%2e%2e%2fserver.c",
                                        "//etc/passwd",
                                        "/v1/models/../../x",
                                        "/v1//models",
                                        "/page/..%5c..%5cx",
                                        "/.",
                                        "/v1/runs/%2e%2e",
                                        "/v1/runs/..%2f..%2fetc",
                                        "/page/",
                                        "/v1/models/%2fetc%2fpasswd",
                                        "/health/",
                                        "/HEALTH",
                                        "/;",
                                        "/v1/audio/speech/"};
    Reply r;
    ask(&r, port(), "GET", PICK(paths), NULL, NULL, 0);
    EXPECT(&r, 404, 400);
}

void paths_that_are_no_text(void)
{
    static const char *const paths[] = {"/health%00",
                                        "/%00",
                                        "/%ff",
                                        "/v1/models/%c0%af",
                                        "/he%00alth",
                                        "/\xff\xfe",
                                        "/v1/audio/speech?input=a%00b"};
    Reply r;
    ask(&r, port(), "GET", PICK(paths), NULL, NULL, 0);
    EXPECT(&r, 400);
}

void queries_of_nonsense(void)
{
    static const char *const queries[] = {"",
                                          "?",
                                          "?input",
                                          "?input=",
                                          "?input=%ff",
                                          "?input=a&speed=nan",
                                          "?input=a&speed=fast",
                                          "?input=a&details=maybe",
                                          "?input=a&response_format=au",
                                          "?input=a&pitch=1e999",
                                          "?=&&&==&",
                                          "?input=a&stream_format=x",
                                          "?speed=1"};
    char path[200];
    Reply r;
    snprintf(path, sizeof path, "/v1/audio/speech%s", PICK(queries));
    ask(&r, port(), "GET", path, NULL, NULL, 0);
    EXPECT(&r, 400);
}

void header_huge(void)
{
    Buf b = {0};
    buf_str(&b, "GET /health HTTP/1.1\r\nHost: localhost\r\nX-Large: ");
    for (size_t n = 40000 + below(200000); n; n--)
        buf_str(&b, "x");
    buf_str(&b, "\r\n\r\n");
    send_raw(b.data, b.size, (const int[]){431, 413, 0, -1});
    buf_free(&b);
}

void headers_many(void)
{
    Buf b = {0};
    buf_str(&b, "GET /health HTTP/1.1\r\nHost: localhost\r\n");
    for (size_t n = 3000 + below(3000); n; n--)
        buf_printf(&b, "X-%zu: y\r\n", n);
    buf_str(&b, "\r\n");
    send_raw(b.data, b.size, (const int[]){431, 413, 0, -1});
    buf_free(&b);
}

void address_very_long(void)
{
    Buf b = {0};
    buf_str(&b, "GET /v1/audio/speech?input=");
    for (size_t n = 40000 + below(100000); n; n--)
        buf_str(&b, "a");
    buf_str(&b, " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    send_raw(b.data, b.size, (const int[]){414, 431, 0, -1});
    buf_free(&b);
}

void lines_of_no_http(void)
{
    static const char *const lines[] = {"GET\r\n\r\n",
                                        "GET /health\r\n\r\n",
                                        "GET /health HTTP/9.9\r\nHost: localhost\r\n\r\n",
                                        "GET /health HTTP/0.5\r\nHost: localhost\r\n\r\n",
                                        "/health GET HTTP/1.1\r\n\r\n",
                                        "GET /health FTP/1.1\r\nHost: localhost\r\n\r\n",
                                        "\x16\x03\x01\x02\x01\x01\xfc\x03\x03 tls\r\n\r\n",
                                        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                                        "SSH-2.0-OpenSSH\r\n\r\n",
                                        " \r\n \r\n\r\n"};
    RAW(PICK(lines), 400, 405, 404, 505, 0);
}

void noise_for_a_request(void)
{
    char noise[4096];
    size_t n = 5 + below(sizeof noise - 4);
    fill_random(noise, n);
    memcpy(noise + n - 4, "\r\n\r\n", 4); /* else it were only half a request */
    send_raw(noise, n, (const int[]){400, 405, 404, 414, 431, 505, 0, -1});
}

void no_host(void) { RAW("GET /health HTTP/1.1\r\n\r\n", 400); }

void foreign_hosts(void)
{
    static const char *const heads[] = {
        "Host: evil.example\r\n",
        "Host: localhost.evil.example:80\r\n",
        "Host: 127.0.0.1.evil.example\r\n",
        "Host: localhost\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n",
        "Host: localhost\r\nSec-Fetch-Site: cross-site\r\n",
        "Host: notlocalhost\r\n"};
    char request[300];
    snprintf(request, sizeof request, "GET /v1/audio/speech?input=a HTTP/1.1\r\n%s\r\n", PICK(heads));
    RAW(request, 403);
}

void headers_that_are_none(void)
{
    static const char *const heads[] = {"no colon here\r\n", ": nothing\r\n",   "Na me: x\r\n",
                                        " folded: x\r\n",    "\x01\x02: x\r\n", "X: \x01\x02\r\n"};
    char request[300];
    snprintf(request, sizeof request, "GET /nothing HTTP/1.1\r\nHost: localhost\r\n%s\r\n", PICK(heads));
    RAW(request, 400, 404, 0);
}
