/* train_testing.c - see train_testing.h. */
#include "train_testing.h"

#include "config_testing.h"

#include "cmd/work/from_voice.h"
#include "wav_testing.h"

Lab lab;

static const char small_voice[] =
    "--use-phonemes false --text-cleaners basic --min-audio-length 0.05 --trim-silence false "
    "--enable-multispeaker true "
    "--sample-rate 8000 --n-fft 256 --win-length 200 --hop-length 100 --n-mels 16 --mel-fmax 4000 "
    "--text-encoder-dim 16 --text-encoder-layers 1 --text-encoder-heads 2 --audio-encoder-dim 16 "
    "--audio-encoder-layers 1 "
    "--audio-encoder-heads 2 --decoder-dim 32 --decoder-layers 2 --decoder-heads 2 --speaker-embedding-dim 8 "
    "--gst-num-style-tokens 4 --gst-num-heads 2 --predictor-dim 16 "
    "--mixed-precision false --val-split 0.2 --batch-size 4 --length-buckets 3 --num-workers 2 --data-gpu "
    "cpu --model-gpu cpu "
    "--seed 7 --learning-rate 0.002 --warmup-steps 4 --max-steps 20 --log-step 5 --save-step 1000 --val-step "
    "1000 "
    "--text2audio-interval-steps 0 --listen-clips 0";

/* ---- the corpus ---- */

void write_tone(const char *path, int kind, double seconds) { write_sweep(path, kind, seconds, 8000); }

void lab_config(Config *cfg, const char *checkpoints, const char *more)
{
    char text[6000];
    int n = snprintf(text, sizeof text, "--data-path %s --cache-dir %s --checkpoint-dir %s %s %s", lab.data,
                     lab.cache, checkpoints ? checkpoints : "unused", small_voice, more);
    assert_true(n > 0 && (size_t)n < sizeof text);
    load_options(cfg, text);
}

int setup_lab(void **state)
{
    static const char *const words[] = {"old",   "lamp", "turned", "over",  "a",
                                        "green", "hill", "and",    "stayed"};
    Config cfg;
    Log log;
    Err err = {0};
    PrepareReport report = {0};
    lab.folder = folder_make();
    snprintf(lab.data, sizeof lab.data, "%s", folder_file(&lab.folder, "data"));
    snprintf(lab.cache, sizeof lab.cache, "%s", folder_file(&lab.folder, "cache"));
    assert_int_equal(file_make_dirs(folder_file(&lab.folder, "data/wavs"), &err), 0);
    FILE *f = fopen(folder_file(&lab.folder, "data/metadata.csv"), "w");
    assert_non_null(f);
    for (int i = 0; i < CLIPS; i++) {
        char text[100] = "", name[64];
        for (int w = 0; w < 1 + i % 3; w++) {
            strcat(text, w ? " " : "");
            strcat(text, words[(i + 4 * w) % 9]);
        }
        fprintf(f, "clip%02d|%s|%s|voice%d\n", i, text, text, i % 3);
        snprintf(name, sizeof name, "data/wavs/clip%02d.wav", i);
        write_tone(folder_file(&lab.folder, name), i, 0.25 + 0.4 * ((i * 37) % CLIPS) / CLIPS);
    }
    fclose(f);
    lab_config(&cfg, NULL, "");
    log_init(&log, LOG_ERROR);
    if (prepare_run(&cfg, &(PrepareOptions){.text = 1, .mel = 1}, &report, &log, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(report.accepted, CLIPS);
    prepare_report_free(&report);
    config_close(&cfg);
    return 0;
}

int setup_lab_with_samples(void **state, const char *more)
{
    Config cfg;
    Log log;
    Err err = {0};
    PrepareReport report = {0};
    int rc = setup_lab(state);
    lab_config(&cfg, NULL, more);
    log_init(&log, LOG_ERROR);
    if (prepare_run(&cfg, &(PrepareOptions){.audio = 1}, &report, &log, &err))
        fail_msg("%s", err.msg);
    prepare_report_free(&report);
    config_close(&cfg);
    return rc;
}

int teardown_lab(void **state)
{
    folder_remove(&lab.folder);
    return 0;
}

const char *new_folder(void)
{
    static char paths[8][400];
    char *p = paths[lab.made % 8];
    snprintf(p, sizeof paths[0], "%s/run%d", lab.folder.path, lab.made++);
    return p;
}

/* ---- a run ---- */

static ssize_t job_write(void *cookie, const char *p, size_t n)
{
    Job *j = cookie;
    buf_add(&j->text, p, n);
    buf_add(&j->text, "", 1);
    j->text.size--;
    if (j->stop_at && strstr((const char *)j->text.data, j->stop_at))
        j->stop = 1;
    return (ssize_t)n;
}

const char *job_log(Job *j)
{
    fflush(j->out);
    return j->text.data ? (const char *)j->text.data : "";
}

void job_prepare(Job *j, const char *folder, const char *more, JobOptions o)
{
    memset(j, 0, sizeof *j);
    lab_config(&j->cfg, folder, more);
    j->out = fopencookie(j, "w", (cookie_io_functions_t){.write = job_write});
    assert_non_null(j->out);
    setvbuf(j->out, NULL, _IOLBF, 4096);
    j->log = (Log){.out = j->out, .level = LOG_DEBUG};
    j->stop_at = o.stop_at;
    if (sim_parse(&j->sim, j->cfg.sim, &j->err))
        fail_msg("%s", j->err.msg);
    DeviceOptions d = {.memory_cap = o.model_cap, .sim = &j->sim, .log = &j->log};
    if (device_open(&j->devices.model, j->cfg.model_gpu, &d, &j->err))
        fail_msg("%s", j->err.msg);
    j->devices.data = j->devices.model;
    d.memory_cap = o.data_cap;
    if (strcmp(j->cfg.model_gpu, j->cfg.data_gpu) != 0 &&
        device_open(&j->devices.data, j->cfg.data_gpu, &d, &j->err))
        fail_msg("%s", j->err.msg);
    Hash128 mels = {0};
    if ((j->cfg.from_voice[0] && from_voice_make(&mels, &j->cfg, &j->log, &j->err)) ||
        corpus_source_open(&j->source, &j->cfg, NULL, &j->err) ||
        (j->cfg.from_voice[0] && corpus_source_follow(j->source, &j->cfg, mels, &j->err)) ||
        corpus_open_split(&j->train, j->source, &j->cfg, SPLIT_TRAIN, &j->log, &j->err) ||
        corpus_open_split(&j->validation, j->source, &j->cfg, SPLIT_VAL, &j->log, &j->err))
        fail_msg("%s", j->err.msg);
    j->options = (TrainerOptions){.cfg = &j->cfg,
                                  .watch = o.watch,
                                  .data = j->devices.data,
                                  .model = j->devices.model,
                                  .sim = j->cfg.sim[0] ? &j->sim : NULL,
                                  .train = &j->train,
                                  .validation = &j->validation,
                                  .stop = &j->stop,
                                  .poison_from = o.poison_from,
                                  .poison_count = o.poison_count,
                                  .log = &j->log};
}

int job_try(Job *j, const char *folder, const char *more, JobOptions o)
{
    job_prepare(j, folder, more, o);
    int rc = trainer_open(&j->trainer, &j->options, &j->err);
    if (!rc)
        rc = trainer_run(j->trainer, &j->err);
    if (j->trainer)
        trainer_summary(j->trainer, &j->summary);
    return rc;
}

void job_close(Job *j)
{
    assert_int_equal(trainer_close(j->trainer), 0);
    assert_int_equal(j->devices.model->used, 0); /* everything was given back */
    assert_int_equal(j->devices.data->used, 0);
    corpus_close(&j->validation);
    corpus_close(&j->train);
    corpus_source_close(j->source);
    if (j->devices.data != j->devices.model)
        device_close(j->devices.data);
    device_close(j->devices.model);
    sim_close(&j->sim);
    fclose(j->out);
    buf_free(&j->text);
    config_close(&j->cfg);
}

TrainSummary train(const char *folder, const char *more, JobOptions o)
{
    Job j;
    if (job_try(&j, folder, more, o))
        fail_msg("%s (%s)\n%s", j.err.msg, more, job_log(&j));
    TrainSummary s = j.summary;
    job_close(&j);
    return s;
}

/* ---- what a run left ---- */

int is_there(const char *path) { return access(path, F_OK) == 0; }

int checkpoints_differ(const char *a, const char *b, const char *name)
{
    SafeTensors x, y;
    Err err = {0};
    if (safetensors_open(&x, a, &err) || safetensors_open(&y, b, &err))
        fail_msg("%s", err.msg);
    const TensorView *t = safetensors_find(&x, name), *u = safetensors_find(&y, name);
    assert_true(t && u && t->bytes == u->bytes);
    int differ = memcmp(t->data, u->data, t->bytes) != 0;
    safetensors_close(&x);
    safetensors_close(&y);
    return differ;
}

typedef struct Lines { /* of log.jsonl */
    const char *event, *key;
    int64_t *steps;
    double *values; /* NaN: null */
    char (*texts)[64];
    int count, cap;
} Lines;

static int take_line(void *arg, json_t *o)
{
    Lines *l = arg;
    const char *event = json_string_value(json_object_get(o, "event"));
    if (!event || strcmp(event, l->event) != 0)
        return 0;
    assert_true(l->count < l->cap);
    const json_t *v = json_object_get(o, l->key);
    l->steps[l->count] = json_integer_value(json_object_get(o, "step"));
    l->values[l->count++] = json_is_number(v) ? json_number_value(v) : NAN;
    return 0;
}

int read_lines(const char *folder, const char *event, const char *key, int64_t *steps, double *values,
               int cap)
{
    char path[500];
    Err err = {0};
    int64_t bad = 0;
    Lines l = {.event = event, .key = key, .steps = steps, .values = values, .cap = cap};
    snprintf(path, sizeof path, "%s/log.jsonl", folder);
    if (run_log_each(path, take_line, &l, &bad, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(bad, 0);
    return l.count;
}
