/* test_pipeline_segments.c - batches for a vocoder: segments of clips, with their samples and their mels. */
#include "support/pipeline_testing.h"

#include <sys/stat.h>

#include "audio/mel.h"
#include "audio/speed.h"
#include "pipeline/policy.h"

#define SEGMENTS "--network vocoder --vocoder-segment-frames 21 "
#define VOCODER SEGMENTS "--augment-speed 0 "
#define AUGMENTED SEGMENTS "--augment-speed 0.3 --augment-gain-db 3 "
#define SEGMENT (20 * 256)
#define MOST_BATCHES 1024

static int setup(void **state)
{
    setup_corpora(state);
    prepare_samples(VOCODER);
    return 0;
}

static const float *row_samples(const Run *r, int row)
{
    return (const float *)(const void *)(r->host + r->batch.layout.samples) + (size_t)row * SEGMENT;
}

static AudioView audio_of(const Run *r, int32_t utterance)
{
    const Utterance *u = &r->corpus.dataset.utterances[utterance];
    int64_t at = store_find(&r->corpus.audio, u->id.p, u->id.n);
    StoreEntry e;
    AudioView v;
    assert_true(at >= 0);
    store_entry(&r->corpus.audio, (uint64_t)at, &e);
    assert_int_equal(audio_view(&v, &e), 0);
    return v;
}

/* Where the segment with these samples may begin, as the seed says: at one of the clip's parts. */
static int64_t start_of(const Run *r, int32_t utterance, const AudioView *v, const float *x)
{
    SegmentDraw d = {(uint64_t)r->cfg.seed, r->batch.info.epoch, (uint32_t)utterance, 0,
                     policy_segments(v->count, SEGMENT)};
    for (; d.part < d.parts; d.part++) {
        int64_t start = policy_segment_start(&d, v->count, SEGMENT), i = 0;
        while (i < SEGMENT && start + i < v->count && x[i] == v->scale * (float)v->data[start + i])
            i++;
        if (i == SEGMENT || start + i == v->count)
            return start;
    }
    fail_msg("clip %d: no part begins with these samples", (int)utterance);
    return -1;
}

typedef struct Mel {
    MelPlan *plan;
    MelScratch *scratch;
} Mel;

static Mel mel_open(const Config *cfg)
{
    Mel m;
    assert_int_equal(mel_plan_open(&m.plan, cfg, NULL), 0);
    assert_int_equal(mel_scratch_open(&m.scratch, m.plan, NULL), 0);
    return m;
}

static void mel_close(Mel *m)
{
    mel_scratch_close(m->scratch);
    mel_plan_close(m->plan);
}

/* The samples of every row are those of the store at the place that the seed says, with silence behind the
 * end; its mel is that of the samples, as it is. Returns the rows. */
static int check_rows(const Run *r, const Run *store, const Mel *m, int *padded)
{
    const BatchLayout *l = &r->batch.layout;
    const int bands = r->cfg.n_mels, frames = r->batch.info.frames;
    static float mel[21 * 512];
    int rows = 0;
    assert_int_equal(frames, 21);
    assert_int_equal(r->batch.info.text, 0);
    assert_int_equal(r->batch.info.samples, SEGMENT);
    for (int row = 0; row < r->cfg.batch_size; row++) {
        int32_t utterance = batch_ints(r, l->utterance)[row];
        const float *x = row_samples(r, row);
        int there = utterance >= 0;
        assert_int_equal(batch_ints(r, l->mel_length)[row], there ? frames : 0);
        assert_int_equal(batch_ints(r, l->sample_length)[row], there ? SEGMENT : 0);
        assert_int_equal(batch_ints(r, l->text_length)[row], 0);
        for (int i = 0; i < frames; i++)
            assert_int_equal(batch_ints(r, l->pitch)[row * frames + i], 0);
        if (!there) {
            for (int i = 0; i < SEGMENT; i++)
                assert_true(x[i] == 0);
            for (int i = 0; i < frames * bands; i++)
                assert_true(batch_mel(r, row)[i] == 0);
            continue;
        }
        rows++;
        AudioView v = audio_of(store, utterance);
        int64_t start = start_of(r, utterance, &v, x);
        assert_true(start >= 0 && (start == 0 || start + SEGMENT <= v.count));
        *padded += v.count < SEGMENT;
        for (int64_t i = 0; i < SEGMENT; i++) {
            float want = start + i < v.count ? v.scale * (float)v.data[start + i] : 0;
            if (x[i] != want)
                fail_msg("row %d, sample %d of clip %d from %d: %g, not %g", row, (int)i, (int)utterance,
                         (int)start, (double)x[i], (double)want);
        }
        mel_compute(m->plan, m->scratch, mel, x, SEGMENT);
        assert_memory_equal(mel, batch_mel(r, row), (size_t)(frames * bands) * sizeof *mel);
    }
    return rows;
}

static void rows_are_segments_of_the_store(void **state)
{
    Run r;
    int rows = 0, padded = 0, seen[CLIPS] = {0};
    run_open(&r, VOCODER, (RunOptions){.epochs = 2});
    Mel m = mel_open(&r.cfg);
    Hash128 hash;
    while (run_next(&r, &hash) == 0) {
        rows += check_rows(&r, &r, &m, &padded);
        BatchShape shape = {.rows = r.cfg.batch_size, .bands = r.cfg.n_mels, .hop = batch_hop(&r.cfg)};
        uint8_t *last = r.host + r.batch.layout.samples + (size_t)r.cfg.batch_size * SEGMENT * 4 - 1;
        *last ^= 1; /* the hash covers every sample */
        assert_false(hash_equal(hash, batch_hash(r.host, &r.batch.layout, &r.batch.info, &shape)));
        *last ^= 1;
        assert_true(hash_equal(hash, batch_hash(r.host, &r.batch.layout, &r.batch.info, &shape)));
        for (int row = 0; row < r.cfg.batch_size; row++)
            if (batch_ints(&r, r.batch.layout.utterance)[row] >= 0)
                seen[batch_ints(&r, r.batch.layout.utterance)[row]]++;
    }
    /* Every clip gives as many segments an epoch as it is long. */
    assert_int_equal(rows, 2 * (int)r.corpus.count);
    assert_true(r.corpus.count > CLIPS);
    for (int i = 0; i < CLIPS; i++)
        assert_int_equal(seen[i], 2 * policy_segments(audio_of(&r, i).count, SEGMENT));
    assert_true(padded > 0);
    assert_non_null(strstr(run_log(&r), "are shorter than a segment of 21 frames (0.23 s)"));
    mel_close(&m);
    run_close(&r);
}

/* One gain for what the mel says and for the samples. */
static void gain_is_in_the_samples(void **state)
{
    Run r, plain;
    run_open(&r, VOCODER "--augment-gain-db 6 --augment-noise-db 20", (RunOptions){.epochs = 1});
    run_open(&plain, VOCODER, (RunOptions){.epochs = 1});
    Mel m = mel_open(&r.cfg);
    static float mel[21 * 512];
    int louder = 0, softer = 0;
    while (run_next(&r, NULL) == 0) {
        assert_int_equal(run_next(&plain, NULL), 0);
        for (int row = 0; row < r.batch.info.count; row++) {
            const float *x = row_samples(&r, row), *y = row_samples(&plain, row);
            int peak = 0;
            for (int i = 0; i < SEGMENT; i++)
                peak = fabsf(y[i]) > fabsf(y[peak]) ? i : peak;
            float gain = x[peak] / y[peak];
            assert_true(gain > 0.5f && gain < 2.0f);
            louder += gain > 1.05f;
            softer += gain < 0.95f;
            for (int i = 0; i < SEGMENT; i++)
                assert_float_equal(x[i], gain * y[i], 1e-6);
            mel_compute(m.plan, m.scratch, mel, x, SEGMENT);
            assert_memory_equal(mel, batch_mel(&r, row), (size_t)(21 * r.cfg.n_mels) * sizeof *mel);
        }
    }
    assert_true(louder > 5 && softer > 5);
    assert_non_null(strstr(run_log(&r), "augment_noise_db has no effect"));
    mel_close(&m);
    run_close(&r);
    run_close(&plain);
}

/* The segment of a clip at this step, as the seed says. */
static void changed(float *out, const Run *r, const SpeedFilters *f, SegmentDraw d, const AudioView *v,
                    int step)
{
    static float in[2 * SEGMENT];
    const int64_t span = speed_span(SEGMENT, step), start = policy_segment_start(&d, v->count, span);
    for (int64_t i = -SPEED_REACH; i < span + SPEED_REACH; i++) {
        const int64_t at = start + i;
        in[i + SPEED_REACH] = at >= 0 && at < (int64_t)v->count ? v->scale * (float)v->data[at] : 0;
    }
    speed_change(f, out, SEGMENT, in + SPEED_REACH, step);
}

/* The step at which a row is a segment of its clip, or -1. */
static int step_of(const Run *r, const SpeedFilters *f, int32_t utterance, const float *x)
{
    static float want[SEGMENT];
    AudioView v = audio_of(r, utterance);
    SegmentDraw d = {(uint64_t)r->cfg.seed, r->batch.info.epoch, (uint32_t)utterance, 0,
                     policy_segments(v.count, SEGMENT)};
    for (; d.part < d.parts; d.part++)
        for (int step = speed_step(f, 0); step <= speed_step(f, 2); step++) {
            changed(want, r, f, d, &v, step);
            int i = 0;
            while (i < SEGMENT && fabsf(x[i] - want[i]) < (step == SPEED_UNIT ? 1e-2f : 1e-6f))
                i++;
            if (i == SEGMENT)
                return step;
        }
    return -1;
}

/* Every part of a clip has a speed of its own, and the mel is that of what is heard. */
static void speed_is_in_the_samples(void **state)
{
    Run r;
    SpeedFilters *f;
    int seen[2 * SPEED_UNIT] = {0}, different = 0;
    static float mel[21 * 512];
    run_open(&r, SEGMENTS "--augment-speed 0.25", (RunOptions){.epochs = 1});
    Mel m = mel_open(&r.cfg);
    assert_int_equal(speed_open(&f, 0.25, NULL), 0);
    assert_int_equal(speed_step(f, 0), 24);
    assert_int_equal(speed_step(f, 2), 40);
    while (run_next(&r, NULL) == 0)
        for (int row = 0; row < r.batch.info.count; row++) {
            const float *x = row_samples(&r, row);
            int step = step_of(&r, f, batch_ints(&r, r.batch.layout.utterance)[row], x);
            assert_true(step > 0);
            different += !seen[step]++;
            mel_compute(m.plan, m.scratch, mel, x, SEGMENT);
            assert_memory_equal(mel, batch_mel(&r, row), (size_t)(21 * r.cfg.n_mels) * sizeof *mel);
        }
    assert_true(different > 10);
    speed_close(f);
    mel_close(&m);
    run_close(&r);
}

/* Workers, devices and the way of reading change neither the order nor a bit. */
static void nothing_else_changes_a_bit(void **state)
{
    static const char *const others[] = {"--num-workers 0",
                                         "--num-workers 1",
                                         "--num-workers 5",
                                         "--native-loading false",
                                         "--enable-memory-mapping false",
                                         "--data-gpu sim0 --model-gpu sim0 --sim step_ms=0",
                                         "--data-gpu sim0 --model-gpu sim1 --sim step_ms=0",
                                         "--data-gpu cpu --model-gpu sim0 --sim step_ms=0",
                                         "--prefetch-buffer-size 7 --pin-memory false",
                                         "--pad-to-fixed-length true --length-buckets 7",
                                         "--cache-verification full"};
    static Hash128 want[MOST_BATCHES], got[MOST_BATCHES];
    int n = run_all(AUGMENTED, (RunOptions){.epochs = 3}, want, MOST_BATCHES);
    assert_true(n > 3 * 8 && n % 3 == 0);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char more[300];
        snprintf(more, sizeof more, AUGMENTED "%s", others[i]);
        check_hashes(want, n, got, run_all(more, (RunOptions){.epochs = 3}, got, MOST_BATCHES), others[i]);
    }
    /* Other segments in every epoch, and with another seed. */
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            assert_false(hash_equal(want[i], want[k]));
    int m = run_all(VOCODER "--seed 8", (RunOptions){.epochs = 3}, got, MOST_BATCHES);
    assert_int_equal(m, n);
    for (int i = 0; i < n; i++)
        assert_false(hash_equal(want[i], got[i]));
}

static void a_resumed_epoch_is_the_same(void **state)
{
    static Hash128 all[MOST_BATCHES], rest[MOST_BATCHES];
    int n = run_all(VOCODER, (RunOptions){.epochs = 3}, all, MOST_BATCHES);
    static const PipelineState starts[] = {{0, 3, 0}, {1, 0, 0}, {1, 7, 0}, {2, 5, 0}};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        int from = (int)(starts[i].epoch * n / 3 + starts[i].index);
        int m = run_all(VOCODER, (RunOptions){.epochs = 3, .start = starts[i]}, rest, MOST_BATCHES);
        check_hashes(all + from, n - from, rest, m, "a run that was resumed");
    }
}

/* The plan counts the samples that a batch keeps. */
static void the_plan_is_what_is_taken(void **state)
{
    Run r;
    run_open(&r, VOCODER "--prefetch-buffer-size 3", (RunOptions){.epochs = 1});
    PipelineReport report = check_plan(&r);
    assert_true(report.data_bytes > (uint64_t)8 * SEGMENT * 4 * 3);
    assert_int_equal(report.on_the_fly, 0);
    run_close(&r);
    assert_int_equal(run_try(&r,
                             VOCODER "--data-gpu sim0 --model-gpu sim0 --model-gpu-memory 1 --batch-size 60 "
                                     "--sim step_ms=0",
                             (RunOptions){.epochs = 1}),
                     ERR_CONFIG);
    assert_non_null(strstr(r.err.hint, "vocoder_segment_frames"));
    run_close(&r);
}

/* Refused, with a length that would do. */
static void clips_that_are_mostly_too_short(void **state)
{
    Run r;
    assert_int_equal(run_try(&r, "--network vocoder --vocoder-segment-frames 100", (RunOptions){.epochs = 1}),
                     ERR_DATA);
    assert_non_null(strstr(r.err.msg, "shorter than a segment of vocoder_segment_frames 100 (1.15 s)"));
    int fits = 0;
    assert_int_equal(sscanf(r.err.hint, "with %d frames or less, nine of ten clips", &fits), 1);
    run_close(&r);
    char more[100];
    snprintf(more, sizeof more, "--network vocoder --vocoder-segment-frames %d", fits);
    run_open(&r, more, (RunOptions){.epochs = 1});
    assert_int_equal(run_next(&r, NULL), 0);
    assert_int_equal(r.batch.info.frames, fits); /* as it was said, not a multiple of eight */
    run_close(&r);
}

/* Without an audio cache the hint says how to get one. */
static void without_samples(void **state)
{
    Run r;
    assert_int_equal(run_try(&r, VOCODER "--trim-top-db 31", (RunOptions){.epochs = 1}), ERR_MISSING);
    assert_non_null(strstr(r.err.hint, "--stages audio"));
    run_close(&r);
}

/* The caches once more, in a folder of their own. */
static const char *copy_cache(void)
{
    static char copy[400];
    char command[1000];
    snprintf(copy, sizeof copy, "%s-copy", corpora.cache);
    snprintf(command, sizeof command, "rm -rf '%s' && cp -a '%s' '%s'", copy, corpora.cache, copy);
    assert_int_equal(system(command), 0);
    return copy;
}

/* A record that is damaged costs its row and nothing else. */
static void a_damaged_record_costs_its_row(void **state)
{
    Run r;
    char path[600], more[600];
    const char *copy = copy_cache();
    run_open(&r, VOCODER, (RunOptions){.epochs = 1});
    StoreEntry e;
    store_entry(&r.corpus.audio, r.corpus.items[23].audio_entry, &e);
    uint64_t at = (uint64_t)(e.payload - r.corpus.audio.segments[0].data) + e.payload_size / 2;
    assert_int_equal(r.corpus.audio.segment_count, 1);
    run_close(&r);
    snprintf(path, sizeof path, "%s/audio-0001.seg", copy);
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, (long)at, SEEK_SET), 0);
    int byte = fgetc(f);
    assert_int_equal(fseek(f, (long)at, SEEK_SET), 0);
    fputc(byte ^ 0x40, f);
    fclose(f);
    for (int full = 0; full < 2; full++) {
        snprintf(more, sizeof more, VOCODER "--cache-dir %s --cache-verification %s", copy,
                 full ? "full" : "fast");
        run_open(&r, more, (RunOptions){.epochs = 2});
        Mel m = mel_open(&r.cfg);
        int rows = 0, padded = 0, lost = 0;
        while (run_next(&r, NULL) == 0) {
            rows += check_rows(&r, &r, &m, &padded);
            lost += r.batch.info.lost;
        }
        assert_int_equal(rows + lost, 2 * (int)r.corpus.count);
        assert_true(full ? lost == 0 : lost >= 2);
        const char *says = strstr(run_log(&r), "its record in the audio cache is damaged");
        assert_non_null(says);
        assert_null(strstr(says + 1, "its record in the audio cache is damaged")); /* once */
        PipelineReport report;
        pipeline_report(r.pipeline, &report);
        assert_int_equal(report.lost, full ? 0 : 1);
        mel_close(&m);
        run_close(&r);
    }
}

/* The audio cache is cut while the pipeline reads it: clips behind the cut are named and left out, and no row
 * has silence instead of sound. */
static void a_cut_cache_costs_rows(void **state)
{
    static const char *const ways[] = {"fast", "off", "fast --data-gpu sim0 --model-gpu sim0",
                                       "fast --enable-memory-mapping false"};
    Run whole;
    run_open(&whole, VOCODER, (RunOptions){.epochs = 1});
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char path[600], more[800];
        const char *copy = copy_cache();
        Run r;
        struct stat st;
        snprintf(path, sizeof path, "%s/audio-0001.seg", copy);
        snprintf(more, sizeof more, VOCODER "--cache-dir %s --cache-verification %s", copy, ways[i]);
        alarm(60);
        run_open(&r, more, (RunOptions){.epochs = 3});
        Mel m = mel_open(&r.cfg);
        int rows, lost = 0, padded = 0;
        assert_int_equal(run_next(&r, NULL), 0);
        rows = check_rows(&r, &whole, &m, &padded);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(truncate(path, st.st_size / 2), 0);
        while (run_next(&r, NULL) == 0) {
            rows += check_rows(&r, &whole, &m, &padded);
            lost += r.batch.info.lost;
        }
        alarm(0);
        assert_int_equal(rows + lost, 3 * (int)r.corpus.count);
        assert_true(lost > 20 && rows > 20);
        assert_non_null(strstr(run_log(&r), "is skipped: "));
        mel_close(&m);
        run_close(&r);
    }
    run_close(&whole);
}

/* Shorter segments of the same clips are not said to be other clips. */
static void other_segments_are_the_same_clips(void **state)
{
    Run a, b;
    run_open(&a, VOCODER, (RunOptions){.epochs = 1});
    run_open(&b, "--network vocoder --vocoder-segment-frames 11 ", (RunOptions){.epochs = 1});
    assert_true(b.corpus.count > a.corpus.count);
    assert_true(hash_equal(corpus_hash(&a.corpus), corpus_hash(&b.corpus)));
    run_close(&a);
    run_close(&b);
}

/* Of a segment of 100 samples, the only one of its clip. */
static int64_t start_at(uint64_t seed, int64_t epoch, uint32_t utterance, int64_t samples)
{
    return policy_segment_start(&(SegmentDraw){seed, epoch, utterance, 0, 1}, samples, 100);
}

/* Each segment begins in its own part of the clip; together they reach all of it. */
static void parts_share_a_clip(void **state)
{
    assert_int_equal(policy_segments(99, 100), 1);
    assert_int_equal(policy_segments(199, 100), 1);
    assert_int_equal(policy_segments(450, 100), 4);
    for (int64_t epoch = 0; epoch < 1000; epoch++)
        for (uint32_t part = 0; part < 4; part++) {
            int64_t s = policy_segment_start(&(SegmentDraw){3, epoch, 9, part, 4}, 499, 100);
            assert_true(s >= 100 * part && s < 100 * (part + 1));
        }
    /* More parts than places to begin at. */
    for (uint32_t part = 0; part < 4; part++) {
        int64_t s = policy_segment_start(&(SegmentDraw){3, 0, 9, part, 4}, 101, 100);
        assert_true(s == 0 || s == 1);
    }
}

/* Anywhere in the clip, the ends included, and evenly. */
static void starts_are_spread_over_the_clip(void **state)
{
    int first = 0, last = 0;
    double sum = 0;
    enum { DRAWS = 20000 };
    for (int i = 0; i < DRAWS; i++) {
        int64_t s = start_at(5, i / 100, (uint32_t)(i % 100), 110);
        assert_true(s >= 0 && s <= 10);
        first += s == 0;
        last += s == 10;
        sum += (double)s;
        assert_int_equal(s, start_at(5, i / 100, (uint32_t)(i % 100), 110));
    }
    assert_true(abs(first - DRAWS / 11) < 250 && abs(last - DRAWS / 11) < 250);
    assert_float_equal(sum / DRAWS, 5, 0.15);
    int64_t here = start_at(5, 3, 4, 1000000);
    assert_true(here != start_at(6, 3, 4, 1000000));
    assert_true(here != start_at(5, 4, 4, 1000000));
    assert_true(here != start_at(5, 3, 5, 1000000));
    assert_int_equal(start_at(5, 0, 0, 100), 0);
    assert_int_equal(start_at(5, 0, 0, 99), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_segments_of_the_store),    cmocka_unit_test(gain_is_in_the_samples),
        cmocka_unit_test(speed_is_in_the_samples),           cmocka_unit_test(nothing_else_changes_a_bit),
        cmocka_unit_test(a_resumed_epoch_is_the_same),       cmocka_unit_test(the_plan_is_what_is_taken),
        cmocka_unit_test(clips_that_are_mostly_too_short),   cmocka_unit_test(without_samples),
        cmocka_unit_test(a_damaged_record_costs_its_row),    cmocka_unit_test(a_cut_cache_costs_rows),
        cmocka_unit_test(starts_are_spread_over_the_clip),   cmocka_unit_test(parts_share_a_clip),
        cmocka_unit_test(other_segments_are_the_same_clips),
    };
    return cmocka_run_group_tests(tests, setup, teardown_corpora);
}
