/* align_host.h - symbols and frames: the monotonic search, repeating symbols, means over their frames, and
 * their losses. Included by ops_host_body.h. One batch item per task. */

typedef struct AlignTask {
    HostOps *h;
    int32_t *frames, *length;
    const Durations *d;
    float *cost, *means;
    const float *mel, *values, *pitch, *energy;
    const REAL *mu, *in;
    REAL *out;
    double *sums;
    const int32_t *text_len, *mel_len;
    int B, T, M, C;
    REAL weight;
    float weights[TRAIT_COUNT];
} AlignTask;

#define ALIGN_TILE 32 /* frames whose scores are computed at once */

/* What a search needs: scores of a tile, the best sum up to every symbol, and a mark where a path came from
 * the symbol before. */
typedef struct AlignRoom {
    REAL *half, *best, *next, *mel, *score; /* [T], [T], [T], [ALIGN_TILE, n], [ALIGN_TILE, T] */
    uint8_t *moved;                         /* [M, T] */
    void *own;                              /* malloc'd where the thread's scratch is too small */
} AlignRoom;

static int align_room(AlignRoom *r, HostOps *h, int slot, int T, int M, int n)
{
    size_t rows = (size_t)(3 + ALIGN_TILE) * (size_t)T + ALIGN_TILE * (size_t)n;
    size_t bytes = rows * sizeof(REAL) + (size_t)M * (size_t)T;
    r->own = NULL;
    REAL *at = host_slot(h, slot);
    if (bytes > HOST_SLOT_BYTES && !(at = r->own = malloc(bytes)))
        return -1;
    r->half = at, r->best = at + T, r->next = at + 2 * (int64_t)T, r->mel = at + 3 * (int64_t)T;
    r->score = r->mel + ALIGN_TILE * (int64_t)n;
    r->moved = (uint8_t *)(r->score + ALIGN_TILE * (int64_t)T);
    return 0;
}

/* The best path's sums, frame by frame. Symbols past the frame's number cannot be reached yet. */
static void align_walk_forward(const AlignTask *a, AlignRoom *r, const REAL *mu, const float *mel, int text,
                               int frames)
{
    const int n = a->C;
    const REAL never = (REAL)-1e30;
    for (int t = 0; t < text; t++) {
        r->half[t] = VEC(a->h)->dot(mu + (int64_t)t * n, mu + (int64_t)t * n, n) / 2;
        r->best[t] = never;
    }
    for (int m0 = 0; m0 < frames; m0 += ALIGN_TILE) {
        int rows = frames - m0 < ALIGN_TILE ? frames - m0 : ALIGN_TILE;
        for (int64_t i = 0; i < (int64_t)rows * n; i++)
            r->mel[i] = (REAL)mel[(int64_t)m0 * n + i];
        gemm(0, 1, rows, text, n, 1, r->mel, n, mu, n, 0, r->score, text);
        for (int m = m0; m < m0 + rows; m++) {
            const REAL *score = r->score + (int64_t)(m - m0) * text, *best = r->best;
            uint8_t *moved = r->moved + (int64_t)m * text;
            REAL *next = r->next;
            moved[0] = 0;
            next[0] = (m ? best[0] : 0) + score[0] - r->half[0];
            for (int t = 1; t < text; t++) {
                int from = best[t - 1] > best[t];
                moved[t] = (uint8_t)from;
                next[t] = (from ? best[t - 1] : best[t]) + score[t] - r->half[t];
            }
            for (int t = m + 1; t < text; t++)
                next[t] = never;
            r->next = r->best, r->best = next;
        }
    }
}

static void align_task(void *arg, int b, int slot)
{
    AlignTask *a = arg;
    const int n = a->C, frames = host_len(a->mel_len, b, a->M);
    int text = host_len(a->text_len, b, a->T);
    const REAL *mu = a->mu + (int64_t)b * a->T * n;
    const float *mel = a->mel + (int64_t)b * a->M * n;
    int32_t *out = a->frames + (int64_t)b * a->T;
    AlignRoom r;
    memset(out, 0, (size_t)a->T * sizeof *out);
    if (a->cost)
        a->cost[b] = 0;
    if (!text || !frames)
        return;
    if (text > frames)
        text = frames; /* there is one path alone; its cost is that of any other */
    if (align_room(&r, a->h, slot, text, frames, n)) {
        /* No memory for a clip of this size: spread the frames evenly. */
        for (int m = 0; m < frames; m++)
            out[(int64_t)m * text / frames]++;
        return;
    }
    align_walk_forward(a, &r, mu, mel, text, frames);
    double cost = 0;
    for (int m = frames - 1, t = text - 1; m >= 0; m--) {
        out[t]++;
        for (int k = 0; k < n && a->cost; k++) {
            double d = (double)mel[(int64_t)m * n + k] - (double)mu[(int64_t)t * n + k];
            cost += d * d;
        }
        if (t > 0 && (t == m || r.moved[(int64_t)m * text + t]))
            t--;
    }
    if (a->cost)
        a->cost[b] = (float)(cost / ((double)frames * n));
    free(r.own);
}

static void align_search(OpsContext *c, int32_t *frames, float *cost, const void *mu, const float *mel,
                         const int32_t *text_len, const int32_t *mel_len, int B, int T, int M, int n)
{
    AlignTask a = {
        .h = host_of(c), .frames = frames, .cost = cost, .mu = mu, .mel = mel, .text_len = text_len};
    a.mel_len = mel_len, a.B = B, a.T = T, a.M = M, a.C = n;
    host_pool_run(a.h->pool, B, align_task, &a);
}

static void durations_place(OpsContext *c, const Durations *d, int32_t *length, const int32_t *text_len,
                            int B, int T, int M)
{
    for (int b = 0; b < B; b++) {
        const int32_t *frames = d->frames + (int64_t)b * T;
        int32_t *start = d->start + (int64_t)b * T, *symbol = d->symbol + (int64_t)b * M;
        int text = host_len(text_len, b, T), at = 0;
        for (int t = 0; t < T; t++) {
            start[t] = at;
            for (int k = 0; t < text && k < frames[t] && at < M; k++)
                symbol[at++] = t;
        }
        if (length)
            length[b] = at;
        for (; at < M; at++)
            symbol[at] = -1;
    }
}

static void repeat_forward_task(void *arg, int b, int slot)
{
    const AlignTask *a = arg;
    const size_t row = (size_t)a->C * sizeof(REAL);
    for (int m = 0; m < a->M; m++) {
        int t = a->d->symbol[(int64_t)b * a->M + m];
        REAL *to = a->out + ((int64_t)b * a->M + m) * a->C;
        if (t >= 0)
            memcpy(to, a->in + ((int64_t)b * a->T + t) * a->C, row);
        else
            memset(to, 0, row);
    }
}

static void repeat_forward(OpsContext *c, void *out, const void *in, const Durations *d, int B, int T, int M,
                           int C)
{
    AlignTask a = {.h = host_of(c), .out = out, .in = in, .d = d, .B = B, .T = T, .M = M, .C = C};
    host_pool_run(a.h->pool, B, repeat_forward_task, &a);
}

/* The last frame of symbol t, plus one; frames past M were cut off. */
static int align_end(const AlignTask *a, int b, int t)
{
    int64_t i = (int64_t)b * a->T + t;
    int end = a->d->start[i] + a->d->frames[i];
    return end < a->M ? end : a->M;
}

static void repeat_backward_task(void *arg, int b, int slot)
{
    const AlignTask *a = arg;
    memset(a->out + (int64_t)b * a->T * a->C, 0, (size_t)a->T * (size_t)a->C * sizeof(REAL));
    for (int m = 0; m < a->M; m++) {
        int t = a->d->symbol[(int64_t)b * a->M + m];
        REAL *to = a->out + ((int64_t)b * a->T + t) * a->C;
        if (t >= 0)
            VEC(a->h)->add(to, to, a->in + ((int64_t)b * a->M + m) * a->C, a->C);
    }
}

static void repeat_backward(OpsContext *c, void *din, const void *dout, const Durations *d, int B, int T,
                            int M, int C)
{
    AlignTask a = {.h = host_of(c), .out = din, .in = dout, .d = d, .B = B, .T = T, .M = M, .C = C};
    host_pool_run(a.h->pool, B, repeat_backward_task, &a);
}

static void symbol_means_task(void *arg, int b, int slot)
{
    const AlignTask *a = arg;
    for (int t = 0; t < a->T; t++) {
        int64_t i = (int64_t)b * a->T + t;
        int from = a->d->start[i], end = align_end(a, b, t);
        float sum = 0;
        for (int m = from; m < end; m++)
            sum += a->values[(int64_t)b * a->M + m];
        a->means[i] = end > from ? sum / (float)(end - from) : 0;
    }
}

static void symbol_means(OpsContext *c, float *out, const float *in, const Durations *d, int B, int T, int M)
{
    AlignTask a = {.h = host_of(c), .means = out, .values = in, .d = d, .B = B, .T = T, .M = M};
    host_pool_run(a.h->pool, B, symbol_means_task, &a);
}

static void add_traits_forward(OpsContext *c, void *out, const void *in, const float *pitch,
                               const float *energy, const void *w_pitch, const void *w_energy, int64_t rows,
                               int C)
{
    HostOps *h = host_of(c);
    for (int64_t r = 0; r < rows; r++) {
        REAL *to = (REAL *)out + r * C;
        VEC(h)->add_scaled(to, (const REAL *)in + r * C, (REAL)pitch[r], w_pitch, C);
        VEC(h)->add_scaled(to, to, (REAL)energy[r], w_energy, C);
    }
}

static void add_traits_backward(OpsContext *c, void *dw_pitch, void *dw_energy, const void *dout,
                                const float *pitch, const float *energy, const int32_t *len, int B, int T,
                                int C)
{
    HostOps *h = host_of(c);
    for (int b = 0; b < B; b++)
        for (int64_t r = (int64_t)b * T, end = r + host_len(len, b, T); r < end; r++) {
            const REAL *d = (const REAL *)dout + r * C;
            VEC(h)->add_scaled(dw_pitch, dw_pitch, (REAL)pitch[r], d, C);
            VEC(h)->add_scaled(dw_energy, dw_energy, (REAL)energy[r], d, C);
        }
}

/* --- losses --- */

static void align_loss_task(void *arg, int b, int slot)
{
    const AlignTask *a = arg;
    const int n = a->C, text = host_len(a->text_len, b, a->T);
    double sum = 0;
    if (a->out)
        memset(a->out + (int64_t)b * a->T * n, 0, (size_t)a->T * (size_t)n * sizeof(REAL));
    for (int t = 0; t < text; t++) {
        int64_t row = (int64_t)b * a->T + t;
        const REAL *mu = a->mu + row * n;
        for (int m = a->d->start[row], end = align_end(a, b, t); m < end; m++) {
            const float *mel = a->mel + ((int64_t)b * a->M + m) * n;
            REAL frame = 0;
            for (int k = 0; k < n; k++) {
                REAL d = mu[k] - (REAL)mel[k];
                frame += d * d;
                if (a->out)
                    a->out[row * n + k] += 2 * a->weight * d;
            }
            sum += (double)frame;
        }
    }
    a->sums[b] = sum;
}

static void align_loss(OpsContext *c, void *value, void *dmu, const void *mu, const float *mel,
                       const Durations *d, const int32_t *text_len, int B, int T, int M, int n, float weight)
{
    HostOps *h = host_of(c);
    AlignTask a = {
        .h = h, .out = dmu, .mu = mu, .mel = mel, .d = d, .text_len = text_len, .sums = loss_sums(h, B)};
    a.B = B, a.T = T, a.M = M, a.C = n, a.weight = weight;
    host_pool_run(h->pool, B, align_loss_task, &a);
    double sum = 0;
    for (int b = 0; b < B; b++)
        sum += a.sums[b];
    *(REAL *)value += (REAL)((double)weight * sum);
}

static void traits_loss(OpsContext *c, void *values, void *dpred, const void *pred, const int32_t *frames,
                        const float *pitch, const float *energy, const int32_t *len, int B, int T,
                        const float weight[TRAIT_COUNT])
{
    double sum[TRAIT_COUNT] = {0};
    for (int b = 0; b < B; b++)
        for (int t = 0; t < T; t++) {
            int64_t row = (int64_t)b * T + t;
            const REAL *p = (const REAL *)pred + row * TRAIT_COUNT;
            REAL *g = dpred ? (REAL *)dpred + row * TRAIT_COUNT : NULL;
            int counts = t < host_len(len, b, T);
            double d = counts && frames[row] > 0 ? frames[row] : 1, l = (double)p[TRAIT_DURATION], e = exp(l);
            double dp = (double)p[TRAIT_PITCH] - (double)pitch[row],
                   de = (double)p[TRAIT_ENERGY] - (double)energy[row];
            if (counts) {
                sum[TRAIT_DURATION] += e - d + d * (log(d) - l);
                sum[TRAIT_PITCH] += dp * dp;
                sum[TRAIT_ENERGY] += de * de;
            }
            if (!g)
                continue;
            g[TRAIT_DURATION] = counts ? (REAL)((double)weight[TRAIT_DURATION] * (e - d)) : 0;
            g[TRAIT_PITCH] = counts ? (REAL)((double)weight[TRAIT_PITCH] * 2 * dp) : 0;
            g[TRAIT_ENERGY] = counts ? (REAL)((double)weight[TRAIT_ENERGY] * 2 * de) : 0;
        }
    for (int i = 0; i < TRAIT_COUNT; i++)
        ((REAL *)values)[i] += (REAL)((double)weight[i] * sum[i]);
}
