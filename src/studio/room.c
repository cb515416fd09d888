/* room.c - a voice of a studio, and what each worker speaks with in it. A voice that is replaced is kept
 * until the last talk that started with it has ended. */
#include <stdlib.h>

#include "base/mem.h"
#include "studio/studio_private.h"

#define WARM_UP_FRAMES 600

/* own: the voice's network and stage are used instead of new ones. */
static int open_network(Room *r, const Worker *w, int own, Err *err)
{
    Voice *v = r->voice;
    if (!own)
        return voice_network_open(&r->network[w->number], voice_checkpoint(v), voice_network(v),
                                  w->s->o.device, w->s->rows, 1, err);
    r->network[w->number] = voice_network(v);
    return 0;
}

static int open_sound(Room *r, const Worker *w, int own, Err *err)
{
    if (!own)
        return voice_sound_open(r->voice, &r->sound[w->number], 1, err);
    r->sound[w->number] = voice_stage(r->voice);
    return 0;
}

/* Who listens first should not wait longer than the others: sentences of several lengths, alone and together,
 * sound in pieces of every size. */
static int warm_up(const Room *r, const Worker *w, Err *err)
{
    static const int symbols[] = {24, 64, 100, 160};
    int rc = 0;
    for (size_t k = 0; k < sizeof symbols / sizeof *symbols && w->makes_mels && !rc; k++)
        for (int rows = w->s->rows; rows > 0 && !rc; rows /= 4)
            rc = voice_network_warm_up(r->network[w->number], rows, symbols[k], err);
    return !rc && w->makes_sound ? sound_warm_up(r->sound[w->number], WARM_UP_FRAMES, err) : rc;
}

/* The first worker of each kind takes what the voice has. */
static int furnish(Room *r, const Studio *s, Err *err)
{
    int mels = 0, sounds = 0, rc = 0;
    for (int i = 0; i < s->worker_count && !rc; i++) {
        const Worker *w = &s->workers[i];
        if (w->makes_mels)
            rc = open_network(r, w, !mels++, err);
        if (!rc && w->makes_sound)
            rc = open_sound(r, w, !sounds++, err);
        if (!rc)
            rc = warm_up(r, w, err);
    }
    return rc;
}

int room_open(Room **out, const Studio *s, const StudioVoice *v, Err *err)
{
    *out = NULL;
    VoiceOptions o = {.checkpoint = v->checkpoint,
                      .argc = s->o.argc,
                      .argv = s->o.argv,
                      .device = s->o.device,
                      .vocoder = v->vocoder,
                      .iterations = v->iterations,
                      .rows = s->rows,
                      .threads = 1,
                      .log = s->o.log};
    Room *r = mem_calloc(1, sizeof *r);
    if (!r)
        return err_set(err, ERR_NOMEM, "no memory for a voice");
    pthread_mutex_init(&r->text, NULL);
    r->workers = s->worker_count;
    r->network = mem_calloc((size_t)s->worker_count, sizeof *r->network);
    r->sound = mem_calloc((size_t)s->worker_count, sizeof *r->sound);
    int rc = r->network && r->sound ? voice_open(&r->voice, &o, err)
                                    : err_set(err, ERR_NOMEM, "no memory to speak with");
    if (!rc) {
        r->vectors = mem_calloc((size_t)voice_checkpoint(r->voice)->speaker_count, sizeof *r->vectors);
        rc = r->vectors ? furnish(r, s, err) : err_set(err, ERR_NOMEM, "no memory for a voice's speakers");
    }
    if (rc) {
        room_close(r);
        return rc;
    }
    *out = r;
    return 0;
}

void room_close(Room *r)
{
    if (!r)
        return;
    const int speakers = r->voice ? voice_checkpoint(r->voice)->speaker_count : 0;
    for (int i = 0; i < r->workers && r->voice; i++) {
        if (r->network[i] != voice_network(r->voice))
            voice_network_close(r->network[i]);
        if (r->sound[i] != voice_stage(r->voice))
            sound_close(r->sound[i]);
    }
    for (int i = 0; i < speakers && r->vectors; i++)
        free(r->vectors[i]);
    free(r->vectors);
    free(r->network);
    free(r->sound);
    voice_close(r->voice);
    pthread_mutex_destroy(&r->text);
    free(r);
}

/* --- replacing --- */

/* All is made beside what speaks; changing places takes no time. */
int studio_renew(Studio *s, int voice, const StudioVoice *with, Err *err)
{
    Room *fresh;
    int rc = room_open(&fresh, s, with, err);
    if (rc)
        return rc;
    pthread_rwlock_wrlock(&s->looking);
    pthread_mutex_lock(&s->lock);
    Room *old = s->rooms[voice];
    s->rooms[voice] = fresh;
    fresh->pace = old->pace;
    old->next = s->retired;
    s->retired = old;
    pthread_mutex_unlock(&s->lock);
    pthread_rwlock_unlock(&s->looking);
    studio_sweep(s);
    return 0;
}

/* Rooms without talks are taken out of the list under the lock and closed without it. */
void studio_sweep(Studio *s)
{
    Room *gone = NULL;
    pthread_mutex_lock(&s->lock);
    for (Room **at = &s->retired; *at;) {
        Room *r = *at;
        if (r->talks) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        r->next = gone;
        gone = r;
    }
    pthread_mutex_unlock(&s->lock);
    while (gone) {
        Room *r = gone;
        gone = r->next;
        room_close(r);
    }
}

void studio_look(Studio *s) { pthread_rwlock_rdlock(&s->looking); }
void studio_looked(Studio *s) { pthread_rwlock_unlock(&s->looking); }
