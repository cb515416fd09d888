/* sound_griffin_lim.c - the sound stage that needs no training: audio/griffin_lim.h. */
#include <stdlib.h>

#include "audio/griffin_lim.h"
#include "base/mem.h"
#include "voice/sound.h"

#define SEED 1 /* of the first phases: the same mel gives the same sound */

typedef struct Stage {
    GriffinLim *griffin;
    int iterations;
} Stage;

static void stage_close(void *stage)
{
    Stage *s = stage;
    if (!s)
        return;
    griffin_lim_close(s->griffin);
    free(s);
}

/* The number of iterations is the one choice between quality and time. */
static int stage_open(void **out, const SoundOptions *o, Err *err)
{
    *out = NULL;
    Stage *s = mem_calloc(1, sizeof *s);
    if (!s)
        return err_set(err, ERR_NOMEM, "no memory for Griffin-Lim");
    s->iterations = o->iterations == SOUND_NONE ? 0 : o->iterations ? o->iterations : GRIFFIN_LIM_ITERATIONS;
    int rc = griffin_lim_open(&s->griffin, o->cfg, err);
    if (rc) {
        stage_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

static int64_t stage_samples(const void *stage, int64_t frames)
{
    return griffin_lim_samples(((const Stage *)stage)->griffin, frames);
}

static int stage_run(void *stage, float *samples, const float *log_mel, int64_t frames, Err *err)
{
    const Stage *s = stage;
    return griffin_lim_run(s->griffin, samples, log_mel, frames, s->iterations, SEED, err);
}

const SoundKind sound_griffin_lim = {.name = "griffin-lim",
                                     .open = stage_open,
                                     .samples = stage_samples,
                                     .run = stage_run,
                                     .close = stage_close};
