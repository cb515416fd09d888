/* audio_file.c - decodes bytes with libsndfile. Everything in a header is checked before anything is
 * allocated by it. */
#include "dataset/audio_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sndfile.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/mem.h"

#define CHUNK_FRAMES 8192
#define FORMAT_MPEG 0x230000 /* SF_FORMAT_MPEG; libsndfile before 1.1 does not name it */
#define ABSURD_SAMPLE 1e9f   /* finite, but no sound: its square would not be finite for long */

/* The bytes of a sound: in memory, or still on disk. A file on disk is read, not mapped: somebody may cut it
 * short meanwhile. */
typedef struct Bytes {
    const uint8_t *data; /* NULL: read from fd */
    int fd;
    sf_count_t size, at;
} Bytes;

/* Fewer bytes than asked for at the end, or when reading fails. */
static size_t bytes_at(const Bytes *b, void *p, size_t n, uint64_t offset)
{
    if (offset >= (uint64_t)b->size)
        return 0;
    if (n > (uint64_t)b->size - offset)
        n = (size_t)((uint64_t)b->size - offset);
    if (b->data) {
        memcpy(p, b->data + offset, n);
        return n;
    }
    ssize_t got;
    do {
        got = pread(b->fd, p, n, (off_t)offset);
    } while (got < 0 && errno == EINTR);
    return got > 0 ? (size_t)got : 0;
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

/* Returns the reason, so that `return reject(...)` reads well. */
static RejectReason reject(RejectReason reason, char *detail, size_t cap, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static RejectReason reject(RejectReason reason, char *detail, size_t cap, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (cap)
        vsnprintf(detail, cap, fmt, args);
    va_end(args);
    return reason;
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
static int is_length_estimated(int format)
{
    int type = format & SF_FORMAT_TYPEMASK;
    return type == SF_FORMAT_OGG || type == FORMAT_MPEG;
}

/* 0 Hz or no channels in a WAV: libsndfile's own message does not say so. */
static RejectReason judge_wav_header(const Bytes *bytes, const char *path, char *detail, size_t cap)
{
    uint8_t p[36];
    if (bytes_at(bytes, p, 36, 0) < 36 || memcmp(p, "RIFF", 4) != 0 || memcmp(p + 8, "WAVEfmt ", 8) != 0)
        return REJECT_NONE;
    if (get_u32(p + 24) == 0)
        return reject(REJECT_AUDIO_UNREADABLE, detail, cap, "%s: 0 Hz in the header", path);
    if (get_u16(p + 22) == 0)
        return reject(REJECT_AUDIO_UNREADABLE, detail, cap, "%s: 0 channels in the header", path);
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
    return reject(REJECT_AUDIO_UNREADABLE, detail, cap,
                  "%s: not a sound file libsndfile can read (%lld bytes that begin with%s)", path,
                  (long long)b->size, text);
}

/* Opens bytes and judges all that the header says. *file is NULL after a rejection. */
static RejectReason open_bytes(SNDFILE **file, SF_INFO *info, Bytes *bytes, const char *path,
                               double max_seconds, char *detail, size_t cap)
{
    *file = NULL;
    *info = (SF_INFO){0};
    if (bytes->size == 0)
        return reject(REJECT_AUDIO_EMPTY, detail, cap, "%s: the file is empty", path);
    RejectReason r = judge_wav_header(bytes, path, detail, cap);
    if (r)
        return r;
    SF_VIRTUAL_IO io = {io_length, io_seek, io_read, io_write, io_tell};
    SNDFILE *f = sf_open_virtual(&io, SFM_READ, info, bytes);
    if (!f)
        return reject_foreign(bytes, path, detail, cap);
    /* From here on libsndfile has read the header; now each of its claims. */
    uint64_t claimed, held;
    double seconds = info->samplerate > 0 ? (double)info->frames / info->samplerate : 0.0;
    double limit = max_seconds > 0 ? max_seconds : AUDIO_MAX_SECONDS;
    if (!is_known_format(info->format))
        r = reject(REJECT_AUDIO_UNREADABLE, detail, cap,
                   "%s: sound format 0x%06x is not one this program reads", path, (unsigned)info->format);
    else if (info->samplerate < 1 || info->samplerate > AUDIO_MAX_RATE)
        r = reject(REJECT_AUDIO_UNREADABLE, detail, cap, "%s: %d Hz in the header", path, info->samplerate);
    else if (info->channels < 1 || info->channels > AUDIO_MAX_CHANNELS)
        r = reject(REJECT_AUDIO_UNREADABLE, detail, cap, "%s: %d channels in the header", path,
                   info->channels);
    else if (find_truncation(bytes, &claimed, &held)) {
        double frames = (double)info->frames, frame_bytes = frames > 0 ? (double)held / frames : 0.0;
        if (frame_bytes >= 1.0) /* PCM: whole bytes, and perhaps a piece of a frame at the end */
            frame_bytes = floor(frame_bytes + 0.01);
        if (frame_bytes > 0.0)
            reject(r, detail, cap, "%s: truncated: header says %.0f frames, file holds %.0f", path,
                   rint((double)claimed / frame_bytes), frames);
        else
            reject(r, detail, cap, "%s: truncated: header says %llu bytes of sound, file holds %llu", path,
                   (unsigned long long)claimed, (unsigned long long)held);
        r = REJECT_AUDIO_UNREADABLE;
    } else if (info->frames <= 0)
        r = reject(REJECT_AUDIO_EMPTY, detail, cap, "%s: 0 frames in the header", path);
    else if (seconds > limit && !is_length_estimated(info->format))
        r = reject(REJECT_AUDIO_TOO_LONG, detail, cap, "%s: %.2f s, the limit is %g s", path, seconds, limit);
    if (r) {
        sf_close(f);
        return r;
    }
    *file = f;
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
        return reject(why, detail, cap, "%s: %s", path, strerror(errno));
    }
    if (!S_ISREG(st.st_mode))
        return reject(REJECT_AUDIO_UNREADABLE, detail, cap, "%s: %s", path,
                      S_ISDIR(st.st_mode) ? "a folder, not a file" : "not a regular file");
    Bytes bytes = {.fd = open(path, O_RDONLY | O_CLOEXEC), .size = (sf_count_t)st.st_size};
    if (bytes.fd < 0)
        return reject(REJECT_AUDIO_UNREADABLE, detail, cap, "%s: %s", path, strerror(errno));
    SNDFILE *f;
    SF_INFO info;
    RejectReason r = open_bytes(&f, &info, &bytes, path, max_seconds, detail, cap);
    if (!r || r == REJECT_AUDIO_TOO_LONG)
        *out = (AudioInfo){info.frames, info.samplerate, info.channels};
    if (!r) {
        double seconds = (double)info.frames / info.samplerate;
        /* An estimated length may be off by a little; audio_decode counts for certain. */
        double slack = is_length_estimated(info.format) ? 1.0 : 0.0;
        if (min_seconds > 0 && seconds + slack < min_seconds)
            r = reject(REJECT_AUDIO_TOO_SHORT, detail, cap, "%s: %.3f s, the least is %g s", path, seconds,
                       min_seconds);
        else if (max_seconds > 0 && seconds - slack > max_seconds)
            r = reject(REJECT_AUDIO_TOO_LONG, detail, cap, "%s: %.2f s, the limit is %g s", path, seconds,
                       max_seconds);
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

/* The mean of all channels. */
static void mix(float *out, const float *in, int64_t frames, int channels)
{
    const float share = 1.0f / (float)channels;
    for (int64_t i = 0; i < frames; i++) {
        float sum = 0.0f;
        for (int c = 0; c < channels; c++)
            sum += in[i * channels + c];
        out[i] = sum * share;
    }
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

/* The whole sound as mono samples; buffers grow and are reused from clip to clip. */
RejectReason audio_decode(AudioBuffer *out, const void *bytes, size_t size, const char *path,
                          double max_seconds, char *detail, size_t cap)
{
    out->frames = 0;
    out->rate = 0;
    if (cap)
        detail[0] = 0;
    Bytes source = {.data = bytes, .fd = -1, .size = (sf_count_t)size};
    SNDFILE *f;
    SF_INFO info;
    RejectReason r = open_bytes(&f, &info, &source, path, max_seconds, detail, cap);
    if (r)
        return r;
    const int64_t limit = (int64_t)((max_seconds > 0 ? max_seconds : AUDIO_MAX_SECONDS) * info.samplerate);
    int64_t n = 0;
    /* In pieces, because the length may be a lie; the limit on it is watched while decoding. */
    while (!r) {
        if (grow(&out->samples, &out->cap, n + CHUNK_FRAMES) ||
            grow(&out->scratch, &out->scratch_cap, (int64_t)CHUNK_FRAMES * info.channels)) {
            r = reject(REJECT_AUDIO_UNREADABLE, detail, cap, "%s: no memory for %.1f s of sound", path,
                       (double)(n + CHUNK_FRAMES) / info.samplerate);
            break;
        }
        float *to = info.channels == 1 ? out->samples + n : out->scratch;
        sf_count_t got = sf_readf_float(f, to, CHUNK_FRAMES);
        if (got <= 0)
            break;
        if (info.channels > 1)
            mix(out->samples + n, out->scratch, got, info.channels);
        int64_t bad = find_bad(out->samples + n, got);
        if (bad >= 0)
            r = reject(REJECT_AUDIO_NOT_FINITE, detail, cap, "%s: sample %lld is %g", path,
                       (long long)(n + bad), (double)out->samples[n + bad]);
        n += got;
        if (!r && n > limit)
            r = reject(REJECT_AUDIO_TOO_LONG, detail, cap, "%s: more than %.2f s", path,
                       (double)limit / info.samplerate);
    }
    /* Fewer frames than the header says is damage, unless the header only guessed. */
    int error = sf_error(f);
    sf_close(f);
    if (!r && n == 0)
        r = reject(REJECT_AUDIO_EMPTY, detail, cap, "%s: no sample could be decoded", path);
    else if (!r && n < info.frames && !is_length_estimated(info.format))
        r = reject(REJECT_AUDIO_UNREADABLE, detail, cap,
                   "%s: truncated: header says %lld frames, file holds %lld%s%s", path,
                   (long long)info.frames, (long long)n, error ? ": " : "",
                   error ? sf_error_number(error) : "");
    if (r)
        return r;
    out->frames = n;
    out->rate = info.samplerate;
    return REJECT_NONE;
}
