/* settle.c - see settle.h. */
#include "train/start/settle.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "config/bindings.h"
#include "pipeline/policy.h"
#include "train/run_parts.h"
#include "voice/base_file.h"

#define MANY_MINUTES 300.0 /* of speech, which a voice of the usual size does not learn by heart */
#define LARGE_VOCODER 512  /* width */
#define LARGE_DECODER 256  /* from this width on */
#define ADAPT_WARMUP 50    /* steps */
#define ADAPT_BATCH 8      /* clips */

/* What the network of these settings is bound to. */
static Binding bound_of(const Config *cfg)
{
    return cfg->network == NETWORK_VOCODER ? BOUND_VOCODER : BOUND_CHECKPOINT;
}

/* ---- following a checkpoint ---- */

/* A run that is resumed needs only its folder: what it learned with must not change on the way. Settings
 * about the machine and about when to end are given again; if they are not, the old end holds. */
static int keep_settings(Config *cfg, const Config *then, const char *reason, Err *err)
{
    enum { ENDS = 3 };
    static const char *const except[] = {
        "minutes",     "max_steps", "epochs",   "checkpoint_dir",  "resume", "init_from",
        "from_voice",  "model_gpu", "data_gpu", "data_gpu_memory", "sim",    "model_gpu_memory",
        "num_workers", NULL};
    int has_end = 0;
    for (int i = 0; i < ENDS; i++)
        has_end |= config_is_given(cfg, except[i]);
    return config_follow_others(cfg, then, bound_of(cfg), except + (has_end ? 0 : ENDS), reason, err);
}

/* A run that has not used up its minutes keeps its last step, so also the minutes that it comes from. */
static int keep_minutes(Config *cfg, const Checkpoint *v, Err *err)
{
    const TrainState *s = &v->content.state;
    char then[32], reason[160];
    if (!config_is_given(cfg, "minutes") || cfg->minutes == v->cfg.minutes || v->cfg.minutes <= 0 ||
        !s->total || s->step >= s->total || !*cfg->from_voice != !*v->cfg.from_voice)
        return 0;
    snprintf(then, sizeof then, "%.12g", v->cfg.minutes);
    snprintf(reason, sizeof reason,
             "the run is at step %lld of the %lld that these gave it, and ends there; --minutes %.12g counts "
             "from then on",
             (long long)s->step, (long long)s->total, cfg->minutes);
    return config_take(cfg, "minutes", then, reason, err);
}

/* A run that started with weights is resumed as such. */
int settings_follow(Config *cfg, const Checkpoint *v, int resumed, Err *err)
{
    char reason[200];
    snprintf(reason, sizeof reason, "as in %.180s", v->path);
    if (resumed && v->cfg.network == NETWORK_VOCODER && !config_is_given(cfg, "network")) {
        const int rc = config_take(cfg, "network", "vocoder", reason, err);
        if (rc)
            return rc;
    }
    if (v->cfg.network != cfg->network) /* the check that follows says so */
        return 0;
    int rc = config_follow(cfg, &v->cfg, bound_of(cfg), reason, err);
    if (!rc && resumed && !config_is_given(cfg, "init_from") && config_begins_with(&v->cfg))
        rc = config_take(cfg, "init_from", v->cfg.init_from, reason, err);
    if (!rc && resumed)
        rc = keep_minutes(cfg, v, err);
    if (!rc && resumed)
        rc = keep_settings(cfg, &v->cfg, reason, err);
    return rc;
}

/* ---- ranks ---- */

/* What rank 0 has settled, as "key\0value\0reason\0" for each. Where its files lie is its own business. */
static void list_taken(Buf *out, const Config *cfg)
{
    for (int i = 0; i < config_row_count(); i++) {
        ConfigRow row;
        if (!config_is_taken(cfg, i) || config_row(cfg, i, &row) || strcmp(row.key, "init_from") == 0)
            continue;
        buf_add(out, row.key, strlen(row.key) + 1);
        config_value_text(out, cfg, i);
        buf_add(out, "", 1);
        buf_add(out, row.origin, strlen(row.origin) + 1);
    }
}

static int take_list(Config *cfg, const char *list, size_t size, Err *err)
{
    int rc = 0;
    for (const char *p = list; p < list + size && !rc;) {
        const char *value = p + strlen(p) + 1, *reason = value + strlen(value) + 1;
        rc = config_take(cfg, p, value, reason, err);
        p = reason + strlen(reason) + 1;
    }
    return rc;
}

static int share(Config *cfg, Ranks *ranks, Err *err)
{
    Buf list = {0};
    const int leads = ranks_rank(ranks) == 0;
    if (ranks_count(ranks) == 1)
        return 0;
    if (leads)
        list_taken(&list, cfg);
    uint64_t size = list.size;
    int rc = list.failed ? err_set(err, ERR_NOMEM, "no memory to share the settings") : 0;
    if (!rc)
        rc = ranks_broadcast(ranks, &size, sizeof size, 0, err);
    char *bytes = rc || leads ? list.data : mem_calloc((size_t)size + 1, 1);
    if (!rc && size && !bytes)
        rc = err_set(err, ERR_NOMEM, "no memory to share the settings");
    if (!rc && size)
        rc = ranks_broadcast(ranks, bytes, (size_t)size, 0, err);
    if (!rc && !leads)
        rc = take_list(cfg, bytes, (size_t)size, err);
    if (!leads)
        free(bytes);
    buf_free(&list);
    return rc;
}

int settle_start(Settled *s, Config *cfg, Ranks *ranks, Err *err)
{
    Beginning begins = BEGINS_NEW;
    int rc = 0;
    *s = (Settled){0};
    if (ranks_rank(ranks) == 0)
        rc = beginning_settle(&s->batch, &begins, cfg, ranks_count(ranks), err);
    s->fresh = begins == BEGINS_NEW;
    s->resumed = begins == BEGINS_RESUMED;
    if (!rc)
        rc = ranks_broadcast(ranks, s, sizeof *s, 0, err);
    return rc ? rc : share(cfg, ranks, err);
}

/* ---- the base ---- */

/* Why it is less than the recordings last. */
static const char *counted(const Config *cfg)
{
    return cfg->network == NETWORK_VOCODER ? " (in whole segments, without validation)"
                                           : " (without silence at the ends and validation)";
}

static double minutes_of(const Config *cfg, const Corpus *train)
{
    double frames = 0;
    for (uint32_t i = 0; i < train->count; i++)
        frames += (double)train->lengths[i].frames - (train->segment_frames > 0);
    return frames * cfg->hop_length / cfg->sample_rate / 60;
}

/* 1: the base knows the language: its list of them, or the one language of its settings. */
static int base_speaks(const Checkpoint *v, const char *code)
{
    const char *list = checkpoint_text(v, "languages");
    char quoted[32];
    snprintf(quoted, sizeof quoted, "\"%.16s\"", code);
    if (list && strstr(list, quoted))
        return 1;
    const size_t n = strcspn(code, "-");
    return strcspn(v->cfg.language, "-") == n && strncmp(v->cfg.language, code, n) == 0;
}

/* The first language of the texts that the base does not speak; 0: there is none. */
static int other_language(char out[16], const Checkpoint *v, const Corpus *train)
{
    char known[16] = ""; /* most corpora have one */
    for (uint32_t i = 0; i < train->count && !train->segment_frames; i++) {
        StoreEntry e;
        TextView text;
        store_entry(&train->text, train->items[i].text_entry, &e);
        if (text_view(&text, &e) || strcmp(text.language, known) == 0)
            continue;
        if (!base_speaks(v, text.language)) {
            memcpy(out, text.language, sizeof text.language);
            return 1;
        }
        memcpy(known, text.language, sizeof known);
    }
    return 0;
}

/* Why the run cannot begin with it, as the end of a sentence; 1: it cannot. */
static int misfit(char *why, size_t size, const Checkpoint *v, const Config *cfg, const Corpus *train)
{
    ConfigRow theirs, ours;
    char language[16];
    /* The caches are built: what they depend on stays as it is. */
    const unsigned built = BOUND_TEXT_CACHE | BOUND_MEL_CACHE | BOUND_AUDIO_CACHE;
    if (config_cannot_follow(cfg, &v->cfg, bound_of(cfg), built, &theirs, &ours)) {
        snprintf(why, size, "%s is %.60s (%.120s), but %.60s in the base", ours.key, ours.value, ours.origin,
                 theirs.value);
        return 1;
    }
    if (!other_language(language, v, train))
        return 0;
    snprintf(why, size, "some texts are in %s, which the base does not speak", language);
    return 1;
}

static int open_base(Checkpoint *v, const char *path, const Config *cfg, Err *err)
{
    return cfg->network == NETWORK_VOCODER ? checkpoint_open_vocoder(v, path, err)
                                           : checkpoint_open(v, path, "", 0, NULL, NULL, err);
}

/* A base that cannot be used must not prevent training. */
static int begin_with_base(Config *cfg, const Corpus *train, double minutes, Log *log, Err *err)
{
    static const char name[] = BASE_FILE_NAME;
    const int length = (int)strcspn(name, ".");
    char path[CHECKPOINT_PATH_SIZE], why[400];
    Checkpoint v;
    Err damage = {0};
    if (!base_file_find(path))
        return 0;
    if (open_base(&v, path, cfg, &damage)) {
        log_warn(log, "the base that comes with the program cannot be used: %s", damage.msg);
        return 0;
    }
    int rc = 0;
    if (misfit(why, sizeof why, &v, cfg, train)) {
        log_info(log,
                 "with %.1f minutes of speech%s the run would start with the base %.*s, but %s: it starts "
                 "from scratch",
                 minutes, counted(cfg), length, name, why);
    } else {
        snprintf(why, sizeof why, "%.1f minutes of speech", minutes);
        rc = config_take(cfg, "init_from", path, why, err);
        if (!rc)
            rc = settings_follow(cfg, &v, 0, err);
        log_info(log,
                 "%.1f minutes of speech%s are little: the run starts with the base %.*s and takes the sizes "
                 "of its network; --init-from none starts from scratch",
                 minutes, counted(cfg), length, name);
    }
    checkpoint_close(&v);
    return rc;
}

static int is_cpu(const Device *d) { return d->traits.host_memory && !d->traits.simulated; }

/* A GPU learns a large vocoder in the time that a CPU takes for a small one, and its copies are closer to the
 * recordings; from a few minutes too, where the base's is small enough for a CPU (docs/SPEED.md). */
static int enlarge_vocoder(Config *cfg, double minutes, Log *log, Err *err)
{
    static const char *const sizes[] = {"vocoder_size", "vocoder_dim", "vocoder_layers"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (config_is_given(cfg, sizes[i]))
            return 0;
    if (minutes < SETTLE_LITTLE_MINUTES)
        log_info(log,
                 "%.1f minutes of speech%s are little: a GPU learns a large vocoder from them, from scratch",
                 minutes, counted(cfg));
    return config_take(cfg, "vocoder_size", "large", "the vocoder is trained on a GPU", err);
}

/* Critics take twice as long as the network itself. In one training of an hour the copies were best when
 * critics taught for a short while at the end; those of five minutes and of a small vocoder fell behind with
 * them (docs/SPEED.md). A CPU has no time for them. has_room: there is a GPU and enough speech. */
static int give_critics(Config *cfg, int has_room, Err *err)
{
    char dim[16];
    snprintf(dim, sizeof dim, "%d", cfg->vocoder_dim / 2);
    int rc = 0;
    if (has_room && !config_is_given(cfg, "vocoder_critic_dim") && cfg->vocoder_dim >= LARGE_VOCODER)
        rc = config_take(cfg, "vocoder_critic_dim", dim, "the vocoder is trained on a GPU", err);
    if (!rc && cfg->vocoder_critic_dim > 0 && !config_is_given(cfg, "critic_from"))
        rc = config_take(cfg, "critic_from", "0.7", "a vocoder's critics teach at the end", err);
    return rc;
}

/* ---- adaptation ---- */

/* Lowers a number that was not given. */
static int lower(Config *cfg, const char *key, int now, int to, const char *reason, Err *err)
{
    char value[16];
    if (now <= to || config_is_given(cfg, key))
        return 0;
    snprintf(value, sizeof value, "%d", to);
    return config_take(cfg, key, value, reason, err);
}

/* Settings of a run that makes a voice of little speech out of a trained one; what was tried is in
 * docs/MODEL.md. The warm-up guards weights that know nothing, and would take up much of a short run. */
static int adapt(Config *cfg, const Device *model, Err *err)
{
    int rc =
        lower(cfg, "warmup_steps", cfg->warmup_steps, ADAPT_WARMUP, "it starts with trained weights", err);
    if (!rc && is_cpu(model) && cfg->network == NETWORK_VOICE && !config_is_given(cfg, "global_batch_size"))
        rc = lower(cfg, "batch_size", cfg->batch_size, ADAPT_BATCH,
                   "little speech on a CPU: more steps in the same time", err);
    return rc;
}

/* A network that could learn an hour by heart does: dropout keeps it from that. The figures are in
 * docs/MODEL.md. */
static int guard_against_heart(Config *cfg, double minutes, Err *err)
{
    char reason[80];
    if (cfg->network != NETWORK_VOICE || cfg->decoder_dim < LARGE_DECODER || minutes >= MANY_MINUTES ||
        config_is_given(cfg, "dropout"))
        return 0;
    snprintf(reason, sizeof reason, "%.0f minutes of speech; 0.1 from %.0f hours on", minutes,
             MANY_MINUTES / 60);
    return config_take(cfg, "dropout", "0.25", reason, err);
}

/* Random weights that stay random are of no use. */
static int check_freeze(const Config *cfg, Err *err)
{
    if (cfg->freeze == FREEZE_NONE || cfg->network == NETWORK_VOCODER || config_begins_with(cfg))
        return 0;
    err_set(err, ERR_CONFIG,
            "--freeze keeps part of a trained voice as it is, but this run starts from scratch");
    return err_hint(err, "name a voice to start with: --init-from PATH");
}

int settle_data(Settled *s, Config *cfg, const Corpus *train, const Device *model, Ranks *ranks, Log *log,
                Err *err)
{
    const int batch = cfg->batch_size;
    int rc = 0;
    s->minutes = minutes_of(cfg, train);
    const int leads = ranks_rank(ranks) == 0, little = s->minutes < SETTLE_LITTLE_MINUTES;
    if (leads && s->fresh && !config_begins_with(cfg) && cfg->network == NETWORK_VOCODER && !is_cpu(model))
        rc = enlarge_vocoder(cfg, s->minutes, log, err);
    else if (leads && little && s->fresh && !cfg->init_from[0])
        rc = begin_with_base(cfg, train, s->minutes, log, err);
    if (!rc && leads && s->fresh && cfg->network == NETWORK_VOCODER && is_cpu(model))
        log_info(log, "a CPU rarely learns a vocoder that sounds better than Griffin-Lim, which is built in; "
                      "only ONNX and Piper files cannot do without one");
    if (!rc && leads && s->fresh && cfg->network == NETWORK_VOCODER)
        rc = give_critics(cfg, !little && !is_cpu(model), err);
    if (!rc && leads && little && config_begins_with(cfg) && !s->resumed)
        rc = adapt(cfg, model, err);
    if (!rc && leads && !s->resumed)
        rc = guard_against_heart(cfg, s->minutes, err);
    if (!rc)
        rc = share(cfg, ranks, err);
    if (cfg->batch_size != batch)
        s->batch = policy_global_batch(cfg, ranks_count(ranks));
    return rc || !leads || !s->fresh ? rc : check_freeze(cfg, err);
}
