/* diagnose_voice.h - `myxtts diagnose RUN`: defects of the voice of a run, and of its recordings. */
#ifndef MYXTTS_CMD_DIAGNOSE_VOICE_H
#define MYXTTS_CMD_DIAGNOSE_VOICE_H

#include "base/err.h"
#include "base/log.h"
#include "cmd/line/options.h"

/* run: a folder of `myxtts train`, or the log.jsonl in it. With a data_path the recordings are examined too
 * and, if the folder has a checkpoint, the alignment of every clip; suspects.tsv is then written into the
 * folder. Prints text or JSON; the text also goes to the file `output` (may be NULL). *findings is the number
 * of findings. */
int diagnose_voice(const CmdLine *line, const char *run, const char *output, int *findings, Log *log,
                   Err *err);

#endif
