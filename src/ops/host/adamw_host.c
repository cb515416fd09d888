/* adamw_host.c - norm of the gradient and AdamW (Loshchilov and Hutter 2017) on flat memory.
 * Compiled twice, with -DREAL=float and -DREAL=double: see host_real.h. */
#include <math.h>
#include <string.h>

#include "ops/guard.h"
#include "ops/host/host_real.h"

#define TASK_NUMBERS 16384 /* least numbers in a task */

/* One part of the flat parameters per task; a task needs only some of the fields. */
typedef struct AdamTask {
    HostOps *h;
    double *sums; /* [parts] */
    REAL *p, *m, *v, *copy;
    const REAL *grad;
    const uint8_t *decay;
    REAL gscale;
    VectorAdam a;
    int64_t n;
    int parts;
} AdamTask;

static void norm2_task(void *arg, int task, int slot)
{
    AdamTask *t = arg;
    int64_t i = host_begin(t->n, t->parts, task), end = host_begin(t->n, t->parts, task + 1);
    t->sums[task] = VEC(t->h)->sum_squares(t->grad + i, end - i);
}

void HOST(norm2)(OpsContext *c, void *norm2, int32_t *finite, const void *grad, int64_t n)
{
    HostOps *h = host_of(c);
    AdamTask t = {.h = h, .sums = h->sums, .grad = grad, .n = n, .parts = host_parts(n, TASK_NUMBERS)};
    host_pool_run(h->pool, t.parts, norm2_task, &t);
    /* The parts in their order. */
    double sum = 0;
    for (int p = 0; p < t.parts; p++)
        sum += t.sums[p];
    *(REAL *)norm2 = (REAL)sum;
    /* An infinity or a NaN anywhere makes the sum one. */
    *finite = isfinite((REAL)sum) != 0;
}

void HOST(guard)(OpsContext *c, OpsGuard *g, void *gscale, const void *norm2, const int32_t *finite,
                 const void *frames, float clip, float spike)
{
    *(REAL *)gscale = (REAL)guard_decide(g, (double)*(const REAL *)norm2, *finite,
                                         (double)*(const REAL *)frames, clip, spike);
}

static void adamw_task(void *arg, int task, int slot)
{
    AdamTask *t = arg;
    int64_t i = host_begin(t->n, t->parts, task), end = host_begin(t->n, t->parts, task + 1);
    VEC(t->h)->adam(t->p + i, t->m + i, t->v + i, t->grad + i, t->decay + i, t->gscale, t->a, end - i);
    /* Working weights of the same type, where they are kept apart. */
    if (t->copy && t->copy != t->p)
        memcpy(t->copy + i, t->p + i, (size_t)(end - i) * sizeof *t->p);
}

void HOST(adamw)(OpsContext *c, void *master, void *real_out, void *m, void *v, const void *grad,
                 const uint8_t *decay, const void *gscale, int64_t n, float lr, float beta1, float beta2,
                 float eps, float weight_decay, int64_t step)
{
    HostOps *h = host_of(c);
    AdamTask t = {
        .h = h, .p = master, .copy = real_out, .m = m, .v = v, .grad = grad, .decay = decay, .n = n};
    t.gscale = *(const REAL *)gscale;
    /* The guard leaves the step out. */
    if (t.gscale == 0)
        return;
    if (c->step) {
        step = c->step->number;
        lr = c->step->lr;
    }
    ASSERT_CMP(step, >=, 1);
    t.a = (VectorAdam){.beta1 = beta1, .beta2 = beta2, .eps = eps, .lr = lr, .decay = weight_decay};
    /* Both moments begin at 0; early steps are corrected for it. */
    t.a.correct1 = 1 - pow((double)beta1, (double)step);
    t.a.correct2 = 1 - pow((double)beta2, (double)step);
    t.parts = host_parts(n, TASK_NUMBERS);
    host_pool_run(h->pool, t.parts, adamw_task, &t);
}
