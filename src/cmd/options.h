/* options.h - how every subcommand reads its command line.
 * A command names its own options in a small table; everything else that is a key of the configuration
 * ("--batch-size 16") is passed on to config_load, and what is left are the positional arguments. Common to
 * all: --config FILE, --json, --quiet,
 * --verbose, --help (own options), --help-all (and every key of the configuration). "--" ends the options;
 * "-" is positional.
 *
 *     int cmd_mel(int argc, char **argv, Log *log)
 *     {
 *         const char *output = NULL;
 *         int force = 0;
 *         const CmdOption own[] = {
 *             {"output", "FILE", &output, NULL, "where the mel goes"},
 *             {"force", NULL, NULL, &force, "replace an existing file"},
 *         };
 *         CmdLine line;
 *         Err err = {0};
 *         if (cmd_line_parse(&line, "myxtts mel FILE [options]\n\nWrites the mel of one clip.", own, 2, argc,
 * argv, &err) ||
 *             (!line.help && cmd_line_expect(&line, 1, 1, "one audio file", &err))) {
 *             cmd_line_close(&line);
 *             return cmd_fail(log, &err);
 *         }
 *         if (line.help) {
 *             cmd_line_close(&line);
 *             return 0;
 *         }
 *         cmd_line_set_log(&line, log);
 *         ... line.cfg, line.positional[0] ...
 *         cmd_line_close(&line);
 *         return 0;
 *     }
 *
 * Threads: one. Strings point into argv. */
#ifndef MYXTTS_CMD_OPTIONS_H
#define MYXTTS_CMD_OPTIONS_H

#include "base/err.h"
#include "base/log.h"
#include "config/config.h"

typedef struct CmdOption {
    const char *name; /* without dashes: "output"; on the command line dashes and underscores are the same */
    const char *arg;  /* what the value is called in --help: "FILE"; NULL: a switch without a value */
    const char **value; /* takes the text of the value; set when arg is not NULL */
    int *flag;          /* set to 1 when the option is there; may be NULL when value is given */
    const char *help;
} CmdOption;

typedef struct CmdLine {
    Config cfg;              /* loaded and checked; not loaded when help is set */
    const char *config_path; /* NULL: no file was given */
    int json, quiet, verbose;
    int help;        /* --help was given and has been answered on stdout: there is nothing left to do */
    char **settings; /* [setting_count] the arguments that are keys of the configuration, with their values */
    int setting_count;
    char **positional; /* [positional_count], in order */
    int positional_count;
} CmdLine;

/* argv[0] is the name of the subcommand. usage: its first line is the call, then what the command does;
 * printed by --help. own may be NULL with own_count 0; an own option hides a configuration key of the same
 * name. The values *value and *flag keep what they held when their option is not given. An option given
 * twice: the last one counts. 0; ERR_USAGE for an unknown option (with the nearest known one) or a missing
 * value; the errors of config_load. Call cmd_line_close in every case. */
int cmd_line_parse(CmdLine *line, const char *usage, const CmdOption *own, int own_count, int argc,
                   char **argv, Err *err);
/* ERR_USAGE unless min <= positional_count <= max; what: "one audio file", for the message. */
int cmd_line_expect(const CmdLine *line, int min, int max, const char *what, Err *err);
/* --quiet: warnings and errors only; --verbose: debug lines too; otherwise the level stays. */
void cmd_line_set_log(const CmdLine *line, Log *log);
void cmd_line_close(CmdLine *line);

/* Prints the error with its hint on stderr and returns the exit code: 2 wrong use, 3 the machine
 * or the data. */
int cmd_fail(Log *log, const Err *err);

#endif
