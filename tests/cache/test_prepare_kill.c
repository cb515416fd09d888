/* test_prepare_kill.c - `prepare` killed at random moments, and its workers killed or stopped. What comes out
 * in the end is, byte by byte, what an undisturbed run gives. MYXTTS_LONG=1: ten times as many kills. With a
 * sanitizer there are half as many: it looks at memory, and the moments are drawn anew in every run. */
#include "support/prepare_testing.h"

#define BIG (SANITIZED && !is_long() ? 600 : 1500)
#define SPOKEN 300

static int kills(int some, int many) { return is_long() ? many : SANITIZED ? some / 2 : some; }

static const char *const plain[] = {"--num-workers", "2", NULL};
static const char *const other[] = {"--num-workers", "2", "--n-mels", "64", "--add-blank", "false", NULL};

static int start(Run *r, const Corpus *c, const char *cache, const char *const *more)
{
    const char *args[MAX_ARGS] = {"prepare", "--data-path", c->data, "--cache-dir", cache, "--json"};
    int n = 6;
    for (int i = 0; more[i]; i++)
        args[n++] = more[i];
    run_start(r, args, NULL);
    return n;
}

static double timed(const Corpus *c, const char *cache, const char *const *more)
{
    double begin = clock_now();
    json_decref(prepare_with(c, cache, 0, more));
    return clock_now() - begin;
}

/* 1 when the run was killed, 0 when it had ended before. */
static int killed_after(const Corpus *c, const char *cache, const char *const *more, double seconds)
{
    Run r;
    start(&r, c, cache, more);
    clock_sleep(seconds);
    int status;
    if (waitpid(r.pid, &status, WNOHANG) == r.pid) {
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        close(r.out);
        close(r.err);
        return 0;
    }
    run_kill(&r);
    return 1;
}

/* Kills runs from `old` (NULL: from nothing) to the state `want` until there were `most` of them. */
static void kill_on_the_way(const Corpus *c, const char *old, const char *want, const char *const *more,
                            double seconds, int most)
{
    Rng rng;
    uint64_t seed = (uint64_t)clock_now() * 1000003u + (uint64_t)getpid();
    rng_seed(&rng, seed);
    print_message("seed %llu, %d kills in %.3f s\n", (unsigned long long)seed, most, seconds);
    char cache[256];
    snprintf(cache, sizeof cache, "%s/disturbed", c->root);
    for (int done = 0, begin = 1, compared = 0; done < most || !begin;) {
        if (begin) {
            remove_folder(cache);
            if (old)
                copy_folder(old, cache);
            begin = 0;
        }
        if (done < most && rng_below(&rng, 4) != 0) {
            done += killed_after(c, cache, more, seconds * 1.05 * rng_uniform(&rng));
            continue;
        }
        json_decref(prepare_with(c, cache, 0, more));
        assert_same_folders(cache, want);
        if (compared++ % 4 == 0) {
            const char *verify[16] = {"--verify"};
            for (int i = 0; more[i]; i++)
                verify[i + 1] = more[i];
            json_decref(prepare_with(c, cache, 0, verify));
        }
        begin = 1;
    }
}

static void kills_during_the_first_build(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, BIG, 0.12);
    char want[256];
    snprintf(want, sizeof want, "%s/want", c->root);
    double seconds = timed(c, want, plain);
    kill_on_the_way(c, NULL, want, plain, seconds, kills(20, 200));
}

static void kills_during_the_build_of_samples(void **state)
{
    Corpus *c = *state;
    static const char *const audio[] = {"--num-workers", "2", "--stages", "audio", NULL};
    corpus_fill(c, BIG, 0.12);
    char want[256];
    snprintf(want, sizeof want, "%s/want", c->root);
    double seconds = timed(c, want, audio);
    kill_on_the_way(c, NULL, want, audio, seconds, kills(6, 50));
}

static void kills_during_a_change_of_settings(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, BIG, 0.12);
    char old[256], want[256];
    snprintf(old, sizeof old, "%s/old", c->root);
    snprintf(want, sizeof want, "%s/want", c->root);
    timed(c, old, plain);
    copy_folder(old, want);
    double seconds = timed(c, want, other);
    kill_on_the_way(c, old, want, other, seconds, kills(8, 100));
}

/* Lines edited, taken away and added: old and new records end up in one segment, rewritten after the first
 * commit. */
static void kills_during_an_incremental_build(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, BIG, 0.12);
    char old[256], want[256];
    snprintf(old, sizeof old, "%s/old", c->root);
    snprintf(want, sizeof want, "%s/want", c->root);
    timed(c, old, plain);
    for (int i = 0; i < BIG; i += 3)
        snprintf(c->clips[i].text, sizeof c->clips[i].text, "Line %d is another one now.", i);
    for (int i = 1; i < BIG; i += 10)
        c->clips[i].removed = 1;
    for (int i = 2; i < BIG; i += 7)
        write_wav(clip_path(c, i), i + 3, 0.13, 22050, 1);
    for (int i = 0; i < 50; i++)
        corpus_add(c, 0.12);
    corpus_write_metadata(c);
    copy_folder(old, want);
    double seconds = timed(c, want, plain);
    kill_on_the_way(c, old, want, plain, seconds, kills(12, 100));
}

/* Clips with long texts: a worker is nearly always in the middle of one. */
static void fill_with_long_texts(Corpus *c)
{
    corpus_fill(c, SPOKEN, 0.12);
    for (int i = 0; i < SPOKEN; i++) {
        char *text = c->clips[i].text;
        for (int k = 0; k < 3; k++) {
            size_t n = strlen(text);
            text[n] = ' ';
            memcpy(text + n + 1, text, n);
            text[2 * n + 1] = 0;
        }
    }
    corpus_write_metadata(c);
}

/* Sends the signal to the worker number `which` of a program that is at its first lines. */
static void signal_worker(pid_t program, int which, int signal_number)
{
    pid_t workers[8];
    int n = 0;
    for (double end = clock_now() + 2; n < 2 && clock_now() < end;)
        n = find_processes(workers, 8, program, 0);
    clock_sleep(0.03 + 0.008 * (which % 10));
    if (n > 0)
        kill(workers[which % n], signal_number);
}

/* The one that was lost is named, and made when the program runs again. */
static void check_lost(const Corpus *c, const char *cache, const char *const *more, const char *in_detail,
                       const char *said)
{
    char id[16];
    Buf tsv = file_bytes(path_of(cache, "rejected.tsv"));
    const char *at = strstr(tsv.data, "\tphonemizer_failed\t");
    assert_non_null(at);
    snprintf(id, sizeof id, "%.9s", at - 9);
    assert_true(strncmp(id, "clip0", 5) == 0);
    assert_non_null(strstr(at, in_detail));
    assert_non_null(strstr(said, id)); /* named on stderr too */
    buf_free(&tsv);
    json_t *again = prepare_with(c, cache, 0, more);
    check_number(again, 1, "text", "built");
    check_number(again, SPOKEN, "accepted", NULL);
    json_decref(again);
}

/* Sends a signal to a worker process in the middle of its work, until one utterance is lost by it. */
static void disturb_workers(Corpus *c, int signal_number, const char *timeout_ms, const char *in_detail)
{
    fill_with_long_texts(c);
    const char *const more[] = {"--num-workers", "2", "--phoneme-timeout-ms", timeout_ms, "--max-text-length",
                                "9999",          NULL};
    char want[256], cache[256];
    snprintf(want, sizeof want, "%s/want", c->root);
    snprintf(cache, sizeof cache, "%s/cache", c->root);
    timed(c, want, more);
    int lost = 0;
    for (int tries = 0; tries < 30 && lost < kills(2, 10); tries++) {
        remove_folder(cache);
        Run r;
        start(&r, c, cache, more);
        signal_worker(r.pid, tries, signal_number);
        run_wait(&r, 60);
        if (r.code != prepare_code(r.stdout_text.data))
            fail_msg("exit code %d: %s", r.code, r.stderr_text.data);
        json_t *o = json_loads(r.stdout_text.data, 0, NULL);
        int64_t rejected = number_at(o, "rejected", NULL);
        assert_true(rejected == 0 ||
                    rejected == 1); /* 0: between two items, or when there was no more to do */
        check_number(o, SPOKEN - rejected, "accepted", NULL);
        check_number(o, SPOKEN - rejected, "text", "built");
        if (rejected) {
            lost++;
            check_number(o, 1, "reasons", "phonemizer_failed");
            check_lost(c, cache, more, in_detail, r.stderr_text.data);
        }
        json_decref(o);
        run_free(&r);
        assert_same_caches(cache, want);
    }
    assert_true(lost > 0);
}

static void a_killed_worker_costs_one_utterance(void **state)
{
    disturb_workers(*state, SIGKILL, "5000", "signal 9");
}
static void a_crashed_worker_costs_one_utterance(void **state)
{
    disturb_workers(*state, SIGSEGV, "5000", "signal 11");
}
static void a_stopped_worker_costs_one_utterance(void **state)
{
    disturb_workers(*state, SIGSTOP, "300", "300 ms");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(kills_during_the_first_build),         T(kills_during_the_build_of_samples),
        T(kills_during_a_change_of_settings),    T(kills_during_an_incremental_build),
        T(a_killed_worker_costs_one_utterance),  T(a_crashed_worker_costs_one_utterance),
        T(a_stopped_worker_costs_one_utterance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
