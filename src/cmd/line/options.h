/* options.h - how every subcommand reads its command line.
 * A command lists its own options in a small table. All keys of the configuration ("--batch-size 16") are
 * passed on to config_load; the rest are positional arguments. "--" ends the options; "-" is positional. All
 * commands have these:
 *   - --config FILE, --json, --quiet, --verbose
 *   - --help (own options), --help-all (also every key of the configuration); both as JSON with --json
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
 *         const char *usage = "myxtts mel FILE [options]\n\nWrites the mel of one clip.";
 *         if (cmd_line_parse(&line, usage, own, 2, argc, argv, &err) ||
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
#include "cmd/line/place.h"
#include "config/config.h"

typedef struct CmdOption {
    const char *name; /* without dashes: "output"; on the command line dashes and underscores are the same */
    /* What the value is called in --help; NULL: a switch without a value. Shells complete by it: "D", "DIR",
     * "F", "FILE", "FOLDER", "OUT", "PATH", "R", "RUN", "V" and "F.wav" are paths, "text|mel" are words, all
     * else is free. */
    const char *arg;
    const char **value; /* receives the text of the value; must be set if arg is not NULL */
    int *flag;          /* becomes 1 if the option is given; may be NULL if value is set */
    const char *help;
} CmdOption; /* --png, --html and --output name files that are written: cmd_line_parse checks them (place.h)
              */

typedef struct CmdLine {
    Config cfg;              /* loaded and checked, unless help is set */
    const char *config_path; /* NULL: no file was given */
    int json, quiet, verbose;
    int help;        /* 1: --help was given, and the help has been printed */
    char **settings; /* [setting_count] arguments that are keys of the configuration, with their values */
    int setting_count;
    char **positional; /* [positional_count], in order */
    int positional_count;
} CmdLine;

/* argv[0] is the name of the subcommand. usage is printed by --help: the first line is the call, the others
 * say what the command does. own: [own_count], may be NULL if that is 0; an own option hides a configuration
 * key of the same name. *value and *flag do not change if their option is not given; if it is given twice,
 * the last one is used. Returns 0; ERR_USAGE for an unknown option (with the nearest known one) or a missing
 * value; or an error of config_load. Call cmd_line_close even after an error. */
int cmd_line_parse(CmdLine *line, const char *usage, const CmdOption *own, int own_count, int argc,
                   char **argv, Err *err);
/* ERR_USAGE unless min <= positional_count <= max; what: "one audio file", for the message. */
int cmd_line_expect(const CmdLine *line, int min, int max, const char *what, Err *err);
/* For commands whose only argument is the dataset: `info DIR` is `info --data-path DIR`, and the settings are
 * loaded anew with it. ERR_USAGE for more arguments, or for a folder that is named in both ways. */
int cmd_line_take_data(CmdLine *line, Err *err);
/* A number of the command line; text NULL: *out stays. ERR_USAGE unless it is one from low to high. */
int cmd_number(double *out, const char *name, const char *text, double low, double high, Err *err);
/* Sets the level of the log: with --quiet warnings and errors only, with --verbose debug lines too. */
void cmd_line_set_log(const CmdLine *line, Log *log);
void cmd_line_close(CmdLine *line);

/* Prints the error with its hint on stderr and returns the exit code: 2 wrong use, 3 the machine
 * or the data. */
int cmd_fail(Log *log, const Err *err);

#endif
