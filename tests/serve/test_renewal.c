/* test_renewal.c - files that change under `myxtts serve`: a voice that is overwritten or replaced, a vocoder
 * that comes later. */
#include "support/command_testing.h"
#include "support/folder_testing.h"
#include "support/http_testing.h"

static ServeLab lab;

static int setup_lab(void **state) { return serve_lab_open(&lab); }
static int teardown_lab(void **state) { return serve_lab_close(&lab); }

enum { MOST_QUESTIONS = 2000 }; /* 0.05 s apart, until a change must have been noticed */

static struct {
    ServeRun server;
    char path[512]; /* what is served */
    Buf files[2];   /* two voices */
    Buf sounds[2];  /* of each */
} changing;

static Buf sound_of(const char *checkpoint)
{
    Run r;
    Buf out = {0};
    run_program_env(&r, ARGS("synth", "--checkpoint", checkpoint, "--text", LONG_TEXT, "--output", "-"),
                    NULL);
    assert_int_equal(r.code, 0);
    buf_add(&out, r.stdout_text.data, r.stdout_text.size);
    run_free(&r);
    return out;
}

static int is_sound(const Reply *r, int which)
{
    const Buf *s = &changing.sounds[which];
    return r->body.size == s->size && memcmp(r->body.data, s->data, s->size) == 0;
}

/* Asks until the other voice speaks. Until then every answer is whole and that of the first. */
static void speaks(int now, int before)
{
    for (int i = 0;; i++) {
        Reply r;
        assert_true(i < MOST_QUESTIONS);
        serve_drain(&changing.server);
        post_json(&r, changing.server.port, "{\"input\":\"" LONG_TEXT "\",\"response_format\":\"wav\"}");
        assert_int_equal(r.status, 200);
        const int is_now = is_sound(&r, now);
        if (!is_now && !is_sound(&r, before))
            fail_msg("after %d answers: %zu bytes that are no voice's", i, r.body.size);
        reply_free(&r);
        if (is_now)
            return;
        clock_sleep(0.05);
    }
}

/* Waits until it is said whether the file is that which speaks. */
static void is_current(int wanted)
{
    for (int now = -1, i = 0; now != wanted; i++) {
        Reply r;
        assert_true(i < MOST_QUESTIONS);
        ask(&r, changing.server.port, "GET", "/health", NULL, NULL, 0);
        json_t *o = reply_object(&r, 200), *first = json_array_get(json_object_get(o, "files"), 0);
        assert_string_equal(text_at(o, "status"), "ok");
        assert_string_equal(text_at(first, "file"), "changing.safetensors");
        assert_string_equal(text_at(first, "id"), "changing");
        assert_int_equal(strlen(text_at(first, "since")), strlen("2026-05-04T10:00:00Z"));
        now = json_boolean_value(json_object_get(first, "current"));
        json_decref(o);
        clock_sleep(0.05);
    }
}

/* In place, `from` bytes on, as somebody copies slowly. */
static void write_into(int which, size_t from, size_t to)
{
    int fd = open(changing.path, O_WRONLY | O_CREAT | (from ? 0 : O_TRUNC), 0644);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, changing.files[which].data + from, to - from, (off_t)from), to - from);
    close(fd);
}

static void a_file_that_changes_is_taken_over_when_it_is_whole(void **state)
{
    static const char *const precisions[2] = {"float32", "bf16"};
    char paths[2][512];
    snprintf(changing.path, sizeof changing.path, "%s/changing.safetensors", lab.c->root);
    for (int i = 0; i < 2; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%s.safetensors", lab.c->root, precisions[i]);
        json_decref(run_json(ARGS("export", "--checkpoint", lab.run, "--output", paths[i], "--precision",
                                  precisions[i], "--json"),
                             NULL));
        changing.files[i] = file_bytes(paths[i]);
        changing.sounds[i] = sound_of(paths[i]);
    }
    const size_t size = changing.files[1].size;
    write_into(0, 0, changing.files[0].size);
    serve_start(&changing.server, ARGS("--checkpoint", changing.path));
    speaks(0, 0);
    is_current(1);
    /* Half of another one, in place; then its rest. */
    write_into(1, 0, size / 2);
    is_current(0);
    speaks(0, 0);
    write_into(1, size / 2, size);
    speaks(1, 0);
    is_current(1);
    /* Another one in its place. */
    assert_int_equal(rename(paths[0], changing.path), 0);
    speaks(0, 1);
    is_current(1);
    /* Nothing, and then one again. */
    assert_int_equal(remove(changing.path), 0);
    is_current(0);
    speaks(0, 0);
    assert_int_equal(rename(paths[1], changing.path), 0);
    speaks(1, 0);
    /* One that is no voice at all. */
    file_put(changing.path, "nothing", 7);
    is_current(0);
    speaks(1, 1);
    serve_drain(&changing.server);
    assert_non_null(strstr(changing.server.run.stderr_text.data, "a new file is in use"));
    assert_non_null(strstr(changing.server.run.stderr_text.data, "so the loaded voice stays"));
    serve_stop(&changing.server);
    for (int i = 0; i < 2; i++) {
        buf_free(&changing.files[i]);
        buf_free(&changing.sounds[i]);
    }
}

/* The vocoder of the voice that is served; waits until it is the one of this step (0: Griffin-Lim). */
static void has_vocoder(int wanted)
{
    for (int i = 0;; i++) {
        Reply r;
        assert_true(i < MOST_QUESTIONS);
        serve_drain(&changing.server);
        ask(&r, changing.server.port, "GET", "/v1/voices", NULL, NULL, 0);
        json_t *o = reply_object(&r, 200), *first = json_array_get(json_object_get(o, "data"), 0);
        const int step = (int)json_integer_value(json_object_get(first, "vocoder_step"));
        json_decref(o);
        if (step == wanted)
            return;
        clock_sleep(0.05);
    }
}

/* A voice is served while its vocoder is still being trained. */
static void a_vocoder_that_comes_later_is_taken_over(void **state)
{
    static const char *const files[] = {"step-00000020.safetensors", "vocoder/step-00000007.safetensors"};
    const char *run = path_of(lab.c->root, "later");
    assert_int_equal(file_make_dirs(run, NULL), 0);
    for (int i = 0; i < 2; i++) {
        Buf file = file_bytes(path_of(lab.run, files[i]));
        file_put(path_of(run, files[i]), file.data, file.size);
        buf_free(&file);
        if (i == 0) {
            serve_start(&changing.server, ARGS("--checkpoint", run));
            has_vocoder(0);
            assert_int_equal(file_make_dirs(path_of(run, "vocoder"), NULL), 0);
        }
    }
    has_vocoder(7);
    Buf expected = sound_of(lab.run);
    Reply r;
    post_json(&r, changing.server.port, "{\"input\":\"" LONG_TEXT "\",\"response_format\":\"wav\"}");
    assert_int_equal(r.body.size, expected.size);
    assert_memory_equal(r.body.data, expected.data, expected.size);
    reply_free(&r);
    buf_free(&expected);
    serve_stop(&changing.server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_changes_is_taken_over_when_it_is_whole),
        cmocka_unit_test(a_vocoder_that_comes_later_is_taken_over),
    };
    return cmocka_run_group_tests(tests, setup_lab, teardown_lab);
}
