/* main.c - the table of subcommands. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file_guard.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "config/config.h"

typedef struct Command {
    const char *name;
    int (*run)(int argc, char **argv, Log *log);
    const char *help;
} Command;

static const Command commands[] = {
    {"prepare", cmd_prepare, "read a dataset, build its text and mel caches, say what is wrong with it"},
    {"info", cmd_info,
     "what is in a dataset (clips, hours, speakers, lengths, rejected lines), or in a voice"},
    {"config", cmd_config, "every setting, its value, and where the value came from"},
    {"inspect", cmd_inspect, "what is in a cache or a checkpoint"},
    {"phonemize", cmd_phonemize, "text to IPA, line by line"},
    {"mel", cmd_mel, "one audio file to log-mel, as .npy or as a picture"},
    {"train", cmd_train, "train a voice: prepares what is not prepared, resumes where it stopped"},
    {"synth", cmd_synth, "speak a text with a trained voice"},
    {"serve", cmd_serve, "voices and trainings over HTTP: an API for programs, a page for the browser"},
    {"export", cmd_export,
     "one file to speak from: weights, symbols, vocoder, licence; nothing of the training"},
    {"vocode", cmd_vocode, "recordings or mels through a vocoder alone"},
    {"eval", cmd_eval, "loss and speech of a checkpoint on a dataset's held-out clips"},
    {"align", cmd_align, "where every symbol of a dataset begins and ends: a table, TextGrids, a picture"},
    {"validate", cmd_validate, "settings against machine and data: what is wrong, why, and --fix"},
    {"diagnose", cmd_diagnose,
     "what holds the training up: a run of the real pipeline and step, and a verdict"},
    {"profile", cmd_profile,
     "data, step, dual: where the time goes, measured on the real pipeline and the real step"},
    {"bench", cmd_bench, "how fast the pipeline is, and which stage holds it up"},
    {"compare", cmd_compare, "two training runs beside each other: which is faster, and how sure that is"},
    {"scaling", cmd_scaling, "throughput over batch size, from the logs of several runs"},
    {"monitor", cmd_monitor, "a live view of a training run in the terminal"},
};

static int usage(FILE *out, int code)
{
    fputs(
        "myxtts - trains text-to-speech voices and keeps the GPU busy\n\nusage: myxtts COMMAND [options]\n\n",
        out);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
    fputs("\n`myxtts help COMMAND` explains a command, `myxtts config` lists every setting,\n"
          "`myxtts --version` says what this program is and what it runs with.\n"
          "Exit codes: 0 all well, 1 findings, 2 wrong use, 3 the machine or the data failed.\n",
          out);
    return code;
}

static const Command *find_command(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
    return NULL;
}

static int unknown_command(Log *log, const char *name)
{
    int best = strlen(name) < 4 ? 2 : 3;
    Err err = {0};
    const char *nearest = NULL;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        int distance = config_name_distance(name, commands[i].name);
        if (distance < best) {
            best = distance;
            nearest = commands[i].name;
        }
    }
    err_set(&err, ERR_USAGE, "there is no command '%s'", name);
    if (nearest)
        err_hint(&err, "did you mean '%s'? `myxtts help` lists the commands", nearest);
    else
        err_hint(&err, "`myxtts help` lists the commands");
    log_err(log, &err);
    return 2;
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

/* What is still in the buffer is written now: later nobody would hear of a failure. A reader that has gone
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

/* Whatever a command made of zeros that stand for lost pages, its result is not to be trusted. */
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
    open_standard_descriptors();
    output_guard();
    log_init(&log, LOG_INFO);
    if (argc < 2)
        return usage(stderr, 2);
    int help = strcmp(argv[1], "help") == 0;
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || (help && argc == 2))
        return finish_output(&log, usage(stdout, 0));
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0)
        return finish_output(&log, cmd_version(argc - 1, argv + 1, &log));
    const char *name = argv[help ? 2 : 1];
    const Command *command = find_command(name);
    if (!command)
        return unknown_command(&log, name);
    /* "help train" is "train --help". */
    char ask[] = "--help", *asked[] = {argv[2 - !help], ask, NULL};
    int code = help ? command->run(2, asked, &log) : command->run(argc - 1, argv + 1, &log);
    return finish_output(&log, finish_reading(&log, code));
}
