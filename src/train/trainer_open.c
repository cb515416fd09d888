/* trainer_open.c - the life of a run: what it opens, and in which order. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/thread.h"
#include "text/phonemes/tokens.h"
#include "train/listen/evaluate.h"
#include "train/run_parts.h"
#include "train/step/together.h"

#define MONITOR_SECONDS 0.1 /* between two looks at the GPU */
#define LISTENING_CORES 4   /* one core of this many listens */

/* --- the network and its checkpoints --- */

/* Large enough for the largest batch of both splits: nothing is allocated in a step. */
static int open_network(Trainer *t, Err *err)
{
    EngineOptions e = {.cfg = t->cfg,
                       .device = t->o.model,
                       .largest = t->plan.shape,
                       .symbols = tokens_count(),
                       .languages = t->languages,
                       .training = 1,
                       .ranks = t->o.ranks,
                       .log = t->log};
    return engine_open(&t->engine, &e, err);
}

/* What a checkpoint holds, ready to be filled in. */
static int open_snapshot(Trainer *t, Err *err)
{
    int rc = t->cfg->network == NETWORK_VOICE ? voice_clips_open(&t->clips, t->o.train, err) : 0;
    const CheckpointSource from = {.cfg = t->cfg,
                                   .corpus = t->o.train,
                                   .validation = t->o.validation,
                                   .begun = t->leads && t->begins != BEGINS_NEW ? &t->begun_with : NULL,
                                   .resumed = t->begins == BEGINS_RESUMED};
    return rc ? rc : snapshot_open(&t->snapshot, engine_model(t->engine), &from, &t->clips, t->o.model, err);
}

/* --- logs --- */

/* Both logs are appended to; a resumed run says from which step on the old lines do not count. */
static int open_logs(Trainer *t, Err *err)
{
    char path[CHECKPOINT_PATH_SIZE + 16];
    if (!t->leads)
        return 0;
    snprintf(path, sizeof path, "%s/log.jsonl", t->cfg->checkpoint_dir);
    int rc = run_log_open(&t->run_log, path, err);
    if (!rc)
        rc = run_log_resume(t->run_log, t->state.step, err);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    /* Of a resumed run TensorBoard drops what earlier files have behind its first step. */
    int64_t first = t->state.step ? t->state.step + 1 : 0;
    if (!rc)
        rc = event_log_open(&t->events, t->cfg->checkpoint_dir, (double)now.tv_sec, first, err);
    return rc;
}

/* --- batches --- */

/* The last step by max_steps and epochs, whichever comes first. */
static int64_t last_step(const Trainer *t)
{
    const Config *cfg = t->cfg;
    int64_t batches = sampler_batches(pipeline_sampler(t->pipeline));
    int64_t by_epochs = (int64_t)cfg->epochs * batches / cfg->gradient_accumulation_steps;
    if (cfg->max_steps && cfg->max_steps < by_epochs)
        return cfg->max_steps;
    return by_epochs > 0 ? by_epochs : 1;
}

/* What is not as batch_size alone would have it. */
static void say_shares(const Trainer *t, const Shares *s)
{
    char of_each[48] = "", parts[32] = "";
    if (s->ranks == 1 && s->batch == t->cfg->batch_size)
        return;
    if (s->ranks > 1)
        snprintf(of_each, sizeof of_each, " for each of %d ranks", s->ranks);
    if (s->micro > 1)
        snprintf(parts, sizeof parts, "%d x ", s->micro);
    log_info(t->log, "this run has batches of %d %s: %s%s%d%s", s->batch,
             t->cfg->network == NETWORK_VOCODER ? "segments" : "clips",
             s->batch % (s->ranks * s->micro * s->rows) ? "at most " : "", parts, s->rows, of_each);
}

/* From here on workers load batches, beside all that is still to be opened. */
static int open_pipeline(Trainer *t, Err *err)
{
    t->pipeline_cfg = *t->cfg;
    t->pipeline_cfg.pipeline_buffer_size = t->plan.buffers;
    t->pipeline_cfg.global_batch_size = t->o.batch;
    PipelineOptions o = {.cfg = &t->pipeline_cfg,
                         .corpus = t->o.train,
                         .data = t->o.data,
                         .model = t->o.model,
                         .sim = t->o.sim,
                         .start = t->state.data,
                         .rank = ranks_rank(t->o.ranks),
                         .ranks = ranks_count(t->o.ranks),
                         .log = t->log};
    int rc = pipeline_open(&t->pipeline, &o, err);
    /* With other clips or another batch size than when it was saved the place in the epoch is gone. */
    if (rc == ERR_DATA && o.start.index) {
        log_warn(t->log, "%s; continuing with epoch %lld", err->msg, (long long)o.start.epoch + 1);
        err_clear(err);
        t->state.data.epoch++;
        t->state.data.index = 0;
        o.start = t->state.data;
        rc = pipeline_open(&t->pipeline, &o, err);
    }
    if (rc)
        return rc;
    Shares shares = pipeline_shares(t->pipeline);
    t->each = t->cfg->gradient_accumulation_steps * shares.micro;
    say_shares(t, &shares);
    t->total = last_step(t);
    budget_open(t);
    return step_meter_open(&t->meter, t->o.model, pipeline_counters(t->pipeline), METER_SKIP, err);
}

/* --- those who look and listen --- */

/* Samples and held-out clips are spoken by one synthesiser, on the engine's weights. */
static int open_speech(Trainer *t, Err *err)
{
    const Corpus *validation = t->o.validation;
    SynthesisLimits limits = synthesis_limits(t->cfg, &t->plan.shape);
    int rc = samples_open(t, err);
    if (!rc)
        rc = synthesiser_open(&t->synthesiser, engine_model(t->engine), &limits, err);
    if (!rc)
        rc = synthesiser_set_manner(t->synthesiser, &t->state.manner, err);
    if (!rc && validation && validation->count && t->cfg->listen_clips)
        rc = hearing_open(&t->hearing, t->cfg, validation, t->cfg->listen_clips,
                          thread_cores() / LISTENING_CORES, t->log, err);
    return rc;
}

static int open_listeners(Trainer *t, Err *err)
{
    if (!t->leads)
        return 0;
    int rc = t->cfg->network == NETWORK_VOCODER ? copies_open(t, err) : open_speech(t, err);
    if (!rc)
        rc = monitor_open_devices(&t->monitor, &t->o.model, 1, MONITOR_SECONDS, t->log, err);
    return rc;
}

/* --- opening and closing --- */

/* The plan comes first: a batch that does not fit is refused before anything is taken or written. */
int trainer_open(Trainer **out, const TrainerOptions *o, Err *err)
{
    *out = NULL;
    Trainer *t = mem_calloc(1, sizeof *t);
    if (!t)
        return err_set(err, ERR_NOMEM, "no memory for the trainer");
    t->o = *o;
    t->cfg = o->cfg;
    t->log = o->log;
    t->leads = ranks_rank(o->ranks) == 0;
    t->loss = t->validation = NAN;
    t->train = *o->train;
    t->o.train = &t->train;
    if (o->validation) {
        t->held_out = *o->validation;
        t->o.validation = &t->held_out;
    }
    Err later = {0}; /* what is wrong with a checkpoint is said when it is opened */
    if (!t->o.batch && trainer_check(&t->o.batch, t->cfg, ranks_count(o->ranks), &later))
        log_debug(t->log, "this run's batch: %s", later.msg);
    int rc = 0;
    if (o->plan)
        t->plan = *o->plan;
    else
        rc = train_plan(&t->plan, &t->o, err);
    /* The writer takes a lock on the folder: from here on no other run writes to it. */
    if (!rc && t->leads)
        rc =
            checkpoint_writer_open(&t->writer, t->cfg->checkpoint_dir, t->cfg->keep_checkpoints, t->log, err);
    if (!rc && t->leads)
        rc = beginning_open(t, err);
    if (!rc)
        rc = together_open(t, err);
    /* What the network tells apart follows from what the run begins with. */
    if (!rc)
        rc = open_network(t, err);
    if (!rc)
        rc = open_snapshot(t, err);
    if (!rc && t->leads)
        rc = beginning_load(t, err);
    if (!rc)
        rc = together_load(t, err);
    if (!rc)
        rc = open_logs(t, err);
    if (!rc)
        rc = open_pipeline(t, err);
    if (!rc)
        rc = open_listeners(t, err);
    if (!rc)
        rc = clip_trace_open(t, err);
    if (rc)
        return trainer_close(t) ? ERR_WORKER : rc;
    engine_poison(t->engine, o->poison_from, o->poison_count);
    *out = t;
    return 0;
}

/* The pipeline is stopped first, so that its threads come to an end while the rest is closed; the engine goes
 * after everything that has memory on its stream. */
int trainer_close(Trainer *t)
{
    if (!t)
        return 0;
    if (t->pipeline)
        pipeline_stop(t->pipeline);
    telling_close(t);
    hearing_close(t->hearing);
    monitor_close(t->monitor);
    checkpoint_writer_close(t->writer);
    synthesiser_close(t->synthesiser);
    samples_close(t);
    copies_close(t);
    step_meter_close(&t->meter);
    if (t->engine) {
        Err ignored = {0};
        t->o.model->ops->stream_wait_idle(engine_stream(t->engine), &ignored);
    }
    int stuck = pipeline_close(t->pipeline);
    snapshot_close(&t->snapshot);
    voice_clips_close(&t->clips);
    engine_close(t->engine);
    event_log_close(t->events);
    run_log_close(t->run_log);
    clip_trace_close(t);
    checkpoint_close(&t->begun_with);
    /* A reader that is stuck still looks at our corpora and settings. */
    if (stuck)
        return 1;
    free(t->statistics);
    free(t);
    return 0;
}
