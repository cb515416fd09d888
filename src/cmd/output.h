/* output.h - JSON on stdout that is always JSON: foreign bytes and odd numbers are made fit for it, a lack of
 * memory is an error. Values are new references, as jansson's own; NULL on no memory, which output_print
 * turns into the error. Threads: one. */
#ifndef MYXTTS_CMD_OUTPUT_H
#define MYXTTS_CMD_OUTPUT_H

#include <jansson.h>

#include "base/err.h"

json_t *output_text(const char *s, size_t n); /* where the bytes are not UTF-8, those over 0x7F become '?' */
json_t *output_number(double x);              /* null for NaN and infinities, which JSON does not know */
/* Prints o and takes it over. 0, or ERR_NOMEM when o is NULL or does not fit in memory as text. */
int output_print(json_t *o, int digits, Err *err);

#endif
