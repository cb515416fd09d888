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

/* A piece that is refined begins at a multiple of this many frames: those that are computed together are then
 * the same ones for every piece, and so is their sound, to the bit. */
#define TOGETHER 16

struct Sound {
    const SoundKind *kind;
    void *stage;
    int hop, bands;
    int on_gpu;  /* its kernels are */
    float *room; /* [room_count] the sound of a piece with its context */
    int64_t room_count;
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
        err_set(err, ERR_CONFIG, "unknown sound stage '%s'", o->kind);
        return err_hint(err, "%s is one", kinds[0]->name);
    }
    Sound *s = mem_calloc(1, sizeof *s);
    if (!s)
        return err_set(err, ERR_NOMEM, "no memory for the sound stage %s", kind->name);
    s->kind = kind;
    s->hop = o->cfg->hop_length;
    s->bands = o->cfg->n_mels;
    s->on_gpu = kind == &sound_vocoder && o->device && o->device->traits.library_kernels;
    int rc = kind->open(&s->stage, o, err);
    if (rc) {
        sound_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

const void *sound_stage(const Sound *s, const SoundKind *kind)
{
    return s && s->kind == kind ? s->stage : NULL;
}

void sound_close(Sound *s)
{
    if (!s)
        return;
    s->kind->close(s->stage);
    free(s->room);
    free(s);
}

/* --- pieces --- */

/* Frames from..to of a mel, and the samples that are theirs. */
typedef struct Piece {
    int64_t from, to, first, count;
} Piece;

static int refine_context(const Sound *s) { return s->kind->refine ? s->kind->refine_context(s->stage) : 0; }

/* The samples of frames from..to; the last piece has those behind its last frame, too. */
static Piece piece_of(const Sound *s, int64_t from, int64_t to, int64_t frames)
{
    const int64_t end = to < frames ? to * s->hop : s->kind->samples(s->stage, frames);
    return (Piece){from, to, from * s->hop, end - from * s->hop};
}

/* The piece behind the last one. A rest too short for a separate piece is added to it. */
static Piece next_piece(const Sound *s, const SoundRun *r)
{
    const int64_t was = r->to - r->from, context = refine_context(s);
    int64_t size = was ? 2 * was : FIRST_PIECE;
    size = was && size < context ? context : size; /* else most of the work would be done twice */
    size = size < LONGEST_PIECE ? size : LONGEST_PIECE;
    int64_t to = r->to + size;
    if (!s->kind->context || to + FIRST_PIECE > r->frames)
        to = r->frames;
    return piece_of(s, r->to, to, r->frames);
}

/* Room for the sound of this many frames. */
static int fit(const Sound *s, float **room, int64_t *room_count, int64_t frames, Err *err)
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

/* r->rough up to this frame. */
static int make_rough(SoundRun *r, Sound *s, int64_t to, Err *err)
{
    const Piece p = piece_of(s, r->rough_frames, to + FIRST_PIECE > r->frames ? r->frames : to, r->frames);
    int rc = fit(s, &r->rough, &r->rough_count, r->frames, err);
    if (rc || (p.to <= p.from && p.from > 0))
        return rc;
    rc = run_piece(s, r->rough + p.first, &p, r->log_mel, r->frames, err);
    if (!rc)
        r->rough_frames = p.to;
    return rc;
}

/* The piece out of rough sound that reaches as far as its refinement does. */
static int make_piece(SoundRun *r, Sound *s, float *out, const Piece *p, Err *err)
{
    const int64_t context = refine_context(s);
    if (!context)
        return run_piece(s, out, p, r->log_mel, r->frames, err);
    const int64_t from = p->from > context ? (p->from - context) / TOGETHER * TOGETHER : 0,
                  to = p->to + context < r->frames ? p->to + context : r->frames, count = to - from;
    int rc = make_rough(r, s, to, err);
    if (!rc)
        rc = fit(s, &s->room, &s->room_count, count, err);
    if (rc)
        return rc;
    memcpy(s->room, r->rough + from * s->hop, (size_t)s->kind->samples(s->stage, count) * sizeof *s->room);
    rc = s->kind->refine(s->stage, s->room, r->log_mel + from * s->bands, count, err);
    if (!rc)
        memcpy(out, s->room + (p->from - from) * s->hop, (size_t)p->count * sizeof *out);
    return rc;
}

/* --- a mel on its way --- */

void sound_run_begin(SoundRun *r, const float *log_mel, int64_t frames, int64_t silence)
{
    *r = (SoundRun){.log_mel = log_mel, .frames = frames, .silence = silence};
}

void sound_run_end(SoundRun *r)
{
    free(r->rough);
    *r = (SoundRun){0};
}

int sound_run_done(const SoundRun *r) { return r->to >= r->frames && r->to > 0; }

/* The silence comes with the last piece. Memory is zeroed, so what no kind writes to is silence. */
int sound_run_next(SoundRun *r, Sound *s, float **samples, int64_t *count, Err *err)
{
    const Piece p = next_piece(s, r);
    *count = p.count + (p.to == r->frames ? r->silence : 0);
    *samples = mem_calloc((size_t)*count, sizeof **samples);
    if (!*samples)
        return err_set(err, ERR_NOMEM, "no memory for %lld samples", (long long)*count);
    int rc = make_piece(r, s, *samples, &p, err);
    if (rc) {
        free(*samples);
        *samples = NULL;
        return rc;
    }
    r->from = p.from;
    r->to = p.to;
    return 0;
}

int sound_make(Sound *s, float **samples, int64_t *count, const float *log_mel, int64_t frames,
               int64_t silence, Err *err)
{
    *count = s->kind->samples(s->stage, frames) + silence;
    *samples = mem_calloc((size_t)*count, sizeof **samples);
    if (!*samples)
        return err_set(err, ERR_NOMEM, "no memory for %lld samples", (long long)*count);
    SoundRun r;
    int rc = 0;
    sound_run_begin(&r, log_mel, frames, silence);
    do {
        const Piece p = next_piece(s, &r);
        rc = make_piece(&r, s, *samples + p.first, &p, err);
        r.from = p.from;
        r.to = p.to;
    } while (!rc && !sound_run_done(&r));
    sound_run_end(&r);
    if (rc) {
        free(*samples);
        *samples = NULL;
    }
    return rc;
}

int sound_stream(Sound *s, const float *log_mel, int64_t frames, int64_t silence, SoundSink sink, void *arg,
                 Err *err)
{
    SoundRun r;
    int rc = 0;
    sound_run_begin(&r, log_mel, frames, silence);
    do {
        float *samples;
        int64_t count;
        rc = sound_run_next(&r, s, &samples, &count, err);
        if (!rc)
            rc = sink(arg, samples, count, err);
        free(samples);
    } while (!rc && !sound_run_done(&r));
    sound_run_end(&r);
    return rc;
}

static int hear_nothing(void *arg, float *samples, int64_t count, Err *err) { return 0; }

/* Griffin-Lim has no kernels. */
int sound_warm_up(Sound *s, int frames, Err *err)
{
    if (!s->on_gpu)
        return 0;
    float *mel = mem_calloc((size_t)frames * (size_t)s->bands, sizeof *mel);
    if (!mel)
        return err_set(err, ERR_NOMEM, "no memory to try a voice");
    sound_stream(s, mel, frames, 0, hear_nothing, NULL, &(Err){0});
    free(mel);
    return 0;
}
