/* test_pipeline_settings.c - every setting of the pipeline: changing it changes what it names. Times are
 * those of simulated machines, in which a late thread costs nothing; where the real clock has a part in them,
 * only halves and doubles are told apart. */
#include "support/pipeline_testing.h"

#include "base/hash.h"
#include "base/thread.h"

#define TWO "--data-gpu sim0 --model-gpu sim1 "
#define ONE "--data-gpu sim0 --model-gpu sim0 "

enum { MOST = 64 };

static void test_native_loading(void **state)
{
    const char *machine = TWO "--sim h2d_us=5000,preprocess_ms=5,peer_us=5000,step_ms=20 --native-loading ";
    char options[300];
    snprintf(options, sizeof options, "%s%s", machine, "false");
    Timing off = measure(options, 20);
    snprintf(options, sizeof options, "%s%s", machine, "true");
    Timing on = measure(options, 20);
    assert_true(off.rc == 0 && on.rc == 0);
    assert_true(off.busy > 0.0199 && off.wait > 0.0149); /* everything one after the other */
    assert_true(on.wait < 0.5 * off.wait);
    assert_int_equal(off.report.workers, 0);
    assert_int_equal(off.report.slots, 1);
    Run r; /* the aliases and the other switches do not make it wait for itself */
    run_open(&r, TWO "--use-tf-native-loading false --prefetch-to-gpu false --optimize-cpu-gpu-overlap false",
             (RunOptions){.epochs = 1});
    int n = 0;
    while (run_next(&r, NULL) == 0)
        n++;
    assert_int_equal(n, 8);
    run_close(&r);
}

static int lost_with(const char *options)
{
    Run r;
    PipelineReport p;
    run_open(&r, options, (RunOptions){.epochs = 1});
    while (run_next(&r, NULL) == 0) {
    }
    pipeline_report(r.pipeline, &p);
    run_close(&r);
    return (int)p.lost;
}

static void test_preprocessing_mode(void **state)
{
    char from[600], to[600];
    snprintf(from, sizeof from, "%s", clip_file(5));
    snprintf(to, sizeof to, "%s.away", clip_file(5));
    assert_int_equal(rename(from, to), 0);
    assert_int_equal(lost_with("--preprocessing-mode precompute"), 0); /* the audio is not looked at */
    assert_int_equal(lost_with("--preprocessing-mode auto"), 0);
    assert_int_equal(lost_with("--preprocessing-mode auto --augment-speed 0.1"),
                     1); /* only samples can do that */
    assert_int_equal(lost_with("--preprocessing-mode on_the_fly"), 1);
    assert_int_equal(rename(to, from), 0);
    assert_int_equal(lost_with("--preprocessing-mode on_the_fly"), 0);
    Run r; /* and it is samples that go to the device: 256 floats a frame instead of 20 */
    PipelineReport mels, samples;
    for (int k = 0; k < 2; k++) {
        run_open(&r, k ? "--preprocessing-mode on_the_fly" : "--preprocessing-mode precompute",
                 (RunOptions){.epochs = 1});
        while (run_next(&r, NULL) == 0) {
        }
        pipeline_report(r.pipeline, k ? &samples : &mels);
        run_close(&r);
    }
    assert_true(samples.stages[STAGE_H2D].bytes > 8 * mels.stages[STAGE_H2D].bytes);
}

/* A copy of the cache in which one byte of a clip's record is another. */
static void damage(const char *name, const char *store, const char *id)
{
    char path[600];
    Folder from, to;
    Store s;
    StoreEntry e;
    Err err = {0};
    snprintf(from.path, sizeof from.path, "%.200s", corpora.cache);
    snprintf(to.path, sizeof to.path, "%.180s/%s", corpora.folder.path, name);
    assert_int_equal(file_make_dirs(to.path, &err), 0);
    folder_copy(&to, &from);
    assert_int_equal(store_open(&s, to.path, store, &err), 0);
    int64_t i = store_find(&s, id, (uint32_t)strlen(id));
    assert_true(i >= 0);
    store_entry(&s, (uint64_t)i, &e);
    char *segment = store_segment_path(to.path, store, e.segment, 0);
    snprintf(path, sizeof path, "%s", segment);
    uint64_t at = (uint64_t)(e.payload - s.segments[0].data) + e.payload_size / 3;
    uint8_t byte = s.segments[0].data[at];
    assert_int_equal(s.segment_count, 1);
    store_close(&s);
    free(segment);
    file_put_byte(path, at, byte ^ 0x11);
}

/* Batches in which clip `u` has its row, and those in which its row is empty, over the epochs. */
static int rows_of(Run *r, int32_t u)
{
    int n = 0;
    while (run_next(r, NULL) == 0)
        for (int row = 0; row < r->cfg.batch_size; row++)
            n += batch_ints(r, r->batch.layout.utterance)[row] == u;
    return n;
}

static void check_verification(const char *name, const char *store, int32_t clip)
{
    char id[16], base[400], options[500];
    Run r;
    PipelineReport p;
    snprintf(id, sizeof id, "clip%02d", clip);
    damage(name, store, id);
    snprintf(base, sizeof base, "--cache-dir %s/%s", corpora.folder.path, name);
    for (int workers = 0; workers < 3; workers++) {
        snprintf(options, sizeof options, "%s --num-workers %d --cache-verification off", base, workers);
        run_open(&r, options, (RunOptions){.epochs = 3});
        assert_int_equal(rows_of(&r, clip), 3); /* served as it is */
        pipeline_report(r.pipeline, &p);
        assert_int_equal(p.lost, 0);
        run_close(&r);

        snprintf(options, sizeof options, "%s --num-workers %d --cache-verification fast", base, workers);
        run_open(&r, options, (RunOptions){.epochs = 3});
        assert_int_equal(r.corpus.count, CLIPS);
        assert_int_equal(rows_of(&r, clip), 0); /* in no epoch */
        pipeline_report(r.pipeline, &p);
        assert_int_equal(p.lost, 1);
        assert_int_equal(p.utterances, 3 * (CLIPS - 1));
        const char *line = strstr(run_log(&r), id);
        assert_non_null(line);
        assert_non_null(strstr(line, "damaged"));
        assert_null(strstr(line + 1, id)); /* named once */
        run_close(&r);

        snprintf(options, sizeof options,
                 "%s --num-workers %d --cache-verification fast --preprocessing-mode on_the_fly", base,
                 workers);
        run_open(&r, options, (RunOptions){.epochs = 2});
        assert_int_equal(rows_of(&r, clip), 0); /* the pitch comes from the mel's record in this mode too */
        pipeline_report(r.pipeline, &p);
        assert_int_equal(p.lost, 1);
        run_close(&r);

        snprintf(options, sizeof options, "%s --num-workers %d --cache-verification full", base, workers);
        run_open(&r, options, (RunOptions){.epochs = 3});
        assert_int_equal(r.corpus.count, CLIPS - 1); /* found before the first batch */
        assert_int_equal(r.corpus.left_out, 1);
        assert_non_null(strstr(run_log(&r), id));
        assert_int_equal(rows_of(&r, clip), 0);
        pipeline_report(r.pipeline, &p);
        assert_int_equal(p.lost, 0);
        run_close(&r);
    }
}

static void test_cache_verification(void **state)
{
    check_verification("bad-mel", MEL_STORE, 23);
    check_verification("bad-text", TEXT_STORE, 42);
}

static int threads_named(const char *prefix)
{
    DIR *d = opendir("/proc/self/task");
    int n = 0;
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        char path[300], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (f) {
            n += fgets(name, sizeof name, f) && strncmp(name, prefix, strlen(prefix)) == 0;
            fclose(f);
        }
    }
    closedir(d);
    return n;
}

static void wait_for_items(Run *r, StageId stage, uint64_t items)
{
    PipelineReport p;
    double end = clock_now() + 20;
    do {
        clock_sleep(1e-3);
        pipeline_report(r->pipeline, &p);
    } while (p.stages[stage].items < items && clock_now() < end);
    clock_sleep(0.03);
    pipeline_report(r->pipeline, &p);
    assert_int_equal(p.stages[stage].items, items); /* this many, and no more */
}

static void test_num_workers(void **state)
{
    for (int workers = 0; workers <= 5; workers++) {
        Run r;
        PipelineReport p;
        char options[100];
        snprintf(options, sizeof options, "--num-workers %d", workers);
        run_open(&r, options, (RunOptions){0});
        wait_for_items(&r, STAGE_H2D, 3);
        assert_int_equal(threads_named("loader-"), workers);
        assert_int_equal(threads_named("feeder"), 1);
        pipeline_report(r.pipeline, &p);
        assert_int_equal(p.workers, workers);
        run_close(&r);
    }
    Run r;
    PipelineReport p;
    run_open(&r, "--num-workers auto", (RunOptions){0});
    pipeline_report(r.pipeline, &p);
    assert_int_equal(p.workers, thread_cores());
    run_close(&r);
}

static void test_prefetch_buffer_size(void **state)
{
    for (int slots = 2; slots <= 11; slots += 3) {
        Run r;
        char options[200];
        snprintf(options, sizeof options, "--prefetch-to-gpu false --prefetch-buffer-size %d", slots);
        run_open(&r, options, (RunOptions){0});
        wait_for_items(&r, STAGE_DECODE, (uint64_t)slots); /* nobody asks: as many as there are slots */
        assert_int_equal(run_next(&r, NULL), 0);
        wait_for_items(&r, STAGE_DECODE, (uint64_t)slots + 1);
        run_close(&r);
    }
    for (int size = 1; size <= 60; size++) {
        Run r;
        PipelineReport p;
        char options[200];
        int want = 64 / size < 8 ? 64 / size : 8;
        snprintf(options, sizeof options, "--prefetch-buffer-size auto --num-workers 0 --batch-size %d",
                 size);
        run_open(&r, options, (RunOptions){0});
        pipeline_report(r.pipeline, &p);
        assert_int_equal(p.slots, want > 2 ? want : 2);
        run_close(&r);
    }
}

/* A disk that stalls for longer than a few slots last, and is fast enough on the average. */
#define STALLS "--sim read_ms=1,stall=read:20:140 --num-workers 2 --batch-size 16 "

/* A consumer that takes its time, until there are this many slots or that is hopeless. Returns the number of
 * batches; *h gets the hashes of the first. */
static int train_until(Run *r, int slots, Hash128 h[MOST], PipelineReport *p)
{
    int n = 0;
    do {
        Hash128 one;
        assert_int_equal(run_next(r, &one), 0);
        if (n < MOST)
            h[n] = one;
        n++;
        clock_sleep(0.01);
        pipeline_report(r->pipeline, p);
    } while (n < 300 && p->slots < slots);
    return n < MOST ? n : MOST;
}

static void test_slots_grow(void **state)
{
    const char *const devices[] = {TWO, "--data-gpu cpu --model-gpu sim0 "};
    Hash128 want[MOST], got[MOST];
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        Run r;
        PipelineReport p, before;
        char options[300];
        snprintf(options, sizeof options, "%s" STALLS "--prefetch-buffer-size auto", devices[i]);
        run_open(&r, options, (RunOptions){.epochs = 100});
        pipeline_report(r.pipeline, &before);
        assert_int_equal(before.slots, 4);
        assert_int_equal(before.slots_at_start, 4);
        assert_int_equal(before.slots_added_at, 0);
        int n = train_until(&r, 8, got, &p);
        assert_true(p.slots >= 8 && p.slots <= p.most_slots);
        assert_int_equal(p.slots_at_start, 4);
        assert_true(p.slots_added_at > 0);
        assert_true(p.pinned_bytes > before.pinned_bytes);
        run_close(&r);
        snprintf(options, sizeof options, "%s" STALLS "--prefetch-buffer-size 4", devices[i]);
        run_open(&r, options, (RunOptions){.epochs = 100});
        for (int k = 0; k < n; k++)
            assert_int_equal(run_next(&r, &want[k]), 0);
        pipeline_report(r.pipeline, &p);
        assert_int_equal(p.slots, 4); /* a number is what was asked for */
        assert_int_equal(p.most_slots, 4);
        run_close(&r);
        check_hashes(got, n, want, n, "slots that are added");
    }
}

static void test_pipeline_buffer_size(void **state)
{
    const char *steady = TWO "--sim h2d_us=2000,preprocess_ms=2,peer_us=2000,step_ms=8";
    /* A stall that buffers hide, and a stage that is too slow, which they do not make faster. */
    const char *jittery = TWO "--sim h2d_us=500,preprocess_ms=1,peer_us=500,step_ms=5,stall=preprocess:10:30";
    const char *slow = TWO "--sim h2d_us=500,preprocess_ms=1,peer_us=15000,step_ms=5";
    char options[400];
    int at[] = {3, 4, 6};
    for (int i = 0; i < 3; i++) {
        snprintf(options, sizeof options, "%s --pipeline-buffer-size %d", jittery, at[i]);
        Timing t = measure(options, 150);
        assert_int_equal(t.rc, 0);
        assert_int_equal(t.report.buffers_at_start, 3);
        assert_int_equal(t.report.buffers, at[i]); /* up to what it allows */
    }
    snprintf(options, sizeof options, "%s --pipeline-buffer-size 1000 --data-gpu-memory 2",
             jittery); /* and under the cap */
    Timing t = measure(options, 120);
    assert_int_equal(t.rc, 0);
    print_message("%d buffers with %.2f of 2 MB\n", t.report.buffers,
                  (double)t.report.data_bytes / (1 << 20));
    assert_true(t.report.data_bytes <= 2 << 20);
    assert_true(t.report.buffers > 3 && t.report.buffers < 60);
    assert_true(t.report.data_bytes + t.report.data_bytes / (uint64_t)t.report.buffers > 2 << 20 ||
                t.report.buffers > 5);
    snprintf(options, sizeof options, "%s --pipeline-buffer-size 8", steady);
    t = measure(options, 40);
    if (t.wait == 0 && t.period < 0.0085) /* a machine that kept pace has no reason to grow */
        assert_true(t.report.buffers <= 4);
    snprintf(options, sizeof options, "%s --pipeline-buffer-size 16", slow);
    t = measure(options, 160);
    assert_int_equal(t.rc, 0);
    print_message("%d buffers where the copy is too slow\n", t.report.buffers);
    assert_int_equal(t.report.buffers, 3);
}

static void test_prefetch_to_gpu(void **state)
{
    for (int workers = 0; workers < 3; workers += 2) {
        Run r;
        char options[200];
        snprintf(options, sizeof options, ONE "--prefetch-to-gpu true --num-workers %d", workers);
        run_open(&r, options, (RunOptions){0});
        wait_for_items(&r, STAGE_H2D, 3); /* every buffer, though nobody asked */
        run_close(&r);
        snprintf(options, sizeof options, ONE "--prefetch-to-gpu false --num-workers %d", workers);
        run_open(&r, options, (RunOptions){0});
        wait_for_items(&r, STAGE_H2D, 0);
        for (uint64_t i = 1; i < 6; i++) {
            assert_int_equal(run_next(&r, NULL), 0);
            wait_for_items(&r, STAGE_H2D, i);
        }
        run_close(&r);
    }
}

/* The host of the consumer runs ahead of its device; the copy still waits until the device needs it. */
static void test_prefetch_to_gpu_saves_time(void **state)
{
    Timing off = measure(TWO "--sim h2d_us=6000,preprocess_ms=6,step_ms=14 --prefetch-to-gpu false", 20);
    Timing on = measure(TWO "--sim h2d_us=6000,preprocess_ms=6,step_ms=14 --prefetch-to-gpu true", 20);
    print_message("waits %.1f ms without, %.1f ms with prefetch_to_gpu\n", 1e3 * off.wait, 1e3 * on.wait);
    assert_true(off.rc == 0 && on.rc == 0);
    assert_true(off.wait > 0.0119); /* copy and preprocessing, every time */
    assert_true(on.wait < 0.006);
}

static void test_enhanced_gpu_prefetch(void **state)
{
    Timing off = measure(ONE "--sim h2d_us=10000,preprocess_ms=10 --enhanced-gpu-prefetch false", 20);
    Timing on = measure(ONE "--sim h2d_us=10000,preprocess_ms=10 --enhanced-gpu-prefetch true", 20);
    assert_true(off.rc == 0 && on.rc == 0);
    assert_true(off.period > 0.0199); /* copy, then preprocess */
    assert_true(on.period < 0.016);   /* the copy of the next batch meanwhile */
}

static void test_optimize_cpu_gpu_overlap(void **state)
{
    Timing off =
        measure(TWO "--sim h2d_us=6000,preprocess_ms=6,step_ms=14 --optimize-cpu-gpu-overlap false", 20);
    Timing on =
        measure(TWO "--sim h2d_us=6000,preprocess_ms=6,step_ms=14 --optimize-cpu-gpu-overlap true", 20);
    assert_true(off.rc == 0 && on.rc == 0);
    assert_true(off.wait > 0.0119); /* begun only when the step before is over */
    assert_true(on.wait < 0.006);
}

/* The function tables of the devices with one function more closely watched. */
static DeviceOps spied_ops;
static int pinned_calls;
static int (*true_pinned_alloc)(Device *d, void **p, size_t bytes, Err *err);

static int count_pinned(Device *d, void **p, size_t bytes, Err *err)
{
    pinned_calls++;
    return true_pinned_alloc(d, p, bytes, err);
}

static void spy_on_pinning(Device *data, Device *model)
{
    spied_ops = *data->ops;
    true_pinned_alloc = spied_ops.pinned_alloc;
    spied_ops.pinned_alloc = count_pinned;
    data->ops = &spied_ops;
}

static int pin_once(Device *d, void **p, size_t bytes, Err *err)
{
    if (pinned_calls++ == 0)
        return true_pinned_alloc(d, p, bytes, err);
    return err_set(err, ERR_NOMEM, "no page-locked host memory");
}

static void spy_without_memory(Device *data, Device *model)
{
    spy_on_pinning(data, model);
    spied_ops.pinned_alloc = pin_once;
}

/* Who takes no time always waits: that asks for nothing. */
static void test_slots_without_step(void **state)
{
    Run r;
    PipelineReport p;
    run_open(&r, TWO STALLS "--prefetch-buffer-size auto", (RunOptions){.no_step = 1});
    pipeline_report(r.pipeline, &p);
    assert_int_equal(p.slots, 4);
    assert_int_equal(p.most_slots, 4);
    run_close(&r);
}

/* No memory for more: training continues with what there is, and that is said once. */
static void test_slots_without_memory(void **state)
{
    Run r;
    PipelineReport p;
    pinned_calls = 0;
    run_open(&r, ONE STALLS "--prefetch-buffer-size auto --pin-memory true",
             (RunOptions){.spy = spy_without_memory});
    Hash128 unused[MOST];
    pipeline_report(r.pipeline, &p);
    for (int i = 0; i < 300 && p.most_slots > 4; i++)
        train_until(&r, 0, unused, &p); /* one batch */
    for (int i = 0; i < 30; i++)
        train_until(&r, 0, unused, &p);
    assert_int_equal(pinned_calls, 2);
    assert_int_equal(p.slots, 4);
    assert_int_equal(p.most_slots, 4);
    const char *line = strstr(run_log(&r), "stays at 4 host slots: no page-locked host memory");
    assert_non_null(line);
    assert_null(strstr(line + 1, "stays at"));
    run_close(&r);
}

static void test_pin_memory(void **state)
{
    for (int pin = 0; pin < 2; pin++) {
        Run r;
        PipelineReport p;
        pinned_calls = 0;
        run_open(&r, pin ? ONE "--pin-memory true" : ONE "--pin-memory false",
                 (RunOptions){.epochs = 1, .spy = spy_on_pinning});
        assert_int_equal(run_next(&r, NULL), 0);
        pipeline_report(r.pipeline, &p);
        assert_int_equal(pinned_calls, pin); /* all slots in one piece */
        assert_int_equal(p.pinned_bytes > 0, pin);
        run_close(&r);
    }
}

static int segments_open(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        char path[300], target[1024] = "";
        snprintf(path, sizeof path, "/proc/self/fd/%s", e->d_name);
        ssize_t size = readlink(path, target, sizeof target - 1);
        target[size > 0 ? size : 0] = 0;
        n += strncmp(target, corpora.cache, strlen(corpora.cache)) == 0 && strstr(target, "/mel") != NULL;
    }
    closedir(d);
    return n;
}

static void test_enable_memory_mapping(void **state)
{
    Run r;
    run_open(&r, "--enable-memory-mapping true", (RunOptions){.epochs = 1});
    assert_int_equal(run_next(&r, NULL), 0);
    assert_int_equal(segments_open(), 0);
    run_close(&r);
    run_open(&r, "--enable-memory-mapping false", (RunOptions){.epochs = 1});
    assert_int_equal(segments_open(), 1); /* read from there */
    assert_int_equal(run_next(&r, NULL), 0);
    run_close(&r);
    assert_int_equal(segments_open(), 0);
}

/* Shapes of an epoch's batches: how many there are; the largest of each side. */
static int shapes_of(const char *options, int *text, int *frames, uint32_t *count, double *padding)
{
    Run r;
    int seen[MOST][2], n = 0;
    *text = *frames = 0;
    run_open(&r, options, (RunOptions){.epochs = 1});
    while (run_next(&r, NULL) == 0) {
        int t = r.batch.info.text, f = r.batch.info.frames, i = 0;
        *text = t > *text ? t : *text;
        *frames = f > *frames ? f : *frames;
        while (i < n && (seen[i][0] != t || seen[i][1] != f))
            i++;
        if (i == n) {
            seen[n][0] = t;
            seen[n++][1] = f;
        }
    }
    *count = r.corpus.count;
    *padding = sampler_padding(pipeline_sampler(r.pipeline));
    run_close(&r);
    return n;
}

static void test_static_shapes(void **state)
{
    int text, frames;
    uint32_t count;
    double padding;
    assert_int_equal(shapes_of("--pad-to-fixed-length true --max-text-length 333 --max-mel-frames 222", &text,
                               &frames, &count, &padding),
                     1);
    /* Text: as the longest needs; frames: the limit; both a multiple of what the sampler pads to. */
    int longest = text;
    assert_true(text % SAMPLER_TEXT_MULTIPLE == 0 && text > 0 && frames == 224 && count == CLIPS);
    assert_int_equal(shapes_of("--enable-static-shapes true --max-text-length 300 --max-mel-frames 200",
                               &text, &frames, &count, &padding),
                     1);
    assert_true(text == longest && frames == 200);
    assert_true(shapes_of("--pad-to-fixed-length false --max-text-length 333 --max-mel-frames 222", &text,
                          &frames, &count, &padding) > 1);
    assert_true(text == longest && frames < 222 && count == CLIPS);
    /* what is over a limit is left out, not cut */
    shapes_of("--max-mel-frames 60", &text, &frames, &count, &padding);
    assert_true(frames <= 64 && count > 0 && count < CLIPS);
    shapes_of("--max-text-length 50", &text, &frames, &count, &padding);
    assert_true(text <= 56 && count > 0 && count < CLIPS);
}

static void test_length_buckets(void **state)
{
    int text, frames;
    uint32_t count;
    double one, three, eight;
    assert_int_equal(shapes_of("--batch-size 4 --length-buckets 1", &text, &frames, &count, &one), 1);
    assert_int_equal(shapes_of("--batch-size 4 --length-buckets 3", &text, &frames, &count, &three), 3);
    assert_int_equal(shapes_of("--batch-size 4 --length-buckets 8", &text, &frames, &count, &eight), 8);
    assert_true(one > three && three > eight);
}

static void test_devices(void **state)
{
    Run r;
    run_open(&r, TWO, (RunOptions){.epochs = 1});
    assert_string_equal(r.devices.data->name, "sim0");
    assert_string_equal(r.devices.model->name, "sim1");
    assert_int_equal(run_next(&r, NULL), 0);
    uint64_t data = r.devices.data->used, model = r.devices.model->used;
    assert_true(data > model && model > 0); /* samples or stored mels and batches there, batches here */
    run_close(&r);
    run_open(&r, ONE, (RunOptions){.epochs = 1});
    assert_ptr_equal(r.devices.data, r.devices.model);
    assert_int_equal(r.devices.data->used, data); /* one copy is enough */
    run_close(&r);
    run_open(&r, "--data-gpu cpu --model-gpu sim1", (RunOptions){.epochs = 1});
    assert_int_equal(r.devices.data->ops->kind, DEVICE_HOST);
    assert_int_equal(r.devices.model->used, model);
    run_close(&r);
}

/* Too small is refused before anything runs, with a size that then does. */
static void check_cap(const char *devices, const char *key, const char *option)
{
    char options[400];
    Run r;
    const char *big = "--batch-size 30 --n-mels 20 --pad-to-fixed-length true --max-mel-frames 1500";
    snprintf(options, sizeof options, "%s %s %s 2", devices, big, option);
    int threads = threads_now();
    assert_int_equal(run_try(&r, options, (RunOptions){.epochs = 1}), ERR_CONFIG);
    assert_non_null(strstr(r.err.msg, key));
    const char *at = strstr(r.err.hint, "at least ");
    assert_non_null(at);
    int enough = atoi(at + strlen("at least "));
    assert_true(enough > 2);
    assert_int_equal(r.devices.data->used, 0);
    assert_int_equal(r.devices.model->used, 0);
    assert_int_equal(threads_named("loader-"), 0);
    run_close(&r);
    check_threads(threads);
    snprintf(options, sizeof options, "%s %s %s %d", devices, big, option, enough - 1);
    assert_int_equal(run_try(&r, options, (RunOptions){.epochs = 1}), ERR_CONFIG);
    run_close(&r);
    snprintf(options, sizeof options, "%s %s %s %d", devices, big, option, enough);
    run_open(&r, options, (RunOptions){.epochs = 2});
    int n = 0;
    while (run_next(&r, NULL) == 0)
        n++;
    assert_int_equal(n, 4);
    assert_true(r.devices.data->used <= (uint64_t)enough << 20 || strcmp(key, "data_gpu_memory"));
    assert_true(r.devices.model->used <= (uint64_t)enough << 20 || strcmp(key, "model_gpu_memory"));
    run_close(&r);
    snprintf(options, sizeof options, "%s %s %s 2 --enable-memory-isolation false", devices, big, option);
    run_open(&r, options, (RunOptions){.epochs = 1}); /* no isolation, no cap */
    assert_int_equal(run_next(&r, NULL), 0);
    run_close(&r);
}

static void test_memory_caps(void **state)
{
    check_cap(TWO, "data_gpu_memory", "--data-gpu-memory");
    check_cap(TWO, "model_gpu_memory", "--model-gpu-memory");
    check_cap(ONE, "model_gpu_memory", "--model-gpu-memory");
    check_cap(TWO "--preprocessing-mode on_the_fly", "data_gpu_memory", "--data-gpu-memory");
}

static void test_augmentation(void **state)
{
    const char *const fly[] = {"--preprocessing-mode on_the_fly",
                               "--preprocessing-mode on_the_fly --augment-gain-db 6",
                               "--preprocessing-mode on_the_fly --augment-gain-db 12",
                               "--preprocessing-mode on_the_fly --augment-noise-db 30",
                               "--preprocessing-mode on_the_fly --augment-noise-db 50",
                               "--preprocessing-mode on_the_fly --augment-speed 0.1",
                               "--preprocessing-mode on_the_fly --augment-speed 0.3",
                               "--preprocessing-mode precompute",
                               "--preprocessing-mode precompute --augment-gain-db 6",
                               "--preprocessing-mode precompute --augment-noise-db 30"};
    enum { N = sizeof fly / sizeof *fly };
    Hash128 first[N][MOST], again[MOST];
    for (int i = 0; i < N; i++) {
        int n = run_all(fly[i], (RunOptions){.epochs = 2}, first[i], MOST);
        check_hashes(first[i], n, again, run_all(fly[i], (RunOptions){.epochs = 2}, again, MOST), fly[i]);
        for (int k = 0; k < i; k++) /* mels from samples may well be those of the cache */
            assert_true(!hash_equal(first[i][0], first[k][0]) || strncmp(fly[i], fly[k], 25) != 0);
    }
    Run r; /* speed changes lengths, for better and for worse, and they fit */
    int longer = 0, shorter = 0;
    run_open(&r, "--preprocessing-mode on_the_fly --augment-speed 0.3", (RunOptions){.epochs = 1});
    while (run_next(&r, NULL) == 0)
        for (int row = 0; row < r.batch.info.count; row++) {
            int32_t u = batch_ints(&r, r.batch.layout.utterance)[row],
                    m = batch_ints(&r, r.batch.layout.mel_length)[row];
            longer += m > (int32_t)r.corpus.lengths[u].frames;
            shorter += m < (int32_t)r.corpus.lengths[u].frames;
            assert_true(m <= r.batch.info.frames);
        }
    assert_true(longer > 10 && shorter > 10);
    run_close(&r);
    run_open(&r, "--preprocessing-mode precompute --augment-speed 0.3", (RunOptions){.epochs = 1});
    assert_non_null(strstr(run_log(&r), "augment_speed")); /* has no effect there, and it says so */
    run_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_native_loading),
        cmocka_unit_test(test_preprocessing_mode),
        cmocka_unit_test(test_cache_verification),
        cmocka_unit_test(test_num_workers),
        cmocka_unit_test(test_prefetch_buffer_size),
        cmocka_unit_test(test_slots_grow),
        cmocka_unit_test(test_slots_without_memory),
        cmocka_unit_test(test_slots_without_step),
        cmocka_unit_test(test_pipeline_buffer_size),
        cmocka_unit_test(test_prefetch_to_gpu),
        cmocka_unit_test(test_prefetch_to_gpu_saves_time),
        cmocka_unit_test(test_enhanced_gpu_prefetch),
        cmocka_unit_test(test_optimize_cpu_gpu_overlap),
        cmocka_unit_test(test_pin_memory),
        cmocka_unit_test(test_enable_memory_mapping),
        cmocka_unit_test(test_static_shapes),
        cmocka_unit_test(test_length_buckets),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_memory_caps),
        cmocka_unit_test(test_augmentation),
    };
    return cmocka_run_group_tests(tests, setup_corpora, teardown_corpora);
}
