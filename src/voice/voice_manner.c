/* voice_manner.c - see voice_manner.h. */
#include "voice/voice_manner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audio/normaliser.h"
#include "base/check.h"

/* What strong emphasis is: so much longer, higher and more energetic (in deviations of the corpus). */
#define EMPHASIS_STRETCH 0.2
#define EMPHASIS_SEMITONES 2.0
#define EMPHASIS_ENERGY 1.0
#define MOST_SEMITONES 24.0
#define SLOWEST 0.25 /* with the speed of the whole text; also the length that memory is reserved for */
#define FASTEST 4.0
#define SILENT_MEL (-11.5129255f) /* log 1e-5, the least that mel_compute gives */

/* --- wishes --- */

int voice_wishes_turn(VoiceWishes *w, int symbol, const MarkupManner *m)
{
    if (mem_grow(&w->turns, &w->turn_room, w->turn_count + 1, sizeof *w->turns))
        return ERR_NOMEM;
    w->turns[w->turn_count++] = (VoiceTurn){symbol, *m};
    return 0;
}

/* Two breaks at one place are as long as both. */
int voice_wishes_pause(VoiceWishes *w, int from, int to, double seconds, int frames)
{
    VoicePause *last = w->pause_count ? &w->pauses[w->pause_count - 1] : NULL;
    if (last && last->from == from) {
        last->seconds += seconds;
        last->frames += frames;
        return 0;
    }
    if (mem_grow(&w->pauses, &w->pause_room, w->pause_count + 1, sizeof *w->pauses))
        return ERR_NOMEM;
    w->pauses[w->pause_count++] = (VoicePause){from, to, seconds, frames};
    return 0;
}

int voice_wishes_mark(VoiceWishes *w, const char *name, int symbol)
{
    if (mem_grow(&w->marks, &w->mark_room, w->mark_count + 1, sizeof *w->marks))
        return ERR_NOMEM;
    VoiceMark *m = &w->marks[w->mark_count];
    *m = (VoiceMark){.name = strdup(name), .symbol = symbol};
    w->mark_count += m->name != NULL;
    return m->name ? 0 : ERR_NOMEM;
}

void voice_wishes_free(VoiceWishes *w)
{
    for (size_t i = 0; i < w->mark_count; i++)
        free(w->marks[i].name);
    free(w->turns);
    free(w->pauses);
    free(w->marks);
    *w = (VoiceWishes){0};
}

/* --- before the network --- */

/* Hertz are of the mean pitch of the voice's corpus. */
static double semitones(const MarkupManner *m, const Checkpoint *f)
{
    const double mean = normaliser_pitch_hz(0, f->pitch_mean, f->pitch_deviation);
    double hz = (m->base_hz > 0 ? m->base_hz : mean) + m->hz, sum = m->pitch;
    if (mean > 0 && f->pitch_deviation > 0 && hz != mean)
        sum += 12 * log2(fmax(hz, 20) / mean);
    return fmax(-MOST_SEMITONES, fmin(sum, MOST_SEMITONES));
}

static SymbolManner symbol_manner(const MarkupManner *m, double speed, const Checkpoint *f)
{
    const double rate = fmax(SLOWEST / speed, fmin(m->rate, FASTEST / speed));
    const double pitch = semitones(m, f) + m->emphasis * EMPHASIS_SEMITONES;
    return (SymbolManner){.stretch = (float)((1 + m->emphasis * EMPHASIS_STRETCH) / rate),
                          .pitch = (float)normaliser_pitch_shift(pitch, f->pitch_deviation),
                          .energy = (float)(m->emphasis * EMPHASIS_ENERGY)};
}

int voice_manner_prepare(SynthesisText *text, Buf *manner, Buf *pauses, const VoicePart *p,
                         const Checkpoint *f)
{
    const VoiceWishes *w = &p->wishes;
    SymbolManner now = {.stretch = 1};
    const double speed = text->speed > 0 ? text->speed : 1;
    buf_clear(manner);
    buf_clear(pauses);
    size_t turn = 0;
    for (int t = 0; w->turn_count && t < p->symbols; t++) {
        for (; turn < w->turn_count && w->turns[turn].symbol <= t; turn++)
            now = symbol_manner(&w->turns[turn].manner, speed, f);
        buf_add(manner, &now, sizeof now);
    }
    for (size_t i = 0; i < w->pause_count; i++) {
        const VoicePause *v = &w->pauses[i];
        const double frames = v->seconds * f->cfg.sample_rate / f->cfg.hop_length;
        SymbolPause made = {v->from, v->to, (int)lround(frames) + v->frames};
        made.frames = made.frames < v->to - v->from ? v->to - v->from : made.frames;
        buf_add(pauses, &made, sizeof made);
    }
    text->manner = w->turn_count ? (const SymbolManner *)(const void *)manner->data : NULL;
    text->pauses = (const SymbolPause *)(const void *)pauses->data;
    text->pause_count = (int)w->pause_count;
    return manner->failed || pauses->failed ? ERR_NOMEM : 0;
}

/* --- behind the network --- */

/* Where silence goes into a pause: in front of the first word, behind the last, else into its middle. */
static int64_t pause_place(const VoicePart *p, const SymbolPause *pause, int *symbol)
{
    int64_t before = 0, inside = 0, at = 0;
    for (int t = 0; t < pause->to; t++)
        *(t < pause->from ? &before : &inside) += p->speech.durations[t];
    const int64_t wanted = pause->from == 0 ? 0 : pause->to == p->symbols ? inside : inside / 2;
    *symbol = pause->from;
    for (int t = pause->from; t < pause->to && at + p->speech.durations[t] <= wanted; t++) {
        at += p->speech.durations[t];
        *symbol = t + 1 < pause->to ? t + 1 : t;
    }
    return before + wanted;
}

static int64_t missing(const VoicePart *p, const SymbolPause *pause)
{
    int64_t frames = pause->frames;
    for (int t = pause->from; t < pause->to; t++)
        frames -= p->speech.durations[t];
    return frames > 0 ? frames : 0;
}

/* Silence of `count` frames at `at`. gain [frames] is 0 there. */
static void insert(float *mel, float *gain, int64_t frames, int64_t at, int64_t count, int bands)
{
    memmove(mel + (at + count) * bands, mel + at * bands, (size_t)((frames - at) * bands) * sizeof *mel);
    memmove(gain + at + count, gain + at, (size_t)(frames - at) * sizeof *gain);
    for (int64_t i = 0; i < count * bands; i++)
        mel[at * bands + i] = SILENT_MEL;
    memset(gain + at, 0, (size_t)count * sizeof *gain);
}

static void place_marks(VoicePart *p)
{
    for (size_t i = 0; i < p->wishes.mark_count; i++) {
        VoiceMark *m = &p->wishes.marks[i];
        m->frame = 0;
        for (int t = 0; t < m->symbol && t < p->speech.text; t++)
            m->frame += p->speech.durations[t];
    }
}

/* The volume of each symbol, for its frames. */
static void set_gain(const VoicePart *p, float *gain)
{
    const VoiceWishes *w = &p->wishes;
    float now = 1;
    size_t turn = 0;
    int64_t frame = 0;
    for (int t = 0; t < p->speech.text; t++) {
        for (; turn < w->turn_count && w->turns[turn].symbol <= t; turn++)
            now = (float)w->turns[turn].manner.volume;
        for (int i = 0; i < p->speech.durations[t]; i++)
            gain[frame++] = now;
    }
    ASSERT_CMP(frame, ==, p->frames);
}

int voice_manner_finish(VoicePart *p, const SynthesisText *text, const Checkpoint *f, Err *err)
{
    const int bands = f->cfg.n_mels;
    int64_t more = 0;
    for (int i = 0; i < text->pause_count; i++)
        more += missing(p, &text->pauses[i]);
    if (more || p->wishes.turn_count) {
        const int64_t all = p->frames + more;
        float *mel = mem_realloc(p->mel, (size_t)(all * bands), sizeof *mel);
        p->mel = mel ? mel : p->mel;
        p->gain = mel ? mem_calloc((size_t)all, sizeof *p->gain) : NULL;
        if (!p->gain)
            return err_set(err, ERR_NOMEM, "no memory for %lld frames", (long long)all);
        set_gain(p, p->gain);
        for (int i = 0; i < text->pause_count; i++) {
            const int64_t count = missing(p, &text->pauses[i]);
            int symbol;
            const int64_t at = pause_place(p, &text->pauses[i], &symbol);
            insert(p->mel, p->gain, p->frames, at, count, bands);
            p->speech.durations[symbol] += (int32_t)count;
            p->frames += count;
        }
        p->speech.frames = (int)p->frames;
    }
    place_marks(p);
    return 0;
}

double voice_mark_seconds(const VoiceMark *m, const Config *cfg)
{
    return (double)m->frame * cfg->hop_length / cfg->sample_rate;
}

/* From the middle of one frame to that of the next it goes in a straight line; what would be too loud for
 * samples stays at their limit. */
void voice_part_gain(const VoicePart *p, float *samples, int64_t at, int64_t count, int hop)
{
    for (int64_t i = 0; p->gain && i < count; i++) {
        const double place = (double)(at + i) / hop - 0.5;
        int64_t frame = (int64_t)floor(place), next = frame + 1;
        const float share = (float)(place - (double)frame);
        frame = frame < 0 ? 0 : frame < p->frames ? frame : p->frames - 1;
        next = next < p->frames ? next : p->frames - 1;
        /* Silence is silent to its edge. */
        const int64_t own = (at + i) / hop < p->frames ? (at + i) / hop : p->frames - 1;
        const float gain = p->gain[own] == 0 ? 0 : p->gain[frame] + share * (p->gain[next] - p->gain[frame]);
        samples[i] = fmaxf(-1, fminf(samples[i] * gain, 1));
    }
}
