/* output.h - JSON on stdout. Values are made with base/json.h, which keeps them JSON; NULL from there, for
 * want of memory, becomes the error here. Threads: one. */
#ifndef MYXTTS_CMD_OUTPUT_H
#define MYXTTS_CMD_OUTPUT_H

#include <jansson.h>

#include "base/err.h"

/* Prints o and takes it over. 0, or ERR_NOMEM when o is NULL or does not fit in memory as text. */
int output_print(json_t *o, int digits, Err *err);

#endif
