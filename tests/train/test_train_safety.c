/* test_train_safety.c - what a training must not lose or change silently: good weights when it diverges, its
 * checkpoint when the data vanish, the meaning of the best when settings or clips change. */
#include "support/folder_testing.h"
#include "support/train_process.h"

static void expect(const Run *r, int code, const char *text)
{
    const char *said = (const char *)r->stderr_text.data;
    size_t n = strlen(said);
    if (r->code != code || (text && !strstr(said, text)))
        fail_msg("exit code %d where %d was expected, or no \"%s\": %s", r->code, code, text ? text : "",
                 n > 600 ? said + n - 600 : said); /* longer messages are cut */
}

/* ---- divergence ---- */

/* For the doctor: the log alone says what has happened. */
static void log_says_so(const char *folder)
{
    char path[300];
    snprintf(path, sizeof path, "%s/log.jsonl", folder);
    Buf log = file_bytes(path);
    const char *line = strstr(log.data, "\"event\":\"diverged\"");
    assert_non_null(line);
    const char *loss = strstr(line, "\"loss\":"), *lowest = strstr(line, "\"lowest_loss\":");
    assert_true(loss && lowest);
    assert_true(strtod(loss + 7, NULL) > 2 * strtod(lowest + 14, NULL));
    buf_free(&log);
}

/* The learning rate rises until the weights break. The checkpoints of then are not those that the next run
 * finds, and the advice is followed: with a lower rate it goes on, and learns. */
static void a_diverged_run_goes_on_from_good_weights(void **state)
{
    static const char *const rates[] = {"0.7", "1", "1"}, *const warmups[] = {"200", "200", "60"};
    Corpus *c = *state;
    make_voice_corpus(c);
    for (int i = 0; i < 3; i++) {
        char folder[256];
        Run r;
        snprintf(folder, sizeof folder, "%s/diverges%d", c->root, i);
        train_start(&r, c, folder, 400, 5,
                    (const char *const[]){"--epochs", "100000", "--learning-rate", rates[i], "--warmup-steps",
                                          warmups[i], "--val-step", "20", "--keep-checkpoints", i ? "3" : "1",
                                          "--guard-max-skips", "12", NULL},
                    NULL);
        run_wait(&r, 120);
        expect(&r, 3, "12 steps in a row gave no usable gradient");
        expect(&r, 3, "the last good checkpoint is ");
        expect(&r, 3, "lower --learning-rate");
        int64_t at = check_folder(folder);
        const char *named = strstr((const char *)r.stderr_text.data, "the last good checkpoint is ");
        assert_true(at > 0);
        assert_non_null(strstr(named, strrchr(step_file(folder, at), '/')));
        print_message("rate %s: %.*s\n", rates[i], (int)strcspn(named, "\n"), named);
        run_free(&r);
        log_says_so(folder);
        train_start(&r, c, folder, (int)at + 60, 50,
                    (const char *const[]){"--epochs", "100000", "--learning-rate", "0.002", "--warmup-steps",
                                          "4", "--json", NULL},
                    NULL);
        run_wait(&r, 120);
        expect(&r, 0, NULL);
        json_t *o = json_loads((const char *)r.stdout_text.data, 0, NULL);
        assert_int_equal(json_integer_value(json_object_get(o, "first_step")), at);
        double loss = json_number_value(json_object_get(o, "loss"));
        assert_true(loss > 0 && loss < 4);
        json_decref(o);
        run_free(&r);
    }
}

/* ---- data that vanish ---- */

/* The recordings are moved away while they are read: the run ends with their place, its weights are saved,
 * and when they are back it goes on. */
static void vanished_recordings_end_the_run(void **state)
{
    static const char *const reads[] = {"--preprocessing-mode", "on_the_fly", "--log-step", "1",
                                        "--val-step",           "70",         NULL};
    Corpus *c = *state;
    char folder[256], wavs[256], away[256];
    Run r;
    make_voice_corpus(c);
    snprintf(folder, sizeof folder, "%s/vanishing", c->root);
    snprintf(wavs, sizeof wavs, "%s/wavs", c->data);
    snprintf(away, sizeof away, "%s/away", c->data);
    train_start(&r, c, folder, 600, 300, reads, NULL);
    wait_for(&r, "step 20/");
    assert_int_equal(rename(wavs, away), 0);
    run_wait(&r, 120);
    expect(&r, 3, "batches in a row could be loaded");
    expect(&r, 3, wavs); /* where they should be */
    assert_null(strstr((const char *)r.stderr_text.data, "loss 0.0000"));
    int64_t at = check_folder(folder);
    assert_true(at >= 20 && at < 600);
    run_free(&r);
    /* Still away: nothing is made worse. */
    train_start(&r, c, folder, 600, 300, reads, NULL);
    run_wait(&r, 120);
    assert_int_equal(r.code, 3);
    run_free(&r);
    assert_int_equal(check_folder(folder), at);
    assert_int_equal(rename(away, wavs), 0);
    train_to_end(c, folder, 600, 300, reads, 0);
    assert_int_equal(check_folder(folder), 600);
    print_message("recordings gone: saved at step %lld, went on when they were back\n", (long long)at);
}

/* Only those of the validation: it does not count, and the best stays what it was. */
static void a_validation_without_clips_is_none(void **state)
{
    Corpus *c = *state;
    char folder[256], path[300], away[300];
    make_voice_corpus(c);
    snprintf(folder, sizeof folder, "%s/validating", c->root);
    FILE *f = fopen(path_of(c->data, "eval.csv"), "wb");
    fprintf(f, "held0|old hill|old hill|anna\nheld3|green hill|green hill|anna\n");
    fclose(f);
    assert_int_equal(mkdir(path_of(c->data, "held"), 0777), 0);
    for (int i = 0; i < 4; i += 3) {
        snprintf(path, sizeof path, "%s/held/held%d.wav", c->data, i);
        Buf b = file_bytes(clip_path(c, i));
        file_put(path, b.data, b.size);
        buf_free(&b);
    }
    const char *const reads[] = {"--preprocessing-mode",
                                 "on_the_fly",
                                 "--metadata-eval-file",
                                 "eval.csv",
                                 "--wavs-eval-dir",
                                 "held",
                                 "--val-step",
                                 "20",
                                 "--log-step",
                                 "5",
                                 "--epochs",
                                 "100000",
                                 "--json",
                                 NULL};
    Run r;
    train_start(&r, c, folder, 1500, 500, reads, NULL);
    wait_for(&r, "validation at step 20");
    snprintf(path, sizeof path, "%s/held", c->data);
    snprintf(away, sizeof away, "%s/away", c->data);
    assert_int_equal(rename(path, away), 0);
    run_wait(&r, 120);
    expect(&r, 0, "could load only 0 of 2 clips and does not count");
    json_t *o = json_loads((const char *)r.stdout_text.data, 0, NULL);
    assert_true(json_number_value(json_object_get(o, "best_loss")) > 0);
    assert_true(json_integer_value(json_object_get(o, "best_step")) < 1500);
    json_decref(o);
    run_free(&r);
}

/* ---- the best, and the folder ---- */

/* The step that best.safetensors is of. */
static int64_t best_step(const char *folder)
{
    Err err = {0};
    SafeTensors f;
    if (safetensors_open(&f, path_of(folder, "best.safetensors"), &err))
        fail_msg("%s", err.msg);
    const int64_t step = strtoll(safetensors_meta(&f, "step"), NULL, 10);
    safetensors_close(&f);
    return step;
}

/* A run that goes back is not as good there as it was; the best is not replaced by the first that comes. */
static void going_back_keeps_the_best(void **state)
{
    static const char *const options[] = {
        "--val-step", "20", "--keep-checkpoints", "9", "--epochs", "100000", "--listen-clips", "0", NULL};
    Corpus *c = *state;
    char folder[256];
    Run r;
    make_voice_corpus(c);
    snprintf(folder, sizeof folder, "%s/back", c->root);
    train_to_end(c, folder, 120, 20, options, 0);
    const int64_t best = best_step(folder);
    assert_true(best > 42);
    train_start(&r, c, folder, 42, 20,
                (const char *const[]){"--val-step", "20", "--epochs", "100000", "--listen-clips", "0",
                                      "--keep-checkpoints", "9", "--resume", step_file(folder, 20), NULL},
                NULL);
    run_wait(&r, 120);
    expect(&r, 0, "going back to step 20; the best checkpoint is still step");
    run_free(&r);
    assert_int_equal(best_step(folder), best);
}

/* Somebody tidies up while it trains. */
static void a_folder_that_is_moved_is_made_again(void **state)
{
    Corpus *c = *state;
    char folder[256], away[256];
    Run r;
    make_voice_corpus(c);
    snprintf(folder, sizeof folder, "%s/moving", c->root);
    snprintf(away, sizeof away, "%s/moved", c->root);
    train_start(&r, c, folder, 300, 10, (const char *const[]){"--epochs", "100000", "--log-step", "1", NULL},
                NULL);
    wait_for(&r, "step 20/");
    assert_int_equal(rename(folder, away), 0);
    run_wait(&r, 120);
    expect(&r, 0, "was moved to ");
    assert_non_null(strstr((const char *)r.stderr_text.data, away));
    assert_int_equal(check_folder(folder), 300);
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_diverged_run_goes_on_from_good_weights), T(vanished_recordings_end_the_run),
        T(a_validation_without_clips_is_none),       T(going_back_keeps_the_best),
        T(a_folder_that_is_moved_is_made_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
