/* links.c - see links.h. */
#include "device/links.h"

#include <math.h>

void links_complete(Links *l)
{
    int one = l->hosts == 1;
    if (!(l->near.bytes_per_s > 0))
        l->near.bytes_per_s = one && l->far.bytes_per_s > 0 ? l->far.bytes_per_s : LINK_NEAR_GBPS * 1e9;
    if (!(l->near.seconds >= 0))
        l->near.seconds = one && l->far.seconds >= 0 ? l->far.seconds : LINK_NEAR_US * 1e-6;
    if (!(l->far.bytes_per_s > 0))
        l->far.bytes_per_s = LINK_FAR_GBPS * 1e9;
    if (!(l->far.seconds >= 0))
        l->far.seconds = LINK_FAR_US * 1e-6;
}

double links_latency(const Links *l)
{
    int on_host = l->ranks / l->hosts;
    return 2 * ((on_host - 1) * l->near.seconds + (l->hosts - 1) * l->far.seconds);
}

/* The ring passes through every host once: near links inside, one far link out of it and one into it. */
double links_per_byte(const Links *l)
{
    double slowest = l->hosts == 1          ? l->near.bytes_per_s
                     : l->ranks == l->hosts ? l->far.bytes_per_s
                                            : fmin(l->near.bytes_per_s, l->far.bytes_per_s);
    return l->ranks > 1 ? 2 * (l->ranks - 1.0) / l->ranks / slowest : 0;
}
