/* talk.c - one request to speak a text: from the order to the listener. The work is in studio_work.c. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "studio/studio_private.h"

static int sample_rate(const Talk *t) { return voice_checkpoint(t->room->voice)->cfg.sample_rate; }

/* --- for the workers --- */

double talk_deadline(const Talk *t) { return t->begun_at + (double)t->made / sample_rate(t); }

void talk_part_drop(TalkPart *p)
{
    if (!p || --p->uses > 0)
        return;
    voice_part_free(&p->voice);
    free(p->vector);
    free(p);
}

static void ready_free(Ready *r)
{
    if (!r)
        return;
    talk_part_drop(r->begins);
    free(r->samples);
    free(r);
}

void talk_fail(Talk *t, const Err *err)
{
    if (!t->err.code)
        t->err = *err;
}

void talk_add(Talk *t, float *samples, int64_t count, TalkPart *begins)
{
    Ready *r = mem_calloc(1, sizeof *r);
    if (!r) {
        Err err = {0};
        err_set(&err, ERR_NOMEM, "no memory for a piece of sound");
        talk_fail(t, &err);
        free(samples);
        return;
    }
    *r = (Ready){.samples = samples, .count = count, .before = t->made, .begins = begins};
    if (begins)
        begins->uses++;
    *t->last = r;
    t->last = &r->next;
    pace_made(t, (double)count / sample_rate(t));
    if (!t->made)
        t->s->report.waiting--;
    t->made += count;
    t->s->report.speech_seconds += (double)count / sample_rate(t);
}

static int is_free(const Talk *t) { return !t->reading && !t->sounding && !t->calling; }

static void talk_free(Talk *t)
{
    while (t->first) {
        Ready *r = t->first;
        t->first = r->next;
        ready_free(r);
    }
    ready_free(t->taken);
    talk_part_drop(t->current);
    talk_part_drop(t->coming);
    sound_run_end(&t->run);
    pthread_cond_destroy(&t->changed);
    voice_text_close(&t->rest);
    voice_losses_free(&t->losses);
    free(t->vector);
    free(t->text);
    free(t->speaker);
    free(t->language);
    free(t->recording);
    free(t);
}

void talk_let_go(Talk *t)
{
    if (!t->gone || !is_free(t))
        return;
    t->room->talks--;
    talk_free(t);
}

/* Only callers that were told TALK_LATER are notified. */
void talk_tell(Talk *t)
{
    pthread_cond_broadcast(&t->changed);
    if (!t->armed || t->closed)
        return;
    t->armed = 0;
    t->calling++;
    pthread_mutex_unlock(&t->s->lock);
    t->ready_call(t->arg);
    pthread_mutex_lock(&t->s->lock);
    t->calling--;
    pthread_cond_broadcast(&t->changed);
}

/* --- for the listener --- */

static int copy_order(Talk *t, const TalkOrder *o, Err *err)
{
    t->speed = o->speed;
    t->pitch = o->pitch;
    t->ready_call = o->ready;
    t->arg = o->arg;
    t->text = malloc(o->size + 1);
    t->speaker = o->speaker ? strdup(o->speaker) : NULL;
    t->language = o->wish.language ? strdup(o->wish.language) : NULL;
    t->recording = o->recording ? malloc(o->recording_size + 1) : NULL;
    if (!t->text || (o->speaker && !t->speaker) || (o->wish.language && !t->language) ||
        (o->recording && !t->recording))
        return err_set(err, ERR_NOMEM, "no memory for a text of %zu bytes", o->size);
    memcpy(t->text, o->text, o->size);
    t->text[o->size] = 0;
    if (o->recording)
        memcpy(t->recording, o->recording, o->recording_size);
    t->recording_size = o->recording_size;
    t->rest = (VoiceText){.p = t->text, .n = o->size, .language = t->language};
    return 0;
}

static int check_order(const Room *room, const TalkOrder *o, Err *err)
{
    const Checkpoint *file = voice_checkpoint(room->voice);
    int found = o->speaker ? voice_find_speaker(file, o->speaker, err) : 0;
    return found < 0 ? found : 0;
}

/* Makes a talk that is not yet in a list. */
static int make_talk(Talk **out, Studio *s, Room *room, const TalkOrder *order, Err *err)
{
    int rc = check_order(room, order, err);
    if (rc)
        return rc;
    Talk *t = mem_calloc(1, sizeof *t);
    if (!t)
        return err_set(err, ERR_NOMEM, "no memory to speak");
    t->s = s;
    t->room = room;
    t->last = &t->first;
    t->begun_at = clock_now();
    pthread_cond_init(&t->changed, NULL);
    rc = copy_order(t, order, err);
    const LanguageWish wish = {.language = order->wish.language,
                               .force = order->wish.force || s->o.force_language,
                               .goes_on = order->goes_on};
    if (!rc)
        rc = voice_begin(&t->rest, voice_checkpoint(room->voice), order->format, &wish, s->o.log, err);
    if (rc)
        talk_free(t);
    else
        *out = t;
    return rc;
}

int talk_begin(Talk **out, Studio *s, const TalkOrder *order, Err *err)
{
    Talk *t = NULL;
    *out = NULL;
    if (order->voice < 0 || order->voice >= s->o.count)
        return err_set(err, ERR_MISSING, "there is no voice %d: there %s %d", order->voice,
                       s->o.count == 1 ? "is" : "are", s->o.count);
    pthread_mutex_lock(&s->lock);
    Room *room = s->rooms[order->voice];
    room->talks++;
    pthread_mutex_unlock(&s->lock);
    int rc = make_talk(&t, s, room, order, err);
    pthread_mutex_lock(&s->lock);
    const StudioWait wait = studio_wait_now(s);
    const int too_long = s->o.most_wait > 0 && wait.seconds > s->o.most_wait && !order->goes_on;
    if (!rc && s->o.most_talks > 0 && s->report.open >= s->o.most_talks) {
        s->report.refused++;
        rc = err_set(err, ERR_BUSY, "%lld texts are already being spoken or waiting, which is the limit",
                     (long long)s->report.open);
    } else if (!rc && too_long) {
        s->report.refused++;
        rc = err_set(err, ERR_BUSY, "%lld texts come first, for about %.1f s", (long long)s->report.open,
                     wait.seconds);
    } else if (!rc) {
        t->foretold = wait.foretold;
        t->next = s->talks;
        if (t->next)
            t->next->previous = t;
        s->talks = t;
        s->report.begun++;
        s->report.open++;
        s->report.waiting++;
        pthread_cond_broadcast(&s->work);
    }
    room->talks -= rc != 0;
    pthread_mutex_unlock(&s->lock);
    if (rc && t)
        talk_free(t);
    else
        *out = t;
    return rc;
}

static int is_at_end(const Talk *t) { return t->all_read && !t->current && !t->coming; }

/* Sound that was made before an error is still delivered. */
static int take(Talk *t, TalkPiece *piece, Err *err)
{
    Studio *s = t->s;
    ready_free(t->taken);
    t->taken = t->first;
    if (t->taken) {
        const Ready *r = t->taken;
        t->first = r->next;
        if (!t->first)
            t->last = &t->first;
        t->taken_count += r->count;
        *piece = (TalkPiece){.samples = r->samples,
                             .count = r->count,
                             .part = r->begins ? &r->begins->voice : NULL,
                             .at = (double)r->before / sample_rate(t)};
        pthread_cond_broadcast(&s->work); /* there is room for more */
        return TALK_PIECE;
    }
    if (t->err.code) {
        *err = t->err;
        return err->code;
    }
    return is_at_end(t) ? TALK_END : TALK_LATER;
}

int talk_next(Talk *t, TalkPiece *piece, int wait, Err *err)
{
    Err ignored = {0};
    *piece = (TalkPiece){0};
    pthread_mutex_lock(&t->s->lock);
    int rc = take(t, piece, err ? err : &ignored);
    while (rc == TALK_LATER && wait) {
        pthread_cond_wait(&t->changed, &t->s->lock);
        rc = take(t, piece, err ? err : &ignored);
    }
    t->armed = rc == TALK_LATER && t->ready_call;
    pthread_mutex_unlock(&t->s->lock);
    return rc;
}

int talk_left_out(const Talk *t, VoiceLosses *losses)
{
    pthread_mutex_lock(&t->s->lock);
    int left_out = (int)t->losses.count,
        rc = losses ? voice_losses_add(losses, t->losses.all, t->losses.count) : 0;
    pthread_mutex_unlock(&t->s->lock);
    return rc ? rc : left_out;
}

const Voice *talk_voice(const Talk *t) { return t->room->voice; }

int talk_is_silent(const Talk *t)
{
    pthread_mutex_lock(&t->s->lock);
    int silent = t->all_read && !t->parts;
    pthread_mutex_unlock(&t->s->lock);
    return silent;
}

void talk_close(Talk *t)
{
    if (!t)
        return;
    Studio *s = t->s;
    pthread_mutex_lock(&s->lock);
    t->closed = 1;
    while (t->calling)
        pthread_cond_wait(&t->changed, &s->lock);
    if (t->previous)
        t->previous->next = t->next;
    else
        s->talks = t->next;
    if (t->next)
        t->next->previous = t->previous;
    t->gone = 1;
    s->report.open--;
    s->report.waiting -= !t->made;
    if (t->err.code)
        s->report.failed++;
    else
        s->report.ended += is_at_end(t) && !t->first;
    talk_let_go(t);
    pthread_mutex_unlock(&s->lock);
}
