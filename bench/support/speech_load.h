/* speech_load.h - many clients at once who let a server speak (POST /v1/audio/speech), in one process that
 * needs little of the machine: epoll, and no thread. Every sound is compared with what it should be, byte by
 * byte, as it comes. Nothing but libc is needed. */
#ifndef BENCH_SPEECH_LOAD_H
#define BENCH_SPEECH_LOAD_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef struct LoadText {
    const char *text;
    const uint8_t *wav; /* [size] the whole answer, header included; NULL: any sound will do */
    size_t size;
} LoadText;

typedef struct LoadOptions {
    const char *host, *port, *token; /* token: NULL: none */
    const LoadText *texts;           /* [text_count] spoken one after the other, a request each */
    int text_count;
    int clients;      /* each has a connection, and asks again when it has all of an answer */
    int64_t requests; /* 0: as many as are begun in `seconds` */
    double seconds;
} LoadOptions;

typedef struct LoadResult {
    int64_t requests, errors, wrong; /* wrong: other bytes than expected */
    int64_t refused;        /* answers 429, after which a client waits as it is told; not in requests */
    double slowest_refusal; /* seconds */
    double elapsed;         /* seconds, to the end of the last answer */
    double speech;          /* seconds of sound */
    double *first;     /* [requests - errors] seconds from the request to the first sound, sorted; malloc'd */
    char message[300]; /* of the first error */
} LoadResult;

/* ERR_IO: nobody listens there. */
int load_run(LoadResult *r, const LoadOptions *o, Err *err);
void load_result_free(LoadResult *r);
/* Of sorted seconds; 0 <= share <= 1. NAN: there are none. */
double load_percentile(const LoadResult *r, double share);

#endif
