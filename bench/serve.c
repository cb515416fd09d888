/* serve.c - how soon `myxtts serve` is heard when many want to be spoken to, and how much it speaks.
 *
 *   serve --checkpoint RUN [--device cpu|0] [--clients 1,4,16,64] [--seconds 10] [--requests 10000]
 *         [--idle 0] [--max-wait S] [--sentences FILE] [--texts 40] [--program PATH]
 *         [--url http://HOST:PORT --pid P] [--token T] [-- OPTIONS]
 *
 * Starts the server on a free port; --url uses one that runs (with --checkpoint its sound is compared all the
 * same, with --pid its memory is looked at). So many clients at once ask for a sentence, again and again for
 * --seconds, each as soon as it has all of the last: time to the first sound is from the request to the first
 * byte behind the WAV header; cores: what the server uses. Every answer must be, byte for byte, what `myxtts
 * synth` writes. --requests: then as many more with short texts, and the memory of the server after the first
 * 1,000 and at the end. --idle: beside so many connections that are held and ask for nothing. --max-wait:
 * that of the server; a large one refuses nobody. What stands behind -- is for `serve` and `synth`: --
 * --iterations 0.
 * --program: myxtts beside this one's folder; --sentences: tests/data/sentences-en.txt, a line
 * each, of which the first --texts are spoken.
 * A table, and as the last line one JSON object. Exit 0: all limits hold; 1: one is missed; 2: wrong use;
 * 3: something is missing, or the server failed. Needs nothing but libc. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "support/speech_load.h"

#define SENTENCES "tests/data/sentences-en.txt"
#define WAV_HEADER 44
#define START_SECONDS 120.0
#define STOP_SECONDS 60.0
#define LIMIT_GPU 0.2 /* seconds to the first sound, 95 of 100, with LIMIT_CLIENTS */
#define LIMIT_CPU 1.5
#define LIMIT_GROWTH 0.05 /* of memory after 1,000 requests */
enum { LIMIT_CLIENTS = 16, LEVELS = 16, MORE = 64, PATH_SIZE = 4096 };
enum { MEMORY_FIRST = 1000, MEMORY_CLIENTS = 16, SHORT_WORDS = 3 };

typedef struct Texts {
    Buf lines; /* of the file */
    LoadText *texts;
    int count;
} Texts;

typedef struct Level {
    int clients;
    double cpu; /* seconds of the server's CPU time; NAN: not known */
    LoadResult r;
} Level;

typedef struct Bench {
    const char *checkpoint, *device, *sentences, *url, *token;
    char program[PATH_SIZE], folder[PATH_SIZE];
    char host[256], port[16];
    double seconds;
    int texts;
    long requests;
    const char *max_wait; /* of the server; NULL: its own */
    int idle;             /* connections that are held, and do nothing */
    double idle_rss[2];
    Level levels[LEVELS];
    int level_count;
    const char *more[MORE]; /* options of serve and synth */
    int more_count;
    pid_t server; /* 0: not ours */
    pid_t watched;
    Texts sentence, brief;
    LoadResult memory[2]; /* the first 1,000, and the rest */
    double rss[2];        /* MB after them */
    double own_cpu;       /* seconds of this process while the others worked */
    int server_code;
} Bench;

static int fail(const char *what)
{
    fprintf(stderr, "serve: %s\n", what);
    return 3;
}

/* --- processes --- */

/* PROGRAM COMMAND arguments of its own, then those of the user. out: a pipe for its stdout; NULL:
 * nobody reads it. */
static pid_t start(const Bench *b, const char *const *own, int *out)
{
    const char *argv[MORE + 32] = {b->program};
    int n = 1, ends[2] = {-1, -1};
    for (int i = 0; own[i]; i++)
        argv[n++] = own[i];
    for (int i = 0; i < b->more_count; i++)
        argv[n++] = b->more[i];
    if (out && pipe(ends) != 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        dup2(out ? ends[1] : open("/dev/null", O_WRONLY), 1);
        if (out) {
            close(ends[0]);
            close(ends[1]);
        }
        execv(b->program, (char *const *)(uintptr_t)argv);
        fprintf(stderr, "serve: cannot run %s: %s\n", b->program, strerror(errno));
        _exit(127);
    }
    if (out) {
        close(ends[1]);
        *out = ends[0];
    }
    return pid;
}

static int wait_for(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The server prints where it listens: {"address": "127.0.0.1:41235", "port": 41235}. */
static int start_server(Bench *b)
{
    const char *own[] = {"serve",       "--checkpoint",
                         b->checkpoint, "--model-gpu",
                         b->device,     "--listen",
                         "127.0.0.1:0", "--json",
                         "--quiet",     b->max_wait ? "--max-wait" : NULL,
                         b->max_wait,   NULL};
    char line[512] = "";
    int out;
    size_t n = 0;
    b->server = start(b, own, &out);
    if (b->server < 0)
        return fail("cannot start a process");
    const double until = clock_now() + START_SECONDS;
    while (!strchr(line, '\n') && n < sizeof line - 1) {
        struct pollfd p = {.fd = out, .events = POLLIN};
        if (poll(&p, 1, (int)(1000 * (until - clock_now()))) <= 0)
            return fail("the server does not say where it listens");
        ssize_t got = read(out, line + n, sizeof line - 1 - n);
        if (got <= 0)
            return fail("the server has ended before it listened");
        n += (size_t)got;
        line[n] = 0;
    }
    const char *port = strstr(line, "\"port\":");
    if (!port)
        return fail("the server does not say its port");
    snprintf(b->host, sizeof b->host, "127.0.0.1");
    snprintf(b->port, sizeof b->port, "%d", atoi(port + 7));
    b->watched = b->server;
    return 0; /* `out` stays open: the server may print more */
}

static int stop_server(Bench *b)
{
    if (b->server <= 0)
        return 0;
    kill(b->server, SIGTERM);
    for (double until = clock_now() + STOP_SECONDS; clock_now() < until; clock_sleep(0.05)) {
        int status;
        if (waitpid(b->server, &status, WNOHANG) == b->server) {
            b->server = 0;
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
    }
    kill(b->server, SIGKILL);
    wait_for(b->server);
    b->server = 0;
    return -1;
}

/* MB in memory now; NAN: not known. */
static double memory_of(pid_t pid)
{
    char path[64], line[256];
    double mb = NAN;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "VmRSS:", 6) == 0)
            mb = atof(line + 6) / 1024;
    if (f)
        fclose(f);
    return mb;
}

/* Seconds of CPU time so far; NAN: not known. */
static double cpu_of(pid_t pid)
{
    char path[64], text[1024] = "";
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    if (f && !fgets(text, sizeof text, f))
        text[0] = 0;
    if (f)
        fclose(f);
    const char *p = strrchr(text, ')'); /* the name may hold anything */
    if (!p || sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
        return NAN;
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

/* --- texts, and what they sound like --- */

static int read_whole(Buf *out, const char *path)
{
    char bytes[65536];
    size_t n;
    FILE *f = fopen(path, "rb");
    if (!f)
        return -1;
    while ((n = fread(bytes, 1, sizeof bytes, f)) > 0)
        buf_add(out, bytes, n);
    fclose(f);
    return out->failed ? -1 : 0;
}

/* A text a line; words: no more than so many of each, 0: all. */
static int read_texts(Texts *t, const char *path, int words, int most)
{
    size_t cap = 0;
    if (read_whole(&t->lines, path))
        return fail("cannot read the sentences");
    for (char *line = strtok(t->lines.data, "\n"); line && t->count < most; line = strtok(NULL, "\n")) {
        char *end = line;
        for (int i = 0; i < words && *end; i++)
            end += strcspn(end + (i > 0), " ") + (i > 0);
        if (words)
            *end = 0;
        if (!*line)
            continue;
        if (mem_grow(&t->texts, &cap, (size_t)t->count + 1, sizeof *t->texts))
            return fail("no memory for sentences");
        t->texts[t->count++] = (LoadText){.text = line};
    }
    return t->count ? 0 : fail("there is no sentence");
}

/* As a WAV of unknown length, which a server sends: the sizes in the header are the largest. */
static int take_wav(LoadText *t, const char *path)
{
    Buf b = {0};
    if (read_whole(&b, path) || b.size <= WAV_HEADER || memcmp(b.data, "RIFF", 4) != 0)
        return fail("synth wrote no sound");
    memset(b.data + 4, 0xFF, 4);
    memset(b.data + 40, 0xFF, 4);
    t->wav = (const uint8_t *)b.data;
    t->size = b.size;
    return 0;
}

/* What `synth` says, all lines in one process: 01.wav, 02.wav, ... */
static int make_expected(const Bench *b, Texts *t)
{
    char lines[PATH_SIZE + 16], path[PATH_SIZE + 64];
    snprintf(lines, sizeof lines, "%s/lines.txt", b->folder);
    FILE *f = fopen(lines, "w");
    for (int i = 0; f && i < t->count; i++)
        fprintf(f, "%s\n", t->texts[i].text);
    if (!f || fclose(f) != 0)
        return fail("cannot write the lines for synth");
    const char *own[] = {"synth", "--checkpoint", b->checkpoint, "--model-gpu", b->device, "--lines",
                         lines,   "--output-dir", b->folder,     "--quiet",     NULL};
    if (wait_for(start(b, own, NULL)) != 0)
        return fail("synth has failed");
    for (int i = 0; i < t->count; i++) {
        snprintf(path, sizeof path, "%s/%02d.wav", b->folder, i + 1);
        int rc = take_wav(&t->texts[i], path);
        if (rc)
            return rc;
        unlink(path);
    }
    unlink(lines);
    return 0;
}

/* --- measuring --- */

static int load(const Bench *b, LoadResult *r, const Texts *t, int clients, int64_t requests)
{
    Err err = {0};
    const LoadOptions o = {.host = b->host,
                           .port = b->port,
                           .token = b->token,
                           .texts = t->texts,
                           .text_count = t->count,
                           .clients = clients,
                           .requests = requests,
                           .seconds = b->seconds};
    return load_run(r, &o, &err) ? fail(err.msg) : 0;
}

static double own_cpu(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec + 1e-6 * (double)u.ru_utime.tv_usec +
           1e-6 * (double)u.ru_stime.tv_usec;
}

/* Connections as a browser leaves them behind: one request each, and nothing more. They end with the process.
 */
static int hold_idle(Bench *b)
{
    static const char request[] = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct rlimit l;
    struct addrinfo *a;
    char reply[4096];
    getrlimit(RLIMIT_NOFILE, &l);
    l.rlim_cur = l.rlim_max;
    setrlimit(RLIMIT_NOFILE, &l);
    if (getaddrinfo(b->host, b->port, &hints, &a) != 0)
        return fail("there is no such address");
    b->idle_rss[0] = b->watched ? memory_of(b->watched) : NAN;
    int held = 0;
    for (; held < b->idle; held++) {
        int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || connect(fd, a->ai_addr, a->ai_addrlen) != 0 ||
            send(fd, request, sizeof request - 1, MSG_NOSIGNAL) < 0 || recv(fd, reply, sizeof reply, 0) <= 0)
            break;
    }
    freeaddrinfo(a);
    b->idle_rss[1] = b->watched ? memory_of(b->watched) : NAN;
    return held == b->idle ? 0 : fail("not as many connections can be held");
}

static int measure(Bench *b)
{
    LoadResult warm = {0};
    int rc = load(b, &warm, &b->sentence, 2, 4);
    if (!rc && warm.errors)
        rc = fail(warm.message);
    load_result_free(&warm);
    if (!rc && b->idle)
        rc = hold_idle(b);
    const double cpu = own_cpu();
    for (int i = 0; i < b->level_count && !rc; i++) {
        const double before = cpu_of(b->watched);
        rc = load(b, &b->levels[i].r, &b->sentence, b->levels[i].clients, 0);
        b->levels[i].cpu = cpu_of(b->watched) - before;
    }
    b->own_cpu = own_cpu() - cpu;
    for (int i = 0; i < 2 && !rc && b->requests; i++) {
        const long n = i ? b->requests - MEMORY_FIRST : MEMORY_FIRST;
        rc = load(b, &b->memory[i], &b->brief, MEMORY_CLIENTS, n);
        b->rss[i] = b->watched ? memory_of(b->watched) : NAN;
    }
    return rc;
}

/* --- what is said about it --- */

static double limit_of(const Bench *b) { return strcmp(b->device, "cpu") ? LIMIT_GPU : LIMIT_CPU; }

static const char *holds(int missed) { return missed ? "MISSED" : "holds"; }

static int print_levels(const Bench *b)
{
    int missed = 0;
    printf("clients  requests  requests/s  first sound p50       p95  real-time factor  cores  errors  "
           "other bytes\n");
    for (int i = 0; i < b->level_count; i++) {
        const Level *l = &b->levels[i];
        const double p95 = load_percentile(&l->r, 0.95), limit = limit_of(b);
        char cores[16] = "-";
        if (!isnan(l->cpu))
            snprintf(cores, sizeof cores, "%.2f", l->cpu / l->r.elapsed);
        const int late = l->clients == LIMIT_CLIENTS && !(p95 <= limit);
        printf("%7d  %8lld  %10.1f  %12.0f ms  %5.0f ms  %16.4f  %5s  %6lld  %11lld", l->clients,
               (long long)l->r.requests, (double)l->r.requests / l->r.elapsed,
               1000 * load_percentile(&l->r, 0.5), 1000 * p95, l->r.elapsed / l->r.speech, cores,
               (long long)l->r.errors, (long long)l->r.wrong);
        if (l->clients == LIMIT_CLIENTS)
            printf("  p95 <= %g ms %s", 1000 * limit, holds(late));
        printf("\n");
        if (l->r.refused)
            printf("  %lld refused with 429, within %.1f ms at most\n", (long long)l->r.refused,
                   1000 * l->r.slowest_refusal);
        if (l->r.errors)
            printf("  first error: %s\n", l->r.message);
        missed += late + (l->r.errors > 0) + (l->r.wrong > 0);
    }
    return missed;
}

static int print_memory(const Bench *b)
{
    const LoadResult *first = &b->memory[0], *rest = &b->memory[1];
    const long long errors = first->errors + rest->errors, wrong = first->wrong + rest->wrong;
    const double growth = b->rss[1] / b->rss[0] - 1;
    const int grows = b->watched && !(growth <= LIMIT_GROWTH);
    if (!b->requests)
        return 0;
    printf("%lld short requests in %.0f s: %lld errors, %lld with other bytes",
           (long long)(first->requests + rest->requests), first->elapsed + rest->elapsed, errors, wrong);
    if (b->watched)
        printf("; memory %.1f MB after %d, %.1f MB at the end (%+.1f %%, <= %g %% %s)", b->rss[0],
               MEMORY_FIRST, b->rss[1], 100 * growth, 100 * LIMIT_GROWTH, holds(grows));
    printf("\n");
    if (errors)
        printf("  first error: %s\n", first->errors ? first->message : rest->message);
    return grows + (errors > 0) + (wrong > 0);
}

static void print_json(const Bench *b, int missed)
{
    printf("{\"bench\": \"serve\", \"device\": \"%s\", \"seconds\": %g, \"compared\": %s, \"levels\": [",
           b->device, b->seconds, b->sentence.texts[0].wav ? "true" : "false");
    for (int i = 0; i < b->level_count; i++) {
        const Level *l = &b->levels[i];
        printf(
            "%s{\"clients\": %d, \"requests\": %lld, \"requests_per_s\": %.3f, \"first_sound_p50_ms\": %.2f, "
            "\"first_sound_p95_ms\": %.2f, \"real_time_factor\": %.5f, \"cores\": %.2f, \"errors\": %lld, "
            "\"wrong\": %lld, \"refused\": %lld, \"slowest_refusal_ms\": %.1f}",
            i ? ", " : "", l->clients, (long long)l->r.requests, (double)l->r.requests / l->r.elapsed,
            1000 * load_percentile(&l->r, 0.5), 1000 * load_percentile(&l->r, 0.95),
            l->r.elapsed / l->r.speech, isnan(l->cpu) ? 0 : l->cpu / l->r.elapsed, (long long)l->r.errors,
            (long long)l->r.wrong, (long long)l->r.refused, 1000 * l->r.slowest_refusal);
    }
    printf("], ");
    if (b->requests) {
        const LoadResult *m = b->memory;
        printf("\"memory\": {\"requests\": %lld, \"errors\": %lld, \"wrong\": %lld, \"seconds\": %.1f",
               (long long)(m[0].requests + m[1].requests), (long long)(m[0].errors + m[1].errors),
               (long long)(m[0].wrong + m[1].wrong), m[0].elapsed + m[1].elapsed);
        if (b->watched)
            printf(", \"mb_after_%d\": %.1f, \"mb_at_end\": %.1f", MEMORY_FIRST, b->rss[0], b->rss[1]);
        printf("}, ");
    }
    printf("\"server_exit\": %d, \"missed\": %d}\n", b->server_code, missed);
}

/* --- the command line --- */

static int take_clients(Bench *b, const char *list)
{
    b->level_count = 0;
    for (const char *p = list; *p; p += *p == ',') {
        char *end;
        long n = strtol(p, &end, 10);
        if (end == p || n < 1 || n > 4096 || b->level_count == LEVELS)
            return -1;
        b->levels[b->level_count++].clients = (int)n;
        p = end;
    }
    return b->level_count ? 0 : -1;
}

static int take_url(Bench *b)
{
    const char *p = strstr(b->url, "://");
    return sscanf(p ? p + 3 : b->url, "%255[^:/]:%15[0-9]", b->host, b->port) == 2 ? 0 : -1;
}

static int usage(const char *what)
{
    fprintf(stderr,
            "serve: %s\nusage: serve --checkpoint RUN [--device cpu|0] [--clients 1,4,16,64] [--seconds 10]\n"
            "       [--requests 10000] [--idle 0] [--max-wait S] [--sentences FILE] [--program PATH]\n"
            "       [--url http://HOST:PORT] [--pid P] [--token T] [-- OPTIONS of serve and synth]\n",
            what);
    return 2;
}

/* 0, or the exit code. */
static int take_options(Bench *b, int argc, char **argv)
{
    static const struct option names[] = {
        {"checkpoint", 1, NULL, 'c'}, {"device", 1, NULL, 'd'},   {"clients", 1, NULL, 'n'},
        {"seconds", 1, NULL, 's'},    {"requests", 1, NULL, 'r'}, {"sentences", 1, NULL, 't'},
        {"program", 1, NULL, 'p'},    {"url", 1, NULL, 'u'},      {"pid", 1, NULL, 'w'},
        {"token", 1, NULL, 'k'},      {"texts", 1, NULL, 'm'},    {"idle", 1, NULL, 'i'},
        {"max-wait", 1, NULL, 'x'},   {NULL, 0, NULL, 0},
    };
    *b = (Bench){.device = "cpu", .sentences = SENTENCES, .seconds = 10, .texts = 40};
    take_clients(b, "1,4,16,64");
    const char *slash = strrchr(argv[0], '/');
    snprintf(b->program, sizeof b->program, "%.*s/../myxtts", slash ? (int)(slash - argv[0]) : 1,
             slash ? argv[0] : ".");
    for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;) {
        if (c == 'c')
            b->checkpoint = optarg;
        else if (c == 'd')
            b->device = optarg;
        else if (c == 't')
            b->sentences = optarg;
        else if (c == 'p')
            snprintf(b->program, sizeof b->program, "%s", optarg);
        else if (c == 'u')
            b->url = optarg;
        else if (c == 'k')
            b->token = optarg;
        else if (c == 'w')
            b->watched = (pid_t)atoi(optarg);
        else if (c == 'm')
            b->texts = atoi(optarg);
        else if (c == 'i')
            b->idle = atoi(optarg);
        else if (c == 'x')
            b->max_wait = optarg;
        else if (c == 's')
            b->seconds = atof(optarg);
        else if (c == 'r')
            b->requests = atol(optarg);
        else if (c != 'n' || take_clients(b, optarg))
            return usage(c == 'n' ? "--clients is a list of numbers: 1,4,16" : "no such option");
    }
    while (optind < argc && b->more_count < MORE)
        b->more[b->more_count++] = argv[optind++];
    if (!b->checkpoint && !b->url)
        return usage("--checkpoint RUN is needed, the folder that `myxtts train` wrote, or --url");
    if (b->url && take_url(b))
        return usage("--url is written http://127.0.0.1:8000");
    if (!(b->seconds > 0) || b->texts < 1 || (b->requests && b->requests <= MEMORY_FIRST))
        return usage("--seconds and --texts must be above 0 and --requests above 1000");
    return 0;
}

static int prepare(Bench *b)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(b->folder, sizeof b->folder, "%s/bench-serve-XXXXXX", tmp ? tmp : "/tmp");
    int rc = read_texts(&b->sentence, b->sentences, 0, b->texts);
    if (!rc && b->requests)
        rc = read_texts(&b->brief, b->sentences, SHORT_WORDS, b->texts);
    if (!rc && b->checkpoint) {
        if (!mkdtemp(b->folder))
            return fail("cannot make a folder for the sound of synth");
        rc = make_expected(b, &b->sentence);
        if (!rc && b->requests)
            rc = make_expected(b, &b->brief);
        rmdir(b->folder);
    }
    return !rc && !b->url ? start_server(b) : rc;
}

static void free_texts(Texts *t)
{
    for (int i = 0; i < t->count; i++)
        free((void *)(uintptr_t)t->texts[i].wav);
    free(t->texts);
    buf_free(&t->lines);
}

int main(int argc, char **argv)
{
    static Bench b;
    int missed = 0, rc = take_options(&b, argc, argv);
    if (rc)
        return rc;
    signal(SIGPIPE, SIG_IGN);
    rc = prepare(&b);
    if (!rc)
        rc = measure(&b);
    const int ours = b.server > 0;
    b.server_code = stop_server(&b);
    if (!rc) {
        printf("%s on %s, %d sentences, %g s for each number of clients\n\n",
               b.checkpoint ? b.checkpoint : b.url, strcmp(b.device, "cpu") ? "a GPU" : "the CPU",
               b.sentence.count, b.seconds);
        if (b.idle)
            printf(
                "beside %d connections that are held and idle: memory %.1f MB before, %.1f MB with them\n\n",
                b.idle, b.idle_rss[0], b.idle_rss[1]);
        missed = print_levels(&b) + print_memory(&b);
        printf("the clients took %.2f s of CPU time%s\n", b.own_cpu,
               b.sentence.texts[0].wav ? "" : "; without --checkpoint no sound was compared");
        if (ours && b.server_code)
            printf("the server ended with code %d on SIGTERM\n", b.server_code);
        missed += ours && b.server_code;
        print_json(&b, missed);
    }
    for (int i = 0; i < b.level_count; i++)
        load_result_free(&b.levels[i].r);
    load_result_free(&b.memory[0]);
    load_result_free(&b.memory[1]);
    free_texts(&b.sentence);
    free_texts(&b.brief);
    return rc ? rc : missed > 0;
}
