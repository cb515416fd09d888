/* doctor_testing.h - observations of machines that are made of drawn times alone, so that nothing depends on
 * the clock. For the tests of the doctor. */
#ifndef MYXTTS_DOCTOR_TESTING_H
#define MYXTTS_DOCTOR_TESTING_H

#include "diag/pipeline/forecast.h"

enum { BATCHES = 300, ROWS = 8 };

typedef struct Machine {
    const char *name, *sim;
    int workers, slots, most_buffers, two;
    const char *stage, *cause;
    int period;
} Machine;

/* Stages that a step of 20 ms does not wait for. */
#define FAST "read_ms=4,decode_ms=6,h2d_us=2000,preprocess_ms=4,peer_us=2000,"

/* An observation as the pipeline would leave it on this machine; what was "measured" is what the forecast
 * says. */
void make_observation(Observation *o, const Machine *m);
/* The step times of the forecast as if they had been measured. */
void measure_steps(Observation *o);

#endif
