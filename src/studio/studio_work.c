/* studio_work.c - what the workers of a studio do: text and mels of several talks at once, pieces of sound.
 * The most urgent first: the talk whose listener would run out of sound first. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "studio/studio_private.h"
#include "voice/voice_manner.h"

/* --- what there is to do; the lock is held --- */

static int64_t samples_of(const Talk *t, double seconds)
{
    return (int64_t)(seconds * voice_checkpoint(t->room->voice)->cfg.sample_rate);
}

static int wants_sound(const Talk *t)
{
    return t->current && !t->sounding && !t->err.code &&
           t->made - t->taken_count < samples_of(t, AHEAD_SECONDS);
}

/* One part is spoken while the one before it becomes sound. */
static int wants_mel(const Talk *t) { return !t->reading && !t->all_read && !t->coming && !t->err.code; }

/* A part that is spoken in advance is wanted when the one before it has been heard. */
static double mel_deadline(const Talk *t)
{
    double at = talk_deadline(t);
    if (t->current) {
        const Config *cfg = &voice_checkpoint(t->room->voice)->cfg;
        at += (double)t->current->voice.frames * cfg->hop_length / cfg->sample_rate;
    }
    return at;
}

static Talk *most_urgent_sound(const Studio *s, double *deadline)
{
    Talk *found = NULL;
    for (Talk *t = s->talks; t; t = t->next)
        if (wants_sound(t) && (!found || talk_deadline(t) < *deadline)) {
            found = t;
            *deadline = talk_deadline(t);
        }
    return found;
}

static Talk *most_urgent_mel(const Studio *s, double *deadline, const Room *room)
{
    Talk *found = NULL;
    for (Talk *t = s->talks; t; t = t->next)
        if (wants_mel(t) && (!room || t->room == room) && (!found || mel_deadline(t) < *deadline)) {
            found = t;
            *deadline = mel_deadline(t);
        }
    return found;
}

/* --- text and mel --- */

/* Whose voice it is: that of a recording, or of a speaker; the latter is kept for the next talk with it. */
static int find_vector(Worker *w, const Talk *t, const char *speaker, float **out, Err *err)
{
    Studio *s = w->s;
    Room *room = t->room;
    VoiceNetwork *network = room->network[w->number];
    const Checkpoint *file = voice_checkpoint(room->voice);
    const size_t bytes = (size_t)file->cfg.speaker_embedding_dim * sizeof(float);
    float *vector = mem_calloc(1, bytes), *kept = NULL;
    if (!vector)
        return err_set(err, ERR_NOMEM, "no memory for a voice");
    int rc = 0, number = -1;
    if (t->recording && !speaker) {
        rc = voice_network_recording(network, vector, t->recording, t->recording_size, "the recording", err);
    } else {
        speaker = speaker ? speaker : t->speaker;
        number = file->speaker_count ? voice_find_speaker(file, speaker, err) : -1;
        pthread_mutex_lock(&s->lock);
        const float *known = number >= 0 ? room->vectors[number] : NULL;
        if (known)
            memcpy(vector, known, bytes);
        pthread_mutex_unlock(&s->lock);
        if (!known) {
            rc = voice_network_speaker(network, vector, speaker, err);
            kept = rc || number < 0 ? NULL : mem_calloc(1, bytes);
        }
    }
    if (kept) {
        memcpy(kept, vector, bytes);
        pthread_mutex_lock(&s->lock);
        if (!room->vectors[number]) {
            room->vectors[number] = kept;
            kept = NULL;
        }
        pthread_mutex_unlock(&s->lock);
        free(kept);
    }
    if (rc)
        free(vector);
    else
        *out = vector;
    return rc;
}

/* The next part of a talk, not spoken yet: 1 and *out, 0 at the end, or an error. The whole text is looked
 * through for what will be left out before the first: who listens is told with the first sound. */
static int read_part(Worker *w, Talk *t, TalkPart **out, VoiceLosses *lost, Err *err)
{
    Room *room = t->room;
    *out = NULL;
    int rc = t->vector ? 0 : find_vector(w, t, NULL, &t->vector, err);
    if (rc)
        return rc;
    TalkPart *p = mem_calloc(1, sizeof *p);
    if (!p)
        return err_set(err, ERR_NOMEM, "no memory for a part of a text");
    p->uses = 1;
    pthread_mutex_lock(&room->text);
    if (!t->looked_through)
        rc = voice_losses(room->voice, lost, &t->rest, err);
    t->looked_through = 1;
    if (!rc)
        rc = voice_read(room->voice, &t->rest, &p->voice, lost, err);
    pthread_mutex_unlock(&room->text);
    p->more = !voice_text_is_over(&t->rest);
    if (rc == 1 && p->voice.wishes.speaker) {
        int failed = find_vector(w, t, p->voice.wishes.speaker, &p->vector, err);
        rc = failed ? failed : 1;
    }
    if (rc == 1)
        *out = p;
    else
        talk_part_drop(p);
    return rc;
}

/* Parts [rows] of talks of one voice get their mels. Where that fails for all, each has its own error. */
static void speak_together(Worker *w, const Room *room, int rows, Err *errs)
{
    VoiceNetwork *network = room->network[w->number];
    for (int i = 0; i < rows; i++) {
        const Talk *t = w->talks[i];
        w->parts[i] = &w->spoken[i]->voice;
        const float *own = w->spoken[i]->vector;
        w->manners[i] = (VoiceManner){.vector = own ? own : t->vector, .speed = t->speed, .pitch = t->pitch};
        errs[i] = (Err){0};
    }
    int rc = voice_network_speak(network, w->parts, w->manners, rows, &errs[0]);
    if (rc && rows > 1)
        for (int i = 0; i < rows; i++) {
            errs[i] = (Err){0};
            voice_network_speak(network, &w->parts[i], &w->manners[i], 1, &errs[i]);
        }
}

/* Adds what is not known yet, and empties the list. */
static void take_losses(Talk *t, VoiceLosses *lost)
{
    for (size_t i = 0; i < lost->count; i++) {
        int known = 0;
        for (size_t k = 0; k < t->losses.count; k++)
            known |= t->losses.all[k].at == lost->all[i].at && t->losses.all[k].size == lost->all[i].size;
        if (!known && voice_losses_add(&t->losses, &lost->all[i], 1)) {
            Err err = {0};
            err_set(&err, ERR_NOMEM, "no memory for a list");
            talk_fail(t, &err);
        }
    }
    voice_losses_free(lost);
}

/* The result for a talk whose text was being read; the lock is held. p: its part, NULL: there is none. */
static void finish_reading(Talk *t, TalkPart *p, VoiceLosses *lost, const Err *err)
{
    t->reading = 0;
    take_losses(t, lost);
    if (err->code) {
        talk_part_drop(p);
        talk_fail(t, err);
    } else if (!p) {
        t->all_read = 1;
        if (!t->parts) {
            Err nothing = {0};
            err_set(&nothing, ERR_DATA, "the text has nothing to speak");
            talk_fail(t, &nothing);
        }
    } else {
        t->parts++;
        t->all_read = !p->more;
        *(t->current ? &t->coming : &t->current) = p;
    }
    talk_tell(t);
    talk_let_go(t);
}

/* The lock is held, and let go of meanwhile. first: the most urgent talk. */
static void make_mels(Worker *w, Talk *first)
{
    Studio *s = w->s;
    const Room *room = first->room;
    int rows = 0;
    double deadline;
    for (Talk *t = first; t && rows < s->rows; t = most_urgent_mel(s, &deadline, room)) {
        t->reading = 1;
        w->talks[rows++] = t;
    }
    pthread_mutex_unlock(&s->lock);
    double from = clock_now();
    int spoken = 0;
    Err errs[STUDIO_MOST_ROWS];
    VoiceLosses left_out[STUDIO_MOST_ROWS] = {0};
    /* Those that are at their end, or fail, are done with at once; the others move together. */
    for (int i = 0; i < rows; i++) {
        Talk *t = w->talks[i];
        Err err = {0};
        TalkPart *p;
        VoiceLosses lost = {0};
        int rc = read_part(w, t, &p, &lost, &err);
        if (rc == 1) {
            left_out[spoken] = lost;
            w->spoken[spoken] = p;
            w->talks[spoken++] = t;
            continue;
        }
        pthread_mutex_lock(&s->lock);
        finish_reading(t, NULL, &lost, &err);
        pthread_mutex_unlock(&s->lock);
    }
    const double text_seconds = clock_now() - from;
    if (spoken)
        speak_together(w, room, spoken, errs);
    pthread_mutex_lock(&s->lock);
    s->report.text_seconds += text_seconds;
    s->report.mel_seconds += clock_now() - from - text_seconds;
    s->report.calls += spoken > 0;
    s->report.rows += spoken;
    for (int i = 0; i < spoken; i++) {
        pace_worked(w->talks[i], (clock_now() - from) / rows);
        finish_reading(w->talks[i], w->spoken[i], &left_out[i], &errs[i]);
    }
    pthread_cond_broadcast(&s->work);
}

/* --- sound --- */

/* The lock is held, and let go of meanwhile. */
static void make_sound(Worker *w, Talk *t)
{
    Studio *s = w->s;
    TalkPart *p = t->current;
    t->sounding = 1;
    pthread_mutex_unlock(&s->lock);
    Err err = {0};
    float *samples = NULL;
    int64_t count = 0;
    double from = clock_now();
    const int begins = !t->run_begun;
    if (begins)
        sound_run_begin(&t->run, p->voice.mel, p->voice.frames, p->more ? samples_of(t, p->voice.pause) : 0);
    t->run_begun = 1;
    const int hop = voice_checkpoint(t->room->voice)->cfg.hop_length;
    const int64_t at = t->run.to * hop;
    int rc = sound_run_next(&t->run, t->room->sound[w->number], &samples, &count, &err);
    if (!rc)
        voice_part_gain(&p->voice, samples, at, count, hop);
    const int done = rc || sound_run_done(&t->run);
    if (done) {
        sound_run_end(&t->run);
        t->run_begun = 0;
    }
    pthread_mutex_lock(&s->lock);
    s->report.sound_seconds += clock_now() - from;
    pace_worked(t, clock_now() - from);
    t->sounding = 0;
    if (rc)
        talk_fail(t, &err);
    else
        talk_add(t, samples, count, begins ? p : NULL);
    if (done) {
        talk_part_drop(p);
        t->current = t->coming;
        t->coming = NULL;
    }
    talk_tell(t);
    talk_let_go(t);
    pthread_cond_broadcast(&s->work);
}

void *studio_worker(void *arg)
{
    Worker *w = arg;
    Studio *s = w->s;
    pthread_mutex_lock(&s->lock);
    while (!s->stopping) {
        double mel_at = INFINITY, sound_at = INFINITY;
        Talk *mel = w->makes_mels ? most_urgent_mel(s, &mel_at, NULL) : NULL,
             *sound = w->makes_sound ? most_urgent_sound(s, &sound_at) : NULL;
        if (mel && mel_at <= sound_at)
            make_mels(w, mel);
        else if (sound)
            make_sound(w, sound);
        else
            pthread_cond_wait(&s->work, &s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}
