/* clock.h - a monotonic clock for durations (its zero is arbitrary, so not for dates). Threads: any. */
#ifndef MYXTTS_CLOCK_H
#define MYXTTS_CLOCK_H

double clock_now(void); /* seconds */
double clock_cpu(void); /* seconds of CPU time that this process has used, all threads together */
void clock_sleep(double seconds);

#endif
