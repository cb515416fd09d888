/* main.c - finds the subcommand (cmd/commands.c) and runs it. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/drafts.h"
#include "base/file_guard.h"
#include "cmd/cmd.h"
#include "cmd/commands.h"
#include "cmd/line/output.h"
#include "config/config.h"

static int usage(FILE *out, int code)
{
    fputs(
        "myxtts - trains text-to-speech voices and keeps the GPU busy\n\nusage: myxtts COMMAND [options]\n\n",
        out);
    for (int i = 0; command_at(i); i++)
        fprintf(out, "  %-10s %s\n", command_at(i)->name, command_at(i)->help);
    fputs("\n`myxtts help COMMAND` explains a command, `myxtts config` lists every setting,\n"
          "`myxtts --version` says what this program is and what it runs with.\n"
          "Exit codes: 0 all well, 1 findings, 2 wrong usage, 3 the machine or the data failed.\n",
          out);
    return code;
}

static int unknown_command(Log *log, const char *name)
{
    static const char *const meant[][2] = {
        {"say", "synth"},    {"speak", "synth"},  {"tts", "synth"},      {"record", "serve --record DIR"},
        {"server", "serve"}, {"resume", "train"}, {"convert", "export"}, {"check", "info"}};
    int best = strlen(name) < 4 ? 2 : 3;
    Err err = {0};
    const char *nearest = NULL;
    for (int i = 0; command_at(i); i++) {
        int distance = config_name_distance(name, command_at(i)->name);
        if (distance < best) {
            best = distance;
            nearest = command_at(i)->name;
        }
    }
    for (size_t i = 0; i < sizeof meant / sizeof *meant; i++)
        if (strcmp(name, meant[i][0]) == 0)
            nearest = meant[i][1];
    err_set(&err, ERR_USAGE, "there is no command '%s'", name);
    if (nearest)
        err_hint(&err, "did you mean '%s'? `myxtts help` lists the commands", nearest);
    else
        err_hint(&err, "`myxtts help` lists the commands");
    log_err(log, &err);
    return 2;
}

/* Of all commands, for programs. */
static int usage_json(Log *log)
{
    Err err = {0};
    json_t *all;
    int rc = commands_describe(&all, &err);
    rc = rc ? rc : output_print(all, 6, &err);
    if (rc)
        log_err(log, &err);
    return rc ? err_exit_code(err.code) : 0;
}

/* Shells leave ~ as it is in quotes and behind an equals sign; a folder of that name is what nobody wants.
 * What may be a text to speak stays. */
static void expand_home(int argc, char **argv)
{
    const char *home = getenv("HOME");
    const int speaks = argc > 1 && (strcmp(argv[1], "synth") == 0 || strcmp(argv[1], "phonemize") == 0);
    for (int i = 2; i < argc && home; i++) {
        char *equals = strncmp(argv[i], "--", 2) == 0 ? strchr(argv[i], '=') : NULL, *path = NULL;
        const char *value = equals ? equals + 1 : argv[i];
        if (value[0] != '~' || (value[1] && value[1] != '/') ||
            (!equals && speaks && (strncmp(argv[i - 1], "--", 2) != 0 || strcmp(argv[i - 1], "--text") == 0)))
            continue;
        if (asprintf(&path, "%.*s%s%s", (int)(value - argv[i]), argv[i], home, value + 1) >= 0)
            argv[i] = path;
    }
}

/* A standard descriptor that was closed would be given to the first file that is opened, and messages would
 * end up in it. */
static void open_standard_descriptors(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

/* A pipe whose reader has gone away. errno would tell, but the write that failed may be long past. */
static int is_closed_pipe(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    return poll(&p, 1, 0) == 1 && (p.revents & POLLERR);
}

/* What is still in the buffer is written now: later a failure could not be reported. A reader that has gone
 * away wants no sentence either. */
static int finish_output(Log *log, int code)
{
    int flushed = fflush(stdout);
    if (!flushed && !ferror(stdout))
        return code;
    if (!is_closed_pipe(STDOUT_FILENO))
        log_error(log, "cannot write to standard output; is the disk full?");
    return 3;
}

/* If lost pages were read as zeros, the result of the command cannot be trusted. */
static int finish_reading(Log *log, int code)
{
    if (!file_guard_any())
        return code;
    log_error(
        log,
        "a file became shorter while it was in use, or its disk failed: %llu pages of it could not be read\n"
        "  hint: if it was a cache, `myxtts prepare` with the same options builds what is missing",
        (unsigned long long)file_guard_any());
    return 3;
}

int main(int argc, char **argv)
{
    Log log;
    drafts_catch_signals();
    signal(SIGXFSZ, SIG_IGN); /* ulimit -f: a file that is full is an error as a full disk is */
    open_standard_descriptors();
    output_guard();
    log_init(&log, LOG_INFO);
    if (argc < 2)
        return usage(stderr, 2);
    int help = strcmp(argv[1], "help") == 0;
    int ask = help || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0;
    if (ask && argc == 3 && strcmp(argv[2], "--json") == 0)
        return finish_output(&log, usage_json(&log));
    if (ask && (argc == 2 || !help))
        return finish_output(&log, usage(stdout, 0));
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0)
        return finish_output(&log, cmd_version(argc - 1, argv + 1, &log));
    const char *name = argv[help ? 2 : 1];
    const Command *command = command_find(name);
    if (!command)
        return unknown_command(&log, name);
    expand_home(argc, argv);
    /* "help train" is "train --help". */
    char option[] = "--help", *asked[] = {argv[2 - !help], option, NULL};
    int code = help ? command->run(2, asked, &log) : command->run(argc - 1, argv + 1, &log);
    return finish_output(&log, finish_reading(&log, code));
}
