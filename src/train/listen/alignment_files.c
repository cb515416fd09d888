/* alignment_files.c - alignments on disk. Threads read the recordings and write TextGrids; the rows of
 * durations.tsv are put in order behind them. */
#include "train/listen/alignment_files.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audio/mel.h"
#include "audio/process.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/ordered.h"
#include "base/progress.h"
#include "base/thread.h"
#include "cache/features.h"
#include "dataset/audio_file.h"
#include "text/phonemes/tokens.h"
#include "train/listen/alignment.h"
#include "train/listen/textgrid.h"

#define SHORT_SPACE 0.1 /* seconds; a space up to this length is not a pause */
#define MOST_FILE_BYTES ((size_t)1 << 30)
#define SLOTS_PER_THREAD 4 /* clips that may be ready before their turn */

/* Of one thread. */
typedef struct Reader {
    AudioProcessor *processor;
    AudioBuffer audio;
    Buf bytes;
} Reader;

/* What came of one clip. */
typedef struct Slot {
    Buf rows; /* of durations.tsv */
    Err err;
} Slot;

typedef struct Job {
    const char *dir;
    const AlignedClip *clips;
    const Config *cfg;
    MelPlan *mel;
    Reader *readers; /* [threads] */
    Slot *slots;
    FileWriter tsv;
    Progress progress;
} Job;

/* As it is written: equal times have equal digits. */
static double rounded(double seconds) { return round(seconds * 1e5) / 1e5; }

static Str id_of(const AlignedClip *c) { return c->corpus->dataset.utterances[c->item->utterance].id; }

/* --- where a clip is in its recording --- */

/* Samples that the mel was made of: how many, and how many were cut off before them. As audio_process does
 * it. */
static int find_trim(Reader *r, const AlignedClip *c, const Config *cfg, int64_t *first, int64_t *samples,
                     Err *err)
{
    char path[PATH_MAX], detail[256];
    const float *x;
    int64_t n, last;
    const Dataset *d = &c->corpus->dataset;
    int rc = dataset_audio_path(d, &d->utterances[c->item->utterance], path, sizeof path, err);
    buf_clear(&r->bytes);
    if (!rc)
        rc = file_read(&r->bytes, path, MOST_FILE_BYTES, err);
    if (rc)
        return rc;
    if (audio_decode(&r->audio, r->bytes.data, r->bytes.size, path, cfg->max_audio_length, detail,
                     sizeof detail))
        return err_set(err, ERR_DATA, "%s", detail);
    const AudioBuffer *a = &r->audio;
    rc = audio_resample(r->processor, &x, &n, a->samples, a->frames, a->rate, cfg->sample_rate, err);
    if (rc)
        return rc;
    audio_trim_range(first, &last, x, n, cfg->n_fft, cfg->hop_length, cfg->trim_top_db);
    *samples = last - *first;
    return 0;
}

/* From the cache what it knows, the rest from the recording. *length: seconds of the recording. */
static int find_time(const Job *j, Reader *r, const AlignedClip *c, ClipTime *t, double *length, Err *err)
{
    const Config *cfg = j->cfg;
    StoreEntry e;
    MelView mel;
    int64_t first = 0;
    *length = 0;
    store_entry(&c->corpus->mel, c->item->mel_entry, &e);
    if (mel_view(&mel, &e))
        return err_set(err, ERR_DAMAGED, "the mel in the cache is damaged");
    *length = rounded(mel.source_seconds);
    *t = (ClipTime){.rate = cfg->sample_rate, .hop = cfg->hop_length};
    t->samples = llround(mel.source_seconds * cfg->sample_rate);
    if (!cfg->trim_silence)
        return 0;
    int rc = find_trim(r, c, cfg, &first, &t->samples, err);
    if (rc)
        return rc;
    t->offset = (double)first / cfg->sample_rate;
    /* The mel in the cache was made of the same samples, or its times would be wrong. */
    const int64_t frames = mel_frames(j->mel, t->samples);
    if (frames == c->frames)
        return 0;
    err_set(err, ERR_DATA, "the recording gives %lld frames, its mel has %d", (long long)frames, c->frames);
    return err_hint(err, "the recording changed while this ran: run the command again");
}

/* --- one clip --- */

/* Arrays for the symbols of a clip. */
typedef struct Symbols {
    int32_t *tokens;
    double *starts; /* [text + 1] seconds */
    SymbolSpan *words, *phones;
    TextGridInterval *word_intervals, *phone_intervals;
    Buf word_names, phone_names;
} Symbols;

static void symbols_close(Symbols *s)
{
    free(s->tokens);
    free(s->starts);
    free(s->words);
    free(s->phones);
    free(s->word_intervals);
    free(s->phone_intervals);
    buf_free(&s->word_names);
    buf_free(&s->phone_names);
}

/* Where every symbol begins, in seconds of the recording. Times are rounded as they are written, so that the
 * files agree with each other to the last digit. */
static int symbols_open(Symbols *s, const AlignedClip *c, const ClipTime *time, double length, Err *err)
{
    const size_t n = (size_t)c->text;
    StoreEntry e;
    TextView view;
    int64_t frame = 0;
    *s = (Symbols){0};
    store_entry(&c->corpus->text, c->item->text_entry, &e);
    if (text_view(&view, &e) || view.token_count != n)
        return err_set(err, ERR_DAMAGED, "the text in the cache is damaged");
    s->tokens = mem_calloc(n, sizeof *s->tokens);
    s->starts = mem_calloc(n + 1, sizeof *s->starts);
    s->words = mem_calloc(n, sizeof *s->words);
    s->phones = mem_calloc(n, sizeof *s->phones);
    s->word_intervals = mem_calloc(n, sizeof *s->word_intervals);
    s->phone_intervals = mem_calloc(n, sizeof *s->phone_intervals);
    if (!s->tokens || !s->starts || !s->words || !s->phones || !s->word_intervals || !s->phone_intervals)
        return err_set(err, ERR_NOMEM, "no memory for %zu symbols", n);
    for (size_t i = 0; i <= n; i++) {
        s->starts[i] = fmin(rounded(clip_seconds(time, frame)), length);
        if (i < n) {
            s->tokens[i] = view.tokens[i];
            frame += c->durations[i];
        }
    }
    /* A short space is not a pause: its frames are the beginning of the next word, the silence before a stop
     * for instance. */
    for (int i = 0; i + 1 < c->text; i++)
        if (tokens_code_point(s->tokens[i]) == ' ' && tokens_is_letter(s->tokens[i + 1]) &&
            s->starts[i + 1] - s->starts[i] <= SHORT_SPACE)
            s->starts[i + 1] = s->starts[i];
    return 0;
}

/* The rows of a clip, one for each symbol. */
static void put_rows(Buf *out, const AlignedClip *c, const Symbols *s, int word_count)
{
    const Str id = id_of(c);
    for (int i = 0, w = 0; i < c->text; i++) {
        char name[8];
        while (w < word_count && i >= s->words[w].to)
            w++;
        const char *symbol =
            tokens_code_point(s->tokens[i]) == ' ' ? "<space>" : tokens_name(s->tokens[i], name);
        buf_printf(out, "%.*s\t%d\t%s\t%.5f\t%.5f\t", (int)id.n, id.p, i, symbol, s->starts[i],
                   s->starts[i + 1]);
        if (w < word_count && i >= s->words[w].from && s->tokens[i] != TOKEN_BLANK)
            buf_printf(out, "%d", w);
        buf_str(out, "\n");
    }
}

/* Intervals for spans of symbols; their labels live in `names`. */
static void name_spans(TextGridInterval *out, Buf *names, const SymbolSpan *spans, int count,
                       const Symbols *s)
{
    for (int k = 0; k < count; k++) {
        out[k] = (TextGridInterval){.from = s->starts[spans[k].from], .to = s->starts[spans[k].to]};
        for (int i = spans[k].from; i < spans[k].to; i++) {
            char name[8];
            if (s->tokens[i] != TOKEN_BLANK)
                buf_str(names, tokens_name(s->tokens[i], name));
        }
        buf_add(names, "", 1);
    }
    /* All names are there: the memory does not move any more. */
    const char *at = names->data;
    for (int k = 0; k < count && !names->failed; k++, at += strlen(at) + 1)
        out[k].label = at;
}

static int write_textgrid(const char *dir, Str id, double length, const TextGridTier tiers[2], Err *err)
{
    Buf path = {0}, text = {0};
    buf_printf(&path, "%s/textgrid/%.*s.TextGrid", dir, (int)id.n, id.p);
    textgrid_text(&text, length, tiers, 2);
    int rc = path.failed || text.failed ? err_set(err, ERR_NOMEM, "no memory for a TextGrid") : 0;
    /* An id with slashes gives folders. */
    if (!rc && memchr(id.p, '/', id.n)) {
        char *slash = strrchr(path.data, '/');
        *slash = 0;
        rc = file_make_dirs(path.data, err);
        *slash = '/';
    }
    if (!rc)
        rc = file_replace(path.data, text.data, text.size, err);
    buf_free(&path);
    buf_free(&text);
    return rc;
}

/* One clip from its durations to its rows and its TextGrid. */
static int write_clip(const Job *j, Reader *r, const AlignedClip *c, Buf *rows, Err *err)
{
    Symbols s = {0};
    ClipTime time;
    double length;
    int rc = find_time(j, r, c, &time, &length, err);
    if (!rc)
        rc = symbols_open(&s, c, &time, length, err);
    if (!rc) {
        const int words = alignment_words(s.words, s.tokens, c->text);
        const int phones = alignment_phones(s.phones, s.tokens, c->text);
        put_rows(rows, c, &s, words);
        name_spans(s.word_intervals, &s.word_names, s.words, words, &s);
        name_spans(s.phone_intervals, &s.phone_names, s.phones, phones, &s);
        const TextGridTier tiers[] = {{"words", s.word_intervals, words},
                                      {"phones", s.phone_intervals, phones}};
        rc = rows->failed || s.word_names.failed || s.phone_names.failed
                 ? err_set(err, ERR_NOMEM, "no memory for %d symbols", c->text)
                 : write_textgrid(j->dir, id_of(c), length, tiers, err);
    }
    symbols_close(&s);
    return rc;
}

/* --- all of them --- */

/* In a thread: the TextGrid is written, the rows wait in the slot for their turn. */
static void work_on_clip(void *user, int thread, int slot, uint64_t item)
{
    Job *j = user;
    Slot *s = &j->slots[slot];
    const AlignedClip *c = &j->clips[item];
    buf_clear(&s->rows);
    err_clear(&s->err);
    if (c->durations && write_clip(j, &j->readers[thread], c, &s->rows, &s->err))
        err_prefix(&s->err, "%.*s", (int)id_of(c).n, id_of(c).p);
}

/* In order. The first clip that failed ends the job. */
static int finish_clip(void *user, int slot, uint64_t item, Err *err)
{
    Job *j = user;
    Slot *s = &j->slots[slot];
    progress_add(&j->progress, 1);
    if (s->err.code) {
        *err = s->err;
        return err->code;
    }
    return s->rows.size ? file_writer_write(&j->tsv, s->rows.data, s->rows.size, err) : 0;
}

/* Most of the time goes into decoding the recordings, so that is what the threads do. */
int alignment_write_times(const char *dir, const AlignedClip *clips, uint32_t count, const Config *cfg,
                          Log *log, Err *err)
{
    static const char header[] = "id\tindex\tsymbol\tstart_s\tend_s\tword\n";
    const int threads = thread_cores(), slots = SLOTS_PER_THREAD * threads;
    Job j = {.dir = dir, .clips = clips, .cfg = cfg};
    char *path = file_join(dir, "durations.tsv"), *folder = file_join(dir, "textgrid");
    j.readers = mem_calloc((size_t)threads, sizeof *j.readers);
    j.slots = mem_calloc((size_t)slots, sizeof *j.slots);
    int rc = path && folder && j.readers && j.slots
                 ? 0
                 : err_set(err, ERR_NOMEM, "no memory for %d threads", threads);
    for (int i = 0; i < threads && !rc; i++)
        rc = audio_processor_open(&j.readers[i].processor, cfg, err);
    if (!rc)
        rc = mel_plan_open(&j.mel, cfg, err);
    if (!rc)
        rc = file_make_dirs(folder, err);
    if (!rc)
        rc = file_writer_open(&j.tsv, path, err);
    if (!rc)
        rc = file_writer_write(&j.tsv, header, sizeof header - 1, err);
    if (!rc) {
        OrderedJob job = {"align", count, threads, slots, &j, work_on_clip, finish_clip};
        progress_begin(&j.progress, log, "times", "clips", count);
        rc = ordered_run(&job, err);
        progress_end(&j.progress);
    }
    if (!rc)
        rc = file_writer_commit(&j.tsv, err);
    file_writer_abort(&j.tsv);
    for (int i = 0; i < threads && j.readers; i++) {
        audio_processor_close(j.readers[i].processor);
        audio_buffer_free(&j.readers[i].audio);
        buf_free(&j.readers[i].bytes);
    }
    for (int i = 0; i < slots && j.slots; i++)
        buf_free(&j.slots[i].rows);
    mel_plan_close(j.mel);
    free(j.readers);
    free(j.slots);
    free(path);
    free(folder);
    return rc;
}

/* --- costs --- */

/* The highest first, otherwise in the order of the clips. */
static int compare_costs(const void *a, const void *b)
{
    const AlignedClip *x = *(const AlignedClip *const *)a, *y = *(const AlignedClip *const *)b;
    int order = (x->cost < y->cost) - (x->cost > y->cost);
    return order ? order : (x > y) - (x < y);
}

int alignment_write_costs(const char *dir, const AlignedClip *clips, uint32_t count,
                          const AlignedClip **worst, Err *err)
{
    const AlignedClip **sorted = mem_calloc((size_t)count + 1, sizeof *sorted);
    char *path = file_join(dir, "cost.tsv");
    Buf text = {0};
    uint32_t n = 0;
    int rc = sorted && path ? 0 : err_set(err, ERR_NOMEM, "no memory to sort %u clips", count);
    for (uint32_t i = 0; i < count && !rc; i++)
        if (clips[i].durations)
            sorted[n++] = &clips[i];
    if (n)
        qsort(sorted, n, sizeof *sorted, compare_costs);
    buf_str(&text, "id\tcost\n");
    for (uint32_t i = 0; i < n; i++)
        buf_printf(&text, "%.*s\t%.6f\n", (int)id_of(sorted[i]).n, id_of(sorted[i]).p,
                   (double)sorted[i]->cost);
    if (worst)
        *worst = n ? sorted[0] : NULL;
    if (!rc)
        rc = text.failed ? err_set(err, ERR_NOMEM, "no memory for %s", path)
                         : file_replace(path, text.data, text.size, err);
    buf_free(&text);
    free(sorted);
    free(path);
    return rc;
}
