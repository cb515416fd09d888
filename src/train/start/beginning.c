/* beginning.c - what a run begins with: new weights, the checkpoint it resumes from, or the weights of
 * another run (init_from); and the messages when data or settings have changed since. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "config/bindings.h"
#include "pipeline/policy.h"
#include "text/phonemes/tokens.h"
#include "train/run_parts.h"
#include "voice/best_note.h"
#include "voice/symbols_seen.h"
#include "voice/vocoder_file.h"

#define MOST_NAMED 12 /* speakers or symbols that a sentence names */

/* --- which checkpoint --- */

/* A fresh start into a folder that has checkpoints is refused, because the two runs would be mixed up. */
static int choose(Beginning *begins, const Config *cfg, Log *log, Err *err)
{
    char found[CHECKPOINT_PATH_SIZE];
    Err why = {0};
    int there = checkpoint_find(found, "auto", cfg->checkpoint_dir, NULL, &why) == 0;
    int is_none = strcmp(cfg->resume, "none") == 0;
    if (is_none && (there || why.code == ERR_DAMAGED)) {
        err_set(err, ERR_USAGE, "--resume none would start over in %s, which already has checkpoints (%s)",
                cfg->checkpoint_dir, there ? found : "damaged ones");
        return err_hint(err, "move them away, or name another --checkpoint-dir");
    }
    int fresh = is_none || (strcmp(cfg->resume, "auto") == 0 && !there && why.code == ERR_MISSING);
    *begins = !fresh ? BEGINS_RESUMED : config_begins_with(cfg) ? BEGINS_WITH_WEIGHTS : BEGINS_NEW;
    if (!fresh && config_begins_with(cfg) && config_is_given(cfg, "init_from"))
        log_info(log, "%s has a run, which is resumed; --init-from is ignored", cfg->checkpoint_dir);
    return 0;
}

/* The checkpoint itself: of the run, or what another begins with. A vocoder begins with the one inside, or
 * beside, a voice. */
static int open_begun(Checkpoint *v, Beginning begins, const Config *cfg, Log *log, Err *err)
{
    if (begins == BEGINS_RESUMED)
        return checkpoint_open(v, cfg->resume, cfg->checkpoint_dir, 0, NULL, log, err);
    int rc = cfg->network == NETWORK_VOCODER
                 ? vocoder_file_open(v, cfg->init_from, log, err)
                 : checkpoint_open(v, cfg->init_from, cfg->checkpoint_dir, 0, NULL, log, err);
    return rc ? err_prefix(err, "--init-from") : 0;
}

/* --- resuming --- */

/* Another seed would mean another order of clips and another split, and resuming would not be exact. */
static int check_seed(const Trainer *t, const Checkpoint *v, Err *err)
{
    if (t->state.data.seed == (uint64_t)t->cfg->seed)
        return 0;
    err_set(err, ERR_CONFIG, "%s was trained with --seed %llu, but this run has %lld", v->path,
            (unsigned long long)t->state.data.seed, (long long)t->cfg->seed);
    return err_hint(err, "a run resumes only with its own seed; to start over use another --checkpoint-dir");
}

/* A loss of other clips, or another kind of loss, cannot be better or worse than those before. */
static void begin_best_anew(Trainer *t)
{
    const Judged *best = &t->state.choice.best;
    if (best->step)
        log_warn(t->log,
                 "the best checkpoint so far, step %lld with a validation loss of %.4f, can no longer be "
                 "compared: a new best is chosen from here on",
                 (long long)best->step, best->loss);
    choice_begin(&t->state.choice);
}

/* 1: best.safetensors is of that step. A run that was killed may have left the note without the file. */
static int is_best(const Trainer *t, int64_t step)
{
    Checkpoint best;
    Err why = {0};
    if (checkpoint_open(&best, "best", t->cfg->checkpoint_dir, 0, NULL, NULL, &why))
        return 0;
    const int same = best.content.state.step == step;
    checkpoint_close(&best);
    return same;
}

/* Words may have changed the choice after the last checkpoint was written. A run that goes back to an earlier
 * step keeps the best that it has: only a better one takes its place. If the checkpoint has no best, a note
 * of an earlier step is from before the search for the best was restarted. */
static void take_note(Trainer *t)
{
    Choice *c = &t->state.choice;
    Judged note;
    if (!best_note_read(&note, t->cfg->checkpoint_dir) || (!c->best.step && note.step <= t->state.step))
        return;
    if (note.step > t->state.step && !is_best(t, note.step))
        return;
    if (note.step > t->state.step)
        log_info(t->log,
                 "going back to step %lld; the best checkpoint is still step %lld, until a better one comes",
                 (long long)t->state.step, (long long)note.step);
    if (note.step != c->best.step) {
        c->peak = ear_score(&note.ear);
        c->lowest_loss = fmin(c->lowest_loss, note.loss);
        c->floor = c->lowest_loss;
    }
    c->best = note;
}

/* A vocoder that continues on the mels of a voice has a new task: rate and time start again, weights and
 * moments are kept. Returns 1 when its losses are others now. */
static int compare_mels(Trainer *t, const Checkpoint *v)
{
    const char *then = v->cfg.from_voice, *now = t->cfg->from_voice;
    if (!*then == !*now)
        return 0;
    if (*now) {
        log_info(t->log,
                 "continuing with the mels of %s; until step %lld the run learned from those of the "
                 "recordings. The learning rate schedule starts over",
                 now, (long long)t->state.step);
        t->state.schedule_from = t->state.step;
        t->state.total = 0;
    } else {
        log_warn(
            t->log,
            "%s was trained on the mels of %s; without --from-voice it continues on those of the recordings",
            v->path, then);
    }
    return 1;
}

/* What changes silently otherwise. */
static void compare(Trainer *t, const Checkpoint *v)
{
    const CheckpointData *was = &v->data;
    CheckpointData is;
    ConfigRow a, b;
    const int other_mels = compare_mels(t, v);
    int anew = other_mels;
    if (config_bound_differs(&v->cfg, t->cfg, BOUND_LOSS, &a, &b)) {
        log_warn(t->log, "%s was %s and is %s now (%s)", a.key, a.value, b.value, b.origin);
        anew = 1;
    }
    if (other_mels) { /* with other mels the hashes differ too, even for the same clips */
        begin_best_anew(t);
        return;
    }
    checkpoint_data(&is, t->o.train, t->o.validation);
    if (was->clips >= 0 && strcmp(was->hash, is.hash) != 0)
        log_warn(t->log,
                 "the data have changed since %s was trained: %lld clips and %d speaker%s then, %lld and %d "
                 "now%s; training continues with the present data",
                 v->path, (long long)was->clips, was->speakers, was->speakers == 1 ? "" : "s",
                 (long long)is.clips, is.speakers,
                 was->clips == is.clips && was->speakers == is.speakers
                     ? ", but other ids, texts, recordings or speakers"
                     : "");
    if (was->clips >= 0 && strcmp(was->validation_hash, is.validation_hash) != 0) {
        log_warn(t->log, "the validation clips have changed: %lld then, %lld now",
                 (long long)was->validation_clips, (long long)is.validation_clips);
        anew = 1;
    }
    if (anew)
        begin_best_anew(t);
}

/* Clips of a batch when the checkpoint was written. */
static int batch_then(const Checkpoint *v)
{
    return v->content.state.batch > 0 ? (int)v->content.state.batch : v->cfg.batch_size;
}

/* Clips of a batch now. v: the checkpoint that is resumed, or NULL. */
static int batch_now(const Config *cfg, int ranks, const Checkpoint *v)
{
    if (v && !cfg->global_batch_size && cfg->batch_size == v->cfg.batch_size)
        return batch_then(v);
    return policy_global_batch(cfg, ranks);
}

/* Other batches are other ones from the first clip of the epoch on: the place in it can only be about the
 * same. */
static void move_place(Trainer *t, const Checkpoint *v)
{
    const int64_t was = batch_then(v), is = t->o.batch;
    PipelineState *at = &t->state.data;
    t->state.batch = is;
    if (was == is)
        return;
    if (at->index)
        log_warn(t->log,
                 "a batch had %lld clips and has %lld now: the rest of epoch %lld is shuffled again, so some "
                 "of its clips come twice or not at all",
                 (long long)was, (long long)is, (long long)at->epoch);
    at->index = at->index * was / is;
}

/* State, seed, settings: what can be told without the data. */
static int check_settings(Trainer *t, const Checkpoint *v, Err *err)
{
    int rc = checkpoint_state(v, &t->state, err);
    if (!rc)
        rc = check_seed(t, v, err);
    return rc ? rc : checkpoint_same(v->path, &v->cfg, t->cfg, err);
}

/* Each is checked before a single weight is replaced. */
static int check_resumed(Trainer *t, const Checkpoint *v, Err *err)
{
    int rc = check_settings(t, v, err);
    if (!rc)
        rc = same_data_check(v, t->o.train, t->cfg, err);
    if (rc)
        return rc;
    /* A run that gave up is given as many tries again. */
    if (t->state.guard.consecutive >= t->cfg->guard_max_skips)
        t->state.guard.consecutive = 0;
    take_note(t);
    compare(t, v);
    move_place(t, v);
    return 0;
}

/* --- weights of another run --- */

/* The network has to be the same; the message names the setting that is not. */
static int check_given(const Trainer *t, const Checkpoint *v, Err *err)
{
    int rc = checkpoint_same(v->path, &v->cfg, t->cfg, err);
    if (rc)
        err_hint(err, "weights only work with the network, mels and texts that they were trained for: change "
                      "the setting back");
    return rc;
}

/* Its clips are not there to stand for them. */
static void say_speakers(const Trainer *t, const Checkpoint *v)
{
    Buf names = {0};
    int missing = 0;
    for (int i = 0; i < v->speaker_count; i++) {
        int found = 0;
        for (int k = 0; k < t->o.train->speaker_count && !found; k++) {
            const Str *s = &t->o.train->speakers[k];
            found = s->n == strlen(v->speakers[i]) && memcmp(s->p, v->speakers[i], s->n) == 0;
        }
        if (!found && missing++ < MOST_NAMED)
            buf_printf(&names, "%s%s", missing > 1 ? ", " : "", v->speakers[i]);
    }
    if (missing && !names.failed)
        log_info(t->log,
                 "  %d of its %d speaker%s not in these data and will not be in the new voice: %.*s%s",
                 missing, v->speaker_count, v->speaker_count == 1 ? " is" : "s are", (int)names.size,
                 (const char *)names.data, missing > MOST_NAMED ? ", ..." : "");
    buf_free(&names);
}

/* A vector that no training has touched is noise, which would have to be unlearned first. */
static int fill_symbols(const Trainer *t, const Checkpoint *v, float *weights, Err *err)
{
    const Model *m = engine_model(t->engine);
    const int symbols = tokens_count();
    uint8_t *seen = mem_calloc(2 * (size_t)symbols, 1);
    Buf names = {0};
    int unseen = 0;
    if (!seen)
        return err_set(err, ERR_NOMEM, "no memory for %d symbols", symbols);
    uint8_t *used = seen + symbols;
    if (symbols_seen(seen, v)) {
        symbols_fill(weights + m->at.symbols, seen, t->cfg->text_encoder_dim);
        symbols_mark(used, t->o.train);
        memset(used, 0, TOKEN_FIRST_SYMBOL);
    }
    for (int i = 0; i < symbols; i++) {
        char name[8], near[8];
        const int from = used[i] && !seen[i] ? symbols_nearest(seen, i) : -1;
        if (!used[i] || seen[i] || unseen++ >= MOST_NAMED)
            continue;
        buf_printf(&names, "%s%s", unseen > 1 ? " " : "", tokens_name(i, name));
        if (from >= 0)
            buf_printf(&names, " (as %s)", tokens_name(from, near));
    }
    if (unseen && !names.failed)
        log_info(t->log,
                 "  %d symbol%s of these texts %s new to it and start%s from similar symbols, or from the "
                 "mean of all: %.*s%s",
                 unseen, unseen == 1 ? "" : "s", unseen == 1 ? "is" : "are", unseen == 1 ? "s" : "",
                 (int)names.size, (const char *)names.data, unseen > MOST_NAMED ? " ..." : "");
    buf_free(&names);
    free(seen);
    return 0;
}

/* --- statistics --- */

/* Mels and pitch are normalised with the statistics that the weights were trained with, not with those of
 * these data. */
static int adopt_statistics(Trainer *t, const Checkpoint *v, Err *err)
{
    const size_t bands = (size_t)t->cfg->n_mels;
    double *s = mem_calloc(2 * bands, sizeof *s);
    if (!s)
        return err_set(err, ERR_NOMEM, "no memory for the statistics of %zu bands", bands);
    t->statistics = s;
    for (size_t i = 0; i < bands; i++) {
        s[i] = (double)v->content.mean[i];
        s[bands + i] = (double)v->content.deviation[i];
    }
    Corpus *views[] = {&t->train, &t->held_out};
    for (int i = 0; i < 2; i++) {
        views[i]->mean = s;
        views[i]->deviation = s + bands;
        /* Older checkpoints have no pitch; that of the data is the best guess then. */
        if (v->pitch_deviation > 0) {
            views[i]->statistics.pitch_mean = v->pitch_mean;
            views[i]->statistics.pitch_deviation = v->pitch_deviation;
        }
    }
    return 0;
}

/* --- languages --- */

void trainer_take_languages(Trainer *t, const LanguageList *languages)
{
    corpus_take_languages(&t->train, languages);
    if (t->o.validation)
        corpus_take_languages(&t->held_out, languages);
}

/* Those of the weights keep their numbers; those that the texts add come behind them. v NULL: all begins
 * here. A run that is resumed keeps the network it has. */
static int settle_languages(Trainer *t, const Checkpoint *v, Err *err)
{
    const LanguageList *found = t->train.found_languages;
    const int resumed = t->begins == BEGINS_RESUMED;
    char names[200];
    LanguageList list = {0};
    if (v && (v->language_input || (resumed && v->knows_languages)))
        list = v->languages;
    for (int i = 0; i < found->count; i++)
        if (language_list_add(&list, found->codes[i]) < 0)
            return err_set(err, ERR_DATA, "the voice would have more than %d languages", LANGUAGES_MOST);
    t->languages = resumed ? v->language_input : list.count;
    trainer_take_languages(t, &list);
    language_list_show(&list, names, sizeof names);
    if (resumed && v->language_input && list.count > v->language_input) {
        err_set(err, ERR_CONFIG,
                "%s was not trained on all languages of these texts; with them it would have %s", v->path,
                names);
        return err_hint(err, "--init-from %s with another --checkpoint-dir starts a voice that has them too",
                        v->path);
    }
    if (list.count > 1)
        log_info(t->log, "%d languages: %s%s", list.count, names,
                 t->languages ? "" : "; the network of this run cannot tell languages apart");
    return 0;
}

/* --- before the data are prepared --- */

/* follow: these settings too, if they were not given; NULL: they stay. */
static int look(int *batch, Beginning *begins, Config *follow, const Config *cfg, int ranks, Err *err)
{
    Trainer *t = mem_calloc(1, sizeof *t);
    if (!t)
        return err_set(err, ERR_NOMEM, "no memory for the trainer");
    Log quiet = {.level = LOG_ERROR};
    t->cfg = cfg;
    t->log = &quiet; /* all else is said when the run begins */
    *batch = batch_now(cfg, ranks, NULL);
    int rc = choose(begins, cfg, &quiet, err);
    if (!rc && *begins != BEGINS_NEW) {
        int resumed = *begins == BEGINS_RESUMED;
        Checkpoint *v = &t->begun_with;
        rc = open_begun(v, *begins, cfg, &quiet, err);
        if (!rc && follow)
            rc = settings_follow(follow, v, resumed, err);
        if (!rc)
            rc = resumed ? check_settings(t, v, err) : check_given(t, v, err);
        if (!rc && resumed)
            *batch = batch_now(cfg, ranks, v);
        checkpoint_close(v);
    }
    free(t);
    return rc;
}

int trainer_check(int *batch, const Config *cfg, int ranks, Err *err)
{
    Beginning ignored;
    return look(batch, &ignored, NULL, cfg, ranks, err);
}

int beginning_settle(int *batch, Beginning *begins, Config *cfg, int ranks, Err *err)
{
    return look(batch, begins, cfg, cfg, ranks, err);
}

/* --- both halves of it --- */

int beginning_open(Trainer *t, Err *err)
{
    const Config *cfg = t->cfg;
    Checkpoint *v = &t->begun_with;
    t->state = (TrainState){.data = {.seed = (uint64_t)cfg->seed}, .batch = t->o.batch};
    choice_begin(&t->state.choice);
    int rc = choose(&t->begins, cfg, t->log, err);
    const int voice = cfg->network != NETWORK_VOCODER;
    if (!rc && t->begins == BEGINS_NEW && voice)
        return settle_languages(t, NULL, err);
    if (rc || t->begins == BEGINS_NEW)
        return rc;
    rc = open_begun(v, t->begins, cfg, t->log, err);
    if (!rc)
        rc = t->begins == BEGINS_RESUMED ? check_resumed(t, v, err) : check_given(t, v, err);
    if (!rc && voice)
        rc = settle_languages(t, v, err);
    return rc || !voice ? rc : adopt_statistics(t, v, err);
}

/* Weights and moments travel through the snapshot's memory, which is not in use yet. */
static int load_weights(Trainer *t, const Checkpoint *v, Err *err)
{
    float *const *flat = t->snapshot.flat;
    const int resumed = t->begins == BEGINS_RESUMED;
    const Model *m = engine_model(t->engine);
    int rc =
        resumed ? 0 : checkpoint_first_params(v, m, (uint64_t)t->cfg->seed, flat[CHECKPOINT_WEIGHTS], err);
    for (int g = 0; g < CHECKPOINT_GROUPS && resumed && !rc; g++)
        rc = checkpoint_params(v, m, (CheckpointGroup)g, flat[g], err);
    if (!rc && !resumed && t->cfg->network == NETWORK_VOICE)
        rc = fill_symbols(t, v, flat[CHECKPOINT_WEIGHTS], err);
    if (!rc)
        rc = engine_load(t->engine, flat[CHECKPOINT_WEIGHTS], resumed ? flat[CHECKPOINT_MOMENTS1] : NULL,
                         resumed ? flat[CHECKPOINT_MOMENTS2] : NULL, &t->state.guard, err);
    return rc;
}

int beginning_load(Trainer *t, Err *err)
{
    Checkpoint *v = &t->begun_with;
    if (t->begins == BEGINS_WITH_WEIGHTS) {
        log_info(t->log, "starting with the weights of %s (step %lld of its run)%s", v->path,
                 (long long)v->content.state.step,
                 t->cfg->network == NETWORK_VOCODER ? ""
                                                    : "; its means and deviations of mel and pitch are kept");
        if (t->cfg->network == NETWORK_VOICE)
            say_speakers(t, v);
    }
    int rc = t->begins == BEGINS_NEW ? engine_initialise(t->engine, err) : load_weights(t, v, err);
    if (!rc && t->begins == BEGINS_RESUMED)
        log_info(t->log, "resuming from %s (step %lld, epoch %lld)", v->path, (long long)t->state.step,
                 (long long)t->state.data.epoch);
    checkpoint_close(v);
    t->first_step = t->saved = t->state.step;
    return rc;
}
