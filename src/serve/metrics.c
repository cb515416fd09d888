/* metrics.c - see metrics.h. */
#include "serve/metrics.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

#define COUNTS 512 /* pairs of route and status */

static const double bounds[METRICS_BOUNDS] = {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2,
                                              0.3,  0.5,   1,    1.5,   3,   10,   30};

void metrics_open(Metrics *m)
{
    *m = (Metrics){0};
    pthread_mutex_init(&m->lock, NULL);
}

void metrics_close(Metrics *m) { pthread_mutex_destroy(&m->lock); }

void metrics_first_sound(Metrics *m, double seconds)
{
    int i = 0;
    while (i < METRICS_BOUNDS && seconds > bounds[i])
        i++;
    pthread_mutex_lock(&m->lock);
    m->first_sound[i]++;
    m->first_sound_sum += seconds;
    pthread_mutex_unlock(&m->lock);
}

void metrics_cancelled(Metrics *m)
{
    pthread_mutex_lock(&m->lock);
    m->cancelled++;
    pthread_mutex_unlock(&m->lock);
}

/* --- text --- */

static void head(Buf *out, const char *name, const char *type, const char *help)
{
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void value(Buf *out, const char *name, const char *type, const char *help, double x)
{
    head(out, name, type, help);
    buf_printf(out, "%s %.9g\n", name, x);
}

static void put_requests(Buf *out, Http *http)
{
    HttpCount counts[COUNTS];
    int n = http_counts(http, counts, COUNTS);
    head(out, "myxtts_http_requests_total", "counter", "Answers by route and status.");
    for (int i = 0; i < n; i++)
        buf_printf(out, "myxtts_http_requests_total{route=\"%s\",method=\"%s\",status=\"%d\"} %llu\n",
                   counts[i].path, counts[i].method, counts[i].status, (unsigned long long)counts[i].count);
    value(out, "myxtts_http_connections", "gauge", "Open connections.", http_connections(http));
}

static void put_first_sound(Metrics *m, Buf *out)
{
    uint64_t sum = 0;
    head(out, "myxtts_first_sound_seconds", "histogram", "Time from a complete request to its first sound.");
    pthread_mutex_lock(&m->lock);
    for (int i = 0; i < METRICS_BOUNDS; i++) {
        sum += m->first_sound[i];
        buf_printf(out, "myxtts_first_sound_seconds_bucket{le=\"%g\"} %llu\n", bounds[i],
                   (unsigned long long)sum);
    }
    sum += m->first_sound[METRICS_BOUNDS];
    buf_printf(out,
               "myxtts_first_sound_seconds_bucket{le=\"+Inf\"} %llu\nmyxtts_first_sound_seconds_sum %.9g\n"
               "myxtts_first_sound_seconds_count %llu\n",
               (unsigned long long)sum, m->first_sound_sum, (unsigned long long)sum);
    uint64_t cancelled = m->cancelled;
    pthread_mutex_unlock(&m->lock);
    value(out, "myxtts_cancelled_total", "counter", "Requests whose client left before the end.",
          (double)cancelled);
}

static void put_studio(Buf *out, Studio *studio)
{
    StudioReport r;
    studio_report(studio, &r);
    double work = r.text_seconds + r.mel_seconds + r.sound_seconds;
    value(out, "myxtts_talks_open", "gauge", "Texts being spoken.", (double)r.open);
    value(out, "myxtts_talks_waiting", "gauge", "Texts being spoken that have no sound yet.",
          (double)r.waiting);
    head(out, "myxtts_talks_total", "counter", "Texts by outcome; begun counts all.");
    buf_printf(out,
               "myxtts_talks_total{result=\"begun\"} %lld\nmyxtts_talks_total{result=\"ended\"} %lld\n"
               "myxtts_talks_total{result=\"failed\"} %lld\nmyxtts_talks_total{result=\"refused\"} %lld\n",
               (long long)r.begun, (long long)r.ended, (long long)r.failed, (long long)r.refused);
    value(out, "myxtts_network_calls_total", "counter", "Calls of a voice's network.", (double)r.calls);
    value(out, "myxtts_network_rows_total", "counter", "Parts of texts spoken in these calls.",
          (double)r.rows);
    value(out, "myxtts_batch_rows", "gauge", "Parts spoken in one call, mean over all calls.",
          r.calls ? (double)r.rows / (double)r.calls : 0);
    value(out, "myxtts_speech_seconds_total", "counter", "Seconds of sound made.", r.speech_seconds);
    head(out, "myxtts_work_seconds_total", "counter", "Seconds of work by stage.");
    buf_printf(
        out,
        "myxtts_work_seconds_total{stage=\"text\"} %.9g\nmyxtts_work_seconds_total{stage=\"mel\"} %.9g\n"
        "myxtts_work_seconds_total{stage=\"sound\"} %.9g\n",
        r.text_seconds, r.mel_seconds, r.sound_seconds);
    value(out, "myxtts_real_time_factor", "gauge", "Seconds of work per second of sound, over all requests.",
          r.speech_seconds > 0 ? work / r.speech_seconds : 0);
}

/* Bytes of memory; 0 where the system does not tell. */
static double resident(void)
{
    long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f)
        return 0;
    if (fscanf(f, "%*s %lld", &pages) != 1)
        pages = 0;
    fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

void metrics_text(Metrics *m, Buf *out, Http *http, Studio *studio, double uptime)
{
    put_requests(out, http);
    if (studio) {
        put_first_sound(m, out);
        put_studio(out, studio);
    }
    value(out, "process_resident_memory_bytes", "gauge", "Memory in use.", resident());
    value(out, "process_cpu_seconds_total", "counter", "CPU time of all threads.", clock_cpu());
    value(out, "myxtts_uptime_seconds", "gauge", "Seconds since the start.", uptime);
}
