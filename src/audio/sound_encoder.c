/* sound_encoder.c - libsndfile writes into a file that forgets what it has given out: encoders that go back
 * at the end to fill in lengths and checksums are told that they did. */
#include "audio/sound_encoder.h"

#include <sndfile.h>
#include <soxr.h>
#include <stdlib.h>

#include "audio/aac_encoder.h"
#include "audio/wav.h"

/* Short blocks, so that little is held back: levels of libFLAC to 2 have 1,152 samples, those above 4,096. */
#define FLAC_LEVEL (2 / 8.0)
#define MP3_LEVEL 0.6    /* of a constant bitrate */
#define OGG_PAGE_MS 50.0 /* the least that libsndfile takes */
/* Commands of libsndfile 1.0.29 and 1.1. */
enum { SET_OGG_PAGE_LATENCY_MS = 0x1302, SET_BITRATE_MODE = 0x1305, SET_ORIGINAL_SAMPLERATE = 0x1500 };

struct SoundEncoder {
    SoundFormat format;
    int rate, target;       /* of the samples added, and of the bytes that come out */
    int64_t count;          /* samples that came out */
    int begun;              /* the header of a WAV was given out */
    Buf samples, resampled; /* of the last add, 16 bits */
    soxr_t resampler;       /* NULL: none */
    double ratio;           /* samples behind it for one before it */

    AacEncoder *aac;    /* NULL: another kind */
    SNDFILE *file;      /* NULL: WAV, PCM or AAC */
    Buf *out;           /* where the file's bytes go now */
    Buf early;          /* what was written before the first add */
    sf_count_t at, end; /* of the file */
};

static sf_count_t file_length(void *arg) { return ((SoundEncoder *)arg)->end; }
static sf_count_t file_at(void *arg) { return ((SoundEncoder *)arg)->at; }
static sf_count_t file_nothing(void *bytes, sf_count_t n, void *arg) { return 0; }

static sf_count_t file_seek(sf_count_t to, int whence, void *arg)
{
    SoundEncoder *e = arg;
    sf_count_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? e->at : e->end;
    if (from + to < 0 || from + to > e->end)
        return -1;
    e->at = from + to;
    return e->at;
}

/* What lies before the end has gone already. */
static sf_count_t file_add(const void *bytes, sf_count_t n, void *arg)
{
    SoundEncoder *e = arg;
    sf_count_t gone = e->end - e->at < n ? e->end - e->at : n;
    buf_add(e->out, (const char *)bytes + gone, (size_t)(n - gone));
    e->at += n;
    e->end += n - gone;
    return n;
}

static int open_resampler(SoundEncoder *e, Err *err)
{
    soxr_error_t failed = NULL;
    soxr_io_spec_t io = soxr_io_spec(SOXR_INT16_I, SOXR_INT16_I);
    soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, 0);
    soxr_runtime_spec_t runtime = soxr_runtime_spec(1);
    io.flags = SOXR_NO_DITHER;
    e->ratio = (double)e->target / e->rate;
    e->resampler = soxr_create(e->rate, e->target, 1, &failed, &io, &quality, &runtime);
    if (!failed && e->resampler)
        return 0;
    return err_set(err, ERR_NOMEM, "soxr cannot resample %d Hz to %d Hz: %s", e->rate, e->target,
                   failed ? failed : "no memory");
}

static void set_double(SNDFILE *f, int command, double x) { sf_command(f, command, &x, sizeof x); }
static void set_int(SNDFILE *f, int command, int x) { sf_command(f, command, &x, sizeof x); }

static int open_file(SoundEncoder *e, Err *err)
{
    SF_VIRTUAL_IO io = {file_length, file_seek, file_nothing, file_add, file_at};
    SF_INFO info = {
        .samplerate = e->target, .channels = 1, .format = sound_format_codec(e->format, e->target)};
    e->out = &e->early;
    e->file = sf_open_virtual(&io, SFM_WRITE, &info, e);
    if (!e->file)
        return err_set(err, ERR_NOMEM, "cannot write %s with %d samples per second: %s",
                       sound_formats[e->format].name, e->target, sf_strerror(NULL));
    switch (e->format) {
    case SOUND_FLAC:
        set_double(e->file, SFC_SET_COMPRESSION_LEVEL, FLAC_LEVEL);
        break;
    case SOUND_OPUS:
        set_double(e->file, SET_OGG_PAGE_LATENCY_MS, OGG_PAGE_MS);
        set_int(e->file, SET_ORIGINAL_SAMPLERATE, e->rate);
        break;
    case SOUND_MP3: /* readers guess the length from the rate of the first frames */
        set_int(e->file, SET_BITRATE_MODE, 0);
        set_double(e->file, SFC_SET_COMPRESSION_LEVEL, MP3_LEVEL);
        break;
    default:
        break;
    }
    return 0;
}

int sound_encoder_open(SoundEncoder **out, SoundFormat format, int rate, int wanted, Err *err)
{
    const int target = sound_format_rate(format, wanted ? wanted : rate);
    SoundEncoder *e = *out = NULL;
    int rc = 0;
    if (!target)
        return err_set(err, ERR_MISSING, "the %s here cannot write %s",
                       format == SOUND_AAC ? "libavcodec" : "libsndfile", sound_formats[format].name);
    e = mem_calloc(1, sizeof *e);
    if (!e)
        return err_set(err, ERR_NOMEM, "no memory to encode sound");
    e->format = format;
    e->rate = rate;
    e->target = target;
    if (target != rate)
        rc = open_resampler(e, err);
    if (!rc && format == SOUND_AAC)
        rc = aac_encoder_open(&e->aac, target, err);
    if (!rc && sound_formats[format].codec[0])
        rc = open_file(e, err);
    if (rc) {
        sound_encoder_close(e);
        return rc;
    }
    *out = e;
    return 0;
}

static int check_room(const Buf *b, Err *err)
{
    return b->failed ? err_set(err, ERR_NOMEM, "no memory for encoded sound") : 0;
}

/* e->samples through the resampler into e->resampled; ended: what it still holds, too. */
static int resample(SoundEncoder *e, int ended, Err *err)
{
    const size_t n = e->samples.size / 2;
    const char *in = e->samples.data;
    size_t used = 0;
    buf_clear(&e->resampled);
    for (;;) {
        const size_t room = (size_t)((double)(n - used) * e->ratio) + 4096, before = e->resampled.size;
        size_t took = 0, made = 0;
        buf_zero(&e->resampled, 2 * room);
        if (e->resampled.failed)
            return check_room(&e->resampled, err);
        soxr_error_t failed = soxr_process(e->resampler, used < n ? in + 2 * used : NULL, n - used, &took,
                                           e->resampled.data + before, room, &made);
        if (failed)
            return err_set(err, ERR_NOMEM, "soxr failed on %zu samples: %s", n, failed);
        e->resampled.size = before + 2 * made;
        used += took;
        if (used == n && (!ended || !made))
            return 0;
    }
}

static int write_file(SoundEncoder *e, Buf *out, const Buf *samples, Err *err)
{
    const sf_count_t n = (sf_count_t)(samples->size / 2);
    e->out = out;
    buf_add(out, e->early.data, e->early.size);
    buf_clear(&e->early);
    if (n && sf_write_short(e->file, (const short *)(const void *)samples->data, n) != n)
        return err_set(err, ERR_IO, "cannot encode %s: %s", sound_formats[e->format].name,
                       sf_strerror(e->file));
    return check_room(out, err);
}

static int write_plain(SoundEncoder *e, Buf *out, const Buf *samples, Err *err)
{
    uint8_t head[WAV_HEADER_BYTES];
    e->count += (int64_t)(samples->size / 2);
    if (e->format == SOUND_WAV && e->count > WAV_MAX_SAMPLES)
        return err_set(err, ERR_DATA, "a WAV file cannot have %lld samples", (long long)e->count);
    if (e->format == SOUND_WAV && !e->begun) {
        wav_header(head, WAV_UNKNOWN, e->target);
        buf_add(out, head, sizeof head);
        e->begun = 1;
    }
    buf_add(out, samples->data, samples->size);
    return check_room(out, err);
}

static int write_out(SoundEncoder *e, Buf *out, const Buf *samples, Err *err)
{
    if (e->aac)
        return aac_encoder_add(e->aac, out, (const int16_t *)(const void *)samples->data, samples->size / 2,
                               err);
    return e->file ? write_file(e, out, samples, err) : write_plain(e, out, samples, err);
}

int sound_encoder_add(SoundEncoder *e, Buf *out, const float *samples, int64_t n, Err *err)
{
    buf_clear(&e->samples);
    int rc = wav_samples(&e->samples, samples, n, err);
    if (!rc && e->resampler && n)
        rc = resample(e, 0, err);
    return rc ? rc : write_out(e, out, e->resampler && n ? &e->resampled : &e->samples, err);
}

int sound_encoder_finish(SoundEncoder *e, Buf *out, Err *err)
{
    int rc = sound_encoder_add(e, out, NULL, 0, err);
    if (!rc && e->resampler) {
        rc = resample(e, 1, err);
        if (!rc)
            rc = write_out(e, out, &e->resampled, err);
    }
    if (!rc && e->aac)
        return aac_encoder_finish(e->aac, out, err);
    if (rc || !e->file)
        return rc;
    rc = sf_close(e->file);
    e->file = NULL;
    if (rc)
        return err_set(err, ERR_IO, "cannot finish %s: %s", sound_formats[e->format].name,
                       sf_error_number(rc));
    return check_room(out, err);
}

int sound_encoder_rate(const SoundEncoder *e) { return e->target; }

void sound_encoder_close(SoundEncoder *e)
{
    if (!e)
        return;
    e->out = &e->early; /* closing writes the rest */
    if (e->file)
        sf_close(e->file);
    aac_encoder_close(e->aac);
    soxr_delete(e->resampler);
    buf_free(&e->samples);
    buf_free(&e->resampled);
    buf_free(&e->early);
    free(e);
}
