/* ops_testing.c - see ops_testing.h. */
#include "ops_testing.h"

#define OPS_GUARD 256 /* bytes before and after */

/* --- building --- */

double ops_round(double x)
{
    float f = (float)x;
    uint32_t u;
    memcpy(&u, &f, 4);
    u = (u + 0x8000u) & 0xffff0000u;
    memcpy(&f, &u, 4);
    return (double)f;
}

OpsTensor *ops_tensor(OpsRun *r, int slot, const char *name, TensorKind kind, TensorRole role, int64_t n,
                      double scale)
{
    OpsTensor *t = &r->t[slot];
    *t = (OpsTensor){.name = name, .kind = kind, .role = role, .n = n, .of = -1};
    t->value = calloc((size_t)n + 1, sizeof *t->value);
    t->result = calloc((size_t)n + 1, sizeof *t->result);
    for (int64_t i = 0; i < n; i++)
        t->value[i] = role == ROLE_OUTPUT || role == ROLE_GRAD ? NAN : ops_round(scale * rng_normal(&r->rng));
    return t;
}

void ops_output(OpsRun *r, int slot, int seed_slot, const char *name, const char *seed_name, int64_t n)
{
    ops_tensor(r, slot, name, KIND_REAL, ROLE_OUTPUT, n, 0);
    ops_tensor(r, seed_slot, seed_name, KIND_REAL, ROLE_SEED, n, 1)->of = slot;
}

void ops_gradient(OpsRun *r, int slot, int of, const char *name, TensorRole role)
{
    ops_tensor(r, slot, name, role == ROLE_GRAD_ADD ? KIND_ACC : KIND_REAL, role, r->t[of].n, 1)->of = of;
}

void ops_lengths(OpsRun *r, int slot, const char *name, int B, int T, int mixed)
{
    OpsTensor *t = ops_tensor(r, slot, name, KIND_INT, ROLE_FIXED, B, 0);
    for (int b = 0; b < B; b++) {
        int some[] = {T, 1, 0, (T + 1) / 2, T - 1}, n = some[b % 5];
        t->value[b] = mixed ? (n < 0 ? 0 : n) : T;
    }
}

void ops_hide_rows(OpsRun *r, int slot, int lengths, int B, int T, int n)
{
    OpsTensor *t = &r->t[slot];
    t->hidden = calloc((size_t)t->n + 1, 1);
    for (int64_t i = 0; i < (int64_t)B * T * n; i++)
        t->hidden[i] = (double)(i / n % T) >= r->t[lengths].value[i / n / T];
}

void *ops_at(OpsRun *r, int slot) { return r->t[slot].memory ? r->t[slot].memory + OPS_GUARD : NULL; }

/* --- moving --- */

static size_t ops_size(const OpsRun *r, TensorKind kind)
{
    const Ops *o = r->c->ops;
    return kind == KIND_REAL ? o->real_bytes : kind == KIND_ACC ? o->acc_bytes : kind == KIND_BYTE ? 1 : 4;
}

void ops_store(void *to, TensorKind kind, size_t size, int64_t i, double x)
{
    if (kind == KIND_INT)
        ((int32_t *)to)[i] = (int32_t)x;
    else if (size == 1)
        ((uint8_t *)to)[i] = (uint8_t)x;
    else if (size == 8)
        ((double *)to)[i] = x;
    else if (size == 4)
        ((float *)to)[i] = (float)x;
    else {
        float f = (float)x;
        uint32_t u;
        memcpy(&u, &f, 4);
        ((uint16_t *)to)[i] = (uint16_t)(isnan(x) ? 0x7fc0 : (u + 0x7fff + (u >> 16 & 1)) >> 16);
    }
}

static double ops_load(const void *from, TensorKind kind, size_t size, int64_t i)
{
    if (kind == KIND_INT)
        return ((const int32_t *)from)[i];
    if (size == 1)
        return ((const uint8_t *)from)[i];
    if (size == 8)
        return ((const double *)from)[i];
    if (size == 4)
        return ((const float *)from)[i];
    uint32_t u = (uint32_t)((const uint16_t *)from)[i] << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}

/* values [t->n] into the tensor, guards on both sides. */
static int ops_send(OpsRun *r, const OpsTensor *t, const double *values)
{
    Err err = {0};
    char *all = malloc(t->bytes);
    memset(all, 0xa5, t->bytes);
    for (int64_t i = 0; i < t->n; i++)
        ops_store(all + OPS_GUARD, t->kind, ops_size(r, t->kind), i, values[i]);
    int rc = r->c->device->ops->copy_in(r->c->stream, t->memory, all, t->bytes, &err);
    if (!rc)
        rc = r->c->device->ops->stream_wait_idle(r->c->stream, &err);
    free(all);
    if (rc)
        snprintf(r->problem, sizeof r->problem, "%s: %s", r->k->name, err.msg);
    return rc ? -1 : 0;
}

int ops_upload(OpsRun *r)
{
    for (int s = 0; s < OPS_TENSORS; s++)
        if (r->t[s].name && ops_send(r, &r->t[s], r->t[s].value))
            return -1;
    return 0;
}

int ops_download(OpsRun *r)
{
    Err err = {0};
    for (int s = 0; s < OPS_TENSORS; s++) {
        OpsTensor *t = &r->t[s];
        if (!t->name)
            continue;
        unsigned char *all = malloc(t->bytes);
        int rc = r->c->device->ops->copy_out(r->c->stream, all, t->memory, t->bytes, &err), broken = 0;
        if (!rc)
            rc = r->c->device->ops->stream_wait_idle(r->c->stream, &err);
        if (!rc)
            rc = ops_check(r->c, &err);
        size_t end = OPS_GUARD + (size_t)t->n * ops_size(r, t->kind);
        for (size_t i = 0; i < t->bytes && !rc; i++)
            broken |= (i < OPS_GUARD || i >= end) && all[i] != 0xa5;
        for (int64_t i = 0; i < t->n && !rc; i++)
            t->result[i] = ops_load(all + OPS_GUARD, t->kind, ops_size(r, t->kind), i);
        free(all);
        if (rc || broken) {
            snprintf(r->problem, sizeof r->problem, "%s: %s: %s", r->k->name, t->name,
                     rc ? err.msg : "something was written outside of it");
            return -1;
        }
        if ((t->role == ROLE_INPUT || t->role == ROLE_FIXED) && ops_size(r, t->kind) == 8 &&
            memcmp(t->result, t->value, (size_t)t->n * sizeof(double)) != 0) {
            snprintf(r->problem, sizeof r->problem, "%s: the input %s was changed", r->k->name, t->name);
            return -1;
        }
    }
    return 0;
}

/* --- running --- */

void ops_run_close(OpsRun *r)
{
    for (int s = 0; s < OPS_TENSORS; s++) {
        free(r->t[s].value);
        free(r->t[s].result);
        free(r->t[s].hidden);
        if (r->t[s].memory)
            device_free(r->c->device, r->t[s].memory, r->t[s].bytes);
    }
    memset(r->t, 0, sizeof r->t);
}

int ops_run_open(OpsRun *r, OpsContext *c, const OpsCase *k, uint64_t seed)
{
    memset(r, 0, sizeof *r);
    r->c = c, r->k = k;
    rng_seed(&r->rng, seed);
    k->build(r, k->shape);
    for (int s = 0; s < OPS_TENSORS; s++) {
        OpsTensor *t = &r->t[s];
        if (!t->name)
            continue;
        t->bytes = 2 * OPS_GUARD + (size_t)t->n * ops_size(r, t->kind);
        Err err = {0};
        void *p = NULL;
        if (device_alloc(c->device, &p, t->bytes, &err)) {
            snprintf(r->problem, sizeof r->problem, "%s: %s", k->name, err.msg);
            return -1;
        }
        t->memory = p;
    }
    return 0;
}

int ops_run(OpsRun *r, int backward)
{
    if (ops_upload(r))
        return -1;
    r->k->forward(r, r->k->shape);
    if (backward && r->k->backward)
        r->k->backward(r, r->k->shape);
    return ops_download(r);
}

int ops_is_result(const OpsTensor *t)
{
    return t->name && (t->role == ROLE_OUTPUT || t->role == ROLE_CHANGED || t->role == ROLE_GRAD ||
                       t->role == ROLE_GRAD_ADD);
}

/* sum of outputs times their seeds */
static double ops_objective(const OpsRun *r)
{
    double sum = 0;
    for (int s = 0; s < OPS_TENSORS; s++) {
        const OpsTensor *t = &r->t[s];
        if (!t->name)
            continue;
        for (int64_t i = 0; i < t->n && t->role == ROLE_SEED; i++)
            sum += t->value[i] * r->t[t->of].result[i];
        for (int64_t i = 0; i < t->n && t->constant != 0; i++)
            sum += t->constant * t->result[i];
    }
    return sum;
}

int ops_check_gradient(OpsContext *c, const OpsCase *k, uint64_t seed, double tolerance, char *problem,
                       size_t size)
{
    OpsRun r;
    int rc = ops_run_open(&r, c, k, seed);
    if (!rc && k->backward)
        rc = ops_run(&r, 1);
    double *grads[OPS_TENSORS] = {0}; /* copies: every later run brings all tensors back again */
    for (int s = 0; s < OPS_TENSORS && !rc; s++) {
        OpsTensor *g = &r.t[s];
        if (!g->name || (g->role != ROLE_GRAD && g->role != ROLE_GRAD_ADD))
            continue;
        grads[s] = malloc((size_t)(g->n + 1) * sizeof(double));
        for (int64_t i = 0; i < g->n; i++)
            grads[s][i] = g->result[i] - (g->role == ROLE_GRAD_ADD ? g->value[i] : 0);
    }
    for (int s = 0; s < OPS_TENSORS && !rc && k->backward; s++) {
        OpsTensor *g = &r.t[s];
        if (!g->name || (g->role != ROLE_GRAD && g->role != ROLE_GRAD_ADD))
            continue;
        OpsTensor *x = &r.t[g->of];
        const double *grad = grads[s];
        double largest = 1e-3;
        for (int64_t i = 0; i < g->n; i++)
            largest = fmax(largest, fabs(grad[i]));
        int64_t step = g->n > 48 ? g->n / 48 : 1;
        for (int64_t i = (int64_t)(seed % (uint64_t)step); i < g->n && !rc; i += step) {
            double old = x->value[i], h = 1e-5, side[2];
            for (int j = 0; j < 2 && !rc; j++) {
                x->value[i] = old + (j ? h : -h);
                rc = ops_run(&r, 0);
                side[j] = ops_objective(&r);
            }
            x->value[i] = old;
            double want = (side[1] - side[0]) / (2 * h);
            if (!rc && !(fabs(want - grad[i]) <= tolerance * largest)) {
                snprintf(r.problem, sizeof r.problem,
                         "%s: %s[%lld] is %.9g, by differences %.9g (largest %.3g)", k->name, g->name,
                         (long long)i, grad[i], want, largest);
                rc = -1;
            }
        }
    }
    for (int s = 0; s < OPS_TENSORS; s++)
        free(grads[s]);
    snprintf(problem, size, "%s", r.problem);
    ops_run_close(&r);
    return rc;
}

/* Between forward and backward. A ReLU's slope jumps at zero, and rounding alone decides on which side a sum
 * as good as zero falls. Where one table has exactly zero and the other a positive number within the
 * tolerance, r continues with what `other` has: backward is then compared on the same side. */
static int ops_same_side(OpsRun *r, const OpsRun *other, double tolerance)
{
    if (ops_download(r))
        return -1;
    for (int s = 0; s < OPS_TENSORS; s++) {
        OpsTensor *t = &r->t[s];
        const double *o = other->t[s].result;
        if (!t->name || t->role != ROLE_OUTPUT || t->kind != KIND_REAL)
            continue;
        double largest = 1e-6;
        int moved = 0;
        for (int64_t i = 0; i < t->n; i++)
            largest = fmax(largest, fabs(t->result[i]));
        for (int64_t i = 0; i < t->n; i++)
            if ((t->result[i] == 0 && o[i] > 0 && o[i] <= tolerance * largest) ||
                (o[i] == 0 && t->result[i] > 0 && t->result[i] <= tolerance * largest))
                t->result[i] = o[i], moved = 1;
        if (moved && ops_send(r, t, t->result))
            return -1;
    }
    return 0;
}

int ops_compare(OpsContext *a, OpsContext *b, const OpsCase *k, uint64_t seed, double tolerance,
                double *worst, char *problem, size_t size)
{
    OpsRun x, y;
    int rc = ops_run_open(&x, a, k, seed);
    int rc2 = ops_run_open(&y, b, k, seed);
    if (k->tolerance > 0)
        tolerance *= k->tolerance;
    if (k->exact)
        tolerance = 0;
    rc = rc ? rc : rc2 ? rc2 : ops_run(&x, 1);
    rc2 = rc ? 0 : ops_upload(&y);
    if (!rc && !rc2) {
        k->forward(&y, k->shape);
        if (k->backward) {
            rc2 = ops_same_side(&y, &x, tolerance);
            if (!rc2)
                k->backward(&y, k->shape);
        }
        rc2 = rc2 ? rc2 : ops_download(&y);
    }
    if (rc2)
        snprintf(x.problem, sizeof x.problem, "%s", y.problem);
    rc = rc ? rc : rc2;
    for (int s = 0; s < OPS_TENSORS && !rc; s++) {
        OpsTensor *t = &x.t[s], *u = &y.t[s];
        if (!ops_is_result(t))
            continue;
        double largest = 1e-6;
        for (int64_t i = 0; i < t->n; i++)
            largest = fmax(largest, fabs(u->result[i]));
        for (int64_t i = 0; i < t->n && !rc; i++) {
            double e = t->result[i] == u->result[i] ? 0 : fabs(t->result[i] - u->result[i]) / largest;
            if (worst && e > *worst)
                *worst = e;
            if (!(e <= tolerance)) {
                snprintf(x.problem, sizeof x.problem,
                         "%s: %s[%lld] is %.9g and %.9g (error %.2g of the largest, %.3g; allowed %.2g)",
                         k->name, t->name, (long long)i, t->result[i], u->result[i], e, largest, tolerance);
                rc = -1;
            }
        }
    }
    snprintf(problem, size, "%s", x.problem);
    ops_run_close(&x);
    ops_run_close(&y);
    return rc;
}

int ops_check_hidden(OpsContext *c, const OpsCase *k, uint64_t seed, char *problem, size_t size)
{
    OpsRun r;
    int rc = ops_run_open(&r, c, k, seed), any = 0;
    if (!rc)
        rc = ops_run(&r, 1);
    double *before[OPS_TENSORS] = {0};
    for (int s = 0; s < OPS_TENSORS && !rc; s++) {
        OpsTensor *t = &r.t[s];
        if (ops_is_result(t)) {
            before[s] = malloc((size_t)(t->n + 1) * sizeof(double));
            memcpy(before[s], t->result, (size_t)t->n * sizeof(double));
        }
        for (int64_t i = 0; i < t->n && t->hidden; i++)
            if (t->hidden[i]) {
                t->value[i] = ops_round(100 * rng_normal(&r.rng));
                any = 1;
            }
    }
    if (!rc)
        rc = any ? ops_run(&r, 1) : 1;
    for (int s = 0; s < OPS_TENSORS; s++) {
        for (int64_t i = 0; i < r.t[s].n && before[s] && !rc; i++)
            if (memcmp(&before[s][i], &r.t[s].result[i], sizeof(double)) != 0) {
                snprintf(r.problem, sizeof r.problem,
                         "%s: %s[%lld] changed from %.9g to %.9g with the padding", k->name, r.t[s].name,
                         (long long)i, before[s][i], r.t[s].result[i]);
                rc = -1;
            }
        free(before[s]);
    }
    snprintf(problem, size, "%s", r.problem);
    ops_run_close(&r);
    return rc;
}

double ops_seconds(OpsContext *c, const OpsCase *k, double budget, double *bytes)
{
    OpsRun r;
    double best = -1;
    *bytes = 0;
    if (ops_run_open(&r, c, k, 1) == 0 && ops_run(&r, 1) == 0) {
        for (int s = 0; s < OPS_TENSORS; s++)
            *bytes += r.t[s].name ? (double)r.t[s].bytes - 2 * OPS_GUARD : 0;
        double begin = clock_now();
        for (int round = 0; round < 3 || clock_now() - begin < budget; round++) {
            int calls = 0;
            double start = clock_now(), spent;
            do {
                k->forward(&r, k->shape);
                if (k->backward)
                    k->backward(&r, k->shape);
                calls++;
                if (calls % 8 == 0 || c->device->ops->kind != DEVICE_CUDA)
                    c->device->ops->stream_wait_idle(c->stream, NULL);
                spent = clock_now() - start;
            } while (spent < budget / 10);
            c->device->ops->stream_wait_idle(c->stream, NULL);
            spent = (clock_now() - start) / calls;
            if (best < 0 || spent < best)
                best = spent;
        }
    }
    ops_run_close(&r);
    return best;
}

int ops_context_open(OpsContext *c, const Ops *ops, Device *d, Stream *s, int threads, Err *err)
{
    memset(c, 0, sizeof *c);
    c->threads = threads;
    c->ops = ops;
    c->device = d;
    c->workspace_bytes = ops->workspace_bytes;
    if (c->workspace_bytes) {
        int rc = device_alloc(d, &c->workspace, c->workspace_bytes, err);
        if (rc)
            return rc;
    }
    return ops->open(c, d, s, err);
}

void ops_context_close(OpsContext *c)
{
    if (c->ops)
        c->ops->close(c);
    if (c->workspace)
        device_free(c->device, c->workspace, c->workspace_bytes);
    memset(c, 0, sizeof *c);
}
