/* cut.c - see cut.h. */
#include "corpus/cut.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/track_borders.h"

enum {
    HZ = LISTEN_LEVEL_HZ,
    CUT_PAUSE = 12,   /* shortest pause to cut in */
    EDGE = 15,        /* of the pause that is kept before and after a clip */
    INNER_EDGE = 30,  /* of a long pause within a clip, on both sides */
    JOIN_PAUSE = 150, /* over which units are joined when one is too short */
    STRAY_SOUND = 20, /* sound between two units that belongs to neither */
    LOOSE_PAUSE = 30, /* without text: where a clip may end once it is long enough */
    LOOSE_LEAST = 400,
    STRAY_REPORTED = 50, /* sound without text that is worth a line */
};
static const double contrast_least = 12.0; /* dB */

static const struct {
    const char *code, *text;
} reasons[CUT_REASONS] = {
    [CUT_NOT_READ] = {"not-read", "in the text, but not heard"},
    [CUT_NOT_WRITTEN] = {"not-written", "heard, but not in the text"},
    [CUT_DOUBTFUL] = {"doubtful", "the sound does not match the text well enough"},
    [CUT_TOO_SHORT] = {"too-short", "shorter than 2 s, with nothing near to join it to"},
    [CUT_TOO_LONG] = {"too-long", "longer than 12 s without a pause to cut at"},
    [CUT_NO_PAUSE] = {"no-pause", "no pause between it and a passage that is left out"},
    [CUT_NOISY] = {"noisy", "speech less than 12 dB above the noise"},
    [CUT_UNREADABLE] = {"unreadable", "espeak-ng finds nothing to read there"},
};
const char *cut_reason_code(CutReason r) { return reasons[r].code; }
const char *cut_reason_text(CutReason r) { return reasons[r].text; }

static int reject(Cuts *c, CutReason why, int64_t begin, int64_t end, int unit, float score)
{
    if (mem_grow(&c->rejects, &c->reject_cap, (size_t)c->reject_count + 1, sizeof *c->rejects))
        return ERR_NOMEM;
    c->rejects[c->reject_count++] = (CutReject){why, begin, end, unit, score};
    return 0;
}

/* The silence that belongs to a clip before `at` (side -1) or behind it (side 1): at most half the pause. */
static int64_t edge_of(const Listening *l, int64_t at, int side)
{
    const ListenedFile *f = listening_file_of(l, (side < 0 ? at : at - 1) / 2);
    const int64_t limit = side < 0 ? 2 * f->first : 2 * (f->first + f->frames);
    int64_t n = 0;
    while (n < 2 * EDGE && (side < 0 ? at - n > limit : at + n < limit) &&
           l->quiet[side < 0 ? at - n - 1 : at + n])
        n++;
    return n == 2 * EDGE || (side < 0 ? at - n : at + n) == limit ? (n < EDGE ? n : EDGE) : n / 2;
}

static int add_piece(Cuts *c, int64_t begin, int64_t end)
{
    if (mem_grow(&c->pieces, &c->piece_cap, (size_t)c->piece_count + 1, sizeof *c->pieces))
        return ERR_NOMEM;
    c->pieces[c->piece_count++] = (CutPiece){begin, end};
    c->clips[c->clip_count].pieces++;
    return 0;
}

/* Opens clip [clip_count]; it counts when close_clip was called. */
static CutClip *open_clip(Cuts *c, const ListenedFile *f)
{
    if (mem_grow(&c->clips, &c->clip_cap, (size_t)c->clip_count + 1, sizeof *c->clips))
        return NULL;
    CutClip *clip = &c->clips[c->clip_count];
    *clip = (CutClip){.first_piece = c->piece_count, .file = f, .score = 100, .worst = 100};
    return clip;
}

double cut_clip_seconds(const Cuts *c, const CutClip *clip)
{
    int64_t n = 0;
    for (int i = 0; i < clip->pieces; i++)
        n += c->pieces[clip->first_piece + i].end - c->pieces[clip->first_piece + i].begin;
    return (double)n / HZ;
}

/* The name of the recording without folder and ending, in characters that suit a file name, and a number. */
static char *make_id(Cuts *c, const ListenedFile *f)
{
    char stem[64], id[96];
    const char *name = f->path ? strrchr(f->path, '/') : NULL;
    int n = 0, number = 1;
    name = name ? name + 1 : f->path ? f->path : "clip";
    const char *dot = strrchr(name, '.');
    for (; *name && name != dot && n < (int)sizeof stem - 1; name++)
        stem[n++] = isalnum((unsigned char)*name) || *name == '_' ? *name : '-';
    stem[n] = 0;
    for (int i = c->clip_count - 1; i >= 0 && c->clips[i].file == f; i--)
        number++;
    n = snprintf(id, sizeof id, "%s-%05d", stem[0] ? stem : "clip", number);
    /* Two recordings of the same name in two folders. */
    for (int i = 0; i < c->clip_count; i++)
        if (c->clips[i].file != f && strcmp(c->clips[i].id, id) == 0)
            return block_strndup(
                &c->block, id,
                (size_t)snprintf(id, sizeof id, "%s-%lld-%05d", stem, (long long)f->first, number));
    return block_strndup(&c->block, id, (size_t)n);
}

/* --- with text --- */

typedef struct Cutter {
    Cuts *c;
    const Listening *l;
    const TextTrack *t;
    const Book *book;
} Cutter;

static const TrackedUnit *unit_at(const Cutter *k, int i) { return &k->t->units[i]; }

/* Whether unit i + 1 follows unit i in text and sound. */
static int follows(const Cutter *k, int i)
{
    if (i < 0 || i + 1 >= k->t->count)
        return 0;
    const TrackedUnit *a = unit_at(k, i), *b = a + 1;
    return a->fits && b->fits && b->unit == a->unit + 1 && b->begin >= a->end &&
           listening_file_of(k->l, a->begin / 2) == listening_file_of(k->l, b->begin / 2) &&
           track_sound(k->l, a->end, b->begin) <= STRAY_SOUND;
}

static double seconds_of(const Cutter *k, int first, int last)
{
    int64_t n = 0;
    for (int i = first; i <= last; i++) {
        n += unit_at(k, i)->end - unit_at(k, i)->begin;
        if (i < last) {
            const int64_t gap = unit_at(k, i + 1)->begin - unit_at(k, i)->end;
            n += gap < 2 * INNER_EDGE ? gap : 2 * INNER_EDGE;
        }
    }
    return (double)n / HZ;
}

/* Whether there is silence to cut in before unit i (side -1) or behind it (side 1). */
static int can_cut(const Cutter *k, int i, int side)
{
    const TrackedUnit *u = unit_at(k, i);
    const ListenedFile *f = listening_file_of(k->l, u->begin / 2);
    int64_t n = 0;
    if (side < 0) {
        while (u->begin - n > 2 * f->first && k->l->quiet[u->begin - n - 1] && n < CUT_PAUSE)
            n++;
        return n >= CUT_PAUSE || u->begin - n == 2 * f->first;
    }
    while (u->end + n < 2 * (f->first + f->frames) && k->l->quiet[u->end + n] && n < CUT_PAUSE)
        n++;
    return n >= CUT_PAUSE || u->end + n == 2 * (f->first + f->frames);
}

static int reject_units(const Cutter *k, CutReason why, int first, int last)
{
    int rc = 0;
    for (int i = first; i <= last && !rc; i++)
        rc = reject(k->c, why, unit_at(k, i)->begin, unit_at(k, i)->end, unit_at(k, i)->unit,
                    unit_at(k, i)->score);
    return rc;
}

static int add_text(CutClip *clip, const Cutter *k, int first, int last)
{
    Buf b = {0};
    for (int i = first; i <= last; i++) {
        buf_str(&b, i > first ? " " : "");
        buf_str(&b, k->book->units[unit_at(k, i)->unit].text);
    }
    for (size_t i = 0; i < b.size; i++)
        if (b.data[i] == '|')
            b.data[i] = ' ';
    clip->text = b.failed ? NULL : block_strndup(&k->c->block, b.data, b.size);
    buf_free(&b);
    return clip->text ? 0 : ERR_NOMEM;
}

/* Units first .. last become a clip. */
static int make_clip(const Cutter *k, int first, int last)
{
    const Listening *l = k->l;
    CutClip *clip = open_clip(k->c, listening_file_of(l, unit_at(k, first)->begin / 2));
    if (!clip)
        return ERR_NOMEM;
    int64_t begin = unit_at(k, first)->begin;
    begin -= edge_of(l, begin, -1);
    clip->first_unit = first;
    clip->units = last - first + 1;
    clip->contrast = listening_contrast(l, unit_at(k, first)->begin, unit_at(k, last)->end);
    for (int i = first; i <= last; i++) {
        const TrackedUnit *u = unit_at(k, i);
        clip->score = u->score < clip->score ? u->score : clip->score;
        clip->worst = u->worst < clip->worst ? u->worst : clip->worst;
        if (i < last && u[1].begin - u->end > 2 * INNER_EDGE) {
            if (add_piece(k->c, begin, u->end + INNER_EDGE))
                return ERR_NOMEM;
            begin = u[1].begin - INNER_EDGE;
        }
    }
    const int64_t end = unit_at(k, last)->end;
    clip->id = make_id(k->c, clip->file);
    if (add_piece(k->c, begin, end + edge_of(l, end, 1)) || !clip->id || add_text(clip, k, first, last))
        return ERR_NOMEM;
    if (clip->contrast < contrast_least) {
        k->c->piece_count = clip->first_piece;
        return reject_units(k, CUT_NOISY, first, last);
    }
    for (int i = first; i <= last; i++)
        k->c->clip_of[i] = k->c->clip_count;
    k->c->clip_count++;
    return 0;
}

/* The last unit that cannot be cut off from unit i: no pause is between them. */
static int tied_to(const Cutter *k, int i)
{
    while (follows(k, i) && (!can_cut(k, i, 1) || !can_cut(k, i + 1, -1)))
        i++;
    return i;
}

/* The last unit of the clip that begins with unit `first`: up to 2 s at least, and to the end of a sentence
 * that was divided. */
static int clip_end(const Cutter *k, int first)
{
    int last = tied_to(k, first);
    while (follows(k, last)) {
        const TrackedUnit *a = unit_at(k, last), *b = a + 1;
        const int short_now = seconds_of(k, first, last) < CLIP_LEAST,
                  same = k->book->units[a->unit].sentence == k->book->units[b->unit].sentence;
        const int more = tied_to(k, last + 1);
        /* A short unit behind this clip, which nothing behind it can be joined with. */
        const int orphan = seconds_of(k, last + 1, more) < CLIP_LEAST && !follows(k, more);
        if ((!short_now && !same && !orphan) || seconds_of(k, first, more) > CLIP_MOST - 0.3 ||
            b->begin - a->end > JOIN_PAUSE)
            break;
        last = more;
    }
    return last;
}

static int cut_with_text(const Cutter *k)
{
    int rc = 0;
    for (int i = 0; i < k->t->count && !rc;) {
        if (!unit_at(k, i)->fits) {
            rc = reject_units(k, CUT_DOUBTFUL, i, i);
            i++;
            continue;
        }
        const int last = clip_end(k, i);
        const double seconds = seconds_of(k, i, last);
        if (!can_cut(k, i, -1) || !can_cut(k, last, 1))
            rc = reject_units(k, CUT_NO_PAUSE, i, last);
        else if (seconds > CLIP_MOST)
            rc = reject_units(k, CUT_TOO_LONG, i, last);
        else if (seconds + 0.2 < CLIP_LEAST)
            rc = reject_units(k, CUT_TOO_SHORT, i, last);
        else
            rc = make_clip(k, i, last);
        i = last + 1;
    }
    return rc;
}

/* Units that were not found, and sound that no unit explains. */
static int list_missing(const Cutter *k)
{
    uint8_t *found = mem_calloc((size_t)k->book->count + 1, 1);
    int rc = found ? 0 : ERR_NOMEM;
    for (int i = 0; i < k->t->count && !rc; i++)
        found[unit_at(k, i)->unit] = 1;
    for (int u = 0; u < k->book->count && !rc; u++)
        if (!found[u])
            rc = reject(k->c, k->t->silent[u] ? CUT_UNREADABLE : CUT_NOT_READ, 0, 0, u, 0);
    free(found);
    for (int f = 0, i = 0; f < k->l->file_count && !rc; f++) {
        int64_t at = 2 * k->l->files[f].first, end = at + 2 * k->l->files[f].frames;
        while (at < end && !rc) {
            const int more = i < k->t->count && unit_at(k, i)->begin < end;
            const int64_t to = more ? unit_at(k, i)->begin : end;
            int64_t a = at, b = to;
            while (a < b && k->l->quiet[a])
                a++;
            while (b > a && k->l->quiet[b - 1])
                b--;
            if (b > a && track_sound(k->l, a, b) >= STRAY_REPORTED)
                rc = reject(k->c, CUT_NOT_WRITTEN, a, b, -1, 0);
            at = more ? unit_at(k, i++)->end : end;
        }
    }
    return rc;
}

/* --- without text --- */

static int make_loose(Cuts *c, const Listening *l, const ListenedFile *f, int64_t begin, int64_t end)
{
    if (end - begin > (int64_t)(CLIP_MOST * HZ))
        return reject(c, CUT_TOO_LONG, begin, end, -1, 0);
    if (end - begin < (int64_t)(CLIP_LEAST * HZ))
        return reject(c, CUT_TOO_SHORT, begin, end, -1, 0);
    CutClip *clip = open_clip(c, f);
    if (!clip)
        return ERR_NOMEM;
    clip->contrast = listening_contrast(l, begin, end);
    if (clip->contrast < contrast_least)
        return reject(c, CUT_NOISY, begin, end, -1, 0);
    clip->id = make_id(c, f);
    clip->text = block_strndup(&c->block, "", 0);
    if (!clip->id || !clip->text || add_piece(c, begin - edge_of(l, begin, -1), end + edge_of(l, end, 1)))
        return ERR_NOMEM;
    c->clip_count++;
    return 0;
}

/* Sound up to a pause, as much as fits; rather to a longer pause once it is long enough. */
static int cut_loose(Cuts *c, const Listening *l, const ListenedFile *f)
{
    const int64_t first = 2 * f->first, last = 2 * (f->first + f->frames);
    int64_t begin = first, end = first, gap = 0; /* of the clip so far, and the pause behind it */
    int64_t p = listening_pause_at(l, first);
    int rc = 0;
    for (int64_t at = first; at < last && !rc; p++) {
        const int there = p < l->pause_count && l->pauses[p].begin < last;
        const int64_t a = there ? l->pauses[p].begin : last, b = there ? l->pauses[p].end : last;
        if (there && b - a < CUT_PAUSE)
            continue;
        /* Sound from `at` to a, then a pause to b. */
        if (end > begin && (a - begin > (int64_t)(CLIP_MOST * HZ) || gap > JOIN_PAUSE ||
                            (end - begin >= LOOSE_LEAST && gap >= LOOSE_PAUSE))) {
            rc = make_loose(c, l, f, begin, end);
            begin = end = at;
        }
        if (a > at)
            end = a;
        else if (end == begin)
            begin = end = b;
        gap = b - a;
        at = b;
    }
    return rc || end <= begin ? rc : make_loose(c, l, f, begin, end);
}

int cuts_make(Cuts *c, const Listening *l, const TextTrack *t, const Book *book, Err *err)
{
    int rc = 0;
    *c = (Cuts){0};
    if (t) {
        const Cutter k = {c, l, t, book};
        c->clip_of = mem_calloc((size_t)t->count + 1, sizeof *c->clip_of);
        rc = c->clip_of ? 0 : ERR_NOMEM;
        for (int i = 0; i < t->count && !rc; i++)
            c->clip_of[i] = -1;
        if (!rc)
            rc = cut_with_text(&k);
        if (!rc)
            rc = list_missing(&k);
    } else {
        for (int i = 0; i < l->file_count && !rc; i++)
            rc = cut_loose(c, l, &l->files[i]);
    }
    if (rc)
        cuts_close(c);
    return rc ? err_set(err, ERR_NOMEM, "no memory for the list of clips") : 0;
}

void cuts_close(Cuts *c)
{
    free(c->clips);
    free(c->pieces);
    free(c->rejects);
    free(c->clip_of);
    block_free(&c->block);
    *c = (Cuts){0};
}
