/* choosing.c - which checkpoint of the run is best.safetensors (judge/choice.h decides), and what follows
 * from it: the names in the folder, best.json, the log. Rank 0 does all of this; the others are told. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/run_parts.h"
#include "voice/best_note.h"

static int is_voice(const Trainer *t) { return t->cfg->network == NETWORK_VOICE; }

/* best.json; without it the run continues, and readers find what the checkpoint itself says. */
static void write_note(Trainer *t)
{
    Err err = {0};
    if (best_note_write(t->cfg->checkpoint_dir, &t->state.choice.best, is_voice(t), &err))
        log_warn(t->log, "%s", err.msg);
}

/* 1: words may still come. */
static int may_hear_words(const Trainer *t) { return t->hearing && (!t->heard.clips || t->heard.judge[0]); }

static void drop_previous(Trainer *t)
{
    checkpoint_writer_drop_previous(t->writer);
    t->before = (Judged){0};
}

/* The best of before stays until the words of the new one are known. A checkpoint whose words were not judged
 * is kept only if there is no other. */
static void keep_previous(Trainer *t, const Judged *best)
{
    Err err = {0};
    if (!best->step || !(best->ear.movement > 0) || !may_hear_words(t) || (!best->words && t->before.step))
        return;
    if (checkpoint_writer_keep_best(t->writer, &err)) {
        log_debug(t->log, "%s", err.msg);
        return;
    }
    t->before = *best;
}

int choosing_validate(Trainer *t, const Validation *v)
{
    Choice *c = &t->state.choice;
    const Choice was = *c;
    Judged j = {.step = t->state.step, .loss = v->loss};
    j.taught = !is_voice(t) && t->state.critic_step > 0;
    if (choice_speaks(c, &v->ear, v->own_text, v->loss))
        j.ear = v->ear;
    if (t->submitted.step == j.step)
        t->submitted = j;
    if (!choice_validate(c, &j, v->sentences, t->cfg->early_stopping_min_delta))
        return 0;
    keep_previous(t, &was.best);
    t->unwritten = was;
    write_note(t);
    return 1;
}

/* A best one without a file is none: the one before is the best again. */
void choosing_forget(Trainer *t)
{
    t->state.choice.best = t->unwritten.best;
    t->state.choice.peak = t->unwritten.peak;
    write_note(t);
}

static void say_change(Trainer *t, const char *why_not)
{
    char why[300];
    judged_why(&t->state.choice.best, is_voice(t), why, sizeof why);
    log_info(t->log, "%s: the best is %s", why_not, why);
    report_best(t);
}

/* The files follow what the words have changed. */
void choosing_hear(Trainer *t)
{
    Choice *c = &t->state.choice;
    const Judged was = c->best;
    Err err = {0};
    char what[160];
    if (!t->has_heard)
        return;
    t->has_heard = 0;
    Judged heard = t->heard_mark;
    heard.words = t->heard.voice.words;
    heard.wrong = t->heard.voice.wrong;
    heard.their_words = t->heard.recordings.words;
    heard.their_wrong = t->heard.recordings.wrong;
    if (heard.step != t->heard.step)
        return;
    WordsVerdict verdict = choice_hear(c, &t->before, &heard, &t->heard.recordings);
    snprintf(what, sizeof what, "step %lld gets clearly more words wrong", (long long)was.step);
    if (verdict == WORDS_RETURN && checkpoint_writer_return_best(t->writer, &err)) {
        log_warn(t->log, "%s, but %s", what, err.msg);
        c->best = was;
        if (was.step == heard.step) {
            c->best.words = heard.words;
            c->best.wrong = heard.wrong;
            c->best.their_words = heard.their_words;
            c->best.their_wrong = heard.their_wrong;
        }
        c->peak = 0; /* the next checkpoint that is judged takes its place */
    } else if (verdict == WORDS_PREFER && !checkpoint_writer_choose_best(t->writer, heard.step, &err)) {
        c->best = heard;
        c->peak = ear_score(&heard.ear);
    } else if (verdict == WORDS_PREFER) {
        log_info(
            t->log,
            "%s than step %lld, whose checkpoint is gone: the next checkpoint that is judged takes its place",
            what, (long long)heard.step);
    }
    if (c->best.step != was.step)
        say_change(t, what);
    else if (c->best.words != was.words)
        report_best(t);
    if (c->best.words)
        drop_previous(t);
    if (c->best.step != was.step || c->best.words != was.words)
        write_note(t);
}

void choosing_end(Trainer *t) { drop_previous(t); }
