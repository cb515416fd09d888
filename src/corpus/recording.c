/* recording.c - see recording.h. */
#include "corpus/recording.h"

#include <errno.h>
#include <math.h>
#include <sndfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "dataset/audio_file.h"

enum { PIECE_FRAMES = 1 << 15 };

struct Recording {
    SNDFILE *file;
    SF_INFO info;
    float *read, *mono; /* [PIECE_FRAMES * channels], [PIECE_FRAMES] */
    int64_t given;
    char damage[200];
};

static int open_sound(Recording *r, const char *path, Err *err)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return err_set_errno(err, errno == ENOENT ? ERR_MISSING : ERR_IO, "%s", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_FORMAT, "%s: %s", path,
                       S_ISDIR(st.st_mode) ? "a folder, not a recording" : "not a regular file");
    if (st.st_size == 0)
        return err_set(err, ERR_FORMAT, "%s: the file is empty", path);
    r->file = sf_open(path, SFM_READ, &r->info);
    if (!r->file) {
        err_set(err, ERR_FORMAT, "%s: not a sound file that libsndfile can read (%lld bytes)", path,
                (long long)st.st_size);
        return err_hint(err, "convert it to WAV, FLAC, OGG or MP3, for example with `ffmpeg -i IN OUT.flac`");
    }
    if (r->info.samplerate < 1 || r->info.samplerate > AUDIO_MAX_RATE || r->info.channels < 1 ||
        r->info.channels > AUDIO_MAX_CHANNELS)
        return err_set(err, ERR_FORMAT, "%s: %d Hz and %d channels in the header", path, r->info.samplerate,
                       r->info.channels);
    r->read = mem_calloc((size_t)PIECE_FRAMES * (size_t)r->info.channels, sizeof *r->read);
    r->mono = mem_calloc(PIECE_FRAMES, sizeof *r->mono);
    return r->read && r->mono ? 0 : err_set(err, ERR_NOMEM, "%s: no memory to decode it", path);
}

int recording_open(Recording **out, const char *path, Err *err)
{
    *out = NULL;
    Recording *r = mem_calloc(1, sizeof *r);
    if (!r)
        return err_set(err, ERR_NOMEM, "%s: no memory to decode it", path);
    int rc = open_sound(r, path, err);
    if (rc)
        recording_close(r);
    else
        *out = r;
    return rc;
}

void recording_close(Recording *r)
{
    if (!r)
        return;
    if (r->file)
        sf_close(r->file);
    free(r->read);
    free(r->mono);
    free(r);
}

int recording_rate(const Recording *r) { return r->info.samplerate; }
int64_t recording_length(const Recording *r) { return r->info.frames; }
const char *recording_damage(const Recording *r) { return r->damage[0] ? r->damage : NULL; }

/* Channels are averaged; a sample that is not a number becomes silence. */
void recording_next(Recording *r, const float **samples, int64_t *n)
{
    const int channels = r->info.channels;
    sf_count_t got = sf_readf_float(r->file, r->read, PIECE_FRAMES);
    *samples = r->mono;
    *n = got > 0 ? got : 0;
    for (int64_t i = 0; i < *n; i++) {
        float sum = 0.0f;
        for (int c = 0; c < channels; c++)
            sum += r->read[i * channels + c];
        r->mono[i] = isfinite(sum) ? sum / (float)channels : 0.0f;
    }
    r->given += *n;
    if (*n == 0 && !r->damage[0]) {
        const int error = sf_error(r->file), type = r->info.format & SF_FORMAT_TYPEMASK;
        const int exact = type == SF_FORMAT_WAV || type == SF_FORMAT_WAVEX || type == SF_FORMAT_FLAC;
        if (error || (exact && r->given < r->info.frames))
            snprintf(r->damage, sizeof r->damage, "damaged after %.1f s: %s",
                     (double)r->given / r->info.samplerate,
                     error ? sf_error_number(error) : "the file is shorter than its header says");
    }
}
