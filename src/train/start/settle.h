/* settle.h - chooses settings that were not given, by what the run starts with and how much speech it has.
 * The sizes of the network follow the checkpoint that is resumed or begun with; a run that is resumed keeps
 * all others too, its data among them. Little speech begins with the base that comes with the program
 * (voice/base_file.h), and what begins with a trained voice learns in its own way (adaptation). Each is said
 * with its reason. Threads: one; all ranks call together. */
#ifndef MYXTTS_SETTLE_H
#define MYXTTS_SETTLE_H

#include "base/err.h"
#include "base/log.h"
#include "config/config.h"
#include "device/device.h"
#include "pipeline/corpus.h"
#include "ranks/ranks.h"

/* Less speech than this is little: from scratch it is learned by heart, or not at all (docs/MODEL.md). */
#define SETTLE_LITTLE_MINUTES 30.0

typedef struct Settled {
    int batch;      /* clips of a batch over all ranks, as trainer_check has it */
    int fresh;      /* 1: no checkpoint is resumed, and none was given to start with */
    int resumed;    /* 1: a run is continued with its own settings */
    double minutes; /* of speech to learn from; settle_data knows */
} Settled;

/* Before the caches are built: refuses what trainer_check refuses. */
int settle_start(Settled *s, Config *cfg, Ranks *ranks, Err *err);
/* When the data are known, and the device that the run is for. */
int settle_data(Settled *s, Config *cfg, const Corpus *train, const Device *model, Ranks *ranks, Log *log,
                Err *err);

#endif
