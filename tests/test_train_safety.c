/* test_train_safety.c - what a training must not lose or change silently: good weights when it diverges, its
 * checkpoint when the data vanish, the meaning of the best when settings or clips change. */
#include "support/train_process.h"

static void expect(const Run *r, int code, const char *text)
{
    if (r->code != code || (text && !strstr((const char *)r->stderr_text.data, text)))
        fail_msg("exit code %d where %d was expected, or no \"%s\": %s", r->code, code, text ? text : "",
                 (const char *)r->stderr_text.data);
}

/* ---- divergence ---- */

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_diverged_run_goes_on_from_good_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
