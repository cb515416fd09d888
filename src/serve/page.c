/* page.c - see page.h. */
#include "serve/page.h"

#include <stdio.h>

#include "base/hash.h"

/* Scripts, styles and questions of this server alone; sound and pictures that the page itself has made. */
#define POLICY \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' blob:; " \
    "media-src 'self' blob: mediastream:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

int page_answer(HttpRequest *r, void *arg, Err *err)
{
    char etag[24];
    const PageFile *f = page_file(http_path(r));
    if (!f)
        return http_answer_error(r, 404, NULL, NULL, "the page has no such file");
    const size_t n = (size_t)(f->end - f->data);
    snprintf(etag, sizeof etag, "\"%016llx\"", (unsigned long long)hash64(f->data, n));
    http_add_header(r, "Content-Security-Policy", POLICY);
    http_add_header(r, "Referrer-Policy", "no-referrer");
    return http_answer_static(r, f->type, f->data, n, etag);
}
