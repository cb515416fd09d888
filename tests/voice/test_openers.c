/* test_openers.c - an opener that fails leaves nothing open: the out pointer is NULL, the device has all of
 * its memory back, and closing is allowed. The cap of the device makes them fail, one allocation later each
 * time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "device/device.h"
#include "text/phonemes/tokens.h"
#include "train/step/engine.h"
#include "voice/voice.h"

#define CHECKPOINT "tests/golden/checkpoint.safetensors"
#define MOST_TRIES 50

static Device *device_with(uint64_t cap)
{
    Device *d = NULL;
    Err err = {0};
    if (device_open(&d, "cpu", &(DeviceOptions){.memory_cap = cap}, &err))
        fail_msg("%s", err.msg);
    return d;
}

/* Opens one thing on a device: 0, and *bytes it took, closed again; or the error. */
typedef int (*Attempt)(Device *d, uint64_t *bytes, Err *err);

static int attempt_engine(Device *d, uint64_t *bytes, Err *err)
{
    Config cfg;
    assert_int_equal(config_defaults(&cfg, err), 0);
    EngineOptions o = {
        .cfg = &cfg, .device = d, .largest = {2, 16, 64}, .symbols = tokens_count(), .training = 1};
    Engine *e = (Engine *)&cfg;
    int rc = engine_open(&e, &o, err);
    *bytes = d->used;
    if (rc)
        assert_null(e);
    engine_close(e);
    config_close(&cfg);
    return rc;
}

static int attempt_voice(Device *d, uint64_t *bytes, Err *err)
{
    VoiceOptions o = {.checkpoint = CHECKPOINT, .device = d};
    Voice *v = (Voice *)&o;
    int rc = voice_open(&v, &o, err);
    *bytes = d->used;
    if (rc)
        assert_null(v);
    voice_close(v);
    return rc;
}

/* With no room for the first block, then for the first but not the second, and so on until it opens. */
static int fail_everywhere(Attempt attempt)
{
    uint64_t all, bytes, cap = 1;
    Err err = {0};
    Device *d = device_with(0);
    if (attempt(d, &all, &err))
        fail_msg("%s", err.msg);
    assert_true(all > 0 && d->used == 0);
    device_close(d);
    int failed = 0;
    for (int i = 0; i < MOST_TRIES; i++) {
        d = device_with(cap);
        err = (Err){0};
        int rc = attempt(d, &bytes, &err);
        assert_int_equal(d->used, 0);
        device_close(d);
        if (!rc)
            return failed;
        assert_int_equal(rc, ERR_DEVICE);
        assert_int_equal(bytes, 0); /* given back before the opener returned */
        failed++;
        cap = all * (uint64_t)(i + 1) / 20;
    }
    fail_msg("it never opens");
    return failed;
}

static void engines(void **state) { assert_true(fail_everywhere(attempt_engine) >= 15); }

static void voices(void **state) { assert_true(fail_everywhere(attempt_voice) >= 15); }

static void a_voice_without_a_checkpoint(void **state)
{
    Device *d = device_with(0);
    Err err = {0};
    VoiceOptions o = {.checkpoint = "tests/golden/no-such-file", .device = d};
    Voice *v = (Voice *)&o;
    assert_int_equal(voice_open(&v, &o, &err), ERR_MISSING);
    assert_null(v);
    device_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engines),
        cmocka_unit_test(voices),
        cmocka_unit_test(a_voice_without_a_checkpoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
