/* voice_watch.c - see voice_watch.h. */
#include "diag/voice/voice_watch.h"

/* Each cause is told once in a run. */
static void judge(VoiceWatch *w, int warn)
{
    w->count = voice_doctor(w->findings, VOICE_CAUSE_COUNT, &w->facts);
    for (int i = 0; i < w->count; i++) {
        const VoiceFinding *v = &w->findings[i];
        if (warn && !w->warned[v->cause])
            log_warn(w->log, "%s %s", v->evidence, v->advice);
        w->warned[v->cause] = 1;
    }
}

/* A log that cannot be read does not disturb the training. */
static void look(VoiceWatch *w, int warn)
{
    Err err = {0};
    if (voice_facts_from_log(&w->facts, w->cfg->checkpoint_dir, &err) == 0)
        judge(w, warn);
    else
        log_debug(w->log, "the curves of the run are not judged: %s", err.msg);
}

/* The recordings can be judged before the first step. */
void voice_watch_begin(VoiceWatch *w, const Config *cfg, const Corpus *train, const Corpus *validation,
                       Log *log)
{
    Err err = {0};
    *w = (VoiceWatch){.cfg = cfg, .log = log};
    voice_facts_clear(&w->facts);
    voice_facts_from_config(&w->facts, cfg);
    if (voice_facts_from_corpus(&w->facts, cfg, train, validation, VOICE_LOOK, &err))
        log_warn(log, "the recordings are not judged: %s", err.msg);
    else
        judge(w, 1);
}

int voice_watch_is_due(const VoiceWatch *w, int64_t step)
{
    const int64_t every = w->cfg->val_step > 0 ? w->cfg->val_step : 1;
    /* The validation of a step comes behind its line: it is seen with the next one. */
    return (step - 1) / every != (w->looked ? w->looked - 1 : 0) / every;
}

void voice_watch_step(VoiceWatch *w, int64_t step)
{
    w->looked = step;
    look(w, 1);
}

/* For the summary, which lists all findings itself. */
void voice_watch_end(VoiceWatch *w)
{
    if (w->cfg)
        look(w, 0);
}

void voice_watch_close(VoiceWatch *w)
{
    if (w->cfg)
        voice_facts_free(&w->facts);
    *w = (VoiceWatch){0};
}
