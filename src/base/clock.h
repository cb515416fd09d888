/* clock.h - seconds since some fixed moment, monotonic. For durations, never for dates. Threads: any. */
#ifndef MYXTTS_CLOCK_H
#define MYXTTS_CLOCK_H

double clock_now(void);
double clock_cpu(void); /* seconds that all threads of this process have computed */
void clock_sleep(double seconds);

#endif
