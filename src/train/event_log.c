/* event_log.c - event files of TensorBoard. Field numbers are those of tensorboard/compat/proto: event.proto,
 * summary.proto, tensor.proto. */
#include "train/event_log.h"

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
#define MOST_NAMES 100 /* that are tried for a new file */

struct EventLog {
    int fd_plus1;
    char *path;
    double wall_time, clock;                   /* at open */
    int64_t written;                           /* bytes of whole flushes */
    Buf out;                                   /* records to be written */
    Buf event, summary, value, media, payload; /* messages inside each other, reused */
    Err failure;
    int failed, told;
};

/* ---- records */

/* Half a byte at a time: the table fits into one cache line, and a log is no hot path. */
uint32_t event_log_crc(const void *p, size_t n)
{
    /* remainders of the 16 half bytes for the reflected polynomial 0x82F63B78 */
    static const uint32_t half_byte[16] = {
        0x00000000, 0x105EC76F, 0x20BD8EDE, 0x30E349B1, 0x417B1DBC, 0x5125DAD3, 0x61C69362, 0x7198540D,
        0x82F63B78, 0x92A8FC17, 0xA24BB5A6, 0xB21572C9, 0xC38D26C4, 0xD3D3E1AB, 0xE330A81A, 0xF36E6F75};
    uint32_t crc = ~0u;
    for (const uint8_t *b = p, *end = b + n; b < end; b++) {
        crc = half_byte[(crc ^ *b) & 15] ^ (crc >> 4);
        crc = half_byte[(crc ^ (uint32_t)(*b >> 4)) & 15] ^ (crc >> 4);
    }
    return ~crc;
}

/* TFRecord turns and shifts the checksum, because one over data that holds checksums is weak. */
uint32_t event_log_masked_crc(const void *p, size_t n)
{
    uint32_t crc = event_log_crc(p, n);
    return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

/* The framing of TFRecord: length, its checksum, the event, its checksum. */
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

/* ---- protobuf: a field is (number << 3 | kind), then a varint, 8 bytes, a length with bytes, or 4 bytes */

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

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
/* A message inside a message. If the inner one ran out of memory, so has the outer one. */
static void field_message(Buf *b, int field, const Buf *m)
{
    field_bytes(b, field, m->data, m->size);
    b->failed |= m->failed;
}

/* ---- failures */

/* From now on every call does nothing; the next flush says why. */
static void fail(EventLog *l, const Err *why)
{
    l->failed = 1;
    l->failure = *why;
    buf_free(&l->out);
}

static int silent(const EventLog *l) { return !l || l->failed; }

/* ---- events */

static void event_begin(EventLog *l, int64_t step)
{
    buf_clear(&l->event);
    field_double(&l->event, 1, l->wall_time + (clock_now() - l->clock));
    if (step)
        field_int(&l->event, 2, step);
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

/* A Summary with one Value: its tag, then what the caller adds in between. */
static void value_begin(EventLog *l, const char *tag)
{
    buf_clear(&l->value);
    buf_clear(&l->media);
    buf_clear(&l->payload);
    field_text(&l->value, 1, tag);
}
static void value_end(EventLog *l, int64_t step)
{
    buf_clear(&l->summary);
    field_message(&l->summary, 1, &l->value);
    event_begin(l, step);
    field_message(&l->event, 5, &l->summary);
    event_end(l);
}

void event_log_scalar(EventLog *l, const char *tag, int64_t step, double value)
{
    if (silent(l))
        return;
    value_begin(l, tag);
    field_float(&l->value, 2, (float)value);
    value_end(l, step);
}

/* Pictures are kept as PNG, as TensorBoard expects them. */
void event_log_picture(EventLog *l, const char *tag, int64_t step, const Rgb *pixels, int w, int h)
{
    if (silent(l))
        return;
    value_begin(l, tag);
    Err err = {0};
    if (picture_png(&l->payload, pixels, w, h, &err)) {
        fail(l, &err);
        return;
    }
    field_int(&l->media, 1, h);
    field_int(&l->media, 2, w);
    field_int(&l->media, 3, 3); /* RGB */
    field_message(&l->media, 4, &l->payload);
    field_message(&l->value, 4, &l->media);
    value_end(l, step);
}

void event_log_audio(EventLog *l, const char *tag, int64_t step, const float *samples, int64_t n, int rate)
{
    if (silent(l))
        return;
    value_begin(l, tag);
    Err err = {0};
    if (wav_bytes(&l->payload, samples, n, rate, &err)) {
        fail(l, &err);
        return;
    }
    field_float(&l->media, 1, (float)rate);
    field_int(&l->media, 2, 1); /* channels */
    field_int(&l->media, 3, n);
    field_message(&l->media, 4, &l->payload);
    field_text(&l->media, 5, "audio/wav");
    field_message(&l->value, 6, &l->media);
    value_end(l, step);
}

/* ---- the file */

/* Seconds in the name of the newest event file; 0 when there is none. */
static int64_t newest_second(const char *dir)
{
    int64_t newest = 0;
    DIR *d = opendir(dir);
    if (!d)
        return 0;
    for (struct dirent *e; (e = readdir(d));) {
        long long second;
        if (sscanf(e->d_name, FILE_PREFIX "%lld.", &second) == 1 && second > newest &&
            second < INT64_C(9999999999))
            newest = second;
    }
    closedir(d);
    return newest;
}

/* A name of its own, later than that of every event file in the folder. */
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
    /* Another process may take the same name between looking and making. */
    for (int tries = 0; tries < MOST_NAMES; tries++, second++) {
        snprintf(name, sizeof name, FILE_PREFIX "%010lld.%s.%ld", (long long)second, host, (long)getpid());
        free(l->path);
        l->path = file_join(dir, name);
        if (!l->path)
            return err_set(err, ERR_NOMEM, "no memory for the event log in %s", dir);
        int fd = open(l->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) {
            l->fd_plus1 = fd + 1;
            return 0;
        }
        if (errno != EEXIST)
            break;
    }
    return err_set_errno(err, ERR_IO, "cannot create the event log %s", l->path);
}

/* The first record names the version; readers refuse the file without it. */
int event_log_open(EventLog **out, const char *dir, double wall_time_now, int64_t first_step, Err *err)
{
    *out = NULL;
    EventLog *l = mem_calloc(1, sizeof *l);
    if (!l)
        return err_set(err, ERR_NOMEM, "no memory for the event log in %s", dir);
    l->wall_time = wall_time_now;
    l->clock = clock_now();
    int rc = file_make_dirs(dir, err);
    if (rc == 0)
        rc = create_file(l, dir, err);
    if (rc)
        goto fail;
    event_begin(l, 0);
    field_text(&l->event, 3, "brain.Event:2");
    event_end(l);
    if (first_step > 0) {
        event_begin(l, first_step);
        buf_clear(&l->value);
        field_int(&l->value, 1, 1); /* status: start */
        field_message(&l->event, 7, &l->value);
        event_end(l);
    }
    rc = event_log_flush(l, err);
    if (rc)
        goto fail;
    *out = l;
    return 0;
fail:
    event_log_close(l);
    return rc;
}

/* A failure is told once; the caller would warn at every line otherwise. */
int event_log_flush(EventLog *l, Err *err)
{
    if (!l)
        return 0;
    Err why = {0};
    if (!l->failed && l->out.size) {
        if (file_write_all(l->fd_plus1 - 1, l->out.data, l->out.size, l->path, &why)) {
            /* Half a record would end the file early for its readers. */
            if (ftruncate(l->fd_plus1 - 1, (off_t)l->written))
                err_hint(&why, "the end of the file holds half a record");
            fail(l, &why);
        } else {
            l->written += (int64_t)l->out.size;
            buf_clear(&l->out);
        }
    }
    if (!l->failed || l->told)
        return 0;
    l->told = 1;
    if (err)
        *err = l->failure;
    return l->failure.code;
}

void event_log_close(EventLog *l)
{
    if (!l)
        return;
    if (l->fd_plus1) {
        event_log_flush(l, NULL);
        close(l->fd_plus1 - 1);
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
