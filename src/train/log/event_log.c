/* event_log.c - writes TensorBoard event files: TFRecords, each with one protobuf message of type Event. */
#include "train/log/event_log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audio/wav.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"

#define FILE_PREFIX "events.out.tfevents."
#define MAX_SECOND INT64_C(9999999999) /* in a file name: ten digits, so that names sort as numbers */
#define MAX_TRIES 100                  /* names tried for a new file */

struct EventLog {
    int fd; /* -1: not open */
    char *path;
    /* Seconds at open, since 1970 and on the monotonic clock. Events are dated by the first plus the advance
     * of the second, so that their times never go back. */
    double wall_time, clock;
    int64_t written; /* size of the file after the last complete flush; a failed one is cut off again */
    Buf out;         /* records that wait for the next flush */
    /* The event being built, from the outside in: an Event holds a Summary, that a Value, and that an Image
     * or an Audio (media) with its file (payload). Kept from event to event for their memory. */
    Buf event, summary, value, media, payload;
    Err failure;  /* the first one, if `failed` */
    int failed;   /* the log is off */
    int reported; /* a flush has returned `failure` */
};

/* ---- records */

/* CRC-32C (Castagnoli), four bits at a time: a small table is fast enough for a log. */
uint32_t event_log_crc(const void *p, size_t n)
{
    /* the remainder of each nibble, for the reflected polynomial 0x82F63B78 */
    static const uint32_t nibble[16] = {
        0x00000000, 0x105EC76F, 0x20BD8EDE, 0x30E349B1, 0x417B1DBC, 0x5125DAD3, 0x61C69362, 0x7198540D,
        0x82F63B78, 0x92A8FC17, 0xA24BB5A6, 0xB21572C9, 0xC38D26C4, 0xD3D3E1AB, 0xE330A81A, 0xF36E6F75};
    uint32_t crc = ~0u;
    for (const uint8_t *b = p, *end = b + n; b < end; b++) {
        crc = nibble[(crc ^ *b) & 15] ^ (crc >> 4);
        crc = nibble[(crc ^ (uint32_t)(*b >> 4)) & 15] ^ (crc >> 4);
    }
    return ~crc;
}

/* TFRecord stores CRCs rotated and offset (kMaskDelta in tensorflow/core/lib/hash/crc32c.h), because a CRC of
 * data that itself contains CRCs is weak. */
uint32_t event_log_masked_crc(const void *p, size_t n)
{
    uint32_t crc = event_log_crc(p, n);
    return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

/* A TFRecord: length of the data (8 bytes), masked CRC of that (4), data, masked CRC of the data (4). */
static void add_record(Buf *out, const Buf *event)
{
    uint8_t head[12], tail[4];
    put_u64(head, event->size);
    put_u32(head + 8, event_log_masked_crc(head, 8));
    put_u32(tail, event_log_masked_crc(event->data, event->size));
    buf_add(out, head, sizeof head);
    buf_add(out, event->data, event->size);
    buf_add(out, tail, sizeof tail);
}

/* ---- protobuf */

/* A field is the varint (number << 3 | kind) and then, depending on the kind, a varint, 8 bytes, a length
 * (varint) with that many bytes, or 4 bytes. */
enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

/* Field numbers, from event.proto and summary.proto in tensorboard/compat/proto. */
enum {
    EVENT_WALL_TIME = 1,
    EVENT_STEP = 2,
    EVENT_FILE_VERSION = 3,
    EVENT_SUMMARY = 5,
    EVENT_SESSION_LOG = 7,
};
enum { SESSION_LOG_STATUS = 1 };
enum { SUMMARY_VALUE = 1 };
enum { VALUE_TAG = 1, VALUE_SIMPLE = 2, VALUE_IMAGE = 4, VALUE_AUDIO = 6 };
enum { IMAGE_HEIGHT = 1, IMAGE_WIDTH = 2, IMAGE_COLORSPACE = 3, IMAGE_FILE = 4 };
enum { AUDIO_RATE = 1, AUDIO_CHANNELS = 2, AUDIO_FRAMES = 3, AUDIO_FILE = 4, AUDIO_TYPE = 5 };
/* Values of these fields. */
enum { STATUS_START = 1, COLORSPACE_RGB = 3 };

/* Seven bits at a time, the lowest first; the top bit says that more follow. */
static void add_varint(Buf *b, uint64_t v)
{
    uint8_t bytes[10];
    size_t n = 0;
    for (; v >= 128; v >>= 7)
        bytes[n++] = (uint8_t)(v | 128);
    bytes[n++] = (uint8_t)v;
    buf_add(b, bytes, n);
}
static void add_key(Buf *b, int field, int kind) { add_varint(b, (uint64_t)field << 3 | (uint64_t)kind); }
static void field_int(Buf *b, int field, int64_t v)
{
    add_key(b, field, VARINT);
    add_varint(b, (uint64_t)v);
}
static void field_double(Buf *b, int field, double v)
{
    add_key(b, field, FIXED64);
    buf_add(b, &v, sizeof v); /* little-endian: bytes.h refuses any other machine */
}
static void field_float(Buf *b, int field, float v)
{
    add_key(b, field, FIXED32);
    buf_add(b, &v, sizeof v);
}
static void field_bytes(Buf *b, int field, const void *p, size_t n)
{
    add_key(b, field, BYTES);
    add_varint(b, n);
    buf_add(b, p, n);
}
static void field_text(Buf *b, int field, const char *s) { field_bytes(b, field, s, strlen(s)); }
/* A field with the contents of `inner`: raw bytes or an encoded message. If inner has failed, so has b. */
static void field_buf(Buf *b, int field, const Buf *inner)
{
    field_bytes(b, field, inner->data, inner->size);
    b->failed |= inner->failed;
}

/* ---- failures */

/* The log must not stop a training run. The first failure turns it off: from then on calls have no effect,
 * except that the next event_log_flush returns the failure, once. */
static void fail(EventLog *l, const Err *why)
{
    l->failed = 1;
    l->failure = *why;
    buf_free(&l->out);
}

static int is_off(const EventLog *l) { return !l || l->failed; }

/* ---- events */

static void event_begin(EventLog *l, int64_t step)
{
    buf_clear(&l->event);
    field_double(&l->event, EVENT_WALL_TIME, l->wall_time + (clock_now() - l->clock));
    if (step) /* 0 is protobuf's default and left out */
        field_int(&l->event, EVENT_STEP, step);
}

static void event_end(EventLog *l)
{
    l->out.failed |= l->event.failed;
    add_record(&l->out, &l->event);
    if (l->out.failed) {
        Err err = {0};
        err_set(&err, ERR_NOMEM, "no memory for the event log %s", l->path);
        fail(l, &err);
    }
}

/* An event with one Value: value_begin, then the caller's fields into l->value, then value_end. */
static void value_begin(EventLog *l, const char *tag)
{
    buf_clear(&l->value);
    buf_clear(&l->media);
    buf_clear(&l->payload);
    field_text(&l->value, VALUE_TAG, tag);
}

static void value_end(EventLog *l, int64_t step)
{
    buf_clear(&l->summary);
    field_buf(&l->summary, SUMMARY_VALUE, &l->value);
    event_begin(l, step);
    field_buf(&l->event, EVENT_SUMMARY, &l->summary);
    event_end(l);
}

void event_log_scalar(EventLog *l, const char *tag, int64_t step, double value)
{
    if (is_off(l))
        return;
    value_begin(l, tag);
    field_float(&l->value, VALUE_SIMPLE, (float)value);
    value_end(l, step);
}

void event_log_picture(EventLog *l, const char *tag, int64_t step, const Rgb *pixels, int w, int h)
{
    if (is_off(l))
        return;
    value_begin(l, tag);
    Err err = {0};
    if (picture_png(&l->payload, pixels, w, h, &err)) {
        fail(l, &err);
        return;
    }
    field_int(&l->media, IMAGE_HEIGHT, h);
    field_int(&l->media, IMAGE_WIDTH, w);
    field_int(&l->media, IMAGE_COLORSPACE, COLORSPACE_RGB);
    field_buf(&l->media, IMAGE_FILE, &l->payload);
    field_buf(&l->value, VALUE_IMAGE, &l->media);
    value_end(l, step);
}

void event_log_audio(EventLog *l, const char *tag, int64_t step, const float *samples, int64_t n, int rate)
{
    if (is_off(l))
        return;
    value_begin(l, tag);
    Err err = {0};
    if (wav_bytes(&l->payload, samples, n, rate, &err)) {
        fail(l, &err);
        return;
    }
    field_float(&l->media, AUDIO_RATE, (float)rate);
    field_int(&l->media, AUDIO_CHANNELS, 1);
    field_int(&l->media, AUDIO_FRAMES, n);
    field_buf(&l->media, AUDIO_FILE, &l->payload);
    field_text(&l->media, AUDIO_TYPE, "audio/wav");
    field_buf(&l->value, VALUE_AUDIO, &l->media);
    value_end(l, step);
}

/* ---- the file */

/* The latest time, in seconds, in the names of dir's event files; 0 when there is none. */
static int64_t newest_second(const char *dir)
{
    int64_t newest = 0;
    DIR *d = opendir(dir);
    if (!d)
        return 0;
    for (const struct dirent *e = readdir(d); e; e = readdir(d)) {
        long long second;
        /* Below MAX_SECOND, so that newest + 1 is a valid second too. */
        if (sscanf(e->d_name, FILE_PREFIX "%lld.", &second) == 1 && second > newest && second < MAX_SECOND)
            newest = second;
    }
    closedir(d);
    return newest;
}

/* Creates the file. TensorBoard reads event files in the order of their names, so ours must sort behind all
 * those in dir, even if it is made in the same second or the clock was set back. */
static int create_file(EventLog *l, const char *dir, Err *err)
{
    char host[256], name[400];
    if (gethostname(host, sizeof host))
        strcpy(host, "localhost");
    host[sizeof host - 1] = 0;
    for (char *s = host; *s; s++)
        if (*s == '/')
            *s = '-';
    int64_t second = (int64_t)l->wall_time, newest = newest_second(dir);
    if (second <= newest)
        second = newest + 1;
    /* Another process may have taken the name since newest_second looked: two containers can have the same
     * host name and pid. */
    for (int tries = 0; tries < MAX_TRIES; tries++, second++) {
        snprintf(name, sizeof name, FILE_PREFIX "%010lld.%s.%ld", (long long)second, host, (long)getpid());
        free(l->path);
        l->path = file_join(dir, name);
        if (!l->path)
            return err_set(err, ERR_NOMEM, "no memory for the event log in %s", dir);
        int fd = open(l->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) {
            l->fd = fd;
            return 0;
        }
        if (errno != EEXIST)
            break;
    }
    return err_set_errno(err, ERR_IO, "cannot create the event log %s", l->path);
}

/* For a resumed run: a SessionLog START makes TensorBoard drop what earlier files of the folder hold at
 * first_step and later. */
static void add_session_start(EventLog *l, int64_t first_step)
{
    Buf session = {0};
    field_int(&session, SESSION_LOG_STATUS, STATUS_START);
    event_begin(l, first_step);
    field_buf(&l->event, EVENT_SESSION_LOG, &session);
    event_end(l);
    buf_free(&session);
}

int event_log_open(EventLog **out, const char *dir, double wall_time_now, int64_t first_step, Err *err)
{
    *out = NULL;
    EventLog *l = mem_calloc(1, sizeof *l);
    if (!l)
        return err_set(err, ERR_NOMEM, "no memory for the event log in %s", dir);
    l->fd = -1;
    l->wall_time = wall_time_now;
    l->clock = clock_now();
    int rc = file_make_dirs(dir, err);
    if (rc == 0)
        rc = create_file(l, dir, err);
    if (rc)
        goto fail;
    /* Readers require the version as the first event. */
    event_begin(l, 0);
    field_text(&l->event, EVENT_FILE_VERSION, "brain.Event:2");
    event_end(l);
    if (first_step > 0)
        add_session_start(l, first_step);
    rc = event_log_flush(l, err);
    if (rc)
        goto fail;
    *out = l;
    return 0;
fail:
    event_log_close(l);
    return rc;
}

/* Reports a failure only once: otherwise the caller would warn at every flush. */
int event_log_flush(EventLog *l, Err *err)
{
    if (!l)
        return 0;
    Err why = {0};
    if (!l->failed && l->out.size) {
        if (file_write_all(l->fd, l->out.data, l->out.size, l->path, &why)) {
            /* Readers stop at a partial record: cut it off. */
            if (ftruncate(l->fd, (off_t)l->written))
                err_hint(&why, "the file ends in a partial record; readers stop there, and everything before "
                               "it is intact");
            fail(l, &why);
        } else {
            l->written += (int64_t)l->out.size;
            buf_clear(&l->out);
        }
    }
    if (!l->failed || l->reported)
        return 0;
    l->reported = 1;
    if (err)
        *err = l->failure;
    return l->failure.code;
}

void event_log_close(EventLog *l)
{
    if (!l)
        return;
    if (l->fd >= 0) {
        event_log_flush(l, NULL);
        close(l->fd);
    }
    free(l->path);
    buf_free(&l->out);
    buf_free(&l->event);
    buf_free(&l->summary);
    buf_free(&l->value);
    buf_free(&l->media);
    buf_free(&l->payload);
    free(l);
}

const char *event_log_path(const EventLog *l) { return l ? l->path : NULL; }
