/* test_checkpoint_rotation.c - which checkpoints of a folder stay: those that are known to be good, those
 * that a full disk leaves room for; and what is found when a run has diverged or its steps are damaged. */
#include "support/folder_testing.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "voice/checkpoint_folder.h"

typedef struct State {
    Folder f;
    Buf log_text;
    Log log;
    CheckpointWriter *w;
} State;

static float weights[6144]; /* a file has about 25 KiB */

static int setup(void **state)
{
    State *s = calloc(1, sizeof *s);
    s->f = folder_make();
    s->log = (Log){.out = buf_stream(&s->log_text), .level = LOG_INFO};
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    State *s = *state;
    checkpoint_writer_close(s->w);
    fclose(s->log.out);
    buf_free(&s->log_text);
    umount2(s->f.path, MNT_DETACH);
    folder_remove(&s->f);
    free(s);
    return 0;
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void open_writer(State *s, int keep)
{
    Err err = {0};
    checkpoint_writer_close(s->w);
    if (checkpoint_writer_open(&s->w, s->f.path, keep, &s->log, &err))
        fail_msg("%s", err.msg);
}

static int write_step(State *s, int64_t step, int is_best)
{
    Err err = {0};
    static char text[24];
    snprintf(text, sizeof text, "%lld", (long long)step);
    const TensorView t = {"weights", "F32", 1, {6144}, weights, sizeof weights};
    const MetaEntry m = {"step", text};
    for (int i = 0; i < 6144; i++)
        weights[i] = (float)(step * 7 + i);
    assert_int_equal(checkpoint_writer_submit(s->w, step, is_best, &m, 1, &t, 1, &err), 0);
    return checkpoint_writer_wait(s->w);
}

/* The step that is found, or the code. */
static int64_t find(State *s, const char *what)
{
    char path[CHECKPOINT_PATH_SIZE];
    Err err = {0};
    SafeTensors f;
    int rc = checkpoint_find(path, what, s->f.path, &s->log, &err);
    if (rc)
        return rc;
    assert_int_equal(safetensors_open(&f, path, &err), 0);
    int64_t step = atoll(safetensors_meta(&f, "step"));
    safetensors_close(&f);
    return step;
}

static void assert_logged(State *s, const char *part)
{
    if (!s->log_text.data || !strstr((const char *)s->log_text.data, part))
        fail_msg("'%s' is not in the log: %s", part, s->log_text.data ? (char *)s->log_text.data : "");
}

static void the_good_one_is_not_rotated_away(void **state)
{
    State *s = *state;
    open_writer(s, 2);
    assert_int_equal(write_step(s, 10, 0), 0);
    checkpoint_writer_confirm(s->w, 10);
    for (int step = 20; step <= 50; step += 10)
        assert_int_equal(write_step(s, step, 0), 0);
    assert_string_equal(folder_names(&s->f),
                        "step-00000010.safetensors step-00000040.safetensors step-00000050.safetensors ");
    /* Newer ones are good: it has done its duty. */
    checkpoint_writer_confirm(s->w, 50);
    assert_int_equal(write_step(s, 60, 0), 0);
    assert_string_equal(folder_names(&s->f), "step-00000050.safetensors step-00000060.safetensors ");
    /* With one kept the one before stays until the new one is known to be good. */
    open_writer(s, 1);
    checkpoint_writer_confirm(s->w, 60);
    assert_int_equal(write_step(s, 70, 0), 0);
    assert_string_equal(folder_names(&s->f), "step-00000060.safetensors step-00000070.safetensors ");
}

static void what_diverged_is_set_aside(void **state)
{
    State *s = *state;
    open_writer(s, 3);
    for (int step = 10; step <= 30; step += 10)
        assert_int_equal(write_step(s, step, step == 10), 0);
    checkpoint_writer_confirm(s->w, 10);
    checkpoint_writer_abandon(s->w, 30, 35);
    assert_string_equal(folder_names(&s->f),
                        "best.safetensors diverged.safetensors step-00000010.safetensors ");
    assert_int_equal(find(s, "auto"), 10);
    assert_int_equal(find(s, folder_file(&s->f, "diverged.safetensors")), 30);
    assert_logged(s, "its weights have diverged");
    const char *good = checkpoint_writer_last_good(s->w);
    assert_non_null(strstr(good, "step-00000010.safetensors"));
    /* Nothing is known: only what has the weights of now goes. Steps of a run that was further stay. */
    open_writer(s, 3);
    assert_int_equal(write_step(s, 20, 0), 0);
    assert_int_equal(write_step(s, 50, 0), 0);
    checkpoint_writer_abandon(s->w, 20, 40);
    assert_string_equal(
        folder_names(&s->f),
        "best.safetensors diverged.safetensors step-00000010.safetensors step-00000050.safetensors ");
}

static void without_a_step_the_best_is_used(void **state)
{
    State *s = *state;
    open_writer(s, 3);
    assert_int_equal(write_step(s, 10, 1), 0);
    assert_int_equal(write_step(s, 20, 0), 0);
    /* The best is another name of step 10: it has to be a file of its own to survive. */
    Buf best = file_bytes(folder_file(&s->f, "best.safetensors"));
    assert_int_equal(unlink(folder_file(&s->f, "best.safetensors")), 0);
    file_put(folder_file(&s->f, "best.safetensors"), best.data, best.size);
    buf_free(&best);
    file_put_byte(folder_file(&s->f, "step-00000010.safetensors"), 5000, 0x5A);
    file_put_byte(folder_file(&s->f, "step-00000020.safetensors"), 5000, 0x5A);
    assert_int_equal(find(s, "auto"), 10);
    assert_logged(s, "none of the 2 checkpoints in ");
    assert_logged(s, "best.safetensors instead");
    unlink(folder_file(&s->f, "step-00000010.safetensors"));
    unlink(folder_file(&s->f, "step-00000020.safetensors"));
    assert_int_equal(find(s, "auto"), 10);
    file_put_byte(folder_file(&s->f, "best.safetensors"), 5000, 0x5A);
    assert_int_equal(find(s, "auto"), ERR_MISSING);
}

static void mount_disk(State *s, long kib)
{
    char options[40];
    umount2(s->f.path, MNT_DETACH);
    snprintf(options, sizeof options, "size=%ldk", kib);
    if (mount("myxtts-test", s->f.path, "tmpfs", 0, options)) {
        print_message("SKIPPED: no small disk can be mounted here\n");
        skip();
    }
}

/* An old file that cannot be removed is named, and tried again the next time. */
static void what_cannot_be_removed_is_said(void **state)
{
    State *s = *state;
    const char *old = "step-00000001.safetensors", *gone = "step-00000002.safetensors";
    open_writer(s, 1);
    assert_int_equal(write_step(s, 1, 0), 0);
    /* Nobody, not even root, unlinks a folder. */
    assert_int_equal(unlink(folder_file(&s->f, old)), 0);
    assert_int_equal(mkdir(folder_file(&s->f, old), 0700), 0);
    assert_int_equal(write_step(s, 2, 0), 0);
    assert_logged(s, "cannot remove the old checkpoint ");
    assert_logged(s, "step-00000001.safetensors: Is a directory");
    assert_int_equal(rmdir(folder_file(&s->f, old)), 0);
    buf_free(&s->log_text);
    assert_int_equal(write_step(s, 3, 0), 0);
    assert_int_equal(access(folder_file(&s->f, gone), F_OK), -1);
    assert_null(s->log_text.data ? strstr(s->log_text.data, "cannot remove") : NULL);
    /* Without room for another one a file that stays is not said to have made it. */
    checkpoint_writer_close(s->w);
    s->w = NULL;
    mount_disk(s, 70);
    open_writer(s, 10);
    assert_int_equal(mkdir(folder_file(&s->f, old), 0700), 0);
    assert_int_equal(write_step(s, 2, 0), 0);
    assert_int_equal(write_step(s, 3, 0), 0);
    assert_int_equal(write_step(s, 4, 0), 0);
    assert_logged(s, "removed step-00000002.safetensors to make room");
    assert_null(strstr(s->log_text.data, "removed step-00000001.safetensors"));
    assert_int_equal(rmdir(folder_file(&s->f, old)), 0);
}

/* A disk for two and a half files takes the newest of any number, beside the best where that is older. */
static void old_ones_make_room(void **state)
{
    State *s = *state;
    mount_disk(s, 70);
    open_writer(s, 10);
    for (int step = 1; step <= 9; step++) {
        assert_int_equal(write_step(s, step, step == 1 || step == 7), 0);
        assert_int_equal(find(s, "auto"), step);
        assert_int_equal(find(s, "best"), step < 7 ? 1 : 7);
    }
    assert_logged(s, "the disk is full: removed step-00000002.safetensors to make room");
    /* One is not enough for a second: the first stays. */
    checkpoint_writer_close(s->w);
    s->w = NULL;
    mount_disk(s, 40);
    open_writer(s, 10);
    assert_int_equal(write_step(s, 1, 1), 0);
    assert_int_equal(write_step(s, 2, 1), ERR_NOSPACE);
    assert_int_equal(find(s, "auto"), 1);
    assert_logged(s, "a checkpoint takes 0.0 MB, and");
}

static const char *dies_at; /* a name: the process ends just before a file gets it */

static const char *waits_for; /* a file: before it is there, nothing gets a new name */

int rename(const char *from, const char *to)
{
    while (waits_for && access(waits_for, F_OK))
        usleep(1000);
    if (dies_at && strstr(to, dies_at))
        _exit(9);
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

/* The end of a run takes the room of the only checkpoint, which a crash in between does not cost. */
static void the_only_one_goes_when_the_last_is_there(void **state)
{
    State *s = *state;
    Folder aside = folder_make();
    int status;
    setenv("TMPDIR", aside.path, 1);
    mount_disk(s, 48);
    open_writer(s, 10);
    assert_int_equal(write_step(s, 1, 0), 0);
    assert_int_equal(write_step(s, 2, 0), ERR_NOSPACE);
    checkpoint_writer_close(s->w);
    s->w = NULL;
    pid_t child = fork();
    if (child == 0) {
        dies_at = "step-00000002";
        open_writer(s, 10);
        checkpoint_writer_end(s->w);
        write_step(s, 2, 0);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 9);
    assert_int_equal(find(s, "auto"), 1);
    /* What the crash left is no obstacle. */
    open_writer(s, 10);
    checkpoint_writer_end(s->w);
    assert_int_equal(write_step(s, 2, 0), 0);
    assert_int_equal(find(s, "auto"), 2);
    unsetenv("TMPDIR");
    folder_remove(&aside);
}

/* Without a crash nothing is left anywhere; where the last one fails, the first is back in its place. */
static void what_is_set_aside_comes_back(void **state)
{
    State *s = *state;
    Folder aside = folder_make();
    struct stat st;
    setenv("TMPDIR", aside.path, 1);
    mount_disk(s, 48);
    open_writer(s, 10);
    assert_int_equal(write_step(s, 1, 0), 0);
    assert_int_equal(mkdir(folder_file(&s->f, "step-00000002.safetensors"), 0700), 0);
    checkpoint_writer_end(s->w);
    assert_int_not_equal(write_step(s, 2, 0), 0);
    assert_int_equal(lstat(folder_file(&s->f, "step-00000001.safetensors"), &st), 0);
    assert_true(S_ISREG(st.st_mode));
    assert_int_equal(rmdir(folder_file(&s->f, "step-00000002.safetensors")), 0);
    assert_int_equal(find(s, "auto"), 1);
    assert_string_equal(folder_names(&aside), "");
    assert_int_equal(write_step(s, 2, 0), 0);
    assert_string_equal(folder_names(&s->f), "step-00000002.safetensors ");
    assert_string_equal(folder_names(&aside), "");
    assert_logged(s, "the disk is full: removed step-00000001.safetensors to make room");
    unsetenv("TMPDIR");
    folder_remove(&aside);
}

/* mpirun kills its processes a second after Ctrl-C, and theirs with them. What was begun is ended. */
static void a_kill_does_not_cost_the_last(void **state)
{
    enum { MOST_LOOKS_AT_IT = 60000 };
    State *s = *state;
    Folder other = folder_make();
    char go[300];
    int looks = 0;
    snprintf(go, sizeof go, "%s", folder_file(&other, "go"));
    pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        waits_for = go;
        open_writer(s, 10);
        checkpoint_writer_outlive(s->w);
        write_step(s, 3, 1);
        _exit(0);
    }
    while (!strstr(folder_names(&s->f), ".tmp"))
        usleep(1000);
    assert_int_equal(kill(-child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    FILE *f = fopen(go, "w");
    assert_non_null(f);
    fclose(f);
    while (!strstr(folder_names(&s->f), "best") && looks++ < MOST_LOOKS_AT_IT)
        usleep(1000);
    assert_int_equal(find(s, "auto"), 3);
    assert_int_equal(find(s, "best"), 3);
    /* Without a kill it is as ever. */
    while (checkpoint_writer_open(&s->w, s->f.path, 10, &s->log, NULL)) /* the other one may still hold it */
        usleep(1000);
    checkpoint_writer_outlive(s->w);
    assert_int_equal(write_step(s, 4, 0), 0);
    assert_int_equal(find(s, "auto"), 4);
    assert_non_null(strstr(checkpoint_writer_last_good(s->w), "step-00000004"));
    folder_remove(&other);
}

static void room_is_looked_for_before_a_run(void **state)
{
    State *s = *state;
    Err err = {0};
    mount_disk(s, 100);
    open_writer(s, 10);
    for (int step = 1; step <= 3; step++)
        assert_int_equal(write_step(s, step, 0), 0);
    assert_int_equal(checkpoint_writer_room(s->w, 3, 40000, &err), 0);
    assert_string_equal(folder_names(&s->f), "step-00000002.safetensors step-00000003.safetensors ");
    /* The newest is never given for it. */
    assert_int_equal(checkpoint_writer_room(s->w, 3, 200000, &err), ERR_NOSPACE);
    assert_string_equal(folder_names(&s->f), "step-00000003.safetensors ");
    assert_non_null(strstr(err.msg, "a checkpoint takes 0.2 MB, but"));
    assert_non_null(strstr(err.msg, "0.1 MB are missing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(the_good_one_is_not_rotated_away),
        T(what_diverged_is_set_aside),
        T(without_a_step_the_best_is_used),
        T(what_cannot_be_removed_is_said),
        T(old_ones_make_room),
        T(the_only_one_goes_when_the_last_is_there),
        T(what_is_set_aside_comes_back),
        T(a_kill_does_not_cost_the_last),
        T(room_is_looked_for_before_a_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
