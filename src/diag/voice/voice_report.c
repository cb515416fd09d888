/* voice_report.c - see voice_report.h. */
#include "diag/voice/voice_report.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/words/words.h"
#include "train/log/run_log.h"

/* What the caller has measured itself joins what the log says. */
static int add_measured(VoiceFacts *f, const VoiceReportOptions *o, Err *err)
{
    if (o->terms && !f->validation_count) {
        if (mem_grow(&f->validation, &f->validation_cap, 1, sizeof *f->validation))
            return err_set(err, ERR_NOMEM, "no memory for a validation");
        VoicePoint *p = &f->validation[f->validation_count++];
        *p = (VoicePoint){.step = o->step, .own_text = NAN};
        for (int i = 0; i < TERM_COUNT; i++) {
            p->terms[i] = o->terms[i];
            p->loss += o->terms[i];
        }
    }
    if (o->heard) {
        if (mem_grow(&f->heard, &f->heard_cap, f->heard_count + 1, sizeof *f->heard))
            return err_set(err, ERR_NOMEM, "no memory for what was heard");
        f->heard[f->heard_count++] = *o->heard;
    }
    return 0;
}

/* Facts from all sources there are, then the doctor. */
int voice_report(VoiceReport *r, const VoiceReportOptions *o, Err *err)
{
    VoiceFacts *f = &r->facts;
    int rc = 0;
    *r = (VoiceReport){.step = o->step};
    voice_facts_clear(f);
    if (o->run) {
        rc = voice_facts_from_log(f, o->run, err);
        r->has_log = !rc;
        /* A checkpoint without a log can still be examined. */
        if (rc == ERR_MISSING) {
            rc = 0;
            err_clear(err);
        }
    }
    if (o->cfg)
        voice_facts_from_config(f, o->cfg);
    if (!rc)
        rc = add_measured(f, o, err);
    if (!rc && o->cfg && o->train) {
        rc = voice_facts_from_corpus(f, o->cfg, o->train, o->validation, o->look, err);
        r->has_corpus = !rc;
    }
    if (!rc && o->engine && o->align) {
        rc = voice_facts_from_alignment(f, o->engine, o->align, err);
        r->has_alignment = !rc && f->clip_count;
    }
    if (!rc)
        r->count = voice_doctor(r->findings, VOICE_CAUSE_COUNT, f);
    return rc;
}

void voice_report_close(VoiceReport *r)
{
    voice_facts_free(&r->facts);
    *r = (VoiceReport){0};
}

VoiceHeard voice_heard(const Heard *h)
{
    return (VoiceHeard){.step = h->step,
                        .words = h->voice.words,
                        .words_wrong = h->voice.wrong,
                        .recordings_words = h->recordings.words,
                        .recordings_words_wrong = h->recordings.wrong,
                        .mcd_db = h->mcd_db,
                        .f0_rmse_semitones = h->f0_rmse_semitones,
                        .length_ratio = h->length_ratio};
}

/* --- JSON --- */

static json_t *names(const VoiceNames *n)
{
    json_t *a = json_array();
    for (int i = 0; i < n->count; i++)
        json_array_append_new(a, json_from_text(n->id[i]));
    return a;
}

/* With their numbers, so that people can set their own limit. */
static json_t *suspects(const VoiceFacts *f)
{
    json_t *a = json_array();
    for (size_t i = 0; i < f->clip_count; i++)
        if (f->clip[i].suspect)
            json_array_append_new(a, json_pack("{s:o, s:o, s:o, s:o}", "id", json_from_text(f->clip[i].id),
                                               "score", json_from_double(f->clip[i].score), "cost",
                                               json_from_double(f->clip[i].cost), "text",
                                               json_from_text(f->clip[i].words)));
    return a;
}

/* With the clips that the finding is about. */
json_t *voice_finding_json(const VoiceFinding *v, const VoiceFacts *f)
{
    json_t *clips = v->cause == VOICE_TEXTS      ? suspects(f)
                    : v->cause == VOICE_SILENCE  ? names(&f->silent)
                    : v->cause == VOICE_CLIPPING ? names(&f->clipped)
                                                 : json_array();
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "cause", voice_cause_name(v->cause), "evidence",
                     json_from_text(v->evidence), "advice", json_from_text(v->advice), "step",
                     v->step < 0 ? json_null() : json_integer(v->step), "clips", clips);
}

static void number(json_t *o, const char *key, double v) { json_object_set_new(o, key, json_from_double(v)); }
static void integer(json_t *o, const char *key, int64_t v) { json_object_set_new(o, key, json_integer(v)); }

/* Only what was measured: a key that is missing is not 0. */
static json_t *facts_json(const VoiceReport *r)
{
    const VoiceFacts *f = &r->facts;
    json_t *o = json_object();
    if (r->has_log) {
        integer(o, "total_steps", f->total_steps);
        integer(o, "validations", (json_int_t)f->validation_count);
    }
    if (r->has_corpus) {
        integer(o, "clips", f->clips);
        number(o, "minutes", f->seconds / 60);
        number(o, "f0_hz", f->f0);
        number(o, "phonemes_per_s", f->sounds_per_s);
        integer(o, "phonemes", f->sounds);
        integer(o, "rare_phonemes", f->rare_sounds);
        integer(o, "silent_lines", f->silent_lines);
        integer(o, "looked_at", f->looked);
        integer(o, "mostly_silence", f->looked_quiet);
        integer(o, "clipped", f->looked_clipped);
        number(o, "clipped_samples", f->clipped_samples);
    }
    if (r->has_alignment) {
        integer(o, "aligned_clips", (json_int_t)f->clip_count);
        number(o, "cost", f->cost);
        number(o, "own_text", f->own_text);
        number(o, "one_frame_share", f->ones);
        number(o, "longest_tenth_share", f->held);
        number(o, "frames_per_symbol", f->frames_per_symbol);
        integer(o, "predicted_clips", f->predicted_clips);
        number(o, "pitch_explained", f->pitch_explained);
        number(o, "duration_explained", f->duration_explained);
        integer(o, "suspects", f->suspects);
    }
    if (f->heard_count) {
        const VoiceHeard *h = &f->heard[f->heard_count - 1];
        integer(o, "words", h->words);
        integer(o, "words_wrong", h->words_wrong);
        integer(o, "recordings_words", h->recordings_words);
        integer(o, "recordings_words_wrong", h->recordings_words_wrong);
    }
    return o;
}

json_t *voice_report_json(const VoiceReport *r)
{
    json_t *findings = json_array();
    for (int i = 0; i < r->count; i++)
        json_array_append_new(findings, voice_finding_json(&r->findings[i], &r->facts));
    return json_pack("{s:o, s:o}", "findings", findings, "facts", facts_json(r));
}

/* --- text --- */

/* The name of a line. */
static void begin_row(Buf *out, Word name)
{
    buf_str(out, "  ");
    words_column(out, word(name), 13);
}

/* One line for each source of facts. */
static void say_recordings(Buf *out, const VoiceFacts *f)
{
    char row[600];
    begin_row(out, SAY_VOICE_RECORDINGS);
    say_count(row, sizeof row, SAY_VOICE_ROW_CLIPS, f->clips, (long long)f->clips, f->seconds / 60);
    if (isfinite(f->sounds_per_s))
        say_more(row, sizeof row, SAY_VOICE_ROW_RATE, f->sounds_per_s);
    if (isfinite(f->f0))
        say_more(row, sizeof row, SAY_VOICE_ROW_HZ, f->f0);
    if (f->looked)
        say_more(row, sizeof row, SAY_VOICE_ROW_LOOKED, (long long)f->looked, (long long)f->looked_quiet,
                 (long long)f->looked_clipped);
    if (f->silent_lines)
        say_more(row, sizeof row, SAY_VOICE_ROW_SILENT, (long long)f->silent_lines);
    buf_printf(out, "%s\n", row);
}

/* The newest of both curves, and the lowest of validation. */
static void say_losses(Buf *out, const VoiceFacts *f)
{
    const VoicePoint *t = f->train_count ? &f->train[f->train_count - 1] : NULL;
    const VoicePoint *v = f->validation_count ? &f->validation[f->validation_count - 1] : NULL;
    begin_row(out, SAY_VOICE_LOSSES);
    if (t)
        buf_say(out, SAY_VOICE_ROW_TRAINING, t->loss, (long long)t->step);
    if (v) {
        /* The lowest so far tells whether the newest is still getting better. */
        const VoicePoint *best = v;
        for (size_t i = 0; i < f->validation_count; i++)
            if (f->validation[i].loss < best->loss)
                best = &f->validation[i];
        if (t)
            buf_printf(out, "%s ", word(SAY_COMMA));
        buf_say(out, SAY_VOICE_ROW_HELD_OUT, v->loss);
        if (v->step >= 0)
            buf_say(out, SAY_VOICE_ROW_LOWEST, (long long)v->step, best->loss, (long long)best->step);
    }
    buf_printf(out, "%s\n", t || v ? "" : word(SAY_VOICE_ROW_NO_LOSS));
}

static void say_alignment(Buf *out, const VoiceFacts *f)
{
    char row[400];
    begin_row(out, SAY_VOICE_ALIGNMENT);
    say_count(row, sizeof row, SAY_VOICE_ROW_ALIGNMENT, f->clip_count, f->cost, 100 * f->own_text,
              f->clip_count);
    buf_printf(out, "%s\n", row);
    begin_row(out, SAY_VOICE_DURATIONS_ROW);
    buf_say(out, SAY_VOICE_ROW_DURATIONS, f->frames_per_symbol, 100 * f->ones, 100 * f->held);
    buf_str(out, "\n");
    if (!f->predicted_clips)
        return;
    begin_row(out, SAY_VOICE_PREDICTED);
    say_count(row, sizeof row, SAY_VOICE_ROW_PREDICTED, f->predicted_clips, 100 * f->duration_explained,
              100 * f->pitch_explained, (long long)f->predicted_clips);
    buf_printf(out, "%s\n", row);
}

/* What matters most, also when nobody has listened. */
static void say_heard(Buf *out, const VoiceFacts *f)
{
    const VoiceHeard *h = f->heard_count ? &f->heard[f->heard_count - 1] : NULL;
    begin_row(out, SAY_VOICE_WORDS_ROW);
    if (h && h->words > 0 && h->recordings_words > 0)
        buf_say(out, SAY_VOICE_ROW_WORDS, 100.0 * (double)h->words_wrong / (double)h->words,
                (long long)h->words, 100.0 * (double)h->recordings_words_wrong / (double)h->recordings_words,
                (long long)h->step);
    else
        buf_say(out, SAY_VOICE_ROW_UNHEARD);
    buf_str(out, "\n");
}

/* Where nothing is found it is said where nobody looked. */
static void say_nothing_found(Buf *out, const VoiceReport *r)
{
    buf_printf(out, "  %s%s%s%s%s\n", word(SAY_VOICE_NO_FINDINGS), r->has_log ? word(SAY_VOICE_SAW_LOG) : "",
               r->has_corpus ? word(SAY_VOICE_SAW_RECORDINGS) : "",
               r->has_alignment ? word(SAY_VOICE_SAW_ALIGNMENT) : "",
               word(r->facts.heard_count ? SAY_VOICE_SAW_WORDS : SAY_VOICE_NOBODY));
}

/* Numbers first, then what is wrong. */
void voice_report_text(Buf *out, const VoiceReport *r)
{
    const VoiceFacts *f = &r->facts;
    buf_printf(out, "%s\n", word(SAY_VOICE_TITLE));
    if (r->has_corpus)
        say_recordings(out, f);
    if (r->has_log || f->validation_count)
        say_losses(out, f);
    if (r->has_alignment)
        say_alignment(out, f);
    say_heard(out, f);
    buf_printf(out, "\n%s\n", word(SAY_VOICE_FINDINGS));
    for (int i = 0; i < r->count; i++)
        buf_printf(out, "  %d. %s: %s\n     %s\n", i + 1, voice_cause_shown(r->findings[i].cause),
                   r->findings[i].evidence, r->findings[i].advice);
    if (!r->count)
        say_nothing_found(out, r);
}

/* --- the list --- */

/* Tabs and newlines would break the table. */
static void field(Buf *out, const char *s, const char *end)
{
    for (; s && *s; s++)
        buf_add(out, *s == '\t' || *s == '\n' || *s == '\r' ? " " : s, 1);
    buf_str(out, end);
}

/* For people who want to listen to them: worst first. */
int voice_report_suspects(const VoiceReport *r, const char *path, Err *err)
{
    Buf b = {0};
    buf_str(&b, "id\tscore\tcost\tother_cost\ttext\n");
    for (size_t i = 0; i < r->facts.clip_count; i++) {
        const VoiceClip *c = &r->facts.clip[i];
        if (!c->suspect)
            continue;
        field(&b, c->id, "\t");
        buf_printf(&b, "%.2f\t%.4f\t%.4f\t", c->score, c->cost, c->other);
        field(&b, c->words, "\n");
    }
    int rc = b.failed ? err_set(err, ERR_NOMEM, "no memory for %s", path)
                      : file_replace(path, b.data, b.size, err);
    buf_free(&b);
    return rc;
}
