/* config.c - makes one checked Config from defaults, preset, file and command line, and remembers where each
 * value came from. */
#include "config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/file.h"
#include "base/thread.h"
#include "base/utf8.h"
#include "config/option_table.h"
#include "config/rules.h"

#define MAX_YAML_BYTES (1 << 20)
#define MAX_LEXICON_BYTES (64 << 20)
#define CONFIG_PATH_MAX 4096

/* One key's value, and where it came from. */
static int set_raw(Config *cfg, int row, const RawValue *raw, Origin origin, Err *err)
{
    int rc = option_set(&option_table[row], cfg, &cfg->state->strings, raw, err);
    if (rc == 0)
        cfg->state->origins[row] = origin;
    return rc;
}

static int set_text(Config *cfg, int row, const char *text, Origin origin, Err *err)
{
    RawValue raw = {.items = {text}, .count = 1};
    return set_raw(cfg, row, &raw, origin, err);
}

/* The default of the table; a list may take its items from another table. */
static int set_default(Config *cfg, int row, Err *err)
{
    const Option *o = &option_table[row];
    Origin origin = {.kind = ORIGIN_DEFAULT};
    if (o->def)
        return set_text(cfg, row, o->def, origin, err);
    RawValue raw = {.is_list = 1};
    while (raw.count < CONFIG_MAX_LIST && o->def_item(raw.count)) {
        raw.items[raw.count] = o->def_item(raw.count);
        raw.count++;
    }
    return set_raw(cfg, row, &raw, origin, err);
}

/* ---- loading ---- */

static int open_defaults(Config *cfg, Err *err)
{
    *cfg = (Config){0};
    cfg->state = mem_calloc(1, sizeof *cfg->state);
    if (cfg->state)
        cfg->state->origins = mem_calloc((size_t)option_count(), sizeof *cfg->state->origins);
    if (!cfg->state || !cfg->state->origins)
        return err_set(err, ERR_NOMEM, "out of memory for the configuration");
    for (int i = 0; i < option_count(); i++) {
        int rc = set_default(cfg, i, err);
        /* The table is our own, so anything but a lack of memory is a mistake in it. */
        ASSERT(rc == 0 || rc == ERR_NOMEM); /* a default outside its own range is a mistake in the table */
        if (rc)
            return rc;
    }
    return 0;
}

/* After file and command line, so that a preset fills only what neither of them gave. */
static int apply_preset(Config *cfg, Err *err)
{
    for (int i = 0; i < option_count(); i++) {
        const char *value = option_preset(&option_table[i], cfg, NULL);
        if (!value || cfg->state->origins[i].kind != ORIGIN_DEFAULT)
            continue;
        int rc = set_text(cfg, i, value, (Origin){.kind = ORIGIN_PRESET}, err);
        ASSERT(rc == 0 || rc == ERR_NOMEM);
        if (rc)
            return rc;
    }
    return 0;
}

/* Names the option as it was written, and the nearest one with dashes as the command line has them. */
static int unknown_option(const char *arg, Err *err)
{
    char name[80];
    const char *bare = arg + strspn(arg, "-");
    snprintf(name, sizeof name, "%.*s", (int)strcspn(bare, "="), bare);
    err_set(err, ERR_CONFIG, "--%s: unknown option", name);
    const char *nearest = config_nearest_key(name, NULL);
    if (!nearest)
        return ERR_CONFIG;
    snprintf(name, sizeof name, "%s", nearest);
    for (char *p = name; *p; p++)
        *p = *p == '_' ? '-' : *p;
    return err_hint(err, "did you mean '--%s'?", name);
}

/* Each argument with its value; the first mistake ends it. */
static int apply_arguments(Config *cfg, int argc, char **argv, Err *err)
{
    for (int i = 0; i < argc; i++) {
        const char *arg = argv[i], *value;
        int negated, length, rc;
        if (strncmp(arg, "--", 2) != 0 || !arg[2])
            return err_set(err, ERR_CONFIG, "unexpected argument '%s'", arg);
        int row = option_find_argument(arg, &negated, &value);
        if (row < 0)
            return unknown_option(arg, err);
        /* Messages name the option without its value. */
        length = (int)strcspn(arg, "=");
        if (negated && value)
            return err_set(err, ERR_CONFIG, "%.*s: takes no value", length, arg);
        /* The value is what follows '=', the next argument, or `true` for a switch. */
        if (negated) {
            value = "false";
        } else if (!value && config_takes_value(arg, i + 1 < argc ? argv[i + 1] : NULL)) {
            value = i + 1 < argc ? argv[++i] : NULL;
            /* Most likely a value was forgotten and the next option would be taken for it. */
            if (!value || strncmp(value, "--", 2) == 0) {
                err_set(err, ERR_CONFIG, "%.*s: needs a value%s%s", length, arg,
                        value ? ", but is followed by " : "", value ? value : "");
                return value
                           ? err_hint(err, "write a value that begins with dashes as %.*s=VALUE", length, arg)
                           : ERR_CONFIG;
            }
        } else if (!value) {
            value = "true";
        }
        rc = set_text(cfg, row, value, (Origin){.kind = ORIGIN_ARGUMENT}, err);
        if (rc) {
            err_prefix(err, "%.*s", length, arg);
            return rc;
        }
    }
    return 0;
}

/* Later ones win. The preset comes last, because it only sets keys that were not given. */
/* The file is read with the settings: a file with them has the pronunciations, on any machine. */
static int load_lexicon(Config *cfg, Err *err)
{
    Buf text = {0};
    cfg->lexicon_text = "";
    if (!cfg->lexicon || !*cfg->lexicon)
        return 0;
    int rc = file_read(&text, cfg->lexicon, MAX_LEXICON_BYTES, err);
    if (rc == ERR_MISSING)
        rc = err_set(err, ERR_CONFIG, "there is no lexicon %s", cfg->lexicon);
    if (!rc && text.size && memchr(text.data, 0, text.size))
        rc = err_set(err, ERR_CONFIG, "%s is not a lexicon: it contains NUL bytes", cfg->lexicon);
    if (!rc) {
        cfg->lexicon_text = block_strndup(&cfg->state->strings, text.data ? text.data : "", text.size);
        rc = cfg->lexicon_text ? 0 : err_set(err, ERR_NOMEM, "no memory for the lexicon %s", cfg->lexicon);
    }
    buf_free(&text);
    return rc;
}

int config_add_lexicon(Config *cfg, const char *text, size_t n, Err *err)
{
    Buf all = {0};
    if (!n)
        return 0;
    buf_add(&all, text, n);
    if (text[n - 1] != '\n')
        buf_add(&all, "\n", 1);
    if (strstr(all.data ? all.data : "", "%language")) /* its last section ends here */
        buf_str(&all, "%language any\n");
    int lines = 0;
    for (size_t i = 0; i < all.size; i++)
        lines += all.data[i] == '\n';
    buf_str(&all, cfg->lexicon_text ? cfg->lexicon_text : "");
    const char *kept = all.failed ? NULL : block_strndup(&cfg->state->strings, all.data, all.size);
    buf_free(&all);
    if (!kept)
        return err_set(err, ERR_NOMEM, "no memory for the pronunciations of a voice");
    cfg->lexicon_text = kept;
    cfg->lexicon_own += lines;
    return 0;
}

int config_read(Config *cfg, const char *name, const void *yaml, size_t size, int argc, char **argv, Err *err)
{
    int rc = open_defaults(cfg, err);
    if (rc == 0 && name)
        rc = yaml_load(cfg, name, yaml, size, err);
    if (rc == 0)
        rc = apply_arguments(cfg, argc, argv, err);
    if (rc == 0)
        rc = apply_preset(cfg, err);
    if (rc == 0)
        rc = load_lexicon(cfg, err);
    if (rc)
        config_close(cfg);
    return rc;
}

/* A folder that already holds a run itself, as all did once, stays what it is. */
int config_name_folder(Config *cfg, Err *err)
{
    char folder[CONFIG_PATH_MAX], at[CONFIG_PATH_MAX];
    if (!cfg->data_path[0] || !config_is_default(cfg, "checkpoint_dir"))
        return 0;
    snprintf(at, sizeof at, "%s/log.jsonl", cfg->checkpoint_dir);
    char *real = file_exists(at) ? NULL : realpath(cfg->data_path, NULL);
    const char *name = real ? strrchr(real, '/') + 1 : "";
    int rc = 0;
    if (*name && snprintf(folder, sizeof folder, "%s/%s", cfg->checkpoint_dir, name) < (int)sizeof folder)
        rc = config_take(cfg, "checkpoint_dir", folder, "named after data_path", err);
    free(real);
    return rc;
}

static int load(Config *cfg, const char *name, const void *yaml, size_t size, int argc, char **argv, Err *err)
{
    int rc = config_read(cfg, name, yaml, size, argc, argv, err);
    if (rc)
        return rc;
    rc = config_name_folder(cfg, err);
    if (rc == 0 && rules_first_broken(cfg, err))
        rc = ERR_CONFIG;
    if (rc)
        config_close(cfg);
    return rc;
}

int config_check_arguments(int argc, char **argv, Err *err)
{
    Config cfg;
    int rc = config_read(&cfg, NULL, NULL, 0, argc, argv, err);
    config_close(&cfg);
    return rc;
}

int config_defaults(Config *cfg, Err *err)
{
    Err local = {0};
    return load(cfg, NULL, NULL, 0, 0, NULL, err ? err : &local);
}

int config_load_text(Config *cfg, const char *name, const void *yaml, size_t size, int argc, char **argv,
                     Err *err)
{
    Err local = {0};
    return load(cfg, name, yaml, size, argc, argv, err ? err : &local);
}

/* A missing file is a wrong setting, not a failure of the machine, and has its own hint. */
int config_load(Config *cfg, const char *yaml_path, int argc, char **argv, Err *err)
{
    Err local = {0};
    Buf text = {0};
    int rc;

    err = err ? err : &local;
    *cfg = (Config){0};
    /* A configuration of a megabyte is some other file. */
    if (yaml_path && (rc = file_read(&text, yaml_path, MAX_YAML_BYTES, err))) {
        buf_free(&text);
        if (rc != ERR_MISSING)
            return rc;
        err_set(err, ERR_CONFIG, "there is no configuration file %s", yaml_path);
        return err_hint(err, "`myxtts config --default-yaml > FILE` writes one to start from");
    }
    rc = load(cfg, yaml_path, text.data, text.size, argc, argv, err);
    buf_free(&text);
    return rc;
}

/* Strings and origins go with the state. */
void config_close(Config *cfg)
{
    if (!cfg)
        return;
    if (cfg->state) {
        block_free(&cfg->state->strings);
        free(cfg->state->origins);
        free(cfg->state);
    }
    *cfg = (Config){0};
}

/* ---- names ---- */

int config_is_key(const char *name)
{
    int negated;
    const char *value;
    return option_find_argument(name, &negated, &value) >= 0;
}

/* A switch takes the next argument only when that reads as true or false. */
int config_takes_value(const char *name, const char *next_arg)
{
    int negated, flag;
    const char *value;
    int row = option_find_argument(name, &negated, &value);
    if (row < 0 || negated || value)
        return 0;
    return option_table[row].type != OPT_BOOL || (next_arg && option_parse_bool(next_arg, &flag));
}

/* Names are compared without case, and dashes are underscores. */
static int name_letter(char c) { return c == '-' ? '_' : c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; }

/* Optimal string alignment distance: the three last rows of its table are enough. */
int config_name_distance(const char *a, const char *b)
{
    enum { LONGEST = 63 };
    size_t na = strlen(a), nb = strlen(b);
    if (na > LONGEST || nb > LONGEST)
        return LONGEST + 1;
    int rows[3][LONGEST + 1];
    for (size_t j = 0; j <= nb; j++)
        rows[0][j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        int *now = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        now[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            /* Change a letter, drop one, add one, or swap two neighbours; the cheapest counts. */
            int x = name_letter(a[i - 1]), y = name_letter(b[j - 1]);
            int best = above[j - 1] + (x != y);
            if (above[j] + 1 < best)
                best = above[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && x == name_letter(b[j - 2]) && y == name_letter(a[i - 2]) &&
                two_above[j - 2] + 1 < best)
                best = two_above[j - 2] + 1;
            now[j] = best;
        }
    }
    return rows[na % 3][nb];
}

/* Linear over all names: it runs only to make a message. */
const char *config_nearest_key(const char *name, int *distance)
{
    /* A third of the letters wrong is another word, not a slip. */
    size_t n = strlen(name);
    int best = (int)(n < 4   ? 1
                     : n < 9 ? 2
                             : 3) +
               1; /* a third of the letters wrong is another word, not a slip */
    const char *nearest = NULL;
    for (int i = 0; i < option_count(); i++) {
        const Option *o = &option_table[i];
        int d = config_name_distance(name, o->key);
        if (d < best) {
            best = d;
            nearest = o->key;
        }
        /* Other names count too, but the key itself is what gets suggested. */
        for (const char *p = o->aliases ? o->aliases : ""; *p;) {
            char alias[64];
            size_t len = strcspn(p, " ");
            snprintf(alias, sizeof alias, "%.*s", (int)len, p);
            d = config_name_distance(name, alias);
            if (d < best) {
                best = d;
                nearest = o->key;
            }
            p += len + (p[len] == ' ');
        }
    }
    if (distance)
        *distance = best;
    return nearest;
}

/* ---- rows ---- */

int config_row_count(void) { return option_count(); }

/* Where a person would have to look to change the value. */
void config_origin(char *out, size_t cap, const Config *cfg, int row)
{
    const Origin *o = &cfg->state->origins[row];
    const char *word = "";
    switch (o->kind) {
    case ORIGIN_DEFAULT:
        snprintf(out, cap, "default");
        break;
    case ORIGIN_PRESET:
        option_preset(&option_table[row], cfg, &word);
        snprintf(out, cap, "preset %s", word);
        break;
    case ORIGIN_FILE:
        snprintf(out, cap, "%s:%d", cfg->state->file, o->line);
        break;
    case ORIGIN_ARGUMENT:
        snprintf(out, cap, "command line");
        break;
    case ORIGIN_TAKEN:
        snprintf(out, cap, "%s", o->reason);
        break;
    }
}

/* The value itself, for JSON and checkpoints; the row's text is for people. */
static void typed_value(const Option *o, const Config *cfg, ConfigRow *row)
{
    const void *field = (const char *)cfg + o->offset;
    int value;
    switch (o->type) {
    case OPT_BOOL:
        row->kind = KIND_BOOL;
        row->integer = *(const int *)field;
        break;
    case OPT_INT:
    case OPT_INT_AUTO:
        row->kind = KIND_INT;
        row->integer = *(const int *)field;
        if (o->type == OPT_INT_AUTO && row->integer == CONFIG_AUTO) {
            row->kind = KIND_STRING;
            row->string = "auto";
        }
        break;
    case OPT_INT64:
        row->kind = KIND_INT;
        row->integer = *(const int64_t *)field;
        break;
    case OPT_FLOAT:
        row->kind = KIND_FLOAT;
        row->number = *(const double *)field;
        break;
    case OPT_ENUM:
        row->kind = KIND_STRING;
        memcpy(&value, field, sizeof value);
        for (const OptionName *w = o->names; w->word && !row->string; w++)
            row->string = w->value == value ? w->word : NULL;
        break;
    case OPT_LIST:
        row->kind = KIND_LIST;
        row->list = field;
        break;
    case OPT_STRING:
    case OPT_CHOICE:
    case OPT_DEVICE:
        row->kind = KIND_STRING;
        row->string = *(const char *const *)field;
        break;
    }
}

/* One row of `myxtts config`: the value as text and with its type. */
int config_row(const Config *cfg, int i, ConfigRow *row)
{
    ASSERT(cfg->state && i >= 0 && i < option_count());
    const Option *o = &option_table[i];
    Buf text = {0};

    *row = (ConfigRow){.section = o->section, .key = o->key, .help = o->help};
    option_range(row->range, sizeof row->range, o);
    config_origin(row->origin, sizeof row->origin, cfg, i);
    typed_value(o, cfg, row);
    /* A value longer than the row is cut between characters and ends in dots. */
    option_format(&text, o, cfg);
    int failed = text.failed || !text.data;
    if (failed) {
        snprintf(row->value, sizeof row->value, "?");
    } else if (text.size < sizeof row->value) {
        memcpy(row->value, text.data, text.size + 1);
    } else {
        size_t n = utf8_cut(text.data, text.size, sizeof row->value - sizeof "...");
        memcpy(row->value, text.data, n);
        memcpy(row->value + n, "...", 4);
    }
    buf_free(&text);
    return failed ? ERR_NOMEM : 0;
}

int config_is_default(const Config *cfg, const char *key)
{
    for (int i = 0; i < option_count(); i++) {
        char origin[sizeof((ConfigRow *)0)->origin];
        if (strcmp(option_table[i].key, key) != 0)
            continue;
        config_origin(origin, sizeof origin, cfg, i);
        return strcmp(origin, "default") == 0;
    }
    ASSERT(!"a key of the table");
    return 0;
}

/* ---- values that follow something else than a preset ---- */

static int is_given(const Config *cfg, int row)
{
    const OriginKind kind = cfg->state->origins[row].kind;
    return kind == ORIGIN_FILE || kind == ORIGIN_ARGUMENT;
}

/* Settings that follow from a choice of the user count as chosen. */
int config_is_given(const Config *cfg, const char *key)
{
    const int row = option_find(key, strlen(key));
    ASSERT_CMP(row, >=, 0);
    const Option *o = &option_table[row];
    if (is_given(cfg, row))
        return 1;
    if (cfg->state->origins[row].kind != ORIGIN_PRESET)
        return 0;
    const Preset *p;
    for (int n = 0; (p = option_follows(o, n)); n++) {
        const int by = option_find(p->by, strlen(p->by));
        if (is_given(cfg, by) && p->values[*(const int *)((const char *)cfg + option_table[by].offset)])
            return 1;
    }
    return 0;
}

/* A choice that was taken gives others besides, such as the learning rate of a size. */
static int renew_presets(Config *cfg, Err *err)
{
    for (int i = 0; i < option_count(); i++)
        if (cfg->state->origins[i].kind == ORIGIN_PRESET)
            cfg->state->origins[i].kind = ORIGIN_DEFAULT;
    return apply_preset(cfg, err);
}

int config_take(Config *cfg, const char *key, const char *value, const char *reason, Err *err)
{
    const int row = option_find(key, strlen(key));
    ASSERT_CMP(row, >=, 0);
    const char *copy = block_strndup(&cfg->state->strings, reason, strlen(reason));
    if (!copy)
        return err_set(err, ERR_NOMEM, "out of memory for the configuration");
    int rc = set_text(cfg, row, value, (Origin){.kind = ORIGIN_TAKEN, .reason = copy}, err);
    return rc ? rc : renew_presets(cfg, err);
}

int config_vary(Config *cfg, const Config *from, const ConfigSetting *settings, int count, Err *err)
{
    const size_t n = (size_t)option_count();
    int rc = 0;
    *cfg = *from;
    cfg->state = mem_calloc(1, sizeof *cfg->state);
    if (cfg->state)
        cfg->state->origins = mem_calloc(n, sizeof *cfg->state->origins);
    if (!cfg->state || !cfg->state->origins)
        rc = err_set(err, ERR_NOMEM, "out of memory for the configuration");
    else
        memcpy(cfg->state->origins, from->state->origins, n * sizeof *cfg->state->origins);
    for (int i = 0; i < count && !rc; i++) {
        const int row = option_find(settings[i].key, strlen(settings[i].key));
        ASSERT_CMP(row, >=, 0);
        if (settings[i].value)
            rc = set_text(cfg, row, settings[i].value, (Origin){.kind = ORIGIN_ARGUMENT}, err);
    }
    if (!rc)
        rc = renew_presets(cfg, err);
    if (!rc && rules_first_broken(cfg, err))
        rc = ERR_CONFIG;
    if (rc)
        config_close(cfg);
    return rc;
}

int config_is_taken(const Config *cfg, int row) { return cfg->state->origins[row].kind == ORIGIN_TAKEN; }

/* The value as config_take reads it. */
void config_value_text(Buf *out, const Config *cfg, int row)
{
    const Option *o = &option_table[row];
    const int is_text = o->type == OPT_STRING || o->type == OPT_CHOICE || o->type == OPT_DEVICE;
    if (is_text)
        buf_printf(out, "%s", *(const char *const *)((const char *)cfg + o->offset));
    else
        option_format(out, o, cfg);
}

static int take_from(Config *cfg, const Config *from, int row, const char *reason, Err *err)
{
    ConfigRow was, is;
    Buf text = {0};
    const char *key = option_table[row].key;
    if (config_row(from, row, &was) || config_row(cfg, row, &is) || strcmp(was.value, is.value) == 0)
        return 0;
    config_value_text(&text, from, row);
    int rc = text.failed || !text.data ? err_set(err, ERR_NOMEM, "out of memory for the configuration")
                                       : config_take(cfg, key, text.data, reason, err);
    buf_free(&text);
    return rc;
}

int config_cannot_follow(const Config *cfg, const Config *from, unsigned binds, unsigned fixed,
                         ConfigRow *theirs, ConfigRow *ours)
{
    for (int i = 0; i < option_count(); i++) {
        const Option *o = &option_table[i];
        if ((o->binds & binds) && ((o->binds & fixed) || config_is_given(cfg, o->key)) &&
            !config_row(from, i, theirs) && !config_row(cfg, i, ours) &&
            strcmp(theirs->value, ours->value) != 0)
            return 1;
    }
    return 0;
}

int config_follow(Config *cfg, const Config *from, unsigned binds, const char *reason, Err *err)
{
    int rc = 0;
    for (int i = 0; i < option_count() && !rc; i++)
        if ((option_table[i].binds & binds) && !config_is_given(cfg, option_table[i].key))
            rc = take_from(cfg, from, i, reason, err);
    /* The choice that these values go with. */
    for (int i = 0; i < option_count() && !rc; i++) {
        const Preset *p = option_table[i].binds & binds ? option_follows(&option_table[i], 0) : NULL;
        if (p && strcmp(p->by, "network") != 0 && !config_is_given(cfg, p->by))
            rc = take_from(cfg, from, option_find(p->by, strlen(p->by)), reason, err);
    }
    return rc;
}

static int is_in(const char *const *list, const char *key)
{
    while (*list && strcmp(*list, key) != 0)
        list++;
    return *list != NULL;
}

int config_follow_others(Config *cfg, const Config *from, unsigned binds, const char *const *except,
                         const char *reason, Err *err)
{
    int rc = 0;
    for (int i = 0; i < option_count() && !rc; i++)
        if (!(option_table[i].binds & binds) && !is_given(cfg, i) && !is_in(except, option_table[i].key))
            rc = take_from(cfg, from, i, reason, err);
    return rc;
}

int config_begins_with(const Config *cfg) { return cfg->init_from[0] && strcmp(cfg->init_from, "none") != 0; }

int config_most_workers(int cores, int simulated)
{
    enum { ENOUGH = 64 }; /* to hide any waiting */
    return simulated || 2 * cores > ENOUGH ? ENOUGH > cores ? ENOUGH : cores : 2 * cores;
}

int config_workers(const Config *cfg)
{
    return cfg->num_workers == CONFIG_AUTO ? thread_cores() : cfg->num_workers;
}
