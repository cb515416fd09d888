/* preflight_data.c - the dataset, what is prepared of it, how well its lengths fit the shapes, and whether a
 * batch of it fits the memory. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
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
    return preflight_format(s->p, "myxtts prepare --data-path %.300s%s", s->cfg->data_path,
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
    const Word state = damaged ? SAY_CHECK_DAMAGED : SAY_CHECK_NOT_PREPARED;
    preflight_row(s, AREA_DATA, word(SAY_CHECK_CACHES), word(state), damaged ? STATUS_BAD : STATUS_ACCEPTABLE,
                  probed ? preflight_say_count(p, SAY_CHECK_ESTIMATE, probed,
                                               preflight_bytes(p, s->cache_estimate), probed)
                         : "");
    preflight_finding(s, (Finding){.severity = FINDING_WARNING,
                                   .area = AREA_DATA,
                                   .what = damaged ? preflight_say(p, SAY_CHECK_CACHES_DAMAGED, why->msg)
                                                   : preflight_say(p, SAY_CHECK_CACHES_NOT_READY, why->msg),
                                   .why = word(SAY_CHECK_CACHES_WHY),
                                   .value = word(state),
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
    preflight_row(s, AREA_DATA, word(SAY_CHECK_CACHES),
                  preflight_say_count(p, SAY_CHECK_FRESH, c->dataset.count, (unsigned long long)f.fresh,
                                      c->dataset.count),
                  stale ? STATUS_ACCEPTABLE : STATUS_GOOD,
                  preflight_say(p, SAY_CHECK_FRESH_NOTE,
                                preflight_bytes(p, store_bytes(&c->text) + store_bytes(corpus_store(c))),
                                (unsigned long long)stale, (unsigned long long)f.refused,
                                (unsigned long long)f.no_audio));
    if (stale)
        preflight_finding(
            s, (Finding){.severity = FINDING_WARNING,
                         .area = AREA_DATA,
                         .what = preflight_say(p, SAY_CHECK_STALE, (unsigned long long)f.missing,
                                               (unsigned long long)f.changed_text,
                                               (unsigned long long)f.changed_audio),
                         .why = word(SAY_CHECK_STALE_WHY),
                         .value = preflight_say(p, SAY_CHECK_STALE_VALUE, (unsigned long long)stale),
                         .fix = prepare_command(s)});
    if (f.touched)
        preflight_finding(s, (Finding){.severity = FINDING_NOTE,
                                       .area = AREA_DATA,
                                       .what = preflight_say_count(p, SAY_CHECK_TOUCHED, f.touched,
                                                                   (unsigned long long)f.touched),
                                       .why = preflight_say(p, SAY_CHECK_TOUCHED_WHY),
                                       .value = preflight_format(p, "%llu", (unsigned long long)f.touched)});
    if (f.no_audio)
        preflight_finding(
            s, (Finding){.severity = FINDING_WARNING,
                         .area = AREA_DATA,
                         .what = preflight_say_count(p, SAY_CHECK_SILENT, f.no_audio,
                                                     (unsigned long long)f.no_audio),
                         .why = word(SAY_CHECK_LEFT_OUT),
                         .value = preflight_say(p, SAY_CHECK_PART, (size_t)f.no_audio, c->dataset.count),
                         .fix = preflight_say(p, SAY_CHECK_LIST, s->cfg->data_path)});
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
    preflight_row(s, AREA_SHAPES, word(SAY_PADDING),
                  isnan(share) ? "?" : preflight_say(p, SAY_PERCENT_1, 100 * share), status,
                  now ? preflight_say(p, SAY_CHECK_BUCKETS, now, s->train.count) : word(SAY_CHECK_ONE_SHAPE));
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
                 .what = preflight_say(p, SAY_CHECK_PADDED, 100 * share),
                 .why = word(SAY_CHECK_PADDED_WHY),
                 .value = preflight_say(p, SAY_CHECK_PADDED_VALUE, 100 * share, s->train.count)};
    if (best == now) {
        f.fix = word(SAY_CHECK_PADDED_HOPELESS);
        f.severity = FINDING_NOTE;
    } else if (now) {
        f.set_value = preflight_format(p, "%d", best);
        f.fix = preflight_say(p, SAY_CHECK_PADDED_BUCKETS, best, 100 * best_share);
    } else {
        f.set_value = "false";
        f.fix = preflight_say(p, SAY_CHECK_PADDED_FREE, 100 * best_share, best);
    }
    preflight_finding(s, f);
}

/* Too few clips for a batch, or none to validate with. */
static void check_counts(Survey *s)
{
    Preflight *p = s->p;
    const Config *c = s->cfg;
    const Dataset *d = &s->train.dataset;
    preflight_row(s, AREA_DATA, word(SAY_CHECK_CLIPS),
                  preflight_say(p, SAY_CHECK_SPLIT, s->train.count, s->validation.count),
                  s->train.count ? STATUS_INFO : STATUS_BAD,
                  preflight_say_count(p, SAY_CHECK_SPEAKERS, s->train.speaker_count, s->train.speaker_count));
    p->data_findings += (d->rejected_count + s->train.left_out + s->validation.left_out) > 0;
    if (d->rejected_count)
        preflight_finding(s,
                          (Finding){.severity = FINDING_WARNING,
                                    .area = AREA_DATA,
                                    .what = preflight_say(p, SAY_CHECK_REJECTED, d->rejected_count, d->lines),
                                    .why = word(SAY_CHECK_LEFT_OUT),
                                    .value = preflight_say(p, SAY_CHECK_PART, d->rejected_count, d->lines),
                                    .fix = preflight_say(p, SAY_CHECK_LIST_REASONS, c->data_path)});
    if (s->train.count == 0)
        preflight_finding(s, (Finding){.severity = FINDING_ERROR,
                                       .area = AREA_DATA,
                                       .what = word(SAY_CHECK_NO_CLIPS),
                                       .why = word(SAY_CHECK_NO_CLIPS_WHY),
                                       .value = preflight_say(p, SAY_CHECK_PART, (size_t)0, d->count),
                                       .fix = word(SAY_CHECK_NO_CLIPS_FIX)});
    else if (s->train.count < (uint32_t)policy_global_batch(c, 1))
        preflight_finding(s, (Finding){.severity = FINDING_WARNING,
                                       .area = AREA_DATA,
                                       .key = c->global_batch_size ? "global_batch_size" : "batch_size",
                                       .what = preflight_say(p, SAY_CHECK_BIG_BATCH,
                                                             policy_global_batch(c, 1), s->train.count),
                                       .why = word(SAY_CHECK_BIG_BATCH_WHY),
                                       .set_value = preflight_format(p, "%u", s->train.count)});
    if (s->train.count && s->validation.count == 0)
        preflight_finding(
            s, (Finding){.severity = FINDING_NOTE,
                         .area = AREA_DATA,
                         .key = "val_split",
                         .what = word(SAY_CHECK_NO_VALIDATION),
                         .why = word(SAY_CHECK_NO_VALIDATION_WHY),
                         .fix = c->val_split > 0 ? word(SAY_CHECK_NO_VALIDATION_SHARE) : "val_split: 0.05"});
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
        preflight_finding(s,
                          (Finding){.severity = d->is_finding ? FINDING_WARNING : FINDING_NOTE,
                                    .area = AREA_DATA,
                                    .key = d->key,
                                    .what = preflight_format(p, "%s%s%s", d->what, *worst ? ": " : "", worst),
                                    .why = preflight_keep(p, d->why),
                                    .fix = preflight_keep(p, d->fix)});
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
                                       .what = preflight_keep(p, sentence),
                                       .why = word(SAY_CHECK_LEFT_OUT),
                                       .set_value = much ? preflight_format(p, "%.10g", l->keeps) : NULL});
    }
}

/* No dataset, a dataset that cannot be read, one that is not prepared, or one to look at. */
void preflight_data(Survey *s)
{
    const Config *c = s->cfg;
    Err err = {0};
    if (!c->data_path[0]) {
        preflight_finding(s, (Finding){.severity = FINDING_NOTE,
                                       .area = AREA_DATA,
                                       .key = "data_path",
                                       .what = word(SAY_CHECK_NO_DATASET),
                                       .why = word(SAY_CHECK_NO_DATASET_WHY),
                                       .value = word(SAY_NONE),
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
                                           .what = preflight_keep(s->p, err.msg),
                                           .why = word(SAY_CHECK_SHORT_CLIPS_WHY),
                                           .fix = preflight_keep(s->p, err.hint)});
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
                                       .what = preflight_keep(s->p, why.msg),
                                       .why = word(SAY_CHECK_UNREADABLE_DATASET_WHY),
                                       .fix = preflight_keep(s->p, why.hint)});
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
        preflight_finding(s,
                          (Finding){.severity = FINDING_WARNING,
                                    .area = AREA_MEMORY,
                                    .key = s->cfg->network == NETWORK_VOCODER ? "vocoder_size" : "model_size",
                                    .what = preflight_say_count(p, SAY_CHECK_BIG_NETWORK, s->cores,
                                                                (double)s->plan.parameters * 1e-6, s->cores),
                                    .why = word(SAY_CHECK_BIG_NETWORK_WHY),
                                    .fix = s->cfg->network == NETWORK_VOCODER
                                               ? word(SAY_CHECK_SMALLER_VOCODER)
                                               : preflight_say(p, SAY_CHECK_SMALLER_VOICE)});
    if (policy_global_batch(s->cfg, 1) == 1)
        preflight_finding(s, (Finding){.severity = FINDING_WARNING,
                                       .area = AREA_MEMORY,
                                       .key = "batch_size",
                                       .what = word(SAY_CHECK_SINGLE),
                                       .why = word(SAY_CHECK_SINGLE_WHY),
                                       .fix = word(SAY_CHECK_SINGLE_FIX)});
}

static void host_memory(Survey *s)
{
    Preflight *p = s->p;
    const Config *c = s->cfg;
    uint64_t available = mem_available();
    if (available)
        preflight_row(s, AREA_MEMORY, word(SAY_CHECK_HOST_MEMORY),
                      preflight_say(p, SAY_CHECK_AVAILABLE, preflight_bytes(p, available)), STATUS_INFO,
                      preflight_say(p, SAY_CHECK_FOR_BATCHES, preflight_bytes(p, s->plan.pinned)));
    if (available && s->plan.pinned > available / 2)
        preflight_finding(
            s,
            (Finding){.severity = FINDING_WARNING,
                      .area = AREA_MEMORY,
                      .key = "prefetch_buffer_size",
                      .what = preflight_say(p, SAY_CHECK_PINNED, preflight_bytes(p, s->plan.pinned),
                                            preflight_bytes(p, available)),
                      .why = word(SAY_CHECK_PINNED_WHY),
                      .set_value = c->prefetch_buffer_size == CONFIG_AUTO ? NULL : "auto",
                      .fix = c->prefetch_buffer_size == CONFIG_AUTO ? word(SAY_CHECK_SMALLER_BATCH) : NULL});
}

/* lengths: which clips the plan is made for. */
static void plan_rows(Survey *s, const char *lengths)
{
    Preflight *p = s->p;
    const PreflightOptions *o = s->o;
    preflight_row(s, AREA_MEMORY, preflight_say(p, SAY_CHECK_DEVICE, o->model->name),
                  preflight_say(p, SAY_CHECK_SHARE, preflight_bytes(p, s->plan.model_total),
                                preflight_bytes(p, s->plan.model_limit)),
                  s->plan.model_total > s->plan.model_limit ? STATUS_BAD : STATUS_GOOD, lengths);
    if (!device_same(o->data, o->model))
        preflight_row(s, AREA_MEMORY, preflight_say(p, SAY_CHECK_DEVICE, o->data->name),
                      preflight_say(p, SAY_CHECK_SHARE, preflight_bytes(p, s->plan.data_total),
                                    preflight_bytes(p, s->plan.data_limit)),
                      s->plan.data_total > s->plan.data_limit ? STATUS_BAD : STATUS_GOOD, lengths);
    preflight_row(s, AREA_MEMORY, word(SAY_CHECK_PARAMETERS),
                  preflight_say(p, SAY_CHECK_MILLION, (double)s->plan.parameters * 1e-6), STATUS_INFO, "");
    preflight_row(s, AREA_MEMORY, word(SAY_CHECK_LARGEST_BATCH),
                  preflight_format(p, "%d", s->plan.largest_batch), STATUS_INFO, lengths);
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
    const char *lengths = word(real ? SAY_CHECK_LONGEST_REAL : SAY_CHECK_LONGEST_ALLOWED);
    plan_rows(s, lengths);
    if (rc) {
        int largest = real ? s->plan.largest_batch : 0;
        Finding f = {.severity = real ? FINDING_ERROR : FINDING_NOTE,
                     .area = AREA_MEMORY,
                     .key = "batch_size",
                     .what = preflight_format(p, "%.400s (%s)", err.msg, lengths),
                     .why = word(real ? SAY_CHECK_NO_FIRST_STEP : SAY_CHECK_MAY_NOT_FIT_WHY),
                     .fix = largest > 0 ? NULL : preflight_keep(p, err.hint),
                     .set_value = largest > 0 ? preflight_format(p, "%d", largest) : NULL};
        preflight_finding(s, f);
    }
    host_memory(s);
}
