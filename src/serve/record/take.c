/* take.c - see take.h. */
#include "serve/record/take.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audio/wav.h"
#include "base/bytes.h"

#define MOMENT 0.02      /* seconds: what a level is measured over */
#define FLOOR_DB -100.0  /* digital silence */
#define FULL_SCALE 32440 /* 0.99: many microphones never reach the last step */
#define SILENT_DB -60.0
#define QUIET_DB -40.0
#define VOICE_OVER_NOISE 10.0 /* dB that something must rise over the noise to be a voice */
#define CLEAN_DB 20.0         /* dB between voice and noise of a room that is quiet enough */
#define EDGE 0.1              /* seconds of silence that belong before and behind a sentence */
#define LONG_PAUSE 1.5
#define FASTEST 0.035 /* seconds a character: nobody reads faster */

static const struct {
    unsigned finding;
    const char *code, *message;
} sentences[] = {
    {TAKE_SHORT, "too_short", "the recording is too short to hold a sentence"},
    {TAKE_LONG, "too_long", "the recording has more than 60 s: read one sentence at a time"},
    {TAKE_SILENT, "silent", "no voice is heard: is the right microphone chosen, and is it switched on?"},
    {TAKE_CLIPPED, "clipped",
     "too loud: the sound is cut off at its peaks; move away or turn the input down"},
    {TAKE_CUT_BEGIN, "cut_begin",
     "cut off at the beginning: speech starts within 0.1 s; wait a moment before you speak"},
    {TAKE_CUT_END, "cut_end", "cut off at the end: wait a moment before you stop the recording"},
    {TAKE_HURRIED, "hurried", "too short for this sentence: was all of it read?"},
    {TAKE_QUIET, "quiet", "too quiet: come closer to the microphone or turn the input up"},
    {TAKE_NOISY, "noisy", "a noisy room: the noise is less than 20 dB below the voice"},
    {TAKE_PAUSE, "pause", "a long silence in the middle of the sentence"},
};
#define SENTENCES (sizeof sentences / sizeof *sentences)

/* ---- the file ---- */

static int read_format(Take *t, const uint8_t *p, size_t size, Err *err)
{
    if (size < 16)
        return err_set(err, ERR_FORMAT, "the WAV's format chunk has %zu bytes; the minimum is 16", size);
    const int tag = get_u16(p), channels = get_u16(p + 2), bits = get_u16(p + 14);
    const uint32_t rate = get_u32(p + 4);
    if (tag != 1 || channels != 1 || bits != 16)
        return err_set(err, ERR_FORMAT,
                       "the WAV has format %d, %d channels, %d bits; it must be PCM (1), mono, 16 bits", tag,
                       channels, bits);
    if (rate < TAKE_MIN_RATE || rate > TAKE_MAX_RATE)
        return err_set(err, ERR_FORMAT, "the WAV has %u samples a second; it must be %d to %d",
                       (unsigned)rate, TAKE_MIN_RATE, TAKE_MAX_RATE);
    t->rate = (int)rate;
    return 0;
}

int take_read(Take *t, const void *wav, size_t size, Err *err)
{
    const uint8_t *p = wav;
    size_t at = 12;
    *t = (Take){0};
    if (size < WAV_HEADER_BYTES || memcmp(p, "RIFF", 4) != 0 || memcmp(p + 8, "WAVE", 4) != 0)
        return err_set(err, ERR_FORMAT, "the recording is not a WAV file");
    while (at + 8 <= size) {
        const size_t length = get_u32(p + at + 4), rest = size - at - 8;
        const uint8_t *content = p + at + 8;
        if (length > rest)
            return err_set(err, ERR_FORMAT,
                           "the WAV is cut off: a chunk should have %zu bytes, but %zu are there", length,
                           rest);
        if (memcmp(p + at, "fmt ", 4) == 0) {
            int rc = read_format(t, content, length, err);
            if (rc)
                return rc;
        } else if (memcmp(p + at, "data", 4) == 0 && !t->samples) {
            t->samples = content;
            t->count = (int64_t)(length / 2);
        }
        at += 8 + length + (length & 1);
    }
    if (!t->rate || !t->samples)
        return err_set(err, ERR_FORMAT, "the WAV has no %s", t->rate ? "samples" : "format");
    t->seconds = (double)t->count / t->rate;
    return 0;
}

void take_wav(const Take *t, Buf *out)
{
    uint8_t head[WAV_HEADER_BYTES];
    wav_header(head, t->count, t->rate);
    buf_add(out, head, sizeof head);
    buf_add(out, t->samples, (size_t)t->count * 2);
}

/* ---- what is in it ---- */

static double sample_at(const Take *t, int64_t i) { return (int16_t)get_u16(t->samples + 2 * i); }

static double decibel(double x) { return fmax(FLOOR_DB, 20 * log10(fmax(x, 1e-9))); }

static void measure_peaks(Take *t, double *mean)
{
    double sum = 0, peak = 0;
    int run = 0;
    for (int64_t i = 0; i < t->count; i++) {
        const double x = sample_at(t, i);
        sum += x;
        peak = fmax(peak, fabs(x));
        run = fabs(x) >= FULL_SCALE ? run + 1 : 0;
        if (run >= 3)
            t->clipped += run == 3 ? 3 : 1;
    }
    t->peak_db = decibel(peak / 32768);
    *mean = t->count ? sum / (double)t->count : 0;
}

/* The level of each moment: [*count], malloc'd. A constant offset is not sound. */
static double *moments_of(const Take *t, double mean, size_t *count)
{
    const int64_t length = (int64_t)(t->rate * MOMENT);
    const size_t n = (size_t)(t->count / length);
    double *level = mem_calloc(n ? n : 1, sizeof *level);
    for (size_t k = 0; k < n && level; k++) {
        double sum = 0;
        for (int64_t i = 0; i < length; i++) {
            const double x = (sample_at(t, (int64_t)k * length + i) - mean) / 32768;
            sum += x * x;
        }
        level[k] = decibel(sqrt(sum / (double)length));
    }
    *count = n;
    return level;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Where the voice begins and ends, and its longest pause. A voice lasts: a click of a key does not. */
static void find_voice(Take *t, const double *level, size_t n)
{
    const double least = fmax(t->noise_db + 8, t->level_db - 35);
    size_t first = n, last = 0, silent = 0, longest = 0;
    for (size_t k = 0; k + 4 <= n; k++) {
        int loud = 0;
        for (size_t i = k; i < k + 4; i++)
            loud += level[i] > least;
        if (loud < 3) {
            silent++;
            continue;
        }
        if (first == n)
            first = level[k] > least ? k : k + 1;
        else if (silent > longest)
            longest = silent;
        silent = 0;
        last = level[k + 3] > least ? k + 4 : k + 3;
    }
    if (first == n)
        t->findings |= TAKE_SILENT;
    t->begin = (double)first * MOMENT;
    t->end = fmax(0, t->seconds - (double)last * MOMENT);
    t->pause = (double)longest * MOMENT;
}

static void judge(Take *t, size_t characters)
{
    if (t->seconds < TAKE_MIN_SECONDS)
        t->findings |= TAKE_SHORT;
    if (t->seconds > TAKE_MAX_SECONDS)
        t->findings |= TAKE_LONG;
    if (t->level_db < SILENT_DB || t->level_db - t->noise_db < VOICE_OVER_NOISE)
        t->findings |= TAKE_SILENT;
    if (t->findings & TAKE_UNUSABLE)
        return;
    if (t->clipped)
        t->findings |= TAKE_CLIPPED;
    if (t->level_db < QUIET_DB)
        t->findings |= TAKE_QUIET;
    if (t->level_db - t->noise_db < CLEAN_DB)
        t->findings |= TAKE_NOISY;
    if (t->begin < EDGE)
        t->findings |= TAKE_CUT_BEGIN;
    if (t->end < EDGE)
        t->findings |= TAKE_CUT_END;
    if (t->pause > LONG_PAUSE)
        t->findings |= TAKE_PAUSE;
    if (t->seconds - t->begin - t->end < FASTEST * (double)characters)
        t->findings |= TAKE_HURRIED;
}

int take_measure(Take *t, size_t characters, Err *err)
{
    double mean;
    size_t n;
    t->findings = 0;
    t->clipped = 0;
    measure_peaks(t, &mean);
    double *level = moments_of(t, mean, &n), *sorted = mem_calloc(n ? n : 1, sizeof *sorted);
    int rc = level && sorted ? 0 : err_set(err, ERR_NOMEM, "no memory for the levels of a recording");
    t->level_db = t->noise_db = FLOOR_DB;
    if (!rc && n) {
        memcpy(sorted, level, n * sizeof *level);
        qsort(sorted, n, sizeof *sorted, by_value);
        t->noise_db = sorted[n / 10];
        t->level_db = sorted[n - 1 - n / 20];
        find_voice(t, level, n);
    }
    if (!rc)
        judge(t, characters);
    free(level);
    free(sorted);
    return rc;
}

/* ---- in words ---- */

json_t *take_findings(unsigned findings)
{
    json_t *list = json_array();
    for (size_t i = 0; i < SENTENCES && list; i++)
        if ((findings & sentences[i].finding) &&
            json_array_append_new(
                list, json_pack("{s:s, s:s}", "code", sentences[i].code, "message", sentences[i].message))) {
            json_decref(list);
            return NULL;
        }
    return list;
}

/* SENTENCES: there is none. */
static size_t gravest(unsigned findings)
{
    size_t i = 0;
    while (i < SENTENCES && !(findings & sentences[i].finding))
        i++;
    return i;
}

const char *take_code(unsigned findings)
{
    size_t i = gravest(findings);
    return i < SENTENCES ? sentences[i].code : NULL;
}

const char *take_message(unsigned findings)
{
    size_t i = gravest(findings);
    return i < SENTENCES ? sentences[i].message : NULL;
}
