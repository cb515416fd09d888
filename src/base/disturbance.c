/* disturbance.c - see disturbance.h. */
#include "base/disturbance.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"

#define OTHERS 0.2 /* share of the cores that others have to use */

/* Of the cores that the scheduler grants; user, nice and system time. */
static double busy_cores(void)
{
    cpu_set_t set;
    char line[512];
    double ticks = 0;
    FILE *f = sched_getaffinity(0, sizeof set, &set) == 0 ? fopen("/proc/stat", "r") : NULL;
    while (f && fgets(line, sizeof line, f)) {
        int core;
        unsigned long long user, nice, system;
        if (sscanf(line, "cpu%d %llu %llu %llu", &core, &user, &nice, &system) == 4 && core >= 0 &&
            core < CPU_SETSIZE && CPU_ISSET((size_t)core, &set))
            ticks += (double)(user + nice + system);
    }
    if (f)
        fclose(f);
    return ticks / (double)sysconf(_SC_CLK_TCK);
}

/* Over all threads. */
static double waited_for_cores(void)
{
    double sum = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *e = tasks ? readdir(tasks) : NULL; e; e = readdir(tasks)) {
        char path[300];
        unsigned long long ran, waited;
        snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (f && fscanf(f, "%llu %llu", &ran, &waited) == 2)
            sum += 1e-9 * (double)waited;
        if (f)
            fclose(f);
    }
    if (tasks)
        closedir(tasks);
    return sum;
}

void disturbance_read(Disturbance *d)
{
    *d = (Disturbance){clock_now(), clock_cpu(), busy_cores(), waited_for_cores()};
}

double disturbance_between(const Disturbance *a, const Disturbance *b)
{
    const double wall = b->now - a->now, others = (b->busy - a->busy) - (b->own - a->own);
    if (!(wall > 0) || !(a->busy > 0) || others < OTHERS * wall * thread_cores() || b->delay < a->delay)
        return 0;
    return (b->delay - a->delay) / wall;
}
