/* audio_writer.c - see audio_writer.h. */
#include "audio/audio_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <sndfile.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "audio/wav.h"

static int is_offered(SoundFormat kind)
{
    const int usual = 22050;
    return sound_formats[kind].ending && sound_format_rate(kind, usual);
}

/* A SoundFormat, or ERR_USAGE with the endings that can be written. */
static int find_kind(const char *path, Err *err)
{
    size_t n = strlen(path);
    char list[64] = "";
    for (int i = 0; i < SOUND_FORMATS; i++) {
        if (!is_offered((SoundFormat)i))
            continue;
        size_t length = strlen(sound_formats[i].ending);
        if (n > length && strcasecmp(path + n - length, sound_formats[i].ending) == 0)
            return i;
        strcat(strcat(list, *list ? ", " : ""), sound_formats[i].ending);
    }
    err_set(err, ERR_USAGE, "the extension of '%s' is not that of a sound format that can be written", path);
    err_hint(err, "the extension can be %s; - is standard output", list);
    return ERR_USAGE;
}

int audio_writer_open(AudioWriter *w, const char *path, Err *err)
{
    struct stat st;
    *w = (AudioWriter){.kind = find_kind(path, err)};
    if (w->kind < 0)
        return w->kind;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return err_set(err, ERR_IO, "%s is a folder, not a sound file", path);
    return file_writer_open(&w->file, path, err);
}

/* A redirected file may hold something before the speech, or be open for appending. */
void audio_writer_open_pipe(AudioWriter *w, int fd)
{
    int flags = fcntl(fd, F_GETFL);
    *w = (AudioWriter){.pipe_plus1 = fd + 1,
                       .start = flags < 0 || flags & O_APPEND ? -1 : (int64_t)lseek(fd, 0, SEEK_CUR)};
}

static int descriptor(const AudioWriter *w)
{
    return w->pipe_plus1 ? w->pipe_plus1 - 1 : w->file.fd_plus1 - 1;
}
static const char *name(const AudioWriter *w) { return w->pipe_plus1 ? "standard output" : w->file.path; }

/* A WAV: what the encoder has ready. */
static int add_wav(AudioWriter *w, const float *samples, int64_t n, Err *err)
{
    w->bytes.size = 0;
    int rc = sound_encoder_add(w->wav, &w->bytes, samples, n, err);
    return rc ? rc : file_write_all(descriptor(w), w->bytes.data, w->bytes.size, name(w), err);
}

int audio_writer_begin(AudioWriter *w, int rate, Err *err)
{
    w->rate = rate;
    if (w->kind == SOUND_WAV) {
        int rc = sound_encoder_open(&w->wav, SOUND_WAV, rate, 0, err);
        return rc ? rc : add_wav(w, NULL, 0, err); /* commit writes the header again */
    }
    int format = sound_format_codec(w->kind, rate);
    if (!format)
        return err_set(err, ERR_CONFIG, "%s: a %s file cannot have %d samples per second", name(w),
                       sound_formats[w->kind].name, rate);
    SF_INFO info = {.samplerate = rate, .channels = 1, .format = format};
    w->encoder = sf_open_fd(descriptor(w), SFM_WRITE, &info, 0);
    if (!w->encoder)
        return err_set(err, ERR_IO, "cannot write to %s: %s", name(w), sf_strerror(NULL));
    return 0;
}

int audio_writer_add(AudioWriter *w, const float *samples, int64_t n, Err *err)
{
    w->count += n;
    if (w->wav)
        return add_wav(w, samples, n, err);
    w->bytes.size = 0;
    int rc = wav_samples(&w->bytes, samples, n, err);
    if (rc)
        return rc;
    errno = 0;
    if (sf_write_short(w->encoder, (const short *)(const void *)w->bytes.data, n) == n)
        return 0;
    return err_set(err, errno == ENOSPC || errno == EFBIG ? ERR_NOSPACE : ERR_IO, "cannot write to %s: %s",
                   name(w), errno ? strerror(errno) : sf_strerror(w->encoder));
}

/* The sizes of a WAV are known now; a pipe keeps those it began with. */
static int write_header_again(AudioWriter *w, Err *err)
{
    uint8_t head[WAV_HEADER_BYTES];
    if (w->start < 0)
        return 0;
    wav_header(head, w->count, w->rate);
    if (pwrite(descriptor(w), head, sizeof head, (off_t)w->start) == (ssize_t)sizeof head)
        return 0;
    return err_set_errno(err, ERR_IO, "cannot write to %s", name(w));
}

int audio_writer_commit(AudioWriter *w, Err *err)
{
    int rc = 0;
    if (w->encoder) {
        rc = sf_close(w->encoder);
        w->encoder = NULL;
        if (rc)
            rc = err_set(err, ERR_IO, "cannot finish %s: %s", name(w), sf_error_number(rc));
    } else {
        w->bytes.size = 0;
        rc = sound_encoder_finish(w->wav, &w->bytes, err);
        if (!rc)
            rc = file_write_all(descriptor(w), w->bytes.data, w->bytes.size, name(w), err);
        if (!rc)
            rc = write_header_again(w, err);
    }
    if (!rc && !w->pipe_plus1)
        rc = file_writer_commit(&w->file, err);
    sound_encoder_close(w->wav);
    w->wav = NULL;
    buf_free(&w->bytes);
    return rc;
}

void audio_writer_abort(AudioWriter *w)
{
    if (w->encoder)
        sf_close(w->encoder);
    sound_encoder_close(w->wav);
    file_writer_abort(&w->file);
    buf_free(&w->bytes);
    *w = (AudioWriter){0};
}
