/* http_check.c - may a request be answered: its route, its sender, its body. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"
#include "serve/http_private.h"

/* --- the route --- */

static int path_fits(const HttpRoute *route, const char *path)
{
    size_t n = strlen(route->path);
    return route->path[n - 1] == '*' ? strncmp(path, route->path, n - 1) == 0
                                     : strcmp(path, route->path) == 0;
}

/* The route; otherwise the methods that the path has are in allow. */
static const HttpRoute *find_route(const Http *h, const char *path, const char *method, char *allow,
                                   size_t cap)
{
    const int head = strcmp(method, "HEAD") == 0;
    const char *as = head ? "GET" : method;
    size_t used = 0;
    allow[0] = 0;
    for (int i = 0; i < h->o.count; i++) {
        const HttpRoute *route = &h->o.routes[i];
        if (!path_fits(route, path))
            continue;
        if (strcmp(route->method, as) == 0 && !(head && route->no_head))
            return route;
        if (!strstr(allow, route->method))
            used += (size_t)snprintf(allow + used, cap - used, "%s%s%s", used ? ", " : "", route->method,
                                     strcmp(route->method, "GET") == 0 && !route->no_head ? ", HEAD" : "");
    }
    return NULL;
}

/* --- the sender --- */

/* As long for any text that is not the token. */
static int is_token(const char *given, const char *token)
{
    size_t n = strlen(given), m = strlen(token);
    unsigned char differs = n != m;
    for (size_t i = 0; i < n; i++)
        differs |= (unsigned char)(given[i] ^ token[m ? i % m : 0]);
    return !differs;
}

static int has_token(HttpRequest *r)
{
    const char *given = http_header(r, MHD_HTTP_HEADER_AUTHORIZATION);
    return given && strncasecmp(given, "Bearer ", 7) == 0 && is_token(given + 7, r->h->o.token);
}

/* A name that a page elsewhere cannot have pointed at this machine: a number, or localhost. */
static int is_local_name(const char *host)
{
    char name[256];
    unsigned char number[16];
    size_t n = host[0] == '[' ? strcspn(host, "]") : strcspn(host, ":");
    if (n >= sizeof name)
        return 0;
    snprintf(name, sizeof name, "%.*s", (int)n, host);
    if (name[0] == '[')
        return inet_pton(AF_INET6, name + 1, number) == 1;
    if (n > 0 && name[n - 1] == '.')
        name[--n] = 0;
    return inet_pton(AF_INET, name, number) == 1 || strcasecmp(name, "localhost") == 0 ||
           (n > 10 && strcasecmp(name + n - 10, ".localhost") == 0);
}

/* 1: a page elsewhere has the browser ask. A link from there to a page of ours may be followed; to an address
 * that costs work, as that of a speech, it may not. */
static int is_from_elsewhere(HttpRequest *r)
{
    const char *site = http_header(r, "Sec-Fetch-Site"), *mode = http_header(r, "Sec-Fetch-Mode"),
               *origin = http_header(r, "Origin");
    const char *host = origin ? strstr(origin, "://") : NULL;
    if (host && strncasecmp(origin, "http", 4) == 0 && !is_local_name(host + 3))
        return 1;
    if (!site || strcmp(site, "cross-site") != 0)
        return 0;
    return !(mode && strcmp(mode, "navigate") == 0 && r->route && r->route->open);
}

/* Without a token only programs and pages of this machine may ask. */
static int check_sender(HttpRequest *r)
{
    const char *host = http_header(r, MHD_HTTP_HEADER_HOST);
    if (r->h->o.token) {
        if ((r->route && r->route->open) || has_token(r))
            return 0;
        http_add_header(r, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
        http_refuse(r, 401, "invalid_api_key",
                    http_header(r, MHD_HTTP_HEADER_AUTHORIZATION)
                        ? "the token is wrong"
                        : "this server requires a token: send the header \"Authorization: Bearer TOKEN\"");
        return 1;
    }
    if (host && !is_local_name(host)) {
        http_refuse(r, 403, "host_not_allowed",
                    "a server without a token can only be reached as localhost or by its IP address: use one "
                    "of these, or start it with --token-file");
        return 1;
    }
    if (is_from_elsewhere(r)) {
        http_refuse(r, 403, "origin_not_allowed", "pages from other sites may not use this server");
        return 1;
    }
    return 0;
}

/* --- the body --- */

typedef struct Lengths {
    int lengths, chunked;
    unsigned long long length;
} Lengths;

static enum MHD_Result count_lengths(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
    Lengths *l = arg;
    if (strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0) {
        l->lengths++;
        l->length = strtoull(value ? value : "", NULL, 10);
    } else if (strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0) {
        l->chunked++;
    }
    return MHD_YES;
}

int http_has_type(HttpRequest *r, const char *type)
{
    const char *given = http_header(r, MHD_HTTP_HEADER_CONTENT_TYPE);
    size_t n = strlen(type);
    return given && strncasecmp(given, type, n) == 0 && (!given[n] || given[n] == ';' || given[n] == ' ');
}

/* HTTP/1.0 has no chunks to answer in. */
static int is_live(HttpRequest *r, const char *version)
{
    const char *coding = http_header(r, MHD_HTTP_HEADER_TRANSFER_ENCODING);
    return r->route->live_type && http_has_type(r, r->route->live_type) && coding &&
           strcasecmp(coding, "chunked") == 0 && strcmp(version, MHD_HTTP_VERSION_1_1) == 0;
}

static int check_body(HttpRequest *r, const char *version)
{
    Lengths l = {0};
    const HttpRoute *route = r->route;
    MHD_get_connection_values(r->mhd, MHD_HEADER_KIND, count_lengths, &l);
    /* A proxy between us and the client might see two requests if there are two lengths. */
    if (l.lengths > 1 || (l.lengths && l.chunked)) {
        http_refuse(r, 400, "bad_length", "the request states its length more than once");
        return 1;
    }
    if (l.length > r->h->o.max_body || (l.length && !route->takes_body)) {
        http_answer_error(r, 413, NULL, "body_too_large", "the body has %llu bytes; the maximum is %zu",
                          l.length, route->takes_body ? r->h->o.max_body : 0);
        return 1;
    }
    if (!route->takes_body)
        return 0;
    if (!l.lengths && !l.chunked) {
        http_refuse(r, 411, "length_required", "the request has neither a Content-Length nor chunks");
        return 1;
    }
    const char *other = route->live_type;
    if (route->body_type && !http_has_type(r, route->body_type) && !(other && http_has_type(r, other))) {
        http_answer_error(r, 415, NULL, "unsupported_media_type",
                          "the body must be %s%s%s: set Content-Type to it", route->body_type,
                          other ? " or " : "", other ? other : "");
        return 1;
    }
    r->live.wanted = is_live(r, version);
    return 0;
}

/* OPTIONS asks what the path has; anything else that does not fit is told. */
static void refuse_method(HttpRequest *r, const char *method, const char *allow)
{
    http_add_header(r, MHD_HTTP_HEADER_ALLOW, allow);
    if (strcmp(method, "OPTIONS") == 0)
        http_answer(r, 204, NULL, "", 0);
    else
        http_answer_error(r, 405, NULL, "method_not_allowed", "this path allows %s", allow);
}

int http_check(HttpRequest *r, const char *method, const char *version)
{
    char allow[64];
    if (r->bad_uri || utf8_valid(r->path, strlen(r->path)) != strlen(r->path)) {
        http_refuse(r, 400, "bad_path", "the path is not UTF-8, or contains a NUL");
        return 1;
    }
    r->route = find_route(r->h, r->path, method, allow, sizeof allow);
    if (check_sender(r))
        return 1;
    if (r->h->stopping) {
        http_add_header(r, MHD_HTTP_HEADER_RETRY_AFTER, "5");
        http_refuse(r, 503, "stopping", "the server is being stopped");
        return 1;
    }
    if (!r->route && allow[0]) {
        refuse_method(r, method, allow);
        return 1;
    }
    if (!r->route) {
        http_refuse(r, 404, "not_found", "there is nothing at this path");
        return 1;
    }
    return check_body(r, version);
}
