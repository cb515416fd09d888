/* compare.h - two runs beside each other, and many of them over their batch size; with how sure a difference
 * is.
 *
 * Step times follow each other closely (a stall every 16 steps, buckets of lengths, a neighbour on the
 * machine), so single steps must not be drawn as if they were independent. Each run is cut into 4 to 20
 * pieces of consecutive steps; pieces are drawn with replacement (a bootstrap over blocks, 4,000 times,
 * always the same draws), and the interval is widened as Student's t is wider than the normal distribution
 * for so few pieces, and by a fifth more for swings longer than a piece. Two runs differ when the 95 %
 * interval of their ratio leaves 1 out (of a difference of shares: 0). What happens once per run (memory, the
 * time to a loss) has no interval, and the report says so. Threads: any. */
#ifndef MYXTTS_COMPARE_H
#define MYXTTS_COMPARE_H

#include <jansson.h>
#include <stddef.h>

#include "base/err.h"
#include "diag/run_record.h"

#define COMPARE_LEAST 12 /* values a run must have for an interval */

typedef enum {
    COMPARE_MEAN,      /* mean of B / mean of A */
    COMPARE_VARIATION, /* the same for deviation / mean */
    COMPARE_DIFFERENCE /* mean of B - mean of A: for shares, which may be nothing */
} CompareWhat;

typedef struct Comparison {
    CompareWhat what;
    double a, b;              /* the values; NaN: none */
    double change, low, high; /* b / a or b - a, and its 95 % interval; NaN: not known */
    int sure;                 /* -1 b is lower, 1 b is higher, 0 no difference can be told */
} Comparison;

/* a: [na], b: [nb] in the order in which they were measured; they stay as they are. 0 or ERR_NOMEM. */
int compare_samples(Comparison *c, CompareWhat what, const double *a, size_t na, const double *b, size_t nb,
                    Err *err);

typedef enum {
    COMPARE_STEP,         /* ms of a step (all batches of its accumulation) */
    COMPARE_THROUGHPUT,   /* clips/s */
    COMPARE_FRAMES,       /* frames/s */
    COMPARE_SPREAD,       /* deviation / mean of step times */
    COMPARE_WAIT,         /* share of the time the trainer waits for data */
    COMPARE_BUSY,         /* share of the time the model device works */
    COMPARE_UTILISATION,  /* NVML's, share */
    COMPARE_PADDING,      /* share */
    COMPARE_MEMORY,       /* bytes on the model device */
    COMPARE_LOSS,         /* of the last line */
    COMPARE_TIME_TO_LOSS, /* seconds of steps until `target` */
    COMPARE_COUNT
} CompareRow;

typedef struct Compare {
    const RunRecord *a, *b;
    char name_a[128], name_b[128];
    size_t skip_a, skip_b; /* step times left out at the beginning */
    Comparison rows[COMPARE_COUNT];
    double target;                        /* the loss of COMPARE_TIME_TO_LOSS; NaN: none */
    int64_t target_step_a, target_step_b; /* -1: not reached */
    int verdict_sure;                     /* 1: B is faster, -1: slower, 0: no difference can be told */
} Compare;

/* skip: step times to leave out (warming up); -1: a tenth, at most 100. target: NaN for the lowest loss that
 * both reach. The records stay the caller's and must outlive c. ERR_DATA when a log has
 * no step; ERR_NOMEM. */
int compare_runs(Compare *c, const RunRecord *a, const RunRecord *b, int64_t skip, double target, Err *err);
const char *compare_row_title(CompareRow row); /* "step time" */
/* "41.2 ms", "1 200 clips/s", "-": a value of a row as people read it. */
void compare_row_value(char *out, size_t cap, CompareRow row, double v);
/* "12 % lower (95 % sure: 10 to 14 %)", "no difference that can be told (3 % lower to 1 % higher)". */
void compare_row_change(char *out, size_t cap, CompareRow row, const Comparison *r);
/* One sentence: "B is 12 % faster than A (95 % sure: 10 to 14 %)." */
void compare_verdict(char *out, size_t cap, const Compare *c);
json_t *compare_json(const Compare *c);   /* for programs; NULL on no memory */
json_t *compare_report(const Compare *c); /* for html_write */
/* The two runs' step times over their steps. */
int compare_picture(const Compare *c, const char *path, Err *err);

/* Scaling: throughput over batch size. */
typedef struct ScalingRun {
    const RunRecord *run;
    char name[128];
    double batch;       /* clips of one batch on the device */
    Comparison step_ms; /* of one batch, with interval */
    double clips_per_s, low, high;
    double linear; /* clips/s against what the smallest batch gives times the ratio of batches; 1: linear */
    double variation, wait_share, busy_share, utilisation, bytes; /* NaN: not said */
} ScalingRun;

typedef struct Scaling {
    ScalingRun *runs; /* [count], by batch size */
    int count;
    int best;   /* the highest throughput */
    int enough; /* the smallest batch whose throughput cannot be told from the best or is within 3 % of it */
    double bytes_per_clip; /* from the runs' memory; NaN: fewer than two batch sizes say it */
} Scaling;

/* runs: [n], n >= 1. ERR_DATA when a log has no step or no batch size; ERR_NOMEM. Call scaling_close in every
 * case. */
int scaling_runs(Scaling *s, const RunRecord *runs, int n, int64_t skip, Err *err);
void scaling_close(Scaling *s);
/* Two or three sentences: what a larger batch brings, from which size on it brings no more, what memory it
 * takes. */
void scaling_verdict(char *out, size_t cap, const Scaling *s);
/* Settings other than the batch size that are not the same in all runs, as a sentence; "" when there are
 * none. */
void scaling_caution(char *out, size_t cap, const Scaling *s);
json_t *scaling_json(const Scaling *s);
int scaling_picture(const Scaling *s, const char *path, Err *err);

#endif
