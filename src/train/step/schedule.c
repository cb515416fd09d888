/* schedule.c - warm-up, then cosine, noam or constant. */
#include "train/step/schedule.h"

#include <math.h>

double schedule_rate(const Config *cfg, int64_t step, int64_t total)
{
    return schedule_rate_after(cfg, cfg->warmup_steps, step, total);
}

/* Linear over the warm-up, whatever comes after it. */
double schedule_rate_after(const Config *cfg, int64_t warm, int64_t step, int64_t total)
{
    const double peak = cfg->learning_rate,
                 low = cfg->min_learning_rate < peak ? cfg->min_learning_rate : peak;
    if (step < warm)
        return peak * (double)step / (double)warm;
    /* Vaswani 2017: falls with the root of the step, from the peak at the end of the warm-up. */
    if (cfg->scheduler == SCHEDULE_NOAM)
        return peak * sqrt((double)(warm > 0 ? warm : 1) / (double)step);
    if (cfg->scheduler == SCHEDULE_CONSTANT)
        return peak;
    if (step >= total)
        return low;
    /* Half a cosine from the peak to the lowest rate. */
    double done = (double)(step - warm) / (double)(total - warm);
    return low + (peak - low) * 0.5 * (1 + cos(M_PI * done));
}
