/* corpus_doubts.c - see corpus_doubts.h: how much there is, and the texts. The sound is doubts_sound.c's. */
#include "diag/voice/corpus_doubts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/plural.h"
#include "diag/voice/doubts_private.h"
#include "diag/voice/text_notes.h"

#define FEW_CLIPS 20
#define FEW_MINUTES 0.5
#define BASE_MINUTES 5 /* of a voice that begins with a base */
#define OWN_MINUTES 30 /* of one that learns a language by itself */
#define FEW_TEXTS 10   /* different ones; a corpus of digits has as many */
#define TAKES 4        /* clips for each text that make the few texts the whole corpus */

static const char *const codes[] = {
#define X(name, code, unit) code,
    DOUBT_KINDS(X)
#undef X
};
static const char *const units[] = {
#define X(name, code, unit) unit,
    DOUBT_KINDS(X)
#undef X
};
const char *doubt_code(DoubtKind kind) { return codes[kind]; }
const char *doubt_unit(DoubtKind kind) { return units[kind]; }

/* ---- lists ---- */

Doubt *doubt_begin(Judging *j, DoubtKind kind, int is_finding)
{
    Doubt *d = &j->d->item[j->d->count];
    if (d->what[0]) { /* the one before is finished */
        j->d->findings += d->is_finding;
        d = &j->d->item[++j->d->count];
    }
    free(d->clip);
    *d = (Doubt){.kind = kind, .is_finding = is_finding};
    return d;
}

void doubt_add(Judging *j, Doubt *d, size_t clip, double value, double order)
{
    size_t cap = d->clips; /* grows by halves, so that a full list is a power of two */
    if ((d->clips & (d->clips - 1)) == 0) {
        DoubtClip *more = realloc(d->clip, (d->clips ? 2 * d->clips : 1) * sizeof *more);
        if (!more) {
            j->failed = 1;
            return;
        }
        d->clip = more;
    }
    d->clip[cap] = (DoubtClip){j->f->clip[clip].utterance, value, order};
    d->clips++;
}

static int compare_clips(const void *a, const void *b)
{
    const DoubtClip *x = a, *y = b;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return (x->utterance > y->utterance) - (x->utterance < y->utterance);
}

/* ---- how much ---- */

static void judge_amount(Judging *j)
{
    const CorpusFacts *f = j->f;
    const int vocoder = f->cfg->network == NETWORK_VOCODER;
    Doubt *d = doubt_begin(j, DOUBT_FEW, 0);
    if ((!vocoder && f->count < FEW_CLIPS) || f->minutes < FEW_MINUTES) {
        snprintf(d->what, sizeof d->what, "%zu clip%s to learn from, %.1f minutes of speech, are very few",
                 f->count, plural(f->count), f->minutes);
        snprintf(d->why, sizeof d->why,
                 "from so little a voice learns these sentences, and says others badly or not at all");
        snprintf(d->fix, sizeof d->fix,
                 "five minutes, about 100 sentences, make a voice that begins with a base");
        return;
    }
    if (f->minutes >= OWN_MINUTES || vocoder)
        return;
    d = doubt_begin(j, DOUBT_LITTLE, 0);
    snprintf(d->what, sizeof d->what, "%.1f minutes of speech are %s", f->minutes,
             f->minutes < BASE_MINUTES
                 ? "little, even for a voice that begins with a base"
                 : "enough to adapt a ready-made voice (a base), too little to learn one from nothing");
    snprintf(d->why, sizeof d->why, "a language is learned from %d minutes or more, better from hours",
             OWN_MINUTES);
    snprintf(d->fix, sizeof d->fix,
             f->minutes < BASE_MINUTES ? "record five minutes, about 100 sentences, or more"
                                       : "`myxtts train DIR --network both --minutes 10` begins with a base "
                                         "by itself; every further minute helps");
}

/* ---- texts ---- */

typedef struct TextOf {
    uint64_t hash;
    uint32_t clip;
} TextOf;

static int compare_texts(const void *a, const void *b)
{
    const TextOf *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->clip > y->clip) - (x->clip < y->clip);
}

/* Takes of one text stand side by side in t. */
static void judge_repeated(Judging *j, const TextOf *t, size_t different)
{
    const CorpusFacts *f = j->f;
    Doubt *d = doubt_begin(j, DOUBT_REPEATED, 0);
    size_t texts = 0, both = 0;
    for (size_t i = 0, n; i < f->count; i += n) {
        int train = 0, held = 0;
        for (n = 0; i + n < f->count && t[i + n].hash == t[i].hash; n++) {
            const int split = f->dataset->utterances[f->clip[t[i + n].clip].utterance].split;
            train += split == SPLIT_TRAIN;
            held += split == SPLIT_VAL;
        }
        if (n < 2)
            continue;
        texts++;
        both += train && held;
        doubt_add(j, d, t[i].clip, (double)n, -(double)n);
    }
    if (!texts)
        return;
    snprintf(d->what, sizeof d->what, "%zu sentence%s recorded more than once: %zu clips have %zu texts",
             texts, texts == 1 ? " is" : "s are", f->count, different);
    if (both) {
        d->is_finding = 1;
        d->key = "metadata_eval_file";
        snprintf(d->why, sizeof d->why,
                 "%zu of them %s in both metadata files: validation hears what was learned", both,
                 both == 1 ? "is" : "are");
        snprintf(d->fix, sizeof d->fix, "without metadata_eval_file all takes of a text are on one side");
    } else {
        snprintf(
            d->why, sizeof d->why,
            "no harm, as all takes of a text are on one side of the split; other sentences would teach more");
        snprintf(d->fix, sizeof d->fix, "keep the best take of each, if some are spoiled");
    }
}

static void judge_texts(Judging *j)
{
    const CorpusFacts *f = j->f;
    TextOf *t = mem_calloc(f->count + 1, sizeof *t);
    size_t different = 0;
    if (!t) {
        j->failed = 1;
        return;
    }
    for (size_t i = 0; i < f->count; i++)
        t[i] = (TextOf){f->clip[i].text_hash, (uint32_t)i};
    qsort(t, f->count, sizeof *t, compare_texts);
    for (size_t i = 0; i < f->count; i++)
        different += i == 0 || t[i - 1].hash != t[i].hash;
    if (f->cfg->network != NETWORK_VOCODER && different < FEW_TEXTS && f->count >= TAKES * different) {
        Doubt *d = doubt_begin(j, DOUBT_SAME_TEXT, 0);
        snprintf(d->what, sizeof d->what, "%zu clips have %zu text%s between them", f->count, different,
                 plural(different));
        snprintf(d->why, sizeof d->why,
                 "a voice learns sounds from the words they occur in: it will say %s, and little else",
                 different == 1 ? "this sentence" : "these sentences");
        snprintf(d->fix, sizeof d->fix, "record many different sentences once, rather than one many times");
    } else
        judge_repeated(j, t, different);
    free(t);
}

static void judge_notes(Judging *j)
{
    const CorpusFacts *f = j->f;
    Doubt *d = doubt_begin(j, DOUBT_NOTES, 1);
    char first[64] = "";
    for (size_t i = 0; i < f->count; i++) {
        if (!f->clip[i].has_note)
            continue;
        if (!d->clips)
            text_find_note(first, sizeof first, f->dataset->utterances[f->clip[i].utterance].text);
        doubt_add(j, d, i, NAN, (double)i);
    }
    if (!d->clips)
        return;
    snprintf(d->what, sizeof d->what, "%zu text%s notes, addresses or symbols that are hardly read out: %s%s",
             d->clips, d->clips == 1 ? " has" : "s have", first, d->clips > 1 ? ", ..." : "");
    snprintf(d->why, sizeof d->why, "the voice learns to say something else for them, or nothing");
    snprintf(d->fix, sizeof d->fix,
             "write what is said, word for word; take clips with laughter or noise out");
}

/* ---- all ---- */

int corpus_doubts(Doubts *d, const CorpusFacts *f, Err *err)
{
    *d = (Doubts){.noise_db = NAN,
                  .speech_db = NAN,
                  .above_noise_db = NAN,
                  .bandwidth_hz = NAN,
                  .rate = NAN,
                  .trimmed_share = NAN};
    Judging j = {.d = d, .f = f, .values = mem_calloc(f->count + 1, sizeof *j.values)};
    j.is_odd = mem_calloc(f->count + 1, 1);
    j.failed = !j.values || !j.is_odd;
    if (!j.failed && f->count) {
        judge_amount(&j);
        judge_texts(&j);
        judge_notes(&j);
        judge_sound(&j);
        doubt_begin(&j, DOUBT_COUNT, 0); /* counts the last one */
    }
    for (int i = 0; i < d->count; i++)
        if (d->item[i].clips)
            qsort(d->item[i].clip, d->item[i].clips, sizeof *d->item[i].clip, compare_clips);
    free(j.values);
    free(j.is_odd);
    if (!j.failed)
        return 0;
    corpus_doubts_close(d);
    return err_set(err, ERR_NOMEM, "no memory for the findings of %zu clips", f->count);
}

void corpus_doubts_close(Doubts *d)
{
    for (int i = 0; i <= DOUBT_COUNT; i++)
        free(d->item[i].clip);
    *d = (Doubts){0};
}
