/* clock.h - seconds since some fixed moment, monotonic. For durations, never for dates. */
#ifndef MYXTTS_CLOCK_H
#define MYXTTS_CLOCK_H

double clock_now(void);
void clock_sleep(double seconds);

#endif
