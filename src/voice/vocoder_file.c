/* vocoder_file.c - see vocoder_file.h. */
#include "voice/vocoder_file.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "config/bindings.h"

int vocoder_file_open(Checkpoint *v, const char *path, Log *log, Err *err)
{
    int rc = checkpoint_open(v, path, path, 0, NULL, log, err);
    if (rc || v->cfg.network == NETWORK_VOCODER)
        return rc;
    char file[CHECKPOINT_PATH_SIZE];
    snprintf(file, sizeof file, "%s", v->path);
    checkpoint_close(v);
    rc = checkpoint_open_vocoder(v, file, err);
    if (rc != ERR_MISSING)
        return rc;
    err_set(err, ERR_FORMAT, "%s holds a voice, but no vocoder", file);
    return err_hint(err, "vocoders are made by `myxtts train --network vocoder`, or lie inside a file that "
                         "`myxtts export` made of a run with one");
}

/* The folder beside a checkpoint. ERR_DATA: its path is too long. */
static int folder_beside(char out[CHECKPOINT_PATH_SIZE], const char *file, Err *err)
{
    const char *slash = strrchr(file, '/');
    int n = slash ? snprintf(out, CHECKPOINT_PATH_SIZE, "%.*s/" VOCODER_FOLDER, (int)(slash - file), file)
                  : snprintf(out, CHECKPOINT_PATH_SIZE, VOCODER_FOLDER);
    return n < CHECKPOINT_PATH_SIZE ? 0 : err_set(err, ERR_DATA, "the path %.200s... is too long", file);
}

/* A training that has not written its first checkpoint is no reason to be silent. */
static int open_beside(Checkpoint *v, const Checkpoint *voice, Log *log, Err *err)
{
    char folder[CHECKPOINT_PATH_SIZE];
    int rc = checkpoint_open_vocoder(v, voice->path, err);
    if (rc != ERR_MISSING)
        return rc ? rc : 1;
    err_clear(err);
    rc = folder_beside(folder, voice->path, err);
    if (rc || !file_exists(folder))
        return rc;
    rc = vocoder_file_open(v, folder, log, err);
    if (rc != ERR_MISSING)
        return rc ? rc : 1;
    log_warn(log, "%s; the sound is made without a vocoder", err->msg);
    err_clear(err);
    return 0;
}

int vocoder_file_of(Checkpoint *v, const Checkpoint *voice, const char *path, Log *log, Err *err)
{
    memset(v, 0, sizeof *v);
    if (path && strcmp(path, VOCODER_NONE) == 0)
        return 0;
    int rc = path ? vocoder_file_open(v, path, log, err) : open_beside(v, voice, log, err);
    if (path && !rc)
        rc = 1;
    if (rc != 1)
        return rc;
    rc = vocoder_file_fits(v, voice, err);
    if (!rc)
        return 1;
    checkpoint_close(v);
    return rc;
}

int vocoder_file_fits(const Checkpoint *vocoder, const Checkpoint *voice, Err *err)
{
    ConfigRow theirs, ours;
    if (strcmp(vocoder->mel, voice->mel) == 0)
        return 0;
    if (config_mel_differs(&vocoder->cfg, &voice->cfg, &theirs, &ours))
        err_set(err, ERR_CONFIG,
                "the vocoder %s makes sound of mels with %s %s (mel %.8s), but %s makes mels with %s %s (mel "
                "%.8s)",
                vocoder->path, theirs.key, theirs.value, vocoder->mel, voice->path, ours.key, ours.value,
                voice->mel);
    else
        err_set(err, ERR_CONFIG, "the vocoder %s makes sound of other mels (%s) than %s makes (%s)",
                vocoder->path, vocoder->mel, voice->path, voice->mel);
    return err_hint(err,
                    "train one on the mels of this voice (`myxtts train --network vocoder` with the same "
                    "settings), or speak with --vocoder " VOCODER_NONE);
}
