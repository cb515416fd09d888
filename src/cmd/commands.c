/* commands.c - see commands.h. */
#include "cmd/commands.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "lib/myxtts.h"

static const Command commands[] = {
    {"corpus", cmd_corpus, &corpus_usage, "cut long recordings and their text into clips to train on"},
    {"prepare", cmd_prepare, &prepare_usage,
     "read a dataset, build its caches, report what is wrong with it"},
    {"info", cmd_info, &info_usage,
     "describe a dataset (clips, hours, speakers, lengths, rejected lines) or a voice"},
    {"config", cmd_config, &config_usage, "show every setting, its value, and where the value comes from"},
    {"inspect", cmd_inspect, &inspect_usage, "show what is in a cache or a checkpoint"},
    {"phonemize", cmd_phonemize, &phonemize_usage, "turn text into IPA, line by line"},
    {"mel", cmd_mel, &mel_usage, "compute the log-mel of an audio file, as .npy or as a picture"},
    {"train", cmd_train, &train_usage, "train a voice; prepares the dataset, resumes where it stopped"},
    {"synth", cmd_synth, &synth_usage, "speak a text with a trained voice"},
    {"serve", cmd_serve, &serve_usage,
     "serve voices and trainings over HTTP: an API for programs, a page for the browser"},
    {"export", cmd_export, &export_usage,
     "write one file to speak from: weights, symbols, vocoder, licence, no training state"},
    {"vocode", cmd_vocode, &vocode_usage, "turn recordings or mels into sound with a vocoder alone"},
    {"eval", cmd_eval, &eval_usage, "measure loss and intelligibility of a checkpoint on held-out clips"},
    {"align", cmd_align, &align_usage,
     "find where every symbol of a dataset begins and ends: a table, TextGrids, a picture"},
    {"validate", cmd_validate, &validate_usage,
     "check settings against machine and data; --fix repairs them"},
    {"diagnose", cmd_diagnose, &diagnose_usage,
     "find out what slows training down, or what is wrong with a voice"},
    {"profile", cmd_profile, &profile_usage,
     "measure where the time goes in the real pipeline and step (data, step, dual)"},
    {"bench", cmd_bench, &bench_usage, "measure how fast the pipeline is, and which stage slows it down"},
    {"compare", cmd_compare, &compare_usage,
     "compare two training runs: which is faster, and how certain that is"},
    {"scaling", cmd_scaling, &scaling_usage, "show throughput by batch size, from the logs of several runs"},
    {"monitor", cmd_monitor, &monitor_usage, "watch a training run live in the terminal"},
    {"completion", cmd_completion, &completion_usage, "print a completion script for bash, zsh or fish"},
    {"manual", cmd_manual, &manual_usage, "print this help as a manual page"},
};

const Command *command_at(int i)
{
    return i >= 0 && i < (int)(sizeof commands / sizeof *commands) ? &commands[i] : NULL;
}

const Command *command_find(const char *name)
{
    for (int i = 0; command_at(i); i++)
        if (strcmp(name, command_at(i)->name) == 0)
            return command_at(i);
    return NULL;
}

/* The word behind the command's name in a line of its usage, if it stands for itself: "step", "bash|zsh". */
static int add_words(json_t *words, const char *usage, const char *command)
{
    char begin[64];
    int n = snprintf(begin, sizeof begin, "myxtts %s ", command), rc = 0;
    if (strncmp(usage, begin, (size_t)n) != 0)
        return 0;
    size_t length = strcspn(usage + n, " ");
    for (size_t i = 0; i < length; i++)
        if (!islower((unsigned char)usage[n + (int)i]) && (i == 0 || usage[n + (int)i] != '|'))
            return 0;
    for (size_t at = 0; at < length && !rc;) {
        size_t word = strcspn(usage + n + at, "| ");
        rc = json_array_append_new(words, json_stringn(usage + n + at, word));
        at += word + 1;
    }
    return rc;
}

static int add_command(json_t *all, const Command *c, json_t *help)
{
    json_t *usage = json_object_get(help, "usage"), *words = json_array(), *line;
    int failed = !words;
    size_t i;
    json_array_foreach(usage, i, line) failed |= add_words(words, json_string_value(line), c->name) != 0;
    json_t *o = failed ? NULL
                       : json_pack("{s:s, s:s, s:O, s:O, s:O, s:O}", "name", c->name, "help", c->help,
                                   "usage", usage, "about", json_object_get(help, "about"), "words", words,
                                   "options", json_object_get(help, "options"));
    json_decref(words);
    return json_array_append_new(json_object_get(all, "commands"), o);
}

int commands_describe(json_t **all, Err *err)
{
    int rc = 0;
    *all = json_pack("{s:s, s:[]}", "version", myxtts_version(), "commands");
    for (int i = 0; *all && command_at(i) && !rc; i++) {
        json_t *help = cmd_usage_json(command_at(i)->name, command_at(i)->usage, i == 0);
        rc = help ? add_command(*all, command_at(i), help) : ERR_NOMEM;
        /* The same for all of them. */
        if (i == 0)
            rc |= json_object_set(*all, "common", json_object_get(help, "common")) |
                  json_object_set(*all, "settings", json_object_get(help, "settings"));
        json_decref(help);
    }
    if (*all && !rc)
        return 0;
    json_decref(*all);
    *all = NULL;
    return err_set(err, ERR_NOMEM, "no memory for the help of all commands");
}
