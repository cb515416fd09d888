/* data.h - the dataset of a command that trains or looks at training: prepared when it is not. */
#ifndef MYXTTS_CMD_DATA_H
#define MYXTTS_CMD_DATA_H

#include "base/err.h"
#include "base/log.h"
#include "config/config.h"

/* Builds what is missing or changed and says what there is (a line of LOG_INFO, of LOG_DEBUG where quiet).
 * ERR_DATA when no line can be used. Call before threads are started: phonemisers are forked. */
int data_prepare(const Config *cfg, int quiet, Log *log, Err *err);

#endif
