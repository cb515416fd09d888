/* page.h - the pages in the browser, /, /runs and /record, and the files they need: those of src/page, which
 * are part of the program. Nothing is loaded from elsewhere, and the pages' own policy forbids it. */
#ifndef MYXTTS_PAGE_H
#define MYXTTS_PAGE_H

#include <stddef.h>

#include "serve/http.h"

/* HttpRoute.answer of /, /runs, /record and everything below /page/. */
int page_answer(HttpRequest *r, void *arg, Err *err);

typedef struct PageFile {
    const char *path, *type;
    const char *data, *end; /* its bytes */
} PageFile;
/* NULL: there is no such file. */
const PageFile *page_file(const char *path);

#endif
