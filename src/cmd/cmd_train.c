/* cmd_train.c - myxtts train: a dataset folder -> a voice. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/plural.h"
#include "base/progress.h"
#include "base/signals.h"
#include "base/words/words.h"
#include "cmd/cmd.h"
#include "cmd/line/format.h"
#include "cmd/line/join.h"
#include "cmd/line/options.h"
#include "cmd/line/output.h"
#include "cmd/work/after_training.h"
#include "cmd/work/from_voice.h"
#include "cmd/work/side_by_side.h"
#include "config/bindings.h"
#include "device/devices.h"
#include "diag/pipeline/watch.h"
#include "diag/report/sections.h"
#include "diag/voice/corpus_report.h"
#include "diag/voice/voice_report.h"
#include "pipeline/data.h"
#include "train/log/run_log.h"
#include "train/start/settle.h"
#include "train/trainer.h"
#include "voice/vocoder_file.h"

#define LITTLE_SPEED 0.3
#define LEAST_MEMORY ((uint64_t)2000 * 1000 * 1000) /* bytes of the address space */

static const char usage_text[] =
    "myxtts train DIR [--minutes M] [--config F] [--model-size nano|light|tiny|small|normal|big]\n"
    "             [--batch-size N] [--max-steps N]\n"
    "             [--network voice|vocoder|both] [--vocoder-size nano|small|large] [--data-gpu D --model-gpu "
    "D]\n"
    "             [--checkpoint-dir D] [--resume auto|PATH|none] [--init-from PATH|none] [--from-voice RUN] "
    "[--json]\n\n"
    "Prepares the dataset if needed, says how much memory it will use, trains, and keeps checkpoints and\n"
    "logs in --checkpoint-dir (log.jsonl, and an event file for TensorBoard). Ctrl-C, SIGTERM and closing\n"
    "the terminal save and exit with code 0; a second Ctrl-C exits at once. --network vocoder trains a\n"
    "vocoder, which turns mels into sound; both trains a voice, then a vocoder in the folder `vocoder` of\n"
    "--checkpoint-dir (--minutes is for each of them), or the two side by side on two GPUs: --model-gpu 0\n"
    "--data-gpu 1. If one of the two is unfinished, it continues first.\n"
    "The same --checkpoint-dir, or --resume-from RUN, resumes a run with its data and settings; nothing\n"
    "else needs to be given. --minutes M continues a finished run for M minutes more. Progress is printed\n"
    "every few seconds; --verbose prints every --log-step.";

static volatile int stop_requested; /* set by the signal handler: nothing else can reach it there */

/* The first asks for a checkpoint and an orderly end; a second Ctrl-C does not wait. When a terminal goes
 * away, both the system and the shell hang up: that is one request. */
static void on_signal(int signal_number)
{
    if (stop_requested && signal_number == SIGINT)
        _exit(128 + signal_number);
    stop_requested = 1;
}

static void catch_signals(void)
{
    signal_catch(SIGINT, on_signal);
    signal_catch(SIGTERM, on_signal);
    signal_catch(SIGHUP, on_signal);  /* a lost connection */
    signal_catch(SIGUSR1, on_signal); /* what mpirun hands on, and Slurm sends before a job's time is over */
}

/* Settings that were not given but differ from the default, one line for each reason. */
static void print_taken(const Config *cfg, Log *log)
{
    enum { MOST = 12 }; /* or one more, whose name is as short as to say so */
    for (int i = 0; i < config_row_count(); i++) {
        ConfigRow row, other, last = {0};
        Buf list = {0};
        int n = 0, said = 0;
        if (!config_is_taken(cfg, i) || config_row(cfg, i, &row))
            continue;
        for (int k = 0; k < config_row_count() && !said; k++) {
            if (!config_is_taken(cfg, k) || config_row(cfg, k, &other) ||
                strcmp(other.origin, row.origin) != 0)
                continue;
            said = k < i; /* with an earlier one */
            if (n++ < MOST)
                buf_printf(&list, "%s%s %s", n > 1 ? ", " : "", other.key, other.value);
            else
                last = other;
        }
        if (n == MOST + 1)
            buf_printf(&list, ", %s %s", last.key, last.value);
        else if (n > MOST)
            buf_printf(&list, " and %d more", n - MOST);
        if (!said && !list.failed)
            log_info(log, "  %s (%s)", (const char *)list.data, row.origin);
        buf_free(&list);
    }
}

/* All that is not the default; `myxtts config` shows the rest. */
static void print_settings(const Config *cfg, Log *log)
{
    for (int i = 0; i < config_row_count(); i++) {
        ConfigRow row;
        if (config_row(cfg, i, &row) == 0 && strcmp(row.origin, "default") != 0 &&
            !config_row_is_idle(cfg, i))
            log_debug(log, "  %-28s %s (%s)", row.key, row.value, row.origin);
    }
}

/* Memory as planned, before anything is allocated. */
static void print_plan(const TrainPlan *p, const TrainerOptions *o, Log *log)
{
    char a[32], b[32], c[32], d[32], e[32], f[32];
    format_bytes(a, sizeof a, p->model_total);
    format_bytes(b, sizeof b, p->model_limit);
    format_bytes(c, sizeof c, p->weights);
    format_bytes(d, sizeof d, p->activations);
    format_bytes(e, sizeof e, p->pipeline_model + (o->data == o->model ? p->pipeline_data : 0));
    format_bytes(f, sizeof f, p->other + p->synthesis);
    log_info(log, "memory on %s (%s): %s of %s", o->model->name, o->model->model, a, b);
    char symbols[32] = "";
    if (p->shape.text)
        snprintf(symbols, sizeof symbols, ", %d symbols", p->shape.text);
    log_info(log,
             "  weights, gradients, moments %s; activations of %d x %d frames%s %s; batches %s; other %s", c,
             p->shape.rows, p->shape.frames, symbols, d, e, f);
    if (o->data != o->model) {
        format_bytes(a, sizeof a, p->data_total);
        format_bytes(b, sizeof b, p->data_limit);
        log_info(log, "memory on %s (%s): %s of %s", o->data->name, o->data->model, a, b);
    }
    log_info(log, "  %.2f million parameters; the largest batch that fits is %d",
             (double)p->parameters * 1e-6, p->largest_batch);
}

/* What a run has open; a reader that is stuck keeps it open to the end. */
typedef struct TrainRun {
    Config cfg; /* of this training; strings are the caller's */
    Devices devices;
    CorpusSource *source; /* what both look into */
    LimitCosts limits;
    Corpus train, validation;
    Trainer *trainer;
    TrainPlan plan;
    TrainSummary summary;
    Watch watch;
    Verdict verdict;
    int has_verdict;
    VoiceWatch voice;
    VocoderStands vocoder; /* that --network both trains after this */
} TrainRun;

/* How it ended, what it took, and the verdict on its speed if there is one. */
static void how_it_went_json(json_t *o, const TrainRun *r)
{
    const TrainSummary *s = &r->summary;
    const TrainPlan *p = &r->plan;
    const Verdict *v = r->has_verdict ? &r->verdict : NULL;
    json_object_set_new(o, "skipped_steps", json_integer(s->skipped));
    json_object_set_new(o, "stopped", json_boolean(s->stopped));
    json_object_set_new(o, "early_stopped", json_boolean(s->early));
    json_object_set_new(o, "parameters", json_integer(p->parameters));
    json_object_set_new(o, "planned_model_bytes", json_integer((json_int_t)p->model_total));
    json_object_set_new(o, "model_bytes", json_integer((json_int_t)s->model_bytes));
    json_object_set_new(o, "planned_data_bytes", json_integer((json_int_t)p->data_total));
    json_object_set_new(o, "data_bytes", json_integer((json_int_t)s->data_bytes));
    json_object_set_new(o, "largest_batch", json_integer(p->largest_batch));
    if (v) {
        json_object_set_new(o, "bottleneck",
                            json_string(v->stage >= 0 ? stage_name((StageId)v->stage) : "none"));
        json_object_set_new(o, "cause", json_string(cause_name(v->cause)));
        json_object_set_new(o, "verdict", json_string(v->sentence));
        json_object_set_new(o, "swing", swing_json(&v->swing));
    }
}

/* The summary of the run, the verdict on its speed if there is one, the findings about its voice. */
static json_t *summary_json(const TrainRun *r, const Config *cfg)
{
    const TrainSummary *s = &r->summary;
    const VoiceWatch *w = &r->voice;
    json_t *o =
        json_pack("{s:s, s:I, s:I, s:I}", "network", cfg->network == NETWORK_VOCODER ? "vocoder" : "voice",
                  "first_step", (json_int_t)s->first_step, "step", (json_int_t)s->step, "total_steps",
                  (json_int_t)s->total);
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"loss", s->loss},
                   {"validation_loss", s->validation},
                   {"seconds", s->seconds},
                   {"step_ms", s->step_mean * 1e3},
                   {"step_variation", s->step_std / s->step_mean},
                   {"wait_share", s->wait_share},
                   {"busy_share", s->busy_share},
                   {"padding_share", s->padding},
                   {"utterances_per_s", s->utterances_per_s},
                   {"frames_per_s", s->frames_per_s},
                   {"gpu_utilisation", s->gpu_utilisation}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        json_object_set_new(o, numbers[i].key, json_from_double(numbers[i].value));
    json_t *phases = json_object();
    if (isfinite(s->exposed_share)) {
        json_object_set_new(o, "ranks", json_integer(s->ranks));
        json_object_set_new(o, "transport", json_string(s->transport));
        json_object_set_new(o, "sum_wait_share", json_from_double(s->exposed_share));
    }
    for (int i = 0; i < PHASE_COUNT; i++)
        json_object_set_new(phases, phase_name(i), json_from_double(s->phase[i] * 1e3));
    json_object_set_new(o, "phase_ms", phases);
    json_object_set_new(o, "beside", after_beside_json(s));
    judged_json(o, &s->best, cfg->network == NETWORK_VOICE);
    if (cfg->network == NETWORK_VOICE)
        ear_json(o, &s->ear);
    how_it_went_json(o, r);
    json_t *findings = json_array();
    for (int i = 0; i < w->count; i++)
        json_array_append_new(findings, voice_finding_json(&w->findings[i], &w->facts));
    json_object_set_new(o, "findings", findings);
    if (s->heard.clips)
        heard_json(o, &s->heard);
    json_object_set_new(o, "checkpoint", json_from_text(s->last_checkpoint));
    char text[CHECKPOINT_PATH_SIZE + 100];
    after_sounds(s, cfg, text, sizeof text);
    json_object_set_new(o, "sounds", *text ? json_from_text(text) : json_null());
    after_next(s, cfg, text, sizeof text);
    json_object_set_new(o, "next", *text ? json_from_text(text) : json_null());
    json_object_set_new(o, "limits", limits_json(&r->limits));
    json_object_set_new(o, "within_warmup", json_boolean(after_within_warmup(s)));
    return o;
}

/* Clips whose speaker has no other: the sampler finds no partner for them. */
static uint32_t clips_alone(const Corpus *c)
{
    uint32_t alone = 0, *clips = calloc((size_t)c->speaker_count, sizeof *clips);
    for (uint32_t i = 0; clips && i < c->count; i++)
        clips[c->items[i].speaker]++;
    for (int32_t s = 0; clips && s < c->speaker_count; s++)
        alone += clips[s] == 1;
    free(clips);
    return alone;
}

/* Where a clip's voice comes from in training. */
static void print_references(const Corpus *c, int batch_size, Log *log)
{
    uint32_t alone = batch_size > 1 ? clips_alone(c) : c->count;
    if (alone < c->count)
        log_info(log, "  clips of a speaker come in pairs, each the other's voice reference");
    if (alone)
        log_info(log, "  %u clip%s no other of %s speaker and use%s %s as reference", alone,
                 alone == 1 ? " finds" : "s find", alone == 1 ? "its" : "their", alone == 1 ? "s" : "",
                 alone == 1 ? "itself" : "themselves");
}

/* From little sound a vocoder learns more at other speeds, from much it learns less (docs/SPEED.md: 3 and 290
 * minutes were measured). */
static void vary_little(Config *cfg, double minutes, Log *log)
{
    if (cfg->network != NETWORK_VOCODER || cfg->from_voice[0] || !config_is_default(cfg, "augment_speed") ||
        minutes >= SETTLE_LITTLE_MINUTES)
        return;
    cfg->augment_speed = LITTLE_SPEED;
    log_info(log,
             "augment_speed is set to %g, because so little sound would be learned by heart at a single "
             "speed; --augment-speed 0 turns it off",
             LITTLE_SPEED);
}

/* What the owner of the recordings should know before the first step; remarks are for `info`. */
static int warn_of_doubts(const Corpus *train, const Config *cfg, Log *log, Err *err)
{
    CorpusCheck check;
    int rc = corpus_check_open(&check, cfg, &train->dataset, NULL, 1, err);
    for (int i = 0; i < check.doubts.count && !rc; i++) {
        const Doubt *d = &check.doubts.item[i];
        char worst[400];
        if (!corpus_check_warns(d) || d->kind == DOUBT_CLIPPED) /* prepare has told of those */
            continue;
        corpus_check_worst(&check, d, worst, sizeof worst);
        log_warn(log, "%s%s%s: %s (%s)", d->what, *worst ? word(SAY_AS) : "", worst, d->why, d->fix);
    }
    corpus_check_close(&check);
    return rc;
}

/* --resume-from RUN: the run continues in its own folder, unless another is given. */
static int go_on_there(Config *cfg, Err *err)
{
    struct stat st;
    if (config_is_given(cfg, "checkpoint_dir") || stat(cfg->resume, &st) || !S_ISDIR(st.st_mode))
        return 0;
    int rc = config_take(cfg, "checkpoint_dir", cfg->resume, "--resume-from", err);
    return rc ? rc : config_take(cfg, "resume", "auto", "its own folder", err);
}

/* A line of the log before the trainer has it: those who look on should know that a run prepares. */
static void note_phase(const Config *cfg, const char *event, const char *text)
{
    Err ignored = {0};
    char path[CHECKPOINT_PATH_SIZE + 16];
    RunLog *log = NULL;
    snprintf(path, sizeof path, "%s/log.jsonl", cfg->checkpoint_dir);
    if (!run_log_open(&log, path, &ignored))
        run_log_write(log, json_pack("{s:s, s:s}", "event", event, "text", text), &ignored);
    run_log_close(log);
}

/* Makes the folder, where there are data to prepare. 1: it is new. */
static int note_preparing(const Config *cfg)
{
    Err ignored = {0};
    const int made = !file_exists(cfg->checkpoint_dir);
    if (!file_exists(cfg->data_path) || (made && file_make_dirs(cfg->checkpoint_dir, &ignored)))
        return 0;
    note_phase(cfg, "phase", "preparing");
    return made;
}

/* Data that cannot be used leave no folder behind. */
static void note_failed(const Config *cfg, int made)
{
    char path[CHECKPOINT_PATH_SIZE + 16];
    snprintf(path, sizeof path, "%s/log.jsonl", cfg->checkpoint_dir);
    if (!made) {
        if (file_exists(path))
            note_phase(cfg, "end", "error");
        return;
    }
    unlink(path);
    rmdir(cfg->checkpoint_dir);
}

/* Where the address space is too small, libraries end the program, or wait for ever: better not begin. */
static int check_limit(Err *err)
{
    const uint64_t left = mem_left_of_limit();
    if (left >= LEAST_MEMORY)
        return 0;
    err_set(err, ERR_NOMEM, "ulimit -v allows %llu MB, but the smallest training needs %llu",
            (unsigned long long)(left / 1000000), (unsigned long long)(LEAST_MEMORY / 1000000));
    return err_hint(err, "raise it: ulimit -v unlimited");
}

/* Prepares, and opens devices and data. */
static int open_run(TrainRun *r, Settled *settled, Config *cfg, Ranks *ranks, Log *log, Err *err)
{
    const int follows = cfg->from_voice[0] != 0;
    Hash128 mels = {0};
    int rc = check_limit(err);
    if (!rc)
        rc = go_on_there(cfg, err);
    if (!rc)
        rc = settle_start(settled, cfg, ranks, err);
    if (!rc && !cfg->data_path[0])
        rc = err_set(err, ERR_USAGE, "train needs DIR, the folder with recordings and their texts");
    /* Devices that are not there are told before anything is prepared for them. */
    if (!rc)
        rc = devices_open_local(&r->devices, cfg, ranks_local(ranks), log, err);
    const int notes = !rc && leads_ranks(ranks), made = notes && note_preparing(cfg);
    if (!rc && follows)
        rc = from_voice_make(&mels, cfg, log, err);
    if (!rc)
        rc = data_open(&r->source, cfg, &(DataOptions){.limits = &r->limits, .ranks = ranks}, log, err);
    if (!rc && follows)
        rc = corpus_source_follow(r->source, cfg, mels, err);
    if (!rc)
        rc = corpus_open_split(&r->train, r->source, cfg, SPLIT_TRAIN, log, err);
    if (!rc)
        rc = corpus_open_validation(&r->validation, r->source, cfg, log, err);
    if (rc && notes)
        note_failed(cfg, made);
    if (rc)
        return rc;
    return r->train.count ? 0 : data_none_to_train(cfg, err);
}

/* What is said before the first step. */
static int announce(const TrainRun *r, const Settled *settled, const Config *cfg, Ranks *ranks, Log *log,
                    Err *err)
{
    if (config_is_default(cfg, "checkpoint_dir"))
        log_info(log, "the run is in the folder %s (--checkpoint-dir names another)", cfg->checkpoint_dir);
    print_taken(cfg, log);
    log_debug(log, "settings that differ from the defaults:");
    print_settings(cfg, log);
    const int voice = cfg->network == NETWORK_VOICE;
    log_info(log, "training on %u %s%s, validation on %u, %d speaker%s", r->train.count,
             voice ? "clip" : "segment", plural(r->train.count), r->validation.count, r->train.speaker_count,
             plural((uint64_t)r->train.speaker_count));
    int rc = leads_ranks(ranks) ? warn_of_doubts(&r->train, cfg, log, err) : 0;
    if (rc)
        return rc;
    if (voice && r->train.speaker_count > 1 && cfg->use_voice_conditioning)
        print_references(&r->train, settled->batch, log);
    if (!cfg->native_loading)
        log_warn(log, "native_loading is off: the trainer reads, decodes and copies each batch itself while "
                      "the model device waits; --native-loading true does this while the step runs");
    if (cfg->max_steps > 0 && cfg->max_steps < cfg->warmup_steps && cfg->minutes <= 0 && !settled->resumed)
        log_warn(log,
                 "the run will end at step %lld, during its warm-up of %d steps: the learning rate will "
                 "never reach %g; --warmup-steps %lld would let it",
                 (long long)cfg->max_steps, cfg->warmup_steps, cfg->learning_rate,
                 (long long)(cfg->max_steps / 10));
    return 0;
}

static int learn(TrainRun *r, const TrainerOptions *o, Log *log, Err *err)
{
    const Config *cfg = o->cfg;
    const int voice = cfg->network == NETWORK_VOICE;
    if (voice)
        voice_watch_begin(&r->voice, cfg, &r->train, &r->validation, log);
    catch_signals();
    disturbance_read(&r->watch.begun);
    int rc = trainer_open(&r->trainer, o, err);
    if (!rc)
        rc = trainer_run(r->trainer, err);
    watch_end(&r->watch);
    if (r->trainer)
        trainer_summary(r->trainer, &r->summary);
    if (voice)
        voice_watch_end(&r->voice);
    Err unknown = {0}; /* too short a run, or no memory: no verdict */
    if (!rc)
        r->has_verdict = watch_verdict(&r->verdict, &r->watch, trainer_pipeline(r->trainer), &unknown) == 0;
    if (r->has_verdict)
        watch_note(&r->watch, r->summary.step, r->verdict.sentence);
    return rc;
}

/* Prepare, open, plan, say what will happen, train, judge. */
static int run(TrainRun *r, Config *cfg, Ranks *ranks, Log *log, Err *err)
{
    Settled settled;
    int rc = open_run(r, &settled, cfg, ranks, log, err);
    if (!rc)
        rc = settle_data(&settled, cfg, &r->train, r->devices.model, ranks, log, err);
    if (rc)
        return rc;
    if (!settled.resumed)
        vary_little(cfg, settled.minutes, log);
    TrainerOptions o = {.cfg = cfg,
                        .data = r->devices.data,
                        .model = r->devices.model,
                        .sim = r->devices.has_sim ? &r->devices.sim : NULL,
                        .ranks = ranks,
                        .train = &r->train,
                        .validation = &r->validation,
                        .batch = settled.batch,
                        .stop = &stop_requested,
                        .watch = watch_interval,
                        .watch_arg = &r->watch,
                        .log = log};
    r->watch = (Watch){.cfg = cfg,
                       .data = r->devices.data,
                       .model = r->devices.model,
                       .log = log,
                       .voice = cfg->network == NETWORK_VOICE ? &r->voice : NULL,
                       .writes = leads_ranks(ranks)};
    /* A plan that does not fit still has its figures: they are shown before the error. */
    rc = train_plan(&r->plan, &o, err);
    if (r->plan.parameters)
        print_plan(&r->plan, &o, log);
    if (rc)
        return rc;
    o.plan = &r->plan;
    rc = announce(r, &settled, cfg, ranks, log, err);
    return rc ? rc : learn(r, &o, log, err);
}

/* The summary may have no reader; the training itself succeeded. */
static void forgive_closed_pipe(void)
{
    if (fflush(stdout) && errno == EPIPE)
        clearerr(stdout);
}

/* One training. *report: its summary, where JSON is wanted. *code: 3 when the last checkpoint could not be
 * written, because the run is not safe then. *stuck: a reader may come back, and what it looks at has to
 * stay. */
static int train(const Config *cfg, VocoderStands vocoder, Ranks *ranks, json_t **report, int *code,
                 int *stuck, Log *log, Err *err)
{
    TrainRun *r = calloc(1, sizeof *r);
    if (!r)
        return err_set(err, ERR_NOMEM, "no memory to train");
    r->cfg = *cfg;
    r->vocoder = vocoder;
    int rc = run(r, &r->cfg, ranks, log, err);
    if (!rc && report)
        *report = summary_json(r, &r->cfg);
    else if (!rc && leads_ranks(ranks))
        after_training(&(After){.summary = &r->summary,
                                .cfg = &r->cfg,
                                .verdict = r->has_verdict ? &r->verdict : NULL,
                                .voice = &r->voice,
                                .vocoder = r->vocoder,
                                .all = log->level >= LOG_DEBUG});
    if (!rc)
        forgive_closed_pipe();
    if (!rc && r->summary.checkpoint_failed)
        *code = 3;
    *stuck = trainer_close(r->trainer) || (!r->trainer && rc == ERR_WORKER);
    if (*stuck)
        return rc;
    voice_watch_close(&r->voice);
    corpus_close(&r->validation);
    corpus_close(&r->train);
    corpus_source_close(r->source);
    devices_close(&r->devices);
    free(r);
    return rc;
}

/* ---- both networks ---- */

enum { BOTH = 2 };
static const char *const networks[BOTH] = {"voice", "vocoder"};

/* One of the two trainings of --network both. */
typedef struct BothPart {
    const Config *given; /* for both */
    int json;
    int which;        /* 0 the voice, 1 the vocoder */
    int has_a_device; /* each has one of its own */
    Config cfg;
} BothPart;

/* A voice that both networks should begin with may have no vocoder; its own then begins from scratch. */
static int lacks_vocoder(const Config *given, Log *log)
{
    Checkpoint v;
    Err why = {0};
    if (!config_begins_with(given))
        return 0;
    const int rc = vocoder_file_open(&v, given->init_from, NULL, &why);
    if (!rc)
        checkpoint_close(&v);
    if (rc == ERR_FORMAT)
        log_info(log, "%s: the vocoder starts from scratch", why.msg);
    return rc == ERR_FORMAT;
}

static void part_folder(char folder[CHECKPOINT_PATH_SIZE], const Config *given, int which)
{
    snprintf(folder, CHECKPOINT_PATH_SIZE, "%s%s", given->checkpoint_dir, which ? "/" VOCODER_FOLDER : "");
}

/* How far one of the two is, by its newest checkpoint. */
typedef enum { PART_MISSING, PART_BEGUN, PART_FINISHED } PartStands;

static PartStands part_stands(const Config *given, int which)
{
    Checkpoint v;
    Err why = {0};
    Log quiet = {.level = LOG_ERROR};
    char folder[CHECKPOINT_PATH_SIZE];
    part_folder(folder, given, which);
    if (checkpoint_open(&v, "auto", folder, 0, NULL, &quiet, &why))
        return PART_MISSING;
    const TrainState *s = &v.content.state;
    const Config *then = &v.cfg;
    int ended = s->total && s->step >= s->total;
    if (!s->total && then->minutes <= 0) /* its steps were counted */
        ended = (then->max_steps && s->step >= then->max_steps) || s->data.epoch >= then->epochs;
    ended = ended && then->network == (which ? NETWORK_VOCODER : NETWORK_VOICE); /* else train says so */
    checkpoint_close(&v);
    return ended ? PART_FINISHED : PART_BEGUN;
}

/* More minutes are for two that are finished: with one that is not, the other waits for it. *out: which of
 * them is left out; -1: none. Rank 0 has the folder. */
static int part_left_out(int *out, PartStands stands[BOTH], const Config *given, Ranks *ranks, Log *log,
                         Err *err)
{
    *out = -1;
    for (int i = 0; i < BOTH; i++)
        stands[i] = leads_ranks(ranks) ? part_stands(given, i) : PART_MISSING;
    for (int i = 0; i < BOTH; i++)
        if (given->minutes > 0 && stands[i] == PART_FINISHED && stands[!i] != PART_FINISHED)
            *out = i;
    const int rc = ranks_broadcast(ranks, out, sizeof *out, 0, err);
    if (!rc && *out >= 0)
        log_info(log, "the %s is finished; continuing with the %s", networks[*out], networks[!*out]);
    return rc;
}

/* The settings of both, with those of this network: the vocoder has a folder inside the voice's; on two
 * devices the voice gets the model device, the vocoder that of the data, each with the cap that the device
 * has. */
static int part_open(BothPart *p, Log *log, Err *err)
{
    const Config *given = p->given;
    const char *device = p->which ? given->data_gpu : given->model_gpu;
    const int workers = config_workers(given) / 2; /* both read at the same time */
    char folder[CHECKPOINT_PATH_SIZE], memory[32], half[32];
    part_folder(folder, given, p->which);
    snprintf(memory, sizeof memory, "%d", p->which ? given->data_gpu_memory : given->model_gpu_memory);
    snprintf(half, sizeof half, "%d", workers > 0 ? workers : 1);
    const ConfigSetting settings[] = {{"network", networks[p->which]},
                                      {"checkpoint_dir", folder},
                                      {"init_from", p->which && lacks_vocoder(given, log) ? "none" : NULL},
                                      {"model_gpu", device},
                                      {"data_gpu", device},
                                      {"model_gpu_memory", memory},
                                      {"data_gpu_memory", "0"},
                                      {"num_workers", given->num_workers == CONFIG_AUTO ? half : NULL}};
    const int count = p->has_a_device ? (int)(sizeof settings / sizeof *settings) : 3;
    return config_vary(&p->cfg, given, settings, count, err);
}

/* The voice into --checkpoint-dir, then the vocoder into its folder `vocoder`: each with the settings of its
 * own network. What is unfinished comes before more minutes for what is not. */
static int train_in_turn(const Config *given, Ranks *ranks, json_t **report, int *code, int *stuck, Log *log,
                         Err *err)
{
    json_t *all = report ? json_object() : NULL;
    PartStands stands[BOTH];
    int rc = 0, left_out = 0;
    rc = part_left_out(&left_out, stands, given, ranks, log, err);
    for (int i = 0; i < BOTH && !rc && !stop_requested; i++) {
        BothPart p = {.given = given, .which = i};
        const VocoderStands vocoder = i || left_out == 1          ? VOCODER_ASIDE
                                      : stands[1] == PART_MISSING ? VOCODER_TO_COME
                                                                  : VOCODER_TO_CONTINUE;
        if (i == left_out)
            continue;
        json_t *one = NULL;
        rc = part_open(&p, log, err);
        if (!rc) {
            log_info(log, "network %s, into %s", networks[i], p.cfg.checkpoint_dir);
            rc = train(&p.cfg, vocoder, ranks, report ? &one : NULL, code, stuck, log, err);
        }
        if (one)
            json_object_set_new(all, networks[i], one);
        if (*stuck)
            return rc;
        config_close(&p.cfg);
    }
    if (rc)
        json_decref(all);
    else if (report)
        *report = all;
    return rc;
}

/* In a separate process: the summary goes to stdout, as that of one training. */
static int train_part(void *arg, Log *log)
{
    BothPart *p = arg;
    Err err = {0};
    json_t *report = NULL;
    int code = 0, stuck = 0;
    int rc = train(&p->cfg, VOCODER_ASIDE, NULL, p->json ? &report : NULL, &code, &stuck, log, &err);
    if (!rc && report)
        rc = output_print(report, 9, &err);
    return rc ? cmd_fail(log, &err) : code;
}

/* The two reports as one object, which have been indented by themselves, or one below the other. */
static void print_parts(const SideJob *jobs, int parts, int json)
{
    int count = 0;
    for (int i = 0; i < parts; i++) {
        const char *text = jobs[i].out.data;
        if (!json && *text) {
            printf("%s %s", jobs[i].name, text);
        } else if (json && *text) {
            printf("%s  \"%s\": ", count++ ? ",\n" : "{\n", jobs[i].name);
            for (; *text && strcmp(text, "\n") != 0; text++)
                fputs(*text == '\n' ? "\n  " : (const char[]){*text, 0}, stdout);
        }
    }
    if (json)
        puts(count ? "\n}" : "{}");
}

/* Each in a separate process, so that they share only the caches: one that fails does not take the other with
 * it. */
static int train_side_by_side(const Config *given, int json, int *code, Log *log, Err *err)
{
    BothPart parts[BOTH] = {0};
    SideJob jobs[BOTH] = {0};
    PartStands stands[BOTH];
    int left_out, count = 0;
    int rc = part_left_out(&left_out, stands, given, NULL, log, err);
    for (int i = 0; i < BOTH && !rc; i++) {
        BothPart *p = &parts[count];
        if (i == left_out)
            continue;
        *p = (BothPart){.given = given, .json = json, .which = i, .has_a_device = 1};
        jobs[count++] = (SideJob){.name = networks[i], .run = train_part, .arg = p};
        rc = part_open(p, log, err);
        if (!rc)
            log_info(log, "network %s on %s, into %s", networks[i], p->cfg.model_gpu, p->cfg.checkpoint_dir);
    }
    if (!rc)
        rc = side_by_side(jobs, count, catch_signals, &stop_requested, log, err);
    if (!rc)
        print_parts(jobs, count, json);
    for (int i = 0; i < count; i++) {
        if (!rc && jobs[i].code) {
            log_error(log, "the training of the %s ended with exit code %d", jobs[i].name, jobs[i].code);
            *code = jobs[i].code > *code ? jobs[i].code : *code;
        }
        buf_free(&jobs[i].out);
        config_close(&parts[i].cfg);
    }
    return rc;
}

/* A GPU each, real or simulated: the CPU beside a GPU has the data to look after. */
static int has_two_devices(const Config *cfg)
{
    const char *names[] = {cfg->model_gpu, cfg->data_gpu};
    for (int i = 0; i < 2; i++)
        if (strcmp(names[i], "auto") == 0 || strcmp(names[i], "cpu") == 0)
            return 0;
    return strcmp(names[0], names[1]) != 0;
}

const CmdUsage train_usage = {usage_text, NULL, 0};

int cmd_train(int argc, char **argv, Log *log)
{
    CmdLine line;
    Err err = {0};
    Ranks *ranks = NULL;
    json_t *report = NULL;
    int code = 0, stuck = 0, rc = cmd_line_parse(&line, &train_usage, NULL, argc, argv, &err);
    if (!rc && !line.help)
        rc = cmd_line_take_data(&line, &err);
    if (rc || line.help)
        goto done;
    cmd_line_set_log(&line, log);
    rc = join_ranks(&ranks, line.verbose, log, &err);
    if (rc)
        goto done;
    json_t **wanted = line.json && leads_ranks(ranks) ? &report : NULL;
    /* Ctrl-C ends the `tee` behind us first: a closed pipe must not end a training. */
    signal(SIGPIPE, SIG_IGN);
    const int both = line.cfg.network == NETWORK_BOTH, beside = both && !ranks && has_two_devices(&line.cfg);
    if (beside)
        rc = train_side_by_side(&line.cfg, line.json, &code, log, &err);
    else if (both)
        rc = train_in_turn(&line.cfg, ranks, wanted, &code, &stuck, log, &err);
    else
        rc = train(&line.cfg, VOCODER_ASIDE, ranks, wanted, &code, &stuck, log, &err);
    if (!rc && wanted && !beside)
        rc = output_print(report, 9, &err);
    if (!rc)
        forgive_closed_pipe();
done:
    leave_ranks(ranks, rc, &err);
    if (rc)
        code = fail_ranks(log, &err);
    if (!stuck)
        cmd_line_close(&line);
    return code;
}
