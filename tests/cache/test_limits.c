/* test_limits.c - what the limits on length cost, said by every command that opens data; and that
 * max_text_length counts the characters of the metadata, not the tokens they become. */
#include "support/prepare_testing.h"

#include "cache/limits.h"

/* 10 clips; the texts of the last three have 230 characters. */
static void fill(Corpus *c)
{
    corpus_fill(c, 10, 1.0);
    for (int i = 7; i < 10; i++) {
        c->clips[i].text[0] = 0;
        while (strlen(c->clips[i].text) < 230)
            strcat(c->clips[i].text, "la la lo mo ");
        c->clips[i].text[230] = 0;
        c->clips[i].text[229] = 'a';
    }
    corpus_write_metadata(c);
}

static const json_t *limit_of(const json_t *o, const char *key)
{
    size_t i;
    const json_t *l;
    json_array_foreach(json_object_get(o, "limits"), i,
                       l) if (strcmp(json_string_value(json_object_get(l, "key")), key) == 0) return l;
    return NULL;
}

static void check_limit(const json_t *o, const char *command, const char *key, int clips, int lost)
{
    const json_t *l = limit_of(o, key);
    if (!l || json_integer_value(json_object_get(l, "clips")) != clips ||
        json_integer_value(json_object_get(l, "lost")) != lost) {
        char *all = json_dumps(json_object_get(o, "limits"), 0);
        fail_msg("%s: %s should cost %d of %d: %s", command, key, lost, clips, all);
    }
}

static json_t *run_json(Run *r, const char *const *args, int code)
{
    if (run_program_env(r, args, NULL) != code)
        fail_msg("%s ended with %d, not %d: %s", args[0], r->code, code, r->stderr_text.data);
    json_t *o = json_loads(r->stdout_text.data, 0, NULL);
    if (!o)
        fail_msg("%s printed no JSON: %s", args[0], r->stdout_text.data);
    return o;
}

/* Blanks and phonemes make more tokens than the text has characters; the limit does not count them. */
static void test_blanks_are_not_counted(void **state)
{
    Corpus *c = *state;
    fill(c);
    json_t *o = prepare(c, 0, "--add-blank", "true", "--max-text-length", "230");
    check_number(o, 10, "accepted", NULL);
    check_limit(o, "prepare", "max_text_length", 10, 0);
    assert_true(number_at(o, "tokens", NULL) > 3 * 2 * 200);
    json_decref(o);
    o = prepare(c, 0, "--add-blank", "true", "--max-text-length", "229");
    check_number(o, 7, "accepted", NULL);
    check_number(o, 3, "reasons", "text_too_long");
    check_number(o, 0, "text", "built"); /* the limit is in no key */
    json_decref(o);
}

static void test_every_command_says_it(void **state)
{
    Corpus *c = *state;
    fill(c);
    char run[200];
    snprintf(run, sizeof run, "%s/run", c->root);
#define COMMON "--data-path", c->data, "--cache-dir", c->cache, "--max-text-length", "200", "--json"
    const struct {
        const char *name, *args[40];
        int code;
    } commands[] = {
        {"info before prepare", {"info", COMMON}, 1},
        {"validate before prepare", {"validate", COMMON}, 1},
        {"prepare", {"prepare", COMMON}, 1},
        {"info", {"info", COMMON}, 1},
        {"validate", {"validate", COMMON}, 1},
        {"diagnose",
         {"diagnose", COMMON, "--sim", "step_ms=2", "--data-gpu", "sim0", "--model-gpu", "sim1",
          "--batch-size", "2", "--num-batches", "12", "--model-size", "nano"},
         1},
        {"train",
         {"train", COMMON, "--model-size", "nano", "--model-gpu", "cpu", "--data-gpu", "cpu", "--batch-size",
          "2", "--max-steps", "2", "--checkpoint-dir", run},
         0},
    };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        Run r = {0};
        json_t *o = run_json(&r, commands[i].args, commands[i].code);
        check_limit(o, commands[i].name, "max_text_length", 10, 3);
        check_limit(o, commands[i].name, "max_audio_length", 10, 0);
        assert_int_equal((int)json_number_value(json_object_get(limit_of(o, "max_text_length"), "keeps")),
                         230);
        json_decref(o);
        run_free(&r);
    }
    /* In words, once. */
    Run r = {0};
    run_program(&r, "info", "--data-path", c->data, "--max-text-length", "200", "--max-audio-length", "0.5");
    assert_non_null(strstr(r.stdout_text.data,
                           "max_text_length 200 rejects 3 of 10 clips (30.0 %); 230 would "
                           "keep 99.5 %"));
    assert_non_null(strstr(r.stdout_text.data,
                           "max_audio_length 0.5 rejects 10 of 10 clips (100.0 %); 1.06 would "
                           "keep 99.5 %"));
    run_free(&r);
}

/* Within 0.5 % nothing is proposed; over it the value that keeps 99.5 %. */
static void test_fix_proposes_what_keeps_the_clips(void **state)
{
    Corpus *c = *state;
    fill(c);
    char file[200];
    snprintf(file, sizeof file, "%s/c.yaml", c->root);
    const char *text = "data:\n  max_text_length: 200 # characters\n  max_audio_length: 0.5\n";
    file_put(file, text, strlen(text));
    Run r = {0};
    run_program(&r, "validate", "--config", file, "--data-path", c->data, "--fix");
    run_free(&r);
    Buf after = file_bytes(file);
    assert_non_null(strstr(after.data, "max_text_length: 230 # characters\n"));
    assert_non_null(strstr(after.data, "max_audio_length: 1.06\n"));
    buf_free(&after);
}

/* The configuration of many who come from elsewhere: 200, with blanks. */
static void test_all_of_ljspeech_is_kept(void **state)
{
    Corpus *c = *state;
    const char *data = getenv("MYXTTS_DATA");
    char folder[400];
    snprintf(folder, sizeof folder, "%s/ljspeech-text", data ? data : "/nowhere");
    if (access(folder, R_OK)) {
        printf("SKIPPED: there is no ljspeech-text in $MYXTTS_DATA\n");
        skip();
    }
    Run r = {0};
    const char *args[] = {"prepare",  "--data-path", folder,        "--cache-dir",       c->cache,
                          "--stages", "text",        "--add-blank", "--max-text-length", "200",
                          "--json",   NULL};
    json_t *o = run_json(&r, args, 0);
    check_number(o, 13100, "accepted", NULL);
    check_limit(o, "prepare", "max_text_length", 13100, 0);
    assert_int_equal((int)json_number_value(json_object_get(limit_of(o, "max_text_length"), "keeps")), 169);
    json_decref(o);
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_blanks_are_not_counted),
        T(test_every_command_says_it),
        T(test_fix_proposes_what_keeps_the_clips),
        T(test_all_of_ljspeech_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
