/* options.c - see options.h. */
#include "cmd/line/options.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words/words.h"
#include "cmd/line/output.h"

static const CmdOption common[] = {
    {"config", "FILE", TEXT_AT(CmdLine, config_path), 0, "YAML file with settings"},
    {"json", NULL, 0, FLAG_AT(CmdLine, json), "print JSON"},
    {"quiet", NULL, 0, FLAG_AT(CmdLine, quiet), "print warnings and errors only"},
    {"verbose", NULL, 0, FLAG_AT(CmdLine, verbose), "print more status lines"},
    {"messages", "en|fa", TEXT_AT(CmdLine, messages), 0,
     "language of findings and reports (default: Persian if LANG says so, else English; JSON is English)"},
    {"help", NULL, 0, FLAG_AT(CmdLine, help), "this text"},
    {"help-all", NULL, 0, FLAG_AT(CmdLine, help_all), "print this help with every key of the configuration"},
};
#define COMMON_COUNT OPTION_COUNT(common)

/* What one pass over argv collects. */
typedef struct Parse {
    const CmdUsage *usage;
    void *given; /* the fields of the command's own options */
    CmdLine *line;
    char **config; /* options for config_load, with their values */
    int config_count;
} Parse;

static const char **text_at(void *given, const CmdOption *o)
{
    return (const char **)(void *)((char *)given + o->text - 1);
}

static int *flag_at(void *given, const CmdOption *o) { return (int *)(void *)((char *)given + o->flag - 1); }

/* Dashes and underscores are the same. */
static const CmdOption *find_in(const CmdOption *options, int count, const char *name, size_t n)
{
    for (int i = 0; i < count; i++) {
        size_t k = 0;
        const char *p = options[i].name;
        while (k < n && p[k] &&
               (name[k] == p[k] || (name[k] == '_' && p[k] == '-') || (name[k] == '-' && p[k] == '_')))
            k++;
        if (k == n && !p[k])
            return &options[i];
    }
    return NULL;
}

/* arg without a leading dash pair and without "=value". *given: where its fields are. */
static const CmdOption *find_option(const Parse *p, const char *arg, void **given)
{
    const char *name = arg + strspn(arg, "-");
    size_t n = strcspn(name, "=");
    const CmdOption *o = find_in(p->usage->options, p->usage->count, name, n);
    *given = o ? p->given : p->line;
    return o ? o : find_in(common, COMMON_COUNT, name, n);
}

/* The nearest of all: keys of the configuration, the command's own options, the common ones. */
static int unknown_option(const Parse *p, const char *arg, Err *err)
{
    char name[80], nearest[80] = "";
    int best = 0;
    const char *bare = arg + strspn(arg, "-");
    snprintf(name, sizeof name, "%.*s", (int)strcspn(bare, "="), bare);
    const char *key = config_nearest_key(name, &best);
    if (key)
        snprintf(nearest, sizeof nearest, "%s", key);
    else
        best = strlen(name) < 4 ? 2 : 3;
    const int own = p->usage->count;
    for (int i = 0; i < own + COMMON_COUNT; i++) {
        const CmdOption *o = i < own ? &p->usage->options[i] : &common[i - own];
        int distance = config_name_distance(name, o->name);
        if (distance < best) {
            best = distance;
            snprintf(nearest, sizeof nearest, "%s", o->name);
        }
    }
    for (char *c = nearest; *c; c++)
        *c = *c == '_' ? '-' : *c;
    err_set(err, ERR_USAGE, "%.*s: unknown option", (int)strcspn(arg, "="), arg);
    return nearest[0] ? err_hint(err, "did you mean '--%s'?", nearest)
                      : err_hint(err, "--help lists the options");
}

/* An option that follows instead is named, since a forgotten value is the usual cause. */
static int missing_value(const char *arg, const char *next, Err *err)
{
    int n = (int)strcspn(arg, "=");
    err_set(err, ERR_USAGE, "%.*s: needs a value%s%s", n, arg, next ? ", but is followed by " : "",
            next ? next : "");
    return next ? err_hint(err, "write a value that begins with dashes as %.*s=VALUE", n, arg) : ERR_USAGE;
}

/* Takes the option at argv[*i] and its value; *i moves to the last argument taken. */
static int take_option(Parse *p, int *i, int argc, char **argv, Err *err)
{
    char *arg = argv[*i], *next = *i + 1 < argc ? argv[*i + 1] : NULL;
    void *given;
    const CmdOption *o = find_option(p, arg, &given);
    if (!o && !config_is_key(arg))
        return unknown_option(p, arg, err);
    const char *inline_value = strchr(arg, '=');
    int wants_value = o ? o->arg && !inline_value : config_takes_value(arg, next);
    if (wants_value && (!next || strncmp(next, "--", 2) == 0))
        return missing_value(arg, next, err);
    /* A key of the configuration is passed on, with its value. */
    if (!o) {
        p->config[p->config_count++] = arg;
        if (wants_value)
            p->config[p->config_count++] = argv[++*i];
        return 0;
    }
    if (!o->arg && inline_value)
        return err_set(err, ERR_USAGE, "%.*s: takes no value", (int)strcspn(arg, "="), arg);
    if (o->arg)
        *text_at(given, o) = inline_value ? inline_value + 1 : argv[++*i];
    if (o->flag)
        *flag_at(given, o) = 1;
    return 0;
}

/* Without those of another list that hides them. */
static void print_options(const CmdOption *options, int count, const CmdOption *hiding, int hiding_count)
{
    for (int i = 0; i < count; i++) {
        if (find_in(hiding, hiding_count, options[i].name, strlen(options[i].name)))
            continue;
        char name[100];
        snprintf(name, sizeof name, "  --%s%s%s", options[i].name, options[i].arg ? " " : "",
                 options[i].arg ? options[i].arg : "");
        printf("%-37s %s\n", name, options[i].help ? options[i].help : "");
    }
}

/* Own options, common ones; with --help-all every key by section. */
static int print_help_text(const CmdUsage *usage, int all, Err *err)
{
    Buf text = {0};
    printf("usage: %s\n", usage->text);
    if (usage->count > 0) {
        printf("\noptions:\n");
        print_options(usage->options, usage->count, NULL, 0);
    }
    printf("\noptions of every command:\n");
    print_options(common, COMMON_COUNT, usage->options, usage->count);
    if (!all) {
        printf("\nEvery key of the configuration is also an option, such as --batch-size 16. --help-all "
               "lists them.\n");
        return 0;
    }
    static const char *const sections[] = {"model", "data", "training"};
    for (int i = 0; i < 3; i++) {
        buf_printf(&text, "\nconfiguration, %s:\n", sections[i]);
        config_write_help(&text, sections[i]);
    }
    int failed = text.failed;
    if (!failed)
        fwrite(text.data, 1, text.size, stdout);
    buf_free(&text);
    return failed ? err_set(err, ERR_NOMEM, "out of memory for the help") : 0;
}

/* ---- help for programs ---- */

/* What stands for a file or a folder in the table of a command. */
static int is_path(const char *arg)
{
    static const char *const names[] = {"D", "DIR", "F", "FILE", "FOLDER", "OUT", "PATH", "R", "RUN", "V"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(arg, names[i]) == 0)
            return 1;
    return isupper((unsigned char)arg[0]) && arg[1] == '.'; /* "F.wav" */
}

/* Words that stand for themselves: "text|mel". */
static json_t *words_of(const char *arg)
{
    json_t *words = json_array();
    while (arg && islower((unsigned char)*arg)) {
        size_t n = strcspn(arg, "|");
        json_array_append_new(words, json_stringn(arg, n));
        arg += n + (arg[n] == '|');
    }
    return words;
}

/* See commands.h. Takes words over. */
static json_t *json_option(const char *name, const char *arg, json_t *words, int any_word, const char *help)
{
    char dashed[100];
    snprintf(dashed, sizeof dashed, "--%s", name);
    for (char *p = dashed; *p; p++)
        *p = *p == '_' ? '-' : *p;
    const char *takes = !arg                                  ? NULL
                        : is_path(arg)                        ? "path"
                        : json_array_size(words) && !any_word ? "words"
                                                              : "value";
    return json_pack("{s:s, s:s?, s:s?, s:o, s:s}", "name", dashed, "argument", arg, "takes", takes, "words",
                     words, "help", help ? help : "");
}

static json_t *json_options(const CmdOption *options, int count, const CmdOption *hiding, int hiding_count)
{
    json_t *all = json_array();
    for (int i = 0; i < count; i++)
        if (!find_in(hiding, hiding_count, options[i].name, strlen(options[i].name)))
            json_array_append_new(all, json_option(options[i].name, options[i].arg, words_of(options[i].arg),
                                                   0, options[i].help));
    return all;
}

static json_t *json_settings(void)
{
    json_t *all = json_array();
    for (int i = 0; i < config_row_count(); i++) {
        ConfigUse use;
        config_use(i, &use);
        json_t *words = json_array();
        for (int k = 0; k < use.word_count; k++)
            json_array_append_new(words, json_string(use.words[k]));
        int choice = use.value && strcmp(use.value, "WORD") == 0;
        json_t *o = json_option(use.key, use.value, words, !choice, use.help);
        json_object_set_new(o, "section", json_string(use.section));
        json_object_set_new(o, "key", json_string(use.key));
        json_object_set_new(o, "range", json_string(use.range));
        json_array_append_new(all, o);
    }
    return all;
}

/* The lines before the first empty one are calls; a line that does not start with the program's name
 * continues the one before. */
static json_t *json_usage(const char *usage, const char **about)
{
    json_t *calls = json_array();
    Buf call = {0};
    while (*usage && *usage != '\n') {
        const char *text = usage + strspn(usage, " ");
        size_t n = strcspn(text, "\n");
        if (call.size && strncmp(text, "myxtts ", 7) == 0) {
            json_array_append_new(calls, json_stringn(call.data, call.size));
            buf_clear(&call);
        }
        buf_str(&call, call.size ? " " : "");
        buf_add(&call, text, n);
        usage = text + n + (text[n] == '\n');
    }
    json_array_append_new(calls, json_stringn(call.size ? call.data : "", call.size));
    buf_free(&call);
    *about = usage + strspn(usage, "\n");
    return calls;
}

json_t *cmd_usage_json(const char *command, const CmdUsage *usage, int all)
{
    const char *about;
    json_t *calls = json_usage(usage->text, &about);
    json_t *o = json_pack("{s:s, s:o, s:s, s:o, s:o}", "command", command, "usage", calls, "about", about,
                          "options", json_options(usage->options, usage->count, NULL, 0), "common",
                          json_options(common, COMMON_COUNT, usage->options, usage->count));
    if (o && all)
        json_object_set_new(o, "settings", json_settings());
    return o;
}

/* What an option's file is written with; WRITES_NOTHING: it is read, or is no file. */
static PlaceKind writes(const CmdOption *o)
{
    static const struct {
        const char *name, *arg; /* arg NULL: any */
        PlaceKind kind;
    } known[] = {{"png", NULL, WRITES_PNG},         {"alignment-png", NULL, WRITES_PNG},
                 {"html", NULL, WRITES_HTML},       {"output", "F.npy", WRITES_NPY},
                 {"output", "F.wav", WRITES_SOUND}, {"output", "F.safetensors", WRITES_VOICE},
                 {"output", "FILE", WRITES_REPORT}};
    for (size_t i = 0; o->arg && i < sizeof known / sizeof *known; i++)
        if (strcmp(o->name, known[i].name) == 0 && (!known[i].arg || strcmp(o->arg, known[i].arg) == 0))
            return known[i].kind;
    return WRITES_NOTHING;
}

/* What the command reads: its arguments, and what its other options name. */
static int check_places(const Parse *p, Err *err)
{
    const CmdLine *line = p->line;
    const CmdOption *own = p->usage->options;
    const int n = p->usage->count;
    const CmdOption *over = find_in(own, n, "overwrite", 9);
    const char **inputs = mem_calloc((size_t)(line->positional_count + n + 1), sizeof *inputs);
    int count = 0, rc = inputs ? 0 : err_set(err, ERR_NOMEM, "out of memory for the command line");
    for (int i = 0; i < line->positional_count && !rc; i++)
        inputs[count++] = line->positional[i];
    for (int i = 0; i < n && !rc; i++)
        if (own[i].arg && !writes(&own[i]))
            inputs[count++] = *text_at(p->given, &own[i]);
    if (!rc)
        inputs[count++] = line->config_path;
    for (int i = 0; i < n && !rc; i++) {
        const CmdOption *o = &own[i];
        if (writes(o))
            rc = place_check(o->name, *text_at(p->given, o), writes(o), inputs, count,
                             over && *flag_at(p->given, over), err);
        for (int k = 0; k < i && !rc && writes(o) && *text_at(p->given, o); k++)
            if (writes(&own[k]) && *text_at(p->given, &own[k]) &&
                strcmp(*text_at(p->given, &own[k]), *text_at(p->given, o)) == 0)
                rc = err_set(err, ERR_USAGE, "--%s and --%s are both %s: give each a different file",
                             own[k].name, o->name, *text_at(p->given, o));
    }
    free(inputs);
    return rc;
}

/* What was asked for; else as the environment has it, but for programs English. */
static int choose_messages(const char *name, int json, Err *err)
{
    const int found = name ? words_find(name) : json ? MESSAGES_ENGLISH : (int)words_of_environment();
    if (found < 0)
        return err_set(err, ERR_USAGE, "--messages is '%s', but must be en or fa", name);
    words_choose((Messages)found);
    return 0;
}

/* Options may stand anywhere; whatever is left is positional. The configuration is loaded last. */
int cmd_line_parse(CmdLine *line, const CmdUsage *usage, void *given, int argc, char **argv, Err *err)
{
    Err local = {0};
    int rc = 0, options = 1;

    err = err ? err : &local;
    *line = (CmdLine){0};
    Parse p = {.usage = usage, .given = given, .line = line};
    p.config = mem_calloc((size_t)argc + 1, sizeof *p.config);
    line->positional = mem_calloc((size_t)argc + 1, sizeof *line->positional);
    if (!p.config || !line->positional) {
        rc = err_set(err, ERR_NOMEM, "out of memory for the command line");
        goto done;
    }
    /* A single dash is a file name (standard input); behind `--` everything is. */
    for (int i = 1; i < argc && rc == 0; i++) {
        const char *arg = argv[i];
        if (!options || arg[0] != '-' || !arg[1])
            line->positional[line->positional_count++] = argv[i];
        else if (strcmp(arg, "--") == 0)
            options = 0;
        else if (strcmp(arg, "-h") == 0)
            line->help = 1;
        else if (arg[1] != '-')
            rc = unknown_option(&p, arg, err);
        else
            rc = take_option(&p, &i, argc, argv, err);
    }
    if (rc == 0 && (line->help || line->help_all)) {
        line->help = 1;
        rc = line->json ? output_print(cmd_usage_json(argv[0], usage, line->help_all), 6, err)
                        : print_help_text(usage, line->help_all, err);
    } else if (rc == 0) {
        rc = choose_messages(line->messages, line->json, err);
        if (rc == 0)
            rc = config_load(&line->cfg, line->config_path, p.config_count, p.config, err);
        if (rc == 0)
            rc = check_places(&p, err);
    }
done:
    line->settings = p.config;
    line->setting_count = p.config_count;
    return rc;
}

/* Too few: what is missing. Too many: the first that is one too many. */
int cmd_line_expect(const CmdLine *line, int min, int max, const char *what, Err *err)
{
    int n = line->positional_count;
    if (n >= min && n <= max)
        return 0;
    if (n < min) {
        err_set(err, ERR_USAGE, "missing: %s", what);
        err_hint(err, "--help shows the usage");
    } else {
        err_set(err, ERR_USAGE, "unexpected argument '%s'", line->positional[max]);
        err_hint(err, "the command takes %s; --help shows the usage", what);
    }
    return ERR_USAGE;
}

/* The folder takes the place of an option: behind the others there is room for two words, its own and that of
 * the command. */
int cmd_line_take_data(CmdLine *line, Err *err)
{
    int rc = cmd_line_expect(line, 0, 1, "one folder, the dataset", err);
    if (rc || !line->positional_count)
        return rc;
    static char option[] = "--data-path";
    char *folder = line->positional[0];
    for (int i = 0; i < line->setting_count; i++)
        if (strncmp(line->settings[i], option, sizeof option - 1) == 0)
            return err_set(err, ERR_USAGE, "the dataset is given twice: %s and %s", folder,
                           line->settings[i]);
    line->settings[line->setting_count++] = option;
    line->settings[line->setting_count++] = folder;
    config_close(&line->cfg);
    return config_load(&line->cfg, line->config_path, line->setting_count, line->settings, err);
}

void cmd_line_set_log(const CmdLine *line, Log *log)
{
    if (!log)
        return;
    if (line->quiet)
        log->level = LOG_WARN;
    else if (line->verbose)
        log->level = LOG_DEBUG;
}

void cmd_line_close(CmdLine *line)
{
    config_close(&line->cfg);
    free(line->positional);
    free(line->settings);
    *line = (CmdLine){0};
}

int cmd_fail(Log *log, const Err *err)
{
    log_err(log, err);
    return err_exit_code(err->code);
}

int cmd_number(double *out, const char *name, const char *text, double low, double high, Err *err)
{
    char *end;
    if (!text)
        return 0;
    errno = 0;
    *out = strtod(text, &end);
    if (!errno && *text && !*end && *out >= low && *out <= high)
        return 0;
    return err_set(err, ERR_USAGE, "--%s is '%s', but must be a number from %g to %g", name, text, low, high);
}
