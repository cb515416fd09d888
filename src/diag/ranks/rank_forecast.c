/* rank_forecast.c - see rank_forecast.h. */
#include "diag/ranks/rank_forecast.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "diag/pipeline/forecast.h"
#include "diag/report/thresholds.h"

#define FEWEST_ALIKE 4 /* steps of one length, to say what is usual for it */
#define TAIL 8         /* of n steps the slowest of n / 8 can be seen; beyond it the tail is a law */
#define NOTICED 0.01   /* of a step: less holds nobody up */

const char *rank_bound_name(RankBound b)
{
    static const char *const names[] = {"step", "data", "link", "disk", "jitter"};
    return names[b];
}

int rank_hosts(int n, int per_host)
{
    int hosts = (n + per_host - 1) / per_host;
    while (n % hosts)
        hosts++;
    return hosts;
}

/* --- the slowest of N --- */

/* What is usual for the length of each batch: the mean of the steps that are padded alike. Ranks' shares have
 * about as many frames, so lengths do not make one of them slower than another. usual [n]. */
static void usual_times(float *usual, const Observation *o)
{
    const float *step = o->trace[TRACE_STEP];
    for (int64_t k = 0; k < o->n; k++) {
        double sum = 0;
        int64_t alike = 0;
        for (int64_t i = o->from; i < o->n; i++)
            if (o->frames[i] == o->frames[k]) {
                sum += (double)step[i];
                alike++;
            }
        usual[k] = alike >= FEWEST_ALIKE ? (float)(sum / (double)alike) : step[k];
    }
}

static int by_size(const void *a, const void *b)
{
    const float *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Expected maximum of n draws from the sorted values. */
static double slowest_seen(const float *sorted, int64_t count, double n)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum +=
            (double)sorted[i] * (pow((double)(i + 1) / (double)count, n) - pow((double)i / (double)count, n));
    return sum;
}

/* The same for a log-normal law with mean 1: the integral of 1 - F(x)^n. */
static double slowest_by_law(double variance, double n)
{
    const double sigma = sqrt(log1p(variance)), dz = 0.005, least = -8, most = 8;
    double sum = exp(sigma * least - sigma * sigma / 2);
    for (double z = least + dz / 2; z < most; z += dz) {
        double x = exp(sigma * z - sigma * sigma / 2), below = 0.5 * erfc(-z / M_SQRT2);
        sum += (1 - pow(below, n)) * x * sigma * dz;
    }
    return sum;
}

static double slowest_of(float *ratios, int64_t count, int n)
{
    Stats s = {0};
    for (int64_t i = 0; i < count; i++)
        stats_add(&s, (double)ratios[i]);
    if (n <= 1 || count < 2 || stats_std(&s) < 1e-4)
        return 1;
    qsort(ratios, (size_t)count, sizeof *ratios, by_size);
    double seen = fmin(n, fmax(2, floor((double)count / TAIL)));
    double factor = slowest_seen(ratios, count, seen) / s.mean, variance = pow(stats_std(&s) / s.mean, 2);
    if (seen < n)
        factor *= slowest_by_law(variance, n) / slowest_by_law(variance, seen);
    return factor;
}

int rank_slowest(double *factor, const Observation *o, int n, Err *err)
{
    float *usual = mem_calloc(2 * (size_t)o->n + 2, sizeof *usual);
    if (!usual)
        return err_set(err, ERR_NOMEM, "no memory for a forecast of %d ranks", n);
    float *ratios = usual + o->n + 1;
    usual_times(usual, o);
    int64_t count = 0;
    for (int64_t k = o->from; k < o->n; k++)
        if (usual[k] > 0)
            ratios[count++] = o->trace[TRACE_STEP][k] / usual[k];
    *factor = slowest_of(ratios, count, n);
    free(usual);
    return 0;
}

/* --- the forecast --- */

/* What is assumed of the N ranks; each can be left out, to see what it costs. */
typedef struct Costs {
    double slowest; /* times the usual step */
    Exchange x;     /* seconds 0: communication costs nothing */
    double disk;    /* times a read takes, because others read from the same disk */
} Costs;

/* Seconds per step of a rank among others; *exposed: the mean of what is not hidden. */
static int run_with(double *seconds, double *exposed, const Observation *o, const Costs *c, Err *err)
{
    float *usual = mem_calloc(2 * (size_t)o->n + 2, sizeof *usual);
    if (!usual)
        return err_set(err, ERR_NOMEM, "no memory for a forecast");
    float *sums = usual + o->n + 1;
    usual_times(usual, o);
    *exposed = 0;
    for (int64_t k = 0; k < o->n; k++) {
        usual[k] *= (float)c->slowest;
        sums[k] = c->x.seconds > 0 ? (float)exchange_exposed(&c->x, (double)usual[k]) : 0;
        if (k >= o->from)
            *exposed += (double)sums[k] / (double)(o->n - o->from);
    }
    ForecastSettings s;
    Forecast f;
    forecast_settings(&s, o);
    s.instead[TRACE_STEP] = usual;
    s.instead[TRACE_SUM] = sums;
    s.scale[STAGE_READ] = c->disk;
    int rc = forecast_run(&f, o, &s, err);
    *seconds = f.period;
    free(usual);
    return rc;
}

/* The largest of the three, if it can be noticed. */
static RankBound bound_of(const RankForecast *f, const Observation *o)
{
    double most = fmax(f->by_link, fmax(f->by_jitter, f->by_disk));
    if (most >= NOTICED)
        return most == f->by_disk ? BOUND_DISK : most == f->by_link ? BOUND_LINK : BOUND_JITTER;
    return o->wait_share >= threshold(LIMIT_WAIT)->good ? BOUND_DATA : BOUND_STEP;
}

int rank_forecast(RankForecast *f, const Observation *o, const Exchange *x, const RankNetwork *net, int n,
                  Err *err)
{
    *f = (RankForecast){.links = net->said};
    f->links.ranks = n;
    f->links.hosts = rank_hosts(n, net->per_host);
    links_complete(&f->links);
    int sharing = net->shared_disk ? n : n / f->links.hosts;
    Costs alone = {.slowest = 1, .x = *x, .disk = 1}, all = alone;
    alone.x.seconds = 0;
    all.disk = o->serial_disk ? sharing : 1;
    all.x.seconds = x->buckets * links_latency(&f->links) + x->bytes * links_per_byte(&f->links);
    Costs no_link = all, no_jitter, no_disk;
    int rc = rank_slowest(&all.slowest, o, n, err);
    no_link.slowest = all.slowest;
    no_link.x.seconds = 0;
    no_jitter = no_disk = all;
    no_jitter.slowest = 1;
    no_disk.disk = 1;
    double one = 0, exposed = 0, without[3] = {0}, unused;
    const Costs *const three[] = {&no_link, &no_jitter, &no_disk};
    if (!rc)
        rc = run_with(&one, &unused, o, &alone, err);
    if (!rc)
        rc = run_with(&f->seconds, &exposed, o, &all, err);
    for (int i = 0; i < 3 && !rc; i++)
        rc = run_with(&without[i], &unused, o, three[i], err);
    if (rc || !(f->seconds > 0) || !(one > 0))
        return rc;
    f->efficiency = one / f->seconds;
    f->hidden_not = exposed / f->seconds;
    f->by_link = 1 - without[0] / f->seconds;
    f->by_jitter = 1 - without[1] / f->seconds;
    f->by_disk = 1 - without[2] / f->seconds;
    f->clips_per_s = n * o->utterances_per_s * f->efficiency;
    f->check = one / o->period - 1;
    f->seconds *= o->period / one; /* the model of the pipeline is not exact; what was measured counts */
    f->bound = bound_of(f, o);
    return 0;
}

/* --- what it assumes --- */

static void add_line(json_t *list, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add_line(json_t *list, const char *fmt, ...)
{
    char text[500];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    json_array_append_new(list, json_string(text));
}

json_t *rank_forecast_assumptions(const Observation *o, const Exchange *x, const RankNetwork *net)
{
    json_t *all = json_array();
    Links one = net->said, many = net->said;
    one.ranks = net->per_host;
    one.hosts = 1;
    many.ranks = 2 * net->per_host;
    many.hosts = 2;
    links_complete(&one);
    links_complete(&many);
    add_line(
        all,
        "Every rank has a GPU and a host like those measured here and keeps its batch of %d clips, so the "
        "clips of a step grow with the ranks. Shares of a step have about as many frames.",
        o->batch_size);
    add_line(
        all,
        "%.1f MB of gradients (rank_sum) in %d buckets. They become final evenly over the backward "
        "pass, %.0f %% to %.0f %% of a step, and are summed meanwhile, bucket after bucket; the sums take "
        "nothing from the GPU.",
        1e-6 * x->bytes, x->buckets, 100 * x->forward, 100 * (x->forward + x->backward));
    add_line(all,
             "At most %d ranks on a host. On one host: %.4g GB/s and %.3g us between ranks. On several: %.4g "
             "GB/s and %.3g us inside, %.4g GB/s and %.3g us between hosts, shared by the ranks of a host.",
             net->per_host, 1e-9 * one.near.bytes_per_s, 1e6 * one.near.seconds, 1e-9 * many.near.bytes_per_s,
             1e6 * many.near.seconds, 1e-9 * many.far.bytes_per_s, 1e6 * many.far.seconds);
    add_line(
        all, "%s",
        "A sum moves 2 (N - 1) / N of the bytes over the slowest link and costs a latency for every step "
        "of a ring: 2 (ranks of a host - 1) inside, 2 (hosts - 1) between hosts. Nobody else uses the "
        "links.");
    add_line(all,
             "Ranks vary by chance and independently, as the steps measured here do beyond their lengths; a "
             "step lasts as long as the slowest. From %lld ranks on, the tail is taken to be log-normal.",
             (long long)(o->n - o->from) / TAIL + 1);
    if (!o->serial_disk)
        add_line(all, "%s", "Reads ran side by side here: the disk is not a limit for any number of ranks.");
    else
        add_line(all, "%s",
                 net->shared_disk ? "All ranks share one disk, which serves one read at a time."
                                  : "The ranks of a host share its disk, which serves one read at a time.");
    add_line(all, "%s", "Validation, checkpoints and failures are not counted.");
    return all;
}
