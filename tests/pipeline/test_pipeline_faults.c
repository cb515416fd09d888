/* test_pipeline_faults.c - the pipeline when things go wrong: stopped at any moment, damaged and missing and
 * stuck files, devices that fail or have no memory; and long runs that stay as small as they began. */
#include "support/pipeline_testing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#define TWO "--data-gpu sim0 --model-gpu sim1 "

/* ---- an open that does not come back: a disk that is gone ---- */

static _Atomic int stuck_on;     /* 1: opening the clip below waits until it is 0 */
static _Atomic int stuck_inside; /* threads that wait there now */
static const char stuck_name[] = "clip31.wav";

int open(const char *path, int flags, ...)
{
    va_list a;
    va_start(a, flags);
    int mode = va_arg(a, int);
    va_end(a);
    size_t n = strlen(path), m = strlen(stuck_name);
    if (n >= m && strcmp(path + n - m, stuck_name) == 0 && atomic_load(&stuck_on)) {
        atomic_fetch_add(&stuck_inside, 1);
        while (atomic_load(&stuck_on))
            clock_sleep(1e-3);
        atomic_fetch_sub(&stuck_inside, 1);
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static void hangs(int signal)
{
    static const char text[] = "HANGS: a test of the pipeline did not come to its end\n";
    if (write(2, text, sizeof text - 1) < 0)
        _exit(99);
    _exit(98);
}

/* ---- stopped at random moments ---- */

typedef struct Stopper {
    Pipeline *pipeline;
    double after;
} Stopper;

static void *stop_later(void *arg)
{
    Stopper *s = arg;
    clock_sleep(s->after);
    pipeline_stop(s->pipeline);
    return NULL;
}

static const char *const kinds[] = {
    "--num-workers 2",
    "--num-workers 0",
    "--num-workers 8 --preprocessing-mode on_the_fly",
    "--native-loading false",
    TWO
    "--num-workers 2 --sim read_ms=1,decode_ms=2,h2d_us=500,preprocess_ms=1,peer_us=500,step_ms=1,jitter=1",
    TWO
    "--num-workers 0 --sim read_ms=2,decode_ms=1,h2d_us=500,preprocess_ms=1,peer_us=500,step_ms=1,jitter=1",
    "--data-gpu sim0 --model-gpu sim0 --sim h2d_us=200,preprocess_ms=4,step_ms=1 --prefetch-to-gpu false",
    "--data-gpu cpu --model-gpu sim0 --sim h2d_us=900,step_ms=3 --optimize-cpu-gpu-overlap false",
    "--data-gpu sim0 --model-gpu cpu --sim h2d_us=900,preprocess_ms=1",
    TWO "--native-loading false --sim read_ms=3,h2d_us=500,step_ms=1",
    TWO
    "--num-workers 4 --enable-memory-mapping false --sim read_ms=5,stall=read:3:60000", /* one minute, were it
                                                                                           not stopped */
    TWO "--num-workers 0 --sim decode_ms=2,stall=decode:3:60000",
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* From another thread, or by closing; while batches are taken, held, or nobody looks. */
static void stop_once(const char *options, Rng *rng)
{
    Run r;
    pthread_t thread;
    int how = (int)rng_below(rng, 4);
    run_open(&r, options, (RunOptions){0});
    Stopper s = {r.pipeline, rng_uniform(rng) * 0.012};
    if (how == 0) { /* closed while it runs */
        clock_sleep(s.after);
    } else if (how == 1) { /* closed with a batch in hand */
        double end = clock_now() + s.after;
        int taken = 0;
        while (!strstr(options, "60000") && (clock_now() < end || !taken) &&
               pipeline_take(r.pipeline, &r.batch, &r.err) == 0) {
            assert_int_equal(pipeline_release(r.pipeline, &r.batch, r.stream, &r.err), 0);
            taken = pipeline_take(r.pipeline, &r.batch, &r.err) == 0;
            if (taken && clock_now() < end)
                assert_int_equal(pipeline_release(r.pipeline, &r.batch, r.stream, &r.err), 0);
        }
    } else {
        assert_int_equal(pthread_create(&thread, NULL, stop_later, &s), 0);
        int rc = 0;
        while (!rc)
            rc = run_next(&r, NULL);
        assert_int_equal(rc, ERR_STOPPED);
        assert_int_equal(pipeline_take(r.pipeline, &r.batch, &r.err), ERR_STOPPED);
        pthread_join(thread, NULL);
    }
    run_close(&r);
}

static void test_stopped_at_random_moments(void **state)
{
    Rng rng;
    rng_seed(&rng, 1);
    stop_once(kinds[0], &rng); /* what the libraries open once is open */
    int threads = threads_now(), files = open_files(), runs = is_long() ? 1000 : 200;
    for (int i = 0; i < runs; i++) {
        alarm(60);
        stop_once(kinds[i % KINDS], &rng);
        if (i % 20 == 19) {
            check_threads(threads);
            assert_int_equal(open_files(), files);
        }
    }
    alarm(0);
    check_threads(threads);
    assert_int_equal(open_files(), files);
}

/* ---- files ---- */

/* Runs to the end; returns what is lost, after checking that just clip `u` is missing in every epoch and that
 * it is named. */
static void check_one_lost(const char *options, int32_t u, const char *why)
{
    Run r;
    PipelineReport p;
    char id[16];
    int seen[CLIPS] = {0}, rc;
    snprintf(id, sizeof id, "clip%02d", u);
    run_open(&r, options, (RunOptions){.epochs = 2});
    int64_t lost = 0, count = 0;
    while ((rc = run_next(&r, NULL)) == 0) {
        int64_t frames = 0;
        lost += r.batch.info.lost;
        count += r.batch.info.count;
        for (int row = 0; row < r.cfg.batch_size; row++) {
            int32_t clip = batch_ints(&r, r.batch.layout.utterance)[row];
            frames += batch_ints(&r, r.batch.layout.mel_length)[row];
            if (clip >= 0)
                seen[clip]++;
        }
        assert_int_equal(r.batch.info.real_frames, frames);
    }
    assert_int_equal(rc, ERR_STOPPED);
    for (int i = 0; i < CLIPS; i++)
        assert_int_equal(seen[i], i == u ? 0 : 2);
    pipeline_report(r.pipeline, &p);
    assert_int_equal(p.lost, 1);
    assert_int_equal(lost, 2);
    assert_int_equal(count, 2 * CLIPS);
    assert_int_equal(p.utterances, 2 * (CLIPS - 1));
    const char *line = strstr(run_log(&r), id);
    assert_non_null(line);
    assert_non_null(strstr(line, why));
    run_close(&r);
}

static const char *const loaders[] = {"--num-workers 0", "--num-workers 3", "--native-loading false",
                                      TWO "--num-workers 2"};
enum { LOADERS = sizeof loaders / sizeof *loaders };

static void check_bad_audio(const char *why)
{
    char options[300];
    for (int i = 0; i < LOADERS; i++) {
        snprintf(options, sizeof options, "--preprocessing-mode on_the_fly %s", loaders[i]);
        alarm(60);
        check_one_lost(options, 12, why);
        alarm(0);
    }
}

static void test_bad_audio_files(void **state)
{
    char path[600], away[600];
    snprintf(path, sizeof path, "%s", clip_file(12));
    snprintf(away, sizeof away, "%s.away", path);
    assert_int_equal(rename(path, away), 0);
    check_bad_audio("no file");
    assert_int_equal(mkfifo(path, 0666), 0); /* opening it would wait for ever */
    check_bad_audio("no file");
    assert_int_equal(unlink(path), 0);
    file_put(path, "this is no sound", 16);
    check_bad_audio("is skipped");
    write_clip(path, 12, 1.6); /* longer than anything that was prepared */
    check_bad_audio("has changed since it was prepared");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rename(away, path), 0);
}

/* The mel cache is cut while the pipeline reads it, through the mapping and with pread: clips behind the cut
 * are named and left out. */
static void check_cut_cache(const char *options)
{
    char path[600];
    snprintf(path, sizeof path, "%s/mel-0001.seg", corpora.cache);
    Buf whole = {0};
    Err err = {0};
    assert_int_equal(file_read(&whole, path, (size_t)1 << 30, &err), 0);
    Run r;
    int lost = 0, there = 0;
    alarm(60);
    run_open(&r, options, (RunOptions){.epochs = 3});
    assert_int_equal(run_next(&r, NULL), 0);
    assert_int_equal(truncate(path, (off_t)(whole.size / 2)), 0);
    while (run_next(&r, NULL) == 0)
        for (int row = 0; row < r.batch.info.count; row++) {
            int is_lost = batch_ints(&r, r.batch.layout.utterance)[row] < 0;
            lost += is_lost;
            there += !is_lost;
        }
    alarm(0);
    print_message("%d rows are there, %d are lost\n", there, lost);
    assert_true(lost > 20 && there > 20);
    assert_non_null(strstr(run_log(&r), "is skipped: "));
    run_close(&r);
    FILE *f = fopen(path, "wb");
    assert_int_equal(fwrite(whole.data, 1, whole.size, f), whole.size);
    fclose(f);
    buf_free(&whole);
}

static void test_cut_cache(void **state)
{
    check_cut_cache(TWO);
    check_cut_cache("--data-gpu cpu --model-gpu cpu");
    check_cut_cache(TWO "--cache-verification off");
    check_cut_cache(TWO "--no-enable-memory-mapping");
}

/* A loader that does not come back stops the run, with the name of what it reads. What it can reach is left
 * to the end of the process. */
static Run left_behind[8];
static int left_count;

static void check_stuck(const char *options, int stopped_by_user)
{
    Run *r = &left_behind[left_count++]; /* stays where its thread looks for it */
    int threads = threads_now(), rc = 0;
    alarm(60);
    atomic_store(&stuck_on, 1);
    run_open(r, options, (RunOptions){.stuck_seconds = stopped_by_user ? 100 : 0.3});
    if (stopped_by_user) { /* long before the limit: closing must not wait for the limit either */
        while (atomic_load(&stuck_inside) == 0)
            clock_sleep(1e-3);
        pipeline_stop(r->pipeline);
    }
    while (!rc)
        rc = run_next(r, NULL);
    assert_int_equal(rc, stopped_by_user ? ERR_STOPPED : ERR_WORKER);
    if (!stopped_by_user) {
        assert_non_null(strstr(r->err.msg, "clip31"));
        assert_true(r->err.hint[0]);
        assert_int_equal(pipeline_take(r->pipeline, &r->batch, &r->err), ERR_WORKER);
    }
    r->devices.model->ops->stream_close(r->stream);
    r->stream = NULL;
    assert_int_equal(pipeline_close(r->pipeline), 1); /* left behind */
    assert_true(r->devices.data->ops->kind == DEVICE_HOST ||
                r->devices.data->used == 0); /* but nothing on a GPU */
    devices_close(&r->devices);
    atomic_store(&stuck_on, 0); /* it comes back after all, and finds nothing to do */
    check_threads(threads);
    alarm(0);
}

static int unstick(void **state) /* also when the test failed: the others read the clip too */
{
    atomic_store(&stuck_on, 0);
    alarm(0);
    return 0;
}

static void test_stuck_reads(void **state)
{
    check_stuck("--preprocessing-mode on_the_fly --num-workers 2", 0);
    check_stuck("--preprocessing-mode on_the_fly --num-workers 0", 0);
    check_stuck(TWO "--preprocessing-mode on_the_fly --num-workers 1", 0);
    check_stuck(TWO "--preprocessing-mode on_the_fly --num-workers 0", 0);
    check_stuck("--preprocessing-mode on_the_fly --num-workers 2", 1);
}

/* Slow is not stuck. */
static void test_slow_reads(void **state)
{
    Run r;
    run_open(&r, "--num-workers 2 --sim read_ms=40,decode_ms=40",
             (RunOptions){.epochs = 1, .stuck_seconds = 0.02});
    int n = 0;
    while (run_next(&r, NULL) == 0)
        n++;
    assert_int_equal(n, 8);
    run_close(&r);
}

/* ---- devices ---- */

static void test_simulated_failures(void **state)
{
    static const struct {
        const char *stage, *devices;
        int loses; /* one utterance, instead of stopping */
    } cases[] = {
        {"read", "", 1},
        {"decode", TWO, 1},
        {"h2d", TWO, 0},
        {"preprocess", TWO, 0},
        {"peer", TWO, 0},
        {"h2d", "--data-gpu sim0 --model-gpu sim0 ", 0},
        {"preprocess", "--data-gpu sim0 --model-gpu sim0 ", 0},
        {"preprocess", "--data-gpu sim0 --model-gpu cpu ", 0},
        {"h2d", "--data-gpu cpu --model-gpu sim0 ", 0}, /* what goes from the host to a GPU is h2d */
        {"h2d", TWO "--native-loading false ", 0},
        {"peer", TWO "--native-loading false ", 0},
        {"preprocess", TWO "--num-workers 0 ", 0},
    };
    int threads = threads_now();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int at = 0; at < 12; at += 5) {
            Run r;
            PipelineReport p;
            char options[300], stage[64];
            int rc, n = 0;
            alarm(60);
            snprintf(options, sizeof options, "%s--sim fail=%s:%d", cases[i].devices, cases[i].stage, at);
            run_open(&r, options, (RunOptions){.epochs = 2});
            while ((rc = run_next(&r, NULL)) == 0)
                n++;
            pipeline_report(r.pipeline, &p);
            if (cases[i].loses) {
                assert_int_equal(rc, ERR_STOPPED);
                assert_int_equal(n, 16);
                assert_int_equal(p.lost, 1);
                assert_int_equal(p.utterances, 2 * CLIPS - 1); /* in the other epoch it is there */
                assert_non_null(strstr(run_log(&r), "simulated failure"));
            } else {
                if (rc != ERR_DEVICE)
                    fail_msg("error %d after %d batches: %s", rc, n, options);
                assert_true(n <= at); /* the batch that failed is never handed out as if it were one */
                snprintf(stage, sizeof stage, "stage %s at batch %d", cases[i].stage, at);
                if (!strstr(r.err.msg, stage))
                    fail_msg("'%s' does not say '%s'", r.err.msg, stage);
                if (run_next(&r, NULL) != ERR_DEVICE) /* and it stays so */
                    fail_msg("a batch after the failure (%s)", options);
            }
            run_close(&r);
            alarm(0);
        }
    check_threads(threads);
}

static void test_failed_step(void **state)
{
    alarm(60);
    Timing t = measure(TWO "--sim step_ms=1,fail=step:9", 40);
    assert_int_equal(t.rc, ERR_DEVICE);
    assert_non_null(strstr(t.err.msg, "stage step at batch 9"));
    t = measure("--data-gpu sim0 --model-gpu sim0 --sim step_ms=1,fail=step:3", 40);
    assert_int_equal(t.rc, ERR_DEVICE);
    assert_non_null(strstr(t.err.msg, "stage step at batch 3"));
    alarm(0);
}

static void test_device_out_of_memory(void **state)
{
    const char *const options[] = {
        TWO "--pad-to-fixed-length true --sim memory_gb=0.001",
        "--data-gpu cpu --model-gpu sim0 --pad-to-fixed-length true --sim memory_gb=0.001",
        "--data-gpu sim0 --model-gpu sim0 --sim memory_gb=0.001 --preprocessing-mode on_the_fly"};
    int threads = threads_now();
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        Run r;
        assert_int_equal(run_try(&r, options[i], (RunOptions){0}), ERR_DEVICE);
        assert_non_null(strstr(r.err.msg, "sim"));
        assert_non_null(strstr(r.err.msg, "memory"));
        assert_int_equal(r.devices.data->used, 0);
        assert_int_equal(r.devices.model->used, 0);
        run_close(&r);
    }
    check_threads(threads);
}

/* ---- no cache, another cache ---- */

static void test_without_a_cache(void **state)
{
    Run r;
    char options[400];
    snprintf(options, sizeof options, "--cache-dir %s/nowhere", corpora.folder.path);
    assert_int_equal(run_try(&r, options, (RunOptions){0}), ERR_MISSING);
    assert_non_null(strstr(r.err.hint, "prepare"));
    run_close(&r);
    assert_int_equal(run_try(&r, "--n-mels 21", (RunOptions){0}), ERR_MISSING); /* made with other settings */
    assert_non_null(strstr(r.err.msg, "other settings"));
    run_close(&r);
    assert_int_equal(run_try(&r, "--max-mel-frames 8", (RunOptions){0}), ERR_DATA); /* nothing is left */
    run_close(&r);
}

/* ---- long runs ---- */

static long resident_pages(void)
{
    long total = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld %ld", &total, &resident), 2);
    fclose(f);
    return resident;
}

static void stays_small(const char *options, int batches, int from)
{
    Run r;
    long first = 0;
    uint64_t data = 0, model = 0;
    run_open(&r, options, (RunOptions){0});
    for (int i = 0; i < batches; i++) {
        assert_int_equal(run_next(&r, NULL), 0);
        if (i == from) {
            first = resident_pages();
            data = r.devices.data->used;
            model = r.devices.model->used;
        }
    }
    long pages = resident_pages() - first;
    print_message("%d batches: %ld KiB more than after %d (%s)\n", batches,
                  pages * (sysconf(_SC_PAGESIZE) / 1024), from, options);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they keep what is freed */
    assert_true(pages * sysconf(_SC_PAGESIZE) < 256 << 10);
#endif
    assert_int_equal(r.devices.data->used, data);
    assert_int_equal(r.devices.model->used, model);
    run_close(&r);
}

static void test_memory_is_flat(void **state)
{
#define SLOTS "--num-workers 2 --pipeline-buffer-size 3 --prefetch-buffer-size 8 "
    int batches = is_long() ? 10000 : 2000;
    /* a simulated stream has room for 1,024 commands and touches it all once; host slots are given, because
     * stalls of loading would add some */
    stays_small(TWO SLOTS, batches, 500);
    stays_small(SLOTS, batches, 100);
    stays_small(SLOTS "--preprocessing-mode on_the_fly", batches / 4, 100);
    stays_small("--native-loading false", batches / 4, 100);
}

/* ---- a large corpus ---- */

static void test_start_on_a_large_corpus(void **state)
{
    enum { LINES = 13100 };
    char options[900], path[500];
    Err err = {0};
    snprintf(path, sizeof path, "%s/large/wavs", corpora.folder.path);
    assert_int_equal(file_make_dirs(path, &err), 0);
    snprintf(path, sizeof path, "%s/large/metadata.csv", corpora.folder.path);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < LINES; i++)
        fprintf(f, "many%05d|a b c\n", i); /* short enough for the clip */
    fclose(f);
    snprintf(path, sizeof path, "%s/large/wavs/many00000.wav", corpora.folder.path);
    write_clip(path, 1, 0.1);
    for (int i = 1; i < LINES; i++) { /* one file under many names: only the number of entries matters */
        char name[600];
        snprintf(name, sizeof name, "%s/large/wavs/many%05d.wav", corpora.folder.path, i);
        assert_int_equal(link(path, name), 0);
    }
    snprintf(options, sizeof options,
             "--data-path %s/large --cache-dir %s/large-cache --batch-size 32 --max-audio-length 20",
             corpora.folder.path, corpora.folder.path);
    Config cfg;
    Log log;
    PrepareReport report = {0};
    pipeline_config(&cfg, options);
    log_init(&log, LOG_ERROR);
    if (prepare_run(&cfg, &(PrepareOptions){.text = 1, .mel = 1}, &report, &log, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(report.accepted, LINES);
    prepare_report_free(&report);
    config_close(&cfg);
    Run r;
    double start = clock_now();
    run_open(&r, options, (RunOptions){0});
    assert_int_equal(run_next(&r, NULL), 0);
    print_message("%d utterances: %.1f ms from the start to the first batch\n", LINES,
                  1e3 * (clock_now() - start));
    assert_int_equal(r.corpus.count, LINES);
    run_close(&r);
}

int main(void)
{
    signal(SIGALRM, hangs);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start_on_a_large_corpus), /* first: preparing wants a process without threads */
        cmocka_unit_test(test_stopped_at_random_moments),
        cmocka_unit_test(test_bad_audio_files),
        cmocka_unit_test(test_cut_cache),
        cmocka_unit_test_teardown(test_stuck_reads, unstick),
        cmocka_unit_test(test_slow_reads),
        cmocka_unit_test(test_simulated_failures),
        cmocka_unit_test(test_failed_step),
        cmocka_unit_test(test_device_out_of_memory),
        cmocka_unit_test(test_without_a_cache),
        cmocka_unit_test(test_memory_is_flat),
    };
    return cmocka_run_group_tests(tests, setup_corpora, teardown_corpora);
}
