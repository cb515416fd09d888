/* corpus_doubts.c - see corpus_doubts.h. */
#include "diag/corpus_doubts.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/plural.h"
#include "base/stats.h"
#include "cache/features.h"
#include "dataset/audio_file.h"

#define FEW_CLIPS 20
#define FEW_MINUTES 0.5
#define FEW_TEXTS 10     /* different ones; a corpus of digits has as many */
#define TAKES 4          /* clips for each text that make the few texts the whole corpus */
#define LOUDER 1.386     /* of the log mel: 12 dB */
#define MOST_LOUD 0.1    /* share of the clips: more of them are no outliers */
#define MOST_HEADERS 200 /* recordings whose headers are read */
#define MOST_NAMED 3

/* ---- how much ---- */

static int find_few(Doubt *d, const Corpus *c, const Config *cfg)
{
    double frames = 0;
    for (uint32_t i = 0; i < c->count; i++)
        frames += c->lengths[i].frames;
    const double minutes = frames * cfg->hop_length / cfg->sample_rate / 60;
    const int segments = c->segment_frames > 0;
    if ((segments || c->count >= FEW_CLIPS) && minutes >= FEW_MINUTES)
        return 0;
    snprintf(d->what, sizeof d->what, "%u %s%s to learn from, %.1f minutes of speech, are very few", c->count,
             segments ? "segment" : "clip", plural(c->count), minutes);
    snprintf(d->why, sizeof d->why,
             "from so little a voice learns these sentences, and says others badly or not at all");
    snprintf(d->fix, sizeof d->fix,
             "five minutes, about 100 sentences, make a voice that begins with a base");
    return 1;
}

/* ---- which texts ---- */

static int compare_hashes(const void *a, const void *b) { return memcmp(a, b, sizeof(Hash128)); }

/* Different texts of the corpus, as they are spoken. 0: not known. */
static uint32_t count_texts(const Corpus *c)
{
    Hash128 *all = c->segment_frames ? NULL : mem_calloc(c->count ? c->count : 1, sizeof *all);
    uint32_t n = 0, different = 0;
    for (uint32_t i = 0; all && i < c->count; i++) {
        StoreEntry e;
        TextView v;
        store_entry(&c->text, c->items[i].text_entry, &e);
        if (!text_view(&v, &e))
            all[n++] = hash_bytes(v.tokens, v.token_count * sizeof *v.tokens);
    }
    if (all)
        qsort(all, n, sizeof *all, compare_hashes);
    for (uint32_t i = 0; i < n; i++)
        different += i == 0 || compare_hashes(&all[i - 1], &all[i]) != 0;
    free(all);
    return different;
}

static int find_same_text(Doubt *d, const Corpus *c)
{
    const uint32_t texts = count_texts(c);
    if (!texts || texts >= FEW_TEXTS || c->count < TAKES * texts)
        return 0;
    snprintf(d->what, sizeof d->what, "%u clips have %u text%s between them", c->count, texts, plural(texts));
    snprintf(d->why, sizeof d->why,
             "a voice learns sounds from the words they occur in: it will say %s, and little else",
             texts == 1 ? "this sentence" : "these sentences");
    snprintf(d->fix, sizeof d->fix, "record many different sentences once, rather than one many times");
    return 1;
}

/* ---- how loud ---- */

/* Mean log mel of a clip's loudest band: others may be at the floor. 0: it cannot be read. */
static int level_of(double *out, const Corpus *c, uint32_t item)
{
    StoreEntry e;
    MelView v;
    store_entry(&c->mel, c->items[item].mel_entry, &e);
    if (mel_view(&v, &e) || !v.frames)
        return 0;
    double most = v.sum[0];
    for (uint32_t b = 1; b < v.bands; b++)
        most = v.sum[b] > most ? v.sum[b] : most;
    *out = most / v.frames;
    return 1;
}

/* Where every clip is brought to one loudness there is none. */
static int find_loud(Doubt *d, const Corpus *c, const Config *cfg)
{
    double *levels = c->segment_frames || !c->count ? NULL : mem_calloc(2 * (size_t)c->count, sizeof *levels);
    char names[120] = "";
    size_t n = 0, used = 0, loud = 0;
    double most = 0;
    if (!levels)
        return 0;
    double *sorted = levels + c->count;
    for (uint32_t i = 0; i < c->count; i++)
        if (level_of(&levels[i], c, i))
            sorted[n++] = levels[i];
        else
            levels[i] = -INFINITY;
    const double usual = n ? stats_percentile(sorted, n, 0.5) : 0;
    for (uint32_t i = 0; i < c->count && n; i++) {
        if (levels[i] < usual + LOUDER)
            continue;
        const Str id = c->dataset.utterances[c->items[i].utterance].id;
        most = levels[i] - usual > most ? levels[i] - usual : most;
        if (loud++ < MOST_NAMED && used < sizeof names - 40)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%.*s", used ? ", " : "",
                                     (int)(id.n < 32 ? id.n : 32), id.p);
    }
    free(levels);
    if (!loud || (double)loud > MOST_LOUD * (double)c->count)
        return 0;
    d->key = "enable_loudness_normalization";
    snprintf(d->what, sizeof d->what, "%zu clip%s much louder than the others, by up to %.0f dB: %s%s", loud,
             loud == 1 ? " is" : "s are", most * 20 / 2.302585, names, loud > MOST_NAMED ? ", ..." : "");
    snprintf(d->why, sizeof d->why,
             "they count more than all others in the statistics of the mels, and teach the voice to shout");
    snprintf(d->fix, sizeof d->fix, "%s",
             cfg->enable_loudness_normalization ? "listen to them: they are loud although they were levelled"
                                                : "enable_loudness_normalization: true levels every clip");
    return 1;
}

/* ---- how high ---- */

static int find_narrow(Doubt *d, const Corpus *c, const Config *cfg)
{
    const size_t step = c->count / MOST_HEADERS + 1;
    int looked = 0, narrow = 0, lowest = INT_MAX;
    for (size_t i = 0; i < c->count; i += step) {
        const Utterance *u = &c->dataset.utterances[c->items[i].utterance];
        char path[PATH_MAX], detail[256];
        AudioInfo info;
        if (dataset_audio_path(&c->dataset, u, path, sizeof path, NULL) ||
            audio_probe(&info, path, 0, cfg->max_audio_length, detail, sizeof detail) != REJECT_NONE)
            continue;
        looked++;
        if (info.rate < 2 * cfg->mel_fmax) {
            narrow++;
            lowest = info.rate < lowest ? info.rate : lowest;
        }
    }
    if (!narrow)
        return 0;
    d->key = "sample_rate";
    snprintf(d->what, sizeof d->what,
             "%d of %d recordings that were looked at have %d Hz%s, and this voice hears up to %g Hz", narrow,
             looked, lowest, narrow > 1 ? " or little more" : "", cfg->mel_fmax);
    snprintf(d->why, sizeof d->why,
             "they have no sound above %d Hz: the voice will be as dull as a telephone, and from a mixture "
             "dull at times",
             lowest / 2);
    snprintf(d->fix, sizeof d->fix,
             "record with 22050 Hz or more; or train for what there is: sample_rate: %d, mel_fmax: %d",
             lowest, lowest / 2);
    return 1;
}

int corpus_doubts(Doubt out[DOUBT_COUNT], const Corpus *c, const Config *cfg)
{
    int n = 0;
    for (int kind = 0; kind < DOUBT_COUNT && c->count; kind++) {
        Doubt *d = &out[n];
        *d = (Doubt){.kind = (DoubtKind)kind};
        switch (d->kind) {
        case DOUBT_FEW:
            n += find_few(d, c, cfg);
            break;
        case DOUBT_SAME_TEXT:
            n += find_same_text(d, c);
            break;
        case DOUBT_LOUD:
            n += find_loud(d, c, cfg);
            break;
        case DOUBT_NARROW:
            n += find_narrow(d, c, cfg);
            break;
        case DOUBT_COUNT:
            break;
        }
    }
    return n;
}
