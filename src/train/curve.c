/* curve.c - loss.png: the loss of training and of validation over the steps, from log.jsonl. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "picture/chart.h"
#include "train/run_parts.h"

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

/* The log has the runs before this one too. */
void report_curve(Trainer *t)
{
    Curves c = {0};
    char path[CHECKPOINT_PATH_SIZE + 16];
    Err err = {0};
    snprintf(path, sizeof path, "%s/log.jsonl", t->cfg->checkpoint_dir);
    int rc = run_log_each(path, read_line, &c, NULL, &err);
    ChartSeries series[] = {
        {"training", c.train.x, c.train.y, (int64_t)c.train.n, chart_colour(0)},
        {"validation", c.validation.x, c.validation.y, (int64_t)c.validation.n, chart_colour(1)}};
    snprintf(path, sizeof path, "%s/loss.png", t->cfg->checkpoint_dir);
    if (!rc && c.train.n > 1)
        rc = chart_lines(path, "loss", "step", "loss per frame", series, c.validation.n ? 2 : 1, 1, &err);
    if (rc)
        log_warn(t->log, "no picture of the loss: %s", err.msg);
    free(c.train.x);
    free(c.train.y);
    free(c.validation.x);
    free(c.validation.y);
}
