/* digits_judge.c - see digits_judge.h. */
#include "digits_judge.h"

#define JUDGE_MAX_SECONDS 60.0

#define JUDGE_MAX_DIM 160

#define JUDGE_MAX_K 9

#define JUDGE_LANES 16 /* columns are padded to a multiple of this */

void clip_free(Clip *c)
{
    free(c->rows);
    free(c->cols);
    c->rows = c->cols = NULL;
}

void ear_close(Ear *e)
{
    mel_scratch_close(e->scratch);
    mel_plan_close(e->plan);
    audio_processor_close(e->processor);
    audio_buffer_free(&e->audio);
    free(e->mel);
    config_close(&e->cfg);
    memset(e, 0, sizeof *e);
}

int ear_open(Ear *e, const JudgeSettings *set, Err *err)
{
    memset(e, 0, sizeof *e);
    e->set = *set;
    int rc = config_defaults(&e->cfg, err);
    if (rc)
        return rc;
    e->cfg.sample_rate = JUDGE_RATE;
    e->cfg.n_fft = set->n_fft;
    e->cfg.win_length = set->win;
    e->cfg.hop_length = set->hop;
    e->cfg.n_mels = set->n_mels;
    e->cfg.mel_fmin = 0;
    e->cfg.mel_fmax = JUDGE_RATE / 2.0;
    e->cfg.trim_top_db = set->trim_db;
    rc = audio_processor_open(&e->processor, &e->cfg, err);
    if (!rc)
        rc = mel_plan_open(&e->plan, &e->cfg, err);
    if (!rc)
        rc = mel_scratch_open(&e->scratch, e->plan, err);
    if (rc)
        ear_close(e);
    return rc;
}

static void limit_range(float *mel, size_t n, double range_db)
{
    float top = mel[0];
    for (size_t i = 1; i < n; i++)
        top = fmaxf(top, mel[i]);
    float floor = top - (float)(range_db / 20 * log(10));
    for (size_t i = 0; i < n; i++)
        mel[i] = fmaxf(mel[i], floor);
}

/* Orthonormal type II of one frame, first `count` coefficients. */
static void cosine_transform(float *out, const float *in, int bands, int count)
{
    for (int k = 0; k < count; k++) {
        double sum = 0;
        for (int b = 0; b < bands; b++)
            sum += in[b] * cos(M_PI * k * (b + 0.5) / bands);
        out[k] = (float)(sum * sqrt((k ? 2.0 : 1.0) / bands));
    }
}

static void normalise_rows(float *rows, int frames, int dim, int count, int variance)
{
    for (int d = 0; d < count; d++) {
        double sum = 0, squares = 0;
        for (int t = 0; t < frames; t++)
            sum += rows[(size_t)t * (size_t)dim + (size_t)d];
        double mean = sum / frames;
        for (int t = 0; t < frames; t++) {
            double x = rows[(size_t)t * (size_t)dim + (size_t)d] - mean;
            squares += x * x;
        }
        double scale = variance ? 1 / sqrt(squares / frames + 1e-6) : 1;
        for (int t = 0; t < frames; t++) {
            float *x = &rows[(size_t)t * (size_t)dim + (size_t)d];
            *x = (float)((*x - mean) * scale);
        }
    }
}

/* Slopes of the first `count` columns into the next `count`: regression over two frames to each side, edges
 * repeated. */
static void add_slopes(float *rows, int frames, int dim, int count, double weight)
{
    for (int t = 0; t < frames; t++)
        for (int d = 0; d < count; d++) {
            double slope = 0;
            for (int w = 1; w <= 2; w++) {
                int after = t + w < frames ? t + w : frames - 1, before = t - w > 0 ? t - w : 0;
                slope += w * (rows[(size_t)after * (size_t)dim + (size_t)d] -
                              rows[(size_t)before * (size_t)dim + (size_t)d]);
            }
            rows[(size_t)t * (size_t)dim + (size_t)(count + d)] = (float)(weight * slope / 10);
        }
}

static int ear_features(Ear *e, Clip *c, const float *samples, int64_t n, Err *err)
{
    const JudgeSettings *s = &e->set;
    int frames = (int)mel_frames(e->plan, n), count = s->cepstra ? s->cepstra : s->n_mels;
    c->frames = frames;
    c->dim = s->slopes > 0 ? 2 * count : count;
    c->stride = (frames + JUDGE_LANES - 1) / JUDGE_LANES * JUDGE_LANES;
    ASSERT(c->dim <= JUDGE_MAX_DIM);
    c->rows = mem_calloc((size_t)frames, (size_t)c->dim * sizeof *c->rows);
    c->cols = mem_aligned(64, (size_t)c->dim, (size_t)c->stride * sizeof *c->cols);
    if (!c->rows || !c->cols ||
        mem_grow(&e->mel, &e->mel_cap, (size_t)frames * (size_t)s->n_mels, sizeof *e->mel))
        return err_set(err, ERR_NOMEM, "no memory for the features of %s", c->name);
    mel_compute(e->plan, e->scratch, e->mel, samples, n);
    if (s->range_db > 0)
        limit_range(e->mel, (size_t)frames * (size_t)s->n_mels, s->range_db);
    for (int t = 0; t < frames; t++) {
        const float *bands = e->mel + (size_t)t * (size_t)s->n_mels;
        float *row = c->rows + (size_t)t * (size_t)c->dim;
        if (s->cepstra)
            cosine_transform(row, bands, s->n_mels, count);
        else
            memcpy(row, bands, (size_t)count * sizeof *row);
    }
    normalise_rows(c->rows, frames, c->dim, count, s->variance);
    if (s->slopes > 0)
        add_slopes(c->rows, frames, c->dim, count, s->slopes);
    memset(c->cols, 0, (size_t)c->dim * (size_t)c->stride * sizeof *c->cols);
    for (int t = 0; t < frames; t++)
        for (int d = 0; d < c->dim; d++)
            c->cols[(size_t)d * (size_t)c->stride + (size_t)t] =
                c->rows[(size_t)t * (size_t)c->dim + (size_t)d];
    return 0;
}

int ear_listen(Ear *e, Clip *c, const AudioBuffer *in, Err *err)
{
    char detail[200];
    const float *samples;
    int64_t n;
    c->file_seconds = (double)in->frames / in->rate;
    RejectReason why = audio_process(e->processor, &samples, &n, in, 1, 1, detail, sizeof detail);
    if (why == REJECT_AUDIO_SILENT)
        return 0;
    if (why != REJECT_NONE)
        return err_set(err, ERR_DATA, "%s: %s: %s", c->name, reject_text(why), detail);
    c->voice_seconds = (double)n / JUDGE_RATE;
    return ear_features(e, c, samples, n, err);
}

int ear_listen_file(Ear *e, Clip *c, const char *path, Err *err)
{
    char detail[200];
    FileMap map = {0};
    int rc = file_map(&map, path, err);
    if (rc)
        return rc;
    RejectReason why =
        audio_decode(&e->audio, map.data, map.size, path, JUDGE_MAX_SECONDS, detail, sizeof detail);
    file_unmap(&map);
    if (why != REJECT_NONE)
        return err_set(err, ERR_DATA, "%s: %s: %s", path, reject_text(why), detail);
    return ear_listen(e, c, &e->audio, err);
}

typedef float Lanes __attribute__((vector_size(16), aligned(16)));

typedef int32_t LaneBits __attribute__((vector_size(16)));

/* Local distances of one row of a to the columns [first, last) of b, both multiples of JUDGE_LANES. */
static void local_costs(float *out, const float *a, const Clip *b, int first, int last, JudgeLocal local)
{
    const LaneBits magnitude = {0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff};
    for (int j = first; j < last; j += JUDGE_LANES) {
        Lanes sum[4] = {{0}};
        const float *col = b->cols + j;
        for (int d = 0; d < b->dim; d++, col += b->stride) {
            const Lanes *x = (const Lanes *)(const void *)col, own = {a[d], a[d], a[d], a[d]};
            for (int q = 0; q < 4; q++) {
                Lanes diff = x[q] - own;
                sum[q] += local == LOCAL_ABSOLUTE ? (Lanes)((LaneBits)diff & magnitude) : diff * diff;
            }
        }
        memcpy(out + j, sum, sizeof sum);
    }
    if (local == LOCAL_EUCLID)
        for (int j = first; j < last; j++)
            out[j] = sqrtf(out[j]);
}

void warp_scratch_free(WarpScratch *w) { free(w->costs); }

int warp_scratch_open(WarpScratch *w, size_t frames)
{
    w->cap = (frames + 2 * JUDGE_LANES) / JUDGE_LANES * JUDGE_LANES;
    w->costs = mem_aligned(64, 3 * w->cap, sizeof *w->costs);
    w->above = w->costs ? w->costs + w->cap : NULL;
    w->here = w->costs ? w->above + w->cap : NULL;
    return w->costs ? 0 : ERR_NOMEM;
}

int64_t warp_reach(const JudgeSettings *s, const Clip *a, const Clip *b)
{
    int longer = a->frames > b->frames ? a->frames : b->frames;
    return (int64_t)(fmax(s->band * longer, 2) * (longer - 1));
}

float warp_distance(WarpScratch *w, const JudgeSettings *s, const Clip *a, const Clip *b)
{
    if (!a->frames || !b->frames)
        return INFINITY;
    ASSERT(a->dim == b->dim && (size_t)b->stride < w->cap);
    int rows = a->frames, columns = b->frames;
    /* In whole numbers, so that the band is the same for (b, a): |i * m - j * n| <= reach. */
    int64_t n = rows - 1, m = columns - 1, reach = warp_reach(s, a, b);
    float *above = w->above + 1, *here = w->here + 1; /* [-1 .. columns-1] */
    for (int j = -1; j < columns; j++)
        above[j] = here[j] = INFINITY;
    for (int i = 0; i < rows; i++) {
        int64_t low = n ? (i * m - reach + n - 1) / n : 0, high = n ? (i * m + reach) / n : m;
        int first = i * m > reach ? (int)low : 0, last = high < m ? (int)high : (int)m;
        int lanes = JUDGE_LANES, from = first / lanes * lanes, to = (last + lanes) / lanes * lanes;
        local_costs(w->costs, a->rows + (size_t)i * (size_t)a->dim, b, from, to, s->local);
        /* The band moves right only: what lies left of it in `here` is from two rows before and must not be
         * reached; to the right of it nothing was written yet. */
        float left = INFINITY;
        here[first - 1] = INFINITY;
        for (int j = first; j <= last; j++) {
            float c = w->costs[j];
            float straight = fminf(above[j], left) + c, across = above[j - 1] + s->diagonal * c;
            if (!i && !j)
                across = s->diagonal * c;
            here[j] = left = fminf(straight, across);
        }
        float *swap = above;
        above = here;
        here = swap;
    }
    return above[columns - 1] / (float)(rows + columns);
}

/* All distances [a_count, b_count]. b NULL: of a to itself, each pair computed once. */
typedef struct Pairs {
    const JudgeSettings *set;
    const Clip *a, *b;
    size_t a_count, b_count, frames;
    float *out;
    atomic_size_t next;
    atomic_int failed;
} Pairs;

static void *pairs_run(void *arg)
{
    Pairs *p = arg;
    WarpScratch w;
    if (warp_scratch_open(&w, p->frames)) {
        atomic_store(&p->failed, 1);
        return NULL;
    }
    for (size_t i; (i = atomic_fetch_add(&p->next, 1)) < p->a_count;) {
        if (p->b) {
            for (size_t j = 0; j < p->b_count; j++)
                p->out[i * p->b_count + j] = warp_distance(&w, p->set, &p->a[i], &p->b[j]);
            continue;
        }
        p->out[i * p->a_count + i] = 0;
        for (size_t j = i + 1; j < p->a_count; j++)
            p->out[i * p->a_count + j] = p->out[j * p->a_count + i] =
                warp_distance(&w, p->set, &p->a[i], &p->a[j]);
    }
    warp_scratch_free(&w);
    return NULL;
}

int pairs_measure(float **out, const JudgeSettings *set, const Clip *a, size_t a_count, const Clip *b,
                  size_t b_count, int threads, Err *err)
{
    Pairs p = {.set = set, .a = a, .b = b, .a_count = a_count, .b_count = b ? b_count : a_count};
    for (size_t i = 0; i < a_count; i++)
        p.frames = (size_t)a[i].stride > p.frames ? (size_t)a[i].stride : p.frames;
    for (size_t i = 0; b && i < b_count; i++)
        p.frames = (size_t)b[i].stride > p.frames ? (size_t)b[i].stride : p.frames;
    *out = p.out = mem_calloc(p.a_count * p.b_count + 1, sizeof *p.out);
    if (!p.out)
        return err_set(err, ERR_NOMEM, "no memory for %zu distances", p.a_count * p.b_count);
    Thread workers[JUDGE_MAX_THREADS] = {{0}};
    int rc = 0;
    for (int t = 1; t < threads && t < JUDGE_MAX_THREADS && !rc; t++)
        rc = thread_start(&workers[t], "digits", pairs_run, &p, err);
    pairs_run(&p);
    for (int t = 1; t < JUDGE_MAX_THREADS; t++)
        thread_join(&workers[t]);
    if (!rc && atomic_load(&p.failed))
        rc = err_set(err, ERR_NOMEM, "no memory to compare clips");
    if (rc) {
        free(*out);
        *out = NULL;
    }
    return rc;
}

int judge_digit(size_t *nearest, const JudgeSettings *s, const float *distances, const Clip *clips,
                size_t count, size_t skip, int speaker)
{
    size_t best[JUDGE_MAX_K];
    int found = 0;
    for (size_t j = 0; j < count; j++) {
        if (j == skip || clips[j].speaker == speaker || !isfinite(distances[j]))
            continue;
        int at = found < s->k ? found++ : s->k;
        for (; at > 0 && distances[j] < distances[best[at - 1]]; at--)
            if (at < s->k)
                best[at] = best[at - 1];
        if (at < s->k)
            best[at] = j;
    }
    if (!found)
        return -1;
    int votes[10] = {0}, winner = -1;
    for (int i = 0; i < found; i++)
        votes[clips[best[i]].digit]++;
    for (int i = 0; i < found; i++) /* nearest first: the first of the largest counts wins */
        if (winner < 0 || votes[clips[best[i]].digit] > votes[winner])
            winner = clips[best[i]].digit;
    if (nearest)
        *nearest = best[0];
    return winner;
}
