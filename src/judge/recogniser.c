/* recogniser.c - see recogniser.h: which recogniser knows the language, and what it gets to hear. */
#include "judge/recogniser.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audio/process.h"
#include "config/languages.h"
#include "judge/recogniser_kind.h"
#include "text/language.h"

#define PEAK 0.7f

/* The first that knows the language is taken. */
static const RecogniserKind *const kinds[] = {&recogniser_sphinx};
enum { KINDS = sizeof kinds / sizeof *kinds };

struct Recogniser {
    const RecogniserKind *kind;
    void *own; /* the kind's */
    AudioProcessor *processor;
    float *finite;    /* the present clip, where it had samples that are no number */
    int16_t *samples; /* the present clip as it is heard, with its margins */
    size_t finite_cap, samples_cap, count;
};

int recogniser_open(Recogniser **out, const char *language, Err *err)
{
    *out = NULL;
    char code[LANGUAGE_MAX] = "";
    if (language && language_normalise(code, language, strlen(language)) == 0)
        language_primary(code, code);
    int k = 0;
    while (k < KINDS && !kinds[k]->knows(code))
        k++;
    if (k == KINDS) {
        err_set(err, ERR_MISSING, "the words cannot be judged: there is no recogniser for the language '%s'",
                language ? language : "");
        err_hint(err, "%s has a model for %s only", kinds[0]->title, kinds[0]->languages);
        return ERR_MISSING;
    }
    Recogniser *r = mem_calloc(1, sizeof *r);
    if (!r)
        return err_set(err, ERR_NOMEM, "no memory for a recogniser");
    const Config cfg = {.sample_rate = RECOGNISER_RATE};
    r->kind = kinds[k];
    int rc = r->kind->open(&r->own, err);
    if (!rc)
        rc = audio_processor_open(&r->processor, &cfg, err);
    if (rc) {
        recogniser_close(r);
        return rc;
    }
    *out = r;
    return 0;
}

void recogniser_close(Recogniser *r)
{
    if (!r)
        return;
    r->kind->close(r->own);
    audio_processor_close(r->processor);
    free(r->finite);
    free(r->samples);
    free(r);
}

const char *recogniser_name(const Recogniser *r) { return r->kind->name(r->own); }

/* ---- listening ---- */

static int is_number(float x) { return fabsf(x) < 1e30f; } /* not so large that resampling overflows */

/* A single sample that is not a number would spread to its neighbours in resampling. */
static int clean_samples(Recogniser *r, const float **x, int64_t n, Err *err)
{
    int64_t first = 0;
    while (first < n && is_number((*x)[first]))
        first++;
    if (first == n)
        return 0;
    if (mem_grow(&r->finite, &r->finite_cap, (size_t)n, sizeof *r->finite))
        return err_set(err, ERR_NOMEM, "no memory for a clip of %lld samples", (long long)n);
    for (int64_t i = 0; i < n; i++)
        r->finite[i] = is_number((*x)[i]) ? (*x)[i] : 0.0f;
    *x = r->finite;
    return 0;
}

/* Fills r->samples; 0 in r->count for silence. */
static int take_sound(Recogniser *r, const float *samples, int64_t n, int rate, Err *err)
{
    r->count = 0;
    if (rate < 1 || rate > AUDIO_MAX_RATE)
        return err_set(err, ERR_DATA, "cannot recognise speech at %d Hz", rate);
    if (n > (int64_t)RECOGNISER_SECONDS * rate) {
        err_set(err, ERR_DATA, "a clip of %.0f s is too long for the recogniser", (double)n / rate);
        err_hint(err, "the maximum is %d s; cut it into sentences", RECOGNISER_SECONDS);
        return ERR_DATA;
    }
    if (n < 1)
        return 0;
    const float *x = samples;
    int64_t count;
    int rc = clean_samples(r, &x, n, err);
    if (!rc)
        rc = audio_resample(r->processor, &x, &count, x, n, rate, RECOGNISER_RATE, err);
    if (rc)
        return rc;
    float peak = 0;
    for (int64_t i = 0; i < count; i++)
        if (fabsf(x[i]) > peak)
            peak = fabsf(x[i]);
    if (peak < (float)AUDIO_SILENCE_RMS)
        return 0;
    size_t total = (size_t)count + 2 * (size_t)RECOGNISER_MARGIN;
    if (mem_grow(&r->samples, &r->samples_cap, total, sizeof *r->samples))
        return err_set(err, ERR_NOMEM, "no memory for a clip of %.0f s", (double)n / rate);
    memset(r->samples, 0, total * sizeof *r->samples);
    for (int64_t i = 0; i < count; i++)
        r->samples[RECOGNISER_MARGIN + i] = (int16_t)lrintf(x[i] / peak * (PEAK * 32767.0f));
    r->count = total;
    return 0;
}

int recogniser_listen(Recogniser *r, Buf *heard, const float *samples, int64_t n, int rate, Err *err)
{
    const char *words = NULL;
    buf_clear(heard);
    buf_str(heard, "");
    int rc = take_sound(r, samples, n, rate, err);
    if (!rc && r->count)
        rc = r->kind->listen(r->own, &words, r->samples, r->count, err);
    if (rc)
        return rc;
    for (const char *p = words; p && *p;) {
        size_t blanks = strspn(p, " "), size = strcspn(p + blanks, " ");
        if (size && heard->size)
            buf_add(heard, " ", 1);
        size_t start = heard->size;
        buf_add(heard, p + blanks, size);
        for (size_t i = start; i < heard->size; i++)
            if (heard->data[i] >= 'A' && heard->data[i] <= 'Z')
                heard->data[i] += 'a' - 'A';
        p += blanks + size;
    }
    return heard->failed ? err_set(err, ERR_NOMEM, "no memory for the words of a clip") : 0;
}
