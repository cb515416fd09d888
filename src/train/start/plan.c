/* plan.c - computes the memory that a run will need before it starts. */
#include <string.h>

#include "base/bytes.h"
#include "model/synthesis.h"
#include "pipeline/policy.h"
#include "pipeline/sampler.h"
#include "text/phonemes/tokens.h"
#include "train/listen/evaluate.h"
#include "train/run_parts.h"

#define LEAST_SAMPLE_TEXT 300 /* there is always room for spoken samples of this many symbols */
#define SAMPLE_STRETCH 2      /* a sample may be longer than the longest clip by this factor */
#define COPY_FRAMES 1024      /* maximum length of a clip that a vocoder copies */
#define REFERENCE_FRAMES 256  /* as voice clips have them */
#define MOST_BATCH 4096       /* of batch_size */
#define SPARE_SHARE 20        /* without a limit, this fraction of a device's memory is left free */
#define MIB 1048576.0

/* Pads as the sampler does: text and frames each to a multiple, at the slowest speed that augmentation may
 * choose. */
EngineShape corpus_shape(const Config *cfg, int ranks, const Corpus *a, const Corpus *b)
{
    EngineShape s = {.rows = policy_shares(policy_global_batch(cfg, ranks), ranks, cfg->batch_size).rows};
    const Corpus *both[] = {a, b};
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; both[k] && i < both[k]->count; i++) {
            s.text = (int)both[k]->lengths[i].tokens > s.text ? (int)both[k]->lengths[i].tokens : s.text;
            s.frames =
                (int)both[k]->lengths[i].frames > s.frames ? (int)both[k]->lengths[i].frames : s.frames;
        }
    s.text = round_to_multiple(s.text, SAMPLER_TEXT_MULTIPLE);
    if (cfg->pad_to_fixed_length && cfg->network != NETWORK_VOCODER)
        s.frames = cfg->max_mel_frames;
    s.frames = (int)policy_stretched_frames(s.frames, cfg->augment_speed, corpus_on_the_fly(a, cfg));
    s.frames = round_to_multiple(s.frames, SAMPLER_FRAME_MULTIPLE);
    return s;
}

SynthesisLimits synthesis_limits(const Config *cfg, const EngineShape *largest)
{
    if (cfg->network == NETWORK_VOCODER)
        return (SynthesisLimits){
            .rows = 1, .frames = cfg->max_mel_frames < COPY_FRAMES ? cfg->max_mel_frames : COPY_FRAMES};
    return (SynthesisLimits){.rows = 1,
                             .text = largest->text > LEAST_SAMPLE_TEXT ? largest->text : LEAST_SAMPLE_TEXT,
                             .frames = SAMPLE_STRETCH * largest->frames,
                             .reference = REFERENCE_FRAMES};
}

/* Validation sees the clips as they are, and takes as little memory as a pipeline can. */
void validation_config(Config *out, const Config *cfg)
{
    *out = *cfg;
    augmentations_turn_off(out);
    out->pipeline_buffer_size = POLICY_START_BUFFERS;
    out->prefetch_buffer_size = POLICY_LEAST_SLOTS;
}

/* The batches of one pipeline, added to those of others. */
static int add_pipeline(TrainPlan *p, const TrainerOptions *o, const Config *cfg, const Corpus *corpus,
                        Err *err)
{
    uint64_t data = 0, model = 0, pinned = 0;
    PipelineOptions po = {.cfg = cfg,
                          .corpus = corpus,
                          .data = o->data,
                          .model = o->model,
                          .start = {.seed = (uint64_t)cfg->seed},
                          .rank = ranks_rank(o->ranks),
                          .ranks = ranks_count(o->ranks)};
    int rc = pipeline_plan(&data, &model, &pinned, &po, err);
    p->pipeline_data += data;
    p->pipeline_model += model;
    p->pinned += pinned;
    return rc;
}

static uint64_t more_of(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* While the training's pipeline waits, clips that were held out go through another, and, for a voice, clips
 * of the training: the larger of the two counts. */
static int add_validation(TrainPlan *p, const TrainerOptions *o, const Config *cfg, Err *err)
{
    TrainPlan held_out = {0}, train = {0};
    int rc = add_pipeline(&held_out, o, cfg, o->validation, err);
    if (!rc && cfg->network == NETWORK_VOICE)
        rc = add_pipeline(&train, o, cfg, o->train, err);
    p->pipeline_data += more_of(held_out.pipeline_data, train.pipeline_data);
    p->pipeline_model += more_of(held_out.pipeline_model, train.pipeline_model);
    p->pinned += more_of(held_out.pinned, train.pinned);
    return rc;
}

/* The number of buffers that fit into the memory left over by everything else; a pipeline starts with
 * POLICY_START_BUFFERS. */
static int most_buffers(const TrainPlan *p, const TrainerOptions *o)
{
    TrainPlan one = {0};
    Err err = {0};
    int most = o->cfg->pipeline_buffer_size;
    Config cfg = *o->cfg;
    if (o->batch > 0)
        cfg.global_batch_size = o->batch;
    if (add_pipeline(&one, o, &cfg, o->train, &err))
        return POLICY_START_BUFFERS;
    int same = device_same(o->data, o->model);
    const uint64_t each[] = {one.pipeline_data / POLICY_START_BUFFERS,
                             one.pipeline_model / POLICY_START_BUFFERS}, /* at most */
        room[] = {p->data_limit - p->data_total,
                  same ? p->data_limit - p->data_total : p->model_limit - p->model_total};
    for (int i = 0; i < 2; i++)
        if (each[i] && room[i] / each[i] < (uint64_t)(most - POLICY_START_BUFFERS))
            most = POLICY_START_BUFFERS + (int)(room[i] / each[i]);
    return most;
}

/* Plans everything for `rows` at once, of a batch of `all` clips over all ranks. */
static int plan_batch(TrainPlan *p, const TrainerOptions *o, int rows, int all, Err *err)
{
    Config cfg = *o->cfg, val;
    cfg.batch_size = rows;
    cfg.global_batch_size = all;
    validation_config(&val, &cfg);
    memset(p, 0, sizeof *p);
    p->shape = corpus_shape(&cfg, ranks_count(o->ranks), o->train, o->validation);
    EngineOptions e = {.cfg = &cfg,
                       .device = o->model,
                       .largest = p->shape,
                       .symbols = tokens_count(),
                       .languages = o->train->languages.count,
                       .training = 1};
    EnginePlan ep;
    int rc = engine_plan(&ep, &e, err);
    if (rc)
        return rc;
    SynthesisLimits limits = synthesis_limits(&cfg, &p->shape);
    p->weights = ep.weights;
    p->activations = ep.activations;
    p->other = ep.total - ep.weights - ep.activations;
    p->parameters = ep.parameters;
    p->synthesis = engine_plan_synthesis(&e, &limits);
    rc = add_pipeline(p, o, &cfg, o->train, err);
    if (!rc && o->validation && o->validation->count)
        rc = add_validation(p, o, &val, err);
    if (rc)
        return rc;
    /* If data and model device are the same, they share its memory. */
    int one = device_same(o->data, o->model);
    p->model_total = ep.total + p->synthesis + p->pipeline_model + (one ? p->pipeline_data : 0);
    p->data_total = one ? p->model_total : p->pipeline_data;
    return 0;
}

/* The memory a device may use: its limit, or nearly all of it. */
static uint64_t limit_of(Device *d)
{
    DeviceMemory m;
    d->ops->memory_info(d, &m);
    uint64_t limit = m.cap ? m.cap : m.total - m.total / SPARE_SHARE;
    return limit > m.used ? limit - m.used : 1;
}

static int fits(const TrainPlan *p)
{
    return p->model_total <= p->model_limit && p->data_total <= p->data_limit;
}

/* The functions that allocate the memory also count it here, so the plan always matches the run. */
int train_plan(TrainPlan *p, const TrainerOptions *o, Err *err)
{
    uint64_t model = limit_of(o->model), data = limit_of(o->data);
    TrainPlan tried;
    /* Finds the largest batch that fits by bisection, because memory grows with the batch. */
    int low = 0, high = MOST_BATCH;
    while (low < high) {
        int middle = (low + high + 1) / 2;
        int rc = plan_batch(&tried, o, middle, middle * ranks_count(o->ranks), err);
        if (rc)
            return rc;
        tried.model_limit = model;
        tried.data_limit = data;
        if (fits(&tried))
            low = middle;
        else
            high = middle - 1;
    }
    const int all = o->batch > 0 ? o->batch : policy_global_batch(o->cfg, ranks_count(o->ranks));
    int rc = plan_batch(p, o, o->cfg->batch_size, all, err);
    p->model_limit = model;
    p->data_limit = data;
    p->largest_batch = low;
    p->buffers = POLICY_START_BUFFERS;
    if (rc)
        return rc;
    if (fits(p)) {
        p->buffers = most_buffers(p, o);
        return 0;
    }
    int on_model = p->model_total > model;
    err_set(err, ERR_CONFIG, "a batch of %d needs %.1f MB on device %s, which has only %.1f MB for it",
            p->shape.rows, (double)(on_model ? p->model_total : p->data_total) / MIB,
            on_model ? o->model->name : o->data->name, (double)(on_model ? model : data) / MIB);
    if (low < 1)
        return err_hint(err, "not even one clip fits: use a smaller %s, or a higher memory limit",
                        o->cfg->network == NETWORK_VOCODER ? "--vocoder-size or --vocoder-segment-frames"
                                                           : "--model-size or --max-mel-frames");
    return err_hint(err, "--batch-size %d --global-batch-size %d fits, with the same result", low, all);
}
