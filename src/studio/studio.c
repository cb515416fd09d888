/* studio.c - opens voices and starts those who speak with them.
 * On a CPU every core is a worker that makes mels, one at a time, and sound: that keeps all cores busier than
 * products of several rows do. On a GPU one worker makes mels, many rows at a time, and some make sound. */
#include "studio/studio.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "studio/studio_private.h"

#define GPU_SOUND_WORKERS 4 /* as many keep it busy */

static int is_on_cpu(const Studio *s) { return s->o.device->traits.host_memory; }

/* --- workers --- */

static void close_worker(Worker *w)
{
    free(w->parts);
    free(w->manners);
    free(w->talks);
    free(w->spoken);
}

static int open_worker(Worker *w, Studio *s, int number, Err *err)
{
    const int cpu = is_on_cpu(s);
    const size_t rows = (size_t)s->rows;
    *w = (Worker){
        .s = s, .number = number, .makes_mels = cpu || number == 0, .makes_sound = cpu || number > 0};
    if (!w->makes_mels)
        return 0;
    w->parts = mem_calloc(rows, sizeof *w->parts);
    w->manners = mem_calloc(rows, sizeof *w->manners);
    w->talks = mem_calloc(rows, sizeof *w->talks);
    w->spoken = mem_calloc(rows, sizeof *w->spoken);
    if (!w->parts || !w->manners || !w->talks || !w->spoken)
        return err_set(err, ERR_NOMEM, "no memory to speak with");
    return 0;
}

static int open_workers(Studio *s, Err *err)
{
    const int threads = s->o.threads > 0 ? s->o.threads : thread_cores();
    s->worker_count = is_on_cpu(s) ? threads : 1 + GPU_SOUND_WORKERS;
    s->speakers = is_on_cpu(s) ? threads : 1;
    s->workers = mem_calloc((size_t)s->worker_count, sizeof *s->workers);
    int rc = s->workers ? 0 : err_set(err, ERR_NOMEM, "no memory to speak with");
    for (int i = 0; i < s->worker_count && !rc; i++)
        rc = open_worker(&s->workers[i], s, i, err);
    return rc;
}

/* --- opening --- */

int studio_open(Studio **out, const StudioOptions *o, Err *err)
{
    *out = NULL;
    Studio *s = mem_calloc(1, sizeof *s);
    if (!s)
        return err_set(err, ERR_NOMEM, "no memory for voices");
    s->o = *o;
    s->rows = is_on_cpu(s) ? 1 : STUDIO_MOST_ROWS;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->work, NULL);
    pthread_rwlock_init(&s->looking, NULL);
    s->rooms = mem_calloc((size_t)o->count, sizeof *s->rooms);
    int rc = s->rooms ? open_workers(s, err) : err_set(err, ERR_NOMEM, "no memory for %d voices", o->count);
    for (int i = 0; i < o->count && !rc; i++)
        rc = room_open(&s->rooms[i], s, &o->voices[i], err);
    s->o.voices = NULL;
    for (int i = 0; i < s->worker_count && !rc; i++)
        rc = thread_start(&s->workers[i].thread, "speak", studio_worker, &s->workers[i], err);
    if (rc) {
        studio_close(s);
        return rc;
    }
    for (int i = 0; i < o->count && o->most_wait > 0; i++)
        pace_try(s, i);
    *out = s;
    return 0;
}

void studio_close(Studio *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->stopping = 1;
    pthread_cond_broadcast(&s->work);
    pthread_mutex_unlock(&s->lock);
    for (int i = 0; i < s->worker_count && s->workers; i++)
        thread_join(&s->workers[i].thread);
    for (int i = 0; i < s->worker_count && s->workers; i++)
        close_worker(&s->workers[i]);
    for (int i = 0; i < s->o.count && s->rooms; i++)
        room_close(s->rooms[i]);
    studio_sweep(s);
    free(s->workers);
    free(s->rooms);
    pthread_cond_destroy(&s->work);
    pthread_rwlock_destroy(&s->looking);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

int studio_voice_count(const Studio *s) { return s->o.count; }
const Voice *studio_voice(const Studio *s, int voice) { return s->rooms[voice]->voice; }

void studio_report(Studio *s, StudioReport *r)
{
    pthread_mutex_lock(&s->lock);
    *r = s->report;
    pthread_mutex_unlock(&s->lock);
}
