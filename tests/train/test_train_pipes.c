/* test_train_pipes.c - `myxtts train` whose readers go away (Ctrl-C under `| tee`, a closed terminal), and
 * commands with closed or full standard streams. */
#include "support/train_process.h"

static const char *const endless[] = {"--epochs", "1000000", "--log-step", "1", NULL};

/* The read ends of the pipes, as if their readers had died. */
enum { NO_STDOUT = 1, NO_STDERR = 2 };
static void leave(Run *r, int which)
{
    if (which & NO_STDOUT) {
        close(r->out);
        r->out = -1;
    }
    if (which & NO_STDERR) {
        close(r->err);
        r->err = -1;
    }
}

/* Ctrl-C under `2>&1 | tee`: the readers are gone before the first message about the end. */
static void interrupt_without_readers(void **state)
{
    Corpus *c = *state;
    make_voice_corpus(c);
    for (int which = NO_STDOUT; which <= (NO_STDOUT | NO_STDERR); which++) {
        char folder[256];
        Run r;
        snprintf(folder, sizeof folder, "%s/interrupted%d", c->root, which);
        train_start(&r, c, folder, 1000000, 1000000, endless, NULL);
        wait_for(&r, "step 3/");
        leave(&r, which);
        kill(r.pid, SIGINT);
        run_wait(&r, 120);
        int64_t at = check_folder(folder);
        if (r.code != 0 || at < 3)
            fail_msg("without %d: exit code %d, the newest checkpoint is step %lld: %s", which, r.code,
                     (long long)at, (const char *)r.stderr_text.data);
        run_free(&r);
    }
}

/* Readers that go while it trains: it trains on. */
static void trains_without_readers(void **state)
{
    Corpus *c = *state;
    char folder[256], whole[256];
    Run r;
    make_voice_corpus(c);
    snprintf(folder, sizeof folder, "%s/alone", c->root);
    snprintf(whole, sizeof whole, "%s/whole", c->root);
    train_to_end(c, whole, 60, 20, NULL, 0);
    train_start(&r, c, folder, 60, 20, (const char *const[]){"--log-step", "1", NULL}, NULL);
    wait_for(&r, "step 3/");
    leave(&r, NO_STDOUT | NO_STDERR);
    run_wait(&r, 120);
    assert_int_equal(r.code, 0);
    run_free(&r);
    compare_checkpoints(step_file(whole, 60), step_file(folder, 60), NULL);
}

/* A terminal that is closed hangs up twice, once by the system and once by the shell. */
static void two_hang_ups(void **state)
{
    Corpus *c = *state;
    char folder[256];
    Run r;
    make_voice_corpus(c);
    snprintf(folder, sizeof folder, "%s/hung", c->root);
    train_start(&r, c, folder, 1000000, 1000000, endless, NULL);
    wait_for(&r, "step 3/");
    kill(r.pid, SIGHUP);
    clock_sleep(0.001);
    kill(r.pid, SIGHUP);
    kill(r.pid, SIGTERM);
    run_wait(&r, 120);
    assert_int_equal(r.code, 0);
    assert_true(check_folder(folder) >= 3);
    run_free(&r);
}

/* Under nohup, or started in the background by a shell: what its parent ignores, it ignores too. */
static void ignored_signals_stay_ignored(void **state)
{
    Corpus *c = *state;
    char folder[256];
    Run r;
    make_voice_corpus(c);
    snprintf(folder, sizeof folder, "%s/nohup", c->root);
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    train_start(&r, c, folder, 1000000, 1000000, endless, NULL);
    signal(SIGHUP, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    wait_for(&r, "step 3/");
    kill(r.pid, SIGHUP);
    kill(r.pid, SIGINT);
    kill(r.pid, SIGINT);
    wait_for(&r, "step 60/"); /* 18 clips: many steps after the signals */
    kill(r.pid, SIGTERM);
    run_wait(&r, 120);
    assert_int_equal(r.code, 0);
    assert_true(check_folder(folder) >= 60);
    run_free(&r);
}

/* A run through the shell: `words` are its redirections. */
static void run_redirected(Run *r, const char *words, const char *const *args)
{
    char script[256];
    const char *all[MAX_ARGS] = {"-c", script, program()};
    int n = 3;
    snprintf(script, sizeof script, "exec \"$0\" \"$@\" %s", words);
    for (int i = 0; args[i]; i++)
        all[n++] = args[i];
    run_start_as(r, 0, "/bin/sh", all, NULL);
    run_wait(r, 120);
}

/* The first files that are opened must not become standard output or standard error. */
static void closed_descriptors(void **state)
{
    Corpus *c = *state;
    char folder[256], whole[256];
    Run r;
    make_voice_corpus(c);
    snprintf(folder, sizeof folder, "%s/closed", c->root);
    snprintf(whole, sizeof whole, "%s/whole", c->root);
    train_to_end(c, whole, 6, 2, NULL, 0);
    run_redirected(&r, "<&- >&- 2>&-",
                   (const char *const[]){"train", "--config", path_of(c->root, "voice.yaml"), "--data-path",
                                         c->data, "--cache-dir", c->cache, "--checkpoint-dir", folder,
                                         "--max-steps", "6", "--save-step", "2", NULL});
    assert_int_equal(r.code, 0);
    run_free(&r);
    compare_checkpoints(step_file(whole, 6), step_file(folder, 6), NULL);
    struct dirent **list;
    int n = scandir(folder, &list, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        if (list[i]->d_name[0] != '.') {
            Buf text = file_bytes(path_of(folder, list[i]->d_name));
            if (memmem(text.data, text.size, "training on", 11) || memmem(text.data, text.size, "  step ", 7))
                fail_msg("messages were written into %s", list[i]->d_name);
            buf_free(&text);
        }
        free(list[i]);
    }
    free(list);
    /* Standard input that is closed is empty. */
    run_redirected(&r, "<&-", (const char *const[]){"phonemize", "-", NULL});
    assert_true(r.code >= 0 && r.code <= 3);
    run_free(&r);
}

/* A full disk behind standard output is said; a reader that has gone is not. */
static void output_that_fails(void **state)
{
    Run r;
    if (access("/dev/full", W_OK)) {
        print_message("SKIPPED: there is no /dev/full\n");
        skip();
    }
    run_redirected(&r, ">/dev/full", (const char *const[]){"config", NULL});
    assert_int_equal(r.code, 3);
    assert_non_null(strstr((const char *)r.stderr_text.data, "cannot write to standard output"));
    run_free(&r);
    /* SIGPIPE is ignored by many parents: the write then fails instead. */
    signal(SIGPIPE, SIG_IGN);
    run_start(&r, (const char *const[]){"config", "--json", NULL}, NULL);
    signal(SIGPIPE, SIG_DFL);
    leave(&r, NO_STDOUT);
    run_wait(&r, 120);
    assert_int_equal(r.code, 3);
    assert_string_equal((const char *)r.stderr_text.data, "");
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(interrupt_without_readers),    T(trains_without_readers), T(two_hang_ups),
        T(ignored_signals_stay_ignored), T(closed_descriptors),     T(output_that_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
