/* test_pipeline_voice.c - the two arrays about the voice: the pitch of every row as the cache has it, and the
 * row that lends its voice. */
#include "support/pipeline_testing.h"

#include "audio/pitch.h"
#include "base/file.h"
#include "base/hash.h"
#include "dataset/audio_file.h"

static const float *batch_pitch(const Run *r, int row)
{
    return (const float *)(const void *)(r->host + r->batch.layout.pitch) +
           (size_t)row * (size_t)r->batch.info.frames;
}

static void view_of(const Run *r, MelView *v, int32_t utterance)
{
    const Utterance *u = &r->corpus.dataset.utterances[utterance];
    int64_t at = store_find(&r->corpus.mel, u->id.p, u->id.n);
    StoreEntry e;
    assert_true(at >= 0);
    store_entry(&r->corpus.mel, (uint64_t)at, &e);
    assert_int_equal(mel_view(v, &e), 0);
}

/* ---- the cache ---- */

/* The record of a clip holds the pitch of its samples, and the statistics are those of all records. */
static void test_cache_holds_the_pitch(void **state)
{
    Run r;
    char options[500];
    snprintf(options, sizeof options,
             "--cache-dir %s/plain --trim-silence false --enable-loudness-normalization false",
             corpora.folder.path); /* samples as in the file */
    prepare_caches(options);
    run_open(&r, options, (RunOptions){0});
    PitchPlan *plan;
    PitchScratch *scratch;
    assert_int_equal(pitch_plan_open(&plan, &r.cfg, NULL), 0);
    assert_int_equal(pitch_scratch_open(&scratch, plan, NULL), 0);
    double sum = 0, squares = 0, n = 0;
    for (int32_t u = 0; u < CLIPS; u++) {
        Buf bytes = {0};
        AudioBuffer audio = {0};
        MelView v;
        char detail[256];
        float want[400];
        assert_int_equal(file_read(&bytes, clip_file(u), 1 << 20, NULL), 0);
        assert_int_equal(audio_decode(&audio, bytes.data, bytes.size, "clip", 0, detail, sizeof detail), 0);
        view_of(&r, &v, u);
        assert_int_equal(v.frames, pitch_frames(plan, audio.frames));
        assert_true(v.frames <= 400);
        assert_int_equal(pitch_compute(plan, scratch, want, NULL, audio.samples, audio.frames), 0);
        assert_memory_equal(v.pitch, want, v.frames * sizeof *want);
        for (uint32_t t = 0; t < v.frames; t++, n++) {
            sum += want[t];
            squares += (double)want[t] * want[t];
        }
        audio_buffer_free(&audio);
        buf_free(&bytes);
    }
    double mean = sum / n;
    assert_true(fabs(r.corpus.statistics.pitch_mean - mean) < 1e-9);
    assert_true(fabs(r.corpus.statistics.pitch_deviation - sqrt(squares / n - mean * mean)) < 1e-6);
    assert_true(mean > 4.5 && mean < 6.3 && r.corpus.statistics.pitch_deviation > 0.05);
    pitch_scratch_close(scratch);
    pitch_plan_close(plan);
    run_close(&r);
}

/* ---- pitch ---- */

static void check_pitch(const char *options, int resampled)
{
    Run r;
    int rows = 0, changed = 0;
    run_open(&r, options, (RunOptions){.epochs = 2});
    const MelStatistics *m = &r.corpus.statistics;
    while (run_next(&r, NULL) == 0)
        for (int row = 0; row < r.cfg.batch_size; row++) {
            int32_t u = batch_ints(&r, r.batch.layout.utterance)[row],
                    frames = batch_ints(&r, r.batch.layout.mel_length)[row];
            const float *got = batch_pitch(&r, row);
            for (int t = frames; t < r.batch.info.frames; t++)
                assert_true(got[t] == 0);
            if (u < 0)
                continue;
            MelView v;
            view_of(&r, &v, u);
            rows++;
            double speed = 1;
            if (resampled) {
                speed = ((const float *)(const void *)(r.host + r.batch.layout.augment))[4 * row + 2];
                changed += frames != (int)v.frames;
            } else
                assert_int_equal(frames, v.frames);
            for (int t = 0; t < frames; t++) {
                double at = fmin(t * speed, v.frames - 1), share = at - floor(at);
                double a = v.pitch[(int)at], b = v.pitch[(int)at + 1 < (int)v.frames ? (int)at + 1 : (int)at];
                double want = (a + share * (b - a) + log(speed) - m->pitch_mean) / m->pitch_deviation;
                if (fabs(got[t] - want) > 1e-4)
                    fail_msg("row %d, frame %d: %g instead of %g (%s)", row, t, got[t], want, options);
            }
        }
    assert_int_equal(r.err.code, ERR_STOPPED);
    assert_int_equal(rows, 2 * CLIPS);
    assert_true(!resampled || changed > CLIPS);
    run_close(&r);
}

static void test_pitch_is_the_cache_s(void **state)
{
    check_pitch("", 0);
    check_pitch("--enable-memory-mapping false", 0);
    check_pitch("--data-gpu sim0 --model-gpu sim1 --num-workers 8", 0);
    check_pitch("--preprocessing-mode on_the_fly", 0);
    check_pitch(
        "--preprocessing-mode on_the_fly --enable-memory-mapping false --data-gpu sim0 --model-gpu sim0", 0);
    check_pitch("--augment-speed 0.3", 0); /* does nothing to what comes from the cache */
    check_pitch("--pad-to-fixed-length true --max-mel-frames 140 --max-text-length 300 --batch-size 7", 0);
}

static void test_pitch_follows_the_speed(void **state)
{
    check_pitch("--preprocessing-mode on_the_fly --augment-speed 0.3", 1);
    check_pitch("--preprocessing-mode on_the_fly --augment-speed 0.2 --data-gpu sim0 --model-gpu sim1", 1);
}

/* A change of speed is a change of voice: in a batch all clips of a speaker have the same one, or a row would
 * learn to speak in another voice than its reference. */
static void test_a_speaker_has_one_speed(void **state)
{
    Run r;
    int batches = 0, alike = 0, between = 0;
    float last = 0;
    run_open(&r, "--preprocessing-mode on_the_fly --augment-speed 0.3 --batch-size 20",
             (RunOptions){.epochs = 2});
    while (run_next(&r, NULL) == 0) {
        const float *augment = (const float *)(const void *)(r.host + r.batch.layout.augment);
        const int32_t *speaker = batch_ints(&r, r.batch.layout.speaker),
                      *utterance = batch_ints(&r, r.batch.layout.utterance);
        for (int a = 0; a < r.cfg.batch_size; a++)
            for (int b = 0; b < a && utterance[a] >= 0; b++) {
                if (utterance[b] < 0)
                    continue;
                const int same = augment[4 * a + 2] == augment[4 * b + 2];
                if (speaker[a] == speaker[b])
                    assert_true(same);
                else
                    between += !same;
            }
        batches++;
        alike += augment[2] == last;
        last = augment[2];
    }
    assert_int_equal(r.err.code, ERR_STOPPED);
    assert_true(batches >= 4 && alike == 0 && between > 0); /* it is drawn for each speaker and each batch */
    run_close(&r);
}

/* The same bits whichever way the mel is made. */
static void test_modes_agree(void **state)
{
    Run a, b;
    run_open(&a, "--preprocessing-mode precompute", (RunOptions){.epochs = 1});
    run_open(&b, "--preprocessing-mode on_the_fly --data-gpu sim0 --model-gpu sim1",
             (RunOptions){.epochs = 1});
    while (run_next(&a, NULL) == 0) {
        assert_int_equal(run_next(&b, NULL), 0);
        assert_memory_equal(batch_pitch(&a, 0), batch_pitch(&b, 0),
                            (size_t)(8 * a.batch.info.frames) * sizeof(float));
        assert_memory_equal(batch_ints(&a, a.batch.layout.reference),
                            batch_ints(&b, b.batch.layout.reference), 8 * 4);
    }
    run_close(&a);
    run_close(&b);
}

static void test_pitch_is_normalised(void **state)
{
    Run r;
    double sum = 0, squares = 0, n = 0;
    run_open(&r, "", (RunOptions){.epochs = 1});
    while (run_next(&r, NULL) == 0)
        for (int row = 0; row < r.batch.info.count; row++)
            for (int t = 0; t < batch_ints(&r, r.batch.layout.mel_length)[row]; t++, n++) {
                sum += batch_pitch(&r, row)[t];
                squares += (double)batch_pitch(&r, row)[t] * batch_pitch(&r, row)[t];
            }
    assert_true(fabs(sum / n) < 1e-4 && fabs(squares / n - 1) < 1e-3);
    run_close(&r);
}

/* ---- the row that lends its voice ---- */

static int is_filled(const Run *r, int row) { return batch_ints(r, r->batch.layout.utterance)[row] >= 0; }

/* Checks a batch; returns how many rows have another's voice. Which one follows from the row alone: pinned
 * here, because a run that is resumed with another version has to continue with the same batches. */
static int check_references(const Run *r)
{
    const int32_t *reference = batch_ints(r, r->batch.layout.reference),
                  *speaker = batch_ints(r, r->batch.layout.speaker);
    const int rows = r->cfg.batch_size;
    int lent = 0;
    for (int row = 0; row < rows; row++) {
        int other = row ^ 1;
        if (other >= r->batch.info.count)
            other = rows % 2 && row ? row - 1 : row;
        if (other >= rows || !is_filled(r, row) || !is_filled(r, other) || speaker[other] != speaker[row])
            other = row;
        assert_int_equal(reference[row], other);
        lent += other != row;
    }
    return lent;
}

static void test_references(void **state)
{
    static const struct {
        const char *options;
        int most_alone; /* rows of an epoch that may have no other of their speaker */
    } cases[] = {{"", 3},
                 {"--data-gpu sim0 --model-gpu sim1 --num-workers 8", 3},
                 {"--batch-size 59 --preprocessing-mode on_the_fly", 2},
                 {"--batch-size 61 --native-loading false", 0},
                 {"--batch-size 1", CLIPS},
                 {"--batch-size 2", 6},
                 {"--enable-multispeaker false", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Run r;
        int lent = 0;
        run_open(&r, cases[i].options, (RunOptions){.epochs = 1});
        while (run_next(&r, NULL) == 0)
            lent += check_references(&r);
        assert_int_equal(r.err.code, ERR_STOPPED);
        if (lent > CLIPS || lent < CLIPS - cases[i].most_alone)
            fail_msg("%d rows with another's voice (%s)", lent, cases[i].options);
        run_close(&r);
    }
}

/* ---- languages ---- */

/* The clips again, every third in another language, in lines and a cache of their own. */
static const char *language_options(char *out, size_t cap)
{
    static const char *const codes[] = {"en", "fr", "de"};
    const char *metadata = folder_file(&corpora.folder, "data/languages.csv");
    FILE *f = fopen(metadata, "w");
    assert_non_null(f);
    fprintf(f, "id|text|speaker|language\n");
    for (int i = 0; i < CLIPS; i++)
        fprintf(f, "clip%02d|a hill|voice%d|%s\n", i, i % 2, codes[i % 3]);
    assert_int_equal(fclose(f), 0);
    snprintf(out, cap, "--metadata-train-file %s --cache-dir %s", metadata,
             folder_file(&corpora.folder, "cache-languages"));
    prepare_caches(out);
    return out;
}

static void test_languages(void **state)
{
    static const int numbers[] = {1, 2, 0}; /* sorted: de, en, fr */
    static const char *const machines[] = {"", "--data-gpu sim0 --model-gpu sim1",
                                           "--preprocessing-mode on_the_fly --sim fail=read:5"};
    char more[800], options[1000];
    language_options(more, sizeof more);
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        Run r;
        int rows = 0;
        snprintf(options, sizeof options, "%s %s", more, machines[i]);
        run_open(&r, options, (RunOptions){.epochs = 1});
        assert_int_equal(r.corpus.languages.count, 3);
        assert_string_equal(r.corpus.languages.codes[2], "fr");
        while (run_next(&r, NULL) == 0)
            for (int row = 0; row < r.cfg.batch_size; row++) {
                int utterance = batch_ints(&r, r.batch.layout.utterance)[row];
                int wanted = utterance < 0 ? 0 : numbers[utterance % 3];
                assert_int_equal(batch_ints(&r, r.batch.layout.language)[row], wanted);
                rows += utterance >= 0;
            }
        assert_true(rows > CLIPS / 2);
        /* A voice has an order of its own, and may not have them all. */
        LanguageList voice = {.count = 2, .codes = {"it", "fr-be"}};
        corpus_take_languages(&r.corpus, &voice);
        assert_int_equal(r.corpus.language_number[2], 1);
        assert_int_equal(r.corpus.language_number[0], 0);
        run_close(&r);
    }
}

/* Other pairs in every epoch: nobody learns one clip with the voice of always the same other. */
static void test_pairs_change(void **state)
{
    enum { EPOCHS = 12 };
    int first[CLIPS], again = 0;
    Run r;
    run_open(&r, "--batch-size 60 --pad-to-fixed-length true --max-mel-frames 140 --max-text-length 300",
             (RunOptions){.epochs = EPOCHS});
    for (int e = 0; e < EPOCHS; e++) {
        assert_int_equal(run_next(&r, NULL), 0);
        assert_true(check_references(&r) >= CLIPS - 6);
        const int32_t *utterance = batch_ints(&r, r.batch.layout.utterance);
        for (int row = 0; row < CLIPS; row++) {
            int from = utterance[batch_ints(&r, r.batch.layout.reference)[row]];
            if (e == 0)
                first[utterance[row]] = from;
            else
                again += from == first[utterance[row]];
        }
    }
    assert_true(again < (EPOCHS - 1) * CLIPS / 4); /* about one in 19 */
    run_close(&r);
}

static void collect(const char *options, int32_t *out, int batches)
{
    Run r;
    run_open(&r, options, (RunOptions){0});
    for (int i = 0; i < batches; i++, out += 8) {
        assert_int_equal(run_next(&r, NULL), 0);
        memcpy(out, batch_ints(&r, r.batch.layout.reference), 8 * sizeof *out);
    }
    run_close(&r);
}

static void test_references_depend_on_seed_and_number(void **state)
{
    enum { BATCHES = 24 };
    int32_t a[BATCHES * 8], b[BATCHES * 8];
    collect("--num-workers 1", a, BATCHES);
    collect("--num-workers 8", b, BATCHES);
    assert_memory_equal(a, b, sizeof a);
    collect("--num-workers 8 --seed 8", b, BATCHES);
    assert_memory_not_equal(a, b, sizeof a);
    assert_memory_not_equal(a, a + BATCHES / 3 * 8, BATCHES / 3 * 8 * sizeof *a); /* another epoch */
}

/* A row that could not be loaded lends its voice to nobody and has no pitch. */
static void test_lost_rows(void **state)
{
    static const char *const machines[] = {"--num-workers 0", "--num-workers 3", "--native-loading false",
                                           "--num-workers 2 --data-gpu sim0 --model-gpu sim1",
                                           "--num-workers 2 --preprocessing-mode on_the_fly"};
    int32_t want[8] = {0};
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        Run r;
        char options[300];
        snprintf(options, sizeof options, "%s --enable-multispeaker false --sim fail=read:5", machines[i]);
        run_open(&r, options, (RunOptions){.epochs = 1});
        while (run_next(&r, NULL) == 0) {
            check_references(&r);
            if (r.batch.info.number != 5)
                continue;
            assert_int_equal(r.batch.info.lost, 1);
            assert_false(is_filled(&r, 0));
            assert_int_equal(batch_ints(&r, r.batch.layout.reference)[0], 0);
            for (int row = 1; row < 8; row++)
                assert_int_not_equal(batch_ints(&r, r.batch.layout.reference)[row], 0); /* nor is 1's */
            for (int t = 0; t < r.batch.info.frames; t++)
                assert_true(batch_pitch(&r, 0)[t] == 0);
            if (i == 0)
                memcpy(want, batch_ints(&r, r.batch.layout.reference), sizeof want);
            assert_memory_equal(batch_ints(&r, r.batch.layout.reference), want, sizeof want);
        }
        assert_int_equal(r.err.code, ERR_STOPPED);
        run_close(&r);
    }
    assert_true(want[1] > 0);
}

/* The hash of a batch sees both arrays. */
static void test_hash_covers_both(void **state)
{
    Run r;
    Hash128 h;
    run_open(&r, "", (RunOptions){.epochs = 1});
    assert_int_equal(run_next(&r, &h), 0);
    BatchShape shape = {.rows = r.cfg.batch_size, .bands = r.cfg.n_mels};
    const size_t places[] = {r.batch.layout.reference, r.batch.layout.reference + 31, r.batch.layout.pitch,
                             r.batch.layout.pitch + (size_t)(8 * r.batch.info.frames) * 4 - 1};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        r.host[places[i]] ^= 1;
        assert_false(hash_equal(h, batch_hash(r.host, &r.batch.layout, &r.batch.info, &shape)));
        r.host[places[i]] ^= 1;
    }
    assert_true(hash_equal(h, batch_hash(r.host, &r.batch.layout, &r.batch.info, &shape)));
    run_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cache_holds_the_pitch),
        cmocka_unit_test(test_pitch_is_the_cache_s),
        cmocka_unit_test(test_pitch_follows_the_speed),
        cmocka_unit_test(test_a_speaker_has_one_speed),
        cmocka_unit_test(test_modes_agree),
        cmocka_unit_test(test_pitch_is_normalised),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_languages),
        cmocka_unit_test(test_pairs_change),
        cmocka_unit_test(test_references_depend_on_seed_and_number),
        cmocka_unit_test(test_lost_rows),
        cmocka_unit_test(test_hash_covers_both),
    };
    return cmocka_run_group_tests(tests, setup_corpora, teardown_corpora);
}
