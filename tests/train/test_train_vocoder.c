/* test_train_vocoder.c - runs of the trainer with a vocoder: it learns, resumes to the bit, whatever loads
 * its segments; what a run leaves, and what it refuses. */
#include "support/train_testing.h"

#include "config/bindings.h"
#include "train/start/settle.h"
#include "voice/best_note.h"
#include "voice/checkpoint.h"

#define VOCODER \
    "--network vocoder --vocoder-dim 16 --vocoder-layers 2 --vocoder-segment-frames 13 --learning-rate " \
    "0.002 "

static const JobOptions plain;

static int setup(void **state) { return setup_lab_with_samples(state, VOCODER); }

/* A run in one go, and one that is stopped and goes on. */
static void stop_and_go(const char *what, const char *more, const char *const *stops)
{
    const char *whole = new_folder(), *parts = new_folder();
    TrainSummary s = train(whole, more, plain), part = {0};
    assert_int_equal(s.step, 20);
    for (int i = 0; stops[i]; i++) {
        part = train(parts, more, (JobOptions){.stop_at = stops[i]});
        assert_int_equal(part.stopped, 1);
    }
    part = train(parts, more, plain);
    assert_true(part.first_step > 0 && part.step == 20);
    int n = compare_checkpoints(step_file(whole, 20), step_file(parts, 20), NULL);
    printf("%s: the same bits in all %d tensors\n", what, n);
}

static void resume_is_exact(void **state)
{
    stop_and_go("cosine", VOCODER "--log-step 1", (const char *const[]){"step 3/20", "step 11/20", NULL});
    stop_and_go("2 batches a step, with gain",
                VOCODER "--log-step 1 --gradient-accumulation-steps 2 --augment-gain-db 6 --val-step 4",
                (const char *const[]){"step 7/20", NULL});
    stop_and_go("critics from step 7 on", VOCODER "--log-step 1 --vocoder-critic-dim 8 --val-step 4",
                (const char *const[]){"step 3/20", "step 11/20", NULL});
}

static void same_for_any_way_of_loading(void **state)
{
    static const char *const ways[] = {
        "--num-workers 2", "--num-workers 0", "--native-loading false", "--enable-memory-mapping false",
        "--model-gpu sim0 --data-gpu sim1 --sim jitter=0.5,step_ms=3,read_ms=2"};
    const char *first = new_folder();
    for (int i = 0; i < (int)(sizeof ways / sizeof *ways); i++) {
        const char *folder = i ? new_folder() : first;
        char more[400];
        snprintf(more, sizeof more, VOCODER "%s", ways[i]);
        train(folder, more, plain);
        if (i)
            compare_checkpoints(step_file(first, 20), step_file(folder, 20), NULL);
    }
}

/* Validation, copies and pictures in between change no bit; what they leave is there. */
static void looking_does_not_disturb(void **state)
{
    const char *calm = new_folder(), *watched = new_folder();
    char path[600];
    train(calm, VOCODER, plain);
    train(watched, VOCODER "--val-step 5 --text2audio-interval-steps 10 --log-step 1 --save-step 4", plain);
    compare_checkpoints(step_file(calm, 20), step_file(watched, 20), "train.");
    int64_t steps[64];
    double values[64], total[64];
    assert_int_equal(read_lines(watched, "validation", "loss", steps, total, 64), 4);
    assert_int_equal(read_lines(watched, "validation", "spectral", steps, values, 64), 4);
    assert_true(steps[0] == 5 && values[0] == total[0] && values[3] < values[0]);
    /* The terms of a voice are not in the log. */
    assert_int_equal(read_lines(watched, "step", "align", steps, values, 64), 20);
    assert_true(isnan(values[0]));
    static const char *const files[] = {"mel.png", "loss.png", "samples/recording-1.wav",
                                        "samples/step-00000010-1.wav", "samples/step-00000020-4.wav"};
    for (int i = 0; i < (int)(sizeof files / sizeof *files); i++) {
        snprintf(path, sizeof path, "%s/%s", watched, files[i]);
        if (!is_there(path))
            fail_msg("there is no %s", path);
    }
}

static void it_learns(void **state)
{
    const char *folder = new_folder();
    int64_t steps[64];
    double values[64];
    train(folder, VOCODER "--max-steps 150 --log-step 10", plain);
    int n = read_lines(folder, "step", "spectral", steps, values, 64);
    assert_int_equal(n, 15);
    printf("150 steps: the loss goes from %.3f to %.3f\n", values[0], values[n - 1]);
    assert_true(values[n - 1] < 0.8 * values[0]);
}

static void the_checkpoint_says_what_it_is(void **state)
{
    const char *folder = new_folder();
    Checkpoint v;
    Err err = {0};
    Config voice;
    train(folder, VOCODER "--max-steps 2", plain);
    assert_int_equal(checkpoint_open(&v, folder, folder, 0, NULL, NULL, &err), 0);
    assert_true(v.cfg.network == NETWORK_VOCODER && v.can_resume && v.content.clips.count == 0);
    assert_string_equal(safetensors_meta(&v.file, "network"), "vocoder");
    /* A voice with the same mel has the same hash. */
    lab_config(&voice, NULL, "");
    Hash128 h = config_mel_hash(&voice);
    char hash[33];
    snprintf(hash, sizeof hash, "%016llx%016llx", (unsigned long long)h.hi, (unsigned long long)h.lo);
    assert_string_equal(v.mel, hash);
    assert_int_equal(checkpoint_check_voice(&v, &err), ERR_FORMAT);
    config_close(&voice);
    checkpoint_close(&v);
}

/* What the run cannot continue with, or does not fit, is said before anything is written. */
static void wrong_beginnings_are_refused(void **state)
{
    static const struct {
        const char *first, *then, *message;
    } cases[] = {
        {"", VOCODER, "is of a voice, but network is vocoder"},
        {VOCODER, "", "is of a vocoder, but network is voice"},
        {VOCODER, VOCODER "--vocoder-dim 24", "vocoder_dim 16, which cannot be changed to 24"},
        {VOCODER, VOCODER "--n-mels 17", "n_mels 16, which cannot be changed to 17"},
    };
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        const char *folder = new_folder();
        char short_run[400];
        Config cfg;
        Err err = {0};
        int batch;
        snprintf(short_run, sizeof short_run, "%s --max-steps 2", cases[i].first);
        train(folder, short_run, plain);
        lab_config(&cfg, folder, cases[i].then);
        assert_int_equal(trainer_check(&batch, &cfg, 1, &err), ERR_CONFIG);
        if (!strstr(err.msg, cases[i].message))
            fail_msg("%s", err.msg);
        config_close(&cfg);
    }
}

/* A run begins with the weights of another; a gradient that is no number is left out. */
static void the_rest_is_as_ever(void **state)
{
    const char *first = new_folder(), *second = new_folder();
    char more[600];
    train(first, VOCODER, plain);
    snprintf(more, sizeof more, VOCODER "--max-steps 2 --init-from %s", first);
    train(second, more, plain);
    const char *folder = new_folder();
    TrainSummary s = train(folder, VOCODER, (JobOptions){.poison_from = 5, .poison_count = 2});
    assert_int_equal(s.skipped, 2);
}

/* A cap to the byte that was planned: it runs through, validation and copies included. */
static void the_plan_is_what_is_used(void **state)
{
    static const char more[] = VOCODER "--max-steps 4 --val-step 2 --text2audio-interval-steps 2 "
                                       "--pipeline-buffer-size 3 --model-gpu sim0 --data-gpu sim1";
    Job j;
    TrainPlan p;
    job_prepare(&j, new_folder(), more, plain);
    assert_int_equal(train_plan(&p, &j.options, &j.err), 0);
    job_close(&j);
    assert_true(p.synthesis > 0);
    JobOptions caps = {.model_cap = p.model_total, .data_cap = p.data_total};
    if (job_try(&j, new_folder(), more, caps))
        fail_msg("%s", j.err.msg);
    assert_true(j.summary.model_bytes > p.model_total - p.model_total / 20);
    job_close(&j);
    caps.model_cap = p.model_total - 1;
    assert_int_equal(job_try(&j, new_folder(), more, caps), ERR_CONFIG);
    job_close(&j);
}

/* Also of one whose loss is not the lowest. */
static void the_newest_that_critics_taught_is_the_best(void **state)
{
    const char *folder = new_folder();
    Judged best;
    train(folder, VOCODER "--vocoder-critic-dim 8 --val-step 4 --critic-from 0.5", plain);
    assert_true(best_note_read(&best, folder));
    assert_true(best.taught && best.step == 20);
    train(folder = new_folder(), VOCODER "--val-step 4", plain);
    assert_true(best_note_read(&best, folder));
    assert_false(best.taught);
}

static double critics_from; /* of the last call */

/* Minutes of speech, a device, and settings -> the width of the vocoder's critics. */
static int critics_of(float minutes, const char *device_name, const char *more, const char *value)
{
    char network[] = "--network", vocoder[] = "vocoder", none[] = "--init-from", word[] = "none";
    char *args[] = {network, vocoder, none, word, (char *)(uintptr_t)more, (char *)(uintptr_t)value};
    Config cfg;
    Device *device = NULL;
    Err err = {0};
    Log log;
    log_init(&log, LOG_ERROR);
    if (config_load(&cfg, NULL, more ? 6 : 4, args, &err) ||
        device_open(&device, device_name, &(DeviceOptions){0}, &err))
        fail_msg("%s", err.msg);
    SampleLength length = {.frames =
                               (uint32_t)(minutes * 60 * (float)cfg.sample_rate / (float)cfg.hop_length)};
    const Corpus train = {.count = 1, .lengths = &length, .segment_frames = 1};
    Settled s = {.fresh = 1};
    if (settle_data(&s, &cfg, &train, device, NULL, &log, &err))
        fail_msg("%s", err.msg);
    const int dim = cfg.vocoder_critic_dim;
    critics_from = cfg.critic_from;
    device_close(device);
    config_close(&cfg);
    return dim;
}

static void a_large_vocoder_of_half_an_hour_has_critics(void **state)
{
    assert_int_equal(critics_of(31, "sim0", NULL, NULL), 256);
    assert_true(critics_from == 0.7);
    assert_int_equal(critics_of(31, "sim0", "--critic-from", "0.4"), 256);
    assert_true(critics_from == 0.4);
    assert_int_equal(critics_of(29, "sim0", NULL, NULL), 0);
    assert_int_equal(critics_of(31, "cpu", NULL, NULL), 0);
    assert_int_equal(critics_of(31, "sim0", "--vocoder-size", "small"), 0);
    assert_int_equal(critics_of(31, "sim0", "--vocoder-critic-dim", "0"), 0);
    assert_int_equal(critics_of(29, "cpu", "--vocoder-critic-dim", "64"), 64);
    assert_true(critics_from == 0.7);
    assert_int_equal(critics_of(29, "cpu", NULL, NULL), 0);
    assert_true(critics_from == 0.3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resume_is_exact),
        cmocka_unit_test(the_newest_that_critics_taught_is_the_best),
        cmocka_unit_test(a_large_vocoder_of_half_an_hour_has_critics),
        cmocka_unit_test(same_for_any_way_of_loading),
        cmocka_unit_test(looking_does_not_disturb),
        cmocka_unit_test(it_learns),
        cmocka_unit_test(the_checkpoint_says_what_it_is),
        cmocka_unit_test(wrong_beginnings_are_refused),
        cmocka_unit_test(the_rest_is_as_ever),
        cmocka_unit_test(the_plan_is_what_is_used),
    };
    return cmocka_run_group_tests(tests, setup, teardown_lab);
}
