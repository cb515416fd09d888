/* checkpoint_folder_private.h - names in a folder of checkpoints, for the code that finds them and the code
 * that writes them. Private to src/voice. Threads: any. */
#ifndef MYXTTS_CHECKPOINT_FOLDER_PRIVATE_H
#define MYXTTS_CHECKPOINT_FOLDER_PRIVATE_H

#include "voice/checkpoint_folder.h"

#define SUFFIX ".safetensors"
#define BEST_NAME CHECKPOINT_BEST
#define PREVIOUS_NAME "previous-best" SUFFIX
#define BEST_NOTE "best.json"
#define DIVERGED_NAME "diverged" SUFFIX
#define STEP_DIGITS 8

/* The path of a file in a folder. ERR_DATA: it is too long, and out is "". */
int folder_join(char out[CHECKPOINT_PATH_SIZE], const char *dir, const char *name, Err *err);

/* The number in "step-00001000.safetensors", or -1. *end: what follows the suffix. */
int64_t folder_step_of(const char *name, const char **end);

typedef struct StepFile {
    int64_t step;
    char name[48];
} StepFile;

typedef struct StepList {
    StepFile *items; /* highest step first */
    size_t count, cap;
} StepList;

/* All step files of a folder. The caller frees items. ERR_MISSING when there is no such folder. */
int folder_list_steps(StepList *list, const char *dir, Err *err);

#endif
