/* Several processes as ranks, over TCP: their sums bit for bit, and how all end when one is killed, stopped,
 * hangs, fails, or never comes. Each rank is this program again, as a worker (support/rank_worker.c). The
 * same under mpirun: test_ranks_mpi.sh. */
#include "support/folder_testing.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "ranks/ranks.h"
#include "support/long_tests.h"
#include "support/rank_worker.h"

enum { MOST = 8, GIVE_UP_SECONDS = 60 };

static char self[4096];

/* The processes of a run, and what they said: stdout and stderr of all in one file. */
typedef struct Job {
    int count, port;
    pid_t pids[MOST];
    int codes[MOST]; /* exit code, -signal, or 1000 while it runs */
    FILE *said;
    char text[1 << 16];
} Job;

static void set_number(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    setenv(name, text, 1);
}

static void start_rank(Job *j, int rank, const char *const *args)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0) {
        j->pids[rank] = pid;
        j->codes[rank] = 1000;
        return;
    }
    const char *argv[16] = {self, "worker"};
    for (int i = 0; i < 12 && args[i]; i++)
        argv[2 + i] = args[i];
    set_number("RANK", rank);
    set_number("LOCAL_RANK", rank);
    set_number("WORLD_SIZE", j->count);
    set_number("MASTER_PORT", j->port - 1);
    setenv("MASTER_ADDR", "127.0.0.1", 1);
    dup2(fileno(j->said), STDOUT_FILENO);
    dup2(fileno(j->said), STDERR_FILENO);
    execv(self, (char *const *)(uintptr_t)argv);
    _exit(127);
}

/* Those of `ranks` (a bit each) start. */
static void job_start(Job *j, int count, unsigned ranks, const char *const *args)
{
    memset(j, 0, sizeof *j);
    j->count = count;
    j->port = free_port();
    j->said = tmpfile();
    assert_non_null(j->said);
    int flags = fcntl(fileno(j->said), F_GETFL);
    fcntl(fileno(j->said), F_SETFL, flags | O_APPEND);
    for (int rank = 0; rank < count; rank++)
        if (ranks >> rank & 1)
            start_rank(j, rank, args);
}

static const char *job_text(Job *j)
{
    ssize_t n = pread(fileno(j->said), j->text, sizeof j->text - 1, 0);
    j->text[n > 0 ? n : 0] = 0;
    return j->text;
}

/* 1 when all have ended, or all but one. */
static int job_reap(Job *j, int but)
{
    int running = 0;
    for (int rank = 0; rank < j->count; rank++) {
        int status;
        if (j->codes[rank] != 1000 || !j->pids[rank])
            continue;
        if (waitpid(j->pids[rank], &status, WNOHANG) == j->pids[rank])
            j->codes[rank] = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
        else
            running += rank != but;
    }
    return !running;
}

/* Waits for all but one; whoever still runs after a long time is killed, and the test fails. */
static void job_wait(Job *j, int but)
{
    double end = clock_now() + GIVE_UP_SECONDS;
    while (!job_reap(j, but)) {
        clock_sleep(0.01);
        if (clock_now() < end)
            continue;
        for (int rank = 0; rank < j->count; rank++)
            if (j->codes[rank] == 1000 && j->pids[rank])
                kill(j->pids[rank], SIGKILL);
        fail_msg("the ranks do not end; they said: %s", job_text(j));
    }
}

static void job_close(Job *j) { fclose(j->said); }

static int count_lines(const char *text, const char *begin)
{
    int n = 0;
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        n += !strncmp(line, begin, strlen(begin));
    }
    return n;
}

/* One error, with these words in it. */
static void assert_one_sentence(Job *j, const char *words)
{
    const char *text = job_text(j);
    if (count_lines(text, "error: ") != 1 || !strstr(text, words))
        fail_msg("one sentence with '%s' was expected, and this was said:\n%s", words, text);
}

static void assert_codes(Job *j, int code, int but)
{
    for (int rank = 0; rank < j->count; rank++)
        if (rank != but && j->codes[rank] != code)
            fail_msg("rank %d ended with %d, not %d: %s", rank, j->codes[rank], code, job_text(j));
}

/* ---- all is well ---- */

/* Every rank checks its own results; here all of them must have printed the same hash of all sums. */
static void check_job(int count, char *hash)
{
    static const char *const args[] = {"check", NULL};
    Job j;
    job_start(&j, count, ~0U, args);
    job_wait(&j, -1);
    assert_codes(&j, 0, -1);
    const char *text = job_text(&j);
    assert_int_equal(count_lines(text, "sums "), count);
    memcpy(hash, strstr(text, "sums "), 37);
    hash[37] = 0;
    assert_int_equal(count_lines(text, hash), count);
    assert_int_equal(count_lines(text, "error: "), 0);
    job_close(&j);
}

static void test_calls_give_the_same_everywhere(void **state)
{
    static const int counts[] = {2, 3, 4, 7};
    for (int i = 0; i < 4; i++) {
        char first[64], second[64];
        check_job(counts[i], first);
        if (counts[i] == 3 || is_long()) {
            check_job(counts[i], second);
            assert_string_equal(first, second);
        }
    }
}

static void test_one_rank_takes_the_same_way(void **state)
{
    char hash[64];
    setenv("MYXTTS_RANKS", "1", 1);
    check_job(1, hash);
    unsetenv("MYXTTS_RANKS");
}

/* Without a handle everything is as with one rank. */
static void test_alone(void **state)
{
    RankPlace place = {.count = 1, .locals = 1};
    Ranks *r = (Ranks *)1;
    Err err = {0};
    float p[2] = {1, 2};
    int all = 0, mine = 7;
    size_t size = 0;
    Buf any = {0};
    assert_int_equal(ranks_open(&r, &place, NULL, &err), 0);
    assert_null(r);
    assert_true(ranks_rank(r) == 0 && ranks_count(r) == 1 && ranks_local(r) == 0 && ranks_locals(r) == 1);
    assert_int_equal(ranks_gather(r, &all, &mine, sizeof mine, &err), 0);
    assert_int_equal(all, 7);
    assert_int_equal(ranks_gather_any(r, &any, &size, "abc", 3, &err), 0);
    assert_true(size == 3 && any.size == 3 && !memcmp(any.data, "abc", 3));
    buf_free(&any);
    assert_int_equal(ranks_broadcast(r, p, sizeof p, 0, &err), 0);
    assert_int_equal(ranks_sum_scratch(r, 2, SUM_FP32), 0);
    assert_int_equal(ranks_sum(r, p, 2, SUM_BF16, NULL, &err), 0);
    assert_true(p[0] == 1 && p[1] == 2);
    assert_int_equal(ranks_agree(r, "a", "b", &err) + ranks_barrier(r, &err), 0);
    ranks_doing(r, RANK_STEPPING, 1);
    err_set(&err, ERR_DATA, "mine");
    ranks_fail(r, &err);
    assert_int_equal(err.code, ERR_DATA);
    assert_int_equal(ranks_failed(r), 0);
    ranks_close(r);
}

static void test_two_threads_have_a_lane_each(void **state)
{
    static const char *const args[] = {"lanes", NULL};
    Job j;
    job_start(&j, 3, ~0U, args);
    job_wait(&j, -1);
    assert_codes(&j, 0, -1);
    job_close(&j);
}

/* Of a second of waiting hardly anything is spent. */
static void test_waiting_is_polite(void **state)
{
    static const char *const args[] = {"wait", "1.5", NULL};
    Job j;
    int lines = 0;
    job_start(&j, 4, ~0U, args);
    job_wait(&j, -1);
    assert_codes(&j, 0, -1);
    for (const char *p = strstr(job_text(&j), "waited "); p; p = strstr(p + 1, "waited ")) {
        double seconds, cpu;
        assert_int_equal(sscanf(p, "waited %lf %lf", &seconds, &cpu), 2);
        assert_true(cpu < 0.2);
        lines++;
    }
    assert_int_equal(lines, 4);
    job_close(&j);
}

static void test_two_jobs_at_once(void **state)
{
    static const char *const args[] = {"steps", "100", NULL};
    Job a, b;
    job_start(&a, 3, ~0U, args);
    job_start(&b, 2, ~0U, args);
    job_wait(&a, -1);
    job_wait(&b, -1);
    assert_codes(&a, 0, -1);
    assert_codes(&b, 0, -1);
    job_close(&a);
    job_close(&b);
}

/* ---- faults ---- */

/* Rank `who` of `count` does `what` in step 20. */
static void fault_job(Job *j, int count, const char *what, int who)
{
    char number[16];
    const char *const args[] = {"steps", "1000000", what, number, NULL};
    snprintf(number, sizeof number, "%d", who);
    job_start(j, count, ~0U, args);
}

static void test_a_killed_rank_is_named(void **state)
{
    static const struct {
        const char *what;
        int count, who, code;
    } cases[] = {{"kill", 4, 2, -SIGKILL}, {"kill", 3, 0, -SIGKILL}, {"kill", 2, 1, -SIGKILL},
                 {"crash", 3, 1, 0},       {"exit", 3, 2, 0},        {"exit", 2, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Job j;
        char words[80];
        fault_job(&j, cases[i].count, cases[i].what, cases[i].who);
        job_wait(&j, -1);
        assert_codes(&j, 3, cases[i].who);
        snprintf(words, sizeof words, "error: rank %d on ", cases[i].who);
        assert_one_sentence(&j, words);
        assert_non_null(strstr(job_text(&j), "ended without a message"));
        if (cases[i].code)
            assert_int_equal(j.codes[cases[i].who], cases[i].code);
        job_close(&j);
    }
}

static void test_an_error_is_everybodys(void **state)
{
    for (int who = 0; who < 3; who++) {
        Job j;
        char words[80];
        fault_job(&j, 3, "fail", who);
        job_wait(&j, -1);
        assert_codes(&j, 3, -1);
        snprintf(words, sizeof words, "error: rank %d on ", who);
        assert_one_sentence(&j, words);
        assert_non_null(strstr(job_text(&j), ": no memory for 17 spoons"));
        job_close(&j);
    }
}

/* The one that was stopped cannot end; when it goes on, it does. */
static void test_a_stopped_rank_is_named(void **state)
{
    setenv("MYXTTS_RANK_SECONDS", "2", 1);
    for (int who = 0; who < 2; who++) {
        Job j;
        char words[80];
        fault_job(&j, 3, "stop", who);
        job_wait(&j, who);
        assert_codes(&j, 3, who);
        snprintf(words, sizeof words, "error: rank %d on ", who);
        assert_one_sentence(&j, words);
        assert_non_null(strstr(job_text(&j), "has not answered"));
        assert_int_equal(kill(j.pids[who], SIGCONT), 0);
        job_wait(&j, -1);
        assert_codes(&j, 3, -1);
        assert_one_sentence(&j, words);
        job_close(&j);
    }
    unsetenv("MYXTTS_RANK_SECONDS");
}

static void test_a_hanging_rank_is_named(void **state)
{
    setenv("MYXTTS_RANK_SECONDS", is_long() ? "5" : "1", 1);
    for (int who = is_long() ? 0 : 1; who < 2; who++) {
        Job j;
        char words[80];
        fault_job(&j, 3, "hang", who);
        job_wait(&j, -1);
        assert_codes(&j, 3, -1);
        snprintf(words, sizeof words, "error: rank %d on ", who);
        assert_one_sentence(&j, words);
        assert_non_null(strstr(job_text(&j), "is stuck: it has been computing at step 20 for "));
        assert_non_null(strstr(job_text(&j), "2 ranks wait for it"));
        job_close(&j);
    }
    unsetenv("MYXTTS_RANK_SECONDS");
}

static void test_a_rank_that_leaves_early_is_named(void **state)
{
    Job j;
    fault_job(&j, 3, "leave", 1);
    job_wait(&j, -1);
    assert_codes(&j, 3, 1);
    assert_one_sentence(&j, "error: rank 1 on ");
    assert_non_null(strstr(job_text(&j), "has finished, but "));
    job_close(&j);
}

/* A launcher sends SIGTERM to the rest as soon as one rank has ended: it must not silence them. */
static void test_sigterm_leaves_time_for_the_reason(void **state)
{
    Job j;
    fault_job(&j, 3, "kill", 2);
    while (j.codes[2] == 1000) {
        job_reap(&j, -1);
        clock_sleep(0.0005);
    }
    kill(j.pids[0], SIGTERM);
    kill(j.pids[1], SIGTERM);
    job_wait(&j, -1);
    assert_one_sentence(&j, "error: rank 2 on ");
    job_close(&j);
    /* Without a fault it ends the process as it does any other. */
    static const char *const args[] = {"wait", "30", NULL};
    job_start(&j, 2, ~0U, args);
    clock_sleep(0.5);
    kill(j.pids[1], SIGTERM);
    kill(j.pids[0], SIGTERM);
    job_wait(&j, -1);
    assert_true(j.codes[0] != 0 && j.codes[1] != 0);
    job_close(&j);
}

static void test_different_values_are_named(void **state)
{
    static const char *const args[] = {"agree", "batch_size", "16", "16", "8", NULL};
    Job j;
    job_start(&j, 4, ~0U, args);
    job_wait(&j, -1);
    assert_codes(&j, 3, -1);
    assert_one_sentence(&j, "error: batch_size differs between ranks: 16 on rank 0 (");
    assert_non_null(strstr(job_text(&j), "), 8 on rank 2 ("));
    job_close(&j);
}

static void test_different_calls_are_named(void **state)
{
    static const char *const args[] = {"mismatch", NULL};
    Job j;
    job_start(&j, 3, ~0U, args);
    job_wait(&j, -1);
    assert_codes(&j, 3, -1);
    assert_one_sentence(&j, "is gather (1) on rank 0, but call 2 is broadcast (16) on rank 1");
    job_close(&j);
}

/* ---- joining ---- */

static void test_missing_ranks_are_named(void **state)
{
    static const char *const args[] = {"check", NULL};
    Job j;
    setenv("MYXTTS_JOIN_SECONDS", "1", 1);
    job_start(&j, 5, 1 << 0 | 1 << 3, args);
    job_wait(&j, -1);
    assert_true(j.codes[0] == 3 && j.codes[3] == 3);
    assert_one_sentence(&j, "error: ranks 1, 2 and 4 of 5 have not connected to ");
    job_close(&j);
    /* Nobody is there to ask for. */
    job_start(&j, 3, 1 << 1 | 1 << 2, args);
    job_wait(&j, -1);
    assert_true(j.codes[1] == 3 && j.codes[2] == 3);
    assert_one_sentence(&j, "error: rank 1 on ");
    assert_non_null(strstr(job_text(&j), "cannot reach rank 0 at 127.0.0.1, port "));
    job_close(&j);
    unsetenv("MYXTTS_JOIN_SECONDS");
}

/* A rank that ends before all are there ends the others at once, without waiting for the rest. */
static void test_a_rank_that_dies_while_joining(void **state)
{
    static const char *const args[] = {"check", NULL};
    Job j;
    job_start(&j, 3, 1 << 0 | 1 << 1, args);
    clock_sleep(0.7);
    kill(j.pids[1], SIGKILL);
    job_wait(&j, -1);
    assert_int_equal(j.codes[0], 3);
    assert_one_sentence(&j, "error: rank 1 on ");
    assert_non_null(strstr(job_text(&j), "ended before the others had connected"));
    job_close(&j);
}

static int knock(int port, const void *p, size_t n)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int tries = 0; tries < 500; tries++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        assert_true(fd >= 0);
        if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0) {
            assert_true(send(fd, p, n, MSG_NOSIGNAL) >= 0 || errno == EPIPE || errno == ECONNRESET);
            return fd;
        }
        close(fd);
        clock_sleep(0.01);
    }
    return -1;
}

/* They come before the ranks, say nothing or nonsense, or begin as ranks do; the run is not disturbed. */
static void test_strangers_are_turned_away(void **state)
{
    static const char *const args[] = {"check", NULL};
    char nonsense[4096], nearly[112] = "myxttsR1";
    Job j;
    memset(nonsense, 'x', sizeof nonsense);
    job_start(&j, 3, 1 << 0 | 1 << 1, args);
    int fds[] = {knock(j.port, "", 0), knock(j.port, nonsense, sizeof nonsense),
                 knock(j.port, "GET / HTTP/1.0\r\n\r\n", 18), knock(j.port, nearly, sizeof nearly),
                 knock(j.port, nearly, 9)};
    clock_sleep(0.2);
    start_rank(&j, 2, args);
    job_wait(&j, -1);
    assert_codes(&j, 0, -1);
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        assert_true(fds[i] >= 0);
        close(fds[i]);
    }
    job_close(&j);
}

/* A rank of another run comes to our port; a rank that was started as one of another number; a second of the
 * same number; two runs that want the same port. */
static void test_others_are_refused(void **state)
{
    static const char *const args[] = {"check", NULL};
    Job j, other;
    setenv("MYXTTS_JOIN_SECONDS", "2", 1);
    job_start(&j, 3, 1 << 0 | 1 << 1, args);
    other = j;
    other.said = tmpfile();
    memset(other.pids, 0, sizeof other.pids);
    clock_sleep(0.3);
    start_rank(&other, 1, args);
    start_rank(&other, 0, args);
    job_wait(&other, -1);
    assert_non_null(strstr(job_text(&other), "there is already another rank 1"));
    assert_non_null(strstr(job_text(&other), "rank 0 cannot listen on port "));
    setenv("MYXTTS_TOKEN", "another", 1);
    setenv("MYXTTS_JOIN_SECONDS", "0.3", 1);
    start_rank(&other, 1, args);
    unsetenv("MYXTTS_TOKEN");
    job_wait(&other, -1);
    assert_non_null(strstr(job_text(&other), "what answers there is not part of this run"));
    job_wait(&j, -1);
    assert_one_sentence(&j, "error: rank 2 of 3 has not connected to ");
    job_close(&other);
    job_close(&j);
    job_start(&j, 2, 1 << 0, args);
    j.count = 3;
    start_rank(&j, 2, args);
    job_wait(&j, -1);
    assert_non_null(strstr(job_text(&j), "was started as one of 3 ranks, rank 0 as one of 2"));
    job_close(&j);
    unsetenv("MYXTTS_JOIN_SECONDS");
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "worker"))
        return rank_worker(argc - 1, argv + 1);
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0)
        return 1;
    self[n] = 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_one_rank_takes_the_same_way),
        cmocka_unit_test(test_calls_give_the_same_everywhere),
        cmocka_unit_test(test_two_threads_have_a_lane_each),
        cmocka_unit_test(test_waiting_is_polite),
        cmocka_unit_test(test_two_jobs_at_once),
        cmocka_unit_test(test_a_killed_rank_is_named),
        cmocka_unit_test(test_an_error_is_everybodys),
        cmocka_unit_test(test_a_stopped_rank_is_named),
        cmocka_unit_test(test_a_hanging_rank_is_named),
        cmocka_unit_test(test_a_rank_that_leaves_early_is_named),
        cmocka_unit_test(test_sigterm_leaves_time_for_the_reason),
        cmocka_unit_test(test_different_values_are_named),
        cmocka_unit_test(test_different_calls_are_named),
        cmocka_unit_test(test_missing_ranks_are_named),
        cmocka_unit_test(test_a_rank_that_dies_while_joining),
        cmocka_unit_test(test_strangers_are_turned_away),
        cmocka_unit_test(test_others_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
