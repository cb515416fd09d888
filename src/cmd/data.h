/* data.h - the dataset of a command that trains or looks at training: prepared when it is not. */
#ifndef MYXTTS_CMD_DATA_H
#define MYXTTS_CMD_DATA_H

#include "base/err.h"
#include "base/log.h"
#include "config/config.h"
#include "pipeline/corpus.h"

/* Builds what is missing or changed and says what there is (a line of LOG_INFO, of LOG_DEBUG where quiet);
 * then opens the metadata and the caches for corpus_open_split. The metadata is read once. ERR_DATA when no
 * line can be used; *source is NULL after a failure. Call before threads are started: phonemisers are
 * forked. */
int data_open(CorpusSource **source, const Config *cfg, int quiet, Log *log, Err *err);

#endif
