/* bench_options.c - see bench_options.h. */
#include "bench_options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int take_number(const BenchOption *o, const char *text, Err *err)
{
    char *end;
    errno = 0;
    const double x = strtod(text, &end);
    if (errno || end == text || *end || !(x >= o->low && x <= o->high) ||
        (o->kind == BENCH_INT && x != floor(x)))
        return err_set(err, ERR_USAGE, "%s is '%s', but must be a number from %.10g to %.10g", o->name, text,
                       o->low, o->high);
    if (o->kind == BENCH_INT)
        *(int *)o->to = (int)x;
    else
        *(double *)o->to = x;
    return 0;
}

int bench_options(const BenchOption *rows, int count, int argc, char **argv, Err *err)
{
    for (int i = 1; i < argc; i++) {
        const size_t n = strcspn(argv[i], "=");
        const BenchOption *o = rows, *end = rows + count;
        while (o < end && (strncmp(argv[i], o->name, n) != 0 || o->name[n]))
            o++;
        if (o == end)
            return err_set(err, ERR_USAGE, "there is no option '%s'; see the first lines of the source",
                           argv[i]);
        if (o->kind == BENCH_SWITCH) {
            *(int *)o->to = 1;
            continue;
        }
        const char *value = argv[i][n] ? argv[i] + n + 1 : i + 1 < argc ? argv[++i] : NULL;
        if (!value)
            return err_set(err, ERR_USAGE, "%s needs a value", o->name);
        if (o->kind == BENCH_TEXT)
            *(const char **)o->to = value;
        else if (take_number(o, value, err))
            return ERR_USAGE;
    }
    return 0;
}
