/* loss_host.h - losses over valid rows. Included by ops_host_body.h. Sums are in double, one per batch item, added in the items' order. */

typedef struct LossTask {
    HostOps *h;
    double *sums; /* [B] */
    REAL *d;
    const REAL *pred;
    const float *target;
    const int32_t *len;
    int T, n, after, accumulate;
    LossKind kind;
    REAL delta, positive, weight;
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
    int64_t first = (int64_t)b * t->T * t->n, valid = (int64_t)host_len(t->len, b, t->T) * t->n, all = (int64_t)t->T * t->n;
    t->sums[b] = VEC(t->h)->loss(t->d ? t->d + first : NULL, t->pred + first, t->target + first, t->kind, t->delta, t->weight,
                                 t->accumulate, valid);
    if (t->d && !t->accumulate)
        memset(t->d + first + valid, 0, (size_t)(all - valid) * sizeof *t->d);
}

static void loss_forward(OpsContext *c, void *value, void *dpred, const void *pred, const float *target, const int32_t *len, int B,
                         int T, int n, LossKind kind, float delta, float weight, int accumulate)
{
    HostOps *h = host_of(c);
    LossTask t = {.h = h, .sums = loss_sums(h, B), .d = dpred, .pred = pred, .target = target, .len = len, .T = T, .n = n};
    t.kind = kind, t.delta = delta, t.weight = weight, t.accumulate = accumulate;
    host_pool_run(h->pool, B, loss_task, &t);
    loss_add(&t, value, B);
}

static void stop_loss(OpsContext *c, void *value, void *dlogits, const void *logits, const int32_t *len, int B, int T, int after,
                      float positive, float weight)
{
    HostOps *h = host_of(c);
    LossTask t = {.h = h, .sums = loss_sums(h, B), .weight = weight};
    for (int b = 0; b < B; b++) {
        int n = host_len(len, b, T), count = n == 0 ? 0 : n + after < T ? n + after : T;
        const REAL *x = (const REAL *)logits + (int64_t)b * T;
        REAL *d = dlogits ? (REAL *)dlogits + (int64_t)b * T : NULL;
        double sum = 0;
        for (int i = 0; i < T; i++) {
            double z = i >= n - 1 ? -(double)x[i] : (double)x[i], size = i >= n - 1 ? (double)positive : 1;
            double e = exp(-fabs(z)); /* log(1 + exp(z)) = max(z, 0) + log(1 + e) */
            if (i < count)
                sum += size * ((z > 0 ? z : 0) + log1p(e));
            double grad = size * (z > 0 ? 1 / (1 + e) : e / (1 + e)) * (i >= n - 1 ? -1 : 1);
            if (d)
                d[i] = i < count ? (REAL)((double)weight * grad) : 0;
        }
        t.sums[b] = sum;
    }
    loss_add(&t, value, B);
}

static void guide_loss(OpsContext *c, void *value, const void *guide_sum, const int32_t *len, int B, int H, int T, float weight)
{
    HostOps *h = host_of(c);
    LossTask t = {.h = h, .sums = loss_sums(h, B), .weight = weight};
    for (int b = 0; b < B; b++) {
        double sum = 0;
        int n = host_len(len, b, T);
        for (int head = 0; head < H; head++)
            for (int i = 0; i < n; i++)
                sum += (double)((const REAL *)guide_sum)[((int64_t)b * H + head) * T + i];
        t.sums[b] = sum;
    }
    loss_add(&t, value, B);
}
