/* fuzz_runs.c - any bytes as the logs of two runs, cut at the first zero byte: what opens is compared, scaled
 * and drawn as the monitor does it, and no sentence or line of it holds a control character that a terminal
 * would obey once it is tamed. */
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/utf8.h"
#include "diag/report/compare.h"
#include "diag/report/monitor_view.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* $TMPDIR, which the script points at memory. */
static const char *log_path(int which)
{
    static char paths[2][300];
    if (!paths[0][0]) {
        const char *tmp = getenv("TMPDIR");
        for (int i = 0; i < 2; i++)
            snprintf(paths[i], sizeof paths[i], "%s/fuzz-runs-%d-%ld.jsonl", tmp ? tmp : "/tmp", i,
                     (long)getpid());
    }
    return paths[which];
}

static void put(const char *path, const void *p, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    ASSERT(fd >= 0 && write(fd, p, n) == (ssize_t)n);
    close(fd);
}

static void check_tame(char *text, size_t n)
{
    n = utf8_tame(text, n);
    ASSERT(utf8_valid(text, n) == n);
    for (size_t i = 0; i < n; i++)
        ASSERT((unsigned char)text[i] >= 0x20 || text[i] == '\n' || text[i] == '\t');
}

/* says_so: the log has these letters itself, or some that may become them. */
static void view(const RunRecord *r, int says_so)
{
    MonitorView v = {.run = r, .age = 3, .width = 79, .wants_gpu = 1};
    Buf b = {0};
    monitor_view_frame(&b, &v);
    monitor_view_line(&b, &v);
    check_tame(b.data, b.size);
    buf_free(&b);
    json_t *o = monitor_view_json(&v);
    ASSERT(o);
    char *text = json_dumps(o, 0);
    ASSERT(text && (says_so || (!strstr(text, "nan") && !strstr(text, "inf,"))));
    free(text);
    json_decref(o);
}

static void compare(const RunRecord *a, const RunRecord *b)
{
    Compare c;
    Scaling s;
    Err err = {0};
    char text[2000];
    RunRecord both[2] = {*a, *b};
    if (compare_runs(&c, a, b, -1, (double)NAN, &err) == 0) {
        compare_verdict(text, sizeof text, &c);
        for (int i = 0; i < COMPARE_COUNT; i++) {
            compare_row_value(text, sizeof text, (CompareRow)i, c.rows[i].a);
            compare_row_change(text, sizeof text, &c.rows[i]);
            check_tame(text, strlen(text));
        }
        json_decref(compare_json(&c));
        json_decref(compare_report(&c));
    } else {
        ASSERT(err.msg[0]);
    }
    if (scaling_runs(&s, both, 2, -1, &err) == 0) {
        scaling_verdict(text, sizeof text, &s);
        scaling_caution(text, sizeof text, &s);
        json_decref(scaling_json(&s));
    }
    scaling_close(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    size_t first = zero ? (size_t)(zero - data) : size;
    RunRecord a = {0}, b = {0};
    Err err = {0};
    put(log_path(0), data, first);
    put(log_path(1), zero ? zero + 1 : data, zero ? size - first - 1 : size);
    int rc = run_record_load(&a, log_path(0), &err);
    if (!rc)
        rc = run_record_load(&b, log_path(1), &err);
    ASSERT(!rc || err.msg[0]);
    if (!rc) {
        view(&a,
             memmem(data, size, "nan", 3) || memmem(data, size, "inf", 3) || memmem(data, size, "\\u", 2));
        if (size % 16 == 0) /* thousands of draws take their time */
            compare(&a, &b);
    }
    run_record_close(&a);
    run_record_close(&b);
    return 0;
}
