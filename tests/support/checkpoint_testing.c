/* checkpoint_testing.c - see checkpoint_testing.h. */
#include "checkpoint_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "voice/safetensors.h"

const char *step_file(const char *folder, int64_t step)
{
    static char paths[4][500];
    static int next;
    char *p = paths[next++ % 4];
    snprintf(p, sizeof paths[0], "%s/step-%08lld.safetensors", folder, (long long)step);
    return p;
}

static int begins_with_one_of(const char *name, const char *prefixes)
{
    while (*prefixes) {
        const size_t n = strcspn(prefixes, " ");
        if (strncmp(name, prefixes, n) == 0)
            return 1;
        prefixes += n + (prefixes[n] == ' ');
    }
    return 0;
}

int compare_checkpoints(const char *a, const char *b, const char *without)
{
    SafeTensors x, y;
    Err err = {0};
    int compared = 0;
    if (safetensors_open(&x, a, &err) || safetensors_open(&y, b, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(x.count, y.count);
    for (int i = 0; i < x.count; i++) {
        const TensorView *t = &x.tensors[i], *u = &y.tensors[i];
        assert_string_equal(t->name, u->name);
        assert_int_equal(t->bytes, u->bytes);
        if (without && begins_with_one_of(t->name, without))
            continue;
        if (memcmp(t->data, u->data, t->bytes) != 0)
            fail_msg("%s differs between %s and %s", t->name, a, b);
        compared++;
    }
    safetensors_close(&x);
    safetensors_close(&y);
    return compared;
}
