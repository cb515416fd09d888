/* test_train_languages.c - a training on two languages, as a process: the same letters are slow in one and
 * quick in the other, and each speaker speaks both. Resuming, ranks, export, a third language, files from
 * before voices knew their languages. */
#include <math.h>

#include "audio/wav.h"
#include "support/rank_worker.h"
#include "support/train_process.h"
#include "support/voice_testing.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define SLOW 0.6 /* seconds of a German clip */
#define QUICK 0.2

/* The letters are the same in both languages. Anna has only the first, Cora only the second, Ben has both.
 * `third`: some lines are in that. */
static void make_corpus(Corpus *c, const char *first, const char *second, const char *third)
{
    make_voice_corpus(c);
    FILE *f = fopen(path_of(c->data, "metadata.csv"), "wb");
    fprintf(f, "id|text|speaker|language\n");
    for (int i = 0; i < c->count; i++) {
        write_wav(clip_path(c, i), i % 2 ? 1 : 2, i % 2 ? SLOW : QUICK, 8000, 1);
        fprintf(f, "%s|la la la|%s|%s\n", c->clips[i].id,
                i % 4 == 3 ? "anna"
                : i % 4    ? "ben"
                           : "cora",
                third && i > 14 ? third
                : i % 2         ? first
                                : second);
    }
    assert_int_equal(fclose(f), 0);
}

/* What a run that is over has ended with, and what it has said on stderr (NULL: anything). */
static void ended(Run *r, int code, const char *said)
{
    if (r->code != code || (said && !strstr((const char *)r->stderr_text.data, said)))
        fail_msg("exit code %d, wanted %d and \"%s\": %s", r->code, code, said ? said : "",
                 (const char *)r->stderr_text.data);
    run_free(r);
}

static void trains(const Corpus *c, const char *folder, int steps, const char *const *more, int code,
                   const char *said)
{
    Run r;
    train_start(&r, c, folder, steps, 5, more, NULL);
    run_wait(&r, 120);
    ended(&r, code, said);
}

/* Seconds of "la la la"; 0 where the code is not. */
static double speaks(const Corpus *c, const char *voice, const char *text, const char *const *more, int code,
                     const char *said)
{
    const char *args[MAX_ARGS] = {"synth",       "--checkpoint", voice,
                                  "--model-gpu", "cpu",          "--text",
                                  text,          "--output",     path_of(c->root, "out.wav"),
                                  "--json",      "--iterations", "1"};
    int n = 12;
    Run r;
    for (int i = 0; more && more[i]; i++)
        args[n++] = more[i];
    run_start(&r, args, NULL);
    run_wait(&r, 120);
    buf_add(&r.stdout_text, "", 1);
    json_t *o = json_loads(r.stdout_text.data, 0, NULL);
    double seconds = json_number_value(json_object_get(o, "seconds"));
    json_decref(o);
    ended(&r, code, said);
    return seconds;
}

/* The metadata of a checkpoint, and the rows of its vectors; 0: it has none. */
static int languages_of(const char *file, char *text, size_t cap)
{
    SafeTensors f;
    Err err = {0};
    if (safetensors_open(&f, file, &err))
        fail_msg("%s", err.msg);
    const char *entry = safetensors_meta(&f, "languages");
    const TensorView *t = safetensors_find(&f, "text.languages");
    snprintf(text, cap, "%s", entry ? entry : "");
    int rows = t ? (int)t->shape[0] : 0;
    assert_true(!t || (t->dims == 2 && t->shape[1] == 16));
    safetensors_close(&f);
    return rows;
}

static void expect_languages(const char *file, int rows, const char *codes)
{
    char text[400], wanted[200];
    int found = languages_of(file, text, sizeof text);
    snprintf(wanted, sizeof wanted, "{\"codes\": [%s], \"scripts\": [\"Latn\"]}", codes);
    if (found != rows || strcmp(text, wanted) != 0)
        fail_msg("%s: %d rows, %s; wanted %d, %s", file, found, text, rows, wanted);
}

static void a_speaker_speaks_both_languages(void **state)
{
    Corpus *c = *state;
    char folder[256], file[300];
    make_corpus(c, "de", "en", NULL);
    snprintf(folder, sizeof folder, "%s/run", c->root);
    snprintf(file, sizeof file, "%s/voice.safetensors", c->root);
    trains(c, folder, 500, LIST("--learning-rate", "0.01", "--val-split", "0"), 0, "2 languages: de, en");
    expect_languages(step_file(folder, 500), 2, "\"de\", \"en\"");
    /* The letters are the same: only the language says how slow they are. */
    double slow[3], quick[3];
    static const char *const speakers[] = {"anna", "ben", "cora"};
    for (int i = 0; i < 3; i++) {
        slow[i] = speaks(c, folder, "la la la", LIST("--language", "de", "--speaker", speakers[i]), 0, NULL);
        quick[i] = speaks(c, folder, "la la la", LIST("--language", "en", "--speaker", speakers[i]), 0, NULL);
        print_message("%s: %.2f s of German, %.2f s of English\n", speakers[i], slow[i], quick[i]);
        assert_true(slow[i] > 1.5 * quick[i]);
    }
    /* Without a wish the setting counts, which is en. */
    assert_true(speaks(c, folder, "la la la", LIST("--speaker", "ben"), 0, NULL) == quick[1]);
    /* What it was never trained on. */
    speaks(c, folder, "la la la", LIST("--language", "fr"), 2,
           "never trained on the language 'fr': it speaks de, en");
    speaks(c, folder, "ля ля ля", NULL, 2, "Cyrillic script: it speaks de, en");
    speaks(c, folder, "la la la", LIST("--language", "fr", "--force-language"), 0, NULL);
    /* Exported it is the same. */
    Run r;
    run_program(&r, "export", "--checkpoint", folder, "--vocoder", "griffin_lim", "--output", file);
    ended(&r, 0, NULL);
    expect_languages(file, 2, "\"de\", \"en\"");
    assert_true(speaks(c, file, "la la la", LIST("--language", "de", "--speaker", "ben"), 0, NULL) ==
                slow[1]);
    run_program(&r, "info", "--checkpoint", file, "--json");
    assert_non_null(strstr((const char *)r.stdout_text.data, "\"languages\": ["));
    run_free(&r);
}

static void a_resumed_run_learns_the_same(void **state)
{
    Corpus *c = *state;
    char whole[256], halves[256], first[300];
    make_corpus(c, "de", "en", NULL);
    snprintf(whole, sizeof whole, "%s/whole", c->root);
    snprintf(halves, sizeof halves, "%s/halves", c->root);
    trains(c, whole, 12, NULL, 0, NULL);
    assert_int_equal(mkdir(halves, 0777), 0);
    snprintf(first, sizeof first, "%s", step_file(whole, 5));
    assert_int_equal(link(first, step_file(halves, 5)), 0);
    trains(c, halves, 12, NULL, 0, "resuming from");
    assert_true(compare_checkpoints(step_file(whole, 12), step_file(halves, 12), NULL) > 50);
    /* Fewer languages keep their numbers; more of them are another network. */
    Corpus other = *c;
    make_corpus(&other, "en", "en", NULL);
    trains(&other, halves, 13, NULL, 0, "2 languages: de, en");
    expect_languages(step_file(halves, 13), 2, "\"de\", \"en\"");
    other = *c;
    make_corpus(&other, "de", "en", "fr");
    trains(&other, halves, 14, NULL, 2, "it would have de, en, fr");
}

/* One row of the vectors of a checkpoint. */
static void row_of(float out[16], const char *file, int row)
{
    SafeTensors f;
    Err err = {0};
    if (safetensors_open(&f, file, &err))
        fail_msg("%s", err.msg);
    memcpy(out, (const float *)safetensors_find(&f, "text.languages")->data + 16 * row, 16 * sizeof *out);
    safetensors_close(&f);
}

/* Weights of two languages begin a voice of three: what was learned keeps its place. */
static void given_weights_keep_their_languages(void **state)
{
    Corpus *c = *state;
    char given[256], folder[256];
    float before[16], after[16];
    make_corpus(c, "it", "en", NULL);
    snprintf(given, sizeof given, "%s/given", c->root);
    snprintf(folder, sizeof folder, "%s/folder", c->root);
    trains(c, given, 12, NULL, 0, "2 languages: en, it");
    Corpus other = *c;
    make_corpus(&other, "en", "de", NULL);
    trains(&other, folder, 1,
           LIST("--init-from", given, "--learning-rate", "0.000001", "--min-learning-rate", "0"), 0,
           "3 languages: en, it, de");
    expect_languages(step_file(folder, 1), 3, "\"en\", \"it\", \"de\"");
    for (int row = 0; row < 2; row++) {
        double moved = 0;
        row_of(before, step_file(given, 12), row);
        row_of(after, step_file(folder, 1), row);
        for (int i = 0; i < 16; i++)
            moved = fmax(moved, fabs((double)before[i] - (double)after[i]));
        assert_true(moved < 1e-4);
    }
}

/* ---- ranks ---- */

/* Begun with weights whose languages have another order than those of the texts: rank 0 tells the others. */
static void ranks_number_their_languages_alike(void **state)
{
    Corpus *c = *state;
    char given[256], alone[256], shared[256], variables[5][64];
    make_corpus(c, "it", "en", NULL);
    snprintf(given, sizeof given, "%s/given", c->root);
    snprintf(alone, sizeof alone, "%s/alone", c->root);
    snprintf(shared, sizeof shared, "%s/shared", c->root);
    trains(c, given, 3, NULL, 0, NULL);
    Corpus other = *c;
    make_corpus(&other, "it", "de", NULL);
    const char *const more[] = {
        "--init-from", given,       "--val-split", "0", "--global-batch-size", "4", "--batch-size",
        "4",           "--dropout", "0",           NULL};
    trains(&other, alone, 4, more, 0, "3 languages: en, it, de");
    Run ranks[2];
    const int port = free_port() - 1;
    for (int r = 0; r < 2; r++) {
        snprintf(variables[0], sizeof *variables, "RANK=%d", r);
        snprintf(variables[1], sizeof *variables, "WORLD_SIZE=2");
        snprintf(variables[2], sizeof *variables, "MASTER_ADDR=127.0.0.1");
        snprintf(variables[3], sizeof *variables, "MASTER_PORT=%d", port);
        snprintf(variables[4], sizeof *variables, "LOCAL_RANK=%d", r);
        const char *env[] = {variables[0], variables[1], variables[2], variables[3], variables[4], NULL};
        train_start(&ranks[r], &other, shared, 4, 100, more, env);
    }
    for (int r = 0; r < 2; r++)
        run_wait(&ranks[r], 120);
    for (int r = 0; r < 2; r++)
        ended(&ranks[r], 0, NULL);
    expect_languages(step_file(shared, 4), 3, "\"en\", \"it\", \"de\"");
    double most = 0;
    for (int row = 0; row < 3; row++) {
        float a[16], b[16];
        row_of(a, step_file(alone, 4), row);
        row_of(b, step_file(shared, 4), row);
        for (int i = 0; i < 16; i++)
            most = fmax(most, fabs((double)a[i] - (double)b[i]));
    }
    print_message("vectors of one process and of two ranks differ by %.1e\n", most);
    assert_true(most < 1e-4);
}

/* ---- files from before ---- */

static void older_files_go_on(void **state)
{
    Corpus *c = *state;
    char folder[256], older[256], file[300];
    make_corpus(c, "en", "en", NULL);
    snprintf(folder, sizeof folder, "%s/run", c->root);
    snprintf(older, sizeof older, "%s/older", c->root);
    trains(c, folder, 3, NULL, 0, NULL);
    expect_languages(step_file(folder, 3), 0, "\"en\"");
    assert_int_equal(mkdir(older, 0777), 0);
    snprintf(file, sizeof file, "%s/step-00000003.safetensors", older);
    write_languages(file, step_file(folder, 3), NULL, 0);
    /* It speaks, and what it may not know is only warned of. */
    speaks(c, folder, "la la la", LIST("--language", "fr"), 2, "it speaks en");
    speaks(c, older, "la la la", LIST("--language", "fr"), 0, "does not say what it was trained on");
    /* It goes on to the same weights. */
    trains(c, folder, 6, NULL, 0, NULL);
    trains(c, older, 6, NULL, 0, "resuming from");
    assert_true(compare_checkpoints(step_file(folder, 6), step_file(older, 6), NULL) > 50);
    /* On two languages it continues with the network it has. */
    Corpus other = *c;
    make_corpus(&other, "de", "en", NULL);
    trains(&other, older, 7, NULL, 0, "cannot tell languages apart");
    expect_languages(step_file(older, 7), 0, "\"en\", \"de\"");
    speaks(c, older, "la la la", LIST("--language", "de"), 0, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_speaker_speaks_both_languages, corpus_setup, corpus_teardown),
        cmocka_unit_test_setup_teardown(a_resumed_run_learns_the_same, corpus_setup, corpus_teardown),
        cmocka_unit_test_setup_teardown(given_weights_keep_their_languages, corpus_setup, corpus_teardown),
        cmocka_unit_test_setup_teardown(ranks_number_their_languages_alike, corpus_setup, corpus_teardown),
        cmocka_unit_test_setup_teardown(older_files_go_on, corpus_setup, corpus_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
