/* voice_clips.h - for voice.c: sentences, the clips in which they are spoken, and what the recogniser hears
 * in them. */
#ifndef MYXTTS_VOICE_CLIPS_H
#define MYXTTS_VOICE_CLIPS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audio/griffin_lim.h"
#include "audio/mel.h"
#include "audio/process.h"
#include "audio/wav.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/ordered.h"
#include "dataset/audio_file.h"
#include "judge/judge.h"
#include "judge/words.h"

#define PATH_SIZE 4096

/* ---- sentences ---- */

typedef struct Sentence {
    int line; /* from 1: the name of its clip */
    char *text;
    int words;
} Sentence;

typedef struct Text {
    Sentence *items; /* [count]; lines without a word are left out */
    int count, words;
} Text;

void text_free(Text *t);
int text_read(Text *t, const char *path, Err *err);

/* ---- clips ---- */

/* Clips of sentences, heard. clips[i] belongs to sentence i; words, wrong and heard are set where there[i].
 */
typedef struct Heard {
    JudgeClip *clips; /* [count] without sound */
    double *seconds;  /* [count] without the silence at both ends */
    uint8_t *there;   /* [count] */
    int count;
} Heard;

void heard_free(Heard *h);

/* ---- what was heard before ---- */

/* The recogniser takes a quarter of the time of the sound, and always hears the same in the same sound: a
 * file keeps what it heard, one line of 32 digits (hash of recogniser and sound), a tab and the words for
 * each clip. */
typedef struct Memory {
    struct MemoryLine {
        char key[33], *heard;
    } * lines; /* [count] */
    int count;
    size_t cap;
    const char *path, *recogniser;
} Memory;

void memory_free(Memory *m);

/* A file that is not there, or lines that are none, count as nothing heard. path and recogniser are kept, not
 * copied. */
int memory_open(Memory *m, const char *path, const char *recogniser, Err *err);

/* Every sentence in folder/NN.wav. some: clips may be missing (there[i] is 0), else that is ERR_MISSING. */
int heard_make(Heard *h, const Text *t, const char *folder, int some, const Config *cfg, Memory *memory,
               const char *language, int threads, Err *err);

/* ---- through mel and Griffin-Lim ---- */

/* Every sentence of folder `from` through mel and Griffin-Lim into folder `to`. */
int copies_make(const Text *t, const char *from, const char *to, const Config *cfg, int iterations,
                int threads, Err *err);

#endif
