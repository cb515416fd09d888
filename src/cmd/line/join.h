/* join.h - a command that may have been started as one of several ranks. */
#ifndef MYXTTS_CMD_JOIN_H
#define MYXTTS_CMD_JOIN_H

#include "base/err.h"
#include "base/log.h"
#include "ranks/ranks.h"

/* Finds the other ranks, if a launcher has started any; *r is NULL when there are none. From here on only
 * rank 0 prints, or with `verbose` all of them, each line with its rank; and the process keeps to its share
 * of the host's cores, unless the launcher has bound it already. Call after cmd_line_set_log, before any
 * other thread is started. */
int join_ranks(Ranks **r, int verbose, Log *log, Err *err);
/* The command has come to its end, with rc. A failure is told to the others: all end. */
void leave_ranks(Ranks *r, int rc, Err *err);
/* After leave_ranks with a failure: as cmd_fail, but what is wrong with the command line, which every rank
 * sees, is said by rank 0 alone. */
int fail_ranks(Log *log, const Err *err);
/* Collective, before leave_ranks: the highest of all ranks' exit codes. */
int highest_code(Ranks *r, int code);
static inline int leads_ranks(const Ranks *r) { return ranks_rank(r) == 0; }

#endif
