/* other_texts.c - clips with each other's texts: who gets which, and how much worse that fits. */
#include "train/listen/other_texts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "cache/features.h"

typedef struct Text {
    uint64_t hash;
    uint32_t item, tokens;
} Text;

/* By length, then by content, then by item, so that the order is the same everywhere. */
static int compare_texts(const void *a, const void *b)
{
    const Text *x = a, *y = b;
    if (x->tokens != y->tokens)
        return x->tokens > y->tokens ? 1 : -1;
    if (x->hash != y->hash)
        return x->hash > y->hash ? 1 : -1;
    return (x->item > y->item) - (x->item < y->item);
}

/* The texts of all clips, by length and then by content; returns how many. */
static uint32_t list_texts(Text *texts, const Corpus *c)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        StoreEntry e;
        TextView v;
        store_entry(&c->text, c->items[i].text_entry, &e);
        if (text_view(&v, &e) == 0)
            texts[n++] = (Text){hash64(v.tokens, v.token_count * sizeof *v.tokens), i, v.token_count};
    }
    qsort(texts, n, sizeof *texts, compare_texts);
    return n;
}

/* Gives a clip another text, where it fits. 1: it has it now. */
static int takes(OtherTexts *o, const Corpus *c, uint32_t item, const Text *text)
{
    /* Every symbol needs a frame. */
    if (!text || text->tokens > c->lengths[item].frames)
        return 0;
    o->corpus.items[item].text_entry = c->items[text->item].text_entry;
    o->corpus.items[item].language = c->items[text->item].language;
    o->corpus.lengths[item].tokens = text->tokens;
    o->changed[item] = 1;
    return 1;
}

/* In order of length and content, so that clips with the same text stand together: each takes the text behind
 * them, or else the one before. */
static void change(OtherTexts *o, const Corpus *c, const Text *texts, uint32_t n)
{
    for (uint32_t from = 0, end; from < n; from = end) {
        for (end = from + 1; end < n && texts[end].hash == texts[from].hash; end++)
            ;
        const Text *behind = end < n ? &texts[end] : NULL, *before = from ? &texts[from - 1] : NULL;
        for (uint32_t k = from; k < end; k++)
            o->count += (uint32_t)(takes(o, c, texts[k].item, behind) || takes(o, c, texts[k].item, before));
    }
}

/* Only items and lengths are copied; stores and dataset stay those of the corpus. */
int other_texts_open(OtherTexts *o, const Corpus *c, Err *err)
{
    *o = (OtherTexts){.corpus = *c};
    const size_t room = c->count ? c->count : 1;
    Text *texts = mem_calloc(room, sizeof *texts);
    o->corpus.items = mem_calloc(room, sizeof *o->corpus.items);
    o->corpus.lengths = mem_calloc(room, sizeof *o->corpus.lengths);
    o->changed = mem_calloc(room, sizeof *o->changed);
    if (!texts || !o->corpus.items || !o->corpus.lengths || !o->changed) {
        free(texts);
        other_texts_close(o);
        return err_set(err, ERR_NOMEM, "no memory for the texts of %u clips", c->count);
    }
    memcpy(o->corpus.items, c->items, c->count * sizeof *c->items);
    memcpy(o->corpus.lengths, c->lengths, c->count * sizeof *c->lengths);
    change(o, c, texts, list_texts(texts, c));
    free(texts);
    return 0;
}

void other_texts_close(OtherTexts *o)
{
    free(o->corpus.items);
    free(o->corpus.lengths);
    free(o->changed);
    *o = (OtherTexts){0};
}

/* A network that has not learned to align fits any text as well as the right one. */
int evaluate_own_text(double *share, double align, Engine *e, const EvaluateOptions *o, Err *err)
{
    OtherTexts other;
    double terms[TERM_COUNT] = {0};
    EvaluateOptions eo = *o;
    *share = NAN;
    int rc = other_texts_open(&other, o->corpus, err);
    eo.corpus = &other.corpus;
    if (!rc && other.count)
        rc = evaluate_batches(terms, e, &eo, NULL, NULL, err);
    if (!rc && terms[TERM_ALIGN] > 0)
        *share = 1 - align / terms[TERM_ALIGN];
    /* A reader that is stuck may still look at the texts. */
    if (rc != ERR_WORKER)
        other_texts_close(&other);
    return rc;
}
