/* together.c - see together.h. */
#include "train/step/together.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "config/config.h"

/* ---- what all ranks have in common ---- */

/* Where a rank finds its data, and what it computes on. */
static int may_differ(const char *key)
{
    static const char *const keys[] = {
        "data_path", "cache_dir",        "checkpoint_dir",  "resume",      "init_from",          "model_gpu",
        "data_gpu",  "model_gpu_memory", "data_gpu_memory", "num_workers", "cache_verification", "sim"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0)
            return 1;
    return 0;
}

/* "key\0value\0" for every setting that has to be the same. */
static int list_settings(Buf *out, const Config *cfg)
{
    ConfigRow row;
    for (int i = 0; i < config_row_count(); i++)
        if (config_row(cfg, i, &row) == 0 && !may_differ(row.key)) {
            buf_add(out, row.key, strlen(row.key) + 1);
            buf_add(out, row.value, strlen(row.value) + 1);
        }
    return out->failed;
}

/* The lists of two ranks of the same build have the same keys in the same order. */
static int compare_settings(const Trainer *t, int rank, const char *mine, const char *first, size_t n,
                            Err *err)
{
    for (size_t i = 0; i < n;) {
        const char *key = first + i, *value = key + strlen(key) + 1, *other = mine + i + strlen(key) + 1;
        if (strcmp(value, other) != 0) {
            err_set(err, ERR_CONFIG, "%s is %s on rank %d (%s) and %s on rank 0 (%s)", key,
                    *other ? other : "empty", rank, ranks_host(t->o.ranks, rank), *value ? value : "empty",
                    ranks_host(t->o.ranks, 0));
            return err_hint(
                err, "all ranks need the same settings: start them with the same command and config file");
        }
        i += strlen(key) + strlen(value) + 2;
    }
    return 0;
}

/* Every rank looks at the settings of all, and so all come to the same conclusion. */
static int agree_on_settings(const Trainer *t, Err *err)
{
    const int count = ranks_count(t->o.ranks);
    Buf mine = {0}, all = {0};
    size_t *sizes = mem_calloc((size_t)count, sizeof *sizes);
    int rc = 0;
    if (!sizes || list_settings(&mine, t->cfg))
        rc = err_set(err, ERR_NOMEM, "no memory to compare the settings of %d ranks", count);
    if (!rc)
        rc = ranks_gather_any(t->o.ranks, &all, sizes, mine.data, mine.size, err);
    const char *at = all.data;
    for (int r = 0; r < count && !rc; at += sizes[r++])
        /* A list of another size has a longer or shorter value: the comparison ends there. */
        rc = compare_settings(t, r, at, all.data, sizes[0] < sizes[r] ? sizes[0] : sizes[r], err);
    buf_free(&mine);
    buf_free(&all);
    free(sizes);
    return rc;
}

/* Which clips, in which order, with which bytes in the caches. */
static int agree_on_data(const Trainer *t, Err *err)
{
    CheckpointData d;
    checkpoint_data(&d, t->o.train, t->o.validation);
    int rc = ranks_agree(t->o.ranks, "the hash of the training data", d.hash, err);
    if (!rc)
        rc = ranks_agree(t->o.ranks, "the hash of the validation data", d.validation_hash, err);
    if (rc && err->code != ERR_RANKS)
        err_hint(
            err,
            "run `myxtts prepare` with the same ranks, or put data and caches on a disk shared by all hosts");
    return rc;
}

/* ---- what rank 0 tells ---- */

/* Where the run begins; the statistics that its weights expect follow. */
typedef struct Start {
    Beginning begins;
    TrainState state;
    int has_statistics;
    double pitch_mean, pitch_deviation;
    int languages; /* that the network tells apart */
    LanguageList names;
} Start;

/* The normalisation of a checkpoint, which the others have not read. */
static int take_statistics(Trainer *t, const Start *s, Err *err)
{
    const size_t bands = (size_t)t->cfg->n_mels;
    if (!t->statistics)
        t->statistics = mem_calloc(2 * bands, sizeof *t->statistics);
    if (!t->statistics)
        return err_set(err, ERR_NOMEM, "no memory for the statistics of %zu bands", bands);
    int rc = ranks_broadcast(t->o.ranks, t->statistics, 2 * bands * sizeof *t->statistics, 0, err);
    if (rc || t->leads)
        return rc;
    Corpus *views[] = {&t->train, &t->held_out};
    for (int i = 0; i < 2; i++) {
        views[i]->mean = t->statistics;
        views[i]->deviation = t->statistics + bands;
        views[i]->statistics.pitch_mean = s->pitch_mean;
        views[i]->statistics.pitch_deviation = s->pitch_deviation;
    }
    return 0;
}

int together_open(Trainer *t, Err *err)
{
    if (!t->o.ranks)
        return 0;
    int rc = agree_on_settings(t, err);
    if (!rc)
        rc = agree_on_data(t, err);
    Start s;
    memset(&s, 0, sizeof s);
    s.begins = t->begins;
    s.state = t->state;
    s.has_statistics = t->statistics != NULL;
    s.pitch_mean = t->train.statistics.pitch_mean;
    s.pitch_deviation = t->train.statistics.pitch_deviation;
    s.languages = t->languages;
    s.names = t->train.languages;
    if (!rc)
        rc = ranks_broadcast(t->o.ranks, &s, sizeof s, 0, err);
    if (rc)
        return rc;
    t->begins = s.begins;
    t->state = s.state;
    t->languages = s.languages;
    trainer_take_languages(t, &s.names);
    return s.has_statistics ? take_statistics(t, &s, err) : 0;
}

/* Through the snapshot's memory, which is not in use yet. */
int together_load(Trainer *t, Err *err)
{
    if (!t->o.ranks)
        return 0;
    float *const *flat = t->snapshot.flat;
    const size_t bytes = (size_t)engine_model(t->engine)->params.size * sizeof(float);
    int rc = t->leads ? engine_save(t->engine, flat[CHECKPOINT_WEIGHTS], flat[CHECKPOINT_MOMENTS1],
                                    flat[CHECKPOINT_MOMENTS2], &t->state.guard, err)
                      : 0;
    for (int g = 0; g < CHECKPOINT_GROUPS && !rc; g++)
        rc = ranks_broadcast(t->o.ranks, flat[g], bytes, 0, err);
    if (!rc)
        rc = ranks_broadcast(t->o.ranks, &t->state.guard, sizeof t->state.guard, 0, err);
    if (rc || t->leads)
        return rc;
    t->first_step = t->saved = t->state.step;
    return engine_load(t->engine, flat[CHECKPOINT_WEIGHTS], flat[CHECKPOINT_MOMENTS1],
                       flat[CHECKPOINT_MOMENTS2], &t->state.guard, err);
}

int together_decide(Trainer *t, Err *err)
{
    struct {
        int64_t total, val_step, save_step, sample_step, state_total, warmup, measuring, critics_wait;
    } d = {t->total,       t->val_step,     t->save_step, t->sample_step,
           t->state.total, t->state.warmup, t->measuring, t->critics_wait};
    int rc = ranks_broadcast(t->o.ranks, &d, sizeof d, 0, err);
    if (rc)
        return rc;
    t->total = d.total;
    t->val_step = d.val_step;
    t->save_step = d.save_step;
    t->sample_step = d.sample_step;
    t->state.total = d.state_total;
    t->state.warmup = d.warmup;
    t->measuring = (int)d.measuring;
    t->critics_wait = (int)d.critics_wait;
    return 0;
}

int together_choose(Trainer *t, int *better, Err *err)
{
    struct {
        Choice choice;
        int64_t better;
    } d;
    memset(&d, 0, sizeof d);
    d.choice = t->state.choice;
    d.better = *better;
    int rc = ranks_broadcast(t->o.ranks, &d, sizeof d, 0, err);
    if (rc)
        return rc;
    t->state.choice = d.choice;
    *better = (int)d.better;
    return 0;
}

int together_count(Ranks *ranks, int64_t *n, Err *err)
{
    const int count = ranks_count(ranks);
    int64_t *all = mem_calloc((size_t)count, sizeof *all);
    int rc = all ? ranks_gather(ranks, all, n, sizeof *n, err)
                 : err_set(err, ERR_NOMEM, "no memory for the counts of %d ranks", count);
    *n = 0;
    for (int r = 0; r < count && !rc; r++)
        *n += all[r];
    free(all);
    return rc;
}
