/* test_exit_codes.c - every command with a call that goes well, one that finds something, one that is wrong
 * use and one where the machine or the data fail: 0, 1, 2 and 3. Also what `profile dual` and `--version`
 * say. */
#include "support/prepare_testing.h"

#define MOST 26

typedef struct Call {
    int code;
    const char *args[MOST];
} Call;

typedef struct Lab {
    Corpus *c;
    char run[200], wav[200], none[200], config[200], broken[200], out[200], aligned[200];
} Lab;

/* A corpus, its caches, and a run of a few steps. */
static void make_lab(Lab *l, Corpus *c)
{
    *l = (Lab){.c = c};
    corpus_fill(c, 8, 1.0);
    snprintf(l->run, sizeof l->run, "%s/run", c->root);
    snprintf(l->aligned, sizeof l->aligned, "%s/aligned", c->root);
    snprintf(l->wav, sizeof l->wav, "%s", clip_path(c, 0));
    snprintf(l->none, sizeof l->none, "%s/none", c->root);
    snprintf(l->out, sizeof l->out, "%s/out.wav", c->root);
    snprintf(l->config, sizeof l->config, "%s/good.yaml", c->root);
    snprintf(l->broken, sizeof l->broken, "%s/broken.yaml", c->root);
    file_put(l->config, "data:\n  batch_size: 2\n", 22);
    file_put(l->broken, "data:\n  batch_size: 0\n", 22);
}

static void check(const Call *calls, size_t n)
{
    int wrong = 0;
    for (size_t i = 0; i < n; i++) {
        Run r = {0};
        run_program_env(&r, calls[i].args, NULL);
        if (r.code != calls[i].code) {
            char command[600] = "";
            for (const char *const *a = calls[i].args; *a; a++)
                snprintf(command + strlen(command), sizeof command - strlen(command), " %s", *a);
            print_error("%s: ended with %d, not %d\n%s%s\n", command, r.code, calls[i].code,
                        r.stderr_text.data, r.stdout_text.size < 3000 ? r.stdout_text.data : "");
            wrong++;
        }
        /* What fails says so in a sentence, and where JSON was wanted nothing else is in stdout. */
        if (r.code >= 2 && !strstr(r.stderr_text.data, "error: "))
            fail_msg("%s %s: no error in stderr: %s", calls[i].args[0], calls[i].args[1], r.stderr_text.data);
        run_free(&r);
    }
    assert_int_equal(wrong, 0);
}

#define DATA "--data-path", c->data, "--cache-dir", c->cache
#define SMALL "--model-size", "nano", "--batch-size", "2", "--model-gpu", "cpu", "--data-gpu", "cpu"
#define SIM "--model-size", "nano", "--batch-size", "2", "--model-gpu", "sim1", "--data-gpu", "sim0"
#define CHECK(...) check((const Call[]){__VA_ARGS__}, sizeof((const Call[]){__VA_ARGS__}) / sizeof(Call))

static void test_data_commands(void **state)
{
    Lab lab;
    make_lab(&lab, *state);
    const Lab *l = &lab;
    const Corpus *c = l->c;
    CHECK({0, {"prepare", DATA}}, {2, {"prepare"}}, {2, {"prepare", DATA, "--stages", "x"}},
          {3, {"prepare", "--data-path", l->none}}, {2, {"prepare", DATA, "--batch-size", "0"}},
          {0, {"info", DATA}}, {1, {"info", DATA, "--max-text-length", "4"}}, {2, {"info"}},
          {2, {"info", "--no-such"}}, {3, {"info", "--data-path", l->none}}, {0, {"config"}},
          {2, {"config", "--no-such", "1"}}, {2, {"config", "--config", l->broken}},
          {0, {"inspect", c->cache}}, {2, {"inspect"}}, {3, {"inspect", l->none}},
          {0, {"phonemize", "--text", "hello"}}, {2, {"phonemize", "--text"}}, {3, {"phonemize", l->none}},
          {0, {"mel", l->wav, "--output", l->out}}, {2, {"mel"}}, {3, {"mel", l->none}},
          {0, {"validate", "--config", l->config, DATA}}, {1, {"validate", "--config", l->broken}},
          {2, {"validate", "--fix"}}, {2, {"validate", "--no-such"}},
          {0, {"validate", "--config", l->broken, "--fix"}}, {0, {"--version"}}, {2, {"--version", "x"}},
          {0, {"--help"}}, {2, {"no-such-command"}}, {0, {"manual"}}, {2, {"manual", "more"}},
          {0, {"completion", "bash"}}, {2, {"completion"}}, {2, {"completion", "csh"}});
}

static void test_run_commands(void **state)
{
    Lab lab;
    make_lab(&lab, *state);
    const Lab *l = &lab;
    const Corpus *c = l->c;
    CHECK({0, {"train", DATA, SMALL, "--max-steps", "16", "--log-step", "4", "--checkpoint-dir", l->run}},
          {2, {"train"}}, {2, {"train", DATA, "--no-such", "1"}}, {3, {"train", "--data-path", l->none}},
          {0, {"synth", "--checkpoint", l->run, "--text", "la la", "--output", l->out}},
          {2, {"synth", "--checkpoint", l->run}},
          {3, {"synth", "--checkpoint", l->none, "--text", "x", "--output", l->out}},
          {1, {"eval", "--checkpoint", l->run, DATA}}, {2, {"eval"}},
          {3, {"eval", "--checkpoint", l->none, DATA}},
          {0, {"align", "--checkpoint", l->run, DATA, "--output", l->aligned}}, {2, {"align"}},
          {3, {"align", "--checkpoint", l->none, DATA}}, {0, {"compare", l->run, l->run}},
          {2, {"compare", l->run}}, {3, {"compare", l->run, l->none}}, {0, {"scaling", l->run}},
          {2, {"scaling"}}, {3, {"scaling", l->none}}, {0, {"monitor", l->run, "--once"}},
          {2, {"monitor", l->run, "--interval", "x"}}, {3, {"monitor", l->none, "--once"}},
          {1, {"diagnose", l->run, DATA}}, {2, {"diagnose"}}, {3, {"diagnose", l->none}},
          {2, {"diagnose", DATA, "--num-batches", "x"}}, {0, {"diagnose", "--thresholds"}});
}

/* Simulated machines: what takes time is known. */
static void test_measuring_commands(void **state)
{
    Lab lab;
    make_lab(&lab, *state);
    const Lab *l = &lab;
    const Corpus *c = l->c;
    CHECK({1, {"diagnose", DATA, SIM, "--num-batches", "14", "--sim", "decode_ms=40,step_ms=4"}},
          {3, {"diagnose", "--data-path", l->none, SIM}}, {2, {"diagnose", DATA, SIM, "--sim", "no_such=1"}},
          {0, {"profile", "data", DATA, SIM, "--num-batches", "14", "--sim", "decode_ms=2"}},
          {0, {"profile", "step", DATA, SMALL, "--num-steps", "14"}}, {2, {"profile"}},
          {2, {"profile", "x", DATA}}, {2, {"profile", "data"}},
          {3, {"profile", "data", "--data-path", l->none}},
          {0, {"bench", "pipeline", DATA, SMALL, "--num-batches", "4"}}, {2, {"bench"}}, {2, {"bench", "x"}},
          {3, {"bench", "pipeline", "--data-path", l->none}});
    /* Two workers that share a disk do not load twice; every phase has its spread; simulated devices are
     * busy. */
    Run r = {0};
    run_program(&r, "profile", "dual", DATA, SIM, "--num-workers", "2", "--num-steps", "14", "--json",
                "--sim", "read_ms=40,h2d_us=1000,preprocess_ms=3,peer_us=1000,step_ms=10");
    json_t *o = json_loads(r.stdout_text.data, 0, NULL);
    assert_non_null(o);
    static const char *const phases[] = {"load", "preprocess", "transfer", "training", "gaps"};
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        const json_t *phase = json_object_get(json_object_get(o, "stages"), phases[i]);
        assert_true(json_is_number(json_object_get(phase, "mean_ms")) &&
                    json_is_number(json_object_get(phase, "std_ms")) &&
                    json_is_number(json_object_get(phase, "p50_ms")) &&
                    json_is_number(json_object_get(phase, "p95_ms")));
    }
    double load =
        json_number_value(json_object_get(json_object_get(json_object_get(o, "stages"), "load"), "p50_ms"));
    print_message("load %.1f ms where reading takes 40\n", load);
    assert_true(load > 39 && load < 70);
    static const char *const devices[] = {"model", "data"};
    for (int i = 0; i < 2; i++) {
        const json_t *d = json_object_get(json_object_get(o, "devices"), devices[i]);
        double busy = json_number_value(json_object_get(d, "busy_share"));
        assert_true(busy > 0 && busy < 1);
    }
    json_decref(o);
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_data_commands),
        T(test_run_commands),
        T(test_measuring_commands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
