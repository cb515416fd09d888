/* loader.c - the loader of the C library: opening, where it stands, what it says of itself. See myxtts.h. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/plain_locale.h"
#include "diag/report/sections.h"
#include "lib/loader_private.h"
#include "pipeline/data.h"

#define SKIP 16 /* batches that are not judged: the pipeline fills up */

/* ---- settings ---- */

static int read_settings(myxtts_loader *l, const myxtts_loader_options *o, Err *err)
{
    LibraryArguments a = {0};
    int rc = library_arguments_read(&a, o->settings, err);
    if (!rc && o->data)
        rc = library_arguments_add(&a, "data_path", o->data, err);
    if (!rc)
        rc = config_load(&l->cfg, o->config, a.count, a.of, err);
    const int named = a.names_device;
    library_arguments_free(&a);
    if (rc)
        return rc;
    /* One device for both, unless the settings say otherwise. */
    if (o->device ||
        (!named && config_is_default(&l->cfg, "model_gpu") && config_is_default(&l->cfg, "data_gpu"))) {
        snprintf(l->device_name, sizeof l->device_name, "%s", library_device(o->device ? o->device : "cpu"));
        l->cfg.model_gpu = l->device_name;
        if (config_is_default(&l->cfg, "data_gpu"))
            l->cfg.data_gpu = l->device_name;
    }
    if (!l->cfg.data_path[0])
        return err_set(err, ERR_USAGE, "a loader needs a folder with recordings and their texts");
    if (l->cfg.from_voice[0])
        return err_set(err, ERR_CONFIG, "from_voice works only in `myxtts train`, not in a loader");
    if (l->ranks < 0 || l->rank < 0 || l->rank >= (l->ranks ? l->ranks : 1))
        return err_set(err, ERR_USAGE, "there is no rank %d of %d", l->rank, l->ranks);
    return 0;
}

/* ---- opening ---- */

static int open_corpus(myxtts_loader *l, const myxtts_loader_options *o, Err *err)
{
    Split split = SPLIT_TRAIN;
    if (o->split && strcmp(o->split, "validation") == 0)
        split = SPLIT_VAL;
    else if (o->split && strcmp(o->split, "train") != 0)
        return err_set(err, ERR_USAGE, "unknown split '%s'; use train or validation", o->split);
    const DataOptions data = {.no_fork = 1, .stop = o->cancel};
    int rc = o->prepare ? data_open(&l->source, &l->cfg, &data, &l->log.log, err)
                        : corpus_source_open(&l->source, &l->cfg, NULL, err);
    if (!rc)
        rc = corpus_open_split(&l->corpus, l->source, &l->cfg, split, &l->log.log, err);
    if (!rc && l->corpus.count == 0 && split == SPLIT_TRAIN)
        rc = data_none_to_train(&l->cfg, err);
    else if (!rc && l->corpus.count == 0) {
        rc = err_set(err, ERR_DATA, "no clips of %s are held out: val_split is %g", l->cfg.data_path,
                     l->cfg.val_split);
        err_hint(err, "a larger val_split, such as 0.05, holds some out");
    }
    return rc;
}

/* As C strings. */
static int name_speakers(myxtts_loader *l, Err *err)
{
    l->speakers = mem_calloc((size_t)l->corpus.speaker_count + 1, sizeof *l->speakers);
    for (int i = 0; l->speakers && i < l->corpus.speaker_count; i++) {
        l->speakers[i] =
            strndup(l->corpus.speakers[i].p ? l->corpus.speakers[i].p : "", l->corpus.speakers[i].n);
        if (!l->speakers[i])
            return err_set(err, ERR_NOMEM, "no memory for the speakers");
    }
    return l->speakers ? 0 : err_set(err, ERR_NOMEM, "no memory for the speakers");
}

/* Everything that decides which clips are in which batch, and what is made of them on the way. */
static int hash_order(myxtts_loader *l, Err *err)
{
    const Config *c = &l->cfg;
    Hash128 clips = corpus_hash(&l->corpus);
    const int64_t numbers[] = {c->batch_size,
                               policy_global_batch(c, l->ranks > 0 ? l->ranks : 1),
                               l->ranks > 0 ? l->ranks : 1,
                               c->length_buckets,
                               c->pad_to_fixed_length,
                               c->max_mel_frames,
                               c->use_voice_conditioning,
                               l->corpus.segment_frames,
                               corpus_on_the_fly(&l->corpus, c)};
    Hasher h;
    if (hasher_open(&h))
        return err_set(err, ERR_NOMEM, "no memory for a hash");
    hasher_bytes(&h, &clips, sizeof clips);
    hasher_bytes(&h, numbers, sizeof numbers);
    /* By name, so that one that is added later changes nothing where it is off. */
    for (int i = 0; i < AUGMENT_SEED; i++) {
        const double setting = augmentation_setting(c, i);
        if (setting > 0) {
            hasher_bytes(&h, augmentation(i)->key, strlen(augmentation(i)->key));
            hasher_bytes(&h, &setting, sizeof setting);
        }
    }
    l->order = hasher_close(&h);
    return 0;
}

static int open_loader(myxtts_loader *l, const myxtts_loader_options *o, Err *err)
{
    int rc = read_settings(l, o, err);
    if (!rc)
        rc = devices_open(&l->devices, &l->cfg, &l->log.log, err);
    if (!rc)
        rc = open_corpus(l, o, err);
    if (!rc)
        rc = name_speakers(l, err);
    if (!rc)
        rc = hash_order(l, err);
    if (rc)
        return rc;
    l->micro = 1; /* until the pipeline says it: the first run begins at the first batch */
    l->batches = 1;
    rc = loader_run_open(l, err);
    if (!rc) {
        l->micro = pipeline_shares(l->run->pipeline).micro;
        l->batches = sampler_batches(pipeline_sampler(l->run->pipeline)) * l->micro;
    }
    return rc;
}

int myxtts_loader_open(myxtts_loader **out, const myxtts_loader_options *options, myxtts_error *e)
{
    PLAIN_LOCALE;
    Err err = {0};
    if (!out)
        return library_misuse(e, "a place for the loader");
    *out = NULL;
    myxtts_loader_options o = MYXTTS_LOADER_OPTIONS;
    if (library_options(&o, sizeof o, options, "a loader", &err))
        return library_error(e, &err);
    myxtts_loader *l = mem_calloc(1, sizeof *l);
    if (!l) {
        err_set(&err, ERR_NOMEM, "no memory for a loader");
        return library_error(e, &err);
    }
    l->process = getpid();
    l->users = 1;
    pthread_mutex_init(&l->mutex, NULL);
    library_log_open(&l->log, o.log, o.log_arg);
    l->rank = o.rank;
    l->ranks = o.ranks;
    l->epochs = o.epochs > 0 ? o.epochs : 0;
    void *before = device_visit_begin();
    int rc = open_loader(l, &o, &err);
    device_visit_end(before);
    if (rc) {
        myxtts_loader_close(l);
        return library_error(e, &err);
    }
    *out = l;
    return 0;
}

/* ---- closing ---- */

void loader_leave(myxtts_loader *l)
{
    pthread_mutex_lock(&l->mutex);
    const int last = --l->users == 0;
    pthread_mutex_unlock(&l->mutex);
    if (!last)
        return;
    for (int i = 0; i < l->stream_count; i++)
        l->devices.model->ops->stream_close(l->streams[i].stream);
    free(l->streams);
    for (int i = 0; l->speakers && i < l->corpus.speaker_count; i++)
        free(l->speakers[i]);
    free(l->speakers);
    corpus_close(&l->corpus);
    corpus_source_close(l->source);
    devices_close(&l->devices);
    config_close(&l->cfg);
    library_log_close(&l->log);
    pthread_mutex_destroy(&l->mutex);
    free(l);
}

/* If batches are held now, the release of the last one does the rest. */
void myxtts_loader_close(myxtts_loader *l)
{
    if (!l || library_check_process(l->process, LOADER, NULL))
        return;
    void *before = device_visit_begin();
    loader_run_retire(l);
    library_log_mute(&l->log);
    pthread_mutex_lock(&l->mutex);
    l->closed = 1;
    pthread_mutex_unlock(&l->mutex);
    loader_run_reap(l);
    loader_leave(l);
    device_visit_end(before);
}

void myxtts_loader_stop(myxtts_loader *l)
{
    if (!l || library_check_process(l->process, LOADER, NULL))
        return;
    pthread_mutex_lock(&l->mutex);
    l->stopped = 1;
    if (l->run)
        pipeline_stop(l->run->pipeline);
    pthread_mutex_unlock(&l->mutex);
}

/* ---- what it is ---- */

int64_t myxtts_loader_batches(const myxtts_loader *l) { return l ? l->batches : 0; }
int64_t myxtts_loader_utterances(const myxtts_loader *l) { return l ? l->corpus.count : 0; }
int myxtts_loader_speaker_count(const myxtts_loader *l) { return l ? l->corpus.speaker_count : 0; }

int myxtts_loader_language_count(const myxtts_loader *l) { return l ? l->corpus.languages.count : 0; }

const char *myxtts_loader_language(const myxtts_loader *l, int i)
{
    return i >= 0 && i < myxtts_loader_language_count(l) ? l->corpus.languages.codes[i] : NULL;
}

const char *myxtts_loader_speaker(const myxtts_loader *l, int i)
{
    return i >= 0 && i < myxtts_loader_speaker_count(l) ? l->speakers[i] : NULL;
}

/* ---- where it stands ---- */

void myxtts_loader_state(const myxtts_loader *l, myxtts_state *s)
{
    if (s)
        *s = (myxtts_state){0};
    if (!l || !s)
        return;
    const int64_t number = l->start + (l->run ? l->run->given : 0);
    *s = (myxtts_state){
        .epoch = number / l->batches, .index = number % l->batches, .seed = (uint64_t)l->cfg.seed};
    snprintf(s->data, sizeof s->data, "%016llx%016llx", (unsigned long long)l->order.hi,
             (unsigned long long)l->order.lo);
}

static int check_state(const myxtts_loader *l, const myxtts_state *s, Err *err)
{
    myxtts_state own;
    myxtts_loader_state(l, &own);
    if (s->seed != own.seed)
        return err_set(err, ERR_CONFIG,
                       "the state is from a loader with seed %llu, but this loader has seed %llu",
                       (unsigned long long)s->seed, (unsigned long long)own.seed);
    if (strncmp(s->data, own.data, sizeof own.data) != 0) {
        err_set(err, ERR_CONFIG,
                "the state is from other clips, or from settings that make different batches");
        return err_hint(err, "resume with the same data, batch_size, length_buckets and number of ranks");
    }
    if (s->epoch < 0 || s->index < 0 || s->index >= l->batches || s->epoch > INT64_MAX / l->batches - 1)
        return err_set(err, ERR_CONFIG, "batch %lld of epoch %lld does not exist: an epoch has %lld batches",
                       (long long)s->index, (long long)s->epoch, (long long)l->batches);
    return 0;
}

int myxtts_loader_resume(myxtts_loader *l, const myxtts_state *s, myxtts_error *e)
{
    PLAIN_LOCALE;
    Err err = {0};
    if (!l || !s)
        return library_misuse(e, l ? "a state" : "a loader");
    int rc = library_check_process(l->process, LOADER, e);
    if (rc)
        return rc;
    rc = check_state(l, s, &err);
    if (rc)
        return library_error(e, &err);
    void *before = device_visit_begin();
    pthread_mutex_lock(&l->mutex);
    const int in_place = l->run && l->run->held == 0;
    l->stopped = 0;
    l->start = s->epoch * l->batches + s->index;
    pthread_mutex_unlock(&l->mutex);
    if (in_place)
        rc = loader_run_restart(l, &err);
    else {
        loader_run_retire(l);
        loader_run_reap(l);
    }
    /* What failed in place, as after an error of the device, may work from scratch. */
    if (!l->run) {
        err_clear(&err);
        rc = loader_run_open(l, &err);
    }
    device_visit_end(before);
    return rc ? library_error(e, &err) : 0;
}

/* ---- what it says ---- */

static json_t *report_json(myxtts_loader *l, Err *err)
{
    Observation o;
    Verdict v;
    int rc = observation_from_pipeline(&o, l->run->pipeline, &l->cfg, l->devices.data, l->devices.model, SKIP,
                                       1, err);
    if (rc == 1)
        err_set(err, ERR_DATA, "%lld batches are too few to judge", (long long)l->run->given);
    if (rc)
        return NULL;
    rc = doctor_judge(&v, &o, err);
    json_t *report = rc ? NULL : json_object();
    if (report) {
        report_verdict(report, &v, &o);
        json_object_set_new(report, "batches", json_integer(o.n - o.from));
        json_object_set_new(report, "device", json_string(o.model_name));
        json_object_set_new(report, "workers", json_integer(o.report.workers));
        json_object_set_new(report, "lost", json_integer(o.report.lost));
    }
    observation_close(&o);
    return report;
}

char *myxtts_loader_report(myxtts_loader *l, myxtts_error *e)
{
    PLAIN_LOCALE;
    Err err = {0};
    json_t *report = NULL;
    if (!l) {
        library_misuse(e, "a loader");
        return NULL;
    }
    if (library_check_process(l->process, LOADER, e))
        return NULL;
    if (l->run)
        report = report_json(l, &err);
    else
        err_set(&err, ERR_DATA, "the loader has failed and has no position");
    char *text = report ? json_dumps(report, JSON_INDENT(2) | JSON_REAL_PRECISION(7)) : NULL;
    if (!text && !err.code)
        err_set(&err, ERR_NOMEM, "no memory for the report");
    json_decref(report);
    if (!text)
        library_error(e, &err);
    return text;
}
