/* test_library.c - the C library: version, errors, log lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/progress.h"
#include "lib/library.h"

static void test_version(void **state)
{
    char expected[32];
    snprintf(expected, sizeof expected, "%d.%d.%d", MYXTTS_VERSION_MAJOR, MYXTTS_VERSION_MINOR,
             MYXTTS_VERSION_PATCH);
    assert_string_equal(myxtts_version(), expected);
}

static void test_errors_keep_message_and_hint(void **state)
{
    Err err = {0};
    myxtts_error out = {0};
    err_set(&err, ERR_DEVICE, "the GPU is gone");
    err_hint(&err, "look for it");
    assert_int_equal(library_error(&out, &err), MYXTTS_ERROR_DEVICE);
    assert_int_equal(out.code, MYXTTS_ERROR_DEVICE);
    assert_string_equal(out.message, "the GPU is gone");
    assert_string_equal(out.hint, "look for it");
    assert_int_equal(library_error(NULL, &err), MYXTTS_ERROR_DEVICE);
}

typedef struct Lines {
    int count, level[8];
    char line[8][4096];
} Lines;

static void collect(void *arg, int level, const char *line)
{
    Lines *l = arg;
    if (l->count < 8) {
        l->level[l->count] = level;
        snprintf(l->line[l->count], sizeof l->line[0], "%s", line);
    }
    l->count++;
}

static void test_lines_reach_the_caller(void **state)
{
    static Lines lines;
    LibraryLog log;
    library_log_open(&log, collect, &lines);
    log_error(&log.log, "line %d", 1);
    log_warn(&log.log, "line %d", 2);
    log_info(&log.log, "line %d\x1b", 3);
    log_debug(&log.log, "not this one");
    char longer[3000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    log_info(&log.log, "%s", longer);
    library_log_close(&log);
    assert_int_equal(lines.count, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(lines.level[i], i < 3 ? i : 2);
    assert_string_equal(lines.line[0], "line 1");
    assert_string_equal(lines.line[1], "line 2");
    assert_memory_equal(lines.line[2], "line 3", 6);
    assert_null(strchr(lines.line[2], '\x1b'));
    assert_string_equal(lines.line[3], longer);
}

/* Two seconds have passed for it. */
static void test_progress_reaches_the_caller(void **state)
{
    static Lines lines;
    LibraryLog log;
    Progress p;
    library_log_open(&log, collect, &lines);
    progress_begin(&p, &log.log, "mel", "clips", 10);
    p.start -= 100;
    p.last_print -= 100;
    progress_add(&p, 5);
    progress_end(&p);
    library_log_close(&log);
    assert_int_equal(lines.count, 2);
    assert_memory_equal(lines.line[0], "mel 5/10 clips (50 %)", 21);
    assert_int_equal(lines.level[0], 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version),
        cmocka_unit_test(test_errors_keep_message_and_hint),
        cmocka_unit_test(test_lines_reach_the_caller),
        cmocka_unit_test(test_progress_reaches_the_caller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
