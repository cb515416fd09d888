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
#define WARM_UP_FRAMES 600

static int is_on_cpu(const Studio *s) { return s->o.device->traits.host_memory; }

/* --- voices --- */

static int open_room(Studio *s, int i, Err *err)
{
    const StudioVoice *v = &s->o.voices[i];
    Room *room = &s->rooms[i];
    VoiceOptions o = {.checkpoint = v->checkpoint,
                      .argc = s->o.argc,
                      .argv = s->o.argv,
                      .device = s->o.device,
                      .vocoder = v->vocoder,
                      .iterations = v->iterations,
                      .rows = s->rows,
                      .threads = 1,
                      .log = s->o.log};
    pthread_mutex_init(&room->text, NULL);
    int rc = voice_open(&room->voice, &o, err);
    if (rc)
        return rc;
    room->vectors = mem_calloc((size_t)voice_checkpoint(room->voice)->speaker_count, sizeof *room->vectors);
    return room->vectors ? 0 : err_set(err, ERR_NOMEM, "no memory for the speakers of a voice");
}

static void close_room(Room *room)
{
    const int speakers = room->voice ? voice_checkpoint(room->voice)->speaker_count : 0;
    for (int i = 0; i < speakers && room->vectors; i++)
        free(room->vectors[i]);
    free(room->vectors);
    voice_close(room->voice);
    pthread_mutex_destroy(&room->text);
}

/* --- workers --- */

/* own: the voices' networks and stages are used instead of new ones. */
static int open_networks(Worker *w, int own, Err *err)
{
    Studio *s = w->s;
    w->own_networks = own;
    w->network = mem_calloc((size_t)s->o.count, sizeof *w->network);
    w->parts = mem_calloc((size_t)s->rows, sizeof *w->parts);
    w->manners = mem_calloc((size_t)s->rows, sizeof *w->manners);
    w->talks = mem_calloc((size_t)s->rows, sizeof *w->talks);
    w->spoken = mem_calloc((size_t)s->rows, sizeof *w->spoken);
    if (!w->network || !w->parts || !w->manners || !w->talks || !w->spoken)
        return err_set(err, ERR_NOMEM, "no memory to speak with");
    int rc = 0;
    for (int i = 0; i < s->o.count && !rc; i++) {
        Voice *v = s->rooms[i].voice;
        if (own)
            w->network[i] = voice_network(v);
        else
            rc = voice_network_open(&w->network[i], voice_checkpoint(v), voice_network(v), s->o.device,
                                    s->rows, 1, err);
    }
    return rc;
}

static int open_sounds(Worker *w, int own, Err *err)
{
    Studio *s = w->s;
    w->own_sounds = own;
    w->sound = mem_calloc((size_t)s->o.count, sizeof *w->sound);
    int rc = w->sound ? 0 : err_set(err, ERR_NOMEM, "no memory to speak with");
    for (int i = 0; i < s->o.count && !rc; i++) {
        Voice *v = s->rooms[i].voice;
        if (own)
            w->sound[i] = voice_stage(v);
        else
            rc = voice_sound_open(v, &w->sound[i], 1, err);
    }
    return rc;
}

/* Who listens first should not wait longer than the others: sentences of several lengths, alone and together,
 * sound in pieces of every size. */
static int warm_up(Worker *w, Err *err)
{
    static const int symbols[] = {24, 64, 100, 160};
    int rc = 0;
    for (int i = 0; i < w->s->o.count && !rc; i++) {
        for (size_t k = 0; k < sizeof symbols / sizeof *symbols && w->network && !rc; k++)
            for (int rows = w->s->rows; rows > 0 && !rc; rows /= 4)
                rc = voice_network_warm_up(w->network[i], rows, symbols[k], err);
        if (!rc && w->sound)
            rc = sound_warm_up(w->sound[i], WARM_UP_FRAMES, err);
    }
    return rc;
}

static void close_worker(Worker *w)
{
    if (!w->s)
        return;
    for (int i = 0; i < w->s->o.count; i++) {
        if (w->network && !w->own_networks)
            voice_network_close(w->network[i]);
        if (w->sound && !w->own_sounds)
            sound_close(w->sound[i]);
    }
    free(w->network);
    free(w->sound);
    free(w->parts);
    free(w->manners);
    free(w->talks);
    free(w->spoken);
}

static int open_workers(Studio *s, Err *err)
{
    const int cpu = is_on_cpu(s), threads = s->o.threads > 0 ? s->o.threads : thread_cores();
    s->worker_count = cpu ? threads : 1 + GPU_SOUND_WORKERS;
    s->workers = mem_calloc((size_t)s->worker_count, sizeof *s->workers);
    if (!s->workers)
        return err_set(err, ERR_NOMEM, "no memory to speak with");
    int rc = 0;
    for (int i = 0; i < s->worker_count && !rc; i++) {
        Worker *w = &s->workers[i];
        w->s = s;
        if (cpu || i == 0)
            rc = open_networks(w, i == 0, err);
        if (!rc && (cpu || i > 0))
            rc = open_sounds(w, i == !cpu, err);
        if (!rc)
            rc = warm_up(w, err);
    }
    for (int i = 0; i < s->worker_count && !rc; i++)
        rc = thread_start(&s->workers[i].thread, "speak", studio_worker, &s->workers[i], err);
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
    s->rooms = mem_calloc((size_t)o->count, sizeof *s->rooms);
    int rc = s->rooms ? 0 : err_set(err, ERR_NOMEM, "no memory for %d voices", o->count);
    for (int i = 0; i < o->count && !rc; i++)
        rc = open_room(s, i, err);
    if (!rc)
        rc = open_workers(s, err);
    if (rc) {
        studio_close(s);
        return rc;
    }
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
        close_room(&s->rooms[i]);
    free(s->workers);
    free(s->rooms);
    pthread_cond_destroy(&s->work);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

int studio_voice_count(const Studio *s) { return s->o.count; }
const Voice *studio_voice(const Studio *s, int voice) { return s->rooms[voice].voice; }

void studio_report(Studio *s, StudioReport *r)
{
    pthread_mutex_lock(&s->lock);
    *r = s->report;
    pthread_mutex_unlock(&s->lock);
}
