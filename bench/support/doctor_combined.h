/* doctor_combined.h - bench/doctor --combined: 200 simulated machines with two faults each (doctor_pairs.h).
 *
 * Each is shown to `myxtts diagnose --json`, and then run four times: as it is, without one fault, without
 * the other, without both. The first two walls of the diagnosis must be the two faults (stage, cause, and the
 * period of a stall within 10 %), the one whose absence alone gives more first. Where the two differ by less
 * than CLOSE, no order can be told from a measurement, and either counts; how many these are is printed. The
 * gain that the second wall gives so far must be that of the machine without both faults, within 10 %.
 * Both must hold on 95 % of the machines. */
#ifndef MYXTTS_DOCTOR_COMBINED_H
#define MYXTTS_DOCTOR_COMBINED_H

#include "doctor_ask.h"
#include "doctor_pairs.h"

#define CLOSE 0.03 /* of the throughput */

/* Prints a table and a JSON line. 0: the targets hold, 1: they do not; < 0: it could not be done. */
int combined_judge(Judge *j, Log *log, const Sizes *sizes, Err *err);

#endif
