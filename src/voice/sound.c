/* sound.c - the kinds of sound stages, and what they have in common. */
#include "voice/sound.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Frames of the pieces that a mel is cut into: each is twice as long as the one before. */
#define FIRST_PIECE 16
#define LONGEST_PIECE 256

static const SoundKind *const kinds[] = {
    &sound_griffin_lim,
    &sound_vocoder,
};

/* A piece that is refined begins at a multiple of so many frames: those that are computed together are then
 * the same ones for every piece, and so is their sound, to the bit. */
#define TOGETHER 16

struct Sound {
    const SoundKind *kind;
    void *stage;
    int hop, bands;
    float *room; /* [room_count] the sound of a piece with its context */
    int64_t room_count;
    float *rough;                      /* [rough_count] the sound of a mel before it is refined */
    int64_t rough_count, rough_frames; /* there so far */
};

/* By name, as a setting gives it. */
static const SoundKind *find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}

int sound_open(Sound **out, const SoundOptions *o, Err *err)
{
    *out = NULL;
    const SoundKind *usual = o->vocoder ? &sound_vocoder : &sound_griffin_lim,
                    *kind = o->kind ? find_kind(o->kind) : usual;
    if (!kind) {
        err_set(err, ERR_CONFIG, "there is no sound stage '%s'", o->kind);
        return err_hint(err, "%s is one", kinds[0]->name);
    }
    Sound *s = mem_calloc(1, sizeof *s);
    if (!s)
        return err_set(err, ERR_NOMEM, "no memory for the sound stage %s", kind->name);
    s->kind = kind;
    s->hop = o->cfg->hop_length;
    s->bands = o->cfg->n_mels;
    int rc = kind->open(&s->stage, o, err);
    if (rc) {
        sound_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

void sound_close(Sound *s)
{
    if (!s)
        return;
    s->kind->close(s->stage);
    free(s->room);
    free(s->rough);
    free(s);
}

/* --- pieces --- */

/* Frames from..to of a mel, and the samples that are theirs. */
typedef struct Piece {
    int64_t from, to, first, count;
} Piece;

static int refine_context(const Sound *s) { return s->kind->refine ? s->kind->refine_context(s->stage) : 0; }

/* The piece behind p (of all zeros: the first). 0: there is none. A rest too short for a piece of its own
 * goes with the last one. */
static int next_piece(const Sound *s, Piece *p, int64_t frames)
{
    const int64_t all = s->kind->samples(s->stage, frames), was = p->to - p->from;
    if (p->to >= frames && p->to > 0)
        return 0;
    int64_t size = was ? 2 * was : FIRST_PIECE, context = refine_context(s);
    size = was && size < context ? context : size; /* else most of the work would be done twice */
    size = size < LONGEST_PIECE ? size : LONGEST_PIECE;
    p->from = p->to;
    p->to = p->from + size;
    if (!s->kind->context || p->to + FIRST_PIECE > frames)
        p->to = frames;
    p->first = p->from * s->hop;
    p->count = (p->to < frames ? p->to * s->hop : all) - p->first;
    return 1;
}

/* Room for the sound of so many frames. */
static int fit(Sound *s, float **room, int64_t *room_count, int64_t frames, Err *err)
{
    const int64_t count = s->kind->samples(s->stage, frames);
    if (count <= *room_count)
        return 0;
    float *grown = mem_realloc(*room, (size_t)count, sizeof *grown);
    if (!grown)
        return err_set(err, ERR_NOMEM, "no memory for %lld samples", (long long)count);
    *room = grown;
    *room_count = count;
    return 0;
}

/* out [p->count]: the sound of a piece, which is made with the frames around it. */
static int run_piece(Sound *s, float *out, const Piece *p, const float *log_mel, int64_t frames, Err *err)
{
    if (p->from == 0 && p->to == frames)
        return s->kind->run(s->stage, out, log_mel, frames, err);
    const int64_t context = s->kind->context(s->stage), before = p->from < context ? p->from : context,
                  behind = frames - p->to < context ? frames - p->to : context,
                  all = before + p->to - p->from + behind;
    int rc = fit(s, &s->room, &s->room_count, all, err);
    if (!rc)
        rc = s->kind->run(s->stage, s->room, log_mel + (p->from - before) * s->bands, all, err);
    if (!rc)
        memcpy(out, s->room + before * s->hop, (size_t)p->count * sizeof *out);
    return rc;
}

/* s->rough up to this frame. */
static int make_rough(Sound *s, int64_t to, const float *log_mel, int64_t frames, Err *err)
{
    Piece p = {.from = s->rough_frames, .to = to + FIRST_PIECE > frames ? frames : to};
    int rc = fit(s, &s->rough, &s->rough_count, frames, err);
    if (rc || (p.to <= p.from && p.from > 0))
        return rc;
    p.first = p.from * s->hop;
    p.count = (p.to < frames ? p.to * s->hop : s->kind->samples(s->stage, frames)) - p.first;
    rc = run_piece(s, s->rough + p.first, &p, log_mel, frames, err);
    if (!rc)
        s->rough_frames = p.to;
    return rc;
}

/* The piece out of rough sound that reaches as far as its refinement does. */
static int make_piece(Sound *s, float *out, const Piece *p, const float *log_mel, int64_t frames, Err *err)
{
    const int64_t context = refine_context(s);
    if (!context)
        return run_piece(s, out, p, log_mel, frames, err);
    if (p->from == 0)
        s->rough_frames = 0;
    const int64_t from = p->from > context ? (p->from - context) / TOGETHER * TOGETHER : 0,
                  to = p->to + context < frames ? p->to + context : frames, count = to - from;
    int rc = make_rough(s, to, log_mel, frames, err);
    if (!rc)
        rc = fit(s, &s->room, &s->room_count, count, err);
    if (rc)
        return rc;
    memcpy(s->room, s->rough + from * s->hop, (size_t)s->kind->samples(s->stage, count) * sizeof *s->room);
    rc = s->kind->refine(s->stage, s->room, log_mel + from * s->bands, count, err);
    if (!rc)
        memcpy(out, s->room + (p->from - from) * s->hop, (size_t)p->count * sizeof *out);
    return rc;
}

/* Memory is zeroed, so what no kind writes to is silence. */
int sound_make(Sound *s, float **samples, int64_t *count, const float *log_mel, int64_t frames,
               int64_t silence, Err *err)
{
    *count = s->kind->samples(s->stage, frames) + silence;
    *samples = mem_calloc((size_t)*count, sizeof **samples);
    if (!*samples)
        return err_set(err, ERR_NOMEM, "no memory for %lld samples", (long long)*count);
    int rc = 0;
    for (Piece p = {0}; !rc && next_piece(s, &p, frames);)
        rc = make_piece(s, *samples + p.first, &p, log_mel, frames, err);
    if (rc) {
        free(*samples);
        *samples = NULL;
    }
    return rc;
}

/* The silence comes with the last piece. */
int sound_stream(Sound *s, const float *log_mel, int64_t frames, int64_t silence, SoundSink sink, void *arg,
                 Err *err)
{
    int rc = 0;
    for (Piece p = {0}; !rc && next_piece(s, &p, frames);) {
        const int64_t count = p.count + (p.to == frames ? silence : 0);
        float *samples = mem_calloc((size_t)count, sizeof *samples);
        if (!samples)
            return err_set(err, ERR_NOMEM, "no memory for %lld samples", (long long)count);
        rc = make_piece(s, samples, &p, log_mel, frames, err);
        if (!rc)
            rc = sink(arg, samples, count, err);
        free(samples);
    }
    return rc;
}
