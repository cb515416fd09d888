/* test_serve_load.c - `myxtts serve` when more is asked of it than it can do: what is refused, what waits,
 * and what idle connections cost. */
#include "support/command_testing.h"
#include "support/folder_testing.h"
#include "support/http_testing.h"

#include <sys/resource.h>

static ServeLab lab;

static int setup_lab(void **state) { return serve_lab_open(&lab); }
static int teardown_lab(void **state) { return serve_lab_close(&lab); }

/* Nobody listens before all have asked. Returns how many were refused. */
static int refuses(const char *option, const char *most)
{
    ServeRun s;
    int fd[16], refused = 0, spoken = 0;
    serve_start(&s, ARGS("--checkpoint", lab.run, "--max-wait", "3600", option, most));
    for (int i = 0; i < 16; i++) {
        fd[i] = dial(s.port);
        send_speech(fd[i], LONG_TEXT, 16);
    }
    for (int i = 0; i < 16; i++) {
        Reply r;
        read_reply(fd[i], &r);
        refused += r.status == 429;
        spoken += r.status == 200;
        assert_true(r.status != 429 || reply_header(&r, "Retry-After"));
        reply_free(&r);
        close(fd[i]);
    }
    print_message("%s %s: %d spoken, %d refused\n", option, most, spoken, refused);
    assert_true(spoken >= 1 && refused + spoken == 16);
    serve_stop(&s);
    return refused;
}

static void too_much_is_refused(void **state)
{
    assert_true(refuses("--max-requests", "2") == 14);
    refuses("--max-queue", "1"); /* as many as come before the first is heard */
}

/* A voice that is slow, asked by many at once: who would wait too long for the others is told so at once, and
 * when to come again; who waits is heard. Returns how many were refused. */
static int refuses_to_wait(const char *most)
{
    ServeRun s;
    Reply r[24];
    int fd[24], refused = 0;
    serve_start(&s, ARGS("--checkpoint", lab.run, "--vocoder", "griffin_lim", "--iterations", "400",
                         "--max-wait", most));
    for (int i = 0; i < 24; i++) {
        fd[i] = dial(s.port);
        send_speech(fd[i], "old hill. ", 1);
    }
    for (int i = 0; i < 24; i++) {
        read_reply(fd[i], &r[i]);
        close(fd[i]);
        if (r[i].status != 429) {
            assert_int_equal(r[i].status, 200);
            assert_true(r[i].whole);
        } else {
            const int seconds = atoi(reply_header(&r[i], "Retry-After"));
            assert_in_range(seconds, 1, 60);
            json_t *o = json_loadb(r[i].body.data, r[i].body.size, 0, NULL),
                   *error = json_object_get(o, "error");
            assert_string_equal(text_at(error, "code"), "rate_limit_exceeded");
            assert_non_null(strstr(text_at(error, "message"), "would wait"));
            json_decref(o);
            refused++;
        }
        reply_free(&r[i]);
    }
    /* The first waits for nobody, and so does who comes when all have gone. */
    assert_true(refused < 24);
    post_json(&r[0], s.port, "{\"input\":\"old hill\"}");
    assert_int_equal(r[0].status, 200);
    reply_free(&r[0]);
    serve_stop(&s);
    print_message("--max-wait %s: %d of 24 refused\n", most, refused);
    return refused;
}

static void nobody_waits_too_long(void **state)
{
    assert_true(refuses_to_wait("0.01") > 0);
    assert_int_equal(refuses_to_wait("3600"), 0);
}

/* Connections that are held and idle, as browsers hold them, cost little, and nobody is spoken to otherwise.
 */
static void a_thousand_are_held(void **state)
{
    enum { HELD = 1000 };
    static const char health[] = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    static int fd[HELD];
    struct rlimit before, l;
    getrlimit(RLIMIT_NOFILE, &before);
    l = before;
    l.rlim_cur = l.rlim_max;
    setrlimit(RLIMIT_NOFILE, &l);
    if (l.rlim_cur < 2 * HELD) {
        print_message("SKIPPED: only %ld files may be open\n", (long)l.rlim_cur);
        skip();
    }
    ServeRun s;
    Reply r;
    Buf expected = {0};
    serve_start(&s, ARGS("--checkpoint", lab.run));
    for (int round = 0; round < 2; round++) { /* all are there the second time, too */
        for (int i = 0; i < HELD; i++) {
            if (!round)
                fd[i] = dial(s.port);
            assert_int_equal(send_text(fd[i], health), 0);
            read_reply(fd[i], &r);
            json_decref(reply_object(&r, 200));
        }
        post_json(&r, s.port, "{\"input\":\"green hill\",\"response_format\":\"wav\"}");
        assert_int_equal(r.status, 200);
        if (!round)
            buf_add(&expected, r.body.data, r.body.size);
        assert_int_equal(r.body.size, expected.size);
        assert_memory_equal(r.body.data, expected.data, expected.size);
        reply_free(&r);
    }
    for (int i = 0; i < HELD; i++)
        close(fd[i]);
    serve_stop(&s);
    setrlimit(RLIMIT_NOFILE, &before);
    buf_free(&expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(nobody_waits_too_long),
        cmocka_unit_test(a_thousand_are_held),
    };
    return cmocka_run_group_tests(tests, setup_lab, teardown_lab);
}
