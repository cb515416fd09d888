/* output.h - stdout: JSON, and what a terminal gets to see. JSON values are made with base/json.h, so that
 * they are valid. Threads: one. */
#ifndef MYXTTS_CMD_OUTPUT_H
#define MYXTTS_CMD_OUTPUT_H

#include <jansson.h>

#include "base/err.h"
#include "base/mem.h"

/* Prints o and releases it. digits: of floating-point numbers. ERR_NOMEM if o is NULL (its maker was out of
 * memory) or its text does not fit into memory. */
int output_print(json_t *o, int digits, Err *err);

/* Adds the call itself to *out, as a report names it: "myxtts mel A.wav". */
void output_command(Buf *out, int argc, char **argv);

/* For main, before anything is printed: where stdout is a terminal, control characters in what is printed
 * become '?' (utf8_tame): ids and texts come from files of others. A pipe or a file gets every byte. */
void output_guard(void);
/* The program's own control sequences, in the order of printing; the guard does not see them. */
void output_control(const char *text, size_t size);

#endif
