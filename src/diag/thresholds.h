/* thresholds.h - one table of what is good, acceptable and bad, for every tool that judges. */
#ifndef MYXTTS_DIAG_THRESHOLDS_H
#define MYXTTS_DIAG_THRESHOLDS_H

typedef enum {
    LIMIT_GPU_BUSY,       /* share of time */
    LIMIT_GPU_SWING,      /* points between the quiet and the busy tenth of samples, as a share */
    LIMIT_WAIT,           /* trainer waits on data, share of step time */
    LIMIT_LOAD,           /* load stages, share of step time when not hidden */
    LIMIT_TRANSFER,       /* transfer stages, the same */
    LIMIT_VARIATION,      /* std / mean of step times */
    LIMIT_CYCLE,          /* highest autocorrelation, lags 2-20 */
    LIMIT_STORAGE,        /* s per 1 MiB read past the page cache */
    LIMIT_PADDING,        /* share of frames */
    LIMIT_STALL_COST,     /* throughput that a stall or outliers must cost before they are named, share */
    LIMIT_STEP_DOMINATES, /* step time / time per batch of the next slowest stage */
    LIMIT_FORECAST,       /* forecast of the present settings against what was measured, share */
    LIMIT_GAIN,           /* predicted gain that is worth a recommendation, share */
    LIMIT_COUNT
} LimitId;

typedef enum { STATUS_GOOD, STATUS_ACCEPTABLE, STATUS_BAD, STATUS_INFO, STATUS_UNKNOWN } Status;
const char *status_name(Status s); /* "good", ... */

typedef struct Limit {
    const char *name, *measure; /* key, words */
    double good, bad;           /* up to good; beyond bad; between: acceptable. Equal: nothing between */
    int more_is_better;
    const char *unit; /* of the numbers as printed: "%", "ms", "" */
    double factor;    /* printed = value * factor */
    const char *note; /* may be "" */
} Limit;

const Limit *threshold(LimitId id);
Status threshold_judge(LimitId id, double value); /* NaN: unknown */

#endif
