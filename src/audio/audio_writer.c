/* audio_writer.c - see audio_writer.h. */
#include "audio/audio_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <sndfile.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "audio/wav.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))
/* Names of libsndfile 1.1 (MP3) and 1.0.29 (Opus), as numbers: an older library says that it cannot. */
enum { MP3 = 0x230000 | 0x0082, OGG_OPUS = SF_FORMAT_OGG | 0x0064 };
enum { USUAL_RATE = 22050 };

/* A kind may have two formats: the first that the library offers is used. */
static const struct Kind {
    const char *ending;
    int format[2]; /* of libsndfile; 0: none */
} kinds[] = {
    {".wav", {0, 0}},
    {".flac", {SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 0}},
    {".ogg", {SF_FORMAT_OGG | SF_FORMAT_VORBIS, OGG_OPUS}},
    {".mp3", {MP3, 0}},
};

/* The first format of the kind that can hold the rate; 0: there is none. */
static int find_format(int kind, int rate)
{
    for (int i = 0; i < COUNT(kinds[kind].format) && kinds[kind].format[i]; i++) {
        SF_INFO info = {.samplerate = rate, .channels = 1, .format = kinds[kind].format[i]};
        if (sf_format_check(&info))
            return kinds[kind].format[i];
    }
    return 0;
}

static int is_offered(int kind)
{
    return !kinds[kind].format[0] || find_format(kind, USUAL_RATE) || find_format(kind, 48000);
}

/* Index into kinds, or ERR_USAGE with the endings that can be written. */
static int find_kind(const char *path, Err *err)
{
    size_t n = strlen(path);
    char list[64] = "";
    for (int i = 0; i < COUNT(kinds); i++) {
        size_t length = strlen(kinds[i].ending);
        if (!is_offered(i))
            continue;
        if (n > length && strcasecmp(path + n - length, kinds[i].ending) == 0)
            return i;
        strcat(strcat(list, *list ? ", " : ""), kinds[i].ending);
    }
    err_set(err, ERR_USAGE, "the ending of '%s' says no kind of sound that can be written here", path);
    err_hint(err, "endings are %s; - is standard output", list);
    return ERR_USAGE;
}

int audio_writer_open(AudioWriter *w, const char *path, Err *err)
{
    struct stat st;
    *w = (AudioWriter){.kind = find_kind(path, err)};
    if (w->kind < 0)
        return w->kind;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return err_set(err, ERR_IO, "%s is a folder: the speech cannot be written there", path);
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

int audio_writer_begin(AudioWriter *w, int rate, Err *err)
{
    uint8_t head[WAV_HEADER_BYTES];
    w->rate = rate;
    if (!kinds[w->kind].format[0]) {
        wav_header(head, w->pipe_plus1 ? WAV_UNKNOWN : 0, rate); /* commit writes it again */
        return file_write_all(descriptor(w), head, sizeof head, name(w), err);
    }
    int format = find_format(w->kind, rate);
    if (!format)
        return err_set(err, ERR_CONFIG, "%s: a %s file cannot hold %d samples per second", name(w),
                       kinds[w->kind].ending + 1, rate);
    SF_INFO info = {.samplerate = rate, .channels = 1, .format = format};
    w->encoder = sf_open_fd(descriptor(w), SFM_WRITE, &info, 0);
    if (!w->encoder)
        return err_set(err, ERR_IO, "cannot write to %s: %s", name(w), sf_strerror(NULL));
    return 0;
}

int audio_writer_add(AudioWriter *w, const float *samples, int64_t n, Err *err)
{
    w->bytes.size = 0;
    int rc = wav_samples(&w->bytes, samples, n, err);
    if (rc)
        return rc;
    w->count += n;
    if (!w->encoder) {
        if (w->count > WAV_MAX_SAMPLES)
            return err_set(err, ERR_DATA, "a WAV file cannot hold %lld samples", (long long)w->count);
        return file_write_all(descriptor(w), w->bytes.data, w->bytes.size, name(w), err);
    }
    errno = 0;
    if (sf_write_short(w->encoder, (const short *)(const void *)w->bytes.data, n) == n)
        return 0;
    return err_set(err, errno == ENOSPC ? ERR_NOSPACE : ERR_IO, "cannot write to %s: %s", name(w),
                   errno ? strerror(errno) : sf_strerror(w->encoder));
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
        rc = write_header_again(w, err);
    }
    if (!rc && !w->pipe_plus1)
        rc = file_writer_commit(&w->file, err);
    buf_free(&w->bytes);
    return rc;
}

void audio_writer_abort(AudioWriter *w)
{
    if (w->encoder)
        sf_close(w->encoder);
    file_writer_abort(&w->file);
    buf_free(&w->bytes);
    *w = (AudioWriter){0};
}
