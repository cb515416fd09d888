/* cmd.h - the subcommands. argv[0] is the name of the subcommand; the result is the exit code of the program:
 * 0 all well, 1 findings or failed checks, 2 wrong use, 3 the machine or the data failed. Only the product
 * goes to stdout. NAME_usage is what its --help says. */
#ifndef MYXTTS_CMD_H
#define MYXTTS_CMD_H

#include "base/log.h"
#include "cmd/line/options.h"

int cmd_prepare(int argc, char **argv, Log *log);
int cmd_corpus(int argc, char **argv, Log *log);
int cmd_info(int argc, char **argv, Log *log);
int cmd_config(int argc, char **argv, Log *log);
int cmd_inspect(int argc, char **argv, Log *log);
int cmd_phonemize(int argc, char **argv, Log *log);
int cmd_mel(int argc, char **argv, Log *log);
int cmd_bench(int argc, char **argv, Log *log);
int cmd_profile(int argc, char **argv, Log *log);
int cmd_train(int argc, char **argv, Log *log);
int cmd_diagnose(int argc, char **argv, Log *log);
int cmd_synth(int argc, char **argv, Log *log);
int cmd_serve(int argc, char **argv, Log *log);
int cmd_export(int argc, char **argv, Log *log);
int cmd_vocode(int argc, char **argv, Log *log);
int cmd_eval(int argc, char **argv, Log *log);
int cmd_align(int argc, char **argv, Log *log);
int cmd_compare(int argc, char **argv, Log *log);
int cmd_scaling(int argc, char **argv, Log *log);
int cmd_monitor(int argc, char **argv, Log *log);
int cmd_validate(int argc, char **argv, Log *log);
int cmd_completion(int argc, char **argv, Log *log);
int cmd_manual(int argc, char **argv, Log *log);
int cmd_version(int argc, char **argv, Log *log); /* argv[0]: --version */

extern const CmdUsage prepare_usage, corpus_usage, info_usage, config_usage, inspect_usage, phonemize_usage,
    mel_usage, bench_usage, profile_usage, train_usage, diagnose_usage, synth_usage, serve_usage,
    export_usage, vocode_usage, eval_usage, align_usage, compare_usage, scaling_usage, monitor_usage,
    validate_usage, completion_usage, manual_usage;

#endif
