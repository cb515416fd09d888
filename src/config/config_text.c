/* config_text.c - the table as text for people: configs/default.yaml and the options in --help. */
#include <stdio.h>
#include <string.h>

#include "config/option_table.h"

#define LINE_WIDTH 110

/* Appends text in lines that begin with lead (after the first) and break at blanks, not inside brackets;
 * column: where the first line stands. Ends with a newline. */
static void wrap(Buf *out, const char *text, const char *lead, size_t column)
{
    int first = 1;
    while (*text) {
        /* The next word; a range in brackets stays in one piece. */
        size_t word = 0;
        int depth = 0;
        while (text[word] && (text[word] != ' ' || depth > 0)) {
            depth += (text[word] == '[') - (text[word] == ']');
            word++;
        }
        if (!first && column + 1 + word > LINE_WIDTH) {
            buf_printf(out, "\n%s", lead);
            column = strlen(lead);
        } else if (!first) {
            buf_str(out, " ");
            column++;
        }
        buf_add(out, text, word);
        column += word;
        text += word + (text[word] == ' ');
        first = 0;
    }
    buf_str(out, "\n");
}

/* What the value of an option is called in --help; NULL: a switch has none. */
static const char *value_name(const Option *o)
{
    switch (o->type) {
    case OPT_BOOL:
        return NULL;
    case OPT_INT:
    case OPT_INT64:
    case OPT_INT_AUTO:
        return "N";
    case OPT_FLOAT:
        return "X";
    case OPT_STRING:
        return o->is_path ? "PATH" : "TEXT";
    case OPT_CHOICE:
    case OPT_ENUM:
        return "WORD";
    case OPT_LIST:
        return "LIST";
    case OPT_DEVICE:
        return "DEVICE";
    }
    return NULL;
}

static void add_word(ConfigUse *use, const char *word)
{
    if (use->word_count < CONFIG_MAX_LIST)
        use->words[use->word_count++] = word;
}

/* Every value of a choice once, by its first word. */
static void add_names(ConfigUse *use, const Option *o)
{
    for (const OptionName *w = o->names; w->word; w++) {
        int first = 1;
        for (const OptionName *v = o->names; v < w; v++)
            first = first && v->value != w->value;
        if (first)
            add_word(use, w->word);
    }
}

/* Switches and texts have no range worth a line. */
void config_use(int i, ConfigUse *use)
{
    const Option *o = &option_table[i];
    *use = (ConfigUse){.section = o->section, .key = o->key, .help = o->help, .value = value_name(o)};
    if (o->type != OPT_BOOL && o->type != OPT_STRING)
        option_range(use->range, sizeof use->range, o);
    if (o->names)
        add_names(use, o);
    if (o->type == OPT_INT_AUTO || o->type == OPT_DEVICE)
        add_word(use, "auto");
    if (o->type == OPT_DEVICE) {
        add_word(use, "cpu");
        add_word(use, "0");
        add_word(use, "1");
    }
    const char *(*usual)(int) = o->def_item ? o->def_item : o->usual;
    for (int n = 0; usual && usual(n); n++)
        add_word(use, usual(n));
}

/* The help and the range. */
static void describe(char *out, size_t cap, int i)
{
    ConfigUse use;
    config_use(i, &use);
    snprintf(out, cap, use.range[0] ? "%s [%s]" : "%s", use.help, use.range);
}

static void write_comment(Buf *out, int row)
{
    const Option *o = &option_table[row];
    char text[700];
    describe(text, sizeof text, row);
    buf_str(out, "  # ");
    wrap(out, text, "  # ", 4);
    /* The values of all presets, since the key's own line is commented out. */
    const Preset *p;
    for (int n = 0; (p = option_follows(o, n)); n++) {
        const OptionName *names = option_table[option_find(p->by, strlen(p->by))].names;
        const char *comma = "";
        buf_printf(out, "  # By %s:", p->by);
        for (int i = 0; i < PRESET_CHOICES; i++)
            if (p->values[i]) {
                buf_printf(out, "%s %s %s", comma, names[i].word, p->values[i]);
                comma = ",";
            }
        buf_str(out, ".\n");
    }
    if (o->aliases)
        buf_printf(out, "  # Other names: %s.\n", o->aliases);
    if (o->also)
        buf_printf(out, "  # Also accepted in section %s.\n", o->also);
}

/* One comment and one line per key. A test keeps configs/default.yaml equal to this. */
int config_write_default_yaml(Buf *out)
{
    Config cfg;
    const char *section = "";
    int rc = config_defaults(&cfg, NULL);
    if (rc)
        return rc;
    buf_str(
        out,
        "# Every setting with its default. Written by `myxtts config --default-yaml`; copy it and keep only "
        "what you change.\n"
        "# In rising priority: default, preset (model_size, vocoder_size, network), this file, command line\n"
        "# (--batch-size 16 for batch_size). Keys that a preset sets are commented out, so that choosing "
        "another preset changes\n"
        "# them all.\n");
    for (int i = 0; i < option_count(); i++) {
        const Option *o = &option_table[i];
        if (strcmp(o->section, section) != 0) {
            section = o->section;
            buf_printf(out, "\n%s:\n", section);
        } else {
            buf_str(out, "\n");
        }
        write_comment(out, i);
        buf_printf(out, "  %s%s: ", option_follows(o, 0) ? "#" : "", o->key);
        option_format(out, o, &cfg);
        buf_str(out, "\n");
    }
    config_close(&cfg);
    return out->failed ? ERR_NOMEM : 0;
}

/* Name, kind of value, help and range; help and range are wrapped in a separate column. */
void config_write_help(Buf *out, const char *section)
{
    enum { COLUMN = 38 };
    char lead[COLUMN + 1];
    memset(lead, ' ', COLUMN);
    lead[COLUMN] = 0;
    for (int i = 0; i < option_count(); i++) {
        const Option *o = &option_table[i];
        const char *value = value_name(o);
        char name[100], text[700];
        if (section && strcmp(section, o->section) != 0)
            continue;
        /* A name that is too long for its column gets a separate line. */
        snprintf(name, sizeof name, "  --%s%s%s%s", value ? "" : "[no-]", o->key, value ? " " : "",
                 value ? value : "");
        for (char *p = name; *p; p++)
            *p = *p == '_' ? '-' : *p;
        buf_printf(out, "%-*s", COLUMN - 1, name);
        buf_str(out, strlen(name) < COLUMN - 1 ? " " : "\n");
        if (strlen(name) >= COLUMN - 1)
            buf_str(out, lead);
        describe(text, sizeof text, i);
        wrap(out, text, lead, COLUMN);
    }
}
