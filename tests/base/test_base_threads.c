/* test_base_threads.c - ordered work, threads; what log and progress write when nobody watches. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/ordered.h"
#include "base/progress.h"
#include "base/thread.h"

enum { SLOTS = 4, ITEMS = 500 };

typedef struct Work {
    uint64_t slot[SLOTS], result[ITEMS], next;
    int occupied[SLOTS]; /* by a result that finish has not seen */
    int workers, overrun, threads, most_ahead;
    pthread_mutex_t mutex;
    uint64_t started, fail_at;
} Work;

static void do_work(void *user, int thread, int slot, uint64_t item)
{
    Work *w = user;
    pthread_mutex_lock(&w->mutex);
    w->overrun += w->occupied[slot]++ != 0 || thread < 0 || (w->workers && thread >= w->workers);
    w->threads |= 1 << thread;
    w->started++;
    int ahead = (int)(w->started - w->next);
    w->most_ahead = ahead > w->most_ahead ? ahead : w->most_ahead;
    pthread_mutex_unlock(&w->mutex);
    if (item % 50 == 7)
        clock_sleep(0.001); /* now and then one is late */
    w->slot[slot] = item * item + 1;
}

static int do_finish(void *user, int slot, uint64_t item, Err *err)
{
    Work *w = user;
    pthread_mutex_lock(&w->mutex);
    int right = item == w->next;
    w->next++;
    w->result[item] = w->slot[slot];
    w->occupied[slot] = 0;
    pthread_mutex_unlock(&w->mutex);
    if (!right)
        return err_set(err, ERR_DATA, "item %llu out of order", (unsigned long long)item);
    return item == w->fail_at ? err_set(err, ERR_NOSPACE, "item %llu", (unsigned long long)item) : 0;
}

static void test_ordered(void **state)
{
    static Work w;
    for (int workers = 0; workers <= 4; workers++) {
        for (int slots = 1; slots <= SLOTS; slots++) {
            memset(&w, 0, sizeof w);
            w.workers = workers;
            w.fail_at = UINT64_MAX;
            pthread_mutex_init(&w.mutex, NULL);
            OrderedJob job = {"work", ITEMS, workers, slots, &w, do_work, do_finish};
            Err err = {0};
            if (ordered_run(&job, &err))
                fail_msg("%s", err.msg);
            assert_int_equal(w.next, ITEMS);
            assert_int_equal(w.overrun, 0);
            assert_true(w.most_ahead <= slots);
            for (uint64_t i = 0; i < ITEMS; i++)
                assert_int_equal(w.result[i], i * i + 1);
            pthread_mutex_destroy(&w.mutex);
        }
    }
}

static void test_ordered_stops_on_an_error(void **state)
{
    static Work w;
    for (int workers = 0; workers <= 3; workers++) {
        memset(&w, 0, sizeof w);
        w.workers = workers;
        w.fail_at = 100;
        pthread_mutex_init(&w.mutex, NULL);
        OrderedJob job = {"work", ITEMS, workers, SLOTS, &w, do_work, do_finish};
        Err err = {0};
        assert_int_equal(ordered_run(&job, &err), ERR_NOSPACE);
        assert_string_equal(err.msg, "item 100");
        assert_int_equal(w.next, 101); /* finish is not called again */
        assert_true(w.started <= 101 + SLOTS);
        pthread_mutex_destroy(&w.mutex);
    }
    OrderedJob nothing = {"work", 0, 2, 1, &w, do_work, do_finish};
    assert_int_equal(ordered_run(&nothing, NULL), 0);
}

static void *look_at_mask(void *arg)
{
    sigset_t *set = arg;
    pthread_sigmask(SIG_BLOCK, NULL, set);
    return NULL;
}

static void test_threads(void **state)
{
    Thread t = {0};
    sigset_t set, own;
    thread_join(&t);
    assert_int_equal(thread_start(&t, "a name that is too long for it", look_at_mask, &set, NULL), 0);
    thread_join(&t);
    thread_join(&t);
    assert_true(sigismember(&set, SIGINT) == 1 && sigismember(&set, SIGTERM) == 1 &&
                sigismember(&set, SIGCHLD) == 1);
    assert_true(sigismember(&set, SIGSEGV) == 0 && sigismember(&set, SIGBUS) == 0);
    pthread_sigmask(SIG_BLOCK, NULL, &own);
    assert_int_equal(sigismember(&own, SIGINT), 0);
    assert_true(thread_cores() >= 1);
    double before = clock_now();
    clock_sleep(0.01);
    clock_sleep(-1);
    assert_true(clock_now() - before >= 0.01);
}

typedef struct Caught {
    char *text;
    size_t size;
    Log log;
} Caught;

static void catch_open(Caught *c, LogLevel level, int is_tty)
{
    *c = (Caught){0};
    c->log = (Log){.out = open_memstream(&c->text, &c->size), .level = level, .is_tty = is_tty};
}

static const char *catch_text(Caught *c)
{
    fflush(c->log.out);
    return c->text;
}

static void catch_close(Caught *c)
{
    fclose(c->log.out);
    free(c->text);
}

static void test_log(void **state)
{
    Caught c;
    catch_open(&c, LOG_INFO, 0);
    log_info(&c.log, "a %d", 1);
    log_debug(&c.log, "hidden");
    log_warn(&c.log, "b");
    log_error(&c.log, "c");
    Err err = {0};
    err_set(&err, ERR_DATA, "the sentence");
    log_err(&c.log, &err);
    err_hint(&err, "the way out");
    log_err(&c.log, &err);
    err_set(&err, ERR_RANKS, "told by another process");
    log_err(&c.log, &err);
    assert_string_equal(
        catch_text(&c),
        "a 1\nwarning: b\nerror: c\nerror: the sentence\nerror: the sentence\n  hint: the way out\n");
    catch_close(&c);
    catch_open(&c, LOG_ERROR, 0);
    log_warn(&c.log, "hidden");
    log_error(&c.log, "shown");
    assert_string_equal(catch_text(&c), "error: shown\n");
    catch_close(&c);
    log_info(NULL, "hidden");
}

static void test_progress_lines(void **state)
{
    Caught c;
    Progress p;
    catch_open(&c, LOG_INFO, 0);
    progress_begin(&p, &c.log, "mel", "clips", 200);
    assert_ptr_equal(c.log.progress, &p);
    progress_add(&p, 10);
    progress_end(&p);
    assert_null(c.log.progress);
    assert_string_equal(catch_text(&c), ""); /* too short for a line */

    progress_begin(&p, &c.log, "mel", "clips", 200);
    p.start -= 100; /* as if it had begun then */
    p.last_print -= 100;
    progress_add(&p, 50);
    progress_add(&p, 50); /* too soon for another line */
    assert_string_equal(catch_text(&c), "mel 50/200 clips (25 %), 0.5 clips/s, 5 min 00 s left\n");
    log_info(&c.log, "a word");
    progress_end(&p);
    /* The rate is measured: not quite 1 where all of this is slow. */
    static const char end[] = " clips/s, 1 min 40 s\n";
    const char *all = catch_text(&c), *last = strstr(all, "a word\nmel 100/200 clips (50 %), ");
    assert_non_null(last);
    assert_string_equal(all + strlen(all) - strlen(end), end);
    catch_close(&c);

    catch_open(&c, LOG_WARN, 0); /* quiet */
    progress_begin(&p, &c.log, "mel", "clips", 200);
    p.start -= 100;
    p.last_print -= 100;
    progress_add(&p, 50);
    progress_end(&p);
    assert_string_equal(catch_text(&c), "");
    catch_close(&c);

    catch_open(&c, LOG_INFO, 1); /* a terminal: in place, out of the way of other lines */
    progress_begin(&p, &c.log, "mel", "clips", 200);
    p.start -= 100;
    p.last_print -= 100;
    progress_add(&p, 300); /* more than was announced is no reason for nonsense */
    log_info(&c.log, "a word");
    progress_end(&p);
    assert_string_equal(catch_text(&c),
                        "\r\033[Kmel 300/200 clips (150 %), 3 clips/s, 0 s left\r\033[Ka word\n"
                        "\r\033[Kmel 300/200 clips (150 %), 3 clips/s, 1 min 40 s\n");
    catch_close(&c);

    progress_begin(&p, NULL, "mel", "clips", 0);
    progress_add(&p, 1);
    progress_end(&p);
}

static void test_seconds(void **state)
{
    static const struct {
        double seconds;
        const char *text;
    } rows[] = {{0, "0 s"},           {-5, "0 s"},
                {12.4, "12 s"},       {59.6, "1 min 00 s"},
                {200, "3 min 20 s"},  {3599.7, "1 h 00 min"},
                {3720, "1 h 02 min"}, {360000, "100 h 00 min"}};
    char out[64];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        progress_format_seconds(out, sizeof out, rows[i].seconds);
        assert_string_equal(out, rows[i].text);
    }
    progress_format_seconds(out, sizeof out, 1e300);
    progress_format_seconds(out, sizeof out, 0.0 / (out[0] ? 0.0 : 1.0));
    assert_string_equal(out, "0 s");
}

typedef struct Noise {
    Log *log;
    Progress *progress;
} Noise;

static void *make_noise(void *arg)
{
    Noise *n = arg;
    for (int i = 0; i < 300; i++) {
        log_info(n->log, "%s", "0123456789012345678901234567890123456789");
        progress_add(n->progress, 1);
    }
    return NULL;
}

static void test_lines_of_many_threads_stay_whole(void **state)
{
    Caught c;
    Progress p;
    Thread t[4];
    catch_open(&c, LOG_INFO, 1);
    Noise n = {&c.log, &p};
    progress_begin(&p, &c.log, "mel", "clips", 1200);
    p.start -= 100;
    p.last_print -= 100;
    for (int i = 0; i < 4; i++)
        assert_int_equal(thread_start(&t[i], "noise", make_noise, &n, NULL), 0);
    for (int i = 0; i < 4; i++)
        thread_join(&t[i]);
    assert_int_equal(p.done, 1200);
    progress_end(&p);
    int lines = 0;
    catch_text(&c);
    for (const char *at = c.text; (at = strstr(at, "0123456789012345678901234567890123456789\n")) != NULL;
         at++)
        lines++;
    assert_int_equal(lines, 1200);
    catch_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ordered),
        cmocka_unit_test(test_ordered_stops_on_an_error),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_progress_lines),
        cmocka_unit_test(test_seconds),
        cmocka_unit_test(test_lines_of_many_threads_stay_whole),
    };
    return cmocka_run_group_tests_name("base_threads", tests, NULL, NULL);
}
