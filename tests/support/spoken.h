/* spoken.h - sentences and somebody who speaks them: flite, a small synthesiser of the 1990s (Debian package
 * flite). The sentences are lists 1 and 2 of the Harvard sentences (IEEE Recommended Practice for Speech
 * Quality Measurements, 1969). Voice slt, 16 kHz; the same bytes each time. */
#ifndef MYXTTS_SPOKEN_H
#define MYXTTS_SPOKEN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "dataset/audio_file.h"

#define SPOKEN_COUNT 20
extern const char *const spoken_sentences[SPOKEN_COUNT];

/* 1: the text, spoken, in out (freed by the caller with audio_buffer_free). 0: flite is not there. */
int spoken_by_flite(AudioBuffer *out, const char *text);

#endif
