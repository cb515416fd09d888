/* runs_routes.h - the answers about trainings, for the table of routes (HttpRoute.answer); arg is a Server.
 */
#ifndef MYXTTS_RUNS_ROUTES_H
#define MYXTTS_RUNS_ROUTES_H

#include "serve/http.h"

int runs_answer_list(HttpRequest *r, void *arg, Err *err); /* GET /v1/runs */
/* GET /v1/runs/NAME/log?after=N, .../files, .../about, .../file?path=P: what is asked for is the last part,
 * since a name may have slashes. */
int runs_answer_one(HttpRequest *r, void *arg, Err *err);

#endif
