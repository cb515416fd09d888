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

/* The help and the range. Switches and texts have no range worth a line. */
static void describe(char *out, size_t cap, const Option *o)
{
    char range[200];
    option_range(range, sizeof range, o);
    if (o->type == OPT_BOOL || o->type == OPT_STRING)
        snprintf(out, cap, "%s", o->help);
    else
        snprintf(out, cap, "%s [%s]", o->help, range);
}

static void write_comment(Buf *out, const Option *o)
{
    char text[700];
    describe(text, sizeof text, o);
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
        buf_printf(out, "  # May stand in section %s too.\n", o->also);
}

/* One comment and one line per key. A test keeps configs/default.yaml equal to this. */
int config_write_default_yaml(Buf *out)
{
    Config cfg;
    const char *section = "";
    int rc = config_defaults(&cfg, NULL);
    if (rc)
        return rc;
    buf_str(out,
            "# Every setting with its default. Written by `myxtts config --default-yaml`; copy it and "
            "keep what you change.\n"
            "# Later ones win: default, preset (model_size, vocoder_size, network), this file, command line\n"
            "# (--batch-size 16 for batch_size). Keys that follow a preset are commented out, so that "
            "another one changes them all.\n");
    for (int i = 0; i < option_count(); i++) {
        const Option *o = &option_table[i];
        if (strcmp(o->section, section) != 0) {
            section = o->section;
            buf_printf(out, "\n%s:\n", section);
        } else {
            buf_str(out, "\n");
        }
        write_comment(out, o);
        buf_printf(out, "  %s%s: ", option_follows(o, 0) ? "#" : "", o->key);
        option_format(out, o, &cfg);
        buf_str(out, "\n");
    }
    config_close(&cfg);
    return out->failed ? ERR_NOMEM : 0;
}

/* What the value of an option is called in --help. */
static const char *value_name(const Option *o)
{
    switch (o->type) {
    case OPT_BOOL:
        return "";
    case OPT_INT:
    case OPT_INT64:
    case OPT_INT_AUTO:
        return " N";
    case OPT_FLOAT:
        return " X";
    case OPT_STRING:
        return " TEXT";
    case OPT_CHOICE:
    case OPT_ENUM:
        return " WORD";
    case OPT_LIST:
        return " LIST";
    case OPT_DEVICE:
        return " DEVICE";
    }
    return "";
}

/* Name, kind of value, help and range, the latter wrapped in a column of their own. */
void config_write_help(Buf *out, const char *section)
{
    enum { COLUMN = 38 };
    char lead[COLUMN + 1];
    memset(lead, ' ', COLUMN);
    lead[COLUMN] = 0;
    for (int i = 0; i < option_count(); i++) {
        const Option *o = &option_table[i];
        char name[100], text[700];
        if (section && strcmp(section, o->section) != 0)
            continue;
        /* A name that is too long for its column gets a line of its own. */
        snprintf(name, sizeof name, "  --%s%s%s", o->type == OPT_BOOL ? "[no-]" : "", o->key, value_name(o));
        for (char *p = name; *p; p++)
            *p = *p == '_' ? '-' : *p;
        buf_printf(out, "%-*s", COLUMN - 1, name);
        buf_str(out, strlen(name) < COLUMN - 1 ? " " : "\n");
        if (strlen(name) >= COLUMN - 1)
            buf_str(out, lead);
        describe(text, sizeof text, o);
        wrap(out, text, lead, COLUMN);
    }
}
