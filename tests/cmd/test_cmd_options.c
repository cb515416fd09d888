/* test_cmd_options.c - how subcommands read their command lines, and `myxtts config`. */
#include <fcntl.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "cmd/cmd.h"
#include "cmd/line/options.h"

#define MAX_ARGS 24

/* A writable argv from one line, split at blanks. */
typedef struct Args {
    char text[300], *argv[MAX_ARGS];
    int argc;
} Args;

static void split(Args *a, const char *line)
{
    snprintf(a->text, sizeof a->text, "%s", line);
    a->argc = 0;
    for (char *save, *p = strtok_r(a->text, " ", &save); p; p = strtok_r(NULL, " ", &save)) {
        assert_true(a->argc < MAX_ARGS);
        a->argv[a->argc++] = p;
    }
}

/* stdout goes into a temporary file between begin and end; end appends what was printed. */
typedef struct Capture {
    int saved;
    char path[256];
} Capture;

static void capture_begin(Capture *c)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(c->path, sizeof c->path, "%s/myxtts-cmd-XXXXXX", tmp ? tmp : "/tmp");
    int fd = mkstemp(c->path);
    assert_true(fd >= 0);
    fflush(stdout);
    c->saved = dup(STDOUT_FILENO);
    assert_true(c->saved >= 0 && dup2(fd, STDOUT_FILENO) >= 0);
    close(fd);
}

static void capture_end(Capture *c, Buf *out)
{
    fflush(stdout);
    dup2(c->saved, STDOUT_FILENO);
    close(c->saved);
    assert_int_equal(file_read(out, c->path, 1 << 20, NULL), 0);
    buf_str(out, "");
    unlink(c->path);
}

typedef struct Given {
    const char *output, *word, *text;
    int force;
} Given;

static const CmdOption try_options[] = {
    {"output", "FILE", TEXT_AT(Given, output), 0, "where the result goes"},
    {"force-write", NULL, 0, FLAG_AT(Given, force), "replace an existing file"},
};
static const CmdUsage try_usage = {"myxtts try FILE [options]\n\nTries things.", try_options,
                                   OPTION_COUNT(try_options)};

static int parse(CmdLine *line, Args *a, const char *text, const char **output, int *force, Err *err)
{
    Given given = {.output = *output, .force = *force};
    split(a, text);
    int rc = cmd_line_parse(line, &try_usage, &given, a->argc, a->argv, err);
    *output = given.output;
    *force = given.force;
    return rc;
}

static void test_options_are_sorted(void **state)
{
    CmdLine line;
    Args a;
    Err err = {0};
    const char *output = "default.npy";
    int force = 0;

    assert_int_equal(
        parse(&line, &a,
              "try one.wav --batch-size 16 --output=o.npy - --add-blank two.wav --no-trim-silence --json "
              "--force_write --target-loudness-lufs -20 -- --seed",
              &output, &force, &err),
        0);
    assert_string_equal(output, "o.npy");
    assert_int_equal(force, 1);
    assert_true(line.json && !line.quiet && !line.verbose && !line.help);
    assert_int_equal(line.positional_count, 4);
    assert_string_equal(line.positional[0], "one.wav");
    assert_string_equal(line.positional[1], "-");
    assert_string_equal(line.positional[2], "two.wav"); /* a switch does not swallow what is no truth value */
    assert_string_equal(line.positional[3], "--seed");
    assert_int_equal(line.cfg.batch_size, 16);
    assert_int_equal(line.cfg.add_blank, 1);
    assert_int_equal(line.cfg.trim_silence, 0);
    assert_true(line.cfg.target_loudness_lufs == -20);
    assert_int_equal(cmd_line_expect(&line, 0, 4, "files", &err), 0);
    assert_int_equal(cmd_line_expect(&line, 1, 1, "one file", &err), ERR_USAGE);
    assert_string_equal(err.msg, "unexpected argument '-'");
    assert_int_equal(cmd_line_expect(&line, 5, 9, "a fifth file", &err), ERR_USAGE);
    assert_string_equal(err.msg, "missing: a fifth file");
    cmd_line_close(&line);
    cmd_line_close(&line); /* always safe */

    output = "default.npy";
    force = 0;
    assert_int_equal(parse(&line, &a, "try --output a --output b --add-blank false x", &output, &force, &err),
                     0);
    assert_string_equal(output, "b");
    assert_int_equal(force, 0);
    assert_int_equal(line.cfg.add_blank, 0);
    assert_int_equal(line.positional_count, 1);
    cmd_line_close(&line);
}

static void test_option_errors(void **state)
{
    static const struct {
        const char *args;
        int code;
        const char *message, *hint;
    } cases[] = {
        {"try --ouput x", ERR_USAGE, "--ouput: unknown option", "did you mean '--output'?"},
        {"try --bach-size 3", ERR_USAGE, "--bach-size: unknown option", "did you mean '--batch-size'?"},
        {"try --jsn", ERR_USAGE, "--jsn: unknown option", "did you mean '--json'?"},
        {"try --force-writ", ERR_USAGE, "--force-writ: unknown option", "did you mean '--force-write'?"},
        {"try --something-quite-different", ERR_USAGE, "--something-quite-different: unknown option",
         "--help lists"},
        {"try -o x", ERR_USAGE, "-o: unknown option", ""},
        {"try --output", ERR_USAGE, "--output: needs a value", ""},
        {"try --output --json", ERR_USAGE, "--output: needs a value, but is followed by --json",
         "--output=VALUE"},
        {"try --json=3", ERR_USAGE, "--json: takes no value", ""},
        {"try --batch-size", ERR_USAGE, "--batch-size: needs a value", ""},
        {"try --batch-size 0", ERR_CONFIG, "--batch-size: batch_size is 0, but must be between 1 and 4096",
         ""},
        {"try --config /no/such/file.yaml", ERR_CONFIG, "there is no configuration file /no/such/file.yaml",
         "--default-yaml"},
        {"try --win-length 4096", ERR_CONFIG, "win_length is 4096 (command line) and n_fft is 1024 (default)",
         ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CmdLine line;
        Args a;
        Err err = {0};
        const char *output = NULL;
        int force = 0, rc = parse(&line, &a, cases[i].args, &output, &force, &err);
        if (rc != cases[i].code || !strstr(err.msg, cases[i].message) || !strstr(err.hint, cases[i].hint))
            fail_msg("%s: %d '%s' (hint '%s'), expected '%s'", cases[i].args, rc, err.msg, err.hint,
                     cases[i].message);
        assert_int_equal(err_exit_code(rc), 2);
        cmd_line_close(&line);
    }
}

static void test_help(void **state)
{
    static const char *const calls[] = {"try --help", "try --bogus-not --help", "try -h", "try --help-all"};
    for (int i = 0; i < 4; i++) {
        CmdLine line;
        Args a;
        Buf out = {0};
        Capture c;
        Err err = {0};
        const char *output = NULL;
        int force = 0;
        capture_begin(&c);
        int rc = parse(&line, &a, calls[i], &output, &force, &err);
        capture_end(&c, &out);
        if (i == 1) { /* a wrong option is said, not hidden by the help */
            assert_int_equal(rc, ERR_USAGE);
        } else {
            assert_int_equal(rc, 0);
            assert_int_equal(line.help, 1);
            assert_non_null(strstr(out.data, "usage: myxtts try FILE [options]"));
            assert_non_null(strstr(out.data, "--output FILE"));
            assert_non_null(strstr(out.data, "--config FILE"));
            assert_int_equal(strstr(out.data, "--decoder-dim N") != NULL, i == 3);
        }
        cmd_line_close(&line);
        buf_free(&out);
    }
}

static void test_log_level(void **state)
{
    Log log = {.level = LOG_INFO};
    cmd_line_set_log(&(CmdLine){0}, &log);
    assert_int_equal(log.level, LOG_INFO);
    cmd_line_set_log(&(CmdLine){.quiet = 1}, &log);
    assert_int_equal(log.level, LOG_WARN);
    cmd_line_set_log(&(CmdLine){.verbose = 1}, &log);
    assert_int_equal(log.level, LOG_DEBUG);
    cmd_line_set_log(&(CmdLine){0}, NULL);
}

/* --- myxtts config --- */

static int run_config(Buf *out, Buf *said, const char *text)
{
    Args a;
    Capture c;
    char *message = NULL;
    size_t size = 0;
    Log log = {.out = open_memstream(&message, &size), .level = LOG_INFO};
    split(&a, text);
    capture_begin(&c);
    int rc = cmd_config(a.argc, a.argv, &log);
    capture_end(&c, out);
    fclose(log.out);
    buf_str(said, message);
    free(message);
    return rc;
}

static void test_config_table(void **state)
{
    char path[200], call[300], want[400];
    const char *tmp = getenv("TMPDIR");
    Buf out = {0}, said = {0};
    snprintf(path, sizeof path, "%s/myxtts-config-XXXXXX", tmp ? tmp : "/tmp");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(file_write_all(fd, "data:\n  seed: 7\n", 16, path, NULL), 0);
    close(fd);
    snprintf(call, sizeof call, "config --config %s --batch-size 16 --model-size nano", path);
    assert_int_equal(run_config(&out, &said, call), 0);
    unlink(path);
    assert_string_equal(said.data, "");
    assert_true(strncmp(out.data, "model\n  model_size ", 19) == 0);
    assert_non_null(strstr(out.data, "\n\ndata\n  data_path "));
    assert_non_null(strstr(out.data, "\n\ntraining\n  epochs "));
    int lines = 0;
    for (const char *p = out.data; *p; p++)
        lines += *p == '\n';
    assert_int_equal(lines, config_row_count() + 5); /* three names of sections, two blank lines */
    snprintf(want, sizeof want, "  %s:2\n", path);
    assert_non_null(strstr(out.data, want));
    const char *batch = strstr(out.data, "  batch_size "), *end = strchr(batch, '\n');
    assert_true(strncmp(end - 12, "command line", 12) == 0);
    assert_non_null(strstr(out.data, "preset nano\n"));
    buf_free(&out);
    buf_free(&said);
}

static void test_config_json(void **state)
{
    Buf out = {0}, said = {0};
    json_error_t error;
    int rc = run_config(&out, &said,
                        "config --json --learning-rate 1e-4 --supported-languages en,fa --data-path \xFF.d");
    assert_int_equal(rc, 0);
    json_t *all = json_loads(out.data, JSON_REJECT_DUPLICATES, &error);
    assert_non_null(all);
    assert_int_equal(json_object_size(all), config_row_count());
    json_t *rate = json_object_get(all, "learning_rate"),
           *list = json_object_get(json_object_get(all, "supported_languages"), "value");
    assert_true(json_is_real(json_object_get(rate, "value")) &&
                json_real_value(json_object_get(rate, "value")) == 1e-4);
    assert_string_equal(json_string_value(json_object_get(rate, "origin")), "command line");
    assert_string_equal(json_string_value(json_object_get(rate, "section")), "training");
    assert_string_equal(json_string_value(json_object_get(rate, "range")), "0 .. 1");
    assert_true(strlen(json_string_value(json_object_get(rate, "help"))) > 0);
    assert_true(json_is_false(json_object_get(json_object_get(all, "add_blank"), "value")));
    assert_int_equal(json_integer_value(json_object_get(json_object_get(all, "batch_size"), "value")), 32);
    assert_string_equal(json_string_value(json_object_get(json_object_get(all, "num_workers"), "value")),
                        "auto");
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(json_string_value(json_object_get(json_object_get(all, "data_path"), "value")),
                        "?.d");
    json_decref(all);
    buf_free(&out);
    buf_free(&said);
}

static void test_config_other_calls(void **state)
{
    Buf out = {0}, said = {0}, yaml = {0};
    assert_int_equal(run_config(&out, &said, "config --default-yaml"), 0);
    assert_int_equal(config_write_default_yaml(&yaml), 0);
    assert_string_equal(out.data, yaml.data);
    buf_clear(&out);
    assert_int_equal(run_config(&out, &said, "config --bach-size 3"), 2);
    assert_int_equal(out.size, 0);
    assert_string_equal(said.data,
                        "error: --bach-size: unknown option\n  hint: did you mean '--batch-size'?\n");
    buf_clear(&said);
    assert_int_equal(run_config(&out, &said, "config extra"), 2);
    assert_non_null(strstr(said.data, "unexpected argument 'extra'"));
    assert_int_equal(run_config(&out, &said, "config --help"), 0);
    buf_free(&out);
    buf_free(&said);
    buf_free(&yaml);
}

/* The option of that name in a list of the JSON help. */
static const json_t *option_named(const json_t *list, const char *name)
{
    const json_t *o;
    size_t i;
    json_array_foreach(list, i, o)
    {
        if (strcmp(json_string_value(json_object_get(o, "name")), name) == 0)
            return o;
    }
    fail_msg("no option %s", name);
    return NULL;
}

static void test_help_is_for_programs_too(void **state)
{
    CmdLine line;
    Args a;
    Err err = {0};
    static const CmdOption own[] = {
        {"output", "F.wav", TEXT_AT(Given, output), 0, "where it goes"},
        {"kind", "one|other", TEXT_AT(Given, word), 0, "which"},
        {"name", "S", TEXT_AT(Given, text), 0, "what it is called"},
        {"config", "FILE", TEXT_AT(Given, output), 0, "another one than that of all commands"}};
    static const CmdUsage usage_of = {
        "myxtts try A\n       [--kind K]\n       myxtts try B\n\nTries.\nTwice.", own, OPTION_COUNT(own)};
    Given given = {0};
    Capture c;
    Buf out = {0};
    split(&a, "try --help-all --json");
    capture_begin(&c);
    assert_int_equal(cmd_line_parse(&line, &usage_of, &given, a.argc, a.argv, &err), 0);
    capture_end(&c, &out);
    assert_int_equal(line.help, 1);
    cmd_line_close(&line);
    json_t *help = json_loadb(out.data, out.size, 0, NULL);
    assert_non_null(help);
    const json_t *usage = json_object_get(help, "usage"), *options = json_object_get(help, "options"),
                 *settings = json_object_get(help, "settings");
    assert_int_equal(json_array_size(usage), 2);
    assert_string_equal(json_string_value(json_array_get(usage, 0)), "myxtts try A [--kind K]");
    assert_string_equal(json_string_value(json_object_get(help, "about")), "Tries.\nTwice.");
    static const struct {
        const char *name, *takes;
        size_t words;
    } cases[] = {{"--output", "path", 0}, {"--kind", "words", 2}, {"--name", "value", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const json_t *o = option_named(options, cases[i].name);
        assert_string_equal(json_string_value(json_object_get(o, "takes")), cases[i].takes);
        assert_int_equal(json_array_size(json_object_get(o, "words")), cases[i].words);
    }
    const json_t *common = json_object_get(help, "common"), *o;
    size_t i;
    assert_true(json_is_null(json_object_get(option_named(common, "--json"), "takes")));
    json_array_foreach(common, i, o)
        assert_string_not_equal(json_string_value(json_object_get(o, "name")), "--config");
    o = option_named(settings, "--model-size");
    assert_string_equal(json_string_value(json_object_get(o, "takes")), "words");
    assert_string_equal(json_string_value(json_array_get(json_object_get(o, "words"), 0)), "nano");
    assert_string_equal(json_string_value(json_object_get(option_named(settings, "--data-path"), "takes")),
                        "path");
    assert_string_equal(json_string_value(json_object_get(option_named(settings, "--language"), "takes")),
                        "value");
    assert_true(json_is_null(json_object_get(option_named(settings, "--add-blank"), "takes")));
    json_decref(help);
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_are_sorted),
        cmocka_unit_test(test_option_errors),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_help_is_for_programs_too),
        cmocka_unit_test(test_log_level),
        cmocka_unit_test(test_config_table),
        cmocka_unit_test(test_config_json),
        cmocka_unit_test(test_config_other_calls),
    };
    return cmocka_run_group_tests_name("cmd_options", tests, NULL, NULL);
}
