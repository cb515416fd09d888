/* clip_facts.c - see clip_facts.h. */
#include "diag/voice/clip_facts.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "audio/process.h"
#include "base/file.h"
#include "base/mem.h"
#include "cache/accept.h"
#include "cache/features.h"
#include "cache/places.h"
#include "diag/voice/facts_file.h"
#include "diag/voice/text_notes.h"
#include "text/phonemes/tokens.h"
#include "text/text.h"

#define SPOKEN_DIGIT 4 /* letters that a digit is read as, about */

/* ---- texts ---- */

/* Letters of a line that has no phonemes yet. */
static double letters_of(Str text)
{
    double n = 0;
    for (int32_t at = 0; at < (int32_t)text.n;) {
        UChar32 c;
        U8_NEXT_OR_FFFD(text.p, at, (int32_t)text.n, c);
        n += u_isalpha(c) ? 1 : u_isdigit(c) ? SPOKEN_DIGIT : 0;
    }
    return n;
}

/* Tokens that are sounds: no blanks, no marks of stress or length. */
static double sounds_of(const Store *text, const Utterance *u)
{
    const int64_t at = text->count ? store_find(text, u->id.p, u->id.n) : -1;
    StoreEntry e;
    TextView v;
    double n = 0;
    if (at < 0)
        return letters_of(u->text);
    store_entry(text, (uint64_t)at, &e);
    if (e.status || text_view(&v, &e))
        return letters_of(u->text);
    for (uint32_t i = 0; i < v.token_count; i++) {
        const int8_t type = u_charType((UChar32)tokens_code_point(v.tokens[i]));
        n += v.tokens[i] >= TOKEN_FIRST_SYMBOL &&
             (type == U_LOWERCASE_LETTER || type == U_UPPERCASE_LETTER || type == U_OTHER_LETTER);
    }
    return n;
}

/* ---- caches ---- */

/* The stores that the facts come from, each closed where there is none. */
typedef struct Records {
    const FactsInput *in;
    Store text, mel, audio;
    double *cosines; /* [VOICE_NUMBERS - 1][bands], made for the first clip */
    uint32_t bands;
} Records;

static void records_open(Records *r, const FactsInput *in)
{
    Err none = {0};
    *r = (Records){.in = in};
    cache_open(&r->text, in->dir, TEXT_STORE, text_settings_hash(in->cfg), &none);
    cache_open(&r->mel, in->dir, MEL_STORE, mel_settings_hash(in->cfg), &none);
    cache_open(&r->audio, in->dir, AUDIO_STORE, audio_settings_hash(in->cfg), &none);
}

static void records_close(Records *r)
{
    store_close(&r->text);
    store_close(&r->mel);
    store_close(&r->audio);
    free(r->cosines);
}

/* All clips of a store have the same bands. 0 or -1. */
static int make_cosines(Records *r, uint32_t bands)
{
    if (r->cosines && r->bands == bands)
        return 0;
    free(r->cosines);
    r->bands = bands;
    r->cosines = mem_calloc((size_t)(VOICE_NUMBERS - 1) * bands, sizeof *r->cosines);
    for (uint32_t i = 0; r->cosines && i < (VOICE_NUMBERS - 1) * bands; i++)
        r->cosines[i] = cos(M_PI * (1 + i / bands) * (i % bands + 0.5) / bands);
    return r->cosines ? 0 : -1;
}

/* The shape of the mean spectrum (its first cosines, so that neighbouring bands count once) and the pitch. */
static void describe_voice(ClipFacts *c, Records *r, const MelView *v)
{
    if (make_cosines(r, v->bands))
        return;
    for (int k = 0; k < VOICE_NUMBERS - 1; k++) {
        double sum = 0;
        for (uint32_t b = 0; b < v->bands; b++)
            sum += v->sum[b] / v->frames * r->cosines[(uint32_t)k * v->bands + b];
        c->voice[k] = (float)(sum * sqrt(2.0 / v->bands));
    }
    c->voice[VOICE_NUMBERS - 1] = (float)(v->pitch_sums[0] / v->frames * 12 / M_LN2);
    c->has_voice = 1;
}

/* 1: there is a record, whatever it says; 0: nothing is known. *usable: it is a clip. */
static int from_stores(ClipFacts *c, int *usable, Records *r, const Utterance *u)
{
    const Config *cfg = r->in->cfg;
    const Store *const stores[2] = {&r->mel, &r->audio};
    for (int k = 0; k < 2; k++) {
        const int64_t at = stores[k]->count ? store_find(stores[k], u->id.p, u->id.n) : -1;
        StoreEntry e;
        MelView v;
        if (at < 0)
            continue;
        store_entry(stores[k], (uint64_t)at, &e);
        *usable = e.status == 0;
        c->seconds = source_seconds(&e);
        c->clipped = source_clipped(&e);
        c->kept = (double)e.items * (k ? 1 : cfg->hop_length) / cfg->sample_rate;
        if (k == 0 && *usable && mel_view(&v, &e) == 0 && v.frames) {
            c->is_measured = mel_measure(&c->measure, &v);
            describe_voice(c, r, &v);
        }
        return 1;
    }
    return 0;
}

/* Clips that are left out for their length are no concern. */
static int is_within_limits(const Config *cfg, const Utterance *u, const ClipFacts *c)
{
    const double frames = c->kept * cfg->sample_rate / cfg->hop_length;
    return !accept_text(cfg, u->text, NULL, 0) && !accept_seconds(cfg, c->seconds, NULL, 0) &&
           (c->kept <= 0 || !accept_frames(cfg, (uint32_t)frames, NULL, 0));
}

/* ---- recordings ---- */

static int look_at(ClipFacts *c, const CorpusFacts *f, AudioMeter *meter, AudioBuffer *a)
{
    const Utterance *u = &f->dataset->utterances[c->utterance];
    char path[PATH_MAX], detail[256];
    FileMap map = {0};
    int rc = 0;
    if (dataset_audio_path(f->dataset, u, path, sizeof path, NULL) || file_load(&map, path, NULL))
        return 0;
    if (audio_decode(a, map.data, map.size, path, f->cfg->max_audio_length, detail, sizeof detail) ==
        REJECT_NONE) {
        rc = audio_measure(&c->measure, meter, a);
        c->is_measured = !rc;
        c->seconds = (double)a->frames / a->rate;
        c->clipped = (double)audio_clipped(a->samples, a->frames) / (double)a->frames;
    }
    file_unmap(&map);
    return rc;
}

/* Those whose records do not tell. */
static int look_at_some(CorpusFacts *f, Err *err)
{
    AudioMeter *meter = NULL;
    AudioBuffer a = {0};
    size_t unknown = 0, seen = 0;
    for (size_t i = 0; i < f->count; i++)
        unknown += !f->looked[i].is_measured;
    int rc = unknown ? audio_meter_open(&meter, err) : 0;
    for (size_t i = 0; i < f->count && unknown && !rc; i++) {
        if (f->looked[i].is_measured)
            continue;
        /* Evenly spread: item k is looked at where k * looks / unknown moves on. */
        const size_t looks = unknown < MOST_LOOKS ? unknown : MOST_LOOKS;
        const int wanted = seen * looks / unknown != (seen + 1) * looks / unknown;
        seen++;
        if (wanted)
            rc = look_at(&f->looked[i], f, meter, &a);
    }
    audio_meter_close(meter);
    audio_buffer_free(&a);
    return rc ? err_set(err, ERR_NOMEM, "no memory to look at the recordings") : 0;
}

/* ---- all ---- */

static int compare_strings(const void *a, const void *b)
{
    const Str *x = a, *y = b;
    const int order = memcmp(x->p, y->p, x->n < y->n ? x->n : y->n);
    return order ? order : (x->n > y->n) - (x->n < y->n);
}

static int count_speakers(CorpusFacts *f, Err *err)
{
    Str *names = mem_calloc(f->count + 1, sizeof *names);
    if (!names)
        return err_set(err, ERR_NOMEM, "no memory for the speakers of %zu clips", f->count);
    for (size_t i = 0; i < f->count; i++) {
        names[i] = f->dataset->utterances[f->clip[i].utterance].speaker;
        if (!names[i].p)
            names[i].p = "";
    }
    qsort(names, f->count, sizeof *names, compare_strings);
    for (size_t i = 0; i < f->count; i++)
        f->speakers += i == 0 || compare_strings(&names[i - 1], &names[i]) != 0;
    free(names);
    return 0;
}

/* Every clip that can be used. */
static void gather(CorpusFacts *f, Records *r)
{
    const FactsInput *in = r->in;
    for (size_t i = 0; i < in->dataset->count; i++) {
        const Utterance *u = &in->dataset->utterances[i];
        ClipFacts c = {.utterance = (uint32_t)i, .seconds = in->seconds ? in->seconds[i] : 0};
        int usable = c.seconds > 0;
        from_stores(&c, &usable, r, u);
        if (!usable || !is_within_limits(in->cfg, u, &c))
            continue;
        char note[64];
        c.symbols = sounds_of(&r->text, u);
        c.text_hash = dataset_text_hash(u->text);
        c.has_note = text_find_note(note, sizeof note, u->text);
        f->minutes += (c.kept > 0 ? c.kept : c.seconds) / 60;
        f->looked[f->count++] = c;
    }
}

static int read_records(CorpusFacts *f, const FactsInput *in, Err *err)
{
    const size_t n = in->dataset->count;
    Records r;
    f->clip = f->looked = mem_calloc(n + 1, sizeof *f->looked);
    if (!f->looked)
        return err_set(err, ERR_NOMEM, "no memory for the facts of %zu clips", n);
    records_open(&r, in);
    gather(f, &r);
    records_close(&r);
    int rc = count_speakers(f, err);
    return rc ? rc : look_at_some(f, err);
}

int corpus_facts_open(CorpusFacts *f, const FactsInput *in, Err *err)
{
    *f = (CorpusFacts){.cfg = in->cfg, .dataset = in->dataset};
    /* Of a clip that no cache has, the headers tell, and they may be others next time. */
    Hash128 key = {0};
    int rc = 0;
    if (!in->seconds)
        key = facts_file_key(in->dir, in->cfg, in->dataset);
    if (!facts_file_read(f, in->dir, key)) {
        rc = read_records(f, in, err);
        if (!rc && in->keep && f->count)
            facts_file_write(f, in->dir, key);
    }
    for (size_t i = 0; i < f->count && !rc; i++)
        f->measured += (size_t)f->clip[i].is_measured;
    if (rc)
        corpus_facts_close(f);
    return rc;
}

void corpus_facts_close(CorpusFacts *f)
{
    free(f->looked);
    file_unmap(&f->file);
    *f = (CorpusFacts){0};
}
