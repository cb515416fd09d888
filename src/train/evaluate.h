/* evaluate.h - how good a network is on clips it has not seen: its loss, and how it speaks. */
#ifndef MYXTTS_EVALUATE_H
#define MYXTTS_EVALUATE_H

#include "model/speak.h"
#include "pipeline/corpus.h"
#include "train/engine.h"
#include "train/snapshot.h"

typedef struct EvaluateOptions {
    const Config *cfg;
    const Corpus *corpus;
    Device *data, *model;
    Log *log;
    uint64_t *peak_model, *peak_data; /* raised to what the devices have in use while the clips go through; may be NULL */
} EvaluateOptions;

/* Teacher-forced loss per frame over all clips of the corpus, without dropout and augmentation. look (NULL: none): the first clip. */
int evaluate_loss(double terms[TERM_COUNT], EngineLook *look, Engine *e, const EvaluateOptions *o, Err *err);

/* Clips spoken from their text alone, each in its speaker's voice. */
typedef struct SpeechScore {
    int clips, ended; /* ended: by themselves, not at the cap */
    double length;    /* mean ratio to the real clip */
    double diagonal;  /* mean share of the attention near the diagonal */
} SpeechScore;
int evaluate_speech(SpeechScore *s, Speaker *speaker, const SpeakLimits *limits, const Config *cfg, const Corpus *c,
                    const VoiceClips *clips, int most, Err *err);

/* Mean voice vector [size] of the clips of a speaker. ERR_MISSING when there is none. */
int speaker_voice(Speaker *s, float *voice, const VoiceClips *clips, int32_t speaker, int size, Err *err);

/* The padded size of the largest batch of both corpora; b may be NULL. */
EngineShape corpus_shape(const Config *cfg, const Corpus *a, const Corpus *b);
SpeakLimits speak_limits(const Config *cfg, const EngineShape *largest);

#endif
