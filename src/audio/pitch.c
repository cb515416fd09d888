/* pitch.c - see pitch.h. Three passes over a clip: dips of every frame, the cheapest path forward, the path
 * back. Weights of the path were chosen on LJSpeech against librosa's pyin (tests/golden/compare_pitch.py).
 */
#include "audio/pitch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audio/exact.h"
#include "audio/pitch_kernel.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "base/variant.h"

#define LOW_RATE 5000.0    /* Hz, the least the difference is taken at */
#define WINDOW_SECONDS .04 /* over which it is summed, about */
#define CANDIDATES 6       /* dips of a frame that are kept */
#define WORST_DIP 0.7f     /* aperiodicity above which a dip is none */
#define NO_VOICE 0.4f      /* cost of calling a frame unvoiced: the aperiodicity threshold */
#define OCTAVE_COST 0.05f  /* for log(2): of two equal dips the shorter period is meant */
#define SWITCH_COST 0.15f  /* between voice and none */
#define JUMP_COST 0.5f     /* for an octave within 10 ms */
#define QUIET 1e-4f        /* power, relative to the loudest frame of the clip: -40 dB */
#define SILENT 1e-8f       /* power: -80 dB of full scale */

/* The difference of a frame is the sum of those of `blocks` blocks, half of them on either side of its
 * centre; a frame is `per_frame` blocks long, so that every block is worked on once. */
struct PitchPlan {
    const PitchVariant *variant;
    int hop, odd;
    int step;                  /* samples for one at the low rate */
    double low_rate;           /* Hz */
    double high;               /* Hz, the highest pitch */
    float log_high, jump_cost; /* jump_cost: for a change of 1 in the log from frame to frame */
    float *taps;               /* [n_taps], low-pass, symmetric */
    int n_taps;
    int blocks, per_frame;
    int lag_min, lag_max, lags; /* lags: lag_max + 2 or more, a multiple of PITCH_GROUP */
    int margin;                 /* samples at the low rate that a difference reaches beyond its block */
};

typedef struct Frame {
    float power;
    int count;
    float log_hz[CANDIDATES], cost[CANDIDATES];
    uint8_t from[CANDIDATES + 1]; /* of the state before; state CANDIDATES is silence */
} Frame;

struct PitchScratch {
    float *phases; /* [step][...] the clip taken apart, with zeros before and behind */
    float *low;    /* the clip at the low rate, likewise */
    size_t phases_cap, low_cap;
    Frame *frames;
    size_t frames_cap;
    float *d;      /* [lags] of a frame */
    float *recent; /* [blocks][lags] of the last blocks: block m in row m % blocks */
};

int pitch_use_instructions(PitchPlan *p, const char *name)
{
    /* The fastest first. */
    static const PitchVariant *const variants[] = {
#if VARIANT_X86
        &pitch_kernel_avx512,
        &pitch_kernel_avx2,
#endif
        &pitch_kernel_plain,
    };
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++)
        if (variant_fits(variants[i]->name, name)) {
            p->variant = variants[i];
            return 1;
        }
    return 0;
}

/* ---- plan and scratch ---- */

/* A sinc under a Hann window, with a gain of 1 at 0 Hz. */
static void fill_taps(PitchPlan *p)
{
    int reach = p->n_taps / 2;
    double sum = 0, cutoff = 0.35 / p->step; /* cycles per sample */
    for (int pass = 0; pass < 2; pass++)
        for (int i = -reach; i <= reach; i++) {
            double x = 2 * M_PI * cutoff * i, sinc = i ? sin(x) / x : 1.0;
            double tap = sinc * (0.5 + 0.5 * cos(M_PI * i / (reach + 1)));
            sum += pass ? 0 : tap;
            p->taps[reach + i] = (float)(tap / sum);
        }
}

int pitch_plan_open(PitchPlan **out, const Config *cfg, Err *err)
{
    *out = NULL;
    if (cfg->sample_rate < 1 || cfg->hop_length < 1)
        return err_set(err, ERR_CONFIG, "cannot compute the pitch at %d Hz with hop_length %d",
                       cfg->sample_rate, cfg->hop_length);
    PitchPlan *p = mem_calloc(1, sizeof *p);
    double rate = cfg->sample_rate, high = PITCH_HIGH < rate / 4.01 ? PITCH_HIGH : rate / 4.01;
    if (p) {
        p->hop = cfg->hop_length;
        p->odd = cfg->n_fft % 2;
        p->step = rate >= 2 * LOW_RATE ? (int)(rate / LOW_RATE) : 1;
        p->low_rate = rate / p->step;
        p->high = high;
        p->log_high = (float)exact_log(high);
        p->lag_min = (int)floor(p->low_rate / high);
        p->lag_max = high > PITCH_LOW ? (int)ceil(p->low_rate / PITCH_LOW) : 0;
        p->lags = (int)round_up((uint64_t)p->lag_max + 2, PITCH_GROUP);
        p->margin = p->lags + PITCH_GROUP;
        /* Blocks are at most half a window long, so that a window has an even number of them around its
         * centre. */
        double hops = WINDOW_SECONDS * rate / cfg->hop_length; /* in the window */
        p->per_frame = hops < 2 ? (int)ceil(2 / hops) : 1;
        p->blocks = 2 * (int)round(hops * p->per_frame / 2);
        p->jump_cost = (float)(JUMP_COST / M_LN2 * 0.01 * rate / cfg->hop_length);
        p->n_taps = p->step > 1 ? 8 * p->step - 1 : 1;
        p->taps = mem_calloc((size_t)p->n_taps, sizeof *p->taps);
    }
    if (!p || !p->taps) {
        pitch_plan_close(p);
        return err_set(err, ERR_NOMEM, "no memory for the plan of the pitch");
    }
    fill_taps(p);
    pitch_use_instructions(p, NULL);
    *out = p;
    return 0;
}

void pitch_plan_close(PitchPlan *p)
{
    if (!p)
        return;
    free(p->taps);
    free(p);
}

int pitch_scratch_open(PitchScratch **out, const PitchPlan *p, Err *err)
{
    PitchScratch *s = *out = mem_calloc(1, sizeof *s);
    if (s) {
        s->d = mem_calloc((size_t)p->lags, sizeof *s->d);
        s->recent = mem_calloc((size_t)p->blocks * (size_t)p->lags, sizeof *s->recent);
        if (s->d && s->recent)
            return 0;
    }
    pitch_scratch_close(s);
    *out = NULL;
    return err_set(err, ERR_NOMEM, "no memory for the buffers of the pitch");
}

void pitch_scratch_close(PitchScratch *s)
{
    if (!s)
        return;
    free(s->phases);
    free(s->low);
    free(s->frames);
    free(s->d);
    free(s->recent);
    free(s);
}

int64_t pitch_frames(const PitchPlan *p, int64_t n) { return n <= 0 ? 0 : 1 + (n - p->odd) / p->hop; }

/* ---- a clip ---- */

static int64_t low_length(const PitchPlan *p, int64_t n) { return 1 + (n - 1) / p->step; }

/* The clip at the low rate; returns its first sample. What lies beyond its ends is 0. */
static int lower_rate(const PitchPlan *p, PitchScratch *s, const float *x, int64_t n)
{
    int64_t count = low_length(p, n), padded = (int64_t)round_up((uint64_t)count, PITCH_GROUP);
    int64_t before = p->n_taps / 2, stride = padded + p->n_taps / p->step + 1; /* of samples; of a phase */
    if (mem_grow(&s->low, &s->low_cap, (size_t)(padded + 2 * p->margin), sizeof *s->low) ||
        mem_grow(&s->phases, &s->phases_cap, (size_t)(stride * p->step), sizeof *s->phases))
        return ERR_NOMEM;
    /* Every step-th sample, for every start: the filter then reads contiguous memory. */
    for (int phase = 0; phase < p->step; phase++) {
        float *to = s->phases + phase * stride;
        int64_t at = phase - before, i = 0;
        for (; at < 0; at += p->step)
            to[i++] = 0;
        for (; at < n; at += p->step)
            to[i++] = x[at];
        for (; i < stride; i++)
            to[i] = 0;
    }
    float *low = s->low + p->margin;
    memset(s->low, 0, (size_t)p->margin * sizeof *low);
    p->variant->filter(low, s->phases, stride, padded, p->step, p->taps, p->n_taps);
    memset(low + count, 0, (size_t)(padded - count + p->margin) * sizeof *low);
    return 0;
}

/* Keeps a dip at `lag` among the best of the frame. */
static void keep(const PitchPlan *p, Frame *f, const float *d, int lag)
{
    /* A parabola through the three values around the dip: its bottom is the period, between two samples. */
    float l = d[lag - 1], m = d[lag], r = d[lag + 1], bend = l - 2 * m + r,
          shift = bend > 0 ? 0.5f * (l - r) / bend : 0;
    float depth = m - 0.25f * (l - r) * shift;
    double hz = exact_div(p->low_rate, (double)((float)lag + shift));
    float log_hz = (float)exact_log(hz < PITCH_LOW ? PITCH_LOW : hz > p->high ? p->high : hz);
    float cost = (depth > 0 ? depth : 0) + OCTAVE_COST / (float)M_LN2 * (p->log_high - log_hz);
    /* Sorted by cost; the worst falls out when there are too many. */
    int at = f->count;
    if (at == CANDIDATES && cost >= f->cost[--at])
        return;
    f->count = at + 1;
    for (; at > 0 && f->cost[at - 1] > cost; at--) {
        f->cost[at] = f->cost[at - 1];
        f->log_hz[at] = f->log_hz[at - 1];
    }
    f->cost[at] = cost;
    f->log_hz[at] = log_hz;
}

static void find_dips(const PitchPlan *p, Frame *f, float *d)
{
    /* YIN's normalisation: divided by the mean of all differences up to this lag, so that short lags do
     * not win by being short. */
    float sum = 0;
    f->count = 0;
    for (int lag = 1; lag <= p->lag_max + 1; lag++) {
        sum += d[lag];
        d[lag] = sum > 0 ? d[lag] * (float)lag / sum : 1.0f;
    }
    d[0] = 1.0f;
    for (int lag = p->lag_min; lag <= p->lag_max; lag++)
        if (d[lag] < WORST_DIP && d[lag] < d[lag - 1] && d[lag] <= d[lag + 1])
            keep(p, f, d, lag);
}

/* Where block m begins, at the low rate. */
static int64_t block_start(const PitchPlan *p, int64_t m)
{
    return m * p->hop / ((int64_t)p->per_frame * p->step);
}

/* The blocks whose differences stay within the clip; all of them when these are too few for a frame. */
static void usable_blocks(const PitchPlan *p, int64_t *from, int64_t *to, int64_t frames, int64_t count)
{
    int64_t reach = (p->lag_max + PITCH_GROUP / 2) / 2, all = frames * p->per_frame;
    *from = 0;
    *to = all;
    while (*from < all && block_start(p, *from) < reach)
        ++*from;
    while (*to > *from && block_start(p, *to) > count - reach)
        --*to;
    if (*to - *from < p->blocks) {
        *from = 0;
        *to = all > p->blocks ? all : p->blocks;
    }
}

/* The dips of every frame. A frame whose window would reach over an end of the clip takes the nearest place
 * where it does not. */
static float find_all_dips(const PitchPlan *p, PitchScratch *s, int64_t frames, int64_t count)
{
    int64_t from, to, done;
    float loudest = 0;
    usable_blocks(p, &from, &to, frames, count);
    done = from;
    for (int64_t t = 0; t < frames; t++) {
        /* Half of the blocks on either side of the frame's centre, moved inside where they would not fit. */
        int64_t first = t * p->per_frame - p->blocks / 2;
        first = first < from ? from : first > to - p->blocks ? to - p->blocks : first;
        for (; done < first + p->blocks; done++) {
            int64_t start = block_start(p, done), end = block_start(p, done + 1);
            start = start < count ? start : count; /* a clip that is shorter than a window */
            end = end < count ? end : count;
            float *d = s->recent + done % p->blocks * p->lags;
            const float *x = s->low + p->margin;
            p->variant->differences(d, x + start, end - start, p->lags);
            d[0] = 0; /* the power, instead of a difference that is always 0 */
            for (int64_t j = start; j < end; j++)
                d[0] += x[j] * x[j];
        }
        /* The frame's difference is the sum of its blocks'. */
        memcpy(s->d, s->recent + first % p->blocks * p->lags, (size_t)p->lags * sizeof *s->d);
        for (int64_t m = first + 1; m < first + p->blocks; m++)
            for (int k = 0; k < p->lags; k++)
                s->d[k] += s->recent[m % p->blocks * p->lags + k];
        int64_t samples = block_start(p, first + p->blocks) - block_start(p, first);
        Frame *f = &s->frames[t];
        f->power = samples > 0 ? s->d[0] / (float)samples : 0;
        loudest = f->power > loudest ? f->power : loudest;
        find_dips(p, f, s->d);
    }
    return loudest;
}

static float step_cost(const PitchPlan *p, float a, float b) { return p->jump_cost * fabsf(a - b); }

/* The cheapest way to every state of f. total [CANDIDATES + 1]: of the frame before, then of f. */
static void step_forward(const PitchPlan *p, Frame *f, const Frame *before, float *total, float quiet)
{
    /* State CANDIDATES is silence; quiet frames have no other. */
    float now[CANDIDATES + 1] = {0};
    if (f->power <= quiet)
        f->count = 0;
    for (int k = 0; k <= f->count; k++) {
        int state = k < f->count ? k : CANDIDATES, from = CANDIDATES;
        float best = total[CANDIDATES] + (state == CANDIDATES ? 0 : SWITCH_COST);
        for (int j = 0; before && j < before->count; j++) {
            float cost = total[j] +
                         (state == CANDIDATES ? SWITCH_COST : step_cost(p, before->log_hz[j], f->log_hz[k]));
            if (cost < best) {
                best = cost;
                from = j;
            }
        }
        now[state] = best + (state == CANDIDATES ? f->power <= quiet ? 0 : NO_VOICE : f->cost[k]);
        f->from[state] = (uint8_t)from;
    }
    float least = now[CANDIDATES];
    for (int k = 0; k < f->count; k++)
        least = now[k] < least ? now[k] : least;
    for (int k = 0; k < f->count; k++)
        total[k] = now[k] - least; /* stays small however long the clip */
    total[CANDIDATES] = now[CANDIDATES] - least;
}

/* A line through what has no voice. Frames without one hold NAN. Returns the number of those with one. */
static int64_t fill_gaps(float *out, uint8_t *voiced, int64_t frames)
{
    int64_t count = 0, last = -1;
    for (int64_t t = 0; t < frames; t++) {
        int has = !isnan(out[t]);
        if (voiced)
            voiced[t] = (uint8_t)has;
        if (!has)
            continue;
        for (int64_t i = last + 1; i < t; i++) {
            float share = last < 0 ? 1 : (float)(i - last) / (float)(t - last);
            out[i] = last < 0 ? out[t] : out[last] + share * (out[t] - out[last]);
        }
        last = t;
        count++;
    }
    for (int64_t i = last + 1; i < frames; i++)
        out[i] = last < 0 ? (float)exact_log(PITCH_DEFAULT) : out[last];
    return count;
}

int pitch_compute(const PitchPlan *p, PitchScratch *s, float *out, uint8_t *voiced, const float *samples,
                  int64_t n)
{
    int64_t frames = pitch_frames(p, n), count = n > 0 ? low_length(p, n) : 0;
    if (frames == 0)
        return 0;
    if (mem_grow(&s->frames, &s->frames_cap, (size_t)frames, sizeof *s->frames) ||
        lower_rate(p, s, samples, n))
        return ERR_NOMEM;
    float total[CANDIDATES + 1] = {0};
    float loudest = find_all_dips(p, s, frames, count),
          quiet = loudest * QUIET > SILENT ? loudest * QUIET : SILENT;
    for (int64_t t = 0; t < frames; t++)
        step_forward(p, &s->frames[t], t ? &s->frames[t - 1] : NULL, total, quiet);
    /* The cheapest last state, and the path back from it. */
    int state = CANDIDATES;
    for (int k = 0; k < s->frames[frames - 1].count; k++)
        state = total[k] < total[state] ? k : state;
    for (int64_t t = frames - 1; t >= 0; t--) {
        const Frame *f = &s->frames[t];
        out[t] = state == CANDIDATES ? NAN : f->log_hz[state];
        state = f->from[state];
    }
    fill_gaps(out, voiced, frames);
    return 0;
}
