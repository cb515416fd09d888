/* curve.c - loss.png: the loss of training and of validation over the steps, from log.jsonl, with the best
 * checkpoint and the step where learning by heart begins. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "picture/chart.h"
#include "train/run_parts.h"

#define LATER 3   /* validations after the lowest, whose mean has to be over it */
#define RISE 0.02 /* by this share of it; the limits of the finding `overfitting` */

typedef struct Curve {
    double *x, *y;
    size_t n, x_cap, y_cap;
} Curve;

typedef struct Curves {
    Curve train, validation;
} Curves;

/* The two arrays grow together. */
static int add_point(Curve *c, double x, double y)
{
    if (mem_grow(&c->x, &c->x_cap, c->n + 1, sizeof *c->x) ||
        mem_grow(&c->y, &c->y_cap, c->n + 1, sizeof *c->y))
        return ERR_NOMEM;
    c->x[c->n] = x;
    c->y[c->n++] = y;
    return 0;
}

/* A run that resumed from an earlier step takes back what came after it. */
static void forget_after(Curve *c, double step)
{
    while (c->n && c->x[c->n - 1] > step)
        c->n--;
}

/* A line of log.jsonl: a point of one of the curves, or a resume. */
static int read_line(void *arg, json_t *o)
{
    Curves *c = arg;
    const char *event = json_string_value(json_object_get(o, "event"));
    double step = json_number_value(json_object_get(o, "step"));
    json_t *loss = json_object_get(o, "loss");
    if (!event)
        return 0;
    if (strcmp(event, "resume") == 0) {
        forget_after(&c->train, step);
        forget_after(&c->validation, step);
        return 0;
    }
    int is_step = strcmp(event, "step") == 0, is_validation = strcmp(event, "validation") == 0;
    if ((!is_step && !is_validation) || !json_is_number(loss))
        return 0;
    return add_point(is_step ? &c->train : &c->validation, step, json_number_value(loss));
}

/* Mean of the training loss from one step to another; NaN: no line is from there. */
static double mean_between(const Curve *c, double from, double to)
{
    double sum = 0;
    int n = 0;
    for (size_t i = 0; i < c->n; i++)
        if (c->x[i] > from && c->x[i] <= to) {
            sum += c->y[i];
            n++;
        }
    return n ? sum / n : (double)NAN;
}

/* The validation whose loss was the lowest, when it has risen since while the training loss fell; n: none. */
static size_t by_heart(const Curves *c)
{
    const Curve *v = &c->validation;
    size_t lowest = 0;
    double last = 0;
    for (size_t i = 1; i < v->n; i++)
        if (v->y[i] < v->y[lowest])
            lowest = i;
    if (v->n < lowest + 1 + LATER)
        return v->n;
    for (size_t i = v->n - LATER; i < v->n; i++)
        last += v->y[i] / LATER;
    const double then = mean_between(&c->train, lowest ? v->x[lowest - 1] : 0, v->x[lowest]),
                 now = mean_between(&c->train, v->x[v->n - 2], HUGE_VAL);
    return last > (1 + RISE) * v->y[lowest] && now < then ? lowest : v->n;
}

/* The log has the runs before this one too. */
void report_curve(Trainer *t)
{
    Curves c = {0};
    char path[CHECKPOINT_PATH_SIZE + 16], best_name[64], heart_name[64];
    double best = (double)t->state.choice.best.step;
    Err err = {0};
    snprintf(path, sizeof path, "%s/log.jsonl", t->cfg->checkpoint_dir);
    int rc = run_log_each(path, read_line, &c, NULL, &err);
    const size_t heart = by_heart(&c);
    ChartSeries series[4] = {
        {"training", c.train.x, c.train.y, (int64_t)c.train.n, chart_colour(0)},
        {"validation", c.validation.x, c.validation.y, (int64_t)c.validation.n, chart_colour(1)}};
    int n = c.validation.n ? 2 : 1;
    snprintf(best_name, sizeof best_name, "best checkpoint: step %.0f", best);
    if (best > 0)
        series[n++] = (ChartSeries){best_name, &best, NULL, 1, chart_colour(2)};
    if (heart < c.validation.n) {
        snprintf(heart_name, sizeof heart_name, "learns by heart from step %.0f on", c.validation.x[heart]);
        series[n++] = (ChartSeries){heart_name, &c.validation.x[heart], NULL, 1, chart_colour(6)};
    }
    snprintf(path, sizeof path, "%s/loss.png", t->cfg->checkpoint_dir);
    if (!rc && c.train.n > 1)
        rc = chart_lines(path, "loss", "step", "loss per frame", series, n, 1, &err);
    if (rc)
        log_warn(t->log, "no picture of the loss: %s", err.msg);
    free(c.train.x);
    free(c.train.y);
    free(c.validation.x);
    free(c.validation.y);
}
