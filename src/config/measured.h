/* measured.h - settings that were measured on this machine, with a remark in the file that says so. Rules
 * that only guess (preflight.h) leave them alone. Threads: any, each with its own text. */
#ifndef MYXTTS_CONFIG_MEASURED_H
#define MYXTTS_CONFIG_MEASURED_H

#include "base/err.h"
#include "base/mem.h"

/* Sets a key as schema_set does, and adds the comment `# measured: REMARK` to its line. Returns 1 where the
 * text has no room for a comment (JSON, or in the middle of a flow mapping): the value is set without it. */
int measured_set(Buf *text, const char *key, const char *value, const char *remark, Err *err);
/* 1: the line (from 1) has such a comment. */
int measured_at(const Buf *text, int line);

#endif
