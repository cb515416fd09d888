/* data.h - opens the dataset of a command that trains or examines training, and prepares it
 * first if needed. */
#ifndef MYXTTS_DATA_H
#define MYXTTS_DATA_H

#include "base/err.h"
#include "base/log.h"
#include "cache/limits.h"
#include "config/config.h"
#include "pipeline/corpus.h"
#include "ranks/ranks.h"

typedef struct DataOptions {
    LimitCosts *limits; /* receives what they cost; NULL: not wanted */
    Ranks *ranks;       /* all do it together, and each then has the whole dataset; NULL: alone */
    int quiet;          /* 1: the lines are LOG_DEBUG, else LOG_INFO */
    int no_fork;        /* as in PrepareOptions */
    const int *stop;    /* as in PrepareOptions */
} DataOptions;

/* Builds what is missing or changed, logs one line about the dataset and one about each limit that costs
 * clips, and opens metadata and caches for corpus_open_split. ERR_DATA if no line can be used; *source is
 * NULL after a failure. Call before any thread is started, because phonemisers are forked, unless no_fork is
 * set. */
int data_open(CorpusSource **source, const Config *cfg, const DataOptions *o, Log *log, Err *err);

/* ERR_DATA for a dataset of which no line can be used: why, where all have the same reason, and where the
 * others are listed. */
int data_unusable(const Dataset *d, const Config *cfg, const char *rejected_path, Err *err);
/* ERR_DATA where lines can be used, but none is left to train on: what takes them away. */
int data_none_to_train(const Config *cfg, Err *err);

#endif
