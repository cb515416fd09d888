/* loss_host.h - losses over valid rows. Included by ops_host_body.h. Sums are in double, one per batch item,
 * added in the items' order. */

typedef struct LossTask {
    HostOps *h;
    double *sums; /* [B] */
    REAL *d;
    const REAL *pred;
    const float *target;
    const int32_t *len;
    int T, n, accumulate;
    LossKind kind;
    REAL delta, weight;
} LossTask;

static void loss_add(LossTask *t, void *value, int B)
{
    double sum = 0;
    for (int b = 0; b < B; b++)
        sum += t->sums[b];
    *(REAL *)value += (REAL)((double)t->weight * sum);
}

static double *loss_sums(HostOps *h, int B)
{
    ASSERT_CMP((size_t)B * sizeof(double), <=, HOST_SUM_BYTES);
    return h->sums;
}

static void loss_task(void *arg, int b, int slot)
{
    LossTask *t = arg;
    int64_t first = (int64_t)b * t->T * t->n, valid = (int64_t)host_len(t->len, b, t->T) * t->n,
            all = (int64_t)t->T * t->n;
    t->sums[b] = VEC(t->h)->loss(t->d ? t->d + first : NULL, t->pred + first, t->target + first, t->kind,
                                 t->delta, t->weight, t->accumulate, valid);
    if (t->d && !t->accumulate)
        memset(t->d + first + valid, 0, (size_t)(all - valid) * sizeof *t->d);
}

static void loss_forward(OpsContext *c, void *value, void *dpred, const void *pred, const float *target,
                         const int32_t *len, int B, int T, int n, LossKind kind, float delta, float weight,
                         int accumulate)
{
    HostOps *h = host_of(c);
    LossTask t = {.h = h,
                  .sums = loss_sums(h, B),
                  .d = dpred,
                  .pred = pred,
                  .target = target,
                  .len = len,
                  .T = T,
                  .n = n};
    t.kind = kind, t.delta = delta, t.weight = weight, t.accumulate = accumulate;
    host_pool_run(h->pool, B, loss_task, &t);
    loss_add(&t, value, B);
}
