/* fill_host.c - memory set to one value, or to the time.
 * Compiled twice, with -DREAL=float and -DREAL=double: see host_real.h. */
#include <string.h>

#include "base/clock.h"
#include "ops/host/host_real.h"

void HOST(fill_zero)(OpsContext *c, void *p, size_t bytes) { memset(p, 0, bytes); }

void HOST(fill_int)(OpsContext *c, int32_t *out, int32_t value, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = value;
}

void HOST(stamp)(OpsContext *c, uint64_t *at) { *at = (uint64_t)(clock_now() * 1e9); }
