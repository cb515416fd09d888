/* measure.c - see measure.h: levels of frames of 20 ms, and a mean spectrum of those that are speech. */
#include "audio/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/stats.h"

#define FRAMES_PER_S 50
#define QUIET_SHARE 0.05
#define LOUD_SHARE 0.95
#define SPEECH_DB 30.0        /* below the loud frames is no speech */
#define ABOVE_NOISE 6.0       /* dB that speech is above the noise, if there is room for it */
#define DIGITAL_SILENCE -90.0 /* dB: made by an editor or a gate, not by a microphone */

#define POINTS 1024   /* of a transform */
#define SPECTRA 32    /* transforms for each clip */
#define BANDS 64      /* of equal width, up to half the sample rate */
#define LEAST_HZ 3000 /* no recording of speech ends below: telephones have 3400 Hz */
#define BESIDE 3      /* bands that are compared below and above an edge */
#define CLIFF_DB 24.0 /* between them */
#define BELOW_DB 18.0 /* that everything above an edge is below what comes before it */

struct AudioMeter {
    double *levels; /* [frames] dB, then the same sorted */
    size_t cap;
    float window[POINTS], twiddle[POINTS]; /* twiddle: cos and sin of POINTS / 2 angles */
    float re[POINTS], im[POINTS];
    uint16_t reversed[POINTS];
};

int audio_meter_open(AudioMeter **out, Err *err)
{
    AudioMeter *m = *out = mem_calloc(1, sizeof *m);
    if (!m)
        return err_set(err, ERR_NOMEM, "no memory to measure recordings");
    for (int i = 0; i < POINTS; i++) {
        int r = 0;
        for (int bit = 1; bit < POINTS; bit <<= 1)
            r = r << 1 | ((i & bit) != 0);
        m->reversed[i] = (uint16_t)r;
        m->window[i] = (float)(0.5 - 0.5 * cos(2 * M_PI * i / POINTS));
    }
    for (int i = 0; i < POINTS / 2; i++) {
        m->twiddle[2 * i] = (float)cos(2 * M_PI * i / POINTS);
        m->twiddle[2 * i + 1] = (float)-sin(2 * M_PI * i / POINTS);
    }
    return 0;
}

void audio_meter_close(AudioMeter *m)
{
    if (!m)
        return;
    free(m->levels);
    free(m);
}

static float to_db(double power) { return (float)fmax(AUDIO_NOTHING_DB, 10 * log10(fmax(power, 1e-12))); }

/* ---- levels ---- */

/* Eight sums side by side: the compiler may not reorder one. */
static double mean_square(const float *x, int64_t n)
{
    float sums[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int l = 0; l < 8; l++)
            sums[l] += x[i + l] * x[i + l];
    double sum = 0;
    for (int l = 0; l < 8; l++)
        sum += (double)sums[l];
    for (; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return n > 0 ? sum / (double)n : 0;
}

/* Fills levels; returns the level that a frame of speech has at least, or INFINITY. */
static double measure_levels(AudioMeasure *out, AudioMeter *m, const AudioBuffer *a, int64_t size, size_t n)
{
    double *sorted = m->levels + n;
    size_t sounding = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t from = (int64_t)i * size, left = a->frames - from;
        m->levels[i] = (double)to_db(mean_square(a->samples + from, left < size ? left : size));
        if (m->levels[i] > DIGITAL_SILENCE)
            sorted[sounding++] = m->levels[i];
    }
    if (!sounding)
        return INFINITY;
    const double noise = stats_percentile(sorted, sounding, QUIET_SHARE);
    const double loud = stats_percentile(sorted, sounding, LOUD_SHARE);
    const double least = fmax(loud - SPEECH_DB, noise + fmin(ABOVE_NOISE, (loud - noise) / 2));
    double power = 0;
    size_t speech = 0;
    for (size_t i = 0; i < sounding; i++)
        if (sorted[i] >= least) {
            power += pow(10, sorted[i] / 10);
            speech++;
        }
    out->noise_db = (float)noise;
    out->speech_db = speech ? to_db(power / (double)speech) : AUDIO_NOTHING_DB;
    out->speech_seconds = (float)((double)speech * (double)size / a->rate);
    return least;
}

/* ---- bandwidth ---- */

/* In place, radix 2: the input lies in bit-reversed order. */
static void transform(AudioMeter *m)
{
    for (int half = 1; half < POINTS; half *= 2)
        for (int from = 0; from < POINTS; from += 2 * half)
            for (int k = 0; k < half; k++) {
                const float c = m->twiddle[k * (POINTS / half)], s = m->twiddle[k * (POINTS / half) + 1];
                const int i = from + k, j = i + half;
                const float re = m->re[j] * c - m->im[j] * s, im = m->re[j] * s + m->im[j] * c;
                m->re[j] = m->re[i] - re;
                m->im[j] = m->im[i] - im;
                m->re[i] += re;
                m->im[i] += im;
            }
}

/* Adds the spectra of two stretches, one as the real part and one as the imaginary. */
static void add_spectra(double band[BANDS], AudioMeter *m, const float *x, const float *y)
{
    for (int i = 0; i < POINTS; i++) {
        m->re[m->reversed[i]] = x[i] * m->window[i];
        m->im[m->reversed[i]] = y[i] * m->window[i];
    }
    transform(m);
    /* |X|^2 + |Y|^2 is the mean of both mirrored powers of X + iY. */
    for (int f = 1; f < POINTS / 2; f++) {
        const int g = POINTS - f;
        band[f * BANDS / (POINTS / 2)] +=
            (double)(m->re[f] * m->re[f] + m->im[f] * m->im[f] + m->re[g] * m->re[g] + m->im[g] * m->im[g]);
    }
}

static double mean_of(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i];
    return sum / n;
}

/* The steepest edge above which nothing comes back, of those from band `first` on; BANDS if there is none. */
static int find_edge(const double band[BANDS], int first)
{
    int edge = BANDS;
    double most = band[BANDS - 1], steepest = CLIFF_DB;
    for (int b = BANDS - 2; b >= first; b--) { /* most: the loudest of all bands above */
        const int n = b + 1 + BESIDE < BANDS ? BESIDE : BANDS - b - 1;
        const double below = mean_of(band + b - BESIDE, BESIDE), above = mean_of(band + b + 1, n);
        most = fmax(most, band[b + 1]);
        if (below - above >= steepest && below - most >= BELOW_DB) {
            steepest = below - above;
            edge = b;
        }
    }
    return edge;
}

static void measure_bandwidth(AudioMeasure *out, AudioMeter *m, const AudioBuffer *a, int64_t size, size_t n,
                              double least)
{
    double band[BANDS] = {0};
    size_t speech = 0, seen = 0, taken = 0;
    const float *one = NULL;
    for (size_t i = 0; i < n; i++)
        speech += m->levels[i] >= least && (int64_t)i * size + POINTS <= a->frames;
    const size_t every = speech / SPECTRA + 1;
    for (size_t i = 0; i < n; i++) {
        if (m->levels[i] < least || (int64_t)i * size + POINTS > a->frames || seen++ % every)
            continue;
        const float *x = a->samples + (int64_t)i * size;
        if (one) {
            add_spectra(band, m, one, x);
            taken += 2;
        }
        one = one ? NULL : x;
    }
    out->bandwidth_hz = (float)a->rate / 2;
    if (!taken)
        return;
    for (int b = 0; b < BANDS; b++)
        band[b] = 10 * log10(band[b] + 1e-12);
    const int first = LEAST_HZ * 2 * BANDS / a->rate + 1;
    out->bandwidth_hz *= (float)find_edge(band, first > BESIDE ? first : BESIDE) / BANDS;
}

/* ---- all ---- */

int audio_measure(AudioMeasure *out, AudioMeter *m, const AudioBuffer *a)
{
    const int64_t size = a->rate / FRAMES_PER_S > 0 ? a->rate / FRAMES_PER_S : 1;
    const size_t n = (size_t)((a->frames + size - 1) / size);
    *out = (AudioMeasure){
        .noise_db = AUDIO_NOTHING_DB, .speech_db = AUDIO_NOTHING_DB, .bandwidth_hz = (float)a->rate / 2};
    if (a->channels > 1 && a->loudest_channel > 0) {
        out->soft_channel_db = fmaxf(AUDIO_NOTHING_DB, to_db(a->softest_channel / a->loudest_channel));
        out->mix_db = fmaxf(AUDIO_NOTHING_DB, to_db(a->mixed / a->loudest_channel));
    }
    if (mem_grow(&m->levels, &m->cap, 2 * n, sizeof *m->levels))
        return ERR_NOMEM;
    const double least = measure_levels(out, m, a, size, n);
    if (isfinite(least))
        measure_bandwidth(out, m, a, size, n, least);
    return 0;
}
