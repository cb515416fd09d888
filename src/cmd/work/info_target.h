/* info_target.h - what the path given to `info` is: a dataset, a trained voice, or an ONNX file.
 */
#ifndef MYXTTS_CMD_INFO_TARGET_H
#define MYXTTS_CMD_INFO_TARGET_H

#include "base/err.h"
#include "voice/checkpoint_folder.h"

typedef enum { INFO_DATASET, INFO_CHECKPOINT, INFO_GRAPH } InfoKind;

typedef struct InfoTarget {
    InfoKind kind;
    char path[CHECKPOINT_PATH_SIZE]; /* as it was typed; of a folder with an ONNX file, that file */
} InfoTarget;

/* Nothing is opened. What is neither a voice nor an ONNX file is a dataset: reading it says what is wrong.
 * ERR_USAGE: the folder holds several ONNX files. */
int info_target_find(InfoTarget *t, const char *typed, Err *err);

#endif
