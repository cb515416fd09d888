/* test_train_faults.c - `myxtts train` on a full disk, with failing calls, interrupted, and for long: what is
 * trained in the end is, bit by bit, what an undisturbed run gives. MYXTTS_LONG=1: 5,000 steps. */
#include "support/train_process.h"

#include <glob.h>
#include <sys/mount.h>
#include <sys/stat.h>

/* ---- full disks and failing calls ---- */

/* A disk of this size at `folder`; 0: none can be mounted here, which is said. */
static int small_disk(const char *folder, long kib, unsigned long flags)
{
    char options[64];
    snprintf(options, sizeof options, "size=%ldk", kib);
    if (mount("myxtts-test", folder, "tmpfs", flags, options) == 0)
        return 1;
    print_message("SKIPPED: no small disk can be mounted here (%s)\n", strerror(errno));
    return 0;
}

/* Takes all room that is left, but for a little that the logs may need. */
static void fill_disk(const char *path)
{
    char zeros[4096] = {0};
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    setvbuf(f, NULL, _IONBF, 0);
    while (fwrite(zeros, 1, sizeof zeros, f) == sizeof zeros)
        ;
    fclose(f);
}

/* Halts the program while no checkpoint is half written: one that fails later would give its room back. */
static void stop_between_checkpoints(const Run *r, const char *folder)
{
    char pattern[300];
    snprintf(pattern, sizeof pattern, "%s/*.tmp*", folder);
    for (;;) {
        glob_t half = {0};
        kill(r->pid, SIGSTOP);
        usleep(20000);
        const int found = glob(pattern, 0, NULL, &half);
        globfree(&half);
        if (found == GLOB_NOMATCH)
            return;
        kill(r->pid, SIGCONT);
        usleep(3000);
    }
}

static const char *const ten_kept[] = {"--keep-checkpoints", "10", NULL};

/* A run without disturbance beside a folder for disks, and how much room its checkpoints need. */
typedef struct Disks {
    char folder[256], whole[256];
    long one, logs; /* KiB of a checkpoint; of the logs and their pictures */
} Disks;

static void disks_open(Disks *d, Corpus *c)
{
    struct stat st;
    d->logs = 200;
    snprintf(d->folder, sizeof d->folder, "%s/small", c->root);
    snprintf(d->whole, sizeof d->whole, "%s/whole", c->root);
    make_voice_corpus(c);
    train_to_end(c, d->whole, 12, 2, ten_kept, 0);
    assert_int_equal(stat(step_file(d->whole, 12), &st), 0);
    d->one = (long)(st.st_size / 1024) + 1;
    assert_int_equal(mkdir(d->folder, 0777), 0);
}

/* Trains twelve steps on the disk; the exit code has to be this one. */
static void train_on_disk(Run *r, Corpus *c, const Disks *d, const char *const *more, int code)
{
    train_start(r, c, d->folder, 12, 2, more, NULL);
    run_wait(r, 120);
    if (r->code != code)
        fail_msg("exit code %d: %s", r->code, (const char *)r->stderr_text.data);
}

static void same_as_whole(const Disks *d)
{
    assert_int_equal(check_folder(d->folder), 12);
    compare_checkpoints(step_file(d->whole, 12), step_file(d->folder, 12), NULL);
}

/* Room for half a checkpoint: refused before the first step. */
static void too_small_for_one(Corpus *c, const Disks *d)
{
    Run r;
    if (!small_disk(d->folder, d->one / 2, 0))
        skip();
    train_on_disk(&r, c, d, ten_kept, 3);
    if (!strstr((const char *)r.stderr_text.data, "are missing") ||
        strstr((const char *)r.stderr_text.data, "step 5/12"))
        fail_msg("%s", (const char *)r.stderr_text.data);
    run_free(&r);
    assert_int_equal(umount(d->folder), 0);
}

/* Room for one and a half: the first stays until the end of the run makes it go. */
static void room_for_one(Corpus *c, const Disks *d)
{
    Run r;
    assert_true(small_disk(d->folder, d->one * 3 / 2 + d->logs, 0));
    train_on_disk(&r, c, d, ten_kept, 0);
    const char *said = strstr((const char *)r.stderr_text.data, "step 4 was not written");
    if (!said || !strstr(said, "training continues, the last good checkpoint is") ||
        !strstr(said, "No space left") || !strstr(said, "MB are missing") ||
        !strstr(said, "removed step-00000002.safetensors to make room"))
        fail_msg("%s", (const char *)r.stderr_text.data);
    print_message("disk of %ld KiB full: trained to step 12, %.*s\n", d->one * 3 / 2 + d->logs,
                  (int)strcspn(said, "\n"), said);
    run_free(&r);
    same_as_whole(d);
    assert_int_equal(umount(d->folder), 0);
}

/* The same, and somebody takes what is left: the first stays, no best without a file is told of. */
static void room_taken_by_others(Corpus *c, const Disks *d)
{
    Run r;
    assert_true(small_disk(d->folder, d->one * 3 / 2 + d->logs, 0));
    train_start(&r, c, d->folder, 1000000, 2, (const char *const[]){"--epochs", "1000000", NULL}, NULL);
    wait_for(&r, "step 4 was not written");
    stop_between_checkpoints(&r, d->folder);
    fill_disk(path_of(d->folder, "filler"));
    kill(r.pid, SIGINT);
    kill(r.pid, SIGCONT);
    run_wait(&r, 120);
    if (r.code != 3)
        fail_msg("exit code %d: %s", r.code, (const char *)r.stderr_text.data);
    assert_non_null(strstr((const char *)r.stdout_text.data, "the last one could not be written"));
    assert_non_null(strstr((const char *)r.stdout_text.data, "ended, but not saved, at step"));
    assert_null(strstr((const char *)r.stdout_text.data, "(best"));
    assert_int_equal(check_folder(d->folder), 2);
    run_free(&r);
    unlink(path_of(d->folder, "filler"));
    assert_true(small_disk(d->folder, d->one * 9, MS_REMOUNT)); /* room is made */
    train_to_end(c, d->folder, 12, 2, ten_kept, 0);
    compare_checkpoints(step_file(d->whole, 12), step_file(d->folder, 12), NULL);
    assert_int_equal(umount(d->folder), 0);
}

static void full_disk_at_a_checkpoint(void **state)
{
    static const char *const one_kept[] = {"--keep-checkpoints", "1", "--val-split", "0", NULL};
    Corpus *c = *state;
    Disks d;
    Run r;
    disks_open(&d, c);
    too_small_for_one(c, &d);
    room_for_one(c, &d);
    room_taken_by_others(c, &d);
    /* For three and a half: older ones make room although ten may stay. */
    assert_true(small_disk(d.folder, d.one * 7 / 2 + d.logs, 0));
    train_on_disk(&r, c, &d, ten_kept, 0);
    assert_non_null(strstr((const char *)r.stderr_text.data, "to make room"));
    run_free(&r);
    same_as_whole(&d);
    assert_int_equal(umount(d.folder), 0);
    /* With one kept, a disk for two and a half is enough for all without that. */
    assert_true(small_disk(d.folder, d.one * 5 / 2 + d.logs, 0));
    train_on_disk(&r, c, &d, one_kept, 0);
    assert_null(strstr((const char *)r.stderr_text.data, "make room"));
    run_free(&r);
    assert_int_equal(check_folder(d.folder), 12);
    assert_int_equal(umount(d.folder), 0);
}

/* How runs with a failing call ended. */
typedef struct Ends {
    int well, went_on, failed, lost;
} Ends;

/* The run that has just ended, with which call of which kind failing. Returns what its checkpoints need not
 * have in common with those of a run without disturbance. */
static const char *judge_end(Ends *e, const Run *r, const char *kind, const char *fault, const char *folder)
{
    const char *err = (const char *)r->stderr_text.data;
    int not_written = strstr(err, "was not written") != NULL || strstr(err, "no checkpoint at step") != NULL;
    int there = access(step_file(folder, 12), F_OK) == 0;
    if (r->code != 0 && r->code != 3)
        fail_msg("%s: exit code %d: %s", fault, r->code, err);
    if (r->code == 3 && !not_written && !strstr(err, "error:"))
        fail_msg("%s: exit code 3 without a reason: %s", fault, err);
    if (r->code == 0 && !there)
        fail_msg("%s: exit code 0, but the last checkpoint is not there: %s", fault, err);
    if (r->code == 3 && there && strcmp(kind, "WRITE") == 0)
        fail_msg("%s: exit code 3, but the last checkpoint is there: %s", fault, err);
    check_folder(folder);
    e->well += r->code == 0 && !not_written;
    e->went_on += r->code == 0 && not_written;
    e->failed += r->code == 3 && !there;
    e->lost += r->code == 3 && there;
    /* A run that fails in its last validation has made its steps: they are saved; the loss of that
     * validation, and pace and melody that it measures, are not known. */
    return r->code == 3 && there ? "train. voice.manner" : NULL;
}

/* One call of the system fails: training goes on where it can, the exit code is 3 only when the last
 * checkpoint is not there. */
static void failing_calls(void **state)
{
    static const char *const kinds[] = {"WRITE", "FSYNC", "RENAME", "OPEN", "READ", "MALLOC"};
    Corpus *c = *state;
    const char *library = fault_library();
    char whole[256], folder[256], preload[4200], count_path[256], counts[300];
    if (!library)
        skip();
    snprintf(whole, sizeof whole, "%s/whole", c->root);
    snprintf(folder, sizeof folder, "%s/disturbed", c->root);
    snprintf(count_path, sizeof count_path, "%s/counts", c->root);
    snprintf(counts, sizeof counts, "MYXTTS_FAIL_COUNT=%s", count_path);
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", library);
    make_voice_corpus(c);
    train_to_end(c, whole, 12, 2, NULL, 0);
    Run r;
    train_start(&r, c, folder, 12, 2, NULL,
                (const char *const[]){preload, counts, "MYXTTS_FAIL_OWN=1", NULL});
    run_wait(&r, 120);
    if (r.code != 0) {
        print_message("SKIPPED: the fault library cannot be loaded into this build of the program\n");
        skip();
    }
    run_free(&r);
    compare_checkpoints(step_file(whole, 12), step_file(folder, 12), NULL);
    Buf text = file_bytes(count_path);
    int tries = is_long() ? 60 : 7;
    Rng rng;
    rng_seed(&rng, (uint64_t)getpid());
    for (int k = 0; k < 6; k++) {
        Ends ends = {0};
        const char *line = strstr((const char *)text.data, kinds[k]);
        assert_non_null(line);
        long total = atol(line + strlen(kinds[k]));
        for (int i = 0; i < tries && total > 0; i++) {
            char fault[64];
            snprintf(fault, sizeof fault, "MYXTTS_FAIL_%s=%ld", kinds[k],
                     1 + (long)rng_below(&rng, (uint64_t)total));
            remove_folder(folder);
            train_start(&r, c, folder, 12, 2, NULL,
                        (const char *const[]){preload, fault, "MYXTTS_FAIL_OWN=1", NULL});
            run_wait(&r, 120);
            const char *without = judge_end(&ends, &r, kinds[k], fault, folder);
            run_free(&r);
            train_to_end(c, folder, 12, 2, NULL, 0);
            compare_checkpoints(step_file(whole, 12), step_file(folder, 12), without);
        }
        print_message("%s, 1 of %ld calls, %d times: %d unharmed, %d a checkpoint lost and gone on, %d ended "
                      "with 3 (%d with the last one there); resumed to the same bits\n",
                      kinds[k], total, tries, ends.well, ends.went_on, ends.failed + ends.lost, ends.lost);
    }
    buf_free(&text);
}

/* ---- Ctrl-C ---- */

static void interrupt_saves(void **state)
{
    Corpus *c = *state;
    char folder[256];
    snprintf(folder, sizeof folder, "%s/interrupted", c->root);
    make_voice_corpus(c);
    static const int signals[] = {SIGINT, SIGTERM};
    int64_t before = 0;
    for (int i = 0; i < 2; i++) {
        Run r;
        train_start(&r, c, folder, 1000000, 1000000, (const char *const[]){"--epochs", "1000000", NULL},
                    NULL);
        wait_for(&r, "clips/s"); /* a line of the log */
        kill(r.pid, signals[i]);
        run_wait(&r, 120);
        int64_t at = check_folder(folder);
        if (r.code != 0 || !strstr((const char *)r.stdout_text.data, "stopped at step"))
            fail_msg("exit code %d: %s%s", r.code, (const char *)r.stdout_text.data,
                     (const char *)r.stderr_text.data);
        char said[64];
        snprintf(said, sizeof said, "stopped at step %lld of", (long long)at);
        assert_non_null(strstr((const char *)r.stdout_text.data, said));
        assert_true(at > before);
        print_message("signal %d: exit code 0, %s ..., saved\n", signals[i], said);
        before = at;
        run_free(&r);
    }
    /* A second one does not wait for a step that takes long. */
    Run r;
    train_start(
        &r, c, path_of(c->root, "slow"), 1000, 1000,
        (const char *const[]){"--model-gpu", "sim0", "--data-gpu", "sim0", "--sim", "step_ms=60000", NULL},
        NULL);
    wait_for(&r, "training on");
    clock_sleep(0.5);
    kill(r.pid, SIGINT);
    clock_sleep(0.2);
    kill(r.pid, SIGINT);
    run_wait(&r, 50);
    assert_int_equal(r.code, 130);
    run_free(&r);
}

/* ---- for long ---- */

static long resident_kib(pid_t pid)
{
    char path[64], text[4096] = "";
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    const char *line = strstr(text, "VmRSS:");
    assert_non_null(line);
    return atol(line + 6);
}

static void memory_stays_flat(void **state)
{
    Corpus *c = *state;
    int steps = is_long() ? 5000 : 300;
    char last[32];
    make_voice_corpus(c);
    Run r;
    train_start(&r, c, path_of(c->root, "long"), steps + 100000, 20,
                (const char *const[]){"--log-step", "10", "--val-step", "25", "--epochs", "1000000", NULL},
                NULL);
    wait_for(&r, "step 60/");
    long first = resident_kib(r.pid);
    snprintf(last, sizeof last, "step %d/", steps);
    wait_for(&r, last);
    long end = resident_kib(r.pid);
    kill(r.pid, SIGINT);
    run_wait(&r, 120);
    assert_int_equal(r.code, 0);
    print_message("memory after 60 steps %ld KiB, after %d steps %ld KiB (%+ld), with %d validations and %d "
                  "checkpoints\n",
                  first, steps, end, end - first, steps / 25, steps / 20);
    if (!SANITIZED)
        assert_true(end - first < 2048);
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(full_disk_at_a_checkpoint),
        T(failing_calls),
        T(interrupt_saves),
        T(memory_stays_flat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
