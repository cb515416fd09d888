/* train_process.h - `myxtts train` as a process of its own: a corpus of tones, a network that takes a few
 * milliseconds for a step, checkpoints compared tensor by tensor. On top of prepare_testing.h. */
#ifndef TESTS_TRAIN_PROCESS_H
#define TESTS_TRAIN_PROCESS_H

#include "checkpoint_testing.h"
#include "prepare_testing.h"

#include "voice/checkpoint_folder.h"

/* 18 clips of three speakers, one of a fourth, and the settings in voice.yaml. */
void make_voice_corpus(Corpus *c);

/* Starts `train` into a folder with more options. */
void train_start(Run *r, const Corpus *c, const char *folder, int steps, int save, const char *const *more,
                 const char *const *env);
void train_to_end(const Corpus *c, const char *folder, int steps, int save, const char *const *more,
                  int code);

/* Reads stderr until it holds the text; fails when the process ends before. */
void wait_for(Run *r, const char *text);

/* Every finished checkpoint in the folder is valid; returns the highest step, 0: there is none. */
int64_t check_folder(const char *folder);

#endif
