/* corpus_doubts.c - see corpus_doubts.h: how much there is, and the texts. The sound is doubts_sound.c's. */
#include "diag/voice/corpus_doubts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/words/words.h"
#include "diag/voice/doubts_private.h"
#include "diag/voice/text_notes.h"

#define FEW_CLIPS 20
#define FEW_MINUTES 0.5
#define BASE_MINUTES 4.5 /* of a voice that begins with a base: five, less the silence at the ends */
#define OWN_MINUTES 30   /* of one that learns a language by itself */
#define FEW_TEXTS 10     /* different ones; a corpus of digits has as many */
#define TAKES 4          /* clips for each text that make the few texts the whole corpus */

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

/* ---- who ---- */

/* A folder of several datasets, or of chapters, looks like one of several people. */
static void judge_folders(Judging *j)
{
    const size_t folders = j->f->dataset->folder_speakers;
    Doubt *d = doubt_begin(j, DOUBT_FOLDERS, 0);
    d->key = "enable_multispeaker";
    if (!folders || config_is_given(j->f->cfg, d->key))
        return;
    say(d->what, sizeof d->what, SAY_FOLDERS_WHAT, folders, folders);
    say(d->why, sizeof d->why, SAY_FOLDERS_WHY);
    say(d->fix, sizeof d->fix, SAY_FOLDERS_FIX);
}

/* ---- how much ---- */

static void judge_amount(Judging *j)
{
    const CorpusFacts *f = j->f;
    const int vocoder = f->cfg->network == NETWORK_VOCODER;
    Doubt *d = doubt_begin(j, DOUBT_FEW, 0);
    if ((!vocoder && f->count < FEW_CLIPS) || f->minutes < FEW_MINUTES) {
        say_count(d->what, sizeof d->what, SAY_FEW_WHAT, f->count, f->count, f->minutes);
        say(d->why, sizeof d->why, SAY_FEW_WHY);
        say(d->fix, sizeof d->fix, SAY_FEW_FIX);
        return;
    }
    if (f->minutes >= OWN_MINUTES || vocoder)
        return;
    d = doubt_begin(j, DOUBT_LITTLE, 0);
    say(d->why, sizeof d->why, SAY_LITTLE_WHY, OWN_MINUTES);
    if (f->minutes < BASE_MINUTES) {
        say(d->what, sizeof d->what, SAY_LITTLE_EVEN, f->minutes);
        say(d->fix, sizeof d->fix, SAY_LITTLE_EVEN_FIX);
    } else {
        say(d->what, sizeof d->what, SAY_LITTLE_ALONE, f->minutes);
        say(d->fix, sizeof d->fix, SAY_LITTLE_ALONE_FIX);
    }
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
    say_count(d->what, sizeof d->what, SAY_REPEATED_WHAT, texts, texts, f->count, different);
    if (both) {
        d->is_finding = 1;
        d->key = "metadata_eval_file";
        say_count(d->why, sizeof d->why, SAY_REPEATED_BOTH, both, both);
        say(d->fix, sizeof d->fix, SAY_REPEATED_BOTH_FIX);
    } else {
        say(d->why, sizeof d->why, SAY_REPEATED_WHY);
        say(d->fix, sizeof d->fix, SAY_REPEATED_FIX);
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
        say_count(d->what, sizeof d->what, SAY_SAME_TEXT_WHAT, different, f->count, different);
        snprintf(d->why, sizeof d->why, "%s",
                 word(different == 1 ? SAY_SAME_TEXT_WHY_ONE : SAY_SAME_TEXT_WHY));
        say(d->fix, sizeof d->fix, SAY_SAME_TEXT_FIX);
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
    say_count(d->what, sizeof d->what, SAY_NOTES_WHAT, d->clips, d->clips, first);
    say(d->why, sizeof d->why, SAY_NOTES_WHY);
    say(d->fix, sizeof d->fix, SAY_NOTES_FIX);
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
        judge_folders(&j);
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
