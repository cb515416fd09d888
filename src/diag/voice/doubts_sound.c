/* doubts_sound.c - recordings that are not like the usual one of their corpus, or no good at all. Limits were
 * set so that 1,620 and 1,374 clips of two people who recorded themselves at home have no finding. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audio/process.h"
#include "base/mem.h"
#include "base/stats.h"
#include "base/words/words.h"
#include "diag/voice/doubts_private.h"

#define ENOUGH_CLIPS 20     /* to say what is usual */
#define ENOUGH_SECONDS 1.5  /* of a clip that noise and voice are judged by: in a word there is no pause */
#define NOISY_CLIP_DB 13.0  /* in one that is much noisier than the others */
#define NOISIER_DB 10.0     /* than the usual noise */
#define LOUDER_DB 12.0      /* or softer than the usual speech */
#define MOST_LOUD 0.1       /* share of the clips: more of them are no outliers */
#define NARROW 0.75         /* of what the voice hears */
#define LONG_SILENCE 2.0    /* seconds that are cut off */
#define EMPTY_DB (-40.0f)   /* of a channel beside the other */
#define RATE_SYMBOLS 15     /* of a clip whose rate is judged; in fewer words it varies */
#define RATE_SECONDS 2.0    /* or so much speech, whatever its text has */
#define RATE_FAST 1.6       /* times as fast as usual */
#define RATE_SLOW 1.75      /* times as slow: readers hesitate more often than they hurry */
#define RATE_DEVIATIONS 4.0 /* and at least so many deviations */
#define TO_DEVIATION 1.4826 /* from the median of distances of a normal distribution */
#define VOICE_FAR 3.8       /* deviations of a clip, over all numbers; the farthest of one voice have 3 */
#define MANY_CLIPS 1000     /* from here on the limit grows */
#define FARTHER 0.5         /* for ten times as many */
#define VOICES_APART 6.0    /* Ashman's D of two groups of clips; halves of one voice have 3 */
#define LEAST_SPECTRUM 0.15 /* of deviations: a voice that never changes is not compared more finely */
#define LEAST_PITCH 0.5     /* semitones */
#define ROUNDS 30           /* of two means, and of the axis they begin with */

/* ---- the usual recording ---- */

/* Median of one number over the clips that have it; NaN: none has. */
static double usual(Judging *j, double (*of)(const ClipFacts *))
{
    size_t n = 0;
    for (size_t i = 0; i < j->f->count; i++) {
        const double x = of(&j->f->clip[i]);
        if (isfinite(x))
            j->values[n++] = x;
    }
    return n ? stats_percentile(j->values, n, 0.5) : (double)NAN;
}

static int is_long(const ClipFacts *c) { return c->is_measured && c->seconds >= ENOUGH_SECONDS; }
static double noise_of(const ClipFacts *c) { return is_long(c) ? (double)c->measure.noise_db : (double)NAN; }
static double speech_of(const ClipFacts *c)
{
    return c->is_measured && c->measure.speech_seconds > 0 ? (double)c->measure.speech_db : (double)NAN;
}
static double above_noise_of(const ClipFacts *c)
{
    return is_long(c) ? (double)(c->measure.speech_db - c->measure.noise_db) : (double)NAN;
}
static double bandwidth_of(const ClipFacts *c)
{
    return c->is_measured ? (double)c->measure.bandwidth_hz : (double)NAN;
}
/* The log of symbols a second. */
static double rate_of(const ClipFacts *c)
{
    const double seconds = (double)c->measure.speech_seconds;
    const int judged = c->is_measured && c->symbols > 0 && seconds > 1 &&
                       (c->symbols >= RATE_SYMBOLS || seconds >= RATE_SECONDS);
    return judged ? log(c->symbols / seconds) : (double)NAN;
}

static void find_usual(Judging *j)
{
    Doubts *d = j->d;
    double seconds = 0, kept = 0;
    d->noise_db = usual(j, noise_of);
    d->speech_db = usual(j, speech_of);
    d->above_noise_db = usual(j, above_noise_of);
    d->bandwidth_hz = usual(j, bandwidth_of);
    d->rate = exp(usual(j, rate_of));
    for (size_t i = 0; i < j->f->count; i++)
        if (j->f->clip[i].kept > 0) {
            seconds += j->f->clip[i].seconds;
            kept += fmin(j->f->clip[i].kept, j->f->clip[i].seconds);
        }
    if (seconds > 0)
        d->trimmed_share = 1 - kept / seconds;
}

/* ---- each by itself ---- */

/* Adds a clip, which then says nothing about the voice. */
static void add_odd(Judging *j, Doubt *d, size_t i, double value, double order)
{
    doubt_add(j, d, i, value, order);
    j->is_odd[i] = 1;
}

static void judge_noise(Judging *j)
{
    const CorpusFacts *f = j->f;
    const int all = j->d->above_noise_db < NOISY_DB;
    Doubt *d = doubt_begin(j, DOUBT_NOISE, 1);
    for (size_t i = 0; i < f->count; i++) {
        const double above = above_noise_of(&f->clip[i]);
        if (above < (all ? NOISY_DB : NOISY_CLIP_DB) &&
            (all || noise_of(&f->clip[i]) > j->d->noise_db + NOISIER_DB))
            add_odd(j, d, i, above, above);
    }
    if (!d->clips)
        return;
    say(d->why, sizeof d->why, SAY_NOISE_WHY);
    if (all) {
        say(d->what, sizeof d->what, SAY_NOISE_ALL, j->d->above_noise_db);
        say(d->fix, sizeof d->fix, SAY_NOISE_ALL_FIX);
    } else {
        say_count(d->what, sizeof d->what, SAY_NOISE_SOME, d->clips, d->clips, j->d->above_noise_db);
        say(d->fix, sizeof d->fix, SAY_NOISE_SOME_FIX);
    }
}

static void judge_clipped(Judging *j)
{
    const CorpusFacts *f = j->f;
    Doubt *d = doubt_begin(j, DOUBT_CLIPPED, 1);
    for (size_t i = 0; i < f->count; i++)
        if (f->clip[i].clipped > AUDIO_CLIPPED_SHARE)
            add_odd(j, d, i, 100 * f->clip[i].clipped, -f->clip[i].clipped);
    if (!d->clips)
        return;
    say_count(d->what, sizeof d->what, SAY_CLIPPED_WHAT, d->clips, d->clips, f->count);
    say(d->why, sizeof d->why, SAY_CLIPPED_WHY);
    say(d->fix, sizeof d->fix, SAY_CLIPPED_FIX);
}

/* louder: how many of the clips are. */
static void write_loudness(Doubt *d, int levelled, size_t louder, double most)
{
    char *out = d->what;
    const size_t cap = sizeof d->what, n = d->clips;
    if (levelled && louder == n)
        say_count(out, cap, SAY_RECORDED_LOUDER, n, n, most);
    else if (levelled && louder)
        say_count(out, cap, SAY_RECORDED_LOUDER_OR_SOFTER, n, n, most);
    else if (levelled)
        say_count(out, cap, SAY_RECORDED_SOFTER, n, n, most);
    else if (louder == n)
        say_count(out, cap, SAY_LOUDER, n, n, most);
    else if (louder)
        say_count(out, cap, SAY_LOUDER_OR_SOFTER, n, n, most);
    else
        say_count(out, cap, SAY_SOFTER, n, n, most);
}

/* Where every clip is brought to one loudness, it is only worth a remark. */
static void judge_loudness(Judging *j)
{
    const CorpusFacts *f = j->f;
    const int levelled = f->cfg->enable_loudness_normalization;
    Doubt *d = doubt_begin(j, DOUBT_LOUD, !levelled);
    double most = 0;
    size_t louder = 0;
    for (size_t i = 0; i < f->count; i++) {
        const double off = speech_of(&f->clip[i]) - j->d->speech_db;
        if (!(fabs(off) >= LOUDER_DB))
            continue;
        doubt_add(j, d, i, off, -fabs(off));
        most = fmax(most, fabs(off));
        louder += off > 0;
    }
    if (!d->clips || (double)d->clips > MOST_LOUD * (double)f->count)
        return;
    d->key = "enable_loudness_normalization";
    write_loudness(d, levelled, louder, most);
    if (levelled) {
        say(d->why, sizeof d->why, SAY_LEVELLED_WHY);
        say(d->fix, sizeof d->fix, SAY_LEVELLED_FIX);
        return;
    }
    say(d->why, sizeof d->why, SAY_LOUD_WHY);
    say(d->fix, sizeof d->fix, SAY_LOUD_FIX);
}

static void judge_bandwidth(Judging *j)
{
    const CorpusFacts *f = j->f;
    const double heard = fmin(f->cfg->mel_fmax, f->cfg->sample_rate / 2.0);
    double lowest = INFINITY;
    Doubt *d = doubt_begin(j, DOUBT_NARROW, 1);
    for (size_t i = 0; i < f->count; i++) {
        const double hz = bandwidth_of(&f->clip[i]);
        if (!(hz < NARROW * heard))
            continue;
        add_odd(j, d, i, hz, hz);
        lowest = fmin(lowest, hz);
    }
    if (!d->clips)
        return;
    d->key = "sample_rate";
    if (d->clips == 1)
        say(d->what, sizeof d->what, SAY_NARROW_ONE, d->clips, f->measured, lowest, heard);
    else
        say(d->what, sizeof d->what, SAY_NARROW_MANY, d->clips, f->measured, lowest, heard);
    say(d->why, sizeof d->why, SAY_NARROW_WHY);
    if (2 * d->clips > f->measured)
        say(d->fix, sizeof d->fix, SAY_NARROW_ALL_FIX, 2 * j->d->bandwidth_hz, j->d->bandwidth_hz);
    else
        say(d->fix, sizeof d->fix, SAY_NARROW_FIX);
}

static void judge_silence(Judging *j)
{
    const CorpusFacts *f = j->f;
    double sum = 0;
    Doubt *d = doubt_begin(j, DOUBT_SILENCE, 0);
    for (size_t i = 0; i < f->count; i++) {
        const double cut = f->clip[i].kept > 0 ? f->clip[i].seconds - f->clip[i].kept : 0;
        if (cut < LONG_SILENCE || !f->cfg->trim_silence)
            continue;
        doubt_add(j, d, i, cut, -cut);
        sum += cut;
    }
    if (!d->clips)
        return;
    say_count(d->what, sizeof d->what, SAY_SILENCE_WHAT, d->clips, d->clips, LONG_SILENCE, sum / 60);
    say(d->why, sizeof d->why, SAY_SILENCE_WHY);
    say(d->fix, sizeof d->fix, SAY_SILENCE_FIX);
}

static void judge_channels(Judging *j)
{
    const CorpusFacts *f = j->f;
    Doubt *d = doubt_begin(j, DOUBT_CANCELLED, 1);
    for (size_t i = 0; i < f->count; i++)
        if (f->clip[i].is_measured && f->clip[i].measure.mix_db < AUDIO_CANCELLED_DB)
            add_odd(j, d, i, (double)f->clip[i].measure.mix_db, (double)f->clip[i].measure.mix_db);
    if (d->clips) {
        say_count(d->what, sizeof d->what, SAY_CANCEL_WHAT, d->clips, d->clips);
        say(d->why, sizeof d->why, SAY_CANCEL_WHY);
        say(d->fix, sizeof d->fix, SAY_CANCEL_FIX);
    }
    d = doubt_begin(j, DOUBT_EMPTY_CHANNEL, 0);
    for (size_t i = 0; i < f->count; i++)
        if (f->clip[i].is_measured && f->clip[i].measure.soft_channel_db < EMPTY_DB)
            doubt_add(j, d, i, (double)-f->clip[i].measure.soft_channel_db,
                      (double)f->clip[i].measure.soft_channel_db);
    if (!d->clips)
        return;
    say_count(d->what, sizeof d->what, SAY_EMPTY_WHAT, d->clips, d->clips);
    say(d->why, sizeof d->why, SAY_EMPTY_WHY);
    say(d->fix, sizeof d->fix, SAY_EMPTY_FIX);
}

static void judge_rate(Judging *j)
{
    const CorpusFacts *f = j->f;
    const double median = log(j->d->rate);
    size_t n = 0;
    for (size_t i = 0; i < f->count; i++) {
        const double x = rate_of(&f->clip[i]);
        if (isfinite(x))
            j->values[n++] = fabs(x - median);
    }
    if (n < ENOUGH_CLIPS)
        return;
    const double far = RATE_DEVIATIONS * TO_DEVIATION * stats_percentile(j->values, n, 0.5);
    Doubt *d = doubt_begin(j, DOUBT_RATE, 1);
    for (size_t i = 0; i < f->count; i++) {
        const double off = rate_of(&f->clip[i]) - median;
        if (fabs(off) > far && (off > log(RATE_FAST) || off < -log(RATE_SLOW)))
            add_odd(j, d, i, exp(off), -fabs(off));
    }
    if (!d->clips)
        return;
    say_count(d->what, sizeof d->what, SAY_RATE_WHAT, d->clips, d->clips, j->d->rate);
    say(d->why, sizeof d->why, SAY_RATE_WHY);
    say(d->fix, sizeof d->fix, SAY_RATE_FIX);
}

/* ---- another voice ---- */

typedef struct Voices {
    size_t n;
    uint32_t *clip;            /* [n] place in the facts */
    float (*z)[VOICE_NUMBERS]; /* [n] deviations from the usual */
    uint8_t *group;            /* [n] 0 or 1 */
} Voices;

/* Deviations by medians, which a few strangers do not move. */
static void standardise(Voices *v, Judging *j)
{
    for (int k = 0; k < VOICE_NUMBERS; k++) {
        const double least = k == VOICE_NUMBERS - 1 ? LEAST_PITCH : LEAST_SPECTRUM;
        for (size_t i = 0; i < v->n; i++)
            j->values[i] = (double)v->z[i][k];
        const double median = stats_percentile(j->values, v->n, 0.5);
        for (size_t i = 0; i < v->n; i++)
            j->values[i] = fabs((double)v->z[i][k] - median);
        const double deviation = fmax(least, TO_DEVIATION * stats_percentile(j->values, v->n, 0.5));
        for (size_t i = 0; i < v->n; i++)
            v->z[i][k] = (float)(((double)v->z[i][k] - median) / deviation);
    }
}

static double dot(const float *x, const double *y)
{
    double sum = 0;
    for (int k = 0; k < VOICE_NUMBERS; k++)
        sum += (double)x[k] * y[k];
    return sum;
}

/* How far a clip is from the usual: the root mean square of its deviations. */
static double distance(const float *z)
{
    double sum = 0;
    for (int k = 0; k < VOICE_NUMBERS; k++)
        sum += (double)z[k] * (double)z[k];
    return sqrt(sum / VOICE_NUMBERS);
}

/* Means of both groups; 0 if one is empty. */
static int group_means(const Voices *v, double mean[2][VOICE_NUMBERS], size_t size[2])
{
    memset(mean, 0, 2 * sizeof *mean);
    size[0] = size[1] = 0;
    for (size_t i = 0; i < v->n; i++) {
        size[v->group[i]]++;
        for (int k = 0; k < VOICE_NUMBERS; k++)
            mean[v->group[i]][k] += (double)v->z[i][k];
    }
    for (int g = 0; g < 2 && size[0] && size[1]; g++)
        for (int k = 0; k < VOICE_NUMBERS; k++)
            mean[g][k] /= (double)size[g];
    return size[0] && size[1];
}

/* The axis on which the clips differ most, by power iteration; *middle: where their centre is on it. 0: they
 * do not differ. */
static int main_axis(const Voices *v, double axis[VOICE_NUMBERS], double *middle)
{
    double centre[VOICE_NUMBERS] = {0};
    for (size_t i = 0; i < v->n; i++)
        for (int k = 0; k < VOICE_NUMBERS; k++)
            centre[k] += (double)v->z[i][k] / (double)v->n;
    for (int k = 0; k < VOICE_NUMBERS; k++)
        axis[k] = 1 + 0.1 * k;
    for (int round = 0; round < ROUNDS; round++) {
        double next[VOICE_NUMBERS] = {0}, length = 0, at = 0;
        for (int k = 0; k < VOICE_NUMBERS; k++)
            at += centre[k] * axis[k];
        for (size_t i = 0; i < v->n; i++) {
            const double off = dot(v->z[i], axis) - at;
            for (int k = 0; k < VOICE_NUMBERS; k++)
                next[k] += off * ((double)v->z[i][k] - centre[k]);
        }
        for (int k = 0; k < VOICE_NUMBERS; k++)
            length += next[k] * next[k];
        if (!(length > 0))
            return 0;
        for (int k = 0; k < VOICE_NUMBERS; k++)
            axis[k] = next[k] / sqrt(length);
    }
    *middle = 0;
    for (int k = 0; k < VOICE_NUMBERS; k++)
        *middle += centre[k] * axis[k];
    return 1;
}

/* Two groups on that axis, then two means. */
static int make_groups(Voices *v, double mean[2][VOICE_NUMBERS], size_t size[2])
{
    double axis[VOICE_NUMBERS], middle;
    if (!main_axis(v, axis, &middle))
        return 0;
    for (size_t i = 0; i < v->n; i++)
        v->group[i] = dot(v->z[i], axis) > middle;
    for (int round = 0; round < ROUNDS && group_means(v, mean, size); round++)
        for (size_t i = 0; i < v->n; i++) {
            double off[2] = {0};
            for (int g = 0; g < 2; g++)
                for (int k = 0; k < VOICE_NUMBERS; k++)
                    off[g] += ((double)v->z[i][k] - mean[g][k]) * ((double)v->z[i][k] - mean[g][k]);
            v->group[i] = off[1] < off[0];
        }
    return group_means(v, mean, size);
}

/* Ashman's D of the groups on the line between their means. */
static double apart(const Voices *v, double mean[2][VOICE_NUMBERS], const size_t size[2])
{
    double line[VOICE_NUMBERS], sum[2] = {0}, squares[2] = {0}, variance = 0;
    for (int k = 0; k < VOICE_NUMBERS; k++)
        line[k] = mean[1][k] - mean[0][k];
    for (size_t i = 0; i < v->n; i++) {
        const double p = dot(v->z[i], line);
        sum[v->group[i]] += p;
        squares[v->group[i]] += p * p;
    }
    for (int g = 0; g < 2; g++) {
        sum[g] /= (double)size[g];
        variance += (squares[g] / (double)size[g] - sum[g] * sum[g]) / 2;
    }
    return variance > 0 ? fabs(sum[1] - sum[0]) / sqrt(variance) : 0;
}

/* The farthest of many clips is farther: of 13,100 of one voice it had 3.9. */
static double far_among(size_t clips)
{
    return VOICE_FAR + (clips > MANY_CLIPS ? FARTHER * log10((double)clips / MANY_CLIPS) : 0);
}

static void name_strangers(Judging *j, Voices *v)
{
    double mean[2][VOICE_NUMBERS];
    size_t size[2];
    const double far = far_among(v->n);
    Doubt *d = doubt_begin(j, DOUBT_VOICE, 1);
    standardise(v, j);
    const int two = make_groups(v, mean, size) && apart(v, mean, size) >= VOICES_APART;
    const int fewer = two && size[1] < size[0];
    for (size_t i = 0; i < v->n; i++) {
        const double off = distance(v->z[i]);
        if ((two && v->group[i] == fewer) || off > far)
            doubt_add(j, d, v->clip[i], off, -off);
    }
    if (!d->clips)
        return;
    say_count(d->what, sizeof d->what, SAY_OTHER_WHAT, d->clips, d->clips);
    say(d->why, sizeof d->why, SAY_OTHER_WHY);
    say(d->fix, sizeof d->fix, SAY_OTHER_FIX);
}

/* Only where one voice is expected, and of clips that are sound otherwise. */
static void judge_voice(Judging *j)
{
    const CorpusFacts *f = j->f;
    if (f->speakers > 1)
        return;
    Voices v = {.clip = mem_calloc(f->count, sizeof *v.clip),
                .z = mem_calloc(f->count, sizeof *v.z),
                .group = mem_calloc(f->count, 1)};
    j->failed |= !v.clip || !v.z || !v.group;
    for (size_t i = 0; i < f->count && !j->failed; i++) {
        if (!f->clip[i].has_voice || f->clip[i].kept < ENOUGH_SECONDS || j->is_odd[i])
            continue;
        v.clip[v.n] = (uint32_t)i;
        memcpy(v.z[v.n++], f->clip[i].voice, sizeof *v.z);
    }
    if (!j->failed && v.n >= ENOUGH_CLIPS)
        name_strangers(j, &v);
    free(v.clip);
    free(v.z);
    free(v.group);
}

void judge_sound(Judging *j)
{
    find_usual(j);
    judge_loudness(j);
    judge_bandwidth(j);
    judge_clipped(j);
    judge_noise(j);
    judge_silence(j);
    judge_channels(j);
    judge_rate(j);
    judge_voice(j);
}
