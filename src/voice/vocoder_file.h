/* vocoder_file.h - where the vocoder of a voice is, and whether the two go together. Threads: any. */
#ifndef MYXTTS_VOCODER_FILE_H
#define MYXTTS_VOCODER_FILE_H

#include "base/err.h"
#include "base/log.h"
#include "voice/checkpoint.h"

#define VOCODER_FOLDER "vocoder"   /* of a run: where `train --network vocoder` puts its checkpoints */
#define VOCODER_NONE "griffin_lim" /* in the place of a path: no vocoder */

/* A vocoder's checkpoint or a folder of them, an exported vocoder, or a voice that has one, inside or beside
 * it. ERR_FORMAT: it holds a voice alone. A failed one is closed. */
int vocoder_file_open(Checkpoint *v, const char *path, Log *log, Err *err);

/* The vocoder of a voice: the one in its file, else the one in the folder `vocoder` beside it, unless its
 * copies of held-out clips were farther from the recordings than Griffin-Lim's, which is said. path: another
 * that is asked for, and taken whatever it sounds like (VOCODER_NONE: none); NULL: none is. needed:
 * Griffin-Lim cannot take its place, so it is taken all the same, with a warning. 1 and *v, which goes with
 * the voice; 0: there is none; or a negative code. */
int vocoder_file_of(Checkpoint *v, const Checkpoint *voice, const char *path, int needed, Log *log, Err *err);

/* The folder in which the vocoder of a voice is looked for; file: that of the voice. ERR_DATA: its path is
 * too long. */
int vocoder_file_folder(char folder[CHECKPOINT_PATH_SIZE], const char *file, Err *err);

/* 1: Griffin-Lim is better, by what was measured when the vocoder was validated. */
int vocoder_file_is_worse(const TrainState *s);

/* 0 when it makes sound of mels with these settings. ERR_CONFIG names what differs, with both values. whose:
 * whose settings they are, for the message. */
int vocoder_file_fits(const Checkpoint *vocoder, const Config *cfg, const char *whose, Err *err);

#endif
