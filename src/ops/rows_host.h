/* rows_host.h - dropout, sums, mean over time, copies over the batch, lengths, groups of frames, conversion.
 * Included by ops_host_body.h. */

#define ROWS_NUMBERS 16384 /* least numbers in a task */

typedef struct RowsTask {
    HostOps *h;
    REAL *out;
    const REAL *a, *b;
    const float *target;
    const int32_t *len;
    int64_t n;
    int B, T, C, r, parts, accumulate;
    VectorDropout drop;
} RowsTask;

static void dropout_task(void *arg, int task, int slot)
{
    RowsTask *t = arg;
    int64_t i = host_begin(t->n, t->parts, task), end = host_begin(t->n, t->parts, task + 1);
    VEC(t->h)->dropout(t->out + i, NULL, t->a + i, t->drop, (uint64_t)i, end - i);
}

static void dropout_forward(OpsContext *c, void *out, const void *in, int64_t n, Dropout drop)
{
    RowsTask t = {.h = host_of(c),
                  .out = out,
                  .a = in,
                  .n = n,
                  .parts = host_parts(n, ROWS_NUMBERS),
                  .drop = host_dropout(c, drop)};
    host_pool_run(t.h->pool, t.parts, dropout_task, &t);
}

static void add_task(void *arg, int task, int slot)
{
    RowsTask *t = arg;
    int64_t i = host_begin(t->n, t->parts, task), end = host_begin(t->n, t->parts, task + 1);
    VEC(t->h)->add(t->out + i, t->a + i, t->b + i, end - i);
}

static void add_forward(OpsContext *c, void *out, const void *a, const void *b, int64_t n)
{
    RowsTask t = {.h = host_of(c), .out = out, .a = a, .b = b, .n = n, .parts = host_parts(n, ROWS_NUMBERS)};
    host_pool_run(t.h->pool, t.parts, add_task, &t);
}

static void add_vector_task(void *arg, int b, int slot)
{
    RowsTask *t = arg;
    for (int64_t r = (int64_t)b * t->T; r < (int64_t)(b + 1) * t->T; r++)
        VEC(t->h)->add(t->out + r * t->C, t->a + r * t->C, t->b + (int64_t)b * t->C, t->C);
}

static void add_vector_forward(OpsContext *c, void *out, const void *in, const void *v, int B, int T, int C)
{
    RowsTask t = {.h = host_of(c), .out = out, .a = in, .b = v, .T = T, .C = C};
    host_pool_run(t.h->pool, B, add_vector_task, &t);
}

static void sum_rows_task(void *arg, int b, int slot)
{
    RowsTask *t = arg;
    REAL *out = t->out + (int64_t)b * t->C;
    int n = host_len(t->len, b, t->T);
    if (!t->accumulate)
        memset(out, 0, (size_t)t->C * sizeof *out);
    for (int64_t i = 0; i < n; i++)
        VEC(t->h)->add(out, out, t->a + ((int64_t)b * t->T + i) * t->C, t->C);
}

static void add_vector_backward(OpsContext *c, void *dv, const void *dout, const int32_t *len, int B, int T,
                                int C, int accumulate)
{
    RowsTask t = {
        .h = host_of(c), .out = dv, .a = dout, .len = len, .T = T, .C = C, .accumulate = accumulate};
    host_pool_run(t.h->pool, B, sum_rows_task, &t);
}

static void pool_forward_task(void *arg, int b, int slot)
{
    RowsTask *t = arg;
    REAL *out = t->out + (int64_t)b * t->C;
    int n = host_len(t->len, b, t->T);
    sum_rows_task(arg, b, slot);
    for (int i = 0; i < t->C && n; i++)
        out[i] /= (REAL)n;
}

static void pool_forward(OpsContext *c, void *out, const void *in, const int32_t *len, int B, int T, int C)
{
    RowsTask t = {.h = host_of(c), .out = out, .a = in, .len = len, .T = T, .C = C};
    host_pool_run(t.h->pool, B, pool_forward_task, &t);
}

static void pool_backward_task(void *arg, int b, int slot)
{
    RowsTask *t = arg;
    REAL *out = t->out + (int64_t)b * t->T * t->C;
    const REAL *d = t->a + (int64_t)b * t->C;
    int n = host_len(t->len, b, t->T);
    for (int64_t i = 0; i < (int64_t)n * t->C; i++)
        out[i] = d[i % t->C] / (REAL)n;
    memset(out + (int64_t)n * t->C, 0, (size_t)(t->T - n) * (size_t)t->C * sizeof *out);
}

static void pool_backward(OpsContext *c, void *din, const void *dout, const int32_t *len, int B, int T, int C)
{
    RowsTask t = {.h = host_of(c), .out = din, .a = dout, .len = len, .T = T, .C = C};
    host_pool_run(t.h->pool, B, pool_backward_task, &t);
}

static void broadcast_forward(OpsContext *c, void *out, const void *in, int B, int64_t N)
{
    for (int b = 0; b < B; b++)
        memcpy((REAL *)out + b * N, in, (size_t)N * sizeof(REAL));
}

static void broadcast_backward(OpsContext *c, void *din, const void *dout, int B, int64_t N)
{
    for (int b = 0; b < B; b++)
        VEC(host_of(c))->add(din, din, (const REAL *)dout + b * N, N);
}

static void fill_zero(OpsContext *c, void *p, size_t bytes) { memset(p, 0, bytes); }

static void fill_int(OpsContext *c, int32_t *out, int32_t value, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = value;
}

static void gather_forward(OpsContext *c, void *out, const void *in, const int32_t *index, int B, int C)
{
    for (int b = 0; b < B; b++)
        memcpy((REAL *)out + (int64_t)b * C, (const REAL *)in + (int64_t)index[b] * C,
               (size_t)C * sizeof(REAL));
}

static void gather_backward(OpsContext *c, void *din, const void *dout, const int32_t *index, int B, int C)
{
    memset(din, 0, (size_t)B * (size_t)C * sizeof(REAL));
    for (int b = 0; b < B; b++) {
        REAL *to = (REAL *)din + (int64_t)index[b] * C;
        VEC(host_of(c))->add(to, to, (const REAL *)dout + (int64_t)b * C, C);
    }
}

static void length_groups(OpsContext *c, int32_t *out, void *total, const int32_t *len, int B, int r)
{
    int64_t sum = 0;
    for (int b = 0; b < B; b++) {
        out[b] = (len[b] + r - 1) / r;
        sum += len[b];
    }
    if (total)
        *(REAL *)total += (REAL)sum;
}

static void band_mean(OpsContext *c, float *out, const float *in, int64_t rows, int n)
{
    for (int64_t i = 0; i < rows; i++) {
        float sum = 0;
        for (int k = 0; k < n; k++)
            sum += in[i * n + k];
        out[i] = sum / (float)n;
    }
}

static void group_frames_task(void *arg, int b, int slot)
{
    RowsTask *t = arg;
    int64_t groups = (t->T + t->r - 1) / t->r, valid = (int64_t)host_len(t->len, b, t->T) * t->C,
            all = groups * t->r * t->C;
    REAL *out = t->out + b * all;
    const float *mel = t->target + (int64_t)b * t->T * t->C;
    for (int64_t i = 0; i < valid; i++)
        out[i] = (REAL)mel[i];
    memset(out + valid, 0, (size_t)(all - valid) * sizeof *out);
}

static void group_frames(OpsContext *c, void *out, const float *mel, const int32_t *len, int B, int T, int r,
                         int n)
{
    RowsTask t = {.h = host_of(c), .out = out, .target = mel, .len = len, .T = T, .C = n, .r = r};
    host_pool_run(t.h->pool, B, group_frames_task, &t);
}

static void convert(OpsContext *c, void *out, const void *in, int64_t n)
{
    if (out != in)
        memcpy(out, in, (size_t)n * sizeof(REAL));
}
