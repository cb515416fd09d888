/* spectral_host.c - the loss between the bands of two sounds, and these bands for critics.
 * Compiled twice, with -DREAL=float and -DREAL=double: see host_real.h. */
#include "ops/host/sound_host.h"

#pragma GCC optimize("O3")

typedef struct BandTask {
    HostOps *h;
    REAL *dwave;
    double *sums; /* [B] */
    const REAL *wave, *turn, *window;
    const float *target;
    const int32_t *len;
    const SoundBands *bands;
    int n, hop, samples;
    REAL weight, more;  /* more: of dbands, in parts of the weight */
    const REAL *dbands; /* [B, frames, bands]; NULL: none */
    /* of sound_bands */
    REAL *seen[2]; /* like dbands: of the wave, of the target */
    REAL shift, scale;
} BandTask;

/* Scratch of a task. */
typedef struct BandRoom {
    Point *z, *other, *g; /* [n] */
    Lanes *ours, *theirs; /* [n / 2 + 1] magnitudes */
    Lanes *slope;         /* [n / 2 + 1] what the loss changes by with a magnitude */
} BandRoom;

static BandRoom band_room(const BandTask *l, int slot)
{
    BandRoom r = {.z = host_slot(l->h, slot)};
    const int n = l->n;
    r.other = r.z + n;
    r.g = r.other + n;
    r.ours = (Lanes *)(void *)(r.g + n);
    r.theirs = r.ours + n / 2 + 1;
    r.slope = r.theirs + n / 2 + 1;
    return r;
}

static size_t band_room_bytes(int n)
{
    return 3 * (size_t)n * sizeof(Point) + 3 * ((size_t)n / 2 + 1) * sizeof(Lanes);
}

/* LANES frames from t on, the wave in the real and the target in the imaginary part. */
static void cut_frames(const BandTask *l, Point *z, int b, int t, int count)
{
    const int n = l->n;
    const REAL *wave = l->wave + (int64_t)b * l->samples;
    const float *target = l->target + (int64_t)b * l->samples;
    if (count < LANES)
        memset(z, 0, (size_t)n * sizeof *z);
    for (int i = 0; i < count; i++) {
        const int start = (t + i) * l->hop - n / 2, inside = start >= 0 && start + n <= l->samples;
        for (int k = 0; k < n; k++) {
            const int s = inside ? start + k : mirrored(start + k, l->samples);
            z[k].re[i] = wave[s] * l->window[k];
            z[k].im[i] = (REAL)target[s] * l->window[k];
        }
    }
}

/* Bin f of the wave's spectrum, twice. */
static void ours_at(Lanes *re, Lanes *im, const Point *z, int n, int f)
{
    const Point *a = &z[f], *m = &z[(n - f) & (n - 1)];
    for (int i = 0; i < LANES; i++) {
        re->v[i] = a->re[i] + m->re[i];
        im->v[i] = a->im[i] - m->im[i];
    }
}

/* Magnitudes of all bins of both. */
static void measure(const BandRoom *r, const Point *z, int n)
{
    for (int f = 0; f <= n / 2; f++) {
        const Point *a = &z[f], *m = &z[(n - f) & (n - 1)];
        Lanes re, im;
        ours_at(&re, &im, z, n, f);
        for (int i = 0; i < LANES; i++) {
            REAL tr = a->im[i] + m->im[i], ti = m->re[i] - a->re[i];
            r->ours[f].v[i] = SQRT(re.v[i] * re.v[i] + im.v[i] * im.v[i]) / 2;
            r->theirs[f].v[i] = SQRT(tr * tr + ti * ti) / 2;
        }
    }
}

/* Band b of LANES frames, of both. */
static void sum_band(Lanes *ours, Lanes *theirs, const BandTask *l, const BandRoom *r, int b)
{
    const float *weight = l->bands->weights + l->bands->at[b];
    const int first = l->bands->first[b];
    *ours = *theirs = (Lanes){{0}};
    for (int k = 0; k < l->bands->width[b]; k++)
        for (int i = 0; i < LANES; i++) {
            ours->v[i] += (REAL)weight[k] * r->ours[first + k].v[i];
            theirs->v[i] += (REAL)weight[k] * r->theirs[first + k].v[i];
        }
}

/* The losses of `count` frames, and r->slope of all of them. at: number of the first frame, over all items.
 */
static double band_losses(const BandTask *l, const BandRoom *r, int64_t at, int count)
{
    const REAL floor = (REAL)l->bands->floor;
    double sum = 0;
    memset(r->slope, 0, ((size_t)l->n / 2 + 1) * sizeof *r->slope);
    for (int b = 0; b < l->bands->count; b++) {
        const float *weight = l->bands->weights + l->bands->at[b];
        const int first = l->bands->first[b], width = l->bands->width[b];
        Lanes ours, theirs, slope = {{0}};
        sum_band(&ours, &theirs, l, r, b);
        for (int i = 0; i < count; i++) {
            const REAL difference =
                LOG(ours.v[i] > floor ? ours.v[i] : floor) - LOG(theirs.v[i] > floor ? theirs.v[i] : floor);
            sum += fabs((double)difference);
            if (ours.v[i] > floor && difference != 0)
                slope.v[i] = (REAL)(difference > 0 ? 1 : -1) / ours.v[i];
            if (ours.v[i] > floor && l->dbands)
                slope.v[i] += l->more * l->dbands[(at + i) * l->bands->count + b] / ours.v[i];
        }
        for (int k = 0; k < width; k++)
            for (int i = 0; i < LANES; i++)
                r->slope[first + k].v[i] += slope.v[i] * (REAL)weight[k];
    }
    return sum;
}

/* Adds the gradients of the wave's spectra to r->g, in which two real signals are one complex: these are the
 * first, or the second. */
static void pack_gradients(const BandRoom *r, const Point *z, int n, int second)
{
    for (int f = 0; f <= n / 2; f++) {
        Point *here = &r->g[f], *there = &r->g[(n - f) & (n - 1)];
        const int edge = f == 0 || f == n / 2;
        Lanes re, im;
        ours_at(&re, &im, z, n, f);
        for (int i = 0; i < LANES; i++) {
            const REAL size = r->ours[f].v[i];
            const REAL d = size > (REAL)TINY ? r->slope[f].v[i] / size / (edge ? 2 : 4) : 0;
            re.v[i] *= d;
            im.v[i] *= d;
        }
        for (int i = 0; i < LANES; i++) {
            here->re[i] += second ? (edge ? 0 : -im.v[i]) : re.v[i];
            here->im[i] += second ? re.v[i] : edge ? 0 : im.v[i];
            if (edge)
                continue;
            there->re[i] += second ? im.v[i] : re.v[i];
            there->im[i] += second ? re.v[i] : -im.v[i];
        }
    }
}

static void add_gradients(const BandTask *l, const Point *d, int b, int t, int count)
{
    const int n = l->n;
    REAL *dwave = l->dwave + (int64_t)b * l->samples;
    for (int i = 0; i < count; i++) {
        const int start = (t + i) * l->hop - n / 2, inside = start >= 0 && start + n <= l->samples;
        for (int k = 0; k < n; k++) {
            const int s = inside ? start + k : mirrored(start + k, l->samples);
            dwave[s] += l->weight * (i < LANES ? d[k].re[i] : d[k].im[i - LANES]) * l->window[k];
        }
    }
}

static void loss_task(void *arg, int b, int slot)
{
    BandTask *l = arg;
    l->sums[b] = 0;
    if (l->len && l->len[b] == 0)
        return;
    const int n = l->n, frames = l->samples / l->hop + 1;
    const BandRoom r = band_room(l, slot);
    double sum = 0;
    for (int t = 0; t < frames; t += PAIRS) {
        const int most = frames - t < PAIRS ? frames - t : PAIRS;
        if (l->dwave)
            memset(r.g, 0, (size_t)n * sizeof *r.g);
        for (int done = 0; done < most; done += LANES) {
            const int count = most - done < LANES ? most - done : LANES;
            cut_frames(l, r.z, b, t + done, count);
            const Point *z = transform(l->h, r.z, r.other, l->turn, n, 1);
            measure(&r, z, n);
            sum += band_losses(l, &r, (int64_t)b * frames + t + done, count);
            if (l->dwave)
                pack_gradients(&r, z, n, done > 0);
        }
        if (l->dwave)
            add_gradients(l, transform(l->h, r.g, r.z, l->turn, n, -1), b, t, most);
    }
    l->sums[b] = sum;
}

static BandTask band_task(OpsContext *c, const void *wave, const float *target, const int32_t *len,
                          const SoundScale *s, int samples)
{
    const SoundFrames *f = &s->frames;
    ASSERT_CMP(samples, >, f->n / 2);
    ASSERT_CMP(band_room_bytes(f->n), <=, HOST_SLOT_BYTES);
    BandTask l = {.h = host_of(c), .wave = wave, .target = target, .len = len, .bands = &s->bands};
    l.turn = f->tables;
    l.window = l.turn + f->n;
    l.n = f->n;
    l.hop = f->hop;
    l.samples = samples;
    return l;
}

static void scale_loss(OpsContext *c, void *value, void *dwave, const void *wave, const float *target,
                       const int32_t *len, const SoundScale *s, int B, int samples)
{
    BandTask l = band_task(c, wave, target, len, s, samples);
    l.dwave = dwave;
    l.weight = (REAL)s->weight;
    l.dbands = s->dbands;
    l.more = s->dbands ? (REAL)s->dbands_scale / l.weight : 0;
    l.sums = loss_sums(l.h, B);
    host_pool_run(l.h->pool, B, loss_task, &l);
    loss_add(value, l.sums, B, s->weight);
}

void HOST(spectral_loss)(OpsContext *c, void *value, void *dwave, const void *wave, const float *target,
                         const int32_t *len, const SoundScale *scales, int count, int B, int samples)
{
    if (dwave)
        memset(dwave, 0, (size_t)B * (size_t)samples * sizeof(REAL));
    for (int i = 0; i < count; i++)
        scale_loss(c, value, dwave, wave, target, len, &scales[i], B, samples);
}

static void see_task(void *arg, int b, int slot)
{
    BandTask *l = arg;
    const int n = l->n, frames = l->samples / l->hop + 1, bands = l->bands->count;
    if (l->len && l->len[b] == 0) {
        const size_t all = (size_t)frames * (size_t)bands;
        memset(l->seen[0] + (size_t)b * all, 0, all * sizeof(REAL));
        memset(l->seen[1] + (size_t)b * all, 0, all * sizeof(REAL));
        return;
    }
    const REAL floor = (REAL)l->bands->floor;
    const BandRoom r = band_room(l, slot);
    for (int t = 0; t < frames; t += LANES) {
        const int count = frames - t < LANES ? frames - t : LANES;
        cut_frames(l, r.z, b, t, count);
        measure(&r, transform(l->h, r.z, r.other, l->turn, n, 1), n);
        for (int k = 0; k < bands; k++) {
            Lanes of[2];
            sum_band(&of[0], &of[1], l, &r, k);
            for (int i = 0; i < 2 * count; i++) {
                const REAL x = of[i % 2].v[i / 2];
                l->seen[i % 2][((int64_t)b * frames + t + i / 2) * bands + k] =
                    (LOG(x > floor ? x : floor) + l->shift) * l->scale;
            }
        }
    }
}

void HOST(sound_bands)(OpsContext *c, void *ours, void *theirs, int32_t *rows, const void *wave,
                       const float *target, const int32_t *len, const SoundScale *s, int B, int samples,
                       float shift, float scale)
{
    BandTask l = band_task(c, wave, target, len, s, samples);
    l.seen[0] = ours;
    l.seen[1] = theirs;
    l.shift = (REAL)shift;
    l.scale = (REAL)scale;
    for (int b = 0; b < B; b++)
        rows[b] = len && len[b] == 0 ? 0 : samples / l.hop + 1;
    host_pool_run(l.h->pool, B, see_task, &l);
}
