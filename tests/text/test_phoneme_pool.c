/* The pool of phonemiser processes: same results for any number of workers, in order; a killed or stopped
 * worker costs one line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "text/phonemes/phoneme_pool.h"

/* libespeak-ng 1.51 loses memory on each change of voice; that is not ours to find here. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libespeak-ng\n"; }

static const char *const sentences[][2] = {
    {"en", "The kettle began to sing before anyone had found the cups."},
    {"de", "Wo ist die Bücherei? Dort drüben, hinter der Kirche!"},
    {"", "He counted 1, 2, 3... and then he ran."},
    {"fa", "پسر در باغ مادربزرگش یک سیب قرمز می‌خورد."},
    {"fr", "Où est la bibliothèque ? Là-bas, derrière l'église !"},
    {"xx", "no voice speaks this"},
    {"", ""},
    {"", "broken \xFF bytes"},
    {"ru", "Ёжик шёл по тропинке, и ему было очень хорошо."},
    {"en", "?!"},
};
enum { SENTENCES = sizeof sentences / sizeof sentences[0], MAX_ITEMS = 2000 };

typedef struct Run {
    uint64_t items, given, got; /* items: how many to give */
    size_t long_text;           /* bytes of a line; 0: the sentences above */
    uint64_t act_at;            /* when this item is delivered, `act` happens to a worker */
    void (*act)(struct Run *r);
    int stop_at; /* done refuses this item, -1: none */
    uint64_t failed[MAX_ITEMS], failed_count;
    uint64_t each[MAX_ITEMS]; /* hash of each line's phonemes */
    char detail[256];
    Hasher hash;
    char id[32], *text;
    char note[64];
} Run;

static int next_item(void *user, PhonemeItem *item)
{
    Run *r = user;
    if (r->given == r->items)
        return 0;
    const char *const *s = sentences[(r->given * 7) % SENTENCES];
    const char *text = r->long_text ? r->text : s[1], *language = r->long_text ? "" : s[0];
    snprintf(r->id, sizeof r->id, "item-%llu", (unsigned long long)r->given++);
    item->text = (Str){text, (uint32_t)strlen(text)};
    item->language = (Str){language, (uint32_t)strlen(language)};
    item->id = (Str){r->id, (uint32_t)strlen(r->id)};
    return 1;
}

static int item_done(void *user, uint64_t index, RejectReason reason, const TextResult *result, Err *err)
{
    Run *r = user;
    assert_int_equal(index, r->got);
    r->got++;
    if (r->stop_at >= 0 && index == (uint64_t)r->stop_at)
        return err_set(err, ERR_NOSPACE, "enough");
    if (reason == REJECT_PHONEMES_FAILED) {
        r->failed[r->failed_count++] = index;
        snprintf(r->detail, sizeof r->detail, "%s", result->detail);
    }
    r->each[index] = hash64(result->phonemes.data, result->phonemes.size);
    hasher_u64(&r->hash, reason);
    hasher_str(&r->hash, result->language);
    hasher_str(&r->hash, result->detail);
    hasher_bytes(&r->hash, result->cleaned.data, result->cleaned.size);
    hasher_bytes(&r->hash, result->phonemes.data, result->phonemes.size);
    hasher_bytes(&r->hash, result->tokens.data, result->tokens.size);
    hasher_bytes(&r->hash, result->unknown.data, result->unknown.size);
    if (r->act && index == r->act_at)
        r->act(r);
    return 0;
}

typedef struct Outcome {
    int rc;
    Hash128 hash;
    PhonemePoolReport report;
    Err err;
} Outcome;

static Outcome run_pool(Run *r, int workers, int timeout_ms)
{
    Outcome o = {0};
    Config cfg;
    Log log;
    log_init(&log, LOG_ERROR);
    assert_int_equal(config_defaults(&cfg, &o.err), 0);
    cfg.phoneme_timeout_ms = timeout_ms;
    if (r->long_text) {
        r->text = mem_calloc(r->long_text + 1, 1);
        for (size_t i = 0; i < r->long_text; i++)
            r->text[i] = "the orchestra tuned and somebody coughed "[i % 41];
    }
    assert_int_equal(hasher_open(&r->hash), 0);
    PhonemeCallbacks cb = {next_item, item_done, r};
    o.rc = phoneme_pool_run(&cfg, TEXT_TO_LEARN, workers, &cb, &o.report, &log, &o.err);
    o.hash = hasher_close(&r->hash);
    free(r->text);
    config_close(&cfg);
    return o;
}

/* Pids of our children, from /proc; returns how many. */
static int children(pid_t *pids, int max)
{
    int n = 0;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "r");
    if (!f)
        return -1;
    for (int pid; n < max && fscanf(f, "%d", &pid) == 1;)
        pids[n++] = pid;
    fclose(f);
    return n;
}

static void signal_first_child(int sig)
{
    pid_t pids[16];
    int n = children(pids, 16);
    clock_sleep(0.004); /* by now it is on its next line, most likely; between two lines it would cost none */
    assert_true(n > 0);
    assert_int_equal(kill(pids[0], sig), 0);
}
static void act_kill(Run *r) { signal_first_child(SIGKILL); }
static void act_stop(Run *r) { signal_first_child(SIGSTOP); }

static void need_proc_children(void)
{
    pid_t pids[1];
    if (children(pids, 1) < 0) {
        print_message(
            "SKIPPED: /proc/self/task/*/children is not there (kernel without CONFIG_PROC_CHILDREN)\n");
        skip();
    }
}

static void test_same_for_any_workers(void **state)
{
    Run base = {.items = 700, .stop_at = -1};
    Outcome want = run_pool(&base, 0, 5000);
    assert_int_equal(want.rc, 0);
    assert_int_equal(base.got, 700);
    static const int counts[] = {1, 2, 4};
    for (size_t i = 0; i < 3; i++) {
        Run r = {.items = 700, .stop_at = -1};
        Outcome got = run_pool(&r, counts[i], 5000);
        assert_int_equal(got.rc, 0);
        assert_int_equal(r.got, 700);
        assert_int_equal(got.report.workers, counts[i]);
        assert_int_equal(got.report.restarts, 0);
        assert_true(hash_equal(got.hash, want.hash));
    }
}

static void test_few_items(void **state)
{
    for (uint64_t items = 0; items < 4; items++) {
        Run r = {.items = items, .stop_at = -1};
        Outcome o = run_pool(&r, 4, 5000);
        assert_int_equal(o.rc, 0);
        assert_int_equal(r.got, items);
    }
}

static void test_done_can_stop(void **state)
{
    for (int workers = 0; workers < 3; workers++) {
        Run r = {.items = 500, .stop_at = 40};
        Outcome o = run_pool(&r, workers, 5000);
        assert_int_equal(o.rc, ERR_NOSPACE);
        assert_string_equal(o.err.msg, "enough");
        assert_int_equal(r.got, 41);
    }
    pid_t pids[4];
    assert_true(children(pids, 4) <= 0);
}

/* Hurts a worker in the middle of a run of long lines until a line was hit (between two lines nothing is
 * lost): never more than one. */
static Outcome hurt_one(Run *r, int workers, int timeout_ms, void (*act)(Run *))
{
    for (int tries = 0; tries < 20; tries++) {
        *r = (Run){.items = 40, .long_text = 12000, .act_at = 5, .act = act, .stop_at = -1};
        Outcome o = run_pool(r, workers, timeout_ms);
        assert_int_equal(o.rc, 0);
        assert_int_equal(r->got, 40); /* every line has its answer */
        assert_int_equal(o.report.restarts, 1);
        assert_true(r->failed_count <= 1);
        /* one worker with long lines sends each answer at once: after line 5 it is on line 6 */
        if (r->failed_count == 1 && (workers > 1 || r->failed[0] == 6))
            return o;
    }
    fail_msg("the line that was hit was never the one that was lost");
    return (Outcome){0};
}

static void test_killed_worker(void **state)
{
    need_proc_children();
    for (int workers = 1; workers < 3; workers++) {
        Run r;
        Outcome o = hurt_one(&r, workers, 5000, act_kill);
        assert_true(r.failed[0] > 5);
        assert_non_null(strstr(r.detail, "signal 9"));
        assert_int_equal(o.report.deaths, 1);
        assert_int_equal(o.report.timeouts, 0);
    }
}

static void test_stopped_worker(void **state)
{
    need_proc_children();
    for (int workers = 1; workers < 3; workers++) {
        Run r;
        Outcome o = hurt_one(&r, workers, 1000, act_stop);
        assert_non_null(strstr(r.detail, "1000 ms"));
        assert_int_equal(o.report.timeouts, 1);
        assert_int_equal(o.report.deaths, 0);
    }
}

/* The lines that were not lost are the same as in an undisturbed run. */
static void test_only_one_line_differs(void **state)
{
    need_proc_children();
    Run hit, calm = {.items = 40, .long_text = 12000, .stop_at = -1};
    hurt_one(&hit, 2, 5000, act_kill);
    Outcome o = run_pool(&calm, 2, 5000);
    assert_int_equal(calm.failed_count, 0);
    assert_int_equal(o.report.restarts, 0);
    for (uint64_t i = 0; i < 40; i++)
        assert_int_equal(hit.each[i] == calm.each[i], i != hit.failed[0]);
}

static void act_look_at_files(Run *r)
{
    pid_t pids[8];
    char path[64];
    int most = 0;
    for (int n = children(pids, 8), i = 0; i < n; i++) {
        snprintf(path, sizeof path, "/proc/%d/fd", (int)pids[i]);
        DIR *d = opendir(path);
        int files = 0;
        for (struct dirent *e; d && (e = readdir(d));)
            files += e->d_name[0] != '.';
        if (d)
            closedir(d);
        most = files > most ? files : most;
    }
    snprintf(r->note, sizeof r->note, "%d", most);
}

static void test_children_hold_no_files(void **state)
{
    need_proc_children();
    FILE *open_in_parent = tmpfile();
    Run r = {.items = 40, .long_text = 4000, .act_at = 3, .act = act_look_at_files, .stop_at = -1};
    Outcome o = run_pool(&r, 3, 5000);
    assert_int_equal(o.rc, 0);
    assert_string_equal(r.note, "4"); /* 0, 1, 2 and the socket */
    fclose(open_in_parent);
}

static void act_tell_pids(Run *r)
{
    pid_t pids[2] = {0, 0};
    children(pids, 2);
    for (int i = 0; i < 2;
         i++) /* a stopped worker does not see that the socket was closed: only the kernel can end it */
        if (pids[i] > 0)
            kill(pids[i], SIGSTOP);
    if (write(atoi(r->note), pids, sizeof pids) != sizeof pids)
        abort();
    for (;;)
        pause();
}

static void test_children_die_with_the_parent(void **state)
{
    need_proc_children();
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t parent = fork();
    if (parent == 0) {
        Run r = {.items = 40, .long_text = 4000, .act = act_tell_pids, .stop_at = -1};
        snprintf(r.note, sizeof r.note, "%d", ends[1]);
        run_pool(&r, 2, 5000);
        _exit(0);
    }
    pid_t pids[2];
    close(ends[1]);
    assert_int_equal(read(ends[0], pids, sizeof pids), sizeof pids);
    close(ends[0]);
    assert_true(pids[0] > 0 && pids[1] > 0);
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    for (int i = 0; i < 2; i++) {
        char path[64], state_line[256] = "";
        int alive = 1;
        for (int tries = 0; alive && tries < 500; tries++) {
            snprintf(path, sizeof path, "/proc/%d/stat", (int)pids[i]);
            FILE *f = fopen(path, "r");
            alive = f && fgets(state_line, sizeof state_line, f) && !strstr(state_line, ") Z");
            if (f)
                fclose(f);
            if (alive)
                clock_sleep(0.01);
        }
        if (alive)
            kill(pids[i], SIGKILL);
        assert_false(alive);
    }
}

static void test_no_voice_data(void **state)
{
    char dir[] = "/tmp/myxtts-pool-XXXXXX", sub[64];
    assert_non_null(mkdtemp(dir));
    snprintf(sub, sizeof sub, "%s/espeak-ng-data", dir);
    assert_int_equal(mkdir(sub, 0700), 0);
    setenv("ESPEAK_DATA_PATH", dir, 1);
    Run r = {.items = 10, .stop_at = -1};
    Outcome o = run_pool(&r, 2, 5000);
    unsetenv("ESPEAK_DATA_PATH");
    assert_int_equal(o.rc, ERR_WORKER);
    assert_non_null(strstr(o.err.msg, dir));
    assert_true(o.err.hint[0] != 0);
    rmdir(sub);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_voice_data),
        cmocka_unit_test(test_few_items),
        cmocka_unit_test(test_killed_worker),
        cmocka_unit_test(test_stopped_worker),
        cmocka_unit_test(test_only_one_line_differs),
        cmocka_unit_test(test_children_hold_no_files),
        cmocka_unit_test(test_children_die_with_the_parent),
        cmocka_unit_test(test_same_for_any_workers),
        cmocka_unit_test(test_done_can_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
