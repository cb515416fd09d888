/* base_file.h - the base that comes with the program: a voice with its vocoder in one exported file
 * (export.h), from which voices with little speech start. Threads: any. */
#ifndef MYXTTS_BASE_FILE_H
#define MYXTTS_BASE_FILE_H

#include "voice/checkpoint.h"

#define BASE_FILE_NAME "english-nano.safetensors"

/* Where it lies beside this program or library: share/myxtts/bases of an installation or a bundle, `bases` of
 * the source in a build. 1, or 0: there is none. */
int base_file_find(char path[CHECKPOINT_PATH_SIZE]);

/* What a voice that begins with this file says of it in its entry `base`: {"name", "step", "licence",
 * "source", "note"}, the last three where the file has them, or where the base that it began with itself has.
 * malloc'd; NULL without memory. */
char *base_file_entry(const Checkpoint *v);

#endif
