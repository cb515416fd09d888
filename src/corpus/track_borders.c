/* track_borders.c - see track_borders.h. Times are in levels, 10 ms. */
#include "corpus/track_borders.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

enum {
    NEAR = 12,       /* from the edge of a pause: the unit begins or ends there */
    REAL_PAUSE = 16, /* longer than a stop within a word is closed */
    BURST = 10,      /* the sound of a stop that opens at the end of a word */
    LEFT_OVER = 35,  /* pause within a unit whose last words were not recognised */
};

int64_t track_sound(const Listening *l, int64_t begin, int64_t end)
{
    int64_t n = 0;
    for (int64_t i = begin; i < end; i++)
        n += !l->quiet[i];
    return n;
}

static int64_t length_of(const Pause *p) { return p->end - p->begin; }

/* Stops are silent before they open, so the first or the last sound may have taken the pause for its own. */
static void snap(TrackedUnit *u, const Listening *l)
{
    const Pause *all = l->pauses;
    int64_t p = listening_pause_at(l, u->begin);
    if (p < l->pause_count && (all[p].begin <= u->begin + NEAR / 2 ||
                               (all[p].begin <= u->begin + NEAR && length_of(&all[p]) >= REAL_PAUSE)))
        u->begin = all[p].end;
    else if (p > 0 && u->begin - all[p - 1].end <= NEAR)
        u->begin = all[p - 1].end;
    p = listening_pause_at(l, u->end - 1);
    if (p > 0 && u->end - all[p - 1].end <= NEAR / 2 && length_of(&all[p - 1]) >= REAL_PAUSE)
        u->end = all[--p].begin;
    else if (p < l->pause_count && all[p].begin - u->end <= NEAR)
        u->end = all[p].begin;
    if (p + 1 < l->pause_count && u->end == all[p].begin && length_of(&all[p]) <= REAL_PAUSE &&
        all[p + 1].begin - all[p].end <= BURST && length_of(&all[p + 1]) >= REAL_PAUSE)
        u->end = all[p + 1].begin;
    const ListenedFile *f = listening_file_of(l, u->begin / 2);
    if (u->begin - 2 * f->first <= NEAR) /* a recording that begins with speech, or ends with it */
        u->begin = l->quiet[2 * f->first] ? u->begin : 2 * f->first;
    const int64_t last = 2 * (f->first + f->frames);
    if (last - u->end <= NEAR && !l->quiet[last - 1])
        u->end = last;
    if (u->end <= u->begin)
        u->end = u->begin + 1;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Levels of sound that a state takes this reader, in the middle of all units. */
static double pace_of(const TrackedUnit *units, int count, const Listening *l, const Chain *c)
{
    double *each = mem_calloc((size_t)count + 1, sizeof *each), pace = 4.3;
    for (int i = 0; each && i < count; i++)
        each[i] = (double)track_sound(l, units[i].begin, units[i].end) /
                  (double)(c->first[units[i].unit + 1] - c->first[units[i].unit]);
    if (each && count) {
        qsort(each, (size_t)count, sizeof *each, compare_doubles);
        pace = each[count / 2];
    }
    free(each);
    return pace;
}

/* Sound next to a unit, up to the next longer pause, is part of it if it lacks so much. */
static void take_left_over(TrackedUnit *u, int64_t from, int64_t to, const Listening *l, double expected)
{
    for (;;) {
        const int64_t p = listening_pause_at(l, u->end);
        if (p + 1 >= l->pause_count || l->pauses[p].begin > u->end + 1 ||
            length_of(&l->pauses[p]) > LEFT_OVER)
            break;
        const int64_t begin = l->pauses[p].end, end = l->pauses[p + 1].begin;
        const double now = (double)track_sound(l, u->begin, u->end), more = now + (double)(end - begin);
        if (end >= to || to - end < length_of(&l->pauses[p]) ||
            fabs(log(more / expected)) >= fabs(log(now / expected)))
            break;
        u->end = end;
    }
    for (;;) {
        const int64_t p = listening_pause_at(l, u->begin - 1);
        if (p < 1 || p >= l->pause_count || l->pauses[p].end != u->begin ||
            length_of(&l->pauses[p]) > LEFT_OVER)
            break;
        const int64_t begin = l->pauses[p - 1].end, end = l->pauses[p].begin;
        const double now = (double)track_sound(l, u->begin, u->end), more = now + (double)(end - begin);
        if (begin <= from || begin - from < length_of(&l->pauses[p]) ||
            fabs(log(more / expected)) >= fabs(log(now / expected)))
            break;
        u->begin = begin;
    }
}

void track_borders_mend(TrackedUnit *units, int count, const Listening *l, const Chain *c)
{
    for (int i = 0; i < count; i++)
        snap(&units[i], l);
    const double pace = fmax(pace_of(units, count, l, c), 0.5);
    for (int i = 0; i < count; i++) {
        const ListenedFile *f = listening_file_of(l, units[i].begin / 2);
        int64_t from = 2 * f->first, to = 2 * (f->first + f->frames);
        if (i > 0 && units[i - 1].end > from)
            from = units[i - 1].end;
        if (i + 1 < count && units[i + 1].begin < to)
            to = units[i + 1].begin;
        take_left_over(&units[i], from, to, l,
                       pace * (double)(c->first[units[i].unit + 1] - c->first[units[i].unit]));
    }
}
