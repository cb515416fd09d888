/* format.h - formats small values for the output of commands. */
#ifndef MYXTTS_CMD_FORMAT_H
#define MYXTTS_CMD_FORMAT_H

#include <stddef.h>
#include <stdint.h>

void format_code_point(char out[8], uint32_t code_point); /* UTF-8; "?" if it cannot be shown */
void format_bytes(char *out, size_t cap, uint64_t bytes); /* "1.2 MB" */

#endif
