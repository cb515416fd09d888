/* preflight_data.c - the dataset, what is prepared of it, how well its lengths fit the shapes, and whether a
 * batch of it fits the memory. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/plural.h"
#include "cache/accept.h"
#include "cache/features.h"
#include "cache/prepare.h"
#include "dataset/audio_file.h"
#include "diag/preflight/preflight_private.h"
#include "diag/voice/corpus_report.h"
#include "pipeline/policy.h"
#include "pipeline/sampler.h"
#include "text/text.h"

#define MOST_ON_A_CORE 2.5e6 /* parameters that a core can train in hours */
#define SMALLEST 5e6         /* parameters: there is no smaller network */
#define MOST_PROBES 200      /* audio headers looked at to estimate what a cache will take */

/* ---- not prepared yet ---- */

/* Bytes of caches for the dataset, from the headers of some clips, evenly spread. */
static uint64_t estimate_cache(const Survey *s, const Dataset *d, int *probed)
{
    const Config *c = s->cfg;
    double seconds = 0;
    size_t step = d->count / MOST_PROBES + 1;
    *probed = 0;
    for (size_t i = 0; i < d->count; i += step) {
        char path[PATH_MAX], detail[256];
        AudioInfo info;
        if (dataset_audio_path(d, &d->utterances[i], path, sizeof path, NULL) == 0 &&
            audio_probe(&info, path, c->min_audio_length, c->max_audio_length, detail, sizeof detail) ==
                REJECT_NONE &&
            info.rate > 0) {
            seconds += (double)info.frames / info.rate;
            ++*probed;
        }
    }
    if (!*probed)
        return 0;
    /* Mean length times the number of clips; a kilobyte each for ids and sums. */
    double samples = seconds / *probed * (double)d->count * c->sample_rate, frames = samples / c->hop_length;
    if (c->network == NETWORK_VOCODER)
        return (uint64_t)(samples * sizeof(int16_t)) + (uint64_t)d->count * 1024;
    double per_frame = c->n_mels * (c->mel_storage == STORE_FLOAT16 ? 2.0 : 4.0) + sizeof(float);
    return (uint64_t)(frames * per_frame) + (uint64_t)d->count * (1024 + 16 * (uint64_t)c->n_mels);
}

static const char *prepare_command(const Survey *s)
{
    return preflight_say(s->p, "myxtts prepare --data-path %.300s%s", s->cfg->data_path,
                         s->cfg->network == NETWORK_VOCODER ? " --stages audio" : "");
}

/* No caches, or damaged ones: say so and estimate what they will take. */
static void not_prepared(Survey *s, const Err *why)
{
    Preflight *p = s->p;
    Dataset d;
    Err err = {0};
    int probed = 0, damaged = why->code == ERR_DAMAGED || why->code == ERR_FORMAT;
    if (dataset_open(&d, s->cfg, &err) == 0) {
        s->cache_estimate = estimate_cache(s, &d, &probed);
        dataset_close(&d);
    }
    preflight_row(s, AREA_DATA, "caches", damaged ? "damaged" : "not prepared",
                  damaged ? STATUS_BAD : STATUS_ACCEPTABLE,
                  probed
                      ? preflight_say(p, "about %s, from the headers of %d clip%s",
                                      preflight_bytes(p, s->cache_estimate), probed, plural((uint64_t)probed))
                      : "");
    preflight_finding(
        s, (Finding){.severity = FINDING_WARNING,
                     .area = AREA_DATA,
                     .what = preflight_say(p, "the caches %s: %.500s",
                                           damaged ? "are damaged" : "are not ready", why->msg),
                     .why = "padding and the memory plan cannot be measured without the caches; training "
                            "builds them first, which takes its time",
                     .value = damaged ? "damaged" : "not prepared",
                     .fix = prepare_command(s)});
}

/* ---- prepared ---- */

/* How the caches stand to the dataset as it is now. */
typedef struct Freshness {
    uint64_t fresh, refused, missing, changed_text, changed_audio, no_audio;
    uint64_t touched; /* of these: recordings with another date and the size that they had, as after a copy */
} Freshness;

/* The text of a clip whose recording is fresh. */
static void look_at_text(Freshness *f, const Corpus *c, Hash128 settings, const Utterance *u)
{
    StoreEntry text;
    int64_t t = store_find(&c->text, u->id.p, u->id.n);
    if (t < 0) {
        f->missing++;
        return;
    }
    store_entry(&c->text, (uint64_t)t, &text);
    if (!hash_equal(text.key, text_key(settings, u)))
        f->changed_text++;
    else if (text.status)
        f->refused++;
    else
        f->fresh++;
}

/* As the builder would decide, without reading any audio. A vocoder needs no text. */
static void look(Freshness *f, const Corpus *c, const Config *cfg)
{
    const int segments = c->segment_frames > 0;
    Hash128 settings = {0};
    if (!segments)
        settings = text_settings_hash(cfg);
    for (size_t i = 0; i < c->dataset.count; i++) {
        const Utterance *u = &c->dataset.utterances[i];
        int64_t at = store_find(corpus_store(c), u->id.p, u->id.n);
        StoreEntry sound;
        FileStamp now;
        char path[PATH_MAX];
        if (dataset_audio_stamp(&c->dataset, u, path, sizeof path, &now, NULL)) {
            f->no_audio++;
            continue;
        }
        if (at < 0) {
            f->missing++;
            continue;
        }
        store_entry(corpus_store(c), (uint64_t)at, &sound);
        f->touched += sound.stamp.size == now.size && memcmp(&sound.stamp, &now, sizeof now) != 0;
        if (sound.stamp.size != now.size)
            f->changed_audio++;
        else if (sound.status)
            f->refused++;
        else if (segments)
            f->fresh++;
        else
            look_at_text(f, c, settings, u);
    }
}

/* Stale entries are no danger, only time: training rebuilds them first. */
static void check_caches(Survey *s)
{
    Preflight *p = s->p;
    const Corpus *c = &s->train;
    Freshness f = {0};
    look(&f, c, s->cfg);
    uint64_t stale = f.missing + f.changed_text + f.changed_audio;
    s->segments = (uint64_t)c->text.segment_count + corpus_store(c)->segment_count;
    preflight_row(s, AREA_DATA, "caches",
                  preflight_say(p, "%llu of %zu clip%s", (unsigned long long)f.fresh, c->dataset.count,
                                plural(c->dataset.count)),
                  stale ? STATUS_ACCEPTABLE : STATUS_GOOD,
                  preflight_say(p, "%s; %llu new or changed, %llu refused, %llu without audio",
                                preflight_bytes(p, store_bytes(&c->text) + store_bytes(corpus_store(c))),
                                (unsigned long long)stale, (unsigned long long)f.refused,
                                (unsigned long long)f.no_audio));
    if (stale)
        preflight_finding(
            s, (Finding){
                   .severity = FINDING_WARNING,
                   .area = AREA_DATA,
                   .what = preflight_say(
                       p, "the caches are stale: new clips %llu, changed texts %llu, changed recordings %llu",
                       (unsigned long long)f.missing, (unsigned long long)f.changed_text,
                       (unsigned long long)f.changed_audio),
                   .why = "training builds them anew before its first step; nothing stale is used",
                   .value = preflight_say(p, "%llu stale", (unsigned long long)stale),
                   .fix = prepare_command(s)});
    if (f.touched)
        preflight_finding(
            s, (Finding){.severity = FINDING_NOTE,
                         .area = AREA_DATA,
                         .what = preflight_say(p, "%llu recording%s with another date than when %s prepared",
                                               (unsigned long long)f.touched, plural(f.touched),
                                               f.touched == 1 ? "it was" : "they were"),
                         .why = "a copy has that; prepare and train read them once, and make anew only what "
                                "has changed",
                         .value = preflight_say(p, "%llu", (unsigned long long)f.touched)});
    if (f.no_audio)
        preflight_finding(
            s, (Finding){
                   .severity = FINDING_WARNING,
                   .area = AREA_DATA,
                   .what = preflight_say(p, "%llu line%s of the metadata without a recording",
                                         (unsigned long long)f.no_audio, plural(f.no_audio)),
                   .why = "they are left out of the training",
                   .value = preflight_say(p, "%llu of %zu", (unsigned long long)f.no_audio, c->dataset.count),
                   .fix = preflight_say(p, "myxtts info --data-path %.300s lists them", s->cfg->data_path)});
}

/* Share of padding for a number of buckets; 0: the fixed shape. NaN when it cannot be told. */
static double padding(const Survey *s, int buckets)
{
    const Config *c = s->cfg;
    Sampler *sampler = NULL;
    SamplerOptions o = {.batch_size = policy_global_batch(c, 1),
                        .buckets = buckets,
                        .frame_multiple = SAMPLER_FRAME_MULTIPLE,
                        .seed = (uint64_t)c->seed};
    if (buckets == 0)
        o.fixed_frames = c->max_mel_frames;
    if (sampler_open(&sampler, &o, s->train.lengths, s->train.count, NULL))
        return NAN;
    double share = sampler_padding(sampler);
    sampler_close(sampler);
    return share;
}

/* Padding is measured with the sampler itself; other numbers of buckets are tried where it is bad. */
static void check_padding(Survey *s)
{
    Preflight *p = s->p;
    const Config *c = s->cfg;
    int now = c->pad_to_fixed_length ? 0 : c->length_buckets, best = now;
    double share = padding(s, now), best_share = share;
    Status status = threshold_judge(LIMIT_PADDING, share);
    preflight_row(s, AREA_SHAPES, "padding", isnan(share) ? "?" : preflight_say(p, "%.1f %%", 100 * share),
                  status,
                  now ? preflight_say(p, "%d length bucket%s, %u clip%s", now, plural((uint64_t)now),
                                      s->train.count, plural(s->train.count))
                      : "one fixed shape for every batch");
    if (status != STATUS_BAD)
        return;
    /* More buckets pad less, up to a point: batches of one bucket must still fill. */
    static const int tries[] = {8, 16, 32, 64};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        if (tries[i] <= now || threshold_judge(LIMIT_PADDING, best_share) == STATUS_GOOD)
            continue;
        double other = padding(s, tries[i]);
        if (other < best_share - 0.005) {
            best = tries[i];
            best_share = other;
        }
    }
    Finding f = {.severity = FINDING_WARNING,
                 .area = AREA_SHAPES,
                 .key = now ? "length_buckets" : "pad_to_fixed_length",
                 .what = preflight_say(p, "%.0f %% of the frames of a batch are padding", 100 * share),
                 .why = "the device computes them and throws them away",
                 .value = preflight_say(p, "%.1f %% measured over %u clips", 100 * share, s->train.count)};
    if (best == now) {
        f.fix = "no number of buckets does better on these lengths; a larger dataset or a smaller batch_size "
                "does";
        f.severity = FINDING_NOTE;
    } else if (now) {
        f.set_value = preflight_say(p, "%d", best);
        f.fix = preflight_say(p, "length_buckets: %d (%.1f %% measured)", best, 100 * best_share);
    } else {
        f.set_value = "false";
        f.fix = preflight_say(p, "pad_to_fixed_length: false (%.1f %% measured with %d buckets)",
                              100 * best_share, best);
    }
    preflight_finding(s, f);
}

/* Too few clips for a batch, or none to validate with. */
static void check_counts(Survey *s)
{
    Preflight *p = s->p;
    const Config *c = s->cfg;
    const Dataset *d = &s->train.dataset;
    preflight_row(
        s, AREA_DATA, "clips",
        preflight_say(p, "%u to train, %u to validate", s->train.count, s->validation.count),
        s->train.count ? STATUS_INFO : STATUS_BAD,
        preflight_say(p, "%d speaker%s", s->train.speaker_count, plural((uint64_t)s->train.speaker_count)));
    p->data_findings += (d->rejected_count + s->train.left_out + s->validation.left_out) > 0;
    if (d->rejected_count)
        preflight_finding(
            s,
            (Finding){.severity = FINDING_WARNING,
                      .area = AREA_DATA,
                      .what = preflight_say(p, "%zu of %zu lines of the metadata cannot be used",
                                            d->rejected_count, d->lines),
                      .why = "they are left out of the training",
                      .value = preflight_say(p, "%zu of %zu", d->rejected_count, d->lines),
                      .fix = preflight_say(p, "myxtts info --data-path %.300s lists them with their reasons",
                                           c->data_path)});
    if (s->train.count == 0)
        preflight_finding(
            s, (Finding){.severity = FINDING_ERROR,
                         .area = AREA_DATA,
                         .what = "no clip is left to train on",
                         .why = "every line is refused, over a limit of length, or held out for validation",
                         .value = preflight_say(p, "0 of %zu", d->count),
                         .fix = "see rejected.tsv beside the caches"});
    else if (s->train.count < (uint32_t)policy_global_batch(c, 1))
        preflight_finding(
            s, (Finding){.severity = FINDING_WARNING,
                         .area = AREA_DATA,
                         .key = c->global_batch_size ? "global_batch_size" : "batch_size",
                         .what = preflight_say(p, "a batch of %d is more than the %u clips there are",
                                               policy_global_batch(c, 1), s->train.count),
                         .why = "every batch has empty rows that are computed all the same",
                         .set_value = preflight_say(p, "%u", s->train.count)});
    if (s->train.count && s->validation.count == 0)
        preflight_finding(s,
                          (Finding){.severity = FINDING_NOTE,
                                    .area = AREA_DATA,
                                    .key = "val_split",
                                    .what = "no clip is held out for validation",
                                    .why = "without one nobody sees when the voice stops getting better",
                                    .fix = c->val_split > 0 ? "a larger val_split, or more clips: of so few "
                                                              "this share drew none"
                                                            : "val_split: 0.05"});
}

/* What training would not stumble over. */
static void check_speech(Survey *s)
{
    Preflight *p = s->p;
    CorpusCheck check;
    Err err;
    if (corpus_check_open(&check, s->cfg, &s->train.dataset, NULL, 0, &err)) {
        p->failed = 1;
        return;
    }
    for (int i = 0; i < check.doubts.count; i++) {
        const Doubt *d = &check.doubts.item[i];
        char worst[400];
        corpus_check_worst(&check, d, worst, sizeof worst);
        preflight_finding(s, (Finding){.severity = d->is_finding ? FINDING_WARNING : FINDING_NOTE,
                                       .area = AREA_DATA,
                                       .key = d->key,
                                       .what = preflight_say(p, "%s%s%s", d->what, *worst ? ": " : "", worst),
                                       .why = preflight_say(p, "%s", d->why),
                                       .fix = preflight_say(p, "%s", d->fix)});
    }
    p->data_findings += check.doubts.findings;
    corpus_check_close(&check);
}

/* A limit that costs many clips was mostly meant to be another; --fix takes the one that keeps them. */
static void check_limits(Survey *s, const Dataset *d, const Corpus *c)
{
    Preflight *p = s->p;
    LimitsInput in = {.cfg = s->cfg, .dataset = d, .most_headers = MOST_PROBES};
    if (c) {
        in.mel = &c->mel;
        in.audio = &c->audio;
    }
    if (limits_measure(&p->limits, &in, NULL)) {
        p->failed = 1;
        return;
    }
    for (int i = 0; i < LIMITS_COUNT; i++) {
        const LimitCost *l = &p->limits.limit[i];
        char sentence[200];
        if (!*limit_sentence(l, sentence, sizeof sentence))
            continue;
        int much = limit_costs_much(l);
        p->data_findings++;
        preflight_finding(s, (Finding){.severity = much ? FINDING_WARNING : FINDING_NOTE,
                                       .area = AREA_DATA,
                                       .key = l->key,
                                       .what = preflight_say(p, "%s", sentence),
                                       .why = "they are left out of the training",
                                       .set_value = much ? preflight_say(p, "%.10g", l->keeps) : NULL});
    }
}

/* No dataset, a dataset that cannot be read, one that is not prepared, or one to look at. */
void preflight_data(Survey *s)
{
    const Config *c = s->cfg;
    Err err = {0};
    if (!c->data_path[0]) {
        preflight_finding(
            s,
            (Finding){
                .severity = FINDING_NOTE,
                .area = AREA_DATA,
                .key = "data_path",
                .what = "not measured: caches, padding, and room for the caches, because no dataset is named",
                .why = "these checks look at the real clips",
                .value = "none",
                .fix = "--data-path DIR"});
        return;
    }
    int rc = corpus_source_open(&s->source, c, NULL, &err);
    if (!rc)
        rc = corpus_open_split(&s->train, s->source, c, SPLIT_TRAIN, NULL, &err);
    if (!rc)
        rc = corpus_open_validation(&s->validation, s->source, c, NULL, &err);
    if (rc) {
        corpus_close(&s->train);
        corpus_source_close(s->source);
        s->source = NULL;
        if (c->network == NETWORK_VOCODER && rc == ERR_DATA) {
            preflight_finding(s, (Finding){.severity = FINDING_ERROR,
                                           .area = AREA_DATA,
                                           .key = "vocoder_segment_frames",
                                           .what = preflight_say(s->p, "%.500s", err.msg),
                                           .why = "a vocoder would learn mostly silence",
                                           .fix = preflight_say(s->p, "%.300s", err.hint)});
            return;
        }
        Dataset d;
        Err why = {0};
        if (dataset_open(&d, c, &why) == 0) {
            not_prepared(s, &err);
            check_limits(s, &d, NULL);
            dataset_close(&d);
            return;
        }
        preflight_finding(s, (Finding){.severity = FINDING_ERROR,
                                       .area = AREA_DATA,
                                       .key = "data_path",
                                       .what = preflight_say(s->p, "%.500s", why.msg),
                                       .why = "there is nothing to train on",
                                       .fix = preflight_say(s->p, "%.300s", why.hint)});
        return;
    }
    s->has_corpus = 1;
    check_caches(s);
    check_counts(s);
    check_speech(s);
    check_limits(s, &s->train.dataset, &s->train);
    if (s->train.count && !s->train.segment_frames) /* all segments have one length */
        check_padding(s);
}

/* ---- memory ---- */

/* A network that takes days where it was asked to train, and batches that teach little. */
static void check_size(Survey *s)
{
    Preflight *p = s->p;
    const double each = (double)s->plan.parameters / s->cores;
    if (s->o->model->traits.host_memory && each > MOST_ON_A_CORE && (double)s->plan.parameters > SMALLEST)
        preflight_finding(
            s, (Finding){.severity = FINDING_WARNING,
                         .area = AREA_MEMORY,
                         .key = s->cfg->network == NETWORK_VOCODER ? "vocoder_size" : "model_size",
                         .what = preflight_say(p, "%.1f million parameters on %d core%s without a GPU",
                                               (double)s->plan.parameters * 1e-6, s->cores,
                                               plural((uint64_t)s->cores)),
                         .why = "a step takes seconds, and a voice some thousand steps",
                         .fix = s->cfg->network == NETWORK_VOCODER ? "a smaller vocoder_size, or a GPU"
                                                                   : "model_size: nano, or a GPU"});
    if (policy_global_batch(s->cfg, 1) == 1)
        preflight_finding(s,
                          (Finding){.severity = FINDING_WARNING,
                                    .area = AREA_MEMORY,
                                    .key = "batch_size",
                                    .what = "batches of one clip",
                                    .why = "each step follows one clip alone: the loss jumps, and learning "
                                           "takes longer than with a few at a time",
                                    .fix = "batch_size: 8 or more; what does not fit at once is learned in "
                                           "parts (global_batch_size)"});
}

static void host_memory(Survey *s)
{
    Preflight *p = s->p;
    const Config *c = s->cfg;
    uint64_t available = mem_available();
    if (available)
        preflight_row(s, AREA_MEMORY, "host memory",
                      preflight_say(p, "%s available", preflight_bytes(p, available)), STATUS_INFO,
                      preflight_say(p, "%s for batches", preflight_bytes(p, s->plan.pinned)));
    if (available && s->plan.pinned > available / 2)
        preflight_finding(
            s,
            (Finding){
                .severity = FINDING_WARNING,
                .area = AREA_MEMORY,
                .key = "prefetch_buffer_size",
                .what = preflight_say(p, "batches in host memory take %s of the %s that are available",
                                      preflight_bytes(p, s->plan.pinned), preflight_bytes(p, available)),
                .why =
                    "page-locked memory cannot be swapped out, and the page cache of the dataset has no room",
                .set_value = c->prefetch_buffer_size == CONFIG_AUTO ? NULL : "auto",
                .fix = c->prefetch_buffer_size == CONFIG_AUTO ? "a smaller batch_size" : NULL});
}

/* lengths: which clips the plan is made for. */
static void plan_rows(Survey *s, const char *lengths)
{
    Preflight *p = s->p;
    const PreflightOptions *o = s->o;
    preflight_row(s, AREA_MEMORY, preflight_say(p, "device %s", o->model->name),
                  preflight_say(p, "%s of %s", preflight_bytes(p, s->plan.model_total),
                                preflight_bytes(p, s->plan.model_limit)),
                  s->plan.model_total > s->plan.model_limit ? STATUS_BAD : STATUS_GOOD, lengths);
    if (!device_same(o->data, o->model))
        preflight_row(s, AREA_MEMORY, preflight_say(p, "device %s", o->data->name),
                      preflight_say(p, "%s of %s", preflight_bytes(p, s->plan.data_total),
                                    preflight_bytes(p, s->plan.data_limit)),
                      s->plan.data_total > s->plan.data_limit ? STATUS_BAD : STATUS_GOOD, lengths);
    preflight_row(s, AREA_MEMORY, "parameters",
                  preflight_say(p, "%.2f million", (double)s->plan.parameters * 1e-6), STATUS_INFO, "");
    preflight_row(s, AREA_MEMORY, "largest batch", preflight_say(p, "%d", s->plan.largest_batch), STATUS_INFO,
                  lengths);
    check_size(s);
}

/* The plan of train_plan, for the real clips or for the longest that the limits allow. */
void preflight_memory(Survey *s)
{
    Preflight *p = s->p;
    const Config *c = s->cfg;
    const PreflightOptions *o = s->o;
    if (!o->data || !o->model)
        return;
    /* Without a prepared dataset the plan is made for the longest clip that is allowed. */
    SampleLength longest = {(uint32_t)text_likely_tokens(c, c->max_text_length), (uint32_t)c->max_mel_frames};
    if (!accept_fits(longest.tokens, longest.frames)) /* a longer text would have no clip */
        longest.tokens = longest.frames;
    Corpus assumed = {.count = 1, .lengths = &longest}, none = {0};
    if (c->network == NETWORK_VOCODER) {
        assumed.segment_frames = c->vocoder_segment_frames;
        longest = (SampleLength){0, (uint32_t)c->vocoder_segment_frames};
    }
    int real = s->has_corpus && s->train.count > 0;
    TrainerOptions t = {.cfg = c,
                        .data = o->data,
                        .model = o->model,
                        .sim = o->sim,
                        .train = real ? &s->train : &assumed,
                        .validation = real ? &s->validation : &none,
                        .log = NULL};
    Err err = {0};
    int rc = train_plan(&s->plan, &t, &err);
    if (!s->plan.parameters)
        return;
    const char *lengths =
        real ? "with the longest clip of the dataset" : "with the longest clip that the limits allow";
    plan_rows(s, lengths);
    if (rc) {
        int largest = real ? s->plan.largest_batch : 0;
        Finding f = {.severity = real ? FINDING_ERROR : FINDING_NOTE,
                     .area = AREA_MEMORY,
                     .key = "batch_size",
                     .what = preflight_say(p, "%.400s (%s)", err.msg, lengths),
                     .why = real ? "the run would end before its first step"
                                 : "whether it fits depends on the clips of the dataset",
                     .fix = largest > 0 ? NULL : preflight_say(p, "%.300s", err.hint),
                     .set_value = largest > 0 ? preflight_say(p, "%d", largest) : NULL};
        preflight_finding(s, f);
    }
    host_memory(s);
}
