/* audio_file.c - decodes bytes with libsndfile. Everything in a header is checked before anything is
 * allocated by it. */
#include "dataset/audio_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sndfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/mem.h"
#include "dataset/audio_damage.h"
#include "dataset/audio_libav.h"

#define CHUNK_FRAMES 8192
#define FORMAT_MPEG 0x230000 /* SF_FORMAT_MPEG; libsndfile before 1.1 does not name it */
#define ABSURD_SAMPLE 1e9f   /* finite, but no sound: its square would not be finite for long */

/* The bytes of a sound: in memory, or still on disk. A file on disk is read, not mapped: it may be cut short
 * meanwhile. */
typedef struct Bytes {
    const uint8_t *data; /* NULL: read from fd */
    int fd;
    sf_count_t size, at;
    /* libsndfile reads nothing from a FLAC file of unknown length: it is shown the greatest length instead of
     * 0. */
    int length_unknown;
    uint64_t patch_at;
    uint8_t patch[5];
    /* And of an MP3 file that does not announce its length it is shown an announcement in the place of the
     * first `skip` bytes. In memory only. */
    uint8_t front[MPEG_MAX_FRAME];
    size_t front_size, skip;
} Bytes;

/* Fewer bytes than asked for at the end, or when reading fails. */
static size_t raw_bytes_at(const Bytes *b, void *p, size_t n, uint64_t offset)
{
    if (offset >= (uint64_t)b->size)
        return 0;
    if (n > (uint64_t)b->size - offset)
        n = (size_t)((uint64_t)b->size - offset);
    if (b->data) {
        size_t done = 0;
        for (; done < n && offset + done < b->front_size; done++)
            ((uint8_t *)p)[done] = b->front[offset + done];
        if (done < n)
            memcpy((uint8_t *)p + done, b->data + b->skip + (offset + done - b->front_size), n - done);
        return n;
    }
    ssize_t got;
    do {
        got = pread(b->fd, p, n, (off_t)offset);
    } while (got < 0 && errno == EINTR);
    return got > 0 ? (size_t)got : 0;
}

static size_t bytes_at(const Bytes *b, void *p, size_t n, uint64_t offset)
{
    n = raw_bytes_at(b, p, n, offset);
    for (size_t i = 0; b->length_unknown && i < sizeof b->patch; i++)
        if (b->patch_at + i >= offset && b->patch_at + i - offset < n)
            ((uint8_t *)p)[b->patch_at + i - offset] = b->patch[i];
    return n;
}

/* libsndfile reads through these; nothing is written. */
static sf_count_t io_length(void *user) { return ((Bytes *)user)->size; }
static sf_count_t io_tell(void *user) { return ((Bytes *)user)->at; }
static sf_count_t io_write(const void *p, sf_count_t n, void *user)
{
    (void)p, (void)n, (void)user;
    return 0;
}
static sf_count_t io_seek(sf_count_t offset, int whence, void *user)
{
    Bytes *b = user;
    sf_count_t base = whence == SEEK_CUR ? b->at : whence == SEEK_END ? b->size : 0, to;
    if (__builtin_add_overflow(base, offset, &to) || to < 0)
        return -1;
    b->at = to;
    return to;
}
static sf_count_t io_read(void *p, sf_count_t n, void *user)
{
    Bytes *b = user;
    if (n <= 0)
        return 0;
    size_t got = bytes_at(b, p, (size_t)n, (uint64_t)b->at);
    b->at += (sf_count_t)got;
    return (sf_count_t)got;
}

static uint32_t big_u32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* libsndfile silently shortens a WAV or AIFF whose sound chunk reaches past the end of the file. This finds
 * such a chunk: 1 and the chunk's claimed and held bytes, else 0. Sizes that programs write when they cannot
 * know the length (0, nearly 2^31 or 2^32) are not claims. */
static int find_truncation(const Bytes *bytes, uint64_t *claimed, uint64_t *held)
{
    uint8_t p[12];
    uint64_t size = (uint64_t)bytes->size;
    if (bytes_at(bytes, p, 12, 0) < 12)
        return 0;
    int is_wav = memcmp(p, "RIFF", 4) == 0 && memcmp(p + 8, "WAVE", 4) == 0;
    int is_aiff =
        memcmp(p, "FORM", 4) == 0 && (memcmp(p + 8, "AIFF", 4) == 0 || memcmp(p + 8, "AIFC", 4) == 0);
    if (!is_wav && !is_aiff)
        return 0;
    /* Chunk after chunk, each padded to an even length. */
    for (uint64_t at = 12; at + 8 <= size && bytes_at(bytes, p, 8, at) == 8;) {
        uint64_t length = is_wav ? get_u32(p + 4) : big_u32(p + 4);
        if (memcmp(p, is_wav ? "data" : "SSND", 4) == 0) {
            int unknown =
                length == 0 || length >= 0xFFFF0000u || (length >= 0x7FFF0000u && length <= 0x7FFFFFFFu);
            *claimed = length;
            *held = size - at - 8;
            if (is_aiff) { /* the chunk begins with eight bytes that are not sound */
                *claimed -= length < 8 ? length : 8;
                *held -= *held < 8 ? *held : 8;
            }
            return !unknown && *held < *claimed;
        }
        at += 8 + length + (length & 1);
    }
    return 0;
}

static int is_known_format(int format)
{
    switch (format & SF_FORMAT_TYPEMASK) {
    case SF_FORMAT_WAV:
    case SF_FORMAT_WAVEX:
    case SF_FORMAT_RF64:
    case SF_FORMAT_W64:
    case SF_FORMAT_AIFF:
    case SF_FORMAT_AU:
    case SF_FORMAT_CAF:
    case SF_FORMAT_NIST:
    case SF_FORMAT_FLAC:
    case SF_FORMAT_OGG:
    case FORMAT_MPEG:
        return 1;
    default:
        return 0; /* headerless, or a format whose guess cannot be trusted */
    }
}

/* Compressed formats whose header does not say how long they are. */
static int is_length_estimated(int format, const Bytes *b)
{
    int type = format & SF_FORMAT_TYPEMASK;
    return type == SF_FORMAT_OGG || type == FORMAT_MPEG || b->length_unknown;
}

/* A FLAC file whose writer could not know its length. */
static void look_for_unknown_length(Bytes *b)
{
    uint8_t head[4096]; /* a tag with a picture in front of a FLAC file is longer, and rare */
    FlacHeader h;
    size_t n = raw_bytes_at(b, head, sizeof head, 0);
    if (!flac_header(&h, head, n) || h.samples > 0)
        return;
    b->length_unknown = 1;
    b->patch_at = h.length_at;
    flac_longest(b->patch, &h);
}

/* libmpg123 writes what it thinks of a file to stderr unless it is told to be quiet, and libsndfile does not
 * tell it. The program's own mpg123_new is found before the library's; it is that one with the flag set.
 * Values from mpg123.h, which is not needed to build. */
typedef struct mpg123_handle_struct mpg123_handle;
__attribute__((visibility("default"))) mpg123_handle *mpg123_new(const char *decoder, int *error);
mpg123_handle *mpg123_new(const char *decoder, int *error)
{
    enum { ADD_FLAGS = 2, QUIET = 0x20 };
    mpg123_handle *(*library_new)(const char *, int *);
    int (*param)(mpg123_handle *, int, long, double);
    *(void **)&library_new = dlsym(RTLD_NEXT, "mpg123_new");
    *(void **)&param = dlsym(RTLD_NEXT, "mpg123_param");
    mpg123_handle *h = library_new ? library_new(decoder, error) : NULL;
    if (h && param)
        param(h, ADD_FLAGS, QUIET, 0);
    return h;
}

/* 0 Hz or no channels in a WAV: libsndfile's own message does not say so. */
static RejectReason judge_wav_header(const Bytes *bytes, const char *path, char *detail, size_t cap)
{
    uint8_t p[36];
    if (bytes_at(bytes, p, 36, 0) < 36 || memcmp(p, "RIFF", 4) != 0 || memcmp(p + 8, "WAVEfmt ", 8) != 0)
        return REJECT_NONE;
    if (get_u32(p + 24) == 0)
        return reject_because(REJECT_AUDIO_UNREADABLE, detail, cap, "%s: 0 Hz in the header", path);
    if (get_u16(p + 22) == 0)
        return reject_because(REJECT_AUDIO_UNREADABLE, detail, cap, "%s: 0 channels in the header", path);
    return REJECT_NONE;
}

/* libsndfile keeps the reason why an open failed in one place for all threads: what it says there may be
 * about another file. What the file begins with is certain. */
static RejectReason reject_foreign(const Bytes *b, const char *path, char *detail, size_t cap)
{
    uint8_t head[8];
    char text[4 * sizeof head] = "";
    size_t n = bytes_at(b, head, sizeof head, 0);
    for (size_t i = 0; i < n; i++)
        snprintf(text + 3 * i, sizeof text - 3 * i, " %02x", head[i]);
    return reject_because(REJECT_AUDIO_UNREADABLE, detail, cap,
                          "%s: not a sound file that libsndfile can read (%lld bytes, starting with%s)", path,
                          (long long)b->size, text);
}

/* Opens bytes and judges all that the header says. *file is NULL after a rejection. */
static RejectReason open_bytes(SNDFILE **file, SF_INFO *info, Bytes *bytes, const char *path,
                               double max_seconds, char *detail, size_t cap)
{
    *file = NULL;
    *info = (SF_INFO){0};
    if (bytes->size == 0)
        return reject_because(REJECT_AUDIO_EMPTY, detail, cap, "%s: the file is empty", path);
    RejectReason r = judge_wav_header(bytes, path, detail, cap);
    if (r)
        return r;
    look_for_unknown_length(bytes);
    SF_VIRTUAL_IO io = {io_length, io_seek, io_read, io_write, io_tell};
    SNDFILE *f = sf_open_virtual(&io, SFM_READ, info, bytes);
    if (!f)
        return reject_foreign(bytes, path, detail, cap);
    /* From here on libsndfile has read the header; now each of its claims. */
    uint64_t claimed, held;
    double seconds = info->samplerate > 0 ? (double)info->frames / info->samplerate : 0.0;
    double limit = max_seconds > 0 ? max_seconds : AUDIO_MAX_SECONDS;
    if (!is_known_format(info->format))
        r = reject_because(REJECT_AUDIO_UNREADABLE, detail, cap, "%s: sound format 0x%06x is not supported",
                           path, (unsigned)info->format);
    else if (info->samplerate < 1 || info->samplerate > AUDIO_MAX_RATE)
        r = reject_because(REJECT_AUDIO_UNREADABLE, detail, cap, "%s: %d Hz in the header", path,
                           info->samplerate);
    else if (info->channels < 1 || info->channels > AUDIO_MAX_CHANNELS)
        r = reject_because(REJECT_AUDIO_UNREADABLE, detail, cap, "%s: %d channels in the header", path,
                           info->channels);
    else if (find_truncation(bytes, &claimed, &held)) {
        double frames = (double)info->frames, frame_bytes = frames > 0 ? (double)held / frames : 0.0;
        if (frame_bytes >= 1.0) /* PCM: whole bytes, and perhaps a piece of a frame at the end */
            frame_bytes = floor(frame_bytes + 0.01);
        if (frame_bytes > 0.0)
            reject_because(r, detail, cap, "%s: truncated: header says %.0f frames, file holds %.0f", path,
                           rint((double)claimed / frame_bytes), frames);
        else
            reject_because(r, detail, cap, "%s: truncated: header says %llu bytes of sound, file holds %llu",
                           path, (unsigned long long)claimed, (unsigned long long)held);
        r = REJECT_AUDIO_UNREADABLE;
    } else if (info->frames <= 0)
        r = reject_because(REJECT_AUDIO_EMPTY, detail, cap, "%s: 0 frames in the header", path);
    else if (seconds > limit && !is_length_estimated(info->format, bytes))
        r = reject_because(REJECT_AUDIO_TOO_LONG, detail, cap, "%s: %.2f s, but the limit is %g s", path,
                           seconds, limit);
    if (r) {
        sf_close(f);
        return r;
    }
    *file = f;
    return REJECT_NONE;
}

/* Reads a sound to its end, or until no limit would accept it. */
static RejectReason count_frames(int64_t *frames, SNDFILE *f, const SF_INFO *info, const char *path,
                                 char *detail, size_t cap)
{
    double limit = AUDIO_MAX_SECONDS * info->samplerate;
    float *piece = mem_calloc((size_t)CHUNK_FRAMES * (size_t)info->channels, sizeof *piece);
    if (!piece)
        return reject_because(REJECT_NO_MEMORY, detail, cap, "%s: no memory to decode it", path);
    sf_count_t got = 1;
    for (*frames = 0; got > 0 && (double)*frames <= limit; *frames += got)
        got = sf_readf_float(f, piece, CHUNK_FRAMES);
    free(piece);
    return REJECT_NONE;
}

/* A format of audio_libav.h as a WAV file in memory. */
static RejectReason through_libav(Buf *wav, const void *bytes, size_t size, const char *path,
                                  double max_seconds, char *detail, size_t cap)
{
    return audio_libav_wav(wav, bytes, size, path, max_seconds > 0 ? max_seconds : AUDIO_MAX_SECONDS, detail,
                           cap);
}

/* Its header does not tell the length, so the whole of it is decoded. */
static RejectReason probe_libav(AudioInfo *out, const char *path, double max_seconds, char *detail,
                                size_t cap)
{
    FileMap file;
    Buf wav = {0};
    Err err = {0};
    if (file_load(&file, path, &err))
        return reject_because(REJECT_AUDIO_UNREADABLE, detail, cap, "%s", err.msg);
    RejectReason r = through_libav(&wav, file.data, file.size, path, max_seconds, detail, cap);
    if (!r) {
        const uint8_t *head = (const uint8_t *)wav.data;
        *out =
            (AudioInfo){get_u32(head + 40) / get_u16(head + 32), (int)get_u32(head + 24), get_u16(head + 22)};
    }
    buf_free(&wav);
    file_unmap(&file);
    return r;
}

/* Whether the length that is known is one of those allowed. */
static RejectReason judge_length(double seconds, double slack, const char *path, double min_seconds,
                                 double max_seconds, char *detail, size_t cap)
{
    if (min_seconds > 0 && seconds + slack < min_seconds)
        return reject_because(REJECT_AUDIO_TOO_SHORT, detail, cap, "%s: %.3f s, but the minimum is %g s",
                              path, seconds, min_seconds);
    if (max_seconds > 0 && seconds - slack > max_seconds)
        return reject_because(REJECT_AUDIO_TOO_LONG, detail, cap, "%s: %.2f s, but the limit is %g s", path,
                              seconds, max_seconds);
    return REJECT_NONE;
}

/* Only the header: prepare looks at every file this way before it decodes any. */
RejectReason audio_probe(AudioInfo *out, const char *path, double min_seconds, double max_seconds,
                         char *detail, size_t cap)
{
    *out = (AudioInfo){0};
    if (cap)
        detail[0] = 0;
    struct stat st;
    if (stat(path, &st) != 0) {
        RejectReason why =
            errno == ENOENT || errno == ENOTDIR ? REJECT_AUDIO_MISSING : REJECT_AUDIO_UNREADABLE;
        return reject_because(why, detail, cap, "%s: %s", path, strerror(errno));
    }
    if (!S_ISREG(st.st_mode))
        return reject_because(REJECT_AUDIO_UNREADABLE, detail, cap, "%s: %s", path,
                              S_ISDIR(st.st_mode) ? "a folder, not a file" : "not a regular file");
    Bytes bytes = {.fd = open(path, O_RDONLY | O_CLOEXEC), .size = (sf_count_t)st.st_size};
    if (bytes.fd < 0)
        return reject_because(REJECT_AUDIO_UNREADABLE, detail, cap, "%s: %s", path, strerror(errno));
    uint8_t head[AUDIO_LIBAV_HEAD];
    if (audio_libav_format(head, bytes_at(&bytes, head, sizeof head, 0))) {
        close(bytes.fd);
        RejectReason why = probe_libav(out, path, max_seconds, detail, cap);
        return why ? why
                   : judge_length((double)out->frames / out->rate, 0, path, min_seconds, max_seconds, detail,
                                  cap);
    }
    SNDFILE *f;
    SF_INFO info;
    RejectReason r = open_bytes(&f, &info, &bytes, path, max_seconds, detail, cap);
    int64_t frames = info.frames;
    if (!r && bytes.length_unknown) {
        r = count_frames(&frames, f, &info, path, detail, cap);
        if (r)
            sf_close(f);
    }
    if (!r || r == REJECT_AUDIO_TOO_LONG)
        *out = (AudioInfo){frames, info.samplerate, info.channels};
    if (!r) {
        double seconds = (double)frames / info.samplerate;
        /* An estimated length may be off by a little; audio_decode counts for certain. */
        double slack = is_length_estimated(info.format, &bytes) && !bytes.length_unknown ? 1.0 : 0.0;
        r = judge_length(seconds, slack, path, min_seconds, max_seconds, detail, cap);
        sf_close(f);
    }
    close(bytes.fd);
    return r;
}

void audio_buffer_free(AudioBuffer *a)
{
    free(a->samples);
    free(a->scratch);
    *a = (AudioBuffer){0};
}

/* mem_grow counts in size_t, the buffers in int64_t. */
static int grow(float **p, int64_t *cap, int64_t need)
{
    size_t have = (size_t)*cap;
    int rc = mem_grow(p, &have, (size_t)need, sizeof **p);
    *cap = (int64_t)have;
    return rc;
}

/* The mean of all channels; squares [channels + 1] are added up, those of the mean last. */
static void mix(float *out, double *squares, const float *in, int64_t frames, int channels)
{
    const float share = 1.0f / (float)channels;
    float sums[AUDIO_MAX_CHANNELS + 1] = {0}; /* of a piece; exact enough */
    for (int64_t i = 0; i < frames; i++) {
        float sum = 0.0f;
        for (int c = 0; c < channels; c++) {
            const float x = in[i * channels + c];
            sum += x;
            sums[c] += x * x;
        }
        out[i] = sum * share;
        sums[channels] += out[i] * out[i];
    }
    for (int c = 0; c <= channels; c++)
        squares[c] += (double)sums[c];
}

/* How loud the channels are beside each other. */
static void judge_channels(AudioBuffer *out, const double *squares, int64_t n, int channels)
{
    double loudest = squares[0], softest = squares[0];
    for (int c = 1; c < channels; c++) {
        loudest = fmax(loudest, squares[c]);
        softest = fmin(softest, squares[c]);
    }
    out->channels = channels;
    out->loudest_channel = loudest / (double)n;
    out->softest_channel = softest / (double)n;
    out->mixed = squares[channels] / (double)n;
}

/* Index of the first sample that is NaN, infinite or absurd, or -1. */
static int64_t find_bad(const float *x, int64_t n)
{
    int64_t i = 0;
    for (; i + 64 <= n;
         i += 64) { /* blocks without a way out in the middle: the compiler makes vectors of them */
        int bad = 0;
        for (int k = 0; k < 64; k++)
            bad |= !(fabsf(x[i + k]) <= ABSURD_SAMPLE);
        if (bad)
            break;
    }
    for (; i < n; i++)
        if (!(fabsf(x[i]) <= ABSURD_SAMPLE))
            return i;
    return -1;
}

/* What the decoder will not tell. */
static RejectReason judge_damage(const void *bytes, size_t size, int format, const char *path, char *detail,
                                 size_t cap)
{
    int type = format & SF_FORMAT_TYPEMASK;
    char why[160];
    if ((type != SF_FORMAT_FLAC && type != SF_FORMAT_OGG && type != FORMAT_MPEG) ||
        !audio_damage(bytes, size, why, sizeof why))
        return REJECT_NONE;
    return reject_because(REJECT_AUDIO_UNREADABLE, detail, cap, "%s: %s", path, why);
}

/* An opened sound, and what is known of it. */
typedef struct Decoding {
    SNDFILE *f;
    const SF_INFO *info;
    const Bytes *source;
    const char *path;
    double squares[AUDIO_MAX_CHANNELS + 1];
    int64_t n; /* frames so far */
} Decoding;

/* In pieces, because the length may be a lie; the limit on it is watched while decoding. */
static RejectReason decode_pieces(AudioBuffer *out, Decoding *d, double max_seconds, char *detail, size_t cap)
{
    const SF_INFO *info = d->info;
    const int64_t limit = (int64_t)((max_seconds > 0 ? max_seconds : AUDIO_MAX_SECONDS) * info->samplerate);
    const int is_flac = (info->format & SF_FORMAT_TYPEMASK) == SF_FORMAT_FLAC;
    RejectReason r = REJECT_NONE;
    int64_t n = 0;
    while (!r) {
        if (grow(&out->samples, &out->cap, n + CHUNK_FRAMES) ||
            grow(&out->scratch, &out->scratch_cap, (int64_t)CHUNK_FRAMES * info->channels)) {
            r = reject_because(REJECT_NO_MEMORY, detail, cap, "%s: no memory for %.1f s of sound", d->path,
                               (double)(n + CHUNK_FRAMES) / info->samplerate);
            break;
        }
        float *to = info->channels == 1 ? out->samples + n : out->scratch;
        sf_count_t got = sf_readf_float(d->f, to, CHUNK_FRAMES);
        if (got <= 0)
            break;
        if (info->channels > 1)
            mix(out->samples + n, d->squares, out->scratch, got, info->channels);
        int64_t bad = find_bad(out->samples + n, got);
        /* libsndfile tells with the piece it is in; silence stands for the frame. A short piece is the last
         * one, and what is wrong with it is said below. */
        if (is_flac && sf_error(d->f) &&
            (got == CHUNK_FRAMES || n + got == info->frames || d->source->length_unknown))
            r = reject_because(REJECT_AUDIO_UNREADABLE, detail, cap,
                               "%s: damaged: a checksum between %.2f and %.2f s does not match", d->path,
                               (double)n / info->samplerate, (double)(n + got) / info->samplerate);
        else if (bad >= 0)
            r = reject_because(REJECT_AUDIO_NOT_FINITE, detail, cap, "%s: sample %lld is %g", d->path,
                               (long long)(n + bad), (double)out->samples[n + bad]);
        n += got;
        if (!r && n > limit)
            r = reject_because(REJECT_AUDIO_TOO_LONG, detail, cap, "%s: more than %.2f s", d->path,
                               (double)limit / info->samplerate);
    }
    d->n = n;
    return r;
}

/* The whole sound as mono samples; buffers grow and are reused from clip to clip. */
RejectReason audio_decode(AudioBuffer *out, const void *bytes, size_t size, const char *path,
                          double max_seconds, char *detail, size_t cap)
{
    out->frames = 0;
    out->rate = 0;
    if (cap)
        detail[0] = 0;
    if (audio_libav_format(bytes, size)) {
        Buf wav = {0};
        RejectReason why = through_libav(&wav, bytes, size, path, max_seconds, detail, cap);
        if (!why)
            why = audio_decode(out, wav.data, wav.size, path, max_seconds, detail, cap);
        buf_free(&wav);
        return why;
    }
    Bytes source = {.data = bytes, .fd = -1, .size = (sf_count_t)size};
    source.front_size = mpeg_announcement(source.front, &source.skip, bytes, size);
    source.size += (sf_count_t)source.front_size - (sf_count_t)source.skip;
    SNDFILE *f;
    SF_INFO info;
    RejectReason r = open_bytes(&f, &info, &source, path, max_seconds, detail, cap);
    if (r)
        return r;
    r = judge_damage(bytes, size, info.format, path, detail, cap);
    Decoding d = {.f = f, .info = &info, .source = &source, .path = path};
    if (!r)
        r = decode_pieces(out, &d, max_seconds, detail, cap);
    const int64_t n = d.n;
    /* Fewer frames than the header says is damage, unless the header only guessed. */
    int error = sf_error(f);
    sf_close(f);
    if (!r && n == 0)
        r = reject_because(REJECT_AUDIO_EMPTY, detail, cap, "%s: no sample could be decoded", path);
    else if (!r && n < info.frames && !is_length_estimated(info.format, &source))
        r = reject_because(REJECT_AUDIO_UNREADABLE, detail, cap,
                           "%s: truncated: header says %lld frames, file holds %lld%s%s", path,
                           (long long)info.frames, (long long)n, error ? ": " : "",
                           error ? sf_error_number(error) : "");
    if (r)
        return r;
    judge_channels(out, d.squares, n, info.channels);
    out->frames = n;
    out->rate = info.samplerate;
    return REJECT_NONE;
}
