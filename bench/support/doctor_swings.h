/* doctor_swings.h - bench/doctor --swings: 120 simulated machines whose steps come evenly or not.
 *
 *   - jitter, 20: the times of one stage (or of all, where the step shows it) vary without a rule
 *   - oscillation, 20: one stage takes longer every this many steps
 *   - healthy, 60: those of doctor_machines.h, with jitter and stalls that the buffers hide
 *   - lengths, 20: clips of 0.5 to 6 s, and a step or a copy that takes longer for long ones
 *
 * By the model of doctor_machines.h, the steps of the first two vary by more than the doctor's limit. Each is
 * shown to `myxtts diagnose --json`: `swing` must name kind, stage and period (within 10 %) of the first two,
 * no fault of the third and no bottleneck, and "lengths" of the last. All must hold. */
#ifndef MYXTTS_DOCTOR_SWINGS_H
#define MYXTTS_DOCTOR_SWINGS_H

#include "doctor_ask.h"

/* Prints a table and a JSON line. 0: the targets hold, 1: they do not; < 0: it could not be done. */
int swings_judge(Judge *j, Log *log, const Sizes *sizes, Err *err);

#endif
