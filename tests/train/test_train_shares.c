/* test_train_shares.c - a batch that is worked on in parts teaches the same as the whole one: losses,
 * repeated runs, and runs that continue with other parts. MYXTTS_LONG=1: 100 steps. The network is small: in
 * a larger one two alignments of a clip are sooner or later equally good, rounding chooses, and the losses
 * jump; a learning rate that is 1e-7 higher makes them jump likewise. */
#include "support/train_testing.h"

#include "voice/safetensors.h"

#define VOICE "--dropout 0.1 --learning-rate 0.001 --scheduler constant --log-step 1 "
#define VOCODER \
    VOICE "--network vocoder --vocoder-dim 16 --vocoder-layers 2 --vocoder-segment-frames 13 " \
          "--augment-gain-db 6 "
#define CLOSE 1e-4 /* losses of runs that teach the same */

enum { MOST_LINES = 400 };

static const JobOptions plain;

static int setup(void **state) { return setup_lab_with_samples(state, VOCODER); }

/* The losses of steps 1 .. count, of every `each`th. The line at the end of a run that is stopped repeats the
 * step before it. */
static void read_losses(double *losses, const char *folder, const char *event, int count, int each)
{
    static int64_t steps[MOST_LINES];
    static double values[MOST_LINES];
    int n = read_lines(folder, event, "loss", steps, values, MOST_LINES);
    for (int i = 1; i <= count; i++)
        losses[i] = NAN;
    for (int i = n - 1; i >= 0; i--) {
        assert_in_range(steps[i], 1, count);
        losses[steps[i]] = values[i];
    }
    for (int i = each; i <= count; i += each)
        assert_true(isfinite(losses[i]));
}

/* The largest difference of the losses of two runs. */
static double furthest(const char *a, const char *b, const char *event, int count, int each)
{
    static double x[MOST_LINES], y[MOST_LINES];
    double most = 0;
    read_losses(x, a, event, count, each);
    read_losses(y, b, event, count, each);
    for (int i = each; i <= count; i += each)
        most = fmax(most, fabs(x[i] - y[i]));
    return most;
}

/* 16 rows at once, and in parts of 8, 4 and 2. */
static void parts_teach_the_same(const char *what, const char *more, int steps)
{
    static const int parts[] = {8, 4, 2};
    char options[700];
    const char *whole = new_folder();
    snprintf(options, sizeof options, "%s --batch-size 16 --max-steps %d --val-step 5", more, steps);
    train(whole, options, plain);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *folder = new_folder(), *again = new_folder();
        snprintf(options, sizeof options,
                 "%s --batch-size %d --global-batch-size 16 --max-steps %d --val-step 5", more, parts[i],
                 steps);
        train(folder, options, plain);
        double losses = furthest(whole, folder, "step", steps, 1);
        double validation = furthest(whole, folder, "validation", steps, 5);
        printf("%s, %d steps, 16 rows in parts of %d: losses within %.1e, validation within %.1e\n", what,
               steps, parts[i], losses, validation);
        assert_true(losses <= CLOSE && validation <= CLOSE);
        if (i)
            continue;
        train(again, options, plain);
        assert_true(compare_checkpoints(step_file(folder, steps), step_file(again, steps), NULL) > 10);
    }
}

static void a_batch_in_parts_teaches_the_same(void **state)
{
    parts_teach_the_same("voice", VOICE, 20);
    parts_teach_the_same("voice, 2 batches a step", VOICE "--gradient-accumulation-steps 2", 10);
    parts_teach_the_same("vocoder", VOCODER, 20);
    if (is_long())
        parts_teach_the_same("voice", VOICE, 100);
}

/* An epoch has two batches and a half: every stop but one is in the middle of an epoch. */
static void other_parts_go_on(void **state)
{
    static const struct {
        const char *options, *stop, *said;
    } runs[] = {
        {"--batch-size 16", "step 5/20", NULL},
        {"--batch-size 8 --global-batch-size 16", "step 9/20", "this run has batches of 16 clips: 2 x 8\n"},
        {"--batch-size 4 --global-batch-size 16", "step 14/20", "this run has batches of 16 clips: 4 x 4\n"},
        {"--batch-size 6 --global-batch-size 16", "step 17/20",
         "this run has batches of 16 clips: at most 3 x 6\n"},
        {"--batch-size 16 --global-batch-size 16", NULL, NULL}};
    const char *whole = new_folder(), *parts = new_folder();
    train(whole, VOICE "--batch-size 16", plain);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        Job j;
        char options[300];
        snprintf(options, sizeof options, "%s %s", VOICE, runs[i].options);
        if (job_try(&j, parts, options, (JobOptions){.stop_at = runs[i].stop}))
            fail_msg("%s", j.err.msg);
        if (runs[i].said && !strstr(job_log(&j), runs[i].said))
            fail_msg("%s does not say %s", job_log(&j), runs[i].said);
        assert_null(strstr(job_log(&j), "shuffled again"));
        job_close(&j);
    }
    double losses = furthest(whole, parts, "step", 20, 1);
    printf("20 steps in five pieces, each with other parts: losses within %.1e\n", losses);
    assert_true(losses <= CLOSE);
}

/* The batch is the run's: who resumes it with the same batch_size keeps it. Another one is another batch. */
static void the_batch_is_kept(void **state)
{
    const char *folder = new_folder();
    Job j;
    train(folder, VOICE "--batch-size 4 --global-batch-size 8 --max-steps 3", plain);
    assert_int_equal(job_try(&j, folder, VOICE "--batch-size 4 --max-steps 5", plain), 0);
    assert_non_null(strstr(job_log(&j), "this run has batches of 8 clips: 2 x 4\n"));
    job_close(&j);
    assert_int_equal(job_try(&j, folder, VOICE "--batch-size 2 --max-steps 7", plain), 0);
    const char *said = strstr(job_log(&j), "a batch had 8 clips and has 2 now");
    assert_non_null(said);
    printf("%.*s\n", (int)strcspn(said, "\n"), said);
    assert_null(strstr(job_log(&j), "this run has batches"));
    job_close(&j);
    assert_int_equal(job_try(&j, folder, VOICE "--batch-size 2 --max-steps 9", plain), 0);
    assert_null(strstr(job_log(&j), "now"));
    job_close(&j);
}

/* In those days there were no critics either. */
#define OF_BEFORE VOICE "--critic-from 1 "

/* Writes a checkpoint again as it was before its batch was in it. */
static void take_the_batch_out(const char *path)
{
    SafeTensors f;
    Err err = {0};
    MetaEntry meta[16];
    int n_meta = 0;
    char copy[600];
    snprintf(copy, sizeof copy, "%s.old", path);
    assert_int_equal(safetensors_open(&f, path, &err), 0);
    for (int i = 0; i < f.n_meta; i++)
        if (strcmp(f.meta[i].key, "xxh128") != 0 && strcmp(f.meta[i].key, "written_by") != 0)
            meta[n_meta++] = f.meta[i];
    for (int i = 0; i < f.count; i++)
        if (strcmp(f.tensors[i].name, "train.state") == 0) {
            assert_int_equal(f.tensors[i].shape[0], 17);
            f.tensors[i].shape[0] = 8;
            f.tensors[i].bytes = 8 * sizeof(int64_t);
        }
    if (safetensors_write(copy, meta, n_meta, f.tensors, f.count, &err))
        fail_msg("%s", err.msg);
    safetensors_close(&f);
    assert_int_equal(rename(copy, path), 0);
}

static void a_checkpoint_of_before_goes_on(void **state)
{
    const char *whole = new_folder(), *parts = new_folder();
    train(whole, OF_BEFORE "--batch-size 8", plain);
    train(parts, OF_BEFORE "--batch-size 8", (JobOptions){.stop_at = "step 7/20"});
    int64_t stopped = 7;
    while (!is_there(step_file(parts, stopped)))
        assert_true(++stopped < 20);
    take_the_batch_out(step_file(parts, stopped));
    TrainSummary s = train(parts, OF_BEFORE "--batch-size 8", plain);
    assert_int_equal(s.first_step, stopped);
    assert_true(compare_checkpoints(step_file(whole, 20), step_file(parts, 20), NULL) > 10);
    /* And in parts, because its batch was its batch_size. */
    const char *again = new_folder();
    train(again, OF_BEFORE "--batch-size 8", (JobOptions){.stop_at = "step 7/20"});
    for (stopped = 7; !is_there(step_file(again, stopped)); stopped++)
        assert_true(stopped < 20);
    take_the_batch_out(step_file(again, stopped));
    train(again, OF_BEFORE "--batch-size 2 --global-batch-size 8", plain);
    assert_true(furthest(whole, again, "step", 20, 1) <= CLOSE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_in_parts_teaches_the_same),
        cmocka_unit_test(other_parts_go_on),
        cmocka_unit_test(the_batch_is_kept),
        cmocka_unit_test(a_checkpoint_of_before_goes_on),
    };
    return cmocka_run_group_tests(tests, setup, teardown_lab);
}
