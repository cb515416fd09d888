/* test_checkpoint.c - a folder of checkpoints: written in the background, pruned, found again; and what is
 * left after kills, full disks, read-only folders and failing calls. For kills and faults this program runs
 * itself as a child: `test_checkpoint --writer ...`. The faults come from the preloaded tests/faults.so,
 * which touches only programs that call themselves myxtts. */
#include "support/folder_testing.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/rng.h"
#include "voice/checkpoint_folder.h"

#define KILLS 100

/* ---- checkpoints whose content is known from their step ---- */

typedef struct Content {
    float weights[64][96];
    int64_t step;
    char text[24];
    TensorView tensors[2];
    MetaEntry meta[1];
} Content;

static void content_fill(Content *c, int64_t step)
{
    for (int i = 0; i < 64 * 96; i++)
        c->weights[i / 96][i % 96] = (float)(step * 131 + i) * 0.25f;
    c->step = step;
    snprintf(c->text, sizeof c->text, "%lld", (long long)step);
    c->tensors[0] = (TensorView){"step", "I64", 0, {0}, &c->step, 8};
    c->tensors[1] = (TensorView){"weights", "F32", 2, {64, 96}, c->weights, sizeof c->weights};
    c->meta[0] = (MetaEntry){"step", c->text};
}

static int submit(CheckpointWriter *w, Content *c, int64_t step, int is_best)
{
    Err err = {0};
    content_fill(c, step);
    return checkpoint_writer_submit(w, step, is_best, c->meta, 1, c->tensors, 2, &err);
}

/* The step in a file that must be valid. */
static int64_t assert_content(const char *path)
{
    SafeTensors f;
    Err err = {0};
    if (safetensors_open(&f, path, &err))
        fail_msg("%s", err.msg);
    static Content want;
    const TensorView *step = safetensors_find(&f, "step"), *weights = safetensors_find(&f, "weights");
    assert_true(f.has_checksum && step && weights);
    int64_t n;
    memcpy(&n, step->data, sizeof n);
    content_fill(&want, n);
    assert_string_equal(safetensors_meta(&f, "step"), want.text);
    assert_int_equal(weights->bytes, sizeof want.weights);
    assert_memory_equal(weights->data, want.weights, sizeof want.weights);
    safetensors_close(&f);
    return n;
}

static void put_step(const Folder *f, const char *name, int64_t step)
{
    static Content c;
    Err err = {0};
    content_fill(&c, step);
    if (safetensors_write(folder_file(f, name), c.meta, 1, c.tensors, 2, &err))
        fail_msg("%s", err.msg);
}

static void damage(const Folder *f, const char *name) { file_put_byte(folder_file(f, name), 5000, 0x5A); }

/* ---- this test's state: a folder, and a log in a file beside it ---- */

typedef struct State {
    Folder f;
    char log_path[300];
    Log log;
} State;

static int setup(void **state)
{
    State *s = calloc(1, sizeof *s);
    s->f = folder_make();
    snprintf(s->log_path, sizeof s->log_path, "%s.log", s->f.path);
    s->log = (Log){.out = fopen(s->log_path, "w"), .level = LOG_INFO};
    *state = s;
    return s->log.out == NULL;
}

static int teardown(void **state)
{
    State *s = *state;
    fclose(s->log.out);
    unlink(s->log_path);
    umount2(s->f.path, MNT_DETACH); /* of a test that failed half-way */
    folder_remove(&s->f);
    free(s);
    return 0;
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void assert_logged(State *s, const char *part)
{
    Buf b = file_bytes(s->log_path);
    if (!b.data || !strstr(b.data, part))
        fail_msg("'%s' is not in the log: %s", part, b.data ? b.data : "");
    buf_free(&b);
}

static void assert_log_empty(State *s)
{
    Buf b = file_bytes(s->log_path);
    if (b.size)
        fail_msg("the log has: %s", b.data);
    buf_free(&b);
}

static CheckpointWriter *writer(State *s, int keep)
{
    CheckpointWriter *w;
    Err err = {0};
    if (checkpoint_writer_open(&w, s->f.path, keep, &s->log, &err))
        fail_msg("%s", err.msg);
    return w;
}

/* Where `what` leads: the step, or the code. */
static int64_t find(State *s, const char *what)
{
    char path[CHECKPOINT_PATH_SIZE];
    Err err = {0};
    int rc = checkpoint_find(path, what, s->f.path, &s->log, &err);
    if (rc == 0)
        return assert_content(path);
    assert_true(rc == err.code && strlen(err.msg) > 20 && path[0] == 0);
    return rc;
}

/* ---- link: the file system without hard links is made here ---- */

static int no_links;
int link(const char *from, const char *to)
{
    if (no_links) {
        errno = EPERM;
        return -1;
    }
    return (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* ---- writing ---- */

static void steps_are_pruned_and_the_best_stays(void **state)
{
    State *s = *state;
    Content *c = malloc(sizeof *c);
    CheckpointWriter *w = writer(s, 2);
    assert_string_equal(checkpoint_writer_last_good(w), "");
    assert_int_equal(checkpoint_writer_wait(w), 0); /* no job yet */
    for (int step = 1; step <= 6; step++) {
        assert_int_equal(submit(w, c, step * 1000, step == 2 || step == 3), 0);
        assert_int_equal(checkpoint_writer_wait(w), 0);
        assert_int_equal(assert_content(checkpoint_writer_last_good(w)), step * 1000);
        if (step == 2)
            assert_string_equal(folder_names(&s->f),
                                "best.safetensors step-00001000.safetensors step-00002000.safetensors ");
    }
    assert_string_equal(folder_names(&s->f),
                        "best.safetensors step-00005000.safetensors step-00006000.safetensors ");
    assert_int_equal(assert_content(folder_file(&s->f, "best.safetensors")), 3000);
    assert_int_equal(submit(w, c, 7000, 1), 0);
    checkpoint_writer_close(w); /* finishes the job */
    struct stat best, step;
    assert_true(stat(folder_file(&s->f, "best.safetensors"), &best) == 0 &&
                stat(folder_file(&s->f, "step-00007000.safetensors"), &step) == 0);
    assert_int_equal(best.st_ino, step.st_ino); /* two names of one file */
    assert_string_equal(folder_names(&s->f),
                        "best.safetensors step-00006000.safetensors step-00007000.safetensors ");
    assert_log_empty(s);
    checkpoint_writer_close(NULL);
    free(c);
}

static void the_same_step_again_as_the_best(void **state)
{
    State *s = *state;
    Content *c = malloc(sizeof *c);
    CheckpointWriter *w = writer(s, 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(submit(w, c, 5, 1), 0);
        assert_int_equal(checkpoint_writer_wait(w), 0);
        assert_string_equal(folder_names(&s->f), "best.safetensors step-00000005.safetensors ");
    }
    for (int i = 6; i < 12; i++)
        assert_true(submit(w, c, i, 0) == 0 && checkpoint_writer_wait(w) == 0);
    checkpoint_writer_close(w);
    assert_int_equal(strlen(folder_names(&s->f)), 17 + 7 * 26); /* keep = 0: all of them */
    free(c);
}

static void without_hard_links_the_best_is_a_copy(void **state)
{
    State *s = *state;
    Content *c = malloc(sizeof *c);
    CheckpointWriter *w = writer(s, 1);
    no_links = 1;
    int rc =
        submit(w, c, 1, 1) || checkpoint_writer_wait(w) || submit(w, c, 2, 0) || checkpoint_writer_wait(w);
    no_links = 0;
    assert_int_equal(rc, 0);
    checkpoint_writer_close(w);
    assert_string_equal(folder_names(&s->f), "best.safetensors step-00000002.safetensors ");
    assert_int_equal(find(s, "best"), 1);
    free(c);
}

/* Names and metadata may go at once; the data of the first job may change when the second submit returns. */
static void two_submits_in_a_row(void **state)
{
    State *s = *state;
    Content *a = malloc(sizeof *a), *b = malloc(sizeof *b);
    CheckpointWriter *w = writer(s, 3);
    for (int step = 1; step < 20; step += 2) {
        char name[16] = "weights", key[16] = "step";
        Err err = {0};
        content_fill(a, step);
        a->tensors[1].name = name;
        a->meta[0].key = key;
        assert_int_equal(checkpoint_writer_submit(w, step, 0, a->meta, 1, a->tensors, 2, &err), 0);
        memset(name, 'x', sizeof name);
        memset(key, 'x', sizeof key);
        memset(a->text, 'x', sizeof a->text);
        memset(a->tensors, 0, sizeof a->tensors);
        assert_int_equal(submit(w, b, step + 1, 0), 0);
        memset(a, 0xFF, sizeof *a);
        assert_int_equal(checkpoint_writer_wait(w), 0);
        memset(b, 0xFF, sizeof *b);
        char file[40];
        for (int k = 0; k < 2; k++) {
            snprintf(file, sizeof file, "step-%08d.safetensors", step + k);
            assert_int_equal(assert_content(folder_file(&s->f, file)), step + k);
        }
    }
    checkpoint_writer_close(w);
    free(a);
    free(b);
}

/* Somebody went back to step 100 in a folder that has step 500. */
static void later_steps_of_another_run_stay(void **state)
{
    State *s = *state;
    Content *c = malloc(sizeof *c);
    put_step(&s->f, "step-00000400.safetensors", 400);
    put_step(&s->f, "step-00000500.safetensors", 500);
    put_step(&s->f, "step-00000100.safetensors", 100);
    CheckpointWriter *w = writer(s, 1);
    assert_int_equal(assert_content(checkpoint_writer_last_good(w)), 500);
    for (int step = 110; step <= 120; step += 10)
        assert_true(submit(w, c, step, 0) == 0 && checkpoint_writer_wait(w) == 0);
    assert_string_equal(folder_names(&s->f),
                        "step-00000120.safetensors step-00000400.safetensors step-00000500.safetensors ");
    assert_logged(s, "step-00000500.safetensors, from a run that got further than step 110");
    checkpoint_writer_close(w);
    free(c);
}

static void leftovers_of_dead_writers_are_removed(void **state)
{
    State *s = *state;
    char dead[64], own[64], alive[64], old[64], want[300];
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    snprintf(dead, sizeof dead, "step-00000003.safetensors.tmp%d", (int)pid);
    snprintf(own, sizeof own, "best.safetensors.tmp%d", (int)getpid());
    snprintf(alive, sizeof alive, "step-00000004.safetensors.tmp%d", (int)getppid());
    snprintf(old, sizeof old, "step-00000005.safetensors.tmp%d", (int)getppid());
    const char *const names[] = {dead,
                                 own,
                                 alive,
                                 old,
                                 "notes.tmp1",
                                 "step-00000003.safetensors.tmpx",
                                 "step-3.safetensors.tmp99999999"};
    for (int i = 0; i < 7; i++)
        file_put(folder_file(&s->f, names[i]), "x", 1);
    const struct timespec ancient[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(utimensat(AT_FDCWD, folder_file(&s->f, old), ancient, 0), 0);
    checkpoint_writer_close(writer(s, 2));
    snprintf(want, sizeof want,
             "notes.tmp1 step-00000003.safetensors.tmpx %s step-3.safetensors.tmp99999999 ", alive);
    assert_string_equal(folder_names(&s->f), want);
    assert_logged(s, dead);
}

static void the_folder_is_made_with_its_parents(void **state)
{
    State *s = *state;
    char dir[400];
    CheckpointWriter *w;
    Err err = {0};
    snprintf(dir, sizeof dir, "%s/runs/first/checkpoints", s->f.path);
    assert_int_equal(checkpoint_writer_open(&w, dir, 3, &s->log, &err), 0);
    assert_string_equal(checkpoint_writer_last_good(w), "");
    checkpoint_writer_close(w);
    assert_true(file_exists(dir));
    file_put(folder_file(&s->f, "file"), "x", 1);
    snprintf(dir, sizeof dir, "%s/file/checkpoints", s->f.path);
    assert_int_equal(checkpoint_writer_open(&w, dir, 3, &s->log, &err), ERR_IO);
    assert_true(w == NULL && strstr(err.msg, dir) == NULL && strstr(err.msg, "/file") != NULL);
}

/* ---- finding ---- */

static void the_right_checkpoint_is_found(void **state)
{
    State *s = *state;
    char dir[300], path[CHECKPOINT_PATH_SIZE];
    Err err = {0};
    snprintf(dir, sizeof dir, "%s", s->f.path);
    assert_int_equal(find(s, "auto"), ERR_MISSING);
    assert_int_equal(find(s, "best"), ERR_MISSING);
    assert_int_equal(find(s, dir), ERR_MISSING);
    assert_int_equal(find(s, "/no/such/file"), ERR_MISSING);
    assert_int_equal(checkpoint_find(path, "auto", "/no/such/folder", NULL, &err), ERR_MISSING);
    put_step(&s->f, "step-99999999.safetensors", 99999999);
    put_step(&s->f, "step-100000000.safetensors", 100000000);
    put_step(&s->f, "step-00000500.safetensors", 500);
    const char *const not_steps[] = {
        "step-7.safetensors",       "step-200000000.safetensors.tmp1", "step-200000000.safetensors.bak",
        "step-200000000",           "step--0000001.safetensors",       "last.safetensors",
        "step-2000000x.safetensors"};
    for (int i = 0; i < 7; i++)
        file_put(folder_file(&s->f, not_steps[i]), "x", 1);
    assert_int_equal(find(s, "auto"), 100000000);
    assert_int_equal(find(s, NULL), 100000000);
    assert_int_equal(find(s, dir), 100000000); /* no best here */
    put_step(&s->f, "best.safetensors", 12);
    assert_int_equal(find(s, dir), 12);
    assert_int_equal(find(s, "best"), 12);
    assert_int_equal(find(s, "auto"), 100000000);
    assert_int_equal(find(s, folder_file(&s->f, "step-00000500.safetensors")), 500);
    assert_log_empty(s);
    damage(&s->f, "best.safetensors");
    assert_int_equal(find(s, "best"), ERR_DAMAGED);
    assert_int_equal(find(s, dir), 100000000);
    assert_logged(s, "best.safetensors was changed");
    damage(&s->f, "step-100000000.safetensors");
    assert_int_equal(find(s, "auto"), 99999999);
    assert_logged(s, "step-100000000.safetensors was changed");
    assert_int_equal(find(s, folder_file(&s->f, "step-100000000.safetensors")), ERR_DAMAGED);
    assert_int_equal(mkdir(folder_file(&s->f, "step-300000000.safetensors"), 0777), 0);
    file_put(folder_file(&s->f, "step-300000001.safetensors"), "", 0);
    assert_int_equal(truncate(folder_file(&s->f, "step-99999999.safetensors"), 9000), 0);
    assert_int_equal(find(s, "auto"), 500);
    assert_logged(s, "step-300000000.safetensors is not a safetensors file: it is a folder");
    assert_logged(s, "step-300000001.safetensors is not a safetensors file: it is empty");
    assert_logged(s, "step-99999999.safetensors: it is cut off");
    damage(&s->f, "step-00000500.safetensors");
    assert_int_equal(find(s, "auto"), ERR_DAMAGED);
    assert_int_equal(find(s, dir), ERR_DAMAGED);
    file_put(folder_file(&s->f, "voice.png"), "\x89PNG\r\n\x1a\n....", 12);
    assert_int_equal(find(s, folder_file(&s->f, "voice.png")), ERR_FORMAT);
}

static void paths_that_are_too_long(void **state)
{
    State *s = *state;
    char *name = malloc(6000), path[CHECKPOINT_PATH_SIZE];
    Err err = {0};
    memset(name, 'a', 5999);
    name[5999] = 0;
    assert_true(checkpoint_find(path, name, s->f.path, NULL, &err) < 0 && err.msg[0]);
    assert_true(checkpoint_find(path, "best", name, NULL, &err) < 0 && err.msg[0]);
    assert_true(checkpoint_find(path, "auto", name, NULL, &err) < 0 && err.msg[0]);
    free(name);
}

/* ---- disks that are full or read-only ---- */

static int mount_disk(const char *dir, long kib, unsigned long flags)
{
    char options[64];
    snprintf(options, sizeof options, "size=%ldk", kib);
    return mount("myxtts-test", dir, "tmpfs", flags, options);
}

static int can_mount(const Folder *f)
{
    if (mount_disk(f->path, 1024, 0) == 0)
        return 1;
    print_message("SKIPPED: no small disk can be mounted here (%s); failing writes are tried alone\n",
                  strerror(errno));
    return 0;
}

static void a_full_disk_keeps_the_old_one(void **state)
{
    State *s = *state;
    Content *c = malloc(sizeof *c);
    if (!can_mount(&s->f))
        skip();
    int full = 0, enough = 0;
    for (long kib = 28; kib <= 100; kib += 4) { /* a checkpoint has 24.5 KiB */
        assert_int_equal(umount(s->f.path), 0);
        assert_int_equal(mount_disk(s->f.path, kib, 0), 0);
        CheckpointWriter *w = writer(s, 1);
        assert_true(submit(w, c, 1, 1) == 0 && checkpoint_writer_wait(w) == 0);
        for (int step = 2; step < 5; step++) {
            assert_int_equal(submit(w, c, step, 1), 0);
            int rc = checkpoint_writer_wait(w);
            full += rc == ERR_NOSPACE;
            enough += rc == 0;
            assert_true(rc == 0 || rc == ERR_NOSPACE);
            int64_t good = rc ? 1 : step;
            assert_int_equal(find(s, "auto"), good);
            assert_int_equal(find(s, "best"), good);
            assert_int_equal(assert_content(checkpoint_writer_last_good(w)), good);
            char want[80];
            snprintf(want, sizeof want, "best.safetensors step-%08d.safetensors ", (int)good);
            assert_string_equal(folder_names(&s->f), want); /* no temporary */
        }
        assert_int_equal(mount_disk(s->f.path, 4096, MS_REMOUNT), 0); /* room is made: it goes on by itself */
        assert_true(submit(w, c, 9, 0) == 0 && checkpoint_writer_wait(w) == 0);
        checkpoint_writer_close(w);
        assert_int_equal(find(s, "auto"), 9);
    }
    assert_int_equal(umount(s->f.path), 0);
    print_message("%d writes on a full disk, %d with room\n", full, enough);
    assert_true(full > 3 && enough > 3);
    assert_logged(s, "checkpoint at step 2 was not written: cannot write ");
    assert_logged(s, "No space left on device; training continues, the last good checkpoint is ");
    assert_logged(
        s, "step-00000001.safetensors\n  hint: free some space, or put the checkpoints on another disk");
    free(c);
}

static void a_read_only_disk_is_said(void **state)
{
    State *s = *state;
    Content *c = malloc(sizeof *c);
    if (!can_mount(&s->f))
        skip();
    CheckpointWriter *w = writer(s, 2);
    assert_true(submit(w, c, 1, 0) == 0 && checkpoint_writer_wait(w) == 0);
    assert_int_equal(mount_disk(s->f.path, 1024, MS_REMOUNT | MS_RDONLY), 0);
    assert_int_equal(submit(w, c, 2, 1), 0);
    assert_int_equal(checkpoint_writer_wait(w), ERR_IO);
    assert_int_equal(checkpoint_writer_wait(w), ERR_IO); /* of the last job, as often as asked */
    assert_logged(s, "Read-only file system; training continues, the last good checkpoint is ");
    checkpoint_writer_close(w);
    checkpoint_writer_close(writer(s, 2));
    assert_logged(s, "cannot be written to (Read-only file system)");
    assert_int_equal(mount_disk(s->f.path, 1024, MS_REMOUNT), 0);
    w = writer(s, 2);
    assert_true(submit(w, c, 3, 0) == 0 && checkpoint_writer_wait(w) == 0);
    checkpoint_writer_close(w);
    assert_string_equal(folder_names(&s->f), "step-00000001.safetensors step-00000003.safetensors ");
    assert_int_equal(umount(s->f.path), 0);
    free(c);
}

/* ---- this program as a child that writes ---- */

static void say(const char *what, long long n)
{
    char line[64];
    int size = snprintf(line, sizeof line, "%s %lld\n", what, n);
    if (write(1, line, (size_t)size) != size)
        _exit(4);
}

/* --writer DIR FIRST COUNT: COUNT checkpoints from step FIRST on (0: after the newest valid one), every third
 * the best, each reported on stdout once it is finished. */
static int writer_main(char **args)
{
    const char *dir = args[0];
    long long step = atoll(args[1]), count = atoll(args[2]);
    char path[CHECKPOINT_PATH_SIZE];
    static Content c;
    Err err = {0};
    Log log;
    log_init(&log, LOG_WARN);
    CheckpointWriter *w;
    if (checkpoint_writer_open(&w, dir, 2, &log, &err)) {
        log_err(&log, &err);
        return 3;
    }
    if (step == 0) {
        SafeTensors f;
        step = 1;
        int rc = checkpoint_find(path, "auto", dir, &log, &err);
        if (!rc && !(rc = safetensors_open(&f, path, &err))) {
            step = atoll(safetensors_meta(&f, "step")) + 1;
            safetensors_close(&f);
        }
        if (rc && rc != ERR_MISSING) {
            log_err(&log, &err);
            return 3;
        }
    }
    say("ready", step);
    for (long long end = step + count; step < end; step++) {
        content_fill(&c, step);
        int rc = checkpoint_writer_submit(w, step, step % 3 == 0, c.meta, 1, c.tensors, 2, &err);
        if (rc)
            log_err(&log, &err);
        else
            rc = checkpoint_writer_wait(w);
        say(rc ? "failed" : "done", step);
    }
    say("good", checkpoint_writer_last_good(w)[0] != 0);
    checkpoint_writer_close(w);
    return 0;
}

typedef struct Child {
    pid_t pid;
    int out;
    Buf text;
} Child;

static void child_start(Child *c, State *s, const char *first, const char *count, uid_t uid,
                        const char *const *env)
{
    int out[2];
    *c = (Child){0};
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    fflush(NULL);
    c->pid = fork();
    assert_true(c->pid >= 0);
    if (c->pid == 0) {
        const char *const argv[] = {"myxtts", "--writer", s->f.path, first, count, NULL};
        int log = open(s->log_path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        dup2(out[1], 1);
        dup2(log, 2);
        for (int i = 0; env && env[i]; i++)
            putenv((char *)(uintptr_t)env[i]);
        if (uid && (setgroups(0, NULL) || setgid(uid) || setuid(uid)))
            _exit(125);
        execv("/proc/self/exe", (char *const *)(uintptr_t)argv);
        _exit(126);
    }
    close(out[1]);
    c->out = out[0];
}

/* Reads a piece of what it says; 0 at the end. */
static int child_read(Child *c)
{
    char piece[4096];
    ssize_t n = read(c->out, piece, sizeof piece);
    if (n > 0)
        buf_add(&c->text, piece, (size_t)n);
    return n > 0;
}

/* Exit code, or -signal; text holds everything it said. */
static int child_end(Child *c)
{
    int status;
    while (child_read(c))
        ;
    close(c->out);
    assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* The last step reported as `what` that is a multiple of `every`, 0 when there is none. A line that was cut
 * off by a kill does not count. */
static long long last_said(const Child *c, const char *what, int every)
{
    long long last = 0;
    size_t n = strlen(what);
    for (const char *p = c->text.data; p && *p;) {
        const char *end = strchr(p, '\n');
        if (!end)
            break;
        if (strncmp(p, what, n) == 0 && p[n] == ' ' && atoll(p + n) % every == 0)
            last = atoll(p + n);
        p = end + 1;
    }
    return last;
}

static void kills_at_random_moments(void **state)
{
    State *s = *state;
    Rng rng;
    uint64_t seed = (uint64_t)(clock_now() * 1e6) + (uint64_t)getpid();
    rng_seed(&rng, seed);
    int leftovers = 0;
    long long last = 0, last_best = 0;
    for (int i = 0; i < KILLS; i++) {
        Child c;
        child_start(&c, s, "0", "1000000", 0, NULL);
        while (!c.text.data || !strchr(c.text.data, '\n'))
            if (!child_read(&c))
                fail_msg("the child ended with %d", child_end(&c));
        clock_sleep(0.02 * rng_uniform(&rng));
        kill(c.pid, SIGKILL);
        assert_int_equal(child_end(&c), -SIGKILL);
        long long done = last_said(&c, "done", 1), done_best = last_said(&c, "done", 3);
        last_best = done_best > last_best ? done_best : last_best;
        last = done > last ? done : last;
        assert_int_equal(last_said(&c, "failed", 1), 0);
        int64_t found = find(s, "auto"), best = find(s, "best");
        if (found < last && !(last == 0 && found == ERR_MISSING))
            fail_msg("seed %llu, kill %d: step %lld was finished, found is %lld", (unsigned long long)seed, i,
                     last, (long long)found);
        if (best < last_best && !(last_best == 0 && best == ERR_MISSING))
            fail_msg("seed %llu, kill %d: step %lld was finished as the best, it is %lld",
                     (unsigned long long)seed, i, last_best, (long long)best);
        leftovers += strstr(folder_names(&s->f), ".tmp") != NULL;
        buf_free(&c.text);
    }
    print_message("seed %llu: %d kills, %lld checkpoints finished, a temporary was left %d times\n",
                  (unsigned long long)seed, KILLS, last, leftovers);
    assert_true(last > 10);
    checkpoint_writer_close(writer(s, 2));
    assert_null(strstr(folder_names(&s->f), ".tmp"));
}

static void a_folder_of_somebody_else(void **state)
{
    State *s = *state;
    put_step(&s->f, "step-00000001.safetensors", 1);
    assert_int_equal(chmod(s->f.path, 0555), 0);
    Child c;
    child_start(&c, s, "2", "3", geteuid() == 0 ? 65534 : 0, NULL);
    int code = child_end(&c);
    assert_int_equal(chmod(s->f.path, 0755), 0);
    if (code == 125 || code == 126 || code == 127) {
        print_message("SKIPPED: this program cannot run as another user here (%d)\n", code);
        buf_free(&c.text);
        skip();
    }
    assert_int_equal(code, 0);
    assert_int_equal(last_said(&c, "failed", 1), 4);
    assert_int_equal(last_said(&c, "done", 1), 0);
    assert_int_equal(last_said(&c, "good", 1), 1);
    assert_logged(s, "cannot be written to (Permission denied)");
    assert_logged(s, "checkpoint at step 4 was not written: cannot create ");
    assert_logged(s, "the last good checkpoint is ");
    assert_string_equal(folder_names(&s->f), "step-00000001.safetensors ");
    buf_free(&c.text);
}

/* ---- failing calls ---- */

/* One run from a folder that holds step 1 alone: steps 2 to 4 (first "0": found by the child) with the n-th
 * call failing. Returns how many it said were not written. */
static int try_fault(State *s, const char *first, const char *const *env, const char *label)
{
    folder_remove(&s->f);
    assert_int_equal(mkdir(s->f.path, 0777), 0);
    put_step(&s->f, "step-00000001.safetensors", 1);
    Child c;
    child_start(&c, s, first, "3", 0, env);
    int code = child_end(&c), failures = 0;
    Buf log = file_bytes(s->log_path);
    const char *text = log.data ? log.data : "";
    if (code != 0 && (code != 3 || !strstr(text, "error: ")))
        fail_msg("%s: ended with %d: %s", label, code, text);
    for (const char *p = c.text.data; p && (p = strstr(p, "failed ")); p++, failures++) {
        char want[64], other[64];
        snprintf(want, sizeof want, "checkpoint at step %d was", atoi(p + 7));
        snprintf(other, sizeof other, "no memory for the checkpoint at step %d", atoi(p + 7));
        if (!strstr(text, want) && !strstr(text, other))
            fail_msg("%s: step %d failed without a sentence: %s", label, atoi(p + 7), text);
    }
    long long done = last_said(&c, "done", 1);
    int64_t found = find(s, "auto");
    if (found < (done > 0 ? done : 1))
        fail_msg("%s: step %lld was finished, found is %lld", label, done, (long long)found);
    if (strstr(folder_names(&s->f), ".tmp"))
        fail_msg("%s: left %s", label, folder_names(&s->f));
    buf_free(&log);
    buf_free(&c.text);
    return failures + (code == 3);
}

static long count_calls(State *s, const char *first, const char *preload, const char *kind)
{
    char counts[320], env_count[360], want[32];
    snprintf(counts, sizeof counts, "%s.calls", s->f.path);
    snprintf(env_count, sizeof env_count, "MYXTTS_FAIL_COUNT=%s", counts);
    unlink(counts);
    assert_int_equal(
        try_fault(s, first, (const char *const[]){preload, env_count, "MYXTTS_FAIL_OWN=1", NULL}, "counting"),
        0);
    Buf text = file_bytes(counts);
    unlink(counts);
    snprintf(want, sizeof want, "%s ", kind);
    const char *at = text.data ? strstr(text.data, want) : NULL;
    assert_non_null(at);
    long n = atol(at + strlen(want));
    buf_free(&text);
    return n;
}

static void failing_calls(void **state)
{
    static const char *const kinds[] = {"WRITE", "FSYNC", "RENAME", "OPEN", "READ", "MALLOC"};
    State *s = *state;
    const char *library = fault_library();
    char preload[4200], fault[64], label[80];
    if (!library)
        skip();
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", library);
    Child c;
    child_start(&c, s, "1", "1", 0, (const char *const[]){preload, NULL});
    int code = child_end(&c);
    buf_free(&c.text);
    Buf log = file_bytes(s->log_path);
    int usable = code == 0 && log.size == 0;
    buf_free(&log);
    if (!usable) {
        print_message("SKIPPED: the fault library cannot be loaded into this build of the test\n");
        skip();
    }
    for (int k = 0; k < 6; k++) {
        const char *first =
            strcmp(kinds[k], "READ") == 0 ? "0" : "2"; /* nothing else is read while all goes well */
        long calls = count_calls(s, first, preload, kinds[k]);
        int failures = 0, runs = 0;
        for (int sticky = 0; sticky < 2; sticky++)
            for (long n = 1; n <= calls; n++, runs++) {
                const char *const env[] = {preload, fault, "MYXTTS_FAIL_OWN=1",
                                           sticky ? "MYXTTS_FAIL_STICKY=1" : NULL, NULL};
                snprintf(fault, sizeof fault, "MYXTTS_FAIL_%s=%ld", kinds[k], n);
                snprintf(label, sizeof label, "%s number %ld%s", kinds[k], n,
                         sticky ? " and all later ones" : "");
                failures += try_fault(s, first, env, label) > 0;
            }
        print_message("%s: %ld calls, %d runs, %d with an error\n", kinds[k], calls, runs, failures);
        assert_true(calls > 0 && failures > 0);
    }
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "--writer") == 0)
        return writer_main(argv + 2);
    const struct CMUnitTest tests[] = {
        T(steps_are_pruned_and_the_best_stays),
        T(the_same_step_again_as_the_best),
        T(without_hard_links_the_best_is_a_copy),
        T(two_submits_in_a_row),
        T(later_steps_of_another_run_stay),
        T(leftovers_of_dead_writers_are_removed),
        T(the_folder_is_made_with_its_parents),
        T(the_right_checkpoint_is_found),
        T(paths_that_are_too_long),
        T(a_full_disk_keeps_the_old_one),
        T(a_read_only_disk_is_said),
        T(kills_at_random_moments),
        T(a_folder_of_somebody_else),
        T(failing_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
