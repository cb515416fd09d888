/* runs_routes.c - see runs_routes.h. */
#include "serve/runs_routes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "serve/runs.h"
#include "serve/server.h"

/* What is wrong with the request is answered; anything else is the server's own error. */
static int refuse(HttpRequest *r, int rc, const char *param, const Err *err)
{
    if (rc == ERR_MISSING)
        return http_answer_error(r, 404, param, NULL, "%s", err->msg);
    if (rc == ERR_USAGE)
        return http_answer_error(r, 400, param, NULL, "%s", err->msg);
    return rc;
}

static Runs *runs_of(void *arg) { return ((Server *)arg)->runs; }

static int no_runs(HttpRequest *r)
{
    return http_answer_error(r, 404, NULL, NULL, "this server was started without --runs FOLDER");
}

/* The answer, or 304 to who has it already. */
static int answer_bytes(HttpRequest *r, const char *type, const Buf *b)
{
    char etag[24];
    const char *known = http_header(r, "If-None-Match");
    snprintf(etag, sizeof etag, "\"%016llx\"", (unsigned long long)hash64(b->data, b->size));
    http_add_header(r, "ETag", etag);
    http_add_header(r, "Cache-Control", "no-cache");
    if (known && strcmp(known, etag) == 0)
        return http_answer(r, 304, type, "", 0);
    return http_answer(r, 200, type, b->data ? b->data : "", b->size);
}

int runs_answer_list(HttpRequest *r, void *arg, Err *err)
{
    Buf out = {0};
    if (!runs_of(arg))
        return no_runs(r);
    int rc = runs_list(runs_of(arg), &out, err);
    if (!rc)
        rc = answer_bytes(r, "application/json", &out);
    buf_free(&out);
    return rc;
}

/* A whole number >= 0, or -1. */
static int64_t count_of(const char *text)
{
    char *end;
    if (!text)
        return 0;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    return *text < '0' || *text > '9' || *end || errno ? -1 : n;
}

int runs_answer_one(HttpRequest *r, void *arg, Err *err)
{
    Runs *runs = runs_of(arg);
    Buf out = {0};
    const char *rest = http_rest(r), *what = strrchr(rest, '/'), *type = "application/json", *param = NULL;
    if (!runs)
        return no_runs(r);
    char *name = what ? strndup(rest, (size_t)(what - rest)) : NULL;
    int rc;
    if (what && !name) {
        return err_set(err, ERR_NOMEM, "no memory for the name of a training");
    } else if (what && strcmp(what, "/log") == 0) {
        int64_t after = count_of(http_query(r, "after"));
        param = "after";
        rc = after < 0 ? err_set(err, ERR_USAGE, "after must be a number of bytes")
                       : runs_log(runs, &out, name, after, err);
    } else if (what && strcmp(what, "/files") == 0) {
        rc = runs_files(runs, &out, name, err);
    } else if (what && strcmp(what, "/about") == 0) {
        rc = runs_about(runs, &out, name, err);
    } else if (what && strcmp(what, "/file") == 0) {
        const char *path = http_query(r, "path");
        param = "path";
        rc = path ? runs_file(runs, &out, &type, name, path, err)
                  : err_set(err, ERR_USAGE, "path=NAME is missing");
    } else {
        rc = err_set(err, ERR_MISSING, "a training has /log, /files, /about and /file?path=NAME");
    }
    rc = rc ? refuse(r, rc, param, err) : answer_bytes(r, type, &out);
    free(name);
    buf_free(&out);
    return rc;
}
