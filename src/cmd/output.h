/* output.h - prints JSON on stdout. Values are made with base/json.h, so that they are valid JSON. Threads:
 * one. */
#ifndef MYXTTS_CMD_OUTPUT_H
#define MYXTTS_CMD_OUTPUT_H

#include <jansson.h>

#include "base/err.h"

/* Prints o and releases it. digits: of floating-point numbers. ERR_NOMEM if o is NULL (its maker was out of
 * memory) or its text does not fit into memory. */
int output_print(json_t *o, int digits, Err *err);

#endif
