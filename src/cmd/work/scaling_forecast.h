/* scaling_forecast.h - myxtts scaling --forecast: the throughput of N ranks, forecast from one that is
 * measured here. */
#ifndef MYXTTS_CMD_SCALING_FORECAST_H
#define MYXTTS_CMD_SCALING_FORECAST_H

#include "base/err.h"
#include "base/log.h"
#include "cmd/line/options.h"

/* As they were typed; NULL: not given. */
typedef struct ForecastWords {
    const char *ranks; /* "1,2,4,8" */
    const char *link_gbps, *link_us, *nvlink_gbps, *nvlink_us, *per_host, *batches;
    int shared_disk;
    int check; /* simulate the ranks too, and hold the forecast against that */
} ForecastWords;

int scaling_forecast(const CmdLine *line, const ForecastWords *words, Log *log, Err *err);

#endif
