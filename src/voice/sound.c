/* sound.c - the kinds of sound stages, and what they have in common. */
#include "voice/sound.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* The first is the one that is used when none is named. */
static const SoundKind *const kinds[] = {
    &sound_griffin_lim,
};

struct Sound {
    const SoundKind *kind;
    void *stage;
};

/* By name, as a setting gives it. */
static const SoundKind *find_kind(const char *name)
{
    if (!name)
        return kinds[0];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}

int sound_open(Sound **out, const SoundOptions *o, Err *err)
{
    *out = NULL;
    const SoundKind *kind = find_kind(o->kind);
    if (!kind) {
        err_set(err, ERR_CONFIG, "there is no sound stage '%s'", o->kind);
        return err_hint(err, "%s is one", kinds[0]->name);
    }
    Sound *s = mem_calloc(1, sizeof *s);
    if (!s)
        return err_set(err, ERR_NOMEM, "no memory for the sound stage %s", kind->name);
    s->kind = kind;
    int rc = kind->open(&s->stage, o, err);
    if (rc) {
        sound_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

void sound_close(Sound *s)
{
    if (!s)
        return;
    s->kind->close(s->stage);
    free(s);
}

/* Memory is zeroed, so what no kind writes to is silence. */
int sound_make(Sound *s, float **samples, int64_t *count, const float *log_mel, int64_t frames,
               int64_t silence, Err *err)
{
    *count = s->kind->samples(s->stage, frames) + silence;
    *samples = mem_calloc((size_t)*count, sizeof **samples);
    if (!*samples)
        return err_set(err, ERR_NOMEM, "no memory for %lld samples", (long long)*count);
    int rc = s->kind->run(s->stage, *samples, log_mel, frames, err);
    if (rc) {
        free(*samples);
        *samples = NULL;
    }
    return rc;
}
