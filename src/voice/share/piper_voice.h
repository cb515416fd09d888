/* piper_voice.h - what goes beside an ONNX file so that Piper, Home Assistant, NVDA and sherpa-onnx speak
 * with it: NAME.onnx.json, tokens.txt, and the entries of its metadata. The files are in docs/FORMATS.md.
 * Threads: any. */
#ifndef MYXTTS_PIPER_VOICE_H
#define MYXTTS_PIPER_VOICE_H

#include "base/err.h"
#include "voice/checkpoint.h"
#include "voice/credits.h"

enum { PIPER_TEXT_SIZE = 100, PIPER_ENTRIES = 7 };

/* What the files say of the voice. */
typedef struct PiperVoice {
    const Checkpoint *voice;
    const Credits *credits;           /* complete */
    const int *speakers;              /* [speaker_count] numbers, in the order of `sid` */
    int speaker_count;                /* 0: the voice has no name */
    char code[24];                    /* "en_US" */
    char quality[16];                 /* "medium": of the name, else by the sample rate */
    char language[PIPER_TEXT_SIZE];   /* "English" */
    char name[PIPER_TEXT_SIZE];       /* of the file, without its ending */
    const char *espeak;               /* "en-us": the voice of espeak-ng */
    int is_usual;                     /* 0: the name is not like en_US-anna-medium */
    char numbers[2][12];              /* speakers and sample rate, for entries */
    MetaEntry entries[PIPER_ENTRIES]; /* for sherpa-onnx */
} PiperVoice;

/* 1: the file is called as Piper's voices are, en_US-anna-medium.onnx. */
int piper_voice_named(const char *path);
/* path: of the ONNX file. speakers and what else is pointed to must outlive p. ERR_USAGE: the voice does not
 * read phonemes of espeak-ng, or its file is called after another language. */
int piper_voice_open(PiperVoice *p, const char *path, const Checkpoint *voice, const Credits *credits,
                     const int *speakers, int speaker_count, Err *err);
/* The file at path + ".json", and tokens.txt beside it. */
int piper_voice_write(const PiperVoice *p, const char *path, Err *err);

#endif
