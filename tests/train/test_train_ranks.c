/* test_train_ranks.c - `myxtts train` as several ranks: they learn what one process learns, go on at any
 * number of ranks, and all end when one does. Ranks are started with the variables of torchrun; once with
 * mpirun. MYXTTS_LONG=1: 100 steps, 40 kills, 100 faults. */
#include <time.h>

#include "support/rank_worker.h"
#include "support/train_process.h"

#define MOST_RANKS 8
#define EQUAL 1e-4 /* between the losses of one process and those of many */
#define MOST_STEPS 5000
#define END_SECONDS 10 /* within which all ranks end when one has failed */

/* ---- several processes ---- */

typedef struct Job {
    int count;
    Run ranks[MOST_RANKS];
} Job;

/* odd: options of odd_rank in place of `more`. trace: folder of MYXTTS_TRACE_CLIPS. All may be NULL. */
static void job_start(Job *j, int count, const Corpus *c, const char *folder, int steps, int save,
                      const char *const *more, const char *const *odd, int odd_rank, const char *trace)
{
    const int port = free_port() - 1;
    char variables[6][400];
    j->count = count;
    for (int r = 0; r < count; r++) {
        snprintf(variables[0], sizeof *variables, "RANK=%d", r);
        snprintf(variables[1], sizeof *variables, "WORLD_SIZE=%d", count);
        snprintf(variables[2], sizeof *variables, "LOCAL_RANK=%d", r);
        snprintf(variables[3], sizeof *variables, "MASTER_ADDR=127.0.0.1");
        snprintf(variables[4], sizeof *variables, "MASTER_PORT=%d", port);
        snprintf(variables[5], sizeof *variables, "MYXTTS_TRACE_CLIPS=%s", trace ? trace : "");
        const char *env[] = {variables[0], variables[1], variables[2], variables[3],
                             variables[4], variables[5], NULL};
        train_start(&j->ranks[r], c, folder, steps, save, odd && r == odd_rank ? odd : more, env);
    }
}

static void job_wait(Job *j, double limit)
{
    for (int r = 0; r < j->count; r++)
        run_wait(&j->ranks[r], limit);
}

static void job_free(Job *j)
{
    for (int r = 0; r < j->count; r++)
        run_free(&j->ranks[r]);
}

/* All ranks end with the code. */
static void job_end(Job *j, int code)
{
    job_wait(j, 300);
    for (int r = 0; r < j->count; r++)
        if (j->ranks[r].code != code)
            fail_msg("rank %d of %d ended with %d where %d was expected: %s%s", r, j->count, j->ranks[r].code,
                     code, (const char *)j->ranks[0].stderr_text.data,
                     (const char *)j->ranks[r].stderr_text.data);
}

static void job_run(int count, const Corpus *c, const char *folder, int steps, const char *const *more,
                    const char *trace)
{
    Job j;
    job_start(&j, count, c, folder, steps, 5, more, NULL, -1, trace);
    job_end(&j, 0);
    job_free(&j);
}

/* ---- what a run has done ---- */

/* losses [steps + 1] of the lines of log.jsonl; what a later line says of a step holds. */
static void read_losses(const char *folder, double *losses, int steps)
{
    FILE *f = fopen(path_of(folder, "log.jsonl"), "r");
    char *line = NULL;
    size_t room = 0;
    assert_non_null(f);
    for (int i = 0; i <= steps; i++)
        losses[i] = NAN;
    while (getline(&line, &room, f) > 0) {
        json_t *o = json_loads(line, 0, NULL);
        const char *event = json_string_value(json_object_get(o, "event"));
        int64_t step = json_integer_value(json_object_get(o, "step"));
        if (event && strcmp(event, "step") == 0 && step >= 1 && step <= steps)
            losses[step] = json_number_value(json_object_get(o, "loss"));
        json_decref(o);
    }
    free(line);
    fclose(f);
}

/* The largest difference between the losses of two runs. */
static double compare_losses(const char *a, const char *b, int steps)
{
    double *of_a = calloc((size_t)steps + 1, sizeof *of_a), *of_b = calloc((size_t)steps + 1, sizeof *of_b);
    double most = 0;
    read_losses(a, of_a, steps);
    read_losses(b, of_b, steps);
    for (int i = 1; i <= steps; i++) {
        if (!isfinite(of_a[i]) || !isfinite(of_b[i]))
            fail_msg("step %d has no loss in %s or %s", i, a, b);
        most = fmax(most, fabs(of_a[i] - of_b[i]));
    }
    free(of_a);
    free(of_b);
    return most;
}

static const char *const every_step[] = {"--log-step", "1", "--batch-size", "2", NULL};

/* ---- the same training ---- */

/* One process with batch 12, two with 6, three with 4, four with shares of 2, of which some are
 * empty. */
static void test_equal(void **state)
{
    Corpus *c = *state;
    const int steps = is_long() ? 100 : 20;
    char alone[256];
    snprintf(alone, sizeof alone, "%s/alone", c->root);
    const struct {
        int ranks;
        const char *batch, *whole;
    } jobs[] = {{2, "6", "0"}, {4, "2", "12"}, {3, "4", "0"}};
    make_voice_corpus(c);
    job_run(1, c, alone, steps, (const char *const[]){"--log-step", "1", "--batch-size", "12", NULL}, NULL);
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        char folder[256];
        snprintf(folder, sizeof folder, "%s/ranks%d", c->root, jobs[i].ranks);
        const char *const more[] = {"--log-step",  "1", "--batch-size", jobs[i].batch, "--global-batch-size",
                                    jobs[i].whole, NULL};
        job_run(jobs[i].ranks, c, folder, steps, more, NULL);
        double most = compare_losses(alone, folder, steps);
        print_message("%d ranks: %d losses, the largest difference is %.1e\n", jobs[i].ranks, steps, most);
        assert_true(most <= EQUAL);
    }
}

/* The same ranks twice: the same bits. */
static void test_repeats(void **state)
{
    Corpus *c = *state;
    make_voice_corpus(c);
    const char *a = path_of(c->root, "a"), *b = path_of(c->root, "b");
    job_run(3, c, a, 10, every_step, NULL);
    job_run(3, c, b, 10, every_step, NULL);
    assert_true(compare_checkpoints(step_file(a, 10), step_file(b, 10), NULL) > 10);
    assert_true(compare_losses(a, b, 10) == 0);
}

/* ---- another number of ranks ---- */

static long log_bytes(const char *folder)
{
    struct stat s;
    return stat(path_of(folder, "log.jsonl"), &s) ? 0 : (long)s.st_size;
}

/* The newest step in the log behind its first `from` bytes; 0: none. */
static int64_t newest_step(const char *folder, long from)
{
    FILE *f = fopen(path_of(folder, "log.jsonl"), "r");
    char *line = NULL;
    size_t room = 0;
    int64_t newest = 0;
    if (f)
        fseek(f, from, SEEK_SET);
    while (f && getline(&line, &room, f) > 0) {
        json_t *o = json_loads(line, 0, NULL);
        const char *event = json_string_value(json_object_get(o, "event"));
        if (event && strcmp(event, "step") == 0)
            newest = json_integer_value(json_object_get(o, "step"));
        json_decref(o);
    }
    free(line);
    if (f)
        fclose(f);
    return newest;
}

/* Which clips a step has seen: "epoch id id ..." of all ranks. A step that was made twice, because the first
 * time was lost in a kill, counts as it was the last time. */
typedef struct Seen {
    int64_t step, epoch;
    int rank, attempt;
    char ids[400];
} Seen;

static int read_trace(Seen **out, const char *folder, int attempt, Seen *list, int count)
{
    for (int r = 0; r < MOST_RANKS; r++) {
        char name[24], *line = NULL;
        size_t room = 0;
        snprintf(name, sizeof name, "rank-%d.tsv", r);
        FILE *f = fopen(path_of(folder, name), "r");
        ssize_t n;
        while (f && (n = getline(&line, &room, f)) > 0) {
            Seen s = {.rank = r, .attempt = attempt};
            char *at;
            if (line[n - 1] != '\n') /* torn by the kill */
                continue;
            s.step = strtoll(line, &at, 10);
            s.epoch = strtoll(at, &at, 10);
            snprintf(s.ids, sizeof s.ids, "%s", at);
            list = realloc(list, (size_t)(count + 1) * sizeof *list);
            list[count++] = s;
        }
        free(line);
        if (f)
            fclose(f);
    }
    *out = list;
    return count;
}

/* Every clip of training once in every whole epoch. */
static void count_clips(const Seen *list, int count, int64_t steps)
{
    int last_attempt[MOST_STEPS] = {0}, epochs = 0;
    for (int i = 0; i < count; i++)
        if (list[i].step <= steps && list[i].attempt > last_attempt[list[i].step])
            last_attempt[list[i].step] = list[i].attempt;
    int64_t last_epoch = 0;
    for (int i = 0; i < count; i++)
        last_epoch = list[i].epoch > last_epoch ? list[i].epoch : last_epoch;
    size_t of_first = 0;
    for (int64_t e = 0; e < last_epoch; e++, epochs++) {
        /* All ids of the epoch, sorted. */
        char **ids = NULL;
        size_t n = 0;
        for (int i = 0; i < count; i++) {
            if (list[i].epoch != e || list[i].step > steps || list[i].attempt != last_attempt[list[i].step])
                continue;
            char copy[400], *save = NULL;
            snprintf(copy, sizeof copy, "%s", list[i].ids);
            for (char *id = strtok_r(copy, "\t\n", &save); id; id = strtok_r(NULL, "\t\n", &save)) {
                ids = realloc(ids, (n + 1) * sizeof *ids);
                ids[n++] = strdup(id);
            }
        }
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < i; k++)
                if (strcmp(ids[i], ids[k]) == 0)
                    fail_msg("%s was seen twice in epoch %lld", ids[i], (long long)e);
        if (e == 0)
            of_first = n;
        else if (n != of_first)
            fail_msg("epoch %lld saw %zu clips, the first %zu", (long long)e, n, of_first);
        for (size_t i = 0; i < n; i++)
            free(ids[i]);
        free(ids);
    }
    print_message("%d whole epochs of %zu clips each\n", epochs, of_first);
    assert_true(epochs > 1 && of_first > 8);
}

/* Said outright, since a run that is killed before its first checkpoint starts again with other ranks. */
static const char *const whole_batch[] = {"--log-step", "1", "--batch-size", "2", "--global-batch-size",
                                          "8",          NULL};

/* 4, 1, 3, 2 ranks in turn, ten steps each, killed again and again. No more than 100 steps: later the search
 * for the alignment meets two paths that are equally good, rounding decides, and the losses of two runs part.
 */
static void test_other_ranks(void **state)
{
    Corpus *c = *state;
    const int kills = is_long() ? 40 : 4, steps = is_long() ? 100 : 40, turns[] = {4, 1, 3, 2};
    const uint64_t seed = (uint64_t)time(NULL);
    Rng rng;
    Seen *list = NULL;
    int count = 0, killed = 0;
    char trace[256], whole[256], folder[256];
    rng_seed(&rng, seed);
    make_voice_corpus(c);
    snprintf(whole, sizeof whole, "%s/whole", c->root);
    snprintf(folder, sizeof folder, "%s/turns", c->root);
    job_run(4, c, whole, steps, whole_batch, NULL);
    for (int turn = 0;; turn++) {
        Job j;
        const int64_t before = check_folder(folder);
        const long from = log_bytes(folder);
        snprintf(trace, sizeof trace, "%s/trace%d", c->root, turn);
        job_start(&j, turns[before / 10 % 4], c, folder, steps, 1, whole_batch, NULL, -1, trace);
        if (killed == kills || before >= steps) {
            job_end(&j, 0);
            job_free(&j);
            count = read_trace(&list, trace, turn + 1, list, count);
            break;
        }
        /* Until it has made some steps of its own, and a moment longer. */
        const int64_t until = before + 1 + (int64_t)rng_below(&rng, is_long() ? 2 : 10);
        for (double end = clock_now() + 60; newest_step(folder, from) < until && clock_now() < end;)
            clock_sleep(0.002);
        clock_sleep(0.01 * rng_uniform(&rng));
        const int all = (int)rng_below(&rng, 2), one = (int)rng_below(&rng, (uint64_t)j.count);
        for (int r = 0; r < j.count; r++)
            if (all || r == one)
                kill(j.ranks[r].pid, SIGKILL);
        job_wait(&j, 30);
        killed += j.ranks[one].code == -SIGKILL;
        if (check_folder(folder) < before)
            fail_msg("seed %llu: the checkpoint of step %lld is gone: %s", (unsigned long long)seed,
                     (long long)before, (const char *)j.ranks[0].stderr_text.data);
        job_free(&j);
        count = read_trace(&list, trace, turn + 1, list, count);
    }
    double most = compare_losses(whole, folder, steps);
    print_message("%d kills, the largest difference of %d losses is %.1e (seed %llu)\n", killed, steps, most,
                  (unsigned long long)seed);
    assert_true(most <= EQUAL && killed > kills / 2);
    count_clips(list, count, steps);
    free(list);
}

/* ---- faults ---- */

/* Waits until a run that began at step `before` has saved step `until`; no more than a minute. */
static void wait_for_step(Job *j, const char *folder, long log_from, int64_t before, int64_t until)
{
    for (double end = clock_now() + 60; newest_step(folder, log_from) < until && clock_now() < end;)
        clock_sleep(0.01);
    if (newest_step(folder, log_from) >= until)
        return;
    for (int r = 0; r < j->count; r++)
        kill(j->ranks[r].pid, SIGKILL);
    job_wait(j, 30);
    fail_msg("the run did not go on from step %lld: %s", (long long)before,
             (const char *)j->ranks[0].stderr_text.data);
}

/* Kills or freezes a rank; returns the seconds until all others had ended. */
static double disturb_rank(Job *j, int one, int freezes)
{
    const double at = clock_now();
    kill(j->ranks[one].pid, freezes ? SIGSTOP : SIGKILL);
    for (int r = 0; r < j->count; r++)
        if (!freezes || r != one)
            run_wait(&j->ranks[r], 30);
    const double took = clock_now() - at;
    if (freezes) {
        kill(j->ranks[one].pid, SIGCONT);
        run_wait(&j->ranks[one], 30);
    }
    return took;
}

/* All others have ended with 3; how many of them said a sentence, which has to name that rank. */
static int sentences_about(const Job *j, int one)
{
    char name[40];
    int sentences = 0;
    snprintf(name, sizeof name, "rank %d on ", one);
    for (int r = 0; r < j->count; r++) {
        if (r == one)
            continue;
        const char *said = strstr((const char *)j->ranks[r].stderr_text.data, "error: ");
        sentences += said != NULL;
        if (said && !strstr(said, name))
            fail_msg("%s does not name rank %d", said, one);
        if (j->ranks[r].code != 3)
            fail_msg("rank %d ended with %d: %s", r, j->ranks[r].code,
                     (const char *)j->ranks[r].stderr_text.data);
    }
    return sentences;
}

/* One rank is killed or frozen at a random moment: all end soon, one sentence names it, and the next start
 * goes on. */
static void test_faults(void **state)
{
    Corpus *c = *state;
    const int faults = is_long() ? 100 : 6, steps = 100000;
    const uint64_t seed = (uint64_t)time(NULL);
    char folder[256];
    double longest = 0;
    int resumed = 0;
    Rng rng;
    rng_seed(&rng, seed);
    snprintf(folder, sizeof folder, "%s/run", c->root);
    make_voice_corpus(c);
    for (int i = 0; i < faults; i++) {
        Job j;
        const long from = log_bytes(folder);
        const int64_t before = check_folder(folder);
        job_start(&j, 2 + (int)rng_below(&rng, 3), c, folder, steps, 2, every_step, NULL, -1, NULL);
        wait_for_step(&j, folder, from, before, before + 1 + (int64_t)rng_below(&rng, 6));
        resumed++;
        const int one = (int)rng_below(&rng, (uint64_t)j.count), freezes = i % 2;
        const double took = disturb_rank(&j, one, freezes);
        longest = fmax(longest, took);
        const int sentences = sentences_about(&j, one);
        if (sentences != 1 || took > END_SECONDS)
            fail_msg("seed %llu, fault %d (%s of rank %d of %d): %d sentences after %.1f s",
                     (unsigned long long)seed, i, freezes ? "stop" : "kill", one, j.count, sentences, took);
        job_free(&j);
    }
    print_message("%d kills and stops: %d runs began where the one before had saved, all ranks ended within "
                  "%.1f s (seed %llu)\n",
                  faults, resumed, longest, (unsigned long long)seed);
}

/* Said before the first step, by rank 0 alone. */
static void test_other_settings(void **state)
{
    Corpus *c = *state;
    const char *const odd[] = {"--log-step", "1", "--batch-size", "2", "--learning-rate", "0.5", NULL};
    const char *folder = path_of(c->root, "run");
    Job j;
    make_voice_corpus(c);
    job_start(&j, 3, c, folder, 10, 5, every_step, odd, 2, NULL);
    job_end(&j, 3);
    const char *said = (const char *)j.ranks[0].stderr_text.data;
    if (!strstr(said, "learning_rate is 0.5 on rank 2") || !strstr(said, "0.002 on rank 0"))
        fail_msg("the setting is not named: %s", said);
    assert_null(strstr((const char *)j.ranks[1].stderr_text.data, "error"));
    assert_int_equal(check_folder(folder), 0);
    job_free(&j);
}

/* One host has another build. */
static void test_other_program(void **state)
{
    Corpus *c = *state;
    char copy[256], command[1000];
    Job j = {.count = 2};
    make_voice_corpus(c);
    snprintf(copy, sizeof copy, "%s/other", c->root);
    snprintf(command, sizeof command, "cp %s %s && echo x >> %s", program(), copy, copy);
    assert_int_equal(system(command), 0);
    char port[40], rank[16], local[24];
    snprintf(port, sizeof port, "MASTER_PORT=%d", free_port() - 1);
    const char *const args[] = {"train", "--data-path", c->data, NULL};
    for (int r = 0; r < 2; r++) {
        snprintf(rank, sizeof rank, "RANK=%d", r);
        snprintf(local, sizeof local, "LOCAL_RANK=%d", r);
        const char *const env[] = {rank, local, "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1", port, NULL};
        run_start_as(&j.ranks[r], 0, r ? copy : program(), args, env);
    }
    job_end(&j, 3);
    if (!strstr((const char *)j.ranks[0].stderr_text.data, "the hash of the program"))
        fail_msg("another program is not named: %s", (const char *)j.ranks[0].stderr_text.data);
    job_free(&j);
}

/* A rank that is asked to stop takes all with it: the same last step, saved, exit code 0. */
static void test_stop(void **state)
{
    Corpus *c = *state;
    char folder[256];
    Job j;
    snprintf(folder, sizeof folder, "%s/run", c->root);
    make_voice_corpus(c);
    job_start(&j, 3, c, folder, 100000, 1000, every_step, NULL, -1, NULL);
    for (double end = clock_now() + 60; newest_step(folder, 0) < 3 && clock_now() < end;)
        clock_sleep(0.01);
    kill(j.ranks[1].pid, SIGTERM);
    job_end(&j, 0);
    const char *said = strstr((const char *)j.ranks[0].stdout_text.data, "stopped at step ");
    assert_non_null(said);
    assert_int_equal(atoll(said + 16), check_folder(folder));
    assert_int_equal(j.ranks[1].stdout_text.size, 0);
    /* With --verbose others speak too, and every line of theirs says whose it is. */
    for (const char *line = (const char *)j.ranks[2].stderr_text.data; line && *line;
         line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, "[rank 2] ", 9) != 0)
            fail_msg("rank 2 says without its name: %.200s", line);
    job_free(&j);
}

/* ---- mpirun ---- */

static void test_mpirun(void **state)
{
    Corpus *c = *state;
    Run r;
    if (access("/usr/bin/mpirun", X_OK)) {
        print_message("SKIPPED: mpirun is not installed\n");
        skip();
    }
    make_voice_corpus(c);
    const char *wire = path_of(c->root, "wire"), *mpi = path_of(c->root, "mpi");
    job_run(2, c, wire, 10, every_step, NULL);
    const char *args[] = {"--allow-run-as-root",
                          "--oversubscribe",
                          "-n",
                          "2",
                          program(),
                          "train",
                          "--config",
                          path_of(c->root, "voice.yaml"),
                          "--data-path",
                          c->data,
                          "--cache-dir",
                          c->cache,
                          "--checkpoint-dir",
                          mpi,
                          "--max-steps",
                          "10",
                          "--save-step",
                          "5",
                          "--log-step",
                          "1",
                          "--batch-size",
                          "2",
                          NULL};
    /* MPI's own memory is not ours to free. */
    run_start_as(&r, 0, "/usr/bin/mpirun", args, (const char *const[]){"ASAN_OPTIONS=detect_leaks=0", NULL});
    run_wait(&r, 120);
    if (r.code)
        fail_msg("mpirun ended with %d: %s", r.code, (const char *)r.stderr_text.data);
    run_free(&r);
    /* Added in the same order, whatever carries them. */
    assert_true(compare_checkpoints(step_file(wire, 10), step_file(mpi, 10), NULL) > 10);
}

/* Rank 0 alone reads what the run begins with; the sizes that follow from it are those of all. */
static void all_follow_what_rank_0_begins_with(void **state)
{
    static const char sound[] =
        "model:\n  sample_rate: 8000\n  n_fft: 256\n  win_length: 200\n  hop_length: 100\n  n_mels: 16\n"
        "  mel_fmax: 4000\n"
        "data:\n  use_phonemes: false\n  text_cleaners: basic\n  val_split: 0.2\n  batch_size: 3\n"
        "  data_gpu: cpu\n  model_gpu: cpu\n  num_workers: 1\n  mixed_precision: false\n"
        "  max_mel_frames: 100\n"
        "training:\n  text2audio_interval_steps: 0\n  listen_clips: 0\n";
    Corpus *c = *state;
    char voice[256];
    make_voice_corpus(c);
    snprintf(voice, sizeof voice, "%s/voice", c->root);
    train_to_end(c, voice, 4, 4, NULL, 0);
    file_put(path_of(c->root, "voice.yaml"), sound, strlen(sound));
    const char *const more[] = {"--init-from", voice, NULL};
    job_run(2, c, path_of(c->root, "tuned"), 5, more, NULL);
    assert_int_equal(check_folder(path_of(c->root, "tuned")), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {T(all_follow_what_rank_0_begins_with),
                                       T(test_equal),
                                       T(test_repeats),
                                       T(test_other_ranks),
                                       T(test_faults),
                                       T(test_other_settings),
                                       T(test_other_program),
                                       T(test_stop),
                                       T(test_mpirun)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
