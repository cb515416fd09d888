/* test_library_misuse.c - loaders of the C library in the hands of others: NULL, a forked child, a thread
 * that stops them at any moment. */
#include "support/pipeline_testing.h"

#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/myxtts.h"

static myxtts_loader *open_with_cache(const char *cache)
{
    const char *const settings[] = {
        "cache_dir", cache, "use_phonemes", "false", "text_cleaners", "basic", "min_audio_length", "0.05",
        "val_split", "0",   "batch_size",   "8",     "num_workers",   "2",     "n_mels",           "20",
        NULL};
    myxtts_loader_options o = MYXTTS_LOADER_OPTIONS;
    myxtts_loader *l;
    myxtts_error e = {0};
    o.data = corpora.data;
    o.settings = settings;
    if (myxtts_loader_open(&l, &o, &e))
        fail_msg("%s", e.message);
    return l;
}

static myxtts_loader *open_loader(void) { return open_with_cache(corpora.cache); }

static myxtts_batch *next(myxtts_loader *l)
{
    myxtts_batch *b;
    myxtts_error e = {0};
    int rc = myxtts_loader_next(l, &b, NULL, &e);
    if (rc != 1)
        fail_msg("%d: %s", rc, e.message);
    return b;
}

/* In place of whatever is needed. */
static void test_null_is_told(void **state)
{
    const int usage = MYXTTS_ERROR_USAGE;
    myxtts_loader_options o = MYXTTS_LOADER_OPTIONS;
    myxtts_loader *l = open_loader();
    myxtts_error e = {0};
    myxtts_state s;
    myxtts_batch *b;
    size_t n = 1;
    assert_int_equal(myxtts_loader_open(NULL, &o, &e), usage);
    assert_non_null(strstr(e.message, "NULL"));
    assert_int_equal(myxtts_loader_next(NULL, &b, NULL, &e), usage);
    assert_int_equal(myxtts_loader_next(l, NULL, NULL, &e), usage);
    assert_int_equal(myxtts_loader_poll(NULL, &b, NULL, 0, &e), usage);
    myxtts_loader_state(l, &s);
    assert_int_equal(myxtts_loader_resume(NULL, &s, &e), usage);
    assert_int_equal(myxtts_loader_resume(l, NULL, &e), usage);
    myxtts_loader_state(l, NULL);
    myxtts_loader_state(NULL, &s);
    assert_int_equal(s.data[0], 0);
    assert_null(myxtts_loader_report(NULL, &e));
    myxtts_loader_stop(NULL);
    assert_int_equal(myxtts_loader_batches(NULL), 0);
    assert_int_equal(myxtts_loader_utterances(NULL), 0);
    assert_null(myxtts_loader_speaker(NULL, 0));
    assert_int_equal(myxtts_batch_arrays(NULL), 0);
    assert_null(myxtts_batch_id(NULL, 0, &n));
    assert_int_equal(n, 0);
    assert_null(myxtts_batch_dlpack(NULL, 0));
    b = next(l);
    assert_int_equal(myxtts_batch_array(b, 0, NULL), MYXTTS_ERROR_MISSING);
    assert_null(myxtts_batch_id(b, 0, NULL));
    myxtts_batch_release(b);
    myxtts_loader_close(l);
}

/* It has none of the threads: nothing may wait for them. */
static void test_a_forked_child_keeps_off(void **state)
{
    myxtts_loader *l = open_loader();
    myxtts_batch *b = next(l);
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        myxtts_error e = {0};
        myxtts_batch *other;
        myxtts_state s;
        myxtts_loader_state(l, &s);
        int wrong = myxtts_loader_next(l, &other, NULL, &e) != MYXTTS_ERROR_USAGE;
        wrong |= !strstr(e.message, "another process");
        wrong |= myxtts_loader_resume(l, &s, &e) != MYXTTS_ERROR_USAGE;
        wrong |= myxtts_loader_report(l, &e) != NULL;
        myxtts_loader_stop(l);
        myxtts_batch_release(b);
        myxtts_loader_close(l);
        _exit(wrong);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    myxtts_batch_release(b);
    myxtts_batch_release(next(l));
    myxtts_loader_close(l);
}

typedef struct Stopper {
    myxtts_loader *loader;
    int end; /* atomic */
} Stopper;

static void *stop_again_and_again(void *arg)
{
    Stopper *s = arg;
    while (!__atomic_load_n(&s->end, __ATOMIC_ACQUIRE)) {
        myxtts_loader_stop(s->loader);
        sched_yield();
    }
    return NULL;
}

/* It may come at any moment, also in the middle of going on. */
static void test_stopped_while_it_resumes(void **state)
{
    Stopper s = {.loader = open_loader()};
    pthread_t thread;
    int stops = 0;
    assert_int_equal(pthread_create(&thread, NULL, stop_again_and_again, &s), 0);
    while (stops < 200) {
        myxtts_batch *b;
        myxtts_state at;
        myxtts_error e;
        int rc = myxtts_loader_next(s.loader, &b, NULL, &e);
        if (rc == 1) {
            myxtts_batch_release(b);
            continue;
        }
        assert_int_equal(rc, MYXTTS_ERROR_STOPPED);
        stops++;
        myxtts_loader_state(s.loader, &at);
        assert_int_equal(myxtts_loader_resume(s.loader, &at, &e), 0);
    }
    __atomic_store_n(&s.end, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    myxtts_loader_close(s.loader);
}

/* Each wants to build the caches, which takes one. */
static void *open_and_close(void *arg)
{
    for (int i = 0; i < 6; i++) {
        myxtts_loader *l = open_with_cache(arg);
        myxtts_batch_release(next(l));
        myxtts_loader_close(l);
    }
    return NULL;
}

static void test_many_are_opened_at_once(void **state)
{
    Folder cache = folder_make();
    char path[512];
    pthread_t threads[6];
    snprintf(path, sizeof path, "%s", folder_file(&cache, "new"));
    for (int i = 0; i < 6; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_and_close, path), 0);
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    folder_remove(&cache);
}

/* --- the locale of the program --- */

/* Makes one, because few systems have it; 0: it cannot be made here. */
static int make_locale(const Folder *f, const char *name)
{
    char command[1200];
    snprintf(command, sizeof command, "localedef -i %.5s -f UTF-8 '%s' >'%s' 2>&1", name,
             folder_file(f, name), folder_file(f, "log"));
    return system(command) == 0 && !setenv("LOCPATH", f->path, 1) && setlocale(LC_ALL, name);
}

static void test_any_locale(void **state)
{
    static const char *const names[] = {"de_DE.UTF-8", "tr_TR.UTF-8"};
    Folder f = folder_make(), cache = folder_make();
    for (int i = 0; i < 2; i++) {
        if (!make_locale(&f, names[i])) {
            print_message("SKIPPED: %s cannot be made here\n", names[i]);
            continue;
        }
        char said[32];
        /* Settings, texts ("IN" in capitals) and caches, all anew. */
        myxtts_loader *l = open_with_cache(folder_file(&cache, names[i]));
        myxtts_batch_release(next(l));
        myxtts_loader_close(l);
        snprintf(said, sizeof said, "%.1f", 0.5);
        assert_string_equal(said, "0,5"); /* what the program had set stays */
    }
    setlocale(LC_ALL, "C");
    folder_remove(&cache);
    folder_remove(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_null_is_told),
        cmocka_unit_test(test_a_forked_child_keeps_off),
        cmocka_unit_test(test_stopped_while_it_resumes),
        cmocka_unit_test(test_many_are_opened_at_once),
        cmocka_unit_test(test_any_locale),
    };
    return cmocka_run_group_tests(tests, setup_corpora, teardown_corpora);
}
