/* show_checkpoint.h - what is in a checkpoint, for info and inspect. */
#ifndef MYXTTS_CMD_SHOW_CHECKPOINT_H
#define MYXTTS_CMD_SHOW_CHECKPOINT_H

#include "base/err.h"
#include "base/log.h"
#include "cmd/line/options.h"

/* 1 if the path is a checkpoint, or a folder that holds some. */
int show_checkpoint_is(const char *path);

/* Prints what `myxtts inspect RUN` and `myxtts info --checkpoint RUN` print: the file, how far it is trained,
 * its speakers; with everything also its settings that are not the defaults and its tensors. path: as
 * checkpoint_find has it. */
int show_checkpoint(const char *path, const CmdLine *line, int everything, Log *log, Err *err);

#endif
