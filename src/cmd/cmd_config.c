/* cmd_config.c - `myxtts config`: show every setting, its value, and where the value comes from. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cmd/cmd.h"
#include "cmd/line/options.h"

static const char usage[] =
    "myxtts config [--config FILE] [any setting] [--json | --default-yaml]\n\n"
    "Prints every setting with its value and where the value came from: default, preset, FILE:LINE or the\n"
    "command line; a later one in this list overrides those before it.";

/* The value with its own type. */
static json_t *json_value(const ConfigRow *row)
{
    json_t *list;
    switch (row->kind) {
    case KIND_BOOL:
        return json_boolean(row->integer);
    case KIND_INT:
        return json_integer(row->integer);
    case KIND_FLOAT:
        return json_real(row->number);
    case KIND_STRING:
        return json_from_text(row->string);
    case KIND_LIST:
        list = json_array();
        for (int i = 0; list && i < row->list->count; i++)
            if (json_array_append_new(list, json_from_text(row->list->items[i]))) {
                json_decref(list);
                list = NULL;
            }
        return list;
    }
    return NULL;
}

/* Takes over value; 0 or -1. */
static int put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value);
}

/* Every key with value, origin, section, range and help. */
static int print_json(const Config *cfg, Err *err)
{
    json_t *all = json_object();
    int failed = !all;
    for (int i = 0; i < config_row_count() && !failed; i++) {
        ConfigRow row;
        json_t *entry = json_object();
        failed = config_row(cfg, i, &row) || !entry || put(entry, "value", json_value(&row)) ||
                 put(entry, "origin", json_from_text(row.origin)) ||
                 put(entry, "section", json_from_text(row.section)) ||
                 put(entry, "range", json_from_text(row.range)) ||
                 put(entry, "help", json_from_text(row.help));
        if (failed)
            json_decref(entry);
        else
            failed = put(all, row.key, entry);
    }
    char *text = failed ? NULL : json_dumps(all, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    if (text)
        puts(text);
    free(text);
    json_decref(all);
    return text ? 0 : err_set(err, ERR_NOMEM, "out of memory for the JSON text");
}

/* Two passes: widths first. A very long value does not widen its column. */
static int print_table(const Config *cfg, Err *err)
{
    const int widest_value = 40;
    int key_width = 0, value_width = 0;
    const char *section = "";
    ConfigRow row;
    for (int i = 0; i < config_row_count(); i++) {
        if (config_row(cfg, i, &row))
            return err_set(err, ERR_NOMEM, "out of memory for the table");
        int n = (int)strlen(row.key), v = (int)strlen(row.value);
        key_width = n > key_width ? n : key_width;
        value_width = v > value_width && v <= widest_value ? v : value_width;
    }
    for (int i = 0; i < config_row_count(); i++) {
        if (config_row(cfg, i, &row))
            return err_set(err, ERR_NOMEM, "out of memory for the table");
        if (strcmp(section, row.section) != 0) {
            section = row.section;
            printf("%s%s\n", i ? "\n" : "", section);
        }
        printf("  %-*s  %-*s  %s\n", key_width, row.key, value_width, row.value, row.origin);
    }
    return 0;
}

static int print_default_yaml(Err *err)
{
    Buf text = {0};
    int rc = config_write_default_yaml(&text);
    if (rc)
        rc = err_set(err, rc, "out of memory for the configuration");
    else
        fwrite(text.data, 1, text.size, stdout);
    buf_free(&text);
    return rc;
}

/* As they were typed. */
typedef struct Given {
    int default_yaml;
} Given;

static const CmdOption options[] = {{"default-yaml", NULL, 0, FLAG_AT(Given, default_yaml),
                                     "print a configuration file with every setting at its default"}};
const CmdUsage config_usage = {usage, options, OPTION_COUNT(options)};

/* One of three views of the table. main finds out whether standard output took it. */
int cmd_config(int argc, char **argv, Log *log)
{
    Given given = {0};
    CmdLine line;
    Err err = {0};
    int rc = cmd_line_parse(&line, &config_usage, &given, argc, argv, &err);

    if (rc == 0 && !line.help) {
        cmd_line_set_log(&line, log);
        rc = cmd_line_expect(&line, 0, 0, "nothing", &err);
        if (rc == 0 && given.default_yaml)
            rc = print_default_yaml(&err);
        else if (rc == 0 && line.json)
            rc = print_json(&line.cfg, &err);
        else if (rc == 0)
            rc = print_table(&line.cfg, &err);
    }
    cmd_line_close(&line);
    return rc ? cmd_fail(log, &err) : 0;
}
