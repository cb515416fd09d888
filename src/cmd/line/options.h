/* options.h - how every subcommand reads its command line.
 * A command lists its own options in a table of constants, which help, manual and shell completion read too.
 * All keys of the configuration ("--batch-size 16") are passed on to config_load; the rest are positional
 * arguments. "--" ends the options; "-" is positional. All commands have these:
 *   - --config FILE, --json, --quiet, --verbose, --messages en|fa (words.h)
 *   - --help (own options), --help-all (also every key of the configuration); both as JSON with --json
 *
 *     typedef struct Given {
 *         const char *output;
 *         int force;
 *     } Given;
 *     static const CmdOption options[] = {
 *         {"output", "FILE", TEXT_AT(Given, output), 0, "where the mel goes"},
 *         {"force", NULL, 0, FLAG_AT(Given, force), "replace an existing file"},
 *     };
 *     const CmdUsage mel_usage = {"myxtts mel FILE [options]\n\nWrites the mel of one clip.", options,
 *                                 OPTION_COUNT(options)};
 *
 *     int cmd_mel(int argc, char **argv, Log *log)
 *     {
 *         Given given = {0};
 *         CmdLine line;
 *         Err err = {0};
 *         if (cmd_line_parse(&line, &mel_usage, &given, argc, argv, &err) ||
 *             (!line.help && cmd_line_expect(&line, 1, 1, "one audio file", &err))) {
 *             cmd_line_close(&line);
 *             return cmd_fail(log, &err);
 *         }
 *         if (line.help) {
 *             cmd_line_close(&line);
 *             return 0;
 *         }
 *         cmd_line_set_log(&line, log);
 *         ... line.cfg, line.positional[0], given.output ...
 *         cmd_line_close(&line);
 *         return 0;
 *     }
 *
 * Threads: one. Strings point into argv. */
#ifndef MYXTTS_CMD_OPTIONS_H
#define MYXTTS_CMD_OPTIONS_H

#include <jansson.h>
#include <stddef.h>

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
    int text; /* TEXT_AT the field that receives the text of the value; 0: none, for a switch */
    int flag; /* FLAG_AT the field that becomes 1 if the option is given; 0: none */
    const char *help;
} CmdOption; /* --png, --html and --output name files that are written: cmd_line_parse checks them (place.h)
              */
#define TEXT_AT(type, field) (_Generic(((type *)0)->field, const char * : 1) + (int)offsetof(type, field))
#define FLAG_AT(type, field) (_Generic(((type *)0)->field, int : 1) + (int)offsetof(type, field))

/* What --help says of a command. The first lines of text, up to an empty one, are calls; the others say what
 * the command does. */
typedef struct CmdUsage {
    const char *text;
    const CmdOption *options; /* [count]; one that is named as a key of the configuration hides it */
    int count;
} CmdUsage;
#define OPTION_COUNT(options) ((int)(sizeof(options) / sizeof *(options)))

typedef struct CmdLine {
    Config cfg;              /* loaded and checked, unless help is set */
    const char *config_path; /* NULL: no file was given */
    const char *messages;    /* language of findings; NULL: as the environment has it */
    int json, quiet, verbose;
    int help;        /* 1: --help was given, and the help has been printed */
    int help_all;    /* 1: it was --help-all */
    char **settings; /* [setting_count] arguments that are keys of the configuration, with their values */
    int setting_count;
    char **positional; /* [positional_count], in order */
    int positional_count;
} CmdLine;

/* argv[0] is the name of the subcommand. given: the structure of the fields of TEXT_AT and FLAG_AT; they do
 * not change if their option is not given, and if it is given twice, the last one is used. Returns 0;
 * ERR_USAGE for an unknown option (with the nearest known one) or a missing value; or an error of
 * config_load. Call cmd_line_close even after an error. */
int cmd_line_parse(CmdLine *line, const CmdUsage *usage, void *given, int argc, char **argv, Err *err);
/* {"command": "", "usage": [""], "about": "", "options": [OPTION], "common": [OPTION]}, see commands.h; all:
 * also "settings". NULL: no memory. */
json_t *cmd_usage_json(const char *command, const CmdUsage *usage, int all);
/* ERR_USAGE unless min <= positional_count <= max; what: "one audio file", for the message. */
int cmd_line_expect(const CmdLine *line, int min, int max, const char *what, Err *err);
/* For commands whose only argument is the dataset: `info DIR` is `info --data-path DIR`, and the settings are
 * loaded again with it. ERR_USAGE for more arguments, or for a folder that is named in both ways. */
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
