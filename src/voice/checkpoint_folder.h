/* checkpoint_folder.h - a folder of checkpoints (safetensors.h).
 *
 *   step-00001000.safetensors   the number has at least 8 digits
 *   best.safetensors            a hard link to the best step's file, or a copy of it
 *   NAME.tmpPID                 being written by process PID, or left by one that was killed
 *
 * Every file appears whole or not at all, and is on the disk before a job counts as done: a kill or a power
 * cut at any moment leaves the checkpoints that were finished. */
#ifndef MYXTTS_CHECKPOINT_FOLDER_H
#define MYXTTS_CHECKPOINT_FOLDER_H

#include <stdint.h>

#include "base/log.h"
#include "voice/safetensors.h"

#define CHECKPOINT_PATH_SIZE 4096

/* Writes checkpoints in a thread of its own, one at a time. All functions are for one thread at a time, the
 * owner's. */
typedef struct CheckpointWriter CheckpointWriter;

/* Makes the folder (with parents), removes what dead writers left in it, starts the thread. keep: how many
 * step files stay, <= 0: all. A folder that exists but cannot be written to is only warned of. One writer per
 * folder; log must outlive it. */
int checkpoint_writer_open(CheckpointWriter **w, const char *dir, int keep, Log *log, Err *err);

/* Waits for the previous job, copies names and metadata (NOT the data of the tensors: it must stay as it is
 * until the next submit or checkpoint_writer_wait returns), hands them to the thread and returns. 0, or
 * ERR_NOMEM, ERR_DATA: then nothing was handed over. The thread writes the step, makes it the best one if
 * is_best, then removes the oldest steps over `keep`. It never removes anything before the new file is safe,
 * nor steps with a higher number (of a run that was further), nor the best. */
int checkpoint_writer_submit(CheckpointWriter *w, int64_t step, int is_best, const MetaEntry *meta,
                             int n_meta, const TensorView *t, int n, Err *err);

/* Waits until the last job is finished. Its result: 0, or the code of its error, which has been logged as a
 * sentence ("checkpoint at step N was not written: ...; training goes on, the last good one is FILE"). 0 when
 * there was no job. */
int checkpoint_writer_wait(CheckpointWriter *w);

/* The newest file that is known to be good: of the last job that succeeded; before the first one, the newest
 * valid one in the folder (this reads it). "" when there is none. Valid until the next call for w. */
const char *checkpoint_writer_last_good(CheckpointWriter *w);

/* Finishes the last job. NULL is fine. */
void checkpoint_writer_close(CheckpointWriter *w);

/* Which file to load. `what` is one of
 *
 *   "auto" or NULL   the valid step file in dir with the highest number; invalid ones are warned of
 *   "best"           best.safetensors in dir
 *   a file           that one
 *   a folder         its best when there is a valid one, else its newest valid step
 *
 * Valid: the whole file was read and its checksum is right. ERR_MISSING: no such file or folder, or not a
 * single checkpoint in it. ERR_DAMAGED: there are some, but none is valid (so that a run does not silently
 * start anew). For one named file: its own error. */
int checkpoint_find(char path[CHECKPOINT_PATH_SIZE], const char *what, const char *dir, Log *log, Err *err);

#endif
