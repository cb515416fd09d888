/* test_event_log.c - TensorBoard event files, byte by byte, without TensorBoard; and what happens when the
 * disk does not take them. test_event_log --write DIR leaves two event files (a run and its resumed rest) for
 * tests/golden/compare_events.py. */
#include <math.h>
#include <signal.h>
#include <sys/resource.h>

#include "support/folder_testing.h"

#include "audio/wav.h"
#include "base/bytes.h"
#include "train/log/event_log.h"

#define WALL 1700000000.25

static void test_crc(void **state)
{
    (void)state;
    /* RFC 3720, B.4; and the check value of the CRC catalogues */
    uint8_t zeros[32] = {0}, ones[32], up[32], down[32];
    for (int i = 0; i < 32; i++)
        ones[i] = 0xFF, up[i] = (uint8_t)i, down[i] = (uint8_t)(31 - i);
    assert_int_equal(event_log_crc(zeros, 32), 0x8A9136AA);
    assert_int_equal(event_log_crc(ones, 32), 0x62A8AB43);
    assert_int_equal(event_log_crc(up, 32), 0x46DD794E);
    assert_int_equal(event_log_crc(down, 32), 0x113FDB5C);
    assert_int_equal(event_log_crc("123456789", 9), 0xE3069283);
    assert_int_equal(event_log_crc(NULL, 0), 0);
    /* rotated right by 15, plus a constant */
    assert_int_equal(event_log_masked_crc("123456789", 9),
                     (uint32_t)(((0xE3069283u >> 15) | (0xE3069283u << 17)) + 0xA282EAD8u));
}

/* ---- a reader of protobuf, just enough */

typedef struct Field {
    int number, kind;
    uint64_t varint; /* also the bits of fixed numbers */
    const uint8_t *data;
    size_t size;
} Field;

static uint64_t take_varint(const uint8_t **p, const uint8_t *end)
{
    uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        assert_true(*p < end);
        uint8_t b = *(*p)++;
        v |= (uint64_t)(b & 127) << shift;
        if (b < 128)
            return v;
    }
    fail_msg("a varint without end");
    return 0;
}

/* Field `number` of the message; kind -1 when it is not there. */
static Field field(const uint8_t *p, size_t size, int number)
{
    const uint8_t *end = p + size;
    while (p < end) {
        uint64_t key = take_varint(&p, end);
        Field f = {.number = (int)(key >> 3), .kind = (int)(key & 7)};
        switch (f.kind) {
        case 0:
            f.varint = take_varint(&p, end);
            break;
        case 1:
            assert_true(end - p >= 8);
            f.varint = get_u64(p);
            p += 8;
            break;
        case 2:
            f.size = take_varint(&p, end);
            assert_true(f.size <= (size_t)(end - p));
            f.data = p;
            p += f.size;
            break;
        case 5:
            assert_true(end - p >= 4);
            f.varint = get_u32(p);
            p += 4;
            break;
        default:
            fail_msg("wire type %d", f.kind);
        }
        if (f.number == number)
            return f;
    }
    return (Field){.kind = -1};
}
static Field inside(const Field *message, int number) { return field(message->data, message->size, number); }
static int is_text(const Field *f, const char *s)
{
    return f->kind == 2 && f->size == strlen(s) && memcmp(f->data, s, f->size) == 0;
}
static double as_double(const Field *f)
{
    double v;
    memcpy(&v, &f->varint, sizeof v);
    return v;
}
static float as_float(const Field *f)
{
    uint32_t bits = (uint32_t)f->varint;
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Record i of the file, as a field of kind 2; checks framing and both sums. kind -1 past the end. */
static Field record(const Buf *file, int i)
{
    const uint8_t *p = (const uint8_t *)file->data, *end = p + file->size;
    for (; p < end; i--) {
        assert_true(end - p >= 16);
        uint64_t size = get_u64(p);
        assert_int_equal(get_u32(p + 8), event_log_masked_crc(p, 8));
        assert_true(size <= (size_t)(end - p) - 16);
        assert_int_equal(get_u32(p + 12 + size), event_log_masked_crc(p + 12, size));
        if (i == 0)
            return (Field){.kind = 2, .data = p + 12, .size = size};
        p += 16 + size;
    }
    return (Field){.kind = -1};
}

/* The Value of a record whose Event has this step. */
static Field value_of(const Field *event, int64_t step, const char *tag)
{
    Field at = inside(event, 2), summary = inside(event, 5), value = inside(&summary, 1),
          name = inside(&value, 1);
    assert_int_equal(step ? at.varint : (uint64_t)(at.kind + 1), step);
    assert_true(is_text(&name, tag));
    return value;
}

/* ---- a small run: also what --write leaves */

#define PICTURE_W 30
#define PICTURE_H 20
#define AUDIO_N 400
#define AUDIO_RATE 8000

static void write_run(EventLog *l, int64_t from, int64_t to)
{
    static Rgb pixels[PICTURE_H * PICTURE_W];
    static float samples[AUDIO_N];
    for (int i = 0; i < PICTURE_H * PICTURE_W; i++)
        pixels[i] = (Rgb){(uint8_t)(i % PICTURE_W * 8), (uint8_t)(i / PICTURE_W * 12), 77};
    for (int i = 0; i < AUDIO_N; i++)
        samples[i] = 0.5f * sinf((float)i * 0.2f);
    for (int64_t step = from; step < to; step++)
        event_log_scalar(l, "loss/total", step, 1.0 / (double)(step + 1) + (from > 0 ? 100 : 0));
    event_log_picture(l, "mel/predicted", to, pixels, PICTURE_W, PICTURE_H);
    event_log_audio(l, "voice/first", to, samples, AUDIO_N, AUDIO_RATE);
}

static int write_example(const char *dir)
{
    Err err = {0};
    for (int part = 0; part < 2; part++) { /* steps 0 .. 9, then again from 5 on */
        EventLog *l;
        if (event_log_open(&l, dir, WALL + part, part * 5, &err)) {
            fprintf(stderr, "%s\n", err.msg);
            return 3;
        }
        write_run(l, part * 5, part * 5 + 10);
        event_log_close(l);
    }
    return 0;
}

static EventLog *open_log(const char *dir, int64_t first_step)
{
    EventLog *l;
    Err err = {0};
    if (event_log_open(&l, dir, WALL, first_step, &err))
        fail_msg("%s", err.msg);
    return l;
}

static void test_header(void **state)
{
    (void)state;
    Folder f = folder_make();
    EventLog *l = open_log(folder_file(&f, "a/b"), 0);
    char name[64];
    snprintf(name, sizeof name, "events.out.tfevents.1700000000.");
    const char *base = strrchr(event_log_path(l), '/') + 1;
    assert_memory_equal(base, name, strlen(name));
    snprintf(name, sizeof name, ".%ld", (long)getpid());
    assert_string_equal(base + strlen(base) - strlen(name), name);
    Buf b = file_bytes(event_log_path(l)); /* there before the first flush of the caller */
    /* length 24, its sum; 09 <time> 1a 0d "brain.Event:2", the sum */
    assert_int_equal(b.size, 12 + 24 + 4);
    assert_memory_equal(b.data, "\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22\x09", 13);
    assert_memory_equal(b.data + 21,
                        "\x1a\x0d"
                        "brain.Event:2",
                        15);
    Field event = record(&b, 0), time = inside(&event, 1);
    assert_true(as_double(&time) >= WALL && as_double(&time) < WALL + 60);
    assert_int_equal(record(&b, 1).kind, -1);
    buf_free(&b);
    event_log_close(l);
    folder_remove(&f);
}

static void test_values(void **state)
{
    (void)state;
    Folder f = folder_make();
    EventLog *l = open_log(f.path, 0);
    write_run(l, 0, 3);
    event_log_scalar(l, "minus", INT64_C(1) << 40, -2.5);
    event_log_scalar(l, "nan", 7, NAN);
    Buf b = file_bytes(event_log_path(l));
    assert_int_equal(record(&b, 1).kind, -1); /* nothing written yet */
    buf_free(&b);
    assert_int_equal(event_log_flush(l, NULL), 0);
    b = file_bytes(event_log_path(l));
    for (int i = 0; i < 3; i++) {
        Field e = record(&b, 1 + i), v = value_of(&e, i, "loss/total"), number = inside(&v, 2);
        assert_int_equal(number.kind, 5);
        assert_true(as_float(&number) == 1.0f / (float)(i + 1));
    }
    Field e = record(&b, 4), v = value_of(&e, 3, "mel/predicted"), image = inside(&v, 4),
          png = inside(&image, 4);
    assert_int_equal(inside(&image, 1).varint, PICTURE_H);
    assert_int_equal(inside(&image, 2).varint, PICTURE_W);
    assert_int_equal(inside(&image, 3).varint, 3);
    assert_memory_equal(png.data, "\x89PNG\r\n\x1a\n", 8);
    e = record(&b, 5), v = value_of(&e, 3, "voice/first");
    Field audio = inside(&v, 6), rate = inside(&audio, 1), wav = inside(&audio, 4), type = inside(&audio, 5);
    assert_true(as_float(&rate) == AUDIO_RATE);
    assert_int_equal(inside(&audio, 2).varint, 1);
    assert_int_equal(inside(&audio, 3).varint, AUDIO_N);
    assert_int_equal(wav.size, WAV_HEADER_BYTES + 2 * AUDIO_N);
    assert_memory_equal(wav.data, "RIFF", 4);
    assert_true(is_text(&type, "audio/wav"));
    e = record(&b, 6), v = value_of(&e, INT64_C(1) << 40, "minus");
    Field number = inside(&v, 2);
    assert_true(as_float(&number) == -2.5f);
    e = record(&b, 7), v = value_of(&e, 7, "nan"), number = inside(&v, 2);
    assert_true(isnan(as_float(&number)));
    assert_int_equal(record(&b, 8).kind, -1);
    buf_free(&b);
    event_log_close(l);
    folder_remove(&f);
}

static void test_resume(void **state)
{
    (void)state;
    Folder f = folder_make();
    EventLog *a = open_log(f.path, 0), *b = open_log(f.path, 500);
    /* the later file has the later name, though the clock says the same and the process is the same */
    assert_true(strcmp(event_log_path(a), event_log_path(b)) < 0);
    file_put(folder_file(&f, "events.out.tfevents.1800000000.elsewhere.1"), "", 0);
    EventLog *c = open_log(f.path, 600);
    assert_non_null(strstr(event_log_path(c), "events.out.tfevents.1800000001."));
    Buf bytes = file_bytes(event_log_path(b));
    Field e = record(&bytes, 1), session = inside(&e, 7);
    assert_int_equal(inside(&e, 2).varint, 500);
    assert_int_equal(inside(&session, 1).varint, 1); /* START */
    assert_int_equal(inside(&e, 5).kind, -1);
    assert_int_equal(record(&bytes, 2).kind, -1);
    buf_free(&bytes);
    event_log_close(a);
    event_log_close(b);
    event_log_close(c);
    folder_remove(&f);
}

static void test_failures(void **state)
{
    (void)state;
    Folder f = folder_make();
    Err err = {0};
    EventLog *l;
    file_put(folder_file(&f, "file"), "x", 1);
    assert_int_not_equal(event_log_open(&l, folder_file(&f, "file"), WALL, 0, &err), 0);
    assert_null(l);
    assert_non_null(strstr(err.msg, "file"));

    l = open_log(f.path, 0);
    event_log_scalar(l, "a", 1, 1);
    assert_int_equal(event_log_flush(l, &err), 0);
    Buf before = file_bytes(event_log_path(l));
    struct rlimit old, small;
    getrlimit(RLIMIT_FSIZE, &old);
    small = (struct rlimit){before.size + 100, old.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    for (int i = 0; i < 10; i++)
        event_log_scalar(l, "loss", i, 1); /* more than 100 bytes */
    err = (Err){0};
    int first = event_log_flush(l, &err), second;
    event_log_scalar(l, "loss", 11, 1);
    second = event_log_flush(l, &(Err){0});
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, handler);
    assert_int_not_equal(first, 0);
    assert_int_equal(err.code, first);
    assert_non_null(strstr(err.msg, "events.out.tfevents"));
    assert_int_equal(second, 0); /* told once */
    event_log_scalar(l, "loss", 12, 1);
    event_log_picture(l, "p", 12, NULL, 0, 0);
    event_log_audio(l, "a", 12, NULL, 0, 1);
    assert_int_equal(event_log_flush(l, &err), 0);
    Buf after = file_bytes(event_log_path(l)); /* whole records only, as before the failure */
    assert_int_equal(after.size, before.size);
    assert_memory_equal(after.data, before.data, after.size);
    event_log_close(l);
    buf_free(&before);
    buf_free(&after);

    /* no log at all: every call is allowed */
    event_log_scalar(NULL, "a", 1, 1);
    event_log_picture(NULL, "a", 1, NULL, 1, 1);
    event_log_audio(NULL, "a", 1, NULL, 1, 1);
    assert_int_equal(event_log_flush(NULL, NULL), 0);
    assert_null(event_log_path(NULL));
    event_log_close(NULL);

    /* a picture that cannot be made is such a failure too */
    l = open_log(f.path, 0);
    Rgb dot = {1, 2, 3};
    event_log_picture(l, "p", 1, &dot, 0, 0);
    assert_int_not_equal(event_log_flush(l, &err), 0);
    assert_int_equal(event_log_flush(l, &err), 0);
    event_log_close(l);
    folder_remove(&f);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--write") == 0)
        return write_example(argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crc),    cmocka_unit_test(test_header),   cmocka_unit_test(test_values),
        cmocka_unit_test(test_resume), cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
