/* cmd_manual.c - myxtts manual: everything that --help says as a manual page, for `man`. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "cmd/cmd.h"
#include "cmd/commands.h"
#include "cmd/line/options.h"

static const char usage[] =
    "myxtts manual\n\n"
    "Prints the manual page of this program (troff with man macros): every command with its options, and\n"
    "every setting. `make install` puts it where man looks for it. To read it right away:\n"
    "    myxtts manual | man -l -";

/* What troff would take for something else. A dash is one that can be copied into a shell; text in backquotes
 * becomes bold. */
static void print_text(const char *s, size_t n)
{
    static const struct {
        char c;
        const char *as;
    } marks[] = {{'\\', "\\e"},  {'-', "\\-"},   {'\'', "\\(aq"},
                 {'^', "\\(ha"}, {'~', "\\(ti"}, {'"', "\\(dq"}};
    int bold = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < sizeof marks / sizeof *marks && marks[k].c != s[i])
            k++;
        if (k < sizeof marks / sizeof *marks) {
            fputs(marks[k].as, stdout);
        } else if (s[i] == '`') {
            bold = !bold;
            fputs(bold ? "\\fB" : "\\fR", stdout);
        } else if ((unsigned char)s[i] < 0x80) {
            putchar(s[i]);
        } else {
            /* By its number, whatever encoding troff expects. */
            size_t length = utf8_prefix(s + i, n - i, 1);
            unsigned code = (unsigned char)s[i] & (0x7Fu >> length);
            for (size_t j = 1; j < length; j++)
                code = code << 6 | ((unsigned char)s[i + j] & 0x3Fu);
            printf("\\[u%04X]", code);
            i += length - 1;
        }
    }
    fputs(bold ? "\\fR" : "", stdout);
}

/* A line of its own: one that begins with a dot or an apostrophe would be a request. */
static void print_line(const char *s, size_t n)
{
    fputs(n && (*s == '.' || *s == '\'') ? "\\&" : "", stdout);
    print_text(s, n);
    putchar('\n');
}

/* Lines that are indented stay as they are; the others are filled. An empty line ends a paragraph. */
static void print_prose(const char *s)
{
    int kept = 0;
    while (*s) {
        size_t n = strcspn(s, "\n");
        int keep = n > 0 && *s == ' ';
        if (keep != kept)
            puts(keep ? ".PP\n.nf" : ".fi\n.PP");
        kept = keep;
        if (n == 0)
            puts(".PP");
        else
            print_line(s, n);
        s += n + (s[n] == '\n');
    }
    if (kept)
        puts(".fi");
}

static void print_calls(const json_t *calls)
{
    const json_t *call;
    size_t i;
    json_array_foreach(calls, i, call)
    {
        puts(".PP\n.in +4n\n.ti -4n");
        print_line(json_string_value(call), json_string_length(call));
        puts(".in -4n");
    }
}

/* Name in bold, argument in italics, then the help, which has no full stop in the tables of commands. */
static void print_option(const json_t *option)
{
    const char *name = json_get_text(option, "name"), *argument = json_get_text(option, "argument"),
               *help = json_get_text(option, "help"), *range = json_get_text(option, "range");
    int setting = *json_get_text(option, "key") != 0;
    puts(".TP");
    fputs("\\fB", stdout);
    if (setting && json_is_null(json_object_get(option, "takes"))) {
        fputs("\\-\\-\\fR[\\fBno\\-\\fR]\\fB", stdout);
        name += 2;
    }
    print_text(name, strlen(name));
    fputs("\\fR", stdout);
    if (*argument) {
        fputs(" \\fI", stdout);
        print_text(argument, strlen(argument));
        fputs("\\fR", stdout);
    }
    putchar('\n');
    print_line(help, strlen(help));
    if (*range) {
        fputs("[", stdout);
        print_text(range, strlen(range));
        puts("]");
    }
}

static void print_options(const json_t *list, const char *section)
{
    const json_t *option;
    size_t i;
    json_array_foreach(list, i, option)
    {
        if (!section || strcmp(section, json_get_text(option, "section")) == 0)
            print_option(option);
    }
}

static void print_head(const json_t *all)
{
    printf(".\\\" Written by `myxtts manual`.\n"
           ".TH MYXTTS 1 \"\" \"myxtts %s\" \"User Commands\"\n"
           ".nh\n"
           ".ad l\n"
           ".SH NAME\n"
           "myxtts \\- train text\\-to\\-speech voices, keep the GPU busy, and speak\n"
           ".SH SYNOPSIS\n"
           ".B myxtts\n"
           ".I COMMAND\n"
           "[options]\n"
           ".PP\n"
           ".B myxtts help\n"
           ".I COMMAND\n",
           json_get_text(all, "version"));
    puts(".SH DESCRIPTION\n"
         "myxtts trains voices on a folder of recordings and their texts, speaks with\n"
         "them, and finds out what slows a training down.\n"
         ".SS Commands");
}

static void print_end(void)
{
    puts(".SH \"EXIT STATUS\"\n"
         ".TP\n"
         ".B 0\n"
         "All is well.\n"
         ".TP\n"
         ".B 1\n"
         "Findings.\n"
         ".TP\n"
         ".B 2\n"
         "Wrong usage: an option, a\n"
         "setting, an argument.\n"
         ".TP\n"
         ".B 3\n"
         "The machine or the data failed.\n"
         ".SH \"SEE ALSO\"\n"
         ".BR espeak\\-ng (1),\n"
         ".BR sox (1),\n"
         ".BR mpirun (1)");
}

static void print_manual(const json_t *all)
{
    static const char *const sections[] = {"model", "data", "training"};
    const json_t *commands = json_object_get(all, "commands"), *o;
    size_t i;
    print_head(all);
    json_array_foreach(commands, i, o)
    {
        printf(".TP\n.B %s\n", json_get_text(o, "name"));
        print_line(json_get_text(o, "help"), strlen(json_get_text(o, "help")));
    }
    puts(".SH COMMANDS");
    json_array_foreach(commands, i, o)
    {
        printf(".SS %s\n", json_get_text(o, "name"));
        print_calls(json_object_get(o, "usage"));
        puts(".PP");
        print_prose(json_get_text(o, "about"));
        print_options(json_object_get(o, "options"), NULL);
    }
    puts(".SH \"OPTIONS OF EVERY COMMAND\"");
    print_options(json_object_get(all, "common"), NULL);
    puts(".SH SETTINGS\n"
         "Every key of the configuration file is also an option of every command, with dashes for\n"
         "underscores. \\fBmyxtts config\\fR prints the values in effect, and where they come from.");
    for (i = 0; i < sizeof sections / sizeof *sections; i++) {
        printf(".SS \"Section %s\"\n", sections[i]);
        print_options(json_object_get(all, "settings"), sections[i]);
    }
    print_end();
}

const CmdUsage manual_usage = {usage, NULL, 0};

int cmd_manual(int argc, char **argv, Log *log)
{
    CmdLine line;
    Err err = {0};
    json_t *all = NULL;
    int rc = cmd_line_parse(&line, &manual_usage, NULL, argc, argv, &err);
    if (!rc && !line.help && !(rc = cmd_line_expect(&line, 0, 0, "nothing", &err)) &&
        !(rc = commands_describe(&all, &err)))
        print_manual(all);
    json_decref(all);
    cmd_line_close(&line);
    return rc ? cmd_fail(log, &err) : 0;
}
