/* commands.c - see commands.h. */
#include "cmd/commands.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "lib/myxtts.h"

static const Command commands[] = {
    {"corpus", cmd_corpus, &corpus_usage, "long recordings and their text -> clips with texts, to train on"},
    {"prepare", cmd_prepare, &prepare_usage,
     "read a dataset, build its text and mel caches, say what is wrong with it"},
    {"info", cmd_info, &info_usage,
     "what is in a dataset (clips, hours, speakers, lengths, rejected lines), or in a voice"},
    {"config", cmd_config, &config_usage, "every setting, its value, and where the value came from"},
    {"inspect", cmd_inspect, &inspect_usage, "what is in a cache or a checkpoint"},
    {"phonemize", cmd_phonemize, &phonemize_usage, "text to IPA, line by line"},
    {"mel", cmd_mel, &mel_usage, "one audio file to log-mel, as .npy or as a picture"},
    {"train", cmd_train, &train_usage,
     "train a voice: prepares what is not prepared, resumes where it stopped"},
    {"synth", cmd_synth, &synth_usage, "speak a text with a trained voice"},
    {"serve", cmd_serve, &serve_usage,
     "voices and trainings over HTTP: an API for programs, a page for the browser"},
    {"export", cmd_export, &export_usage,
     "one file to speak from: weights, symbols, vocoder, licence; nothing of the training"},
    {"vocode", cmd_vocode, &vocode_usage, "recordings or mels through a vocoder alone"},
    {"eval", cmd_eval, &eval_usage, "loss and speech of a checkpoint on a dataset's held-out clips"},
    {"align", cmd_align, &align_usage,
     "where every symbol of a dataset begins and ends: a table, TextGrids, a picture"},
    {"validate", cmd_validate, &validate_usage,
     "settings against machine and data: what is wrong, why, and --fix"},
    {"diagnose", cmd_diagnose, &diagnose_usage,
     "what holds the training up: a run of the real pipeline and step, and a verdict"},
    {"profile", cmd_profile, &profile_usage,
     "data, step, dual: where the time goes, measured on the real pipeline and the real step"},
    {"bench", cmd_bench, &bench_usage, "how fast the pipeline is, and which stage holds it up"},
    {"compare", cmd_compare, &compare_usage,
     "two training runs beside each other: which is faster, and how sure that is"},
    {"scaling", cmd_scaling, &scaling_usage, "throughput over batch size, from the logs of several runs"},
    {"monitor", cmd_monitor, &monitor_usage, "a live view of a training run in the terminal"},
    {"completion", cmd_completion, &completion_usage,
     "a script that makes bash, zsh or fish complete these commands"},
    {"manual", cmd_manual, &manual_usage, "this help as a manual page"},
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
