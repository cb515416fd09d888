/* record_routes.h - the answers about recordings, for the table of routes (HttpRoute.answer); arg is a
 * Server. */
#ifndef MYXTTS_RECORD_ROUTES_H
#define MYXTTS_RECORD_ROUTES_H

#include "serve/http.h"

int record_answer_list(HttpRequest *r, void *arg, Err *err);   /* GET /v1/record */
int record_answer_take(HttpRequest *r, void *arg, Err *err);   /* GET /v1/record/ID */
int record_answer_save(HttpRequest *r, void *arg, Err *err);   /* POST /v1/record/ID?text=SENTENCE */
int record_answer_remove(HttpRequest *r, void *arg, Err *err); /* DELETE /v1/record/ID */

#endif
