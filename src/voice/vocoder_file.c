/* vocoder_file.c - see vocoder_file.h. */
#include "voice/vocoder_file.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "config/bindings.h"

#define ABOUT_AS_GOOD 1.6 /* times Griffin-Lim's distance: what still sounds better (judge/spectra.h) */

int vocoder_file_folder(char out[CHECKPOINT_PATH_SIZE], const char *file, Err *err)
{
    const char *slash = strrchr(file, '/');
    int n = slash ? snprintf(out, CHECKPOINT_PATH_SIZE, "%.*s/" VOCODER_FOLDER, (int)(slash - file), file)
                  : snprintf(out, CHECKPOINT_PATH_SIZE, VOCODER_FOLDER);
    return n < CHECKPOINT_PATH_SIZE ? 0 : err_set(err, ERR_DATA, "the path %.200s... is too long", file);
}

static int not_a_vocoder(const char *file, Err *err)
{
    err_set(err, ERR_FORMAT, "%s has a voice, but no vocoder", file);
    return err_hint(err, "`myxtts train --network vocoder` trains vocoders; a file that `myxtts export` made "
                         "from a run with a vocoder has one too");
}

/* The vocoder of the voice in a file: 1, or 0. A vocoder training without a checkpoint so far must not keep
 * the voice from speaking. */
static int open_beside(Checkpoint *v, const char *file, Log *log, Err *err)
{
    char folder[CHECKPOINT_PATH_SIZE];
    int rc = checkpoint_open_vocoder(v, file, err);
    if (rc != ERR_MISSING)
        return rc ? rc : 1;
    err_clear(err);
    rc = vocoder_file_folder(folder, file, err);
    if (rc || !file_exists(folder))
        return rc;
    rc = checkpoint_open(v, folder, folder, 0, NULL, log, err);
    if (rc == ERR_MISSING) {
        log_warn(log, "%s; making the sound without a vocoder", err->msg);
        err_clear(err);
        return 0;
    }
    if (!rc && v->cfg.network != NETWORK_VOCODER) {
        rc = not_a_vocoder(v->path, err);
        checkpoint_close(v);
    }
    return rc ? rc : 1;
}

int vocoder_file_open(Checkpoint *v, const char *path, Log *log, Err *err)
{
    int rc = checkpoint_open(v, path, path, 0, NULL, log, err);
    if (rc || v->cfg.network == NETWORK_VOCODER)
        return rc;
    char file[CHECKPOINT_PATH_SIZE];
    snprintf(file, sizeof file, "%s", v->path);
    checkpoint_close(v);
    rc = open_beside(v, file, log, err);
    if (rc)
        return rc == 1 ? 0 : rc;
    return not_a_vocoder(file, err);
}

int vocoder_file_is_worse(const TrainState *s)
{
    return s->copies[0] > 0 && s->copies[1] > 0 && s->copies[0] > ABOUT_AS_GOOD * s->copies[1];
}

/* Uses the better of the two, and says which. 1: the vocoder's. */
static int choose_by_ear(const Checkpoint *v, int asked, int needed, Log *log)
{
    const TrainState *s = &v->content.state;
    const int worse = vocoder_file_is_worse(s);
    if (worse && needed && !asked)
        log_warn(
            log,
            "this file will sound rougher than `myxtts synth`, where Griffin-Lim makes the sound: copies "
            "by the vocoder %s (step %lld) are %.3f away from the recordings, Griffin-Lim's %.3f; train "
            "the vocoder longer, on a GPU, for a better file",
            v->path, (long long)s->step, s->copies[0], s->copies[1]);
    else if (worse && !asked)
        log_info(log,
                 "Griffin-Lim makes the sound: copies by the vocoder %s (step %lld) are %.3f away from the "
                 "recordings, Griffin-Lim's %.3f; train the vocoder longer, on a GPU, or use it anyway: "
                 "--vocoder %s",
                 v->path, (long long)s->step, s->copies[0], s->copies[1], v->path);
    else if (worse)
        log_info(log, "copies by this vocoder are %.3f from the recordings, Griffin-Lim's are %.3f",
                 s->copies[0], s->copies[1]);
    else if (!(s->copies[1] > 0))
        log_debug(log, "the vocoder %s has not been compared with Griffin-Lim", v->path);
    return asked || needed || !worse;
}

int vocoder_file_of(Checkpoint *v, const Checkpoint *voice, const char *path, int needed, Log *log, Err *err)
{
    memset(v, 0, sizeof *v);
    if (path && strcmp(path, VOCODER_NONE) == 0)
        return 0;
    int rc = path ? vocoder_file_open(v, path, log, err) : open_beside(v, voice->path, log, err);
    if (path && !rc)
        rc = 1;
    if (rc != 1)
        return rc;
    rc = vocoder_file_fits(v, &voice->cfg, voice->path, err);
    if (!rc && choose_by_ear(v, path != NULL, needed, log))
        return 1;
    checkpoint_close(v);
    return rc;
}

/* The hash says whether, the settings say what. */
int vocoder_file_fits(const Checkpoint *vocoder, const Config *cfg, const char *whose, Err *err)
{
    ConfigRow theirs, ours;
    const Hash128 h = config_mel_hash(cfg);
    char mel[sizeof vocoder->mel];
    snprintf(mel, sizeof mel, "%016llx%016llx", (unsigned long long)h.hi, (unsigned long long)h.lo);
    if (strcmp(vocoder->mel, mel) == 0)
        return 0;
    if (config_mel_differs(&vocoder->cfg, cfg, &theirs, &ours))
        err_set(err, ERR_CONFIG,
                "the vocoder %s was trained on mels with %s %s (mel %.8s), but %s makes mels with %s %s (mel "
                "%.8s)",
                vocoder->path, theirs.key, theirs.value, vocoder->mel, whose, ours.key, ours.value, mel);
    else
        err_set(err, ERR_CONFIG, "the vocoder %s was trained on mels of type %.8s, but %s makes type %.8s",
                vocoder->path, vocoder->mel, whose, mel);
    return err_hint(err, "train a vocoder on these mels (`myxtts train --network vocoder` with the same "
                         "settings), or use Griffin-Lim: --vocoder " VOCODER_NONE);
}
