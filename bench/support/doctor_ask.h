/* doctor_ask.h - bench/doctor shows a simulated machine to the program: what diagnose says about it, and how
 * fast it really is (bench pipeline). A run that this computer disturbed is made again. For doctor.c. */
#ifndef MYXTTS_DOCTOR_ASK_H
#define MYXTTS_DOCTOR_ASK_H

#include "base/log.h"
#include "doctor_report.h"
#include "doctor_run.h"

typedef struct Run {
    double utterances, ms, wait_share, noise; /* a second, of a step, of the time, too */
} Run;

void *watch_main(void *arg); /* of a Watch's thread */

/* As call_run; a run that was disturbed is made again, and the least disturbed one counts. What came out
 * plays no part in that. */
int call_run_quietly(json_t **answer, Judge *j, Call *c, double *noise, Err *err);
void call_begin(Call *c, const Judge *j, const Machine *m, const char *command);
int is_disturbed(const json_t *answer); /* 1: it says that the machine was too disturbed to judge */
/* What diagnose says, over this many batches (0: as many as it likes). */
int ask(json_t **answer, Judge *j, const Machine *m, int batches, double *noise, Err *err);
/* one(j, arg, i) for each i below count, j->o.jobs of them at a time. */
int in_parallel(Judge *j, Log *log, int count, void (*one)(Judge *j, void *arg, int i), void *arg, Err *err);
int batches_for(const Judge *j, const Machine *m);
/* Throughput of the machine, with `key` set to `value` when it is not NULL. */
int measure(Run *out, Judge *j, const Machine *m, int batches, const char *key, const char *value, Err *err);
/* Bytes of a batch, from the time that a copy of known speed takes. The copy between devices shows them to
 * the byte; the one from the host a little more, for the thread that asks for it wakes up late: where the two
 * are alike they are the same, and the machines of a seed do not change. */
int find_sizes(Sizes *sizes, Judge *j, Err *err);

#endif
