/* corpus_report.c - see corpus_report.h. */
#include "diag/voice/corpus_report.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/words/words.h"
#include "cache/prepare.h"
#include "diag/voice/text_notes.h"

#define MOST_NAMED 4
#define OWN_HOURS 0.5
#define GOOD_NOISE_DB 30 /* of speech above the noise, and more */

/* ---- looking ---- */

int corpus_check_open(CorpusCheck *c, const Config *cfg, const Dataset *d, const double *seconds, int keep,
                      Err *err)
{
    *c = (CorpusCheck){0};
    char *dir = prepare_cache_dir(cfg);
    if (!dir)
        return err_set(err, ERR_NOMEM, "no memory for a path");
    int rc = corpus_facts_open(
        &c->facts, &(FactsInput){.cfg = cfg, .dataset = d, .dir = dir, .seconds = seconds, .keep = keep},
        err);
    free(dir);
    if (!rc)
        rc = corpus_doubts(&c->doubts, &c->facts, err);
    if (rc)
        corpus_check_close(c);
    return rc;
}

void corpus_check_close(CorpusCheck *c)
{
    corpus_doubts_close(&c->doubts);
    corpus_facts_close(&c->facts);
    *c = (CorpusCheck){0};
}

int corpus_check_warns(const Doubt *d)
{
    return d->is_finding || d->kind == DOUBT_FOLDERS || d->kind == DOUBT_FEW || d->kind == DOUBT_SAME_TEXT;
}

/* ---- names ---- */

/* The file of a clip, relative to the dataset; its id where there is none. Returns out. */
static const char *file_of(const CorpusCheck *c, uint32_t utterance, char *out, size_t cap)
{
    const Dataset *d = c->facts.dataset;
    const Utterance *u = &d->utterances[utterance];
    const size_t root = strlen(d->root);
    char path[PATH_MAX];
    if (dataset_audio_path(d, u, path, sizeof path, NULL))
        snprintf(out, cap, "%.*s", (int)u->id.n, u->id.p);
    else
        snprintf(out, cap, "%s", !strncmp(path, d->root, root) && path[root] == '/' ? path + root + 1 : path);
    return out;
}

/* The figure of a clip, or the note in its text. Returns out. */
static const char *value_of(const CorpusCheck *c, const Doubt *d, const DoubtClip *clip, char *out,
                            size_t cap)
{
    out[0] = 0;
    if (d->kind == DOUBT_NOTES)
        text_find_note(out, cap, c->facts.dataset->utterances[clip->utterance].text);
    else if (isfinite(clip->value))
        snprintf(out, cap, "%.4g %s", clip->value, doubt_unit(d->kind));
    return out;
}

const char *corpus_check_worst(const CorpusCheck *c, const Doubt *d, char *out, size_t cap)
{
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < d->clips && i < MOST_NAMED; i++) {
        char file[PATH_MAX], value[80], name[PATH_MAX + 100];
        file_of(c, d->clip[i].utterance, file, sizeof file);
        value_of(c, d, &d->clip[i], value, sizeof value);
        const int n = snprintf(name, sizeof name, "%s%s (%s)", i ? ", " : "", file, value);
        if (n < 0 || used + (size_t)n + 6 > cap)
            break;
        memcpy(out + used, name, (size_t)n + 1);
        used += (size_t)n;
    }
    if (used && d->clips > MOST_NAMED)
        snprintf(out + used, cap - used, ", ...");
    return out;
}

/* ---- the terminal ---- */

static void begin_row(Buf *out, Word name)
{
    buf_str(out, "  ");
    words_column(out, word(name), 11);
}
#define PRINT_ROW(out, name, id, ...) \
    (begin_row(out, name), buf_say(out, id, __VA_ARGS__), buf_str(out, "\n"))

/* Whether so much is good, in a word. */
static Word noise_word(double above_db)
{
    return above_db >= GOOD_NOISE_DB ? SAY_CORPUS_NOISE_GOOD
           : above_db >= NOISY_DB    ? SAY_CORPUS_NOISE_USABLE
                                     : SAY_CORPUS_NOISE_BAD;
}

static void print_usual(Buf *out, const CorpusCheck *c)
{
    const CorpusFacts *f = &c->facts;
    const Doubts *d = &c->doubts;
    if (!f->measured)
        return;
    buf_printf(out, "\n%s\n", word(SAY_CORPUS_RECORDINGS));
    if (f->measured < f->count)
        PRINT_ROW(out, SAY_CORPUS_MEASURED, SAY_CORPUS_ROW_MEASURED, f->measured, f->count);
    if (isfinite(d->noise_db))
        PRINT_ROW(out, SAY_CORPUS_NOISE, SAY_CORPUS_ROW_NOISE, d->above_noise_db, d->noise_db, d->speech_db,
                  word(noise_word(d->above_noise_db)));
    if (isfinite(d->bandwidth_hz))
        PRINT_ROW(out, SAY_CORPUS_SOUND, SAY_CORPUS_ROW_SOUND, d->bandwidth_hz / 1000,
                  fmin(f->cfg->mel_fmax, f->cfg->sample_rate / 2.0) / 1000);
    if (isfinite(d->rate))
        PRINT_ROW(out, SAY_CORPUS_RATE, SAY_CORPUS_ROW_RATE, d->rate);
    if (f->cfg->trim_silence && isfinite(d->trimmed_share))
        PRINT_ROW(out, SAY_CORPUS_SILENCE, SAY_CORPUS_ROW_SILENCE, 100 * d->trimmed_share);
    if (f->minutes >= 60 * OWN_HOURS)
        PRINT_ROW(out, SAY_CORPUS_AMOUNT, SAY_CORPUS_ROW_AMOUNT, f->minutes / 60, 60 * OWN_HOURS);
}

static void print_doubt(Buf *out, const CorpusCheck *c, const Doubt *d)
{
    char worst[600];
    buf_printf(out, "  %s\n", d->what);
    if (*corpus_check_worst(c, d, worst, sizeof worst))
        buf_printf(out, "    %s\n", worst);
    buf_printf(out, "    %s\n    -> %s\n", d->why, d->fix);
}

void corpus_check_print(Buf *out, const CorpusCheck *c, const char *more)
{
    const Doubts *d = &c->doubts;
    int unnamed = 0;
    print_usual(out, c);
    for (int findings = 1; findings >= 0; findings--)
        for (int i = 0, first = 1; i < d->count; i++) {
            if (d->item[i].is_finding != findings)
                continue;
            if (first)
                buf_printf(out, "\n%s\n", word(findings ? SAY_CORPUS_FINDINGS : SAY_CORPUS_REMARKS));
            first = 0;
            print_doubt(out, c, &d->item[i]);
            unnamed |= d->item[i].clips > MOST_NAMED;
        }
    if (unnamed)
        buf_printf(out, "  %s\n", more);
}

/* ---- JSON ---- */

static json_t *doubt_json(const CorpusCheck *c, const Doubt *d)
{
    json_t *worst = json_array(), *values = json_array();
    for (size_t i = 0; i < d->clips; i++) {
        char file[PATH_MAX], note[80];
        json_array_append_new(worst, json_from_text(file_of(c, d->clip[i].utterance, file, sizeof file)));
        json_array_append_new(values, d->kind == DOUBT_NOTES
                                          ? json_from_text(value_of(c, d, &d->clip[i], note, sizeof note))
                                          : json_from_double(d->clip[i].value));
    }
    return json_pack("{s:s, s:s, s:I, s:o, s:o, s:o, s:s, s:s, s:s, s:s}", "kind", doubt_code(d->kind),
                     "severity", d->is_finding ? "finding" : "remark", "clips", (json_int_t)d->clips, "share",
                     json_real(c->facts.count ? (double)d->clips / (double)c->facts.count : 0), "worst",
                     worst, "values", values, "unit", doubt_unit(d->kind), "what", d->what, "why", d->why,
                     "advice", d->fix);
}

int corpus_check_json(json_t *o, const CorpusCheck *c)
{
    const CorpusFacts *f = &c->facts;
    const Doubts *d = &c->doubts;
    json_t *findings = json_array();
    for (int i = 0; i < d->count; i++)
        json_array_append_new(findings, doubt_json(c, &d->item[i]));
    json_t *recordings =
        json_pack("{s:I, s:f, s:o, s:o, s:o, s:o, s:o, s:o}", "measured", (json_int_t)f->measured,
                  "speech_minutes", f->minutes, "noise_db", json_from_double(d->noise_db), "speech_db",
                  json_from_double(d->speech_db), "above_noise_db", json_from_double(d->above_noise_db),
                  "bandwidth_hz", json_from_double(d->bandwidth_hz), "symbols_per_s",
                  json_from_double(d->rate), "trimmed_share", json_from_double(d->trimmed_share));
    const int failed = json_object_set_new(o, "findings", findings);
    return json_object_set_new(o, "recordings", recordings) || failed ? -1 : 0;
}

/* ---- findings.tsv ---- */

int corpus_check_write(const CorpusCheck *c, const char *path, Err *err)
{
    Buf out = {0};
    buf_str(&out, "severity\tkind\tfile\tvalue\n");
    for (int i = 0; i < c->doubts.count; i++) {
        const Doubt *d = &c->doubts.item[i];
        for (size_t k = 0; k < d->clips; k++) {
            char file[PATH_MAX], value[80];
            file_of(c, d->clip[k].utterance, file, sizeof file);
            value_of(c, d, &d->clip[k], value, sizeof value);
            for (char *p = value; *p; p++)
                *p = (char)((unsigned char)*p < ' ' ? ' ' : *p);
            buf_printf(&out, "%s\t%s\t%s\t%s\n", d->is_finding ? "finding" : "remark", doubt_code(d->kind),
                       file, value);
        }
    }
    int rc = out.failed ? err_set(err, ERR_NOMEM, "no memory to list the findings")
                        : file_replace(path, out.data, out.size, err);
    buf_free(&out);
    return rc;
}
