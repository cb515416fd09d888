/* sim_event.c - events of a simulated GPU; device_sim.c says how time is kept. */
#include <stdlib.h>

#include "base/mem.h"
#include "device/device_sim_private.h"

/* ---- lifetime and hurrying ---- */

/* Lets go of the stream it was last recorded on, and of its device. */
void sim_event_release(SimEvent *e)
{
    if (atomic_fetch_sub(&e->references, 1) > 1)
        return;
    pthread_mutex_destroy(&e->mutex);
    pthread_cond_destroy(&e->changed);
    if (e->stream)
        sim_stream_release(e->stream);
    sim_gpu_release(e->gpu);
    free(e);
}

/* Makes the stream hurry that will record e. No two locks are held at once; what is used in between is held
 * by references. */
void sim_event_hurry(SimEvent *e)
{
    pthread_mutex_lock(&e->mutex);
    SimStream *s = e->happened < e->recorded ? e->stream : NULL;
    uint64_t number = e->number;
    if (s)
        atomic_fetch_add(&s->references, 1);
    pthread_mutex_unlock(&e->mutex);
    if (s) {
        sim_stream_hurry(s, number);
        sim_stream_release(s);
    }
}

/* ---- events ---- */

/* It holds a reference to its GPU, which it may outlive. */
int sim_event_open(Device *d, Event **e, int timed, Err *err)
{
    *e = NULL;
    SimEvent *event = mem_calloc(1, sizeof *event);
    if (!event)
        return sim_no_memory(d, "an event", err);
    event->base.device = d;
    event->gpu = sim_gpu(d);
    atomic_fetch_add(&event->gpu->references, 1);
    atomic_init(&event->references, 1);
    pthread_mutex_init(&event->mutex, NULL);
    pthread_cond_init(&event->changed, NULL);
    *e = &event->base;
    return 0;
}

void sim_event_close(Event *e)
{
    if (e)
        sim_event_release((SimEvent *)e);
}

/* Called by the stream's thread when it gets to the record. */
void sim_event_happen(SimEvent *e, uint64_t generation, double at)
{
    pthread_mutex_lock(&e->mutex);
    e->kept[generation % KEPT_RECORDS] = (Record){at, atomic_load(&e->gpu->failed)};
    if (generation > e->happened)
        e->happened = generation;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->mutex);
}

/* Waits until record `generation` has happened. One so old that it is not kept has the time of the oldest
 * that is. */
Record sim_event_await(SimEvent *e, uint64_t generation)
{
    pthread_mutex_lock(&e->mutex);
    while (e->happened < generation)
        pthread_cond_wait(&e->changed, &e->mutex);
    if (generation + KEPT_RECORDS <= e->happened)
        generation = e->happened - KEPT_RECORDS + 1;
    Record r = e->kept[generation % KEPT_RECORDS];
    pthread_mutex_unlock(&e->mutex);
    return r;
}

/* How often it has been recorded: a wait is for the last record made before it. */
uint64_t sim_event_recorded(SimEvent *e)
{
    pthread_mutex_lock(&e->mutex);
    uint64_t n = e->recorded;
    pthread_mutex_unlock(&e->mutex);
    return n;
}

/* A failed device is told here too, once the event has happened. */
int sim_event_happened(Event *e)
{
    SimEvent *event = (SimEvent *)e;
    pthread_mutex_lock(&event->mutex);
    int done = event->happened == event->recorded;
    pthread_mutex_unlock(&event->mutex);
    int rc = done ? sim_gpu_state(event->gpu, NULL) : 0;
    return rc ? rc : done;
}

/* For the last record made before the call. */
int sim_event_wait(Event *e, Err *err)
{
    SimEvent *event = (SimEvent *)e;
    sim_event_await(event, sim_event_recorded(event));
    return sim_gpu_state(event->gpu, err);
}

/* Virtual time of the last record that happened. */
static double event_time(SimEvent *e)
{
    pthread_mutex_lock(&e->mutex);
    double at = e->kept[e->happened % KEPT_RECORDS].at;
    pthread_mutex_unlock(&e->mutex);
    return at;
}

double sim_event_seconds(Event *a, Event *b) { return event_time((SimEvent *)b) - event_time((SimEvent *)a); }
