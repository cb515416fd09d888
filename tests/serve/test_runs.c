/* test_runs.c - trainings in a folder as the server shows them: growing and torn logs, files, and names and
 * paths that try to get out of the folder. */
#include <jansson.h>
#include <pthread.h>

#include "support/folder_testing.h"

#include "base/clock.h"
#include "serve/page.h"
#include "serve/runs.h"

#define START \
    "{\"event\":\"start\",\"step\":0,\"total_steps\":1000,\"network\":\"voice\",\"device\":\"CPU\"}\n"
#define STEP(n, loss) \
    "{\"event\":\"step\",\"step\":" #n ",\"total_steps\":200,\"loss\":" #loss ",\"seconds\":" #n \
    ",\"step_ms\":12.5,\"busy_share\":0.97,\"wait_share\":0.03}\n"

static Runs *open_runs(const char *path)
{
    Runs *r;
    Err err = {0};
    if (runs_open(&r, path, &err))
        fail_msg("%s", err.msg);
    return r;
}

static void put(const Folder *f, const char *name, const char *text)
{
    file_put(folder_file(f, name), text, strlen(text));
}

static void put_more(const Folder *f, const char *name, const char *text)
{
    FILE *file = fopen(folder_file(f, name), "a");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void make_folder(const Folder *f, const char *name)
{
    assert_int_equal(mkdir(folder_file(f, name), 0777), 0);
}

static json_t *parsed(Buf *b)
{
    json_t *o = json_loadb(b->data, b->size, 0, NULL);
    if (!o)
        fail_msg("no JSON: %.*s", (int)b->size, b->data);
    buf_free(b);
    return o;
}

static json_t *list(Runs *r)
{
    Buf b = {0};
    Err err = {0};
    if (runs_list(r, &b, &err))
        fail_msg("%s", err.msg);
    return parsed(&b);
}

static json_t *log_of(Runs *r, const char *name, int64_t after)
{
    Buf b = {0};
    Err err = {0};
    if (runs_log(r, &b, name, after, &err))
        fail_msg("%s", err.msg);
    return parsed(&b);
}

/* The run of that name in the list; NULL: there is none. */
static const json_t *run_of(const json_t *l, const char *name)
{
    size_t i;
    const json_t *run;
    json_array_foreach(json_object_get(l, "runs"), i,
                       run) if (strcmp(json_string_value(json_object_get(run, "name")), name) ==
                                0) return run;
    return NULL;
}

static void assert_text(const json_t *o, const char *key, const char *expected)
{
    const char *s = json_string_value(json_object_get(o, key));
    if (!s || strcmp(s, expected) != 0)
        fail_msg("%s is %s, not %s", key, s ? s : "null", expected);
}

static int64_t count(const json_t *o, const char *key) { return json_integer_value(json_object_get(o, key)); }

/* However many there are, and whatever else lies there. */
static void test_no_run_is_hidden(void **state)
{
    (void)state;
    Folder f = folder_make();
    char name[64];
    make_folder(&f, "wavs");
    for (int i = 0; i < 21000; i++) {
        snprintf(name, sizeof name, "wavs/%d.wav", i);
        int fd = open(folder_file(&f, name), O_CREAT | O_WRONLY, 0666);
        assert_true(fd >= 0);
        close(fd);
    }
    for (int i = 0; i < 260; i++) {
        snprintf(name, sizeof name, "run%03d", i);
        make_folder(&f, name);
        snprintf(name, sizeof name, "run%03d/log.jsonl", i);
        put(&f, name, START);
    }
    Runs *r = open_runs(f.path);
    json_t *l = list(r);
    assert_int_equal(json_array_size(json_object_get(l, "runs")), 260);
    assert_non_null(run_of(l, "run000"));
    assert_int_equal(count(l, "hidden"), 0);
    assert_true(json_is_false(json_object_get(l, "incomplete")));
    json_decref(l);
    runs_close(r);
    folder_remove(&f);
}

static void test_runs_are_found(void **state)
{
    (void)state;
    Folder f = folder_make();
    make_folder(&f, "a");
    make_folder(&f, "a/vocoder");
    make_folder(&f, "b");
    make_folder(&f, ".hidden");
    make_folder(&f, "empty");
    put(&f, "a/log.jsonl",
        START STEP(20, 3.5) "{\"event\":\"validation\",\"step\":20,\"loss\":3}\n"
                            "{\"event\":\"heard\",\"step\":20,\"words_wrong_share\":0.25,"
                            "\"recordings_words_wrong_share\":0.125}\n"
                            "{\"event\":\"end\",\"step\":20,\"text\":\"done\"}\n"
                            "{\"event\":\"verdict\",\"step\":20,\"text\":\"The step is the limit.\"}\n");
    put(&f, "a/vocoder/log.jsonl", START);
    put(&f, "b/log.jsonl", START STEP(20, null));
    put(&f, ".hidden/log.jsonl", START);
    Runs *r = open_runs(f.path);
    json_t *l = list(r);
    assert_int_equal(json_array_size(json_object_get(l, "runs")), 3);
    const json_t *a = run_of(l, "a"), *v = run_of(l, "a/vocoder"), *b = run_of(l, "b");
    assert_true(a && v && b);
    assert_text(a, "state", "finished");
    assert_text(a, "end", "done");
    assert_text(a, "verdict", "The step is the limit.");
    assert_int_equal(count(a, "step"), 20);
    assert_int_equal(count(a, "total_steps"), 200); /* as the newest line has it */
    assert_true(json_number_value(json_object_get(a, "validation_loss")) == 3);
    assert_true(json_number_value(json_object_get(a, "words_wrong_share")) == 0.25);
    assert_text(v, "state", "empty");
    assert_true(json_is_null(json_object_get(v, "verdict")));
    assert_text(b, "state", "running");
    assert_true(json_is_null(json_object_get(b, "loss")));
    assert_non_null(strstr(json_string_value(json_object_get(b, "verdict")), "3.0 %"));
    json_decref(l);
    runs_close(r);
    /* The folder itself may be a run. */
    char inside[300];
    snprintf(inside, sizeof inside, "%s/a", f.path);
    r = open_runs(inside);
    l = list(r);
    assert_int_equal(json_array_size(json_object_get(l, "runs")), 2);
    assert_true(run_of(l, "a") && run_of(l, "vocoder"));
    json_decref(l);
    json_decref(log_of(r, "a", 0));
    runs_close(r);
    folder_remove(&f);
    Err err = {0};
    assert_int_equal(runs_open(&r, f.path, &err), ERR_MISSING);
    assert_null(r);
    runs_close(NULL);
}

/* A line that is being written, or was when the run was killed, does not hide the others. */
/* A run that validates says nothing for minutes and is not stuck; one that should step is. */
static void test_what_a_run_does(void **state)
{
    (void)state;
    static const struct {
        const char *phase;
        int silent; /* seconds */
        const char *expected;
    } cases[] = {
        {"preparing", 3600, "preparing"},  {"preparing", 8000, "stopped"},  {"warm-up", 5, "warm-up"},
        {"validating", 600, "validating"}, {"listening", 600, "listening"}, {"training", 60, "running"},
        {"training", 200, "stopped"},      {"dancing", 60, "running"},
    };
    Folder f = folder_make();
    make_folder(&f, "run");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[600];
        snprintf(line, sizeof line,
                 START STEP(20, 1) "{\"event\":\"phase\",\"step\":20,\"text\":\"%s\",\"seconds_left\":95}\n",
                 cases[i].phase);
        put(&f, "run/log.jsonl", line);
        struct timespec then[2];
        clock_gettime(CLOCK_REALTIME, &then[0]);
        then[0].tv_sec -= cases[i].silent;
        then[1] = then[0];
        assert_int_equal(utimensat(AT_FDCWD, folder_file(&f, "run/log.jsonl"), then, 0), 0);
        Runs *r = open_runs(f.path);
        json_t *l = list(r);
        assert_text(run_of(l, "run"), "state", cases[i].expected);
        assert_float_equal(json_number_value(json_object_get(run_of(l, "run"), "seconds_left")), 95, 0);
        json_decref(l);
        runs_close(r);
    }
    folder_remove(&f);
}

static void test_log_that_grows(void **state)
{
    (void)state;
    Folder f = folder_make();
    make_folder(&f, "a");
    put(&f, "a/log.jsonl", START STEP(20, 3.5) "{\"event\":\"step\",\"st");
    Runs *r = open_runs(f.path);
    json_t *l = list(r), *first = log_of(r, "a", 0);
    assert_int_equal(count(run_of(l, "a"), "step"), 20);
    assert_text(run_of(l, "a"), "state", "running");
    json_decref(l);
    assert_int_equal(json_array_size(json_object_get(first, "rows")), 2);
    assert_int_equal(count(first, "torn"), 0);
    int64_t next = count(first, "next");
    assert_int_equal(next, (int)strlen(START STEP(20, 3.5)));
    json_decref(first);
    json_t *nothing = log_of(r, "a", next);
    assert_int_equal(json_array_size(json_object_get(nothing, "rows")), 0);
    assert_int_equal(count(nothing, "next"), next);
    json_decref(nothing);
    /* A run that goes on ends the torn line before it writes its own. */
    put_more(&f, "a/log.jsonl", "\n" STEP(40, 2.5) "[1]\n");
    json_t *second = log_of(r, "a", next);
    assert_int_equal(json_array_size(json_object_get(second, "rows")), 1);
    assert_int_equal(count(json_array_get(json_object_get(second, "rows"), 0), "step"), 40);
    assert_int_equal(count(second, "torn"), 2);
    next = count(second, "next");
    json_decref(second);
    l = NULL;
    do { /* the folder is looked at once a second */
        json_decref(l);
        clock_sleep(0.1);
        l = list(r);
    } while (count(run_of(l, "a"), "step") != 40);
    assert_int_equal(count(run_of(l, "a"), "torn_lines"), 2);
    json_decref(l);
    /* Another training in the same folder: from the beginning. */
    put(&f, "a/log.jsonl", STEP(5, 9));
    json_t *again = log_of(r, "a", next);
    assert_int_equal(count(again, "from"), 0);
    assert_int_equal(json_array_size(json_object_get(again, "rows")), 1);
    json_decref(again);
    runs_close(r);
    folder_remove(&f);
}

static void test_large_logs_come_in_parts(void **state)
{
    (void)state;
    Folder f = folder_make();
    make_folder(&f, "a");
    FILE *file = fopen(folder_file(&f, "a/log.jsonl"), "w");
    assert_non_null(file);
    for (int i = 1; i <= 60000; i++)
        fprintf(file, "{\"event\":\"step\",\"step\":%d,\"loss\":1,\"pad\":\"%0160d\"}\n", i, i);
    /* Two lines that no answer could hold, with a good one between them. */
    fprintf(file, "{\"x\":\"%03000000d\"}\n{\"event\":\"step\",\"step\":40000}\n{\"x\":\"%03000000d", 1, 2);
    fclose(file);
    Runs *r = open_runs(f.path);
    int64_t next = 0, rows = 0, torn = 0, answers = 0;
    int more = 1;
    while (more) {
        Buf b = {0};
        assert_int_equal(runs_log(r, &b, "a", next, NULL), 0);
        assert_true(b.size < (size_t)2 << 20);
        json_t *o = parsed(&b);
        rows += (int64_t)json_array_size(json_object_get(o, "rows"));
        torn += count(o, "torn");
        more = json_is_true(json_object_get(o, "more"));
        next = count(o, "next");
        json_decref(o);
        answers++;
        assert_true(answers < 50);
    }
    assert_int_equal(rows, 60001);
    assert_int_equal(torn, 1);
    assert_true(answers >= 6);
    /* The list reads it over several calls. */
    json_t *l = list(r);
    assert_true(count(run_of(l, "a"), "step") < 60000);
    for (int i = 0; i < 5; i++) {
        json_decref(l);
        l = list(r);
    }
    assert_int_equal(count(run_of(l, "a"), "step"), 40000);
    json_decref(l);
    runs_close(r);
    folder_remove(&f);
}

static void test_files(void **state)
{
    (void)state;
    Folder f = folder_make();
    make_folder(&f, "a");
    make_folder(&f, "a/samples");
    put(&f, "a/log.jsonl", START);
    put(&f, "a/loss.png", "picture");
    put(&f, "a/samples/step-00000020-1.wav", "sound");
    put(&f, "a/best.safetensors", "secret weights");
    Runs *r = open_runs(f.path);
    Buf b = {0};
    assert_int_equal(runs_files(r, &b, "a", NULL), 0);
    json_t *o = parsed(&b);
    assert_int_equal(json_array_size(json_object_get(o, "files")), 3);
    json_decref(o);
    const char *type;
    assert_int_equal(runs_file(r, &b, &type, "a", "samples/step-00000020-1.wav", NULL), 0);
    assert_string_equal(type, "audio/wav");
    assert_true(b.size == 5 && memcmp(b.data, "sound", 5) == 0);
    buf_free(&b);
    assert_int_equal(runs_file(r, &b, &type, "a", "loss.png", NULL), 0);
    assert_string_equal(type, "image/png");
    buf_free(&b);
    assert_int_equal(runs_about(r, &b, "a", NULL), 0);
    o = parsed(&b);
    assert_int_equal(json_array_size(json_object_get(o, "findings")), 0);
    json_decref(o);
    runs_close(r);
    folder_remove(&f);
}

static const struct {
    const char *name, *path;
} tricks[] = {
    {"a", "../../secret.png"},
    {"a", "samples/../../../secret.png"},
    {"a", "/etc/hostname"},
    {"a", "//etc/hostname.png"},
    {"a", "./loss.png"},
    {"a", "samples//x.wav"},
    {"a", "samples/.."},
    {"a", "..\\..\\secret.png"},
    {"a", "best.safetensors"},
    {"a", "best.safetensors\n.png"},
    {"a", ".hidden.png"},
    {"a", "link.png"},
    {"a", "samples/name.wav"},
    {"a", "pictures/secret.png"},
    {"a", "folder.png"},
    {"a", "pipe.png"},
    {"a", ""},
    {"a", ".png"},
    {"a", "\xff\xfe.png"},
    {"a", "a/b/c.png"},
    {"..", "secret.png"},
    {"../other", "secret.png"},
    {"a/../../other", "secret.png"},
    {"b", "secret.png"},
    {"c", "log.jsonl"},
    {"", "secret.png"},
    {"/", "etc/x.png"},
    {".", "log.jsonl"},
    {"a/", "log.jsonl"},
    {"a/samples", "name.wav"},
    {"A", "log.jsonl"},
    {"%2e%2e", "secret.png"},
};

/* A run, and what somebody might plant in and beside it. */
static void plant_tricks(const Folder *f)
{
    make_folder(f, "runs");
    make_folder(f, "runs/a");
    make_folder(f, "runs/a/samples");
    make_folder(f, "runs/a/folder.png");
    make_folder(f, "other");
    put(f, "runs/a/log.jsonl", START);
    put(f, "runs/a/best.safetensors", "secret");
    put(f, "runs/a/.hidden.png", "secret");
    put(f, "secret.png", "secret");
    put(f, "other/log.jsonl", "secret");
    put(f, "other/secret.png", "secret");
    assert_int_equal(symlink("../../secret.png", folder_file(f, "runs/a/link.png")), 0);
    assert_int_equal(symlink("/etc/hostname", folder_file(f, "runs/a/samples/name.wav")), 0);
    assert_int_equal(symlink("../../other", folder_file(f, "runs/a/pictures")), 0);
    assert_int_equal(symlink("../other", folder_file(f, "runs/b")), 0);
    make_folder(f, "runs/c");
    assert_int_equal(symlink("../../other/log.jsonl", folder_file(f, "runs/c/log.jsonl")), 0);
    assert_int_equal(mkfifo(folder_file(f, "runs/a/pipe.png"), 0666), 0);
}

/* Nothing but pictures, samples and logs of a run that was found. */
static void test_tricks(void **state)
{
    (void)state;
    Folder f = folder_make();
    plant_tricks(&f);
    char folder[300];
    snprintf(folder, sizeof folder, "%s/runs", f.path);
    Runs *r = open_runs(folder);
    json_t *l = list(r);
    assert_int_equal(json_array_size(json_object_get(l, "runs")), 1);
    json_decref(l);
    for (size_t i = 0; i < sizeof tricks / sizeof *tricks; i++) {
        Buf b = {0};
        Err err = {0};
        const char *type;
        int rc = runs_file(r, &b, &type, tricks[i].name, tricks[i].path, &err);
        if ((rc != ERR_MISSING && rc != ERR_USAGE) || b.size || !err.msg[0])
            fail_msg("trick %zu: '%s' of '%s' gave %d and %zu bytes", i, tricks[i].path, tricks[i].name, rc,
                     b.size);
        if (strcmp(tricks[i].name, "a") != 0) {
            assert_int_equal(runs_log(r, &b, tricks[i].name, 0, &err), ERR_MISSING);
            assert_int_equal(runs_files(r, &b, tricks[i].name, &err), ERR_MISSING);
            assert_int_equal(runs_about(r, &b, tricks[i].name, &err), ERR_MISSING);
        }
        buf_free(&b);
    }
    Buf b = {0};
    assert_int_equal(runs_files(r, &b, "a", NULL), 0);
    assert_null(strstr(b.data, "link"));
    assert_null(strstr(b.data, "name.wav"));
    buf_free(&b);
    runs_close(r);
    folder_remove(&f);
}

/* All that look on at once, while a log grows and another training comes. */
static void *look_on(void *arg)
{
    Runs *r = arg;
    long failures = 0;
    for (int i = 0; i < 60; i++) {
        Buf b = {0};
        const char *type;
        failures += runs_list(r, &b, NULL) != 0;
        failures += runs_log(r, &b, "a", i, NULL) != 0;
        failures += runs_files(r, &b, "a", NULL) != 0;
        failures += runs_about(r, &b, "a", NULL) != 0;
        failures += runs_file(r, &b, &type, "a", "log.jsonl", NULL) != 0;
        failures += runs_log(r, &b, "nobody", 0, NULL) != ERR_MISSING;
        buf_free(&b);
        clock_sleep(0.02); /* more than the second after which the folder is looked at again, in all */
    }
    return (void *)failures;
}

static void test_many_look_on(void **state)
{
    (void)state;
    Folder f = folder_make();
    make_folder(&f, "a");
    make_folder(&f, "b");
    put(&f, "a/log.jsonl", START STEP(20, 3.5));
    Runs *r = open_runs(f.path);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, look_on, r), 0);
    for (int i = 0; i < 100; i++) {
        put_more(&f, "a/log.jsonl", STEP(40, 2.5));
        if (i == 50)
            put(&f, "b/log.jsonl", START);
        clock_sleep(0.01);
    }
    for (int i = 0; i < 4; i++) {
        void *failures;
        pthread_join(threads[i], &failures);
        assert_null(failures);
    }
    runs_close(r);
    folder_remove(&f);
}

/* Every file that a page names is there, and none names another host. */
static void test_pages(void **state)
{
    (void)state;
    static const char *const pages[] = {"/", "/runs"};
    assert_null(page_file("/page/"));
    assert_null(page_file("/page/../index.html"));
    for (size_t i = 0; i < 2; i++) {
        const PageFile *page = page_file(pages[i]);
        assert_non_null(page);
        assert_true(page->end - page->data > 1000 && *page->end == 0);
        const char *at = page->data;
        int named = 0;
        while ((at = strstr(at, "\"/page/")) != NULL) {
            char path[64];
            size_t n = strcspn(++at, "\"");
            assert_true(n < sizeof path);
            memcpy(path, at, n);
            path[n] = 0;
            if (!page_file(path))
                fail_msg("%s names %s", pages[i], path);
            named++;
        }
        assert_true(named >= 3);
        assert_null(strstr(page->data, "//"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_are_found),
        cmocka_unit_test(test_no_run_is_hidden),
        cmocka_unit_test(test_what_a_run_does),
        cmocka_unit_test(test_log_that_grows),
        cmocka_unit_test(test_large_logs_come_in_parts),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_many_look_on),
        cmocka_unit_test(test_tricks),
        cmocka_unit_test(test_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
