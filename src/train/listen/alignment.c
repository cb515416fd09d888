/* alignment.c - the search of every batch of one pass, cut into clips; clips cut into phones and words. */
#include "train/listen/alignment.h"

#include <stdlib.h>

#include "base/mem.h"
#include "text/phonemes/tokens.h"

/* Host copies of a batch; room for the largest. */
typedef struct Rows {
    int32_t *tokens, *durations;                   /* [rows, text] */
    int32_t *text_length, *mel_length, *utterance; /* [rows] */
    float *cost;                                   /* [rows] */
} Rows;

typedef struct Walk {
    const EvaluateOptions *o;
    AlignmentSink sink;
    void *arg;
    Rows rows;
} Walk;

static void rows_close(Rows *r)
{
    free(r->tokens);
    free(r->durations);
    free(r->text_length);
    free(r->mel_length);
    free(r->utterance);
    free(r->cost);
}

static int rows_open(Rows *r, size_t rows, size_t text, Err *err)
{
    r->tokens = mem_calloc(rows * text, sizeof *r->tokens);
    r->durations = mem_calloc(rows * text, sizeof *r->durations);
    r->text_length = mem_calloc(rows, sizeof *r->text_length);
    r->mel_length = mem_calloc(rows, sizeof *r->mel_length);
    r->utterance = mem_calloc(rows, sizeof *r->utterance);
    r->cost = mem_calloc(rows, sizeof *r->cost);
    if (r->tokens && r->durations && r->text_length && r->mel_length && r->utterance && r->cost)
        return 0;
    return err_set(err, ERR_NOMEM, "no memory for the alignment of %zu clips of %zu symbols", rows, text);
}

/* For bsearch: items are in the order of the dataset's utterances. */
static int compare_item(const void *key, const void *item)
{
    uint32_t a = *(const uint32_t *)key, b = ((const CorpusItem *)item)->utterance;
    return (a > b) - (a < b);
}

/* Items are in the order of the dataset. */
static const CorpusItem *find_item(const Corpus *c, uint32_t utterance)
{
    return bsearch(&utterance, c->items, c->count, sizeof *c->items, compare_item);
}

/* Behind every batch: its rows on the host, each handed to the sink. */
static int take_batch(void *arg, Engine *e, int64_t number, Err *err)
{
    Walk *p = arg;
    Rows *r = &p->rows;
    const DeviceOps *d = p->o->model->ops;
    const BatchLayout *l;
    const BatchInfo *info;
    const uint8_t *batch = engine_batch(e, &l, &info);
    Stream *s = engine_stream(e);
    const size_t rows = (size_t)engine_rows(e), text = (size_t)info->text, word = sizeof(int32_t);
    int rc = d->copy_out(s, r->tokens, batch + l->tokens, rows * text * word, err);
    if (!rc)
        rc = d->copy_out(s, r->text_length, batch + l->text_length, rows * word, err);
    if (!rc)
        rc = d->copy_out(s, r->mel_length, batch + l->mel_length, rows * word, err);
    if (!rc)
        rc = d->copy_out(s, r->utterance, batch + l->utterance, rows * word, err);
    /* Waits, so that the copies before it are there too. */
    if (!rc)
        rc = engine_alignment(e, r->durations, r->cost, err);
    for (size_t i = 0; i < rows && !rc; i++) {
        const CorpusItem *item =
            r->utterance[i] < 0 ? NULL : find_item(p->o->corpus, (uint32_t)r->utterance[i]);
        /* A row that is not used, or was lost. */
        if (!item || !r->mel_length[i])
            continue;
        ClipAlignment clip = {.item = (uint32_t)(item - p->o->corpus->items),
                              .tokens = r->tokens + i * text,
                              .durations = r->durations + i * text,
                              .text = r->text_length[i],
                              .frames = r->mel_length[i],
                              .cost = r->cost[i],
                              .row = (int)i};
        rc = p->sink(p->arg, &clip, err);
    }
    return rc;
}

/* The durations come from the search that validation makes anyway. */
int align_clips(Engine *e, const EvaluateOptions *o, AlignmentSink sink, void *arg, Err *err)
{
    Walk p = {.o = o, .sink = sink, .arg = arg};
    double terms[TERM_COUNT];
    EngineShape largest = corpus_shape(o->cfg, ranks_count(o->ranks), o->corpus, NULL);
    int rc = rows_open(&p.rows, (size_t)engine_rows(e), (size_t)largest.text, err);
    if (!rc)
        rc = evaluate_batches(terms, e, o, take_batch, &p, err);
    rows_close(&p.rows);
    return rc;
}

/* --- times --- */

/* Frame m is centred on sample m hop, so it begins half a hop before; the first and the last frame are cut at
 * the ends of the sound. */
double clip_seconds(const ClipTime *t, int64_t frame)
{
    double at = ((double)frame - 0.5) * t->hop;
    at = at < 0 ? 0 : at > (double)t->samples ? (double)t->samples : at;
    return t->offset + at / t->rate;
}

/* --- what symbols belong together --- */

/* The next symbol that is not a blank; TOKEN_EOS at the end. */
static int32_t behind(const int32_t *tokens, int text, int i)
{
    while (++i < text)
        if (tokens[i] != TOKEN_BLANK)
            return tokens[i];
    return TOKEN_EOS;
}

static int is_apostrophe(int32_t token)
{
    uint32_t code = tokens_code_point(token);
    return code == '\'' || code == 0x2019; /* typewriter's and typographer's */
}

/* A blank goes with what comes before it, so it neither begins nor ends a word. */
int alignment_words(SymbolSpan *out, const int32_t *tokens, int text)
{
    int count = 0, inside = 0;
    for (int i = 0; i < text; i++) {
        if (tokens[i] != TOKEN_BLANK) {
            int letter = tokens_is_letter(tokens[i]);
            if (inside && is_apostrophe(tokens[i]))
                letter = tokens_is_letter(behind(tokens, text, i));
            if (letter && !inside)
                out[count++].from = i;
            inside = letter;
        }
        if (inside)
            out[count - 1].to = i + 1;
    }
    return count;
}

/* Code points of IPA: primary and secondary stress; ties over and under. */
static int is_stress(uint32_t code) { return code == 0x2C8 || code == 0x2CC; }
static int is_tie(uint32_t code) { return code == 0x361 || code == 0x35C; }

/* Signs that say more about the phoneme before them. */
static int is_modifier(uint32_t code)
{
    return (code >= 0x2B0 && code < 0x370 && !is_stress(code)) || code == 0x207F || code == 0x1D5D ||
           code == 0x1DBB;
}

/* A stress or a tie opens a phone that the next letter joins; marks join the letter before them. */
int alignment_phones(SymbolSpan *out, const int32_t *tokens, int text)
{
    int count = 0;
    int open = 0;   /* symbols may still join the last phone */
    int wanted = 0; /* the next letter does: it comes behind a stress or a tie */
    for (int i = 0; i < text; i++) {
        uint32_t code = tokens_code_point(tokens[i]);
        if (tokens[i] != TOKEN_BLANK) {
            int letter = tokens_is_letter(tokens[i]), joins = open && letter && (wanted || is_modifier(code));
            if (letter && !joins)
                out[count++].from = i;
            open = letter;
            wanted = letter && (is_stress(code) || is_tie(code));
        }
        if (open)
            out[count - 1].to = i + 1;
    }
    return count;
}
