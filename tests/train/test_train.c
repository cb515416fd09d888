/* test_train.c - runs of the trainer: resume to the bit, workers, validation, schedule, early stopping,
 * refusals, the guard. */
#include "support/train_testing.h"

#include "train/step/schedule.h"
#include "voice/best_note.h"

static const JobOptions plain;

/* ---- exact ---- */

/* A run of 20 steps, and one that is stopped where `stops` say (NULL at the end) and goes on each time. */
static void stop_and_go(const char *what, const char *more, const char *const *stops)
{
    const char *whole = new_folder(), *parts = new_folder();
    TrainSummary s = train(whole, more, plain), part = {0};
    assert_int_equal(s.step, 20);
    int64_t from = 0;
    int pieces = 0;
    for (; stops[pieces]; pieces++) {
        part = train(parts, more, (JobOptions){.stop_at = stops[pieces]});
        assert_int_equal(part.stopped, 1);
        assert_int_equal(part.first_step, from);
        from = part.step;
        assert_true(is_there(step_file(parts, from)));
    }
    part = train(parts, more, plain);
    assert_int_equal(part.first_step, from);
    assert_int_equal(part.step, 20);
    int n = compare_checkpoints(step_file(whole, 20), step_file(parts, 20), NULL);
    printf("%s: 20 steps in one go and in %d pieces: the same bits in all %d tensors\n", what, pieces + 1, n);
}

static void resume_is_exact(void **state)
{
    stop_and_go("cosine", "--log-step 1", (const char *const[]){"step 10/20", NULL});
    stop_and_go(
        "cosine, every few steps", "--log-step 1",
        (const char *const[]){"step 1/20", "step 3/20", "step 7/20", "step 13/20", "step 19/20", NULL});
    stop_and_go("noam, validation every 4", "--log-step 1 --scheduler noam --val-step 4",
                (const char *const[]){"step 6/20", "step 9/20", NULL});
    stop_and_go("4 batches a step", "--log-step 1 --gradient-accumulation-steps 4 --scheduler constant",
                (const char *const[]){"step 5/20", "step 13/20", NULL});
    stop_and_go("no workers, no pipeline", "--log-step 1 --num-workers 0 --native-loading false",
                (const char *const[]){"step 7/20", NULL});
}

/* The first run ends by itself; the constant rate and critics from the beginning know nothing of the end. */
static void ten_and_ten_are_twenty(void **state)
{
    const char *whole = new_folder(), *parts = new_folder(),
               *same = "--scheduler constant --val-split 0 --critic-from 0";
    char ten[200];
    snprintf(ten, sizeof ten, "%s --max-steps 10", same);
    train(whole, same, plain);
    TrainSummary s = train(parts, ten, plain);
    assert_true(s.step == 10 && !s.stopped);
    s = train(parts, same, plain);
    assert_true(s.first_step == 10 && s.step == 20);
    int n = compare_checkpoints(step_file(whole, 20), step_file(parts, 20), NULL);
    assert_true(
        checkpoints_differ(step_file(parts, 10), step_file(parts, 20), "decoder.layers.0.qkv.weight"));
    s = train(parts, same, plain); /* nothing left to do */
    assert_true(s.first_step == 20 && s.step == 20);
    printf("20 = 10 + 10 in all %d tensors\n", n);
}

/* The losses of every interval and the last weights do not depend on how the batches come. */
static void same_for_any_way_of_loading(void **state)
{
    static const char *const ways[] = {
        "--num-workers 2",
        "--num-workers 0",
        "--num-workers 1",
        "--num-workers 8",
        "--native-loading false",
        "--pipeline-buffer-size 3",
        "--enable-memory-mapping false",
        "--model-gpu sim0 --data-gpu sim0",
        "--model-gpu sim0 --data-gpu sim1 --sim jitter=0.5,step_ms=3,read_ms=2"};
    const char *first = NULL;
    double losses[32], others[32];
    int64_t steps[32];
    int n = 0, tensors = 0;
    for (int i = 0; i < (int)(sizeof ways / sizeof *ways); i++) {
        const char *folder = new_folder();
        char more[300];
        snprintf(more, sizeof more, "%s --save-step 5",
                 ways[i]); /* a checkpoint waits for its step, so each line has 5 steps */
        train(folder, more, plain);
        int m = read_lines(folder, "step", "loss", steps, i ? others : losses, 32);
        if (!first) {
            first = folder;
            n = m;
            assert_int_equal(n, 4);
            continue;
        }
        assert_int_equal(m, n);
        for (int k = 0; k < n; k++)
            if (losses[k] != others[k])
                fail_msg("%s: the loss at step %lld is %.17g, not %.17g", ways[i], (long long)steps[k],
                         others[k], losses[k]);
        tensors = compare_checkpoints(step_file(first, 20), step_file(folder, 20), NULL);
        Folder used = {0};
        snprintf(used.path, sizeof used.path, "%s", folder);
        folder_remove(&used);
    }
    printf("%d ways of loading, workers 0, 1, 2, 8 and simulated GPUs among them: the same losses (%.4f ... "
           "%.4f) and %d tensors\n",
           (int)(sizeof ways / sizeof *ways), losses[0], losses[n - 1], tensors);
}

static void pause_at_a_line(void *arg, const TrainerView *view, int last) { usleep(50000); }

/* Validating, saving and reporting are named, and are neither steps nor waiting for data. */
static void pauses_are_no_waiting(void **state)
{
    const char *folder = new_folder();
    TrainSummary s =
        train(folder, "--log-step 1 --val-step 5 --save-step 4", (JobOptions){.watch = pause_at_a_line});
    printf("reports %.2f s, validation %.2f s, saving %.3f s; waited %.1f %%\n", s.beside[BESIDE_REPORTS],
           s.beside[BESIDE_VALIDATION], s.beside[BESIDE_SAVING], 100 * s.wait_share);
    assert_true(s.beside[BESIDE_REPORTS] > 10 * 0.05);
    assert_true(s.beside[BESIDE_VALIDATION] > 0 && s.beside[BESIDE_SAVING] > 0);
    assert_true(s.wait_share < 0.3);
    double sum = 0;
    for (int i = 0; i < BESIDE_COUNT; i++)
        sum += s.beside[i];
    assert_true(sum < s.seconds);
}

static void looking_does_not_disturb(void **state)
{
    const char *calm = new_folder(), *watched = new_folder();
    /* How much the mels are sharpened depends on the clips that are listened to: the same for both. */
    train(calm, "--gradient-accumulation-steps 2 --listen-clips 2", plain);
    train(watched,
          "--gradient-accumulation-steps 2 --val-step 1 --listen-clips 2 --text2audio-interval-steps 3 "
          "--log-step 1 --save-step 2",
          plain);
    int n = compare_checkpoints(step_file(calm, 20), step_file(watched, 20), "train.");
    int64_t steps[64];
    double values[64];
    int validations = read_lines(watched, "validation", "loss", steps, values, 64);
    assert_int_equal(validations, 20);
    int heard =
        read_lines(watched, "heard", "clips", steps, values, 64); /* listeners that are busy leave some out */
    assert_true(heard >= 1 && heard <= 20 && steps[heard - 1] == 20);
    printf("%d validations, speech and checkpoints in between: the same bits in %d tensors\n", validations,
           n);
}

/* ---- the course of a run ---- */

static void rates_are_those_of_the_formulas(void **state)
{
    Config cfg;
    lab_config(&cfg, NULL,
               "--learning-rate 0.004 --min-learning-rate 0.0002 --warmup-steps 100 --scheduler cosine");
    const double peak = 0.004, low = 0.0002;
    assert_true(fabs(schedule_rate(&cfg, 1, 1100) - peak / 100) < 1e-12);
    assert_true(fabs(schedule_rate(&cfg, 50, 1100) - peak / 2) < 1e-12);
    assert_true(fabs(schedule_rate(&cfg, 100, 1100) - peak) < 1e-12);
    assert_true(fabs(schedule_rate(&cfg, 600, 1100) - (peak + low) / 2) < 1e-12);
    assert_true(fabs(schedule_rate(&cfg, 350, 1100) - (low + (peak - low) * (0.5 + sqrt(0.125)))) < 1e-12);
    assert_true(fabs(schedule_rate(&cfg, 1100, 1100) - low) < 1e-12);
    assert_true(fabs(schedule_rate(&cfg, 5000, 1100) - low) < 1e-12);
    for (int64_t s = 2; s <= 1100; s++) /* up, then down, without a jump */
        assert_true(s <= 100 ? schedule_rate(&cfg, s, 1100) > schedule_rate(&cfg, s - 1, 1100)
                             : schedule_rate(&cfg, s, 1100) < schedule_rate(&cfg, s - 1, 1100));
    assert_true(schedule_rate(&cfg, 40, 60) > 0 &&
                schedule_rate(&cfg, 60, 60) > 0); /* a run shorter than its warm-up */
    config_close(&cfg);
    lab_config(&cfg, NULL, "--learning-rate 0.004 --warmup-steps 100 --scheduler noam");
    assert_true(fabs(schedule_rate(&cfg, 25, 1000) - peak / 4) < 1e-12);
    assert_true(fabs(schedule_rate(&cfg, 100, 1000) - peak) < 1e-12);
    assert_true(fabs(schedule_rate(&cfg, 400, 1000) - peak / 2) < 1e-12);
    assert_true(fabs(schedule_rate(&cfg, 10000, 1000) - peak / 10) < 1e-12);
    config_close(&cfg);
    lab_config(&cfg, NULL, "--learning-rate 0.004 --warmup-steps 0 --scheduler noam");
    assert_true(isfinite(schedule_rate(&cfg, 1, 10)) && schedule_rate(&cfg, 1, 10) <= peak);
    config_close(&cfg);
}

/* What a run really used, step by step, over a stop. */
static void run_follows_the_schedule(void **state)
{
    static const char *const names[] = {"cosine", "noam", "constant"};
    for (int k = 0; k < 3; k++) {
        const char *folder = new_folder();
        char more[200];
        Config cfg;
        double rates[64];
        int64_t steps[64];
        snprintf(more, sizeof more, "--scheduler %s --log-step 1 --warmup-steps 6", names[k]);
        train(folder, more, (JobOptions){.stop_at = "step 9/20"});
        train(folder, more, plain);
        int n = read_lines(folder, "step", "lr", steps, rates, 64), at = 0;
        lab_config(&cfg, folder, more);
        for (int i = 0; i < n; i++) {
            assert_true(fabs(rates[i] / schedule_rate(&cfg, steps[i], 20) - 1) < 1e-7);
            assert_true(steps[i] == at || steps[i] == at + 1); /* the line of a stop comes twice */
            at = (int)steps[i];
        }
        assert_int_equal(at, 20);
        printf("%s: lr %.2e at step 1, %.2e at 6, %.2e at 20\n", names[k], rates[0], rates[5], rates[n - 1]);
        config_close(&cfg);
    }
}

static void it_learns(void **state)
{
    const char *folder = new_folder();
    double losses[64], checks[8];
    int64_t steps[64];
    train(folder, "--max-steps 150 --log-step 10 --val-step 50", plain);
    int n = read_lines(folder, "step", "loss", steps, losses, 64),
        m = read_lines(folder, "validation", "loss", steps, checks, 8);
    printf("loss %.3f -> %.3f in 150 steps, validation %.3f -> %.3f\n", losses[0], losses[n - 1], checks[0],
           checks[m - 1]);
    assert_int_equal(m, 3);
    assert_true(losses[n - 1] < 0.7 * losses[0] && checks[m - 1] < checks[0]);
}

static int64_t state_of(const char *path, int field)
{
    SafeTensors f;
    Err err = {0};
    if (safetensors_open(&f, path, &err))
        fail_msg("%s", err.msg);
    const TensorView *t = safetensors_find(&f, "train.state");
    assert_true(t && t->bytes == 17 * sizeof(int64_t));
    int64_t v = ((const int64_t *)t->data)[field];
    safetensors_close(&f);
    return v;
}

static void early_stopping_keeps_the_best(void **state)
{
    const char *folder = new_folder();
    char best[500];
    snprintf(best, sizeof best, "%s/best.safetensors", folder);
    /* So low a rate that no validation is better by much. */
    const char *more =
        "--learning-rate 1e-9 --min-learning-rate 0 --val-step 2 --early-stopping-patience 3 --max-steps 40";
    TrainSummary s = train(folder, more, plain);
    assert_true(s.early && !s.stopped);
    assert_int_equal(s.step, 8);
    assert_int_equal(state_of(best, 0), s.best.step);
    assert_int_equal(state_of(step_file(folder, 8), 5), 3);
    printf("no improvement: stopped at step %lld, the best is step %lld with %.4f\n", (long long)s.step,
           (long long)s.best.step, s.best.loss);
    s = train(folder, more, plain); /* what was stale stays so */
    assert_int_equal(s.first_step, 8);
    assert_int_equal(s.step, 10);
    assert_int_equal(state_of(best, 0), s.best.step);
}

/* The numbers of the log, judged once more. *lowest: the step with the lowest loss. */
static Choice judge_log(const char *folder, int *validations, int64_t *lowest)
{
    static const char *const keys[] = {"loss",        "movement",     "detail",
                                       "pitch_range", "length_ratio", "own_text"};
    double v[6][64];
    int64_t steps[64];
    Choice c;
    int n = 0, best = 0;
    for (int k = 0; k < 6; k++)
        n = read_lines(folder, "validation", keys[k], steps, v[k], 64);
    choice_begin(&c);
    for (int i = 0; i < n; i++) {
        Judged j = {.step = steps[i], .loss = v[0][i]};
        const EarFigures f = {v[1][i], v[2][i], v[3][i], v[4][i]};
        if (choice_speaks(&c, &f, v[5][i], j.loss))
            j.ear = f;
        choice_validate(&c, &j, 8, 0.0005); /* clips: EAR_CLIPS, of nine */
        best = v[0][i] < v[0][best] ? i : best;
    }
    *validations = n;
    *lowest = steps[best];
    return c;
}

/* Takes are held out, not texts: the few words of the corpus teach nothing about others. */
static void hold_out_takes(void)
{
    Buf lines = file_bytes(folder_file(&lab.folder, "data/metadata.csv"));
    FILE *learned = fopen(folder_file(&lab.folder, "data/learned.csv"), "w"),
         *held = fopen(folder_file(&lab.folder, "data/held.csv"), "w");
    assert_true(learned && held);
    buf_add(&lines, "", 1);
    int n = 0;
    for (char *save = NULL, *line = strtok_r((char *)lines.data, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save), n++)
        fprintf((n * 7 + (n + 1) / 5) % 10 < 3 ? held : learned, "%s\n", line);
    fclose(learned);
    fclose(held);
    buf_free(&lines);
}

/* What is spoken decides, also over a stop; the choice is in the checkpoints, in best.json and in the log. */
static void the_best_is_chosen_by_ear(void **state)
{
    const char *whole = new_folder(), *parts = new_folder(),
               *more =
                   "--learning-rate 0.01 --max-steps 120 --val-step 10 --log-step 1 --keep-checkpoints 50 "
                   "--metadata-train-file learned.csv --metadata-eval-file held.csv";
    hold_out_takes();
    TrainSummary s = train(whole, more, plain);
    int64_t lowest;
    int n;
    const Choice c = judge_log(whole, &n, &lowest);
    char path[500];
    Judged note;
    assert_int_equal(n, 12);
    assert_int_equal(s.best.step, c.best.step);
    assert_true(s.best.ear.movement > 0);
    printf("by ear step %lld, by the loss step %lld\n", (long long)c.best.step, (long long)lowest);
    assert_true(c.best.step != lowest); /* or this test shows nothing */
    snprintf(path, sizeof path, "%s/best.safetensors", whole);
    assert_int_equal(state_of(path, 0), s.best.step);
    assert_int_equal(state_of(path, 4), s.best.step);
    assert_true(best_note_read(&note, whole) && memcmp(&note, &s.best, sizeof note) == 0);
    Checkpoint v;
    Err err = {0};
    char why[400];
    assert_int_equal(checkpoint_open(&v, whole, whole, 0, NULL, NULL, &err), 0);
    checkpoint_why(&v, NULL, why, sizeof why);
    assert_true(strncmp(why, "step ", 5) == 0 && atoll(why + 5) == s.best.step);
    assert_non_null(strstr(why, "closest to the recordings (movement "));
    checkpoint_close(&v);
    assert_int_equal(checkpoint_open(&v, step_file(whole, 120), whole, 0, NULL, NULL, &err), 0);
    checkpoint_why(&v, NULL, why, sizeof why);
    assert_true(s.best.step == 120 || strstr(why, "not the best of its run"));
    checkpoint_close(&v);

    TrainSummary part = train(parts, more, (JobOptions){.stop_at = "step 53/120"});
    assert_int_equal(part.stopped, 1);
    part = train(parts, more, plain);
    assert_int_equal(part.best.step, s.best.step);
    compare_checkpoints(step_file(whole, 120), step_file(parts, 120), NULL);
    assert_true(best_note_read(&note, parts) && memcmp(&note, &s.best, sizeof note) == 0);

    /* Words that came after the last checkpoint have changed the choice: the note has it. */
    const Judged other = {.step = 30, .loss = 1, .ear = {0.5, 0.6, 0.7, 0.8}, .words = 10, .wrong = 3};
    assert_int_equal(best_note_write(parts, &other, 1, &err), 0);
    part = train(parts, more, plain); /* nothing left to do */
    assert_true(part.first_step == 120 && memcmp(&part.best, &other, sizeof other) == 0);
}

static void newest_and_best_are_kept(void **state)
{
    Folder folder = {0};
    double losses[64];
    int64_t steps[64], best_step = 0;
    double best = INFINITY;
    snprintf(folder.path, sizeof folder.path, "%s", new_folder());
    /* So high a rate that it gets worse again. */
    TrainSummary s = train(folder.path,
                           "--learning-rate 0.5 --warmup-steps 16 --scheduler constant --val-step 2 "
                           "--save-step 1 --keep-checkpoints 2 "
                           "--early-stopping-min-delta 0 --max-steps 16 --max-loss-spike-threshold 1000000",
                           plain);
    int n = read_lines(folder.path, "validation", "loss", steps, losses, 64);
    assert_int_equal(n, 8);
    for (int i = 0; i < n; i++)
        if (losses[i] < best)
            best = losses[i], best_step = steps[i];
    assert_int_equal(s.best.step, best_step);
    assert_true(fabs(s.best.loss / best - 1) < 1e-7);
    assert_int_equal(state_of(folder_file(&folder, "best.safetensors"), 0), best_step);
    char names[4096];
    snprintf(names, sizeof names, "%s", folder_names(&folder));
    printf("best step %lld of 16 (%.3f, at the end %.3f); kept: %s\n", (long long)best_step, best,
           losses[n - 1], names);
    assert_true(best_step < 16); /* or this test shows nothing */
    assert_non_null(strstr(names, "best.safetensors"));
    assert_non_null(strstr(names, "step-00000015.safetensors step-00000016.safetensors "));
    assert_null(strstr(names, "step-00000014"));
    assert_null(strstr(names, ".tmp"));
}

/* ---- refusals ---- */

static void refused(const char *folder, const char *more, int code, const char *const *words)
{
    Job j;
    int rc = job_try(&j, folder, more, plain);
    printf("refused (%s): %s%s%s\n", more, j.err.msg, j.err.hint[0] ? "; " : "", j.err.hint);
    assert_int_equal(rc, code);
    for (int i = 0; words[i]; i++)
        if (!strstr(j.err.msg, words[i]) && !strstr(j.err.hint, words[i]))
            fail_msg("\"%s\" is not said", words[i]);
    job_close(&j);
}
#define WORDS(...) \
    (const char *const[]) { __VA_ARGS__, NULL }

/* Mels of another kind with the same number of bands: caches of their own, so that only the checkpoint can
 * object. */
static void refused_features(const char *folder)
{
    Config cfg;
    Log log;
    Err err = {0};
    PrepareReport report = {0};
    char more[500];
    snprintf(more, sizeof more, "--hop-length 80 --cache-dir %s/other-cache", lab.folder.path);
    lab_config(&cfg, NULL, more);
    log_init(&log, LOG_ERROR);
    assert_int_equal(prepare_run(&cfg, &(PrepareOptions){.text = 1, .mel = 1}, &report, &log, &err), 0);
    prepare_report_free(&report);
    config_close(&cfg);
    refused(folder, more, ERR_CONFIG, WORDS("hop_length 100", "80"));
}

static void what_does_not_go_together_is_refused(void **state)
{
    Folder folder = {0}, copy = {0};
    snprintf(folder.path, sizeof folder.path, "%s", new_folder());
    snprintf(copy.path, sizeof copy.path, "%s", new_folder());
    train(folder.path, "--max-steps 6 --save-step 2", plain);
    assert_int_equal(file_make_dirs(copy.path, NULL), 0);
    folder_copy(&copy, &folder);
    refused(folder.path, "--resume none", ERR_USAGE,
            WORDS("--resume none", "step-00000006", "--checkpoint-dir"));
    refused(folder.path, "--seed 8", ERR_CONFIG, WORDS("--seed 7", "8", "--checkpoint-dir"));
    refused(folder.path, "--decoder-dim 64", ERR_CONFIG, WORDS("decoder_dim 32", "64", "step-00000006"));
    refused(folder.path, "--decoder-layers 3", ERR_CONFIG, WORDS("decoder_layers 2", "3"));
    refused_features(folder.path);
    refused(folder.path, "--resume /nowhere/at/all.safetensors", ERR_MISSING, WORDS("/nowhere/at/all"));
    refused(folder.path, "--resume /dev/null", ERR_FORMAT, WORDS("/dev/null"));
    /* Not a checkpoint was touched. */
    static const char *const names[] = {"step-00000002.safetensors", "step-00000004.safetensors",
                                        "step-00000006.safetensors"};
    for (int i = 0; i < 3; i++) {
        Buf a = file_bytes(folder_file(&folder, names[i])), b = file_bytes(folder_file(&copy, names[i]));
        assert_true(a.size == b.size && memcmp(a.data, b.data, a.size) == 0);
        buf_free(&a);
        buf_free(&b);
    }
    /* Named ones are gone on from, also from another folder; auto takes the newest. */
    char more[700];
    snprintf(more, sizeof more, "--resume %s --max-steps 8", folder_file(&folder, names[1]));
    TrainSummary s = train(new_folder(), more, plain);
    assert_true(s.first_step == 4 && s.step == 8);
    s = train(folder.path, "--max-steps 8", plain);
    assert_true(s.first_step == 6 && s.step == 8);
}

/* A damaged newest one: the one before it. All damaged: no silent new beginning, not even when it is asked
 * for. */
static void changed_byte_is_found(void **state)
{
    Folder folder = {0};
    Job j;
    snprintf(folder.path, sizeof folder.path, "%s", new_folder());
    train(folder.path, "--max-steps 6 --save-step 2", plain);
    Buf bytes = file_bytes(folder_file(&folder, "step-00000006.safetensors"));
    file_put_byte(folder_file(&folder, "step-00000006.safetensors"), bytes.size / 2,
                  bytes.data[bytes.size / 2] ^ 1);
    assert_int_equal(job_try(&j, folder.path, "--max-steps 5", (JobOptions){0}), 0);
    assert_int_equal(j.summary.first_step, 4);
    assert_non_null(strstr(job_log(&j), "step-00000006.safetensors"));
    char said[300];
    snprintf(said, sizeof said, "%.200s", strstr(job_log(&j), "skipping this checkpoint"));
    printf("%.*s\n", (int)strcspn(said, "\n"), said);
    job_close(&j);
    for (int step = 2; step <= 6; step++)
        if (is_there(step_file(folder.path, step)))
            file_put_byte(step_file(folder.path, step), 3000, 0xAA);
    refused(folder.path, "--resume auto", ERR_DAMAGED, WORDS(folder.path));
    refused(folder.path, "--resume none", ERR_USAGE, WORDS(folder.path));
    buf_free(&bytes);
}

/* ---- the guard ---- */

static void bad_gradient_is_left_out(void **state)
{
    static const char *const devices[] = {"", "--model-gpu sim0 --data-gpu sim1"};
    for (int d = 0; d < 2; d++) {
        const char *five = new_folder(), *six = new_folder(), *ten = new_folder();
        char more[200];
        Job j;
        int64_t steps[8];
        double values[8];
        snprintf(more, sizeof more, "%s --scheduler constant --max-steps 5", devices[d]);
        train(five, more, plain);
        snprintf(more, sizeof more, "%s --scheduler constant --max-steps 6", devices[d]);
        TrainSummary s = train(six, more, (JobOptions){.poison_from = 6, .poison_count = 1});
        assert_int_equal(s.skipped, 1);
        int n = compare_checkpoints(step_file(five, 5), step_file(six, 6), "train.");
        snprintf(more, sizeof more, "%s --scheduler constant --max-steps 10 --log-step 1", devices[d]);
        assert_int_equal(job_try(&j, ten, more, (JobOptions){.poison_from = 6, .poison_count = 2}), 0);
        assert_int_equal(j.summary.skipped, 2);
        assert_true(isfinite(j.summary.loss));
        const char *said = strstr(job_log(&j), "step 6 was skipped");
        assert_non_null(said);
        assert_non_null(strstr(job_log(&j), "step 7 was skipped: its gradient is not finite"));
        assert_null(strstr(job_log(&j), "step 8 was skipped"));
        int events = read_lines(ten, "skipped", "text", steps, values, 8);
        assert_int_equal(events, 2);
        assert_true(steps[0] == 6 && steps[1] == 7);
        assert_true(
            checkpoints_differ(step_file(five, 5), step_file(ten, 10), "decoder.layers.0.qkv.weight"));
        printf("%s: %.*s; %d tensors unchanged in that step\n", d ? "sim" : "cpu", (int)strcspn(said, "\n"),
               said, n);
        job_close(&j);
    }
}

static void bad_gradients_in_a_row_stop_the_run(void **state)
{
    static const char *const more[] = {
        "--max-steps 100 --save-step 5 --guard-max-skips 4",
        "--max-steps 100 --save-step 5 --guard-max-skips 4 --keep-checkpoints 1",
        "--max-steps 100 --save-step 5 --guard-max-skips 4 --model-gpu sim0 --data-gpu sim0"};
    for (int k = 0; k < 3; k++) {
        const char *folder = new_folder();
        Job j;
        assert_int_equal(job_try(&j, folder, more[k], (JobOptions){.poison_from = 7, .poison_count = 1000}),
                         ERR_DATA);
        printf("stopped: %s\n", j.err.msg);
        assert_non_null(strstr(j.err.msg, "4 steps in a row"));
        const char *name = strstr(j.err.msg, folder); /* the checkpoint that is named is there, and good */
        assert_non_null(name);
        char path[500];
        snprintf(path, sizeof path, "%.*s", (int)strcspn(name, " ,;\n"), name);
        for (size_t n = strlen(path); n && !is_there(path); n--)
            path[n - 1] = 0;
        SafeTensors f;
        assert_int_equal(safetensors_open(&f, path, NULL), 0);
        const TensorView *t = safetensors_find(&f, "symbols.weight");
        for (uint64_t i = 0; t && i < t->bytes / 4; i++)
            assert_true(isfinite(((const float *)t->data)[i]));
        safetensors_close(&f);
        assert_string_equal(j.summary.last_checkpoint, path);
        job_close(&j);
        char again[300];
        snprintf(again, sizeof again, "%s --max-steps 14", k == 2 ? "--model-gpu sim0 --data-gpu sim0" : "");
        TrainSummary s = train(folder, again, plain); /* without the cause it goes on */
        assert_true(s.step == 14 && isfinite(s.loss) && s.skipped == 0);
    }
    /* The first good one is not written yet. */
    Job j;
    assert_int_equal(job_try(&j, new_folder(), "--guard-max-skips 2",
                             (JobOptions){.poison_from = 1, .poison_count = 1000}),
                     ERR_DATA);
    printf("stopped: %s\n", j.err.msg);
    job_close(&j);
}

/* ---- other ---- */

/* With another batch size the place in the epoch is about the same, and it says so. */
static void other_batch_size_goes_on(void **state)
{
    const char *folder = new_folder();
    Job j;
    const TrainSummary part =
        train(folder, "--batch-size 2 --log-step 1", (JobOptions){.stop_at = "step 5/20"});
    assert_int_equal(job_try(&j, folder, "--batch-size 8", plain), 0);
    assert_true(j.summary.first_step == part.step && j.summary.step == 20 && isfinite(j.summary.loss));
    const char *said = strstr(job_log(&j), "a batch had 2 clips and has 8 now: the rest of epoch 0");
    assert_non_null(said);
    printf("%.*s\n", (int)strcspn(said, "\n"), said);
    job_close(&j);
    TrainSummary s = train(folder, "--batch-size 1 --max-steps 25", plain);
    assert_true(s.first_step == 20 && s.step == 25);
}

/* Every clip is a speaker of its own: those held out have no clip to take their voice from, and validation
 * still speaks. */
static void speakers_without_a_training_clip(void **state)
{
    const char *folder = new_folder();
    int64_t steps[8];
    double clips[8];
    Job j;
    Buf lines = file_bytes(folder_file(&lab.folder, "data/metadata.csv"));
    FILE *f = fopen(folder_file(&lab.folder, "data/lonely.csv"), "w");
    assert_non_null(f);
    buf_add(&lines, "", 1);
    for (char *save = NULL, *line = strtok_r((char *)lines.data, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save))
        fprintf(f, "%.*s\n", (int)(strrchr(line, '|') - line), line); /* without the speaker */
    fclose(f);
    buf_free(&lines);
    static const char more[] =
        "--metadata-train-file lonely.csv --speaker-id-pattern (clip[0-9]+) --val-step 5 --max-steps 10 "
        "--text2audio-interval-steps 5 --listen-clips 2";
    int rc = job_try(&j, folder, more, plain);
    if (rc)
        fail_msg("%s", j.err.msg);
    int lonely = 0;
    for (uint32_t i = 0; i < j.validation.count; i++) {
        int there = 0;
        for (uint32_t k = 0; k < j.train.count; k++)
            there |= j.train.items[k].speaker == j.validation.items[i].speaker;
        lonely += !there;
    }
    assert_true(read_lines(folder, "heard", "clips", steps, clips, 8) >= 1);
    printf("%d speakers, %d held-out clips of speakers that training has not heard: %g spoken\n",
           j.train.speaker_count, lonely, clips[0]);
    assert_true(lonely > 0 && clips[0] > 0);
    job_close(&j);
}

static void failed_device_ends_the_run(void **state)
{
    static const char *const where[] = {"h2d", "preprocess", "step"};
    for (int i = 0; i < 3; i++) {
        const char *folder = new_folder();
        char more[200];
        Job j;
        snprintf(more, sizeof more, "--model-gpu sim0 --data-gpu sim1 --sim fail=%s:9 --save-step 4",
                 where[i]);
        assert_int_equal(job_try(&j, folder, more, plain), ERR_DEVICE);
        printf("%s: %s; last checkpoint step %lld\n", where[i], j.err.msg,
               (long long)state_of(j.summary.last_checkpoint, 0));
        assert_true(j.summary.step < 20);
        assert_int_equal(state_of(j.summary.last_checkpoint, 0) % 4, 0);
        assert_non_null(strstr(j.err.hint, "the same command continues from"));
        job_close(&j);
        TrainSummary s = train(folder, "", plain);
        assert_true(s.first_step >= 4 && s.step == 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resume_is_exact),
        cmocka_unit_test(ten_and_ten_are_twenty),
        cmocka_unit_test(same_for_any_way_of_loading),
        cmocka_unit_test(looking_does_not_disturb),
        cmocka_unit_test(pauses_are_no_waiting),
        cmocka_unit_test(rates_are_those_of_the_formulas),
        cmocka_unit_test(run_follows_the_schedule),
        cmocka_unit_test(it_learns),
        cmocka_unit_test(early_stopping_keeps_the_best),
        cmocka_unit_test(the_best_is_chosen_by_ear),
        cmocka_unit_test(newest_and_best_are_kept),
        cmocka_unit_test(what_does_not_go_together_is_refused),
        cmocka_unit_test(changed_byte_is_found),
        cmocka_unit_test(bad_gradient_is_left_out),
        cmocka_unit_test(bad_gradients_in_a_row_stop_the_run),
        cmocka_unit_test(other_batch_size_goes_on),
        cmocka_unit_test(speakers_without_a_training_clip),
        cmocka_unit_test(failed_device_ends_the_run),
    };
    return cmocka_run_group_tests(tests, setup_lab, teardown_lab);
}
