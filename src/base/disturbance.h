/* disturbance.h - how much other programs held this one up: the time for which its threads were ready to run
 * and had no core, while others used the cores. From /proc; where that cannot be read, nothing is known and
 * nothing counts as disturbed. Threads: any. */
#ifndef MYXTTS_DISTURBANCE_H
#define MYXTTS_DISTURBANCE_H

typedef struct Disturbance { /* at one moment, in seconds */
    double now, own, busy;   /* clock; CPU time of this process; of everybody, on the cores it may use */
    double delay;            /* its threads have waited so long for a core, those that ended not counted */
} Disturbance;

void disturbance_read(Disturbance *d);
/* Seconds for which threads waited for a core, per second from a to b; 0 if no other program used much of the
 * cores: then they only waited for each other. */
double disturbance_between(const Disturbance *a, const Disturbance *b);

#endif
