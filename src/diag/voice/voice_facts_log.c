/* voice_facts_log.c - the curves of a run from its log.jsonl. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "diag/voice/voice_facts.h"
#include "train/log/run_log.h"

/* Everything after `step` does not count any more. */
static void take_back(VoiceFacts *f, int64_t step)
{
    while (f->train_count && f->train[f->train_count - 1].step > step)
        f->train_count--;
    while (f->validation_count && f->validation[f->validation_count - 1].step > step)
        f->validation_count--;
    while (f->heard_count && f->heard[f->heard_count - 1].step > step)
        f->heard_count--;
    if (f->diverged.step > step)
        f->diverged.step = -1;
}

/* The weights of the loss, from the settings that the run began with. */
static void take_weights(VoiceFacts *f, const json_t *settings)
{
    for (int i = 0; i < TERM_COUNT; i++) {
        const char *weight = json_string_value(json_object_get(settings, loss_term_weight_key((LossTerm)i)));
        if (weight)
            f->weight[i] = strtod(weight, NULL);
    }
}

/* A line of training or of validation: the loss and its terms. */
static int add_point(VoicePoint **points, size_t *count, size_t *cap, const json_t *o)
{
    if (mem_grow(points, cap, *count + 1, sizeof **points))
        return ERR_NOMEM;
    VoicePoint *p = &(*points)[(*count)++];
    *p = (VoicePoint){.step = json_get_count(o, "step", 0),
                      .loss = json_get_double(o, "loss"),
                      .lr = json_get_double(o, "lr"),
                      .own_text = json_get_double(o, "own_text"),
                      .score = json_get_double(o, "score")};
    for (int i = 0; i < TERM_COUNT; i++)
        p->terms[i] = json_get_double(o, loss_term_name((LossTerm)i));
    return 0;
}

/* What the recogniser heard. */
static int add_heard(VoiceFacts *f, const json_t *o)
{
    if (mem_grow(&f->heard, &f->heard_cap, f->heard_count + 1, sizeof *f->heard))
        return ERR_NOMEM;
    f->heard[f->heard_count++] =
        (VoiceHeard){.step = json_get_count(o, "step", 0),
                     .words = json_get_count(o, "words", 0),
                     .words_wrong = json_get_count(o, "words_wrong", 0),
                     .recordings_words = json_get_count(o, "recordings_words", 0),
                     .recordings_words_wrong = json_get_count(o, "recordings_words_wrong", 0),
                     .mcd_db = json_get_double(o, "mcd_db"),
                     .f0_rmse_semitones = json_get_double(o, "f0_rmse_semitones"),
                     .length_ratio = json_get_double(o, "length_ratio")};
    return 0;
}

/* A run that was resumed repeats some steps: the last word counts. */
static int add_line(void *arg, json_t *o)
{
    VoiceFacts *f = arg;
    const char *event = json_string_value(json_object_get(o, "event"));
    if (!event)
        return 0;
    if (strcmp(event, "start") == 0) {
        f->ended = 0;
        f->total_steps = json_get_count(o, "total_steps", 0);
        take_back(f, json_get_count(o, "step", 0)); /* without a checkpoint there is no "resume" */
        take_weights(f, json_object_get(o, "settings"));
    } else if (strcmp(event, "diverged") == 0) {
        f->diverged = (VoicePoint){.step = json_get_count(o, "step", 0), .loss = json_get_double(o, "loss")};
        f->diverged_from = json_get_double(o, "lowest_loss");
    } else if (strcmp(event, "end") == 0) {
        const char *how = json_string_value(json_object_get(o, "text"));
        f->ended = !how || (strcmp(how, "error") != 0 && strcmp(how, "stopped") != 0);
    } else if (strcmp(event, "resume") == 0)
        take_back(f, json_get_count(o, "step", 0));
    else if (strcmp(event, "step") == 0)
        return add_point(&f->train, &f->train_count, &f->train_cap, o);
    else if (strcmp(event, "validation") == 0)
        return add_point(&f->validation, &f->validation_count, &f->validation_cap, o);
    else if (strcmp(event, "heard") == 0)
        return add_heard(f, o);
    return 0;
}

/* A folder or the log itself. */
int voice_facts_from_log(VoiceFacts *f, const char *where, Err *err)
{
    struct stat st;
    char *path = stat(where, &st) == 0 && S_ISDIR(st.st_mode) ? file_join(where, "log.jsonl") : strdup(where);
    if (!path)
        return err_set(err, ERR_NOMEM, "no memory for the log of %s", where);
    f->train_count = f->validation_count = f->heard_count = 0;
    f->diverged.step = -1;
    int rc = run_log_each(path, add_line, f, NULL, err);
    if (rc == ERR_MISSING)
        err_hint(err, "give a folder that `myxtts train` wrote, or the log.jsonl in it");
    else if (rc == ERR_NOMEM)
        err_set(err, ERR_NOMEM, "no memory for the log %s", path);
    free(path);
    return rc;
}

void voice_facts_from_config(VoiceFacts *f, const Config *cfg)
{
    for (int i = 0; i < TERM_COUNT; i++)
        f->weight[i] = loss_term_weight((LossTerm)i, cfg);
}
