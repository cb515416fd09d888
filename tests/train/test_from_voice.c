/* test_from_voice.c - a vocoder on the mels of a voice: the store holds what validation computes, is made
 * once and mended; runs on it resume to the bit and go on from those on recordings; what is refused. */
#include "support/train_testing.h"

#include "audio/normaliser.h"
#include "cmd/work/from_voice.h"
#include "cmd/work/voice_data.h"
#include "support/command_testing.h"
#include "train/listen/alignment.h"
#include "train/listen/predicted.h"

#define VOCODER \
    "--network vocoder --vocoder-dim 16 --vocoder-layers 2 --vocoder-segment-frames 13 --learning-rate " \
    "0.002 --val-split 0.2 "

static const JobOptions plain;
static char voice[400]; /* a run */

static int setup(void **state)
{
    int rc = setup_lab_with_samples(state, VOCODER);
    snprintf(voice, sizeof voice, "%s", new_folder());
    train(voice, "--val-split 0", plain); /* both of its splits are one list then */
    return rc;
}

static const char *from_voice(const char *more)
{
    static char text[4][900];
    static int next;
    char *t = text[next++ % 4];
    snprintf(t, sizeof text[0], VOCODER "--from-voice %s %s", voice, more);
    return t;
}

/* What from_voice_make says; where: the cache folder of another than the lab's, NULL: that. */
static char *make(Hash128 *settings, const char *where)
{
    Config cfg;
    Err err = {0};
    Log log = {.level = LOG_INFO};
    char *said = NULL, more[500] = "";
    size_t size = 0;
    if (where)
        snprintf(more, sizeof more, "--cache-dir %s", where);
    lab_config(&cfg, NULL, from_voice(more));
    log.out = open_memstream(&said, &size);
    int rc = from_voice_make(settings, &cfg, &log, &err);
    fclose(log.out);
    if (rc)
        fail_msg("%s", err.msg);
    config_close(&cfg);
    return said;
}

/* ---- the store ---- */

typedef struct Comparison {
    VoiceData v;
    Corpus corpus;
    Store store;
    int same;
} Comparison;

static int compare_clip(void *arg, const ClipAlignment *found, Err *err)
{
    Comparison *c = arg;
    const Utterance *u = &c->corpus.dataset.utterances[c->corpus.items[found->item].utterance];
    EngineLook look;
    StoreEntry e;
    MelView v;
    assert_int_equal(engine_look(c->v.engine, found->row, &look, err), 0);
    normaliser_restore_mel(look.predicted, look.predicted, c->v.file.content.mean,
                           c->v.file.content.deviation, look.frames, look.bands);
    int64_t at = store_find(&c->store, u->id.p, u->id.n);
    assert_true(at >= 0);
    store_entry(&c->store, (uint64_t)at, &e);
    assert_int_equal(mel_view(&v, &e), 0);
    assert_int_equal(v.frames, look.frames);
    assert_int_equal(v.bands, look.bands);
    assert_memory_equal(v.data, look.predicted, sizeof(float) * v.frames * v.bands);
    c->same++;
    engine_look_free(&look);
    return 0;
}

/* Bit by bit: what a validation over these clips computes, as a log mel. */
static void mels_are_those_of_validation(void **state)
{
    Hash128 settings;
    Config cfg;
    Log log;
    Err err = {0};
    Comparison c = {0};
    free(make(&settings, NULL));
    log_init(&log, LOG_ERROR);
    lab_config(&cfg, NULL, from_voice(""));
    assert_int_equal(voice_data_open_with(&c.v, voice, 0, NULL, &cfg, &log, &err), 0);
    assert_int_equal(voice_data_corpus(&c.v, &c.corpus, SPLIT_TRAIN, &log, &err), 0);
    EngineShape largest = corpus_shape(&c.v.file.cfg, 1, &c.corpus, NULL);
    assert_int_equal(voice_data_engine(&c.v, &largest, &log, &err), 0);
    assert_int_equal(cache_open(&c.store, lab.cache, PREDICTED_STORE, settings, &err), 0);
    assert_int_equal(c.store.count, CLIPS);
    EvaluateOptions o = {.cfg = &c.v.file.cfg,
                         .corpus = &c.corpus,
                         .data = c.v.devices.data,
                         .model = c.v.devices.model,
                         .log = &log};
    if (align_clips(c.v.engine, &o, compare_clip, &c, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(c.same, CLIPS);
    store_close(&c.store);
    corpus_close(&c.corpus);
    voice_data_close(&c.v);
    config_close(&cfg);
}

static Buf bytes_of(const char *dir, const char *name)
{
    char path[600];
    Buf b = {0};
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(file_read(&b, path, 1 << 24, NULL), 0);
    return b;
}

/* Made once; of an interrupted or damaged store only what is missing is made, and it is the same. */
static void what_is_there_stays(void **state)
{
    Hash128 settings;
    char where[400], path[500];
    snprintf(where, sizeof where, "%s", new_folder());
    char *said = make(&settings, where);
    assert_non_null(strstr(said, "30 clips (30 made now)"));
    free(said);
    said = make(&settings, where);
    assert_non_null(strstr(said, "30 clips (0 made now)"));
    free(said);
    Buf whole = bytes_of(where, "predicted-0001.seg");
    /* As a kill leaves it: no index, and half of the records. */
    snprintf(path, sizeof path, "%s/predicted.index", where);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%s/predicted-0001.seg", where);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%s/predicted-0001.part", where);
    FILE *f = fopen(path, "wb");
    assert_true(f && fwrite(whole.data, whole.size / 2, 1, f) == 1);
    fclose(f);
    said = make(&settings, where);
    int made = 0;
    assert_non_null(strstr(said, "30 clips ("));
    assert_int_equal(sscanf(strstr(said, "30 clips (") + 10, "%d made now", &made), 1);
    assert_true(made > 10 && made < 20);
    free(said);
    Buf again = bytes_of(where, "predicted-0001.seg");
    assert_int_equal(again.size, whole.size);
    assert_memory_equal(again.data, whole.data, whole.size);
    /* A byte of a record. */
    f = fopen(path, "r+b");
    snprintf(path, sizeof path, "%s/predicted-0001.seg", where);
    f = f ? f : fopen(path, "r+b");
    assert_true(f && fseek(f, (long)(whole.size / 2), SEEK_SET) == 0 && fputc(0x55, f) == 0x55);
    fclose(f);
    said = make(&settings, where);
    assert_non_null(strstr(said, "30 clips (1 made now)"));
    free(said);
    buf_free(&whole);
    buf_free(&again);
}

/* It belongs to no settings: pruning removes it, and leaves what these settings use. */
static void pruning_removes_them(void **state)
{
    Hash128 settings;
    Config cfg;
    Err err = {0};
    Log log = {.level = LOG_ERROR};
    PrepareReport report = {0};
    char where[400], path[500], more[500];
    snprintf(where, sizeof where, "%s", new_folder());
    free(make(&settings, where));
    snprintf(path, sizeof path, "%s/predicted.index", where);
    assert_true(is_there(path));
    snprintf(more, sizeof more, "--cache-dir %s", where);
    lab_config(&cfg, NULL, more);
    const PrepareOptions o = {.text = 1, .mel = 1, .prune = 1};
    if (prepare_run(&cfg, &o, &report, &log, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(report.pruned, 1);
    assert_int_equal(report.mel.built, 0);
    assert_false(is_there(path));
    prepare_report_free(&report);
    config_close(&cfg);
}

/* ---- runs ---- */

static void resume_is_exact(void **state)
{
    static const char *const ways[] = {
        "", "--mel-storage float16 --augment-gain-db 6 --gradient-accumulation-steps 2",
        "--enable-memory-mapping false --model-gpu sim0 --data-gpu sim1 --sim step_ms=1"};
    for (int i = 0; i < 3; i++) {
        const char *whole = new_folder(), *parts = new_folder();
        const char *more = from_voice(ways[i]);
        char steps[1000];
        snprintf(steps, sizeof steps, "%s --log-step 1 --val-step 5", more);
        TrainSummary s = train(whole, steps, plain),
                     part = train(parts, steps, (JobOptions){.stop_at = "step 7/20"});
        assert_true(s.step == 20 && part.stopped);
        part = train(parts, steps, plain);
        assert_true(part.first_step > 0 && part.step == 20);
        compare_checkpoints(step_file(whole, 20), step_file(parts, 20), NULL);
    }
}

static void the_mels_are_learned(void **state)
{
    const char *folder = new_folder(), *other = new_folder();
    int64_t steps[64];
    double values[64];
    train(folder, from_voice("--max-steps 150 --log-step 10 --text2audio-interval-steps 50"), plain);
    int n = read_lines(folder, "step", "spectral", steps, values, 64);
    assert_int_equal(n, 15);
    assert_true(values[n - 1] < 0.85 * values[0]);
    /* They are others than those of the recordings. */
    train(other, VOCODER, plain);
    train(folder = new_folder(), from_voice(""), plain);
    assert_true(checkpoints_differ(step_file(folder, 20), step_file(other, 20), "vocoder.input.weight"));
}

/* A vocoder continues with other mels: weights and moments stay, the schedule starts again, and all of that
 * can be stopped and resumed. */
static void a_vocoder_goes_on_with_them(void **state)
{
    const char *folder = new_folder(), *parts = new_folder();
    int64_t steps[64];
    double rates[64];
    Job j;
    train(folder, VOCODER "--max-steps 10 --log-step 1", plain);
    train(parts, VOCODER "--max-steps 10 --log-step 1", plain);
    assert_int_equal(job_try(&j, folder, from_voice("--max-steps 30 --log-step 1"), plain), 0);
    const char *said = job_log(&j);
    assert_non_null(strstr(said, "continuing with the mels of "));
    assert_non_null(strstr(said, "until step 10 the run learned from those of the recordings"));
    assert_null(strstr(said, "the data have changed"));
    assert_int_equal(j.summary.first_step, 10);
    job_close(&j);
    assert_int_equal(read_lines(folder, "step", "lr", steps, rates, 64), 30);
    /* 4 steps of warm-up, then a cosine, twice. */
    assert_true(rates[9] < 0.1 * rates[3]);
    assert_float_equal(rates[10], rates[0], 1e-12);
    assert_float_equal(rates[13], rates[3], 1e-12);
    assert_true(rates[20] > rates[9] && rates[29] < 0.1 * rates[13]);
    train(parts, from_voice("--max-steps 30 --log-step 1"), (JobOptions){.stop_at = "step 17/30"});
    assert_int_equal(job_try(&j, parts, from_voice("--max-steps 30 --log-step 1"), plain), 0);
    assert_null(strstr(job_log(&j), "continuing with"));
    job_close(&j);
    compare_checkpoints(step_file(folder, 30), step_file(parts, 30), NULL);
    /* Without the option it is said. */
    assert_int_equal(job_try(&j, folder, VOCODER "--max-steps 31", plain), 0);
    assert_non_null(strstr(job_log(&j), "without --from-voice it continues on those of the recordings"));
    job_close(&j);
}

/* The time of --minutes is that of the new mels, and of a run whose time was over. */
static void minutes_begin_anew(void **state)
{
    const char *folder = new_folder();
    TrainSummary s = train(folder, VOCODER "--max-steps 100000 --minutes 0.01", plain);
    assert_true(s.step > 1 && s.step == s.total);
    const int64_t before = s.step;
    s = train(folder, VOCODER "--max-steps 100000 --minutes 0.01", plain);
    assert_true(s.first_step == before && s.step > before + 1 && s.state.schedule_from == before);
    const int64_t more = s.step;
    s = train(folder, from_voice("--max-steps 100000 --minutes 0.01"), plain);
    assert_true(s.first_step == more && s.step > more + 1);
}

/* ---- what is refused ---- */

static void wrong_voices_are_refused(void **state)
{
    const char *vocoder = new_folder();
    char missing[400];
    train(vocoder, VOCODER "--max-steps 1", plain);
    snprintf(missing, sizeof missing, "%s/nowhere", lab.folder.path);
    const struct {
        const char *from, *more, *message, *also;
    } cases[] = {
        {vocoder, "", "--from-voice: ", "is a vocoder"},
        {missing, "", "--from-voice: cannot open ", "nowhere"},
        {voice, "--n-mels 17", "makes mels with n_mels 16 (mel ",
         "is to learn from mels with n_mels 17 (mel "},
        {voice, "--trim-silence true", "recordings with trim_silence false",
         "this run has trim_silence true"},
    };
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        Config cfg;
        Err err = {0};
        Log log = {.level = LOG_ERROR};
        Hash128 settings;
        char more[1000];
        snprintf(more, sizeof more, VOCODER "--from-voice %s %s", cases[i].from, cases[i].more);
        lab_config(&cfg, NULL, more);
        assert_true(from_voice_make(&settings, &cfg, &log, &err) < 0);
        if (!strstr(err.msg, cases[i].message) || !strstr(err.msg, cases[i].also) || !err.hint[0])
            fail_msg("%s (%s)", err.msg, err.hint);
        config_close(&cfg);
    }
    expect_failure(2, ARGS("train", "--data-path", lab.data, "--from-voice", voice),
                   WORDS("from_voice is ", "network is voice", "train a vocoder"), NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mels_are_those_of_validation), cmocka_unit_test(what_is_there_stays),
        cmocka_unit_test(pruning_removes_them),         cmocka_unit_test(resume_is_exact),
        cmocka_unit_test(the_mels_are_learned),         cmocka_unit_test(a_vocoder_goes_on_with_them),
        cmocka_unit_test(minutes_begin_anew),           cmocka_unit_test(wrong_voices_are_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown_lab);
}
