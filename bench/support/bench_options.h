/* bench_options.h - the command line of a benchmark as a table. */
#ifndef MYXTTS_BENCH_OPTIONS_H
#define MYXTTS_BENCH_OPTIONS_H

#include "base/err.h"

typedef enum { BENCH_SWITCH, BENCH_INT, BENCH_REAL, BENCH_TEXT } BenchKind;

typedef struct BenchOption {
    const char *name; /* "--jobs"; its value follows, as another argument or behind '=' */
    BenchKind kind;
    void *to;         /* int (BENCH_SWITCH: becomes 1), int, double, const char * */
    double low, high; /* of a number */
} BenchOption;

/* ERR_USAGE: another option, an argument, a value that is missing or no number within its limits. */
int bench_options(const BenchOption *rows, int count, int argc, char **argv, Err *err);

#endif
