/* test_front.c - onnx_export as a library: what its piper front is called, whose speakers it has, and the
 * entries of the caller. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "onnx/onnx_export.h"
#include "onnx/proto.h"

#define BASE "bases/english-nano.safetensors"

static struct {
    char path[256];
    Checkpoint voice, vocoder;
} lab;

static int setup(void **state)
{
    Err err = {0};
    snprintf(lab.path, sizeof lab.path, "%s/piper.onnx", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    return checkpoint_open(&lab.voice, BASE, NULL, 0, NULL, NULL, &err) ||
           checkpoint_open_vocoder(&lab.vocoder, BASE, &err);
}

static int teardown(void **state)
{
    unlink(lab.path);
    checkpoint_close(&lab.vocoder);
    checkpoint_close(&lab.voice);
    return 0;
}

static int export_with(OnnxFront front, const MetaEntry *entries, int count, Err *err)
{
    Exported made;
    const OnnxOptions o = {.output = lab.path,
                           .voice = &lab.voice,
                           .vocoder = &lab.vocoder,
                           .front = front,
                           .entries = entries,
                           .entry_count = count};
    return onnx_export(&made, &o, err);
}

static Buf written(void)
{
    Buf b = {0};
    assert_int_equal(file_read(&b, lab.path, 1 << 28, NULL), 0);
    return b;
}

/* 1: there is an input or an output of this name. */
static int has_name(const Buf *b, const char *name)
{
    Buf field = {0};
    proto_text(&field, 1, name);
    const int found = memmem(b->data, b->size, field.data, field.size) != NULL;
    buf_free(&field);
    return found;
}

static void each_front_names_what_its_readers_know(void **state)
{
    static const char *const plain[] = {"symbols", "speed", "pitch", "speaker", "sound", NULL},
                             *const piper[] = {"input_lengths", "scales", "sid", "output", NULL};
    for (int front = ONNX_PLAIN; front <= ONNX_PIPER; front++) {
        Err err = {0};
        if (export_with((OnnxFront)front, NULL, 0, &err))
            fail_msg("%s", err.msg);
        Buf b = written();
        for (int i = 0; plain[i]; i++) /* of metadata these are, too */
            if (strcmp(plain[i], "symbols") != 0)
                assert_int_equal(has_name(&b, plain[i]), front == ONNX_PLAIN);
        for (int i = 0; piper[i]; i++)
            assert_int_equal(has_name(&b, piper[i]), front == ONNX_PIPER);
        assert_true(has_name(&b, "frames"));
        buf_free(&b);
    }
}

/* One that both have is the caller's. */
static void entries_of_the_caller_come_on_top(void **state)
{
    const MetaEntry entries[] = {{"comment", "piper"}, {"sample_rate", "22050 Hz"}};
    Err err = {0};
    if (export_with(ONNX_PIPER, entries, 2, &err))
        fail_msg("%s", err.msg);
    Buf b = written();
    assert_non_null(memmem(b.data, b.size, "comment\x12\x05piper", 14));
    assert_non_null(memmem(b.data, b.size,
                           "sample_rate\x12\x08"
                           "22050 Hz",
                           21));
    assert_null(memmem(b.data, b.size, "sample_rate\x12\x05", 13));
    buf_free(&b);
}

static void texts_that_are_no_utf8_are_refused(void **state)
{
    const MetaEntry entry = {"comment", "\xff"};
    Err err = {0};
    unlink(lab.path);
    assert_int_equal(export_with(ONNX_PLAIN, &entry, 1, &err), ERR_DATA);
    assert_non_null(strstr(err.msg, "comment"));
    assert_int_not_equal(access(lab.path, F_OK), 0);
}

static void speakers_begin_with_the_one_that_synth_takes(void **state)
{
    int numbers[8] = {0};
    assert_int_equal(onnx_speakers(NULL, &lab.voice), 4);
    assert_int_equal(onnx_speakers(numbers, &lab.voice), 4);
    assert_int_equal(numbers[0], lab.voice.content.clips.speaker[0]);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < i; k++)
            assert_int_not_equal(numbers[i], numbers[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_front_names_what_its_readers_know),
        cmocka_unit_test(entries_of_the_caller_come_on_top),
        cmocka_unit_test(texts_that_are_no_utf8_are_refused),
        cmocka_unit_test(speakers_begin_with_the_one_that_synth_takes),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
