/* studio_pace.c - how fast a studio speaks, measured while it does, and how long a new talk would wait. */
#include <math.h>

#include "base/clock.h"
#include "studio/studio_private.h"

#define MEMORY_SECONDS 120.0 /* of speech that the measurement looks back on, more or less */
#define FIRST_SHARE 0.2      /* that the newest talk has in the mean */
#define LEAST_SPARE 0.1      /* of the machine, that the waiting texts are made with */
#define LEAST_WAIT 0.05      /* seconds that were foretold, to learn from what became of it */
#define DELAY_SHARE 0.1      /* that the newest talk has in how much longer it takes than foretold */
enum { MOST_TRIED = 16 };

/* --- measuring; the lock is held --- */

void pace_worked(Talk *t, double seconds)
{
    t->room->pace.work += seconds;
    if (!t->made)
        t->first_work += seconds;
}

void pace_made(Talk *t, double speech)
{
    Pace *p = &t->room->pace;
    if (!t->made && t->foretold > LEAST_WAIT) {
        const double waited = clock_now() - t->begun_at - t->first_work;
        t->s->delay += DELAY_SHARE * (fmax(waited / t->foretold, 1) - t->s->delay);
    }
    if (!t->made)
        p->first += (p->first > 0 ? FIRST_SHARE : 1) * (t->first_work - p->first);
    p->piece += (p->piece > 0 ? FIRST_SHARE : 1) * (speech - p->piece);
    p->speech += speech;
    if (p->speech > MEMORY_SECONDS) {
        p->speech /= 2;
        p->work /= 2;
    }
}

/* As many talks at once as are worked at side by side, up to the first sound of each. */
static void try_together(Studio *s, int voice, int count)
{
    static const char text[] = "1 2 3 4 5 6 7 8 9 10 11 12.";
    const TalkOrder order = {.voice = voice, .text = text, .size = sizeof text - 1, .wish = {.force = 1}};
    Talk *talks[MOST_TRIED] = {0};
    TalkPiece piece;
    for (int i = 0; i < count; i++)
        talk_begin(&talks[i], s, &order, NULL);
    for (int i = 0; i < count && talks[i]; i++)
        talk_next(talks[i], &piece, 1, NULL);
    for (int i = 0; i < count; i++)
        talk_close(talks[i]);
}

/* What is spoken for the first time takes longer, and does not count. */
void pace_try(Studio *s, int voice)
{
    try_together(s, voice, 1);
    pthread_mutex_lock(&s->lock);
    s->rooms[voice]->pace = (Pace){0};
    pthread_mutex_unlock(&s->lock);
    try_together(s, voice, s->speakers < MOST_TRIED ? s->speakers : MOST_TRIED);
    pthread_mutex_lock(&s->lock);
    s->report = (StudioReport){0};
    s->delay = 1;
    pthread_mutex_unlock(&s->lock);
}

/* --- waiting --- */

/* Seconds of work for a second of speech. */
static double work_per_second(const Pace *p) { return p->speech > 0 ? p->work / p->speech : 0; }

/* Something of it is still to be made, and its listener does not have enough for now. */
static int wants_work(const Talk *t)
{
    const int over = t->all_read && !t->current && !t->coming;
    const int64_t ahead = (int64_t)(AHEAD_SECONDS * voice_checkpoint(t->room->voice)->cfg.sample_rate);
    return !t->err.code && !t->closed && !over && t->made - t->taken_count < ahead;
}

/* Work on a talk that comes before that on one which begins now: all of its first sound, or what its listener
 * should have heard by now, in whole pieces. */
static double work_before(const Talk *t, double now)
{
    if (!t->made)
        return fmax(t->room->pace.first - t->first_work, 0);
    const double late = now - talk_deadline(t);
    return late > 0 ? (late + t->room->pace.piece) * work_per_second(&t->room->pace) : 0;
}

StudioWait studio_wait_now(const Studio *s)
{
    const double now = clock_now(), most = s->o.most_wait;
    double before = 0, steady = 0;
    for (const Talk *t = s->talks; t; t = t->next)
        if (wants_work(t)) {
            before += work_before(t, now);
            steady += work_per_second(&t->room->pace);
        }
    StudioWait w = {.foretold = before / s->speakers};
    w.seconds = w.foretold * s->delay;
    if (most > 0 && w.seconds > most)
        w.retry = (w.seconds - most) / fmax(1 - steady / s->speakers, LEAST_SPARE);
    return w;
}

StudioWait studio_wait(Studio *s)
{
    pthread_mutex_lock(&s->lock);
    StudioWait w = studio_wait_now(s);
    pthread_mutex_unlock(&s->lock);
    return w;
}
