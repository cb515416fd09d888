/* corpus_page.c - report.html of a corpus: what became of the recording, what was left out, and the clips
 * that fit their texts worst, to listen to. See corpus_files.h. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "audio/sound_encoder.h"
#include "base/base64.h"
#include "base/file.h"
#include "base/progress.h"
#include "corpus/corpus_files.h"
#include "dataset/audio_file.h"
#include "diag/report/html.h"

enum { WORST_CLIPS = 20, SHOWN_REJECTS = 30 };

typedef struct Rank {
    int clip;
    double badness;
} Rank;

static int compare_ranks(const void *a, const void *b)
{
    const double x = ((const Rank *)a)->badness, y = ((const Rank *)b)->badness;
    return (x < y) - (x > y);
}

/* The clip's bytes, smaller where libsndfile can: Opus, else the WAV itself. */
static int embed(json_t *sounds, const CorpusFiles *f, const CutClip *clip, Err *err)
{
    char name[128], note[256], detail[200];
    Buf raw = {0}, small = {0}, text = {0};
    AudioBuffer audio = {0};
    SoundEncoder *e = NULL;
    const char *type = "audio/wav";
    snprintf(name, sizeof name, "wavs/%s.wav", clip->id);
    char *path = file_join(f->dir, name);
    int rc =
        path ? file_read(&raw, path, (size_t)64 << 20, err) : err_set(err, ERR_NOMEM, "no memory for a path");
    free(path);
    if (!rc && !audio_decode(&audio, raw.data, raw.size, name, 0, detail, sizeof detail) &&
        !sound_encoder_open(&e, SOUND_OPUS, audio.rate, 0, NULL) &&
        !sound_encoder_add(e, &small, audio.samples, audio.frames, NULL) &&
        !sound_encoder_finish(e, &small, NULL))
        type = "audio/ogg";
    sound_encoder_close(e);
    if (strcmp(type, "audio/ogg") == 0)
        base64_encode(&text, small.data, small.size);
    else
        base64_encode(&text, raw.data, raw.size);
    const CutPiece *p = &f->cuts->pieces[clip->first_piece];
    snprintf(note, sizeof note, "%s, %.1f s; fit %.2f, its worst half second %.2f; %.0f dB above the noise",
             clip->id, (double)(p->begin - 2 * clip->file->first) / LISTEN_LEVEL_HZ, (double)clip->score,
             (double)clip->worst, clip->contrast);
    if (!rc)
        rc = json_array_append_new(sounds,
                                   json_pack("{s:s, s:s, s:s, s:s%}", "title", clip->text, "note", note,
                                             "type", type, "base64", text.data ? text.data : "", text.size))
                 ? err_set(err, ERR_NOMEM, "no memory for the page")
                 : 0;
    audio_buffer_free(&audio);
    buf_free(&raw);
    buf_free(&small);
    buf_free(&text);
    return rc;
}

static int worst_clips(json_t *sounds, const CorpusFiles *f, Err *err)
{
    const int n = f->cuts->clip_count;
    Rank *ranks = mem_calloc((size_t)n + 1, sizeof *ranks);
    int rc = ranks ? 0 : err_set(err, ERR_NOMEM, "no memory for the page");
    for (int i = 0; i < n && !rc; i++) {
        const CutClip *c = &f->cuts->clips[i];
        ranks[i] = (Rank){i, f->track ? -(double)(c->score + 0.1f * c->worst) : -c->contrast};
    }
    if (ranks)
        qsort(ranks, (size_t)n, sizeof *ranks, compare_ranks);
    for (int i = 0; i < n && i < WORST_CLIPS && !rc; i++)
        rc = embed(sounds, f, &f->cuts->clips[ranks[i].clip], err);
    free(ranks);
    return rc;
}

static void add_row(json_t *rows, const char *name, const char *value)
{
    json_array_append_new(rows, json_pack("{s:s, s:s, s:s}", "name", name, "value", value, "status", "info"));
}

/* What was left out: how often for each reason, and where. */
static void left_out(json_t *sections, const CorpusFiles *f)
{
    json_t *rows = json_array(), *list = json_array();
    int shown = 0;
    for (int r = 0; r < CUT_REASONS; r++) {
        int n = 0;
        char value[64];
        for (int i = 0; i < f->cuts->reject_count; i++)
            n += (int)f->cuts->rejects[i].reason == r;
        snprintf(value, sizeof value, "%d", n);
        if (n)
            add_row(rows, cut_reason_text((CutReason)r), value);
    }
    for (int i = 0; i < f->cuts->reject_count && shown < SHOWN_REJECTS; i++) {
        const CutReject *r = &f->cuts->rejects[i];
        char where[300] = "";
        const ListenedFile *file = listening_file_of(f->listening, r->begin / 2);
        if (r->end > r->begin)
            snprintf(where, sizeof where, "%s, %.1f to %.1f s", file->path,
                     (double)(r->begin - 2 * file->first) / LISTEN_LEVEL_HZ,
                     (double)(r->end - 2 * file->first) / LISTEN_LEVEL_HZ);
        else
            snprintf(where, sizeof where, "line %d of the text", f->book->units[r->unit].line);
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "name", where, "value",
                                              r->unit >= 0 ? f->book->units[r->unit].text : "", "note",
                                              cut_reason_text(r->reason), "status", "info"));
        shown++;
    }
    if (json_array_size(rows))
        json_array_append_new(sections, json_pack("{s:s, s:o}", "title", "Left out", "rows", rows));
    else
        json_decref(rows);
    if (shown)
        json_array_append_new(
            sections,
            json_pack("{s:s, s:o}", "title", "The first of them (for all, see rejected.tsv)", "rows", list));
    else
        json_decref(list);
}

static void summary(json_t *sections, const CorpusFiles *f)
{
    json_t *rows = json_array();
    char value[200];
    double heard = (double)f->listening->frames / LISTEN_HZ, kept = 0;
    for (int i = 0; i < f->cuts->clip_count; i++)
        kept += cut_clip_seconds(f->cuts, &f->cuts->clips[i]);
    progress_format_seconds(value, sizeof value, heard);
    add_row(rows, "heard", value);
    progress_format_seconds(value, sizeof value, kept);
    add_row(rows, "in clips", value);
    snprintf(value, sizeof value, "%d", f->cuts->clip_count);
    add_row(rows, "clips", value);
    if (f->track) {
        snprintf(value, sizeof value, "%d of %d", f->track->count, f->book->count);
        add_row(rows, "sentences and parts of the text that were found", value);
        snprintf(value, sizeof value, "%.2f; of wrong texts %.2f; accepted from %.2f on",
                 (double)f->track->right, (double)f->track->wrong, (double)f->track->limit);
        add_row(rows, "how well they fit, in the middle", value);
    }
    json_array_append_new(sections, json_pack("{s:s, s:o}", "title", "The recording", "rows", rows));
}

int corpus_write_page(const CorpusFiles *f, Err *err)
{
    char date[64];
    time_t now = time(NULL);
    struct tm tm;
    strftime(date, sizeof date, "%Y-%m-%d %H:%M", localtime_r(&now, &tm));
    json_t *sections = json_array(), *sounds = json_array();
    summary(sections, f);
    left_out(sections, f);
    int rc = worst_clips(sounds, f, err);
    json_t *page =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:o}", "title", "A corpus from recordings", "date",
                  date, "command", f->command, "verdict", f->verdict, "verdict_status", f->status,
                  "sounds_title", f->track ? "The clips that match their texts worst" : "The noisiest clips",
                  "sounds", sounds, "sections", sections);
    char *path = file_join(f->dir, "report.html");
    if (!rc)
        rc = page && path ? html_write(path, page, err) : err_set(err, ERR_NOMEM, "no memory for the page");
    free(path);
    json_decref(page);
    return rc;
}
