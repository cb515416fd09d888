/* synthesis.c - how fast a voice speaks, when it is first heard, and what memory that takes.
 *
 *   synthesis --checkpoint RUN [--program PATH] [--device cpu|0] [--lines N] [--calls N] [--json]
 *
 * Runs `myxtts synth --json` as a user would, one process a figure. --program: myxtts beside this one when it
 * is not given; --device: cpu; --lines 100; --calls 10. The texts are made of tests/data/sentences-en.txt,
 * which is looked for here and in the repository this program was built in; after the last sentence they
 * begin again, with a number in front.
 * Real-time factors are seconds of synth's own stages by seconds of speech, loading not counted; wall seconds
 * are those of the whole process. With --lines all cores make sound at once and their seconds are added up.
 * Calls with one sentence: --calls of them, spread over the lines, scaled to as many as there are lines.
 * --json: only the last line, one JSON object. Exit 0: all limits hold; 1: one is missed; 2: wrong use;
 * 3: something is missing, or synth failed. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "cmd/line/output.h"
#include "support/bench_options.h"

#define PATH_SIZE 4096
#define SENTENCES "tests/data/sentences-en.txt"
#define SHORT_CHARACTERS 320 /* about 15 s: a voice learned from flite says 19 of them a second */
#define TENTH_CHARACTERS 1000
#define LONG_CHARACTERS 10000
#define MOST_LINES 10000

#define LIMIT_GPU 0.003 /* real-time factor without sound */
#define LIMIT_CPU 0.02
#define LIMIT_MEMORY 1.1 /* ten times the text: so many times the memory */
#define LIMIT_CALLS 5.0  /* one call for each line: so many times as long */

typedef struct Options {
    const char *checkpoint, *program, *device;
    int lines, calls, json;
} Options;

/* What one process did. Seconds are sums over its lines. */
typedef struct Spoken {
    double wall, speech, text, mel, sound;
    double first; /* NAN: not told, as with --lines */
    double peak;  /* MB */
    int clips;
    size_t characters;
} Spoken;

typedef struct Check {
    const char *name;
    double value, limit;
    int is_least; /* the limit is the least, not the most */
} Check;

enum { CHECK_SHORT, CHECK_LONG, CHECK_LINES, CHECK_MEMORY, CHECK_CALLS, CHECKS };

typedef struct Bench {
    const Options *o;
    char program[PATH_SIZE], dir[PATH_SIZE];
    Buf sentences;
    int count; /* of sentences */
    sigset_t signals, before;
    Spoken tenth, brief, lengthy, lines, calls;
    double scaled; /* seconds that o->lines calls would take */
    Check checks[CHECKS];
} Bench;

/* ---- texts ---- */

static int sentences_read(Bench *b, const char *self, Err *err)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s", SENTENCES);
    if (!file_exists(path))
        snprintf(path, sizeof path, "%s/../../%s", self, SENTENCES);
    int rc = file_read(&b->sentences, path, 1 << 20, err);
    buf_str(&b->sentences, "");
    if (!rc && b->sentences.failed)
        rc = err_set(err, ERR_NOMEM, "no memory for sentences");
    for (size_t i = 0; !rc && i < b->sentences.size; i++)
        b->count += b->sentences.data[i] == '\n';
    return rc || b->count ? rc : err_set(err, ERR_DATA, "%s holds no line", path);
}

/* Appends sentence i; the second round over the file is told from the first by its numbers. */
static void sentence_add(Buf *out, const Bench *b, int i)
{
    const char *p = b->sentences.data;
    for (int k = i % b->count; k > 0; k--)
        p = strchr(p, '\n') + 1;
    if (i >= b->count)
        buf_printf(out, "Number %d: ", i + 1);
    buf_printf(out, "%.*s", (int)strcspn(p, "\n"), p);
}

/* Sentences of at most so many characters together. *longest: the longest of them. */
static void text_fill(Buf *out, Buf *longest, const Bench *b, size_t most)
{
    Buf one = {0};
    for (int i = 0; !out->failed && !longest->failed; i++) {
        buf_clear(&one);
        sentence_add(&one, b, i);
        if (one.failed || out->size + one.size + 1 > most)
            break;
        buf_printf(out, "%s%s", out->size ? " " : "", one.data);
        if (one.size > longest->size) {
            buf_clear(longest);
            buf_str(longest, one.data);
        }
    }
    out->failed |= one.failed;
    buf_free(&one);
}

/* ---- one process ---- */

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static void folder_remove(const char *dir) { nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

static void child_main(const Bench *b, char *const argv[], const char *out, const char *complaints)
{
    int from = open("/dev/null", O_RDONLY), to = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600),
        also = open(complaints, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (from < 0 || to < 0 || also < 0 || dup2(from, 0) < 0 || dup2(to, 1) < 0 || dup2(also, 2) < 0)
        _exit(126);
    sigprocmask(SIG_SETMASK, &b->before, NULL);
    execv(argv[0], argv);
    _exit(127);
}

/* Waits for the process. A signal to stop is handed on to it, so that the folder can still be removed. */
static int child_wait(const Bench *b, pid_t pid, int *status, struct rusage *use, Err *err)
{
    int stopped = 0;
    for (pid_t done; (done = wait4(pid, status, WNOHANG, use)) != pid;) {
        if (done < 0 && errno != EINTR)
            return err_set_errno(err, ERR_IO, "cannot wait for %s", b->program);
        int signal = sigwaitinfo(&b->signals, NULL);
        if (signal > 0 && signal != SIGCHLD) {
            kill(pid, SIGTERM);
            stopped = 1;
        }
    }
    return stopped ? err_set(err, ERR_STOPPED, "stopped") : 0;
}

static int add_number(double *sum, const json_t *o, const char *key, Err *err)
{
    const json_t *v = json_object_get(o, key);
    if (!json_is_number(v))
        return err_set(err, ERR_FORMAT, "synth --json does not tell %s", key);
    *sum += json_number_value(v);
    return 0;
}

/* One object, or with --lines one for each line. */
static int answer_read(Spoken *s, const char *path, Err *err)
{
    FILE *f = fopen(path, "r");
    int rc = f ? 0 : err_set_errno(err, ERR_IO, "cannot open %s", path);
    for (int c; !rc && (c = fgetc(f)) != EOF;) {
        if (c == '\n' || c == ' ')
            continue;
        ungetc(c, f);
        json_error_t where;
        json_t *o = json_loadf(f, JSON_DISABLE_EOF_CHECK, &where);
        if (!o)
            rc = err_set(err, ERR_FORMAT, "synth printed no JSON: %s", where.text);
        else if (!(rc = add_number(&s->speech, o, "seconds", err)) &&
                 !(rc = add_number(&s->text, o, "text_seconds", err)) &&
                 !(rc = add_number(&s->mel, o, "mel_seconds", err)))
            rc = add_number(&s->sound, o, "audio_seconds", err);
        const json_t *first = json_object_get(o, "first_sound_seconds");
        s->first = json_is_number(first) ? json_number_value(first) : NAN;
        s->clips++;
        json_decref(o);
    }
    if (f)
        fclose(f);
    if (!rc && !(s->speech > 0))
        rc = err_set(err, ERR_DATA, "synth made no speech");
    return rc;
}

/* Speaks the text, or its lines. */
static int speak(Spoken *s, const Bench *b, const Buf *text, int is_lines, Err *err)
{
    char input[PATH_SIZE + 32], output[PATH_SIZE + 32], out[PATH_SIZE + 32], complaints[PATH_SIZE + 32];
    snprintf(input, sizeof input, "%s/text", b->dir);
    snprintf(output, sizeof output, "%s/%s", b->dir, is_lines ? "wavs" : "out.wav");
    snprintf(out, sizeof out, "%s/out.json", b->dir);
    snprintf(complaints, sizeof complaints, "%s/complaints", b->dir);
    *s = (Spoken){.characters = text->size};
    if (text->failed)
        return err_set(err, ERR_NOMEM, "no memory for a text");
    int rc = file_replace(input, text->data, text->size, err), status = 0;
    if (rc)
        return rc;
    const char *argv[] = {b->program,
                          "synth",
                          "--quiet",
                          "--json",
                          "--model-gpu",
                          b->o->device,
                          "--checkpoint",
                          b->o->checkpoint,
                          is_lines ? "--lines" : "--text-file",
                          input,
                          is_lines ? "--output-dir" : "--output",
                          output,
                          NULL};
    struct rusage use = {0};
    double start = clock_now();
    pid_t pid = fork();
    if (pid < 0)
        return err_set_errno(err, ERR_IO, "no process");
    if (pid == 0)
        child_main(b, (char *const *)(uintptr_t)argv, out, complaints);
    if ((rc = child_wait(b, pid, &status, &use, err)))
        return rc;
    s->wall = clock_now() - start;
    s->peak = (double)use.ru_maxrss / 1024;
    if (!WIFEXITED(status) || WEXITSTATUS(status)) { /* 1 too: something of the text was left out */
        Buf said = {0};
        file_read(&said, complaints, 1 << 20, NULL);
        buf_str(&said, "");
        err_set(err, ERR_WORKER, "synth ended with %d: %.400s",
                WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), said.data ? said.data : "");
        buf_free(&said);
        return err->code;
    }
    return answer_read(s, out, err);
}

/* ---- the figures ---- */

static int measure_texts(Bench *b, Err *err)
{
    Buf brief = {0}, tenth = {0}, lengthy = {0}, longest = {0}, ignored = {0};
    text_fill(&lengthy, &longest, b, LONG_CHARACTERS);
    text_fill(&brief, &ignored, b, SHORT_CHARACTERS);
    /* The room for one sentence grows with its length, so both texts have the longest. */
    text_fill(&tenth, &ignored, b, TENTH_CHARACTERS - longest.size - 1);
    buf_printf(&tenth, " %s", longest.data ? longest.data : "");
    /* This one is first since its time is not looked at: it brings program and checkpoint into the cache. */
    int rc = speak(&b->tenth, b, &tenth, 0, err);
    if (!rc)
        rc = speak(&b->brief, b, &brief, 0, err);
    if (!rc)
        rc = speak(&b->lengthy, b, &lengthy, 0, err);
    buf_free(&brief), buf_free(&tenth), buf_free(&lengthy), buf_free(&longest), buf_free(&ignored);
    return rc;
}

static int measure_lines(Bench *b, Err *err)
{
    const int lines = b->o->lines, calls = b->o->calls;
    Buf text = {0};
    for (int i = 0; i < lines; i++) {
        sentence_add(&text, b, i);
        buf_str(&text, "\n");
    }
    int rc = speak(&b->lines, b, &text, 1, err);
    if (!rc && b->lines.clips != lines)
        rc = err_set(err, ERR_DATA, "synth spoke %d of %d lines", b->lines.clips, lines);
    for (int i = 0; i < calls && !rc; i++) {
        Spoken one;
        buf_clear(&text);
        /* Not every tenth: short and long sentences alternate in the file. */
        sentence_add(&text, b, i * lines / calls + i % (lines / calls));
        if ((rc = speak(&one, b, &text, 0, err)))
            break;
        b->calls.wall += one.wall, b->calls.speech += one.speech, b->calls.clips++;
    }
    b->scaled = b->calls.wall * lines / calls;
    buf_free(&text);
    return rc;
}

static double without_sound(const Spoken *s) { return (s->text + s->mel) / s->speech; }

static double with_sound(const Spoken *s) { return (s->text + s->mel + s->sound) / s->speech; }

static int holds(const Check *c) { return c->is_least ? c->value >= c->limit : c->value <= c->limit; }

static void compare(Bench *b)
{
    const double limit = strcmp(b->o->device, "cpu") ? LIMIT_GPU : LIMIT_CPU;
    b->checks[CHECK_SHORT] = (Check){"short_without_sound", without_sound(&b->brief), limit, 0};
    b->checks[CHECK_LONG] = (Check){"long_without_sound", without_sound(&b->lengthy), limit, 0};
    b->checks[CHECK_LINES] = (Check){"lines_without_sound", without_sound(&b->lines), limit, 0};
    b->checks[CHECK_MEMORY] = (Check){"memory_ratio", b->lengthy.peak / b->tenth.peak, LIMIT_MEMORY, 0};
    b->checks[CHECK_CALLS] = (Check){"calls_by_lines", b->scaled / b->lines.wall, LIMIT_CALLS, 1};
}

/* ---- the report ---- */

static void print_spoken(const char *name, const Spoken *s)
{
    printf("  %-30s %8.1f %14.5f %11.4f %8.2f", name, s->speech, without_sound(s), with_sound(s), s->wall);
    if (isnan(s->first))
        printf(" %12s", "-");
    else
        printf(" %12.3f", s->first);
    printf(" %8.1f\n", s->peak);
}

static void print_check(const char *name, const Check *c)
{
    printf("  %-58s %9.*f  %s %-6g %s\n", name, c->limit < 1 ? 5 : 3, c->value,
           c->is_least ? ">=" : "<=", c->limit, holds(c) ? "holds" : "MISSES");
}

static void print_table(const Bench *b)
{
    const Options *o = b->o;
    char name[128];
    printf("%s on %s, %d cores\n\n", o->checkpoint, strcmp(o->device, "cpu") ? "a GPU" : "the CPU",
           thread_cores());
    printf("  %-30s %8s %14s %11s %8s %12s %8s\n", "", "speech s", "without sound", "with sound", "wall s",
           "first sound", "peak MB");
    const Spoken *texts[] = {&b->brief, &b->tenth, &b->lengthy};
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "a text of %zu characters", texts[i]->characters);
        print_spoken(name, texts[i]);
    }
    snprintf(name, sizeof name, "--lines with %d sentences", o->lines);
    print_spoken(name, &b->lines);
    printf("  without, with sound: real-time factors, loading not counted; with --lines the sound of all "
           "cores is added up\n");
    printf("  %d calls with one sentence each took %.2f s; %d would take %.1f s\n\n", b->calls.clips,
           b->calls.wall, o->lines, b->scaled);
    snprintf(name, sizeof name, "without sound, %.0f s of speech", b->brief.speech);
    print_check(name, &b->checks[CHECK_SHORT]);
    snprintf(name, sizeof name, "without sound, %zu characters", b->lengthy.characters);
    print_check(name, &b->checks[CHECK_LONG]);
    snprintf(name, sizeof name, "without sound, --lines with %d sentences", o->lines);
    print_check(name, &b->checks[CHECK_LINES]);
    snprintf(name, sizeof name, "peak memory, %zu by %zu characters", b->lengthy.characters,
             b->tenth.characters);
    print_check(name, &b->checks[CHECK_MEMORY]);
    snprintf(name, sizeof name, "%d calls (scaled from %d) by one with --lines", o->lines, b->calls.clips);
    print_check(name, &b->checks[CHECK_CALLS]);
    printf("\n");
}

static json_t *json_spoken(const Spoken *s)
{
    return json_pack("{s:I, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:f}", "characters",
                     (json_int_t)s->characters, "clips", s->clips, "speech_seconds", s->speech,
                     "without_sound", without_sound(s), "with_sound", with_sound(s), "text_seconds", s->text,
                     "mel_seconds", s->mel, "audio_seconds", s->sound, "wall_seconds", s->wall,
                     "first_sound_seconds", json_from_double(s->first), "peak_mb", s->peak);
}

static int print_json(const Bench *b, int passed, Err *err)
{
    json_t *checks = json_array();
    for (int i = 0; i < CHECKS; i++) {
        const Check *c = &b->checks[i];
        json_array_append_new(checks, json_pack("{s:s, s:f, s:f, s:b}", "name", c->name, "value", c->value,
                                                c->is_least ? "least" : "most", c->limit, "holds", holds(c)));
    }
    json_t *o =
        json_pack("{s:o, s:s, s:i, s:o, s:o, s:o, s:o, s:{s:i, s:f, s:f, s:i, s:f}, s:o, s:b}", "checkpoint",
                  json_from_text(b->o->checkpoint), "device", b->o->device, "cores", thread_cores(), "short",
                  json_spoken(&b->brief), "tenth", json_spoken(&b->tenth), "long", json_spoken(&b->lengthy),
                  "lines", json_spoken(&b->lines), "calls", "measured", b->calls.clips, "speech_seconds",
                  b->calls.speech, "wall_seconds", b->calls.wall, "scaled_to", b->o->lines, "scaled_seconds",
                  b->scaled, "checks", checks, "passed", passed);
    char *text = o ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
    json_decref(o);
    if (!text)
        return err_set(err, ERR_NOMEM, "no memory for the report");
    printf("%s\n", text);
    free(text);
    return 0;
}

/* ---- the command line ---- */

static const char usage_text[] = "usage: synthesis --checkpoint RUN [--program PATH] [--device cpu|0] "
                                 "[--lines N] [--calls N] [--json]\n";

static int parse_options(Options *o, int argc, char **argv, Err *err)
{
    *o = (Options){.device = "cpu", .lines = 100, .calls = 10};
    const BenchOption rows[] = {
        {"--checkpoint", BENCH_TEXT, &o->checkpoint, 0, 0}, {"--program", BENCH_TEXT, &o->program, 0, 0},
        {"--device", BENCH_TEXT, &o->device, 0, 0},         {"--lines", BENCH_INT, &o->lines, 1, MOST_LINES},
        {"--calls", BENCH_INT, &o->calls, 1, MOST_LINES},   {"--json", BENCH_SWITCH, &o->json, 0, 0}};
    const int rc = bench_options(rows, sizeof rows / sizeof *rows, argc, argv, err);
    if (rc)
        return rc;
    if (!o->checkpoint)
        return err_set(err, ERR_USAGE, "--checkpoint RUN is needed, the folder that `myxtts train` wrote");
    /* Not `auto`: the limits are those of a device, and synth does not tell which one it took. */
    if (strcmp(o->device, "cpu") && (!*o->device || strspn(o->device, "0123456789") != strlen(o->device)))
        return err_set(err, ERR_USAGE, "--device is '%s', but must be cpu or the number of a GPU", o->device);
    if (o->calls > o->lines)
        return err_set(err, ERR_USAGE, "--calls is %d, but there are %d lines", o->calls, o->lines);
    return 0;
}

static int find_program(Bench *b, const char *self, Err *err)
{
    static const char *const places[] = {"../myxtts", "../bin/myxtts", "myxtts"};
    struct stat st;
    if (b->o->program) {
        snprintf(b->program, sizeof b->program, "%s", b->o->program);
        if (access(b->program, X_OK))
            return err_set_errno(err, ERR_MISSING, "cannot run %s", b->program);
        return 0;
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(b->program, sizeof b->program, "%s/%s", self, places[i]);
        if (!stat(b->program, &st) && S_ISREG(st.st_mode) && !access(b->program, X_OK))
            return 0;
    }
    err_set(err, ERR_MISSING, "there is no myxtts near %s", self);
    return err_hint(err, "build it with `make`, or name it with --program");
}

static int bench_run(Bench *b, int *passed, Err *err)
{
    char self[PATH_SIZE] = "";
    const char *tmp = getenv("TMPDIR");
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash = n > 0 ? strrchr(self, '/') : NULL;
    if (!slash)
        return err_set_errno(err, ERR_IO, "cannot read /proc/self/exe");
    *slash = 0;
    int rc = find_program(b, self, err);
    if (rc || (rc = sentences_read(b, self, err)))
        return rc;
    sigemptyset(&b->signals);
    sigaddset(&b->signals, SIGCHLD);
    sigaddset(&b->signals, SIGINT);
    sigaddset(&b->signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &b->signals, &b->before);
    snprintf(b->dir, sizeof b->dir, "%s/myxtts-synthesis-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(b->dir))
        return err_set_errno(err, ERR_IO, "cannot make %s", b->dir);
    if (!(rc = measure_texts(b, err)))
        rc = measure_lines(b, err);
    folder_remove(b->dir);
    if (rc)
        return rc;
    compare(b);
    *passed = 1;
    for (int i = 0; i < CHECKS; i++)
        *passed &= holds(&b->checks[i]);
    if (!b->o->json)
        print_table(b);
    return print_json(b, *passed, err);
}

int main(int argc, char **argv)
{
    Options o;
    Err err = {0};
    Log log;
    int passed = 0;
    log_init(&log, LOG_INFO);
    int rc = parse_options(&o, argc, argv, &err);
    if (rc) {
        log_err(&log, &err);
        fputs(usage_text, stderr);
        return err_exit_code(rc);
    }
    Bench b = {.o = &o};
    rc = bench_run(&b, &passed, &err);
    buf_free(&b.sentences);
    if (rc) {
        log_err(&log, &err);
        return err_exit_code(rc);
    }
    return passed ? 0 : 1;
}
