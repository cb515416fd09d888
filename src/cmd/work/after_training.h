/* after_training.h - what the person who waited for a training wants to know: how it sounds, and what to type
 * next. Threads: any. */
#ifndef MYXTTS_AFTER_TRAINING_H
#define MYXTTS_AFTER_TRAINING_H

#include "base/json.h"
#include "config/config.h"
#include "diag/pipeline/doctor.h"
#include "diag/voice/voice_watch.h"
#include "train/trainer.h"

/* What --network both has still to do when a training ends. */
typedef enum { VOCODER_ASIDE, VOCODER_TO_COME, VOCODER_TO_CONTINUE } VocoderStands;

typedef struct After {
    const TrainSummary *summary;
    const Config *cfg;
    const Verdict *verdict;  /* on its speed; NULL: none */
    const VoiceWatch *voice; /* zeroed for a vocoder */
    VocoderStands vocoder;
    int all; /* --verbose: also what is as it should be */
} After;

/* On stdout, for people: how it sounds, what to type next, then the figures. */
void after_training(const After *a);

/* One or two sentences about what was measured; "" where nothing was. */
void after_sounds(const TrainSummary *s, const Config *cfg, char *out, size_t cap);
/* A command that lets it be heard; "" if there is no checkpoint to speak with. */
void after_next(const TrainSummary *s, const Config *cfg, char *out, size_t cap);

/* 1: the learning rate never reached its height: such a run says little about the settings. */
int after_within_warmup(const TrainSummary *s);
/* What the run did beside its steps: seconds, share of the run's, seconds of each kind. */
json_t *after_beside_json(const TrainSummary *s);

#endif
