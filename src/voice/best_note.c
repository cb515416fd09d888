/* best_note.c - see best_note.h. */
#include "voice/best_note.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "voice/checkpoint_folder_private.h"

#define EXACT JSON_REAL_PRECISION(17) /* digits: a double reads back to the same bits */
#define LARGEST 65536                 /* bytes; ours have a few hundred */

int best_note_write(const char *dir, const Judged *best, int has_ear, Err *err)
{
    char path[CHECKPOINT_PATH_SIZE];
    FileWriter w = {0};
    json_t *o = json_object();
    judged_json(o, best, has_ear);
    ear_json(o, &best->ear);
    json_object_set_new(o, "words", best->words ? json_integer((json_int_t)best->words) : json_null());
    json_object_set_new(o, "words_wrong", best->words ? json_integer((json_int_t)best->wrong) : json_null());
    json_object_set_new(o, "recordings_words",
                        best->their_words ? json_integer((json_int_t)best->their_words) : json_null());
    json_object_set_new(o, "recordings_words_wrong",
                        best->their_words ? json_integer((json_int_t)best->their_wrong) : json_null());
    if (best->taught)
        json_object_set_new(o, "taught", json_true());
    char *text = json_dumps(o, JSON_INDENT(2) | EXACT);
    json_decref(o);
    int rc = text ? folder_join(path, dir, BEST_NOTE, err) : err_set(err, ERR_NOMEM, "no memory for a note");
    if (!rc)
        rc = file_writer_open(&w, path, err);
    if (!rc)
        rc = file_writer_write(&w, text, strlen(text), err);
    if (!rc)
        rc = file_writer_write(&w, "\n", 1, err);
    if (!rc)
        rc = file_writer_commit(&w, err);
    file_writer_abort(&w);
    free(text);
    return rc;
}

/* What is missing or no number is not known. */
static double share(const json_t *o, const char *key)
{
    const double x = json_get_double(o, key);
    return isfinite(x) && x > 0 ? x : 0;
}

int best_note_read(Judged *best, const char *dir)
{
    char path[CHECKPOINT_PATH_SIZE];
    Buf text = {0};
    int there = 0;
    *best = (Judged){.loss = INFINITY};
    if (folder_join(path, dir, BEST_NOTE, NULL) || file_read(&text, path, LARGEST, NULL)) {
        buf_free(&text);
        return 0;
    }
    json_t *o = json_loadb(text.data, text.size, 0, NULL);
    buf_free(&text);
    const double loss = json_get_double(o, "best_loss");
    best->step = json_get_count(o, "best_step", 0);
    if (best->step && isfinite(loss)) {
        best->loss = loss;
        best->ear = (EarFigures){.movement = share(o, "movement"),
                                 .detail = share(o, "detail"),
                                 .pitch_range = share(o, "pitch_range"),
                                 .length_ratio = share(o, "length_ratio")};
        best->words = json_get_count(o, "words", 0);
        best->wrong = json_get_count(o, "words_wrong", 0);
        best->their_words = json_get_count(o, "recordings_words", 0);
        best->their_wrong = json_get_count(o, "recordings_words_wrong", 0);
        best->taught = json_is_true(json_object_get(o, "taught"));
        there = 1;
    }
    json_decref(o);
    return there;
}

/* The folder of a file; "." for a bare name. */
static void folder_of(char dir[CHECKPOINT_PATH_SIZE], const char *path)
{
    snprintf(dir, CHECKPOINT_PATH_SIZE, "%s", path);
    char *slash = strrchr(dir, '/');
    if (slash)
        slash[slash == dir] = 0;
    else
        snprintf(dir, CHECKPOINT_PATH_SIZE, ".");
}

void checkpoint_why(const Checkpoint *v, Judged *best, char *out, size_t cap)
{
    const TrainState *s = &v->content.state;
    char dir[CHECKPOINT_PATH_SIZE];
    Judged run = s->choice.best, note;
    folder_of(dir, v->path);
    /* A note about another file says nothing about the best one: a run was killed between the two. */
    if (best_note_read(&note, dir) && (note.step == s->step || run.step != s->step))
        run = note;
    if (cap)
        *out = 0;
    if (best)
        *best = run;
    if (!v->can_resume)
        return;
    if (!run.step)
        snprintf(out, cap, "step %lld: the newest; its run has not chosen a best checkpoint",
                 (long long)s->step);
    else if (run.step == s->step)
        judged_why(&run, v->cfg.network == NETWORK_VOICE, out, cap);
    else
        snprintf(out, cap, "step %lld, not the best of its run, which was step %lld", (long long)s->step,
                 (long long)run.step);
}
