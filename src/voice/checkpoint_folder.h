/* checkpoint_folder.h - a folder of checkpoints (safetensors.h).
 *
 *   step-00001000.safetensors   the number has at least 8 digits
 *   best.safetensors            a hard link to the best step's file, or a copy of it
 *   best.json                   which step that is and why (best_note.h)
 *   previous-best.safetensors   the previous best, until the words of the best are known
 *   diverged.safetensors        the newest step of a run whose weights became useless; used only if named
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
#define CHECKPOINT_BEST "best.safetensors"

/* Writes checkpoints in a separate thread, one at a time. All functions are for one thread at a time, the
 * owner's. */
typedef struct CheckpointWriter CheckpointWriter;

/* Makes the folder (with parents), removes what dead writers left in it, starts the thread. keep: how many
 * step files stay, <= 0: all. A folder that exists but cannot be written to is only warned of. One writer per
 * folder; log must outlive it. */
int checkpoint_writer_open(CheckpointWriter **w, const char *dir, int keep, Log *log, Err *err);

/* Waits for the previous job, copies names and metadata (NOT the data of the tensors: it must stay as it is
 * until the next submit or checkpoint_writer_wait returns), hands them to the thread and returns. 0, or
 * ERR_NOMEM, ERR_DATA: then nothing was handed over. The thread writes the step, makes it the best one if
 * is_best, then removes the oldest steps over `keep`. On a full disk older steps make room first, down to the
 * one that is known to be good (or the newest), and that one only if the best is there beside it or the run
 * ends (checkpoint_writer_end); then a copy of it is on another disk until the new one is complete. It never
 * removes steps with a higher number (of a run that was further), nor the best. */
int checkpoint_writer_submit(CheckpointWriter *w, int64_t step, int is_best, const MetaEntry *meta,
                             int n_meta, const TensorView *t, int n, Err *err);

/* Second names for files that are there already; each waits for the last job, and fails where a file is not
 * there or the file system has no hard links.
 *   keep_best     the best becomes the previous best too
 *   return_best   the previous best becomes the best
 *   choose_best   the file of this step becomes the best
 * drop_previous: the previous best is not needed any more. */
int checkpoint_writer_keep_best(CheckpointWriter *w, Err *err);
int checkpoint_writer_return_best(CheckpointWriter *w, Err *err);
int checkpoint_writer_choose_best(CheckpointWriter *w, int64_t step, Err *err);
void checkpoint_writer_drop_previous(CheckpointWriter *w);

/* What is submitted next is the end of the run: on a full disk even the only old step makes room for it,
 * where that is enough. */
void checkpoint_writer_end(CheckpointWriter *w);
/* Jobs submitted from now on are written by a separate process, which continues when this one is killed. */
void checkpoint_writer_outlive(CheckpointWriter *w);

/* The weights of this step are known to be good: training continued from them. The newest such file stays,
 * however many are kept. */
void checkpoint_writer_confirm(CheckpointWriter *w, int64_t step);

/* The run has diverged: no step after the one confirmed last, up to `to`, is found again; where none was
 * confirmed, none from `from` on. Waits for the last job. */
void checkpoint_writer_abandon(CheckpointWriter *w, int64_t from, int64_t to);

/* Before a run: whether there is room for a file of this many bytes. Old steps up to `step` make room as in
 * checkpoint_writer_submit. ERR_NOSPACE says what is missing. */
int checkpoint_writer_room(CheckpointWriter *w, int64_t step, uint64_t bytes, Err *err);

/* About as many bytes as the file of these will have, rather more than fewer. */
uint64_t checkpoint_file_bytes(const MetaEntry *meta, int n_meta, const TensorView *t, int n);

/* Waits until the last job is finished. Its result: 0, or the code of its error, which has been logged as a
 * sentence ("checkpoint at step N was not written: ...; training continues, the last good checkpoint is
 * FILE"). 0 when there was no job. */
int checkpoint_writer_wait(CheckpointWriter *w);

/* The newest file that is known to be good: of the last job that succeeded; before the first one, the newest
 * valid one in the folder (this reads it). "" when there is none. Valid until the next call for w. */
const char *checkpoint_writer_last_good(CheckpointWriter *w);

/* Finishes the last job. NULL is fine. */
void checkpoint_writer_close(CheckpointWriter *w);

/* Which file to load. `what` is one of
 *
 *   "auto" or NULL   the valid step file in dir with the highest number; invalid ones are warned of. Where
 *                    there is none, best.safetensors, which is said
 *   "best"           best.safetensors in dir
 *   a file           that one
 *   a folder         its best when there is a valid one, else its newest valid step
 *   "base"           the base that comes with the program (base_file.h), where nothing here has that name
 *
 * Valid: the whole file was read and its checksum is right. ERR_MISSING: no such file or folder, or not a
 * single checkpoint in it. ERR_DAMAGED: there are some, but none is valid (so that a run does not silently
 * start over). For one named file: its own error. */
int checkpoint_find(char path[CHECKPOINT_PATH_SIZE], const char *what, const char *dir, Log *log, Err *err);
/* The step file with the highest number, by the names alone. ERR_MISSING: there is none. */
int checkpoint_newest(char path[CHECKPOINT_PATH_SIZE], const char *dir, Err *err);

#endif
