/* align_host.c - the monotonic search: which frames belong to which symbol. One batch item per task.
 * Compiled twice, with -DREAL=float and -DREAL=double: see host_real.h. */
#include <stdlib.h>
#include <string.h>

#include "ops/host/host_real.h"

typedef struct AlignTask {
    HostOps *h;
    int32_t *frames;  /* [B,T] out */
    float *cost;      /* [B] out, or NULL */
    const REAL *mu;   /* [B,T,n] */
    const float *mel; /* [B,M,n] */
    const int32_t *text_len, *mel_len;
    int T, M, n;
} AlignTask;

#define ALIGN_TILE 32     /* frames whose scores are computed at once */
#define UNREACHABLE -1e30 /* the sum of a path that does not exist */

/* What a search needs: scores of a tile, the best sum up to every symbol, and a mark where a path came from
 * the symbol before. */
typedef struct AlignRoom {
    REAL *half, *best, *next, *mel, *score; /* [T], [T], [T], [ALIGN_TILE, n], [ALIGN_TILE, T] */
    REAL *panels;                           /* of mu [T, n] */
    uint8_t *moved;                         /* [M, T] */
    void *own;                              /* malloc'd where the thread's scratch is too small */
} AlignRoom;

static int align_room(AlignRoom *r, HostOps *h, int slot, int T, int M, int n)
{
    size_t rows = (size_t)(3 + ALIGN_TILE) * (size_t)T + ALIGN_TILE * (size_t)n;
    size_t panels = (size_t)whole_panels(T) * (size_t)n;
    size_t bytes = (rows + panels) * sizeof(REAL) + (size_t)M * (size_t)T;
    r->own = bytes > HOST_SLOT_BYTES ? malloc(bytes) : NULL;
    if (bytes > HOST_SLOT_BYTES && !r->own)
        return -1;
    REAL *at = r->own ? r->own : host_slot(h, slot);
    r->half = at;
    r->best = at + T;
    r->next = at + 2 * (int64_t)T;
    r->mel = at + 3 * (int64_t)T;
    r->score = r->mel + ALIGN_TILE * (int64_t)n;
    r->panels = r->score + ALIGN_TILE * (int64_t)T;
    r->moved = (uint8_t *)(r->panels + panels);
    return 0;
}

/* The best path's sums, frame by frame. Symbols past the frame's number cannot be reached yet. */
static void align_walk_forward(const AlignTask *a, AlignRoom *r, const REAL *mu, const float *mel, int text,
                               int frames)
{
    const int n = a->n;
    const REAL never = (REAL)UNREACHABLE;
    for (int t = 0; t < text; t++) {
        /* -|mel - mu|^2 / 2 without the part that is the same for all symbols: mel . mu - |mu|^2 / 2. */
        r->half[t] = VEC(a->h)->dot(mu + (int64_t)t * n, mu + (int64_t)t * n, n) / 2;
        r->best[t] = never;
    }
    PRODUCTS(a->h)->pack(r->panels, (int64_t)n * PRODUCTS(a->h)->panel, mu, n, 1, n, text);
    /* The products of a tile of frames at once; then the sums frame by frame. */
    for (int m0 = 0; m0 < frames; m0 += ALIGN_TILE) {
        int rows = frames - m0 < ALIGN_TILE ? frames - m0 : ALIGN_TILE;
        for (int64_t i = 0; i < (int64_t)rows * n; i++)
            r->mel[i] = (REAL)mel[(int64_t)m0 * n + i];
        multiply(a->h, &(PRODUCT){.c = r->score,
                                  .a = r->mel,
                                  .panels = r->panels,
                                  .m = rows,
                                  .n = text,
                                  .k = n,
                                  .lda = n,
                                  .ldc = text,
                                  .scale = 1});
        for (int m = m0; m < m0 + rows; m++) {
            const REAL *score = r->score + (int64_t)(m - m0) * text, *best = r->best;
            uint8_t *moved = r->moved + (int64_t)m * text;
            REAL *next = r->next;
            moved[0] = 0;
            next[0] = (m ? best[0] : 0) + score[0] - r->half[0];
            for (int t = 1; t < text; t++) {
                /* A frame stays with its symbol or belongs to the next one. */
                int from = best[t - 1] > best[t];
                moved[t] = (uint8_t)from;
                next[t] = (from ? best[t - 1] : best[t]) + score[t] - r->half[t];
            }
            for (int t = m + 1; t < text; t++)
                next[t] = never;
            r->next = r->best;
            r->best = next;
        }
    }
}

static void align_task(void *arg, int b, int slot)
{
    AlignTask *a = arg;
    const int n = a->n, frames = host_len(a->mel_len, b, a->M);
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
    /* Back from the last frame of the last symbol, counting frames and adding up their cost. */
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

void HOST(align_search)(OpsContext *c, int32_t *frames, float *cost, const void *mu, const float *mel,
                        const int32_t *text_len, const int32_t *mel_len, int B, int T, int M, int n)
{
    AlignTask a = {.h = host_of(c),
                   .frames = frames,
                   .cost = cost,
                   .mu = mu,
                   .mel = mel,
                   .text_len = text_len,
                   .mel_len = mel_len,
                   .T = T,
                   .M = M,
                   .n = n};
    host_pool_run(a.h->pool, B, align_task, &a);
}

void HOST(durations_place)(OpsContext *c, const Durations *d, int32_t *length, const int32_t *text_len, int B,
                           int T, int M)
{
    for (int b = 0; b < B; b++) {
        const int32_t *frames = d->frames + (int64_t)b * T;
        int32_t *start = d->start + (int64_t)b * T, *symbol = d->symbol + (int64_t)b * M;
        int text = host_len(text_len, b, T), at = 0;
        /* Symbols one after the other; frames past M are cut off. */
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
