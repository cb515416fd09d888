/* thresholds.c - see thresholds.h. */
#include "diag/thresholds.h"

#include <math.h>

#include "base/check.h"

static const Limit limits[LIMIT_COUNT] = {
    [LIMIT_GPU_BUSY] = {"gpu_busy", "model device busy", 0.80, 0.50, 1, "%", 100, ""},
    [LIMIT_GPU_SWING] = {"gpu_swing", "model GPU utilisation swings", 0.30, 0.30, 0, "points", 100, ""},
    [LIMIT_WAIT] = {"data_wait", "trainer waits on data, share of step time", 0.05, 0.30, 0, "%", 100, ""},
    [LIMIT_LOAD] = {"load_share", "load stage, share of step time when not hidden", 0.20, 0.20, 0, "%", 100, ""},
    [LIMIT_TRANSFER] = {"transfer_share", "transfer stage, share of step time when not hidden", 0.15, 0.15, 0, "%", 100, ""},
    [LIMIT_VARIATION] = {"step_variation", "step time variation (std / mean)", 0.20, 0.50, 0, "%", 100, ""},
    [LIMIT_CYCLE] = {"cycle", "cycle: highest autocorrelation of step times, lags 2-20", 0.30, 0.30, 0, "", 1,
                     "from here on a periodic stall, its period named"},
    [LIMIT_STORAGE] = {"storage_read", "storage, 1 MiB reads past the page cache", 0.020, 0.050, 0, "ms", 1000, ""},
    [LIMIT_PADDING] = {"padding", "padding share", 0.05, 0.20, 0, "%", 100, ""},
    [LIMIT_STALL_COST] = {"stall_cost", "throughput that a periodic stall or outliers cost", 0.04, 0.04, 0, "%", 100,
                          "less than this is not named"},
    [LIMIT_STEP_DOMINATES] = {"step_dominates", "step time over the time per batch of the next slowest stage", 3, 3, 0, "times", 1,
                              "beyond it: the step is the limit, everything else has reserve (bottleneck step, cause compute)"},
    [LIMIT_FORECAST] = {"forecast_check", "forecast of the present settings against what was measured", 0.05, 0.10, 0, "%", 100,
                        "beyond it the forecasts are not to be trusted"},
    [LIMIT_GAIN] = {"gain", "predicted gain of a change that is worth making", 0.03, 0.03, 1, "%", 100, ""},
};

const char *status_name(Status s)
{
    static const char *const names[] = {"good", "acceptable", "bad", "info", "unknown"};
    ASSERT(s >= STATUS_GOOD && s <= STATUS_UNKNOWN);
    return names[s];
}

const Limit *threshold(LimitId id)
{
    ASSERT(id >= 0 && id < LIMIT_COUNT);
    return &limits[id];
}

Status threshold_judge(LimitId id, double value)
{
    const Limit *l = threshold(id);
    if (isnan(value))
        return STATUS_UNKNOWN;
    if (l->more_is_better)
        return value >= l->good ? STATUS_GOOD : value < l->bad ? STATUS_BAD : STATUS_ACCEPTABLE;
    return value < l->good || (l->good != l->bad && value == l->good) ? STATUS_GOOD
           : value > l->bad || l->good == l->bad                      ? STATUS_BAD
                                                                      : STATUS_ACCEPTABLE;
}
