/* commands.h - the table of subcommands, and their descriptions. Threads: one. */
#ifndef MYXTTS_CMD_COMMANDS_H
#define MYXTTS_CMD_COMMANDS_H

#include <jansson.h>

#include "base/err.h"
#include "base/log.h"
#include "cmd/line/options.h"

typedef struct Command {
    const char *name;
    int (*run)(int argc, char **argv, Log *log);
    const CmdUsage *usage;
    const char *help; /* one line */
} Command;

/* NULL past the last. */
const Command *command_at(int i);
const Command *command_find(const char *name); /* NULL: there is none */

/* Everything that --help knows, so that manual and shell completion are made of the same tables:
 *   {"version": "", "commands": [{"name": "", "help": "", "usage": [""], "about": "", "words": [""],
 *    "options": [OPTION]}], "common": [OPTION], "settings": [OPTION with "section", "key" and "range"]}
 * words: that the first argument of the command is one of; empty where that is something else. An OPTION is
 *   {"name": "--output", "argument": "FILE", "takes": "path", "words": [""], "help": ""}
 * takes: "path", "words" (one of them), "value" (words may be proposed), or null for a switch, whose argument
 * is null too. The caller releases *all. */
int commands_describe(json_t **all, Err *err);

#endif
