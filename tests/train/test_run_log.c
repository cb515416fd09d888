/* test_run_log.c - log.jsonl: whole lines, torn lines, resumed runs. */
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "support/folder_testing.h"

#include "base/json.h"
#include "train/log/run_log.h"

static RunLog *open_log(const char *path)
{
    RunLog *l;
    Err err = {0};
    if (run_log_open(&l, path, &err))
        fail_msg("%s", err.msg);
    return l;
}

static void assert_content(const char *path, const char *expected)
{
    Buf b = file_bytes(path);
    buf_add(&b, "", 1);
    assert_string_equal(b.data, expected);
    buf_free(&b);
}

static void test_lines(void **state)
{
    (void)state;
    Folder f = folder_make();
    const char *path = folder_file(&f, "log.jsonl");
    RunLog *l = open_log(path);
    assert_int_equal(run_log_resume(l, 0, NULL), 0); /* a fresh run says nothing */
    assert_int_equal(run_log_write(l, json_pack("{s:i, s:f}", "step", 1, "loss", 0.5), NULL), 0);
    assert_content(path, "{\"step\":1,\"loss\":0.5}\n"); /* there at once */
    json_t *o = json_pack("{s:s}", "text", "two\nlines");
    assert_int_equal(json_object_set_new(o, "bad", json_from_double(NAN)) |
                         json_object_set_new(o, "good", json_from_double(0.1)),
                     0);
    assert_int_equal(run_log_write(l, o, NULL), 0);
    run_log_close(l);
    l = open_log(path);
    assert_int_equal(run_log_resume(l, 40, NULL), 0);
    run_log_close(l);
    assert_content(path, "{\"step\":1,\"loss\":0.5}\n{\"text\":\"two\\nlines\",\"bad\":null,\"good\":0.1}\n"
                         "{\"event\":\"resume\",\"step\":40}\n");
    run_log_close(NULL);
    folder_remove(&f);
}

static void test_torn_line(void **state)
{
    (void)state;
    Folder f = folder_make();
    const char *path = folder_file(&f, "log.jsonl");
    file_put(path, "{\"step\":1}\n{\"st", 15);
    RunLog *l = open_log(path);
    assert_content(path, "{\"step\":1}\n{\"st"); /* opening alone changes nothing */
    assert_int_equal(run_log_write(l, json_pack("{s:i}", "step", 2), NULL), 0);
    assert_int_equal(run_log_write(l, json_pack("{s:i}", "step", 3), NULL), 0);
    run_log_close(l);
    assert_content(path, "{\"step\":1}\n{\"st\n{\"step\":2}\n{\"step\":3}\n");
    folder_remove(&f);
}

static void test_failures(void **state)
{
    (void)state;
    Folder f = folder_make();
    Err err = {0};
    RunLog *l;
    assert_int_not_equal(run_log_open(&l, folder_file(&f, "no/such/log.jsonl"), &err), 0);
    assert_null(l);
    assert_non_null(strstr(err.msg, "no/such/log.jsonl"));
    const char *path = folder_file(&f, "log.jsonl");
    l = open_log(path);
    assert_int_equal(run_log_write(l, NULL, &err), ERR_NOMEM);
    assert_content(path, "");

    /* the disk is full in the middle of a line, and has room again */
    struct rlimit old, small;
    getrlimit(RLIMIT_FSIZE, &old);
    small = (struct rlimit){4, old.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    int rc = run_log_write(l, json_pack("{s:i}", "step", 1), &err);
    int again = run_log_write(l, json_pack("{s:i}", "step", 2), NULL);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, handler);
    assert_int_not_equal(rc, 0);
    assert_int_not_equal(again, 0);
    assert_non_null(strstr(err.msg, "log.jsonl"));
    assert_int_equal(run_log_write(l, json_pack("{s:i}", "step", 3), &err), 0);
    assert_content(path, "{\"st\n{\"step\":3}\n");
    run_log_close(l);
    folder_remove(&f);
}

/* Sums the steps; stops at step 99. */
static int add_step(void *arg, json_t *o)
{
    int64_t step = json_integer_value(json_object_get(o, "step"));
    *(int64_t *)arg += step;
    return step == 99 ? 42 : 0;
}

static void test_reading(void **state)
{
    (void)state;
    Folder f = folder_make();
    const char *path = folder_file(&f, "log.jsonl");
    static const char text[] = "{\"step\":1}\r\n\n[1]\nnonsense\n{\"step\":2}\n{\"step\":4,}\n{\"step\":8}";
    file_put(path, text, sizeof text - 1);
    int64_t sum = 0, bad = -1;
    assert_int_equal(run_log_each(path, add_step, &sum, &bad, NULL), 0);
    assert_int_equal(sum, 1 + 2 + 8); /* a last line without a newline counts when it is whole */
    assert_int_equal(bad, 3);
    assert_int_equal(run_log_each(path, add_step, &sum, NULL, NULL), 0);
    file_put(path, "{\"step\":1}\n{\"step\":99}\n{\"step\":5}\n", 34);
    sum = 0;
    assert_int_equal(run_log_each(path, add_step, &sum, &bad, NULL), 42);
    assert_int_equal(sum, 100);
    file_put(path, "", 0);
    assert_int_equal(run_log_each(path, add_step, &sum, &bad, NULL), 0);
    assert_int_equal(bad, 0);
    Err err = {0};
    assert_int_equal(run_log_each(folder_file(&f, "none"), add_step, &sum, &bad, &err), ERR_MISSING);
    assert_non_null(strstr(err.msg, "none"));
    assert_int_equal(run_log_each("/dev/zero", add_step, &sum, &bad, &err), ERR_FORMAT); /* has no end */
    assert_non_null(strstr(err.msg, "/dev/zero is a device"));
    FILE *endless = fopen(folder_file(&f, "endless"), "w");
    assert_int_equal(ftruncate(fileno(endless), (off_t)1 << 40), 0); /* nor any line a terabyte of zeros */
    fclose(endless);
    assert_int_equal(run_log_each(folder_file(&f, "endless"), add_step, &sum, &bad, &err), ERR_FORMAT);
    assert_non_null(strstr(err.msg, "has a line of more than 67108864 bytes"));
    assert_int_not_equal(run_log_each(f.path, add_step, &sum, &bad, &err), 0); /* a folder */
    folder_remove(&f);
}

/* A writer is killed again and again; every line is whole, or is the torn one before a restart. */
static void test_kill(void **state)
{
    (void)state;
    Folder f = folder_make();
    const char *path = folder_file(&f, "log.jsonl");
    for (int run = 0; run < 10; run++) {
        pid_t child = fork();
        if (child == 0) {
            RunLog *l;
            if (run_log_open(&l, path, NULL))
                _exit(1);
            for (int i = 0;; i++)
                if (run_log_write(l, json_pack("{s:i, s:i}", "step", 1, "i", i), NULL))
                    _exit(1);
        }
        usleep(3000);
        kill(child, SIGKILL);
        int status;
        waitpid(child, &status, 0);
        assert_true(WIFSIGNALED(status));
    }
    int64_t sum = 0, bad = 0;
    assert_int_equal(run_log_each(path, add_step, &sum, &bad, NULL), 0);
    assert_true(bad <= 10);
    folder_remove(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),   cmocka_unit_test(test_torn_line), cmocka_unit_test(test_failures),
        cmocka_unit_test(test_reading), cmocka_unit_test(test_kill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
