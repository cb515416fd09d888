/* diagnose_voice.h - `myxtts diagnose RUN`: what is wrong with the voice of a run, and with its recordings.
 * */
#ifndef MYXTTS_CMD_DIAGNOSE_VOICE_H
#define MYXTTS_CMD_DIAGNOSE_VOICE_H

#include "base/err.h"
#include "base/log.h"
#include "cmd/options.h"

/* run: a folder of `myxtts train`, or the log.jsonl in it. With a data_path also the recordings, and where
 * the folder has a checkpoint every clip's alignment; then suspects.tsv is written into the folder. Prints
 * text or JSON; output (may be NULL): a file that gets the text too. *findings: how many. */
int diagnose_voice(const CmdLine *line, const char *run, const char *output, int *findings, Log *log,
                   Err *err);

#endif
