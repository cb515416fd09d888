/* compare.h - compares two runs, or many over their batch size, and says whether a difference is significant.
 *
 * Consecutive step times are correlated (a stall every 16 steps, length buckets, another job on the machine),
 * so they cannot be resampled one by one. Each run is cut into 4 to 20 blocks of consecutive steps, and
 * blocks are drawn with replacement (a block bootstrap, 4,000 draws with a fixed seed). The interval is
 * widened by the ratio of Student's t to the normal distribution for so few blocks, and by another fifth for
 * variations that are longer than a block. Two runs differ if the 95 % interval of their ratio does not
 * contain 1 (for a difference of shares: 0). What is measured once per run (memory, the time to a loss) has
 * no interval, and the report says so. Threads: any. */
#ifndef MYXTTS_COMPARE_H
#define MYXTTS_COMPARE_H

#include <jansson.h>
#include <stddef.h>

#include "base/err.h"
#include "diag/report/run_record.h"

#define COMPARE_LEAST 12 /* minimum of values that a run must have for an interval */

typedef enum {
    COMPARE_MEAN,      /* mean of B / mean of A */
    COMPARE_VARIATION, /* the same for standard deviation / mean */
    COMPARE_DIFFERENCE /* mean of B - mean of A: for shares, which may be 0 */
} CompareWhat;

typedef struct Comparison {
    CompareWhat what;
    double a, b;              /* the values; NaN: none */
    double change, low, high; /* b / a or b - a, and its 95 % interval; NaN: unknown */
    int sure;                 /* -1: b is lower, 1: b is higher, 0: no significant difference */
} Comparison;

/* a [na] and b [nb] are in the order in which they were measured. 0 or ERR_NOMEM. */
int compare_samples(Comparison *c, CompareWhat what, const double *a, size_t na, const double *b, size_t nb,
                    Err *err);

typedef enum {
    COMPARE_STEP,         /* ms of a step (all batches of its accumulation) */
    COMPARE_THROUGHPUT,   /* clips/s */
    COMPARE_FRAMES,       /* frames/s */
    COMPARE_SPREAD,       /* standard deviation / mean of step times */
    COMPARE_WAIT,         /* share of the time that the trainer waits for data */
    COMPARE_BUSY,         /* share of the time that the model device works */
    COMPARE_UTILISATION,  /* as reported by NVML, share */
    COMPARE_PADDING,      /* share of frames */
    COMPARE_MEMORY,       /* bytes on the model device */
    COMPARE_LOSS,         /* in the last line of the log */
    COMPARE_TIME_TO_LOSS, /* seconds of training until the loss is `target` */
    COMPARE_COUNT
} CompareRow;

typedef struct Compare {
    const RunRecord *a, *b;
    char name_a[128], name_b[128];
    size_t skip_a, skip_b; /* number of step times left out at the beginning */
    Comparison rows[COMPARE_COUNT];
    double target;                        /* the loss of COMPARE_TIME_TO_LOSS; NaN: none */
    int64_t target_step_a, target_step_b; /* -1: not reached */
    int verdict_sure;                     /* 1: B is faster, -1: slower, 0: no significant difference */
} Compare;

/* skip: number of step times to leave out at the beginning (warm-up); -1: a tenth, at most 100. target: a
 * loss; NaN: the lowest that both reach. The records must outlive c. ERR_DATA if a log has no step;
 * ERR_NOMEM. */
int compare_runs(Compare *c, const RunRecord *a, const RunRecord *b, int64_t skip, double target, Err *err);
void compare_row_title(char *out, size_t cap, CompareRow row, double target); /* "step time" */
/* A value of a row for people: "41.2 ms", "1 200 clips/s", "-". */
void compare_row_value(char *out, size_t cap, CompareRow row, double v);
/* "12 % lower (95 % sure: 10 to 14 %)", "no clear difference (3 % lower to 1 % higher)". */
void compare_row_change(char *out, size_t cap, const Comparison *r);
/* One sentence: "B is 12 % faster than A (95 % sure: 10 to 14 %)." */
void compare_verdict(char *out, size_t cap, const Compare *c);
/* Sentences about what makes the comparison weaker than it looks: a run that ended within its warm-up, or
 * that went on with batches of another size. An array of strings. */
json_t *compare_notes(const Compare *c);
json_t *compare_json(const Compare *c);   /* for programs; NULL if out of memory */
json_t *compare_report(const Compare *c); /* for html_write */
/* Draws the step times of both runs. */
int compare_picture(const Compare *c, const char *path, Err *err);

/* Scaling: throughput over batch size. */
typedef struct ScalingRun {
    const RunRecord *run;
    char name[128];
    double batch;       /* clips of one batch on the device */
    Comparison step_ms; /* time of one batch, with interval */
    double clips_per_s, low, high;
    double linear; /* clips/s / (clips/s of the smallest batch * ratio of the batch sizes); 1: linear */
    double variation, wait_share, busy_share, utilisation, bytes; /* NaN: unknown */
} ScalingRun;

typedef struct Scaling {
    ScalingRun *runs; /* [count], by batch size */
    int count;
    int best;              /* run with the highest throughput */
    int enough;            /* run with the smallest batch that is not significantly slower than the best, or
                            * within 3 % */
    double bytes_per_clip; /* from the memory of the runs; NaN: known for fewer than two batch sizes */
} Scaling;

/* runs: [n], n >= 1. ERR_DATA if a log has no step or no batch size; ERR_NOMEM. Call scaling_close even after
 * an error. */
int scaling_runs(Scaling *s, const RunRecord *runs, int n, int64_t skip, Err *err);
void scaling_close(Scaling *s);
/* Two or three sentences: what a larger batch gains, from which size on it gains nothing, how much memory it
 * needs. */
void scaling_verdict(char *out, size_t cap, const Scaling *s);
/* A sentence that lists settings, other than the batch size, that differ between the runs; "" if there are
 * none. */
void scaling_caution(char *out, size_t cap, const Scaling *s);
json_t *scaling_json(const Scaling *s);
int scaling_picture(const Scaling *s, const char *path, Err *err);

#endif
