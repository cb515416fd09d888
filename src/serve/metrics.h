/* metrics.h - figures of a server, as Prometheus reads them. Threads: any. */
#ifndef MYXTTS_METRICS_H
#define MYXTTS_METRICS_H

#include <pthread.h>
#include <stdint.h>

#include "base/mem.h"
#include "serve/http.h"
#include "studio/studio.h"

#define METRICS_BOUNDS 14 /* of the histogram; what is longer is in a last bucket */

typedef struct Metrics { /* zeroed is empty */
    pthread_mutex_t lock;
    uint64_t first_sound[METRICS_BOUNDS + 1];
    double first_sound_sum;
    uint64_t cancelled; /* clients that left before the end */
} Metrics;

void metrics_open(Metrics *m);
void metrics_close(Metrics *m);
void metrics_first_sound(Metrics *m, double seconds); /* from the request to its first sound */
void metrics_cancelled(Metrics *m);

/* Appends the text of all. studio may be NULL. */
void metrics_text(Metrics *m, Buf *out, Http *http, Studio *studio, double uptime);

#endif
