/* ear.c - see ear.h. */
#include "judge/ear.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

#define QUIET 3.45    /* 30 dB below the loudest frame, in the natural log, a frame is a pause */
#define OVERSHOOT 2.0 /* what moves more than the recordings counts this many times as much */
#define TIE 0.015     /* of scores over TIE_SENTENCES sentences */
#define TIE_SENTENCES 8
#define MOST_TIE 0.04
#define LEAST 1e-9 /* a share that is known and as good as nothing */
/* What each figure is worth: on people naturalness (NISQA-TTS) follows movement first. */
#define WORTH_MOVEMENT 0.5
#define WORTH_DETAIL 0.2
#define WORTH_PITCH 0.2
#define WORTH_LENGTH 0.1

/* --- measuring --- */

static void add_change(EarSums *s, double x)
{
    s->n++;
    s->sum += x;
    s->squares += x * x;
}

static double variance(const EarSums *s)
{
    const double mean = s->n > 0 ? s->sum / s->n : 0;
    return s->n > 0 ? s->squares / s->n - mean * mean : 0;
}

static double loudness(const float *frame, int bands)
{
    double sum = 0;
    for (int b = 0; b < bands; b++)
        sum += (double)frame[b];
    return sum / bands;
}

/* Changes within and between the frames that are no pause. */
static void add_mel(EarSums *movement, EarSums *detail, const float *mel, int64_t frames, int bands)
{
    double loudest = -HUGE_VAL;
    int speaking = 0;
    for (int64_t t = 0; t < frames; t++)
        loudest = fmax(loudest, loudness(mel + t * bands, bands));
    for (int64_t t = 0; t < frames; t++) {
        const float *now = mel + t * bands, *before = now - bands;
        const int was = speaking;
        speaking = !(loudness(now, bands) < loudest - QUIET);
        for (int b = 1; b < bands && speaking; b++)
            add_change(detail, (double)now[b] - (double)now[b - 1]);
        for (int b = 0; b < bands && speaking && was; b++)
            add_change(movement, (double)now[b] - (double)before[b]);
    }
}

/* Squared distances from the mean of n values that count as often as `weight` says. */
static double spread(const EarSums *s) { return s->n > 0 ? s->squares - s->sum * s->sum / s->n : 0; }

static void add_weighted(EarSums *s, double x, double weight)
{
    s->n += weight;
    s->sum += weight * x;
    s->squares += weight * x * x;
}

/* A voice has one pitch for each symbol. The recording's is averaged over stretches of the same lengths, or
 * what moves within a symbol would make every voice seem flat. */
static void add_pitch(EarTally *e, const EarSpoken *v, const EarRecording *r)
{
    EarSums spoken = {0}, recorded = {0};
    int64_t at = 0, from = 0;
    for (int i = 0; i < v->symbols; i++) {
        at += v->durations[i];
        const int64_t to = v->frames > 0 ? at * r->frames / v->frames : 0;
        double sum = 0;
        add_weighted(&spoken, (double)v->pitch[i] * v->pitch_deviation, v->durations[i]);
        for (int64_t t = from; t < to && t < r->frames; t++)
            sum += (double)r->pitch[t];
        if (to > from)
            add_weighted(&recorded, sum / (double)(to - from), (double)(to - from));
        from = to;
    }
    e->voice.pitch += spread(&spoken);
    e->recordings.pitch += spread(&recorded);
}

void ear_add(EarTally *e, const EarSpoken *spoken, const EarRecording *recording, int bands)
{
    add_mel(&e->voice.movement, &e->voice.detail, spoken->mel, spoken->frames, bands);
    add_mel(&e->recordings.movement, &e->recordings.detail, recording->mel, recording->frames, bands);
    add_pitch(e, spoken, recording);
    e->voice.frames += (double)spoken->frames;
    e->recordings.frames += (double)recording->frames;
    e->sentences++;
}

/* 0 where the recordings have none, or one of the two is not finite. A voice that has none is known to. */
static double ratio(double voice, double recordings)
{
    const double x = voice / recordings;
    return recordings > 0 && isfinite(x) ? fmax(x, LEAST) : 0;
}

EarFigures ear_figures(const EarTally *e)
{
    const double length = ratio(e->voice.frames, e->recordings.frames);
    /* Per frame on both sides. */
    const double pitch = length > 0 ? ratio(e->voice.pitch, e->recordings.pitch) / length : 0;
    return (EarFigures){.movement = ratio(variance(&e->voice.movement), variance(&e->recordings.movement)),
                        .detail = ratio(variance(&e->voice.detail), variance(&e->recordings.detail)),
                        .pitch_range = sqrt(pitch),
                        .length_ratio = length};
}

/* --- judging --- */

static double closeness(double share) { return share <= 1 ? share : fmax(0, 1 - OVERSHOOT * (share - 1)); }
static double likeness(double share) { return share <= 1 ? share : 1 / share; }

double ear_score(const EarFigures *f)
{
    double sum = WORTH_MOVEMENT * closeness(f->movement), all = WORTH_MOVEMENT;
    if (!(f->movement > 0))
        return 0;
    if (f->detail > 0) {
        sum += WORTH_DETAIL * closeness(f->detail);
        all += WORTH_DETAIL;
    }
    if (f->pitch_range > 0) {
        sum += WORTH_PITCH * likeness(f->pitch_range);
        all += WORTH_PITCH;
    }
    if (f->length_ratio > 0) {
        sum += WORTH_LENGTH * likeness(f->length_ratio);
        all += WORTH_LENGTH;
    }
    return sum / all;
}

double ear_tie(int sentences)
{
    return sentences > 0 ? fmin(MOST_TIE, TIE * sqrt((double)TIE_SENTENCES / sentences)) : MOST_TIE;
}

void ear_sentence(const EarFigures *f, char *out, size_t cap)
{
    const struct {
        const char *name;
        double value;
    } all[] = {{"movement", f->movement},
               {"detail", f->detail},
               {"pitch range", f->pitch_range},
               {"length", f->length_ratio}};
    if (cap)
        *out = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const size_t used = strlen(out);
        if (all[i].value > 0)
            snprintf(out + used, cap - used, "%s%s %.2f", used ? ", " : "", all[i].name, all[i].value);
    }
}

static void set_share(json_t *o, const char *key, double x)
{
    json_object_set_new(o, key, x > 0 ? json_from_double(x) : json_null());
}

void ear_json(json_t *o, const EarFigures *f)
{
    set_share(o, "movement", f->movement);
    set_share(o, "detail", f->detail);
    set_share(o, "pitch_range", f->pitch_range);
    set_share(o, "length_ratio", f->length_ratio);
}
