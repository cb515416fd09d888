/* runs.c - see runs.h. */
#include "serve/runs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"
#include "diag/voice/voice_facts.h"
#include "serve/runs_private.h"

#define SCAN_EVERY 1.0                  /* seconds: however many look on, the disk is read once */
#define PART ((size_t)1 << 20)          /* bytes of a log that one answer holds */
#define READ_AT_ONCE ((int64_t)4 << 20) /* bytes of all logs that one list reads */
#define MOST_FILE ((size_t)32 << 20)    /* bytes of a file that is shown */
#define MOST_FILES 2000                 /* of a run, in a list */
#define MOST_JUDGED ((int64_t)16 << 20) /* bytes of a log that the doctor reads */
#define JUDGE_EVERY 10.0                /* seconds between two looks of the doctor at one run */

int runs_open(Runs **out, const char *folder, Err *err)
{
    *out = NULL;
    Runs *r = mem_calloc(1, sizeof *r);
    char *whole = realpath(folder, NULL);
    int rc = 0;
    if (!whole) {
        rc = err_set_errno(err, errno == ENOENT ? ERR_MISSING : ERR_IO,
                           "cannot open the folder of trainings, %s", folder);
        free(r);
        return rc;
    }
    if (r) {
        const char *slash = strrchr(whole, '/');
        r->root = -1;
        r->folder = whole;
        r->own_name = strdup(slash && slash[1] ? slash + 1 : "root");
        pthread_mutex_init(&r->lock, NULL);
        r->scanned = -SCAN_EVERY;
    }
    if (!r || !r->own_name) {
        rc = err_set(err, ERR_NOMEM, "no memory for the trainings in %s", folder);
        if (!r)
            free(whole);
        goto fail;
    }
    r->root = open(whole, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r->root < 0) {
        rc = err_set_errno(err, ERR_IO, "cannot open the folder of trainings, %s", folder);
        goto fail;
    }
    *out = r;
    return 0;
fail:
    runs_close(r);
    return rc;
}

void runs_close(Runs *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->count; i++)
        run_free(&r->runs[i]);
    free(r->runs);
    free(r->folder);
    free(r->own_name);
    if (r->root >= 0)
        close(r->root);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

/* ---- under the lock ---- */

static int open_in_run(const Runs *r, const Run *run, const char *path, int flags)
{
    char *whole = file_join(run->path, path);
    int fd = whole ? runs_open_below(r->root, whole, flags) : -1;
    free(whole);
    return fd;
}

/* Reads what is new in the log, *left bytes at most. A log that cannot be read stays as it is. */
static void catch_up(Runs *r, Run *run, int64_t *left)
{
    if (run->read >= run->log.st_size || *left <= 0)
        return;
    int fd = open_in_run(r, run, "log.jsonl", O_RDONLY);
    if (fd < 0)
        return;
    LogLines l = {.from = run->read, .more = 1};
    while (l.more && *left > 0) {
        if (run_lines(fd, &l, PART, run_sum_add, &run->sum, NULL))
            break;
        *left -= l.next - l.from;
        l.from = l.next;
    }
    run->sum.torn += l.torn;
    run->read = l.from;
    close(fd);
}

static int look(Runs *r, Err *err)
{
    int64_t left = READ_AT_ONCE;
    if (clock_now() - r->scanned >= SCAN_EVERY) {
        int rc = runs_scan(r, err);
        if (rc)
            return rc;
    }
    for (size_t i = 0; i < r->count; i++)
        catch_up(r, &r->runs[i], &left);
    return 0;
}

static Run *run_named(Runs *r, const char *name)
{
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->runs[i].name, name) == 0)
            return &r->runs[i];
    return NULL;
}

static int find_run(Runs *r, Run **run, const char *name, Err *err)
{
    *run = run_named(r, name);
    if (!*run) { /* it may be new */
        int rc = look(r, err);
        if (rc)
            return rc;
        *run = run_named(r, name);
    }
    char shown[100];
    utf8_show(shown, sizeof shown, name);
    return *run ? 0 : err_set(err, ERR_MISSING, "there is no training called '%s'", shown);
}

/* Appends the object as text; takes it. */
static int put_json(Buf *out, json_t *o, Err *err)
{
    char *text = o ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
    json_decref(o);
    if (text)
        buf_str(out, text);
    free(text);
    return text && !out->failed ? 0 : err_set(err, ERR_NOMEM, "no memory for an answer about trainings");
}

static json_t *run_json(const Run *run)
{
    const RunSum *s = &run->sum;
    struct timespec now;
    char verdict[sizeof s->verdict + 500];
    clock_gettime(CLOCK_REALTIME, &now);
    double updated = (double)run->log.st_mtim.tv_sec + 1e-9 * (double)run->log.st_mtim.tv_nsec;
    double age = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec - updated;
    run_verdict(verdict, sizeof verdict, s);
    const char *state = run->read < run->log.st_size && !s->lines ? "empty" : run_state(s, age);
    json_t *o =
        json_pack("{s:o, s:s, s:I, s:I, s:I, s:o, s:o, s:I}", "name", json_from_text(run->name), "state",
                  state, "step", (json_int_t)s->step, "total_steps", (json_int_t)s->total_steps, "torn_lines",
                  (json_int_t)s->torn, "updated", json_from_double(updated), "changed",
                  json_from_double(run->changed), "log_bytes", (json_int_t)run->log.st_size);
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"loss", s->loss},
                   {"validation_loss", s->validation_loss},
                   {"words_wrong_share", s->words_wrong},
                   {"recordings_words_wrong_share", s->recordings_words_wrong},
                   {"busy_share", s->busy},
                   {"wait_share", s->waits ? s->wait_sum / (double)s->waits : (double)NAN},
                   {"step_ms", s->step_ms},
                   {"seconds_left", s->end[0] ? (double)NAN : s->voice.seconds_left}};
    for (size_t i = 0; o && i < sizeof numbers / sizeof *numbers; i++)
        json_object_set_new(o, numbers[i].key, json_from_double(numbers[i].value));
    const struct {
        const char *key, *value;
    } texts[] = {{"network", s->network},
                 {"model_size", s->voice.size[0] ? s->voice.size : s->size},
                 {"device", s->device},
                 {"end", s->end},
                 {"verdict", verdict}};
    for (size_t i = 0; o && i < sizeof texts / sizeof *texts; i++)
        json_object_set_new(o, texts[i].key,
                            texts[i].value[0] ? json_from_text(texts[i].value) : json_null());
    return o;
}

/* ---- what is asked ---- */

int runs_list(Runs *r, Buf *out, Err *err)
{
    pthread_mutex_lock(&r->lock);
    int rc = look(r, err);
    json_t *list = rc ? NULL : json_array();
    for (size_t i = 0; list && i < r->count; i++)
        json_array_append_new(list, run_json(&r->runs[i]));
    const json_int_t hidden = (json_int_t)r->hidden;
    const int incomplete = r->incomplete;
    pthread_mutex_unlock(&r->lock);
    if (rc)
        return rc;
    return put_json(
        out, json_pack("{s:o, s:I, s:b}", "runs", list, "hidden", hidden, "incomplete", incomplete), err);
}

/* Lines as they are, with commas between them. */
static int add_row(void *rows, const char *line, size_t n, json_t *o)
{
    Buf *b = rows;
    if (b->size)
        buf_str(b, ",");
    buf_add(b, line, n);
    return b->failed ? ERR_NOMEM : 0;
}

int runs_log(Runs *r, Buf *out, const char *name, int64_t after, Err *err)
{
    Run *run;
    struct stat st;
    Buf rows = {0};
    pthread_mutex_lock(&r->lock);
    int rc = find_run(r, &run, name, err);
    int fd = rc ? -1 : open_in_run(r, run, "log.jsonl", O_RDONLY);
    pthread_mutex_unlock(&r->lock);
    if (!rc && fd < 0)
        rc = err_set(err, ERR_MISSING, "the log of '%s' is gone", name);
    if (rc)
        return rc;
    /* A log that is shorter than what was read is another one. */
    LogLines l = {.from = after < 0 || fstat(fd, &st) || after > st.st_size ? 0 : after};
    rc = run_lines(fd, &l, PART, add_row, &rows, err);
    close(fd);
    if (!rc) {
        buf_printf(out, "{\"from\":%lld,\"next\":%lld,\"more\":%s,\"torn\":%lld,\"rows\":[",
                   (long long)l.from, (long long)l.next, l.more ? "true" : "false", (long long)l.torn);
        buf_add(out, rows.data ? rows.data : "", rows.size);
        buf_str(out, "]}");
        if (out->failed)
            rc = err_set(err, ERR_NOMEM, "no memory for the lines of a log");
    }
    buf_free(&rows);
    return rc;
}

static const struct {
    const char *ending, *type;
} kinds[] = {{".png", "image/png"},
             {".wav", "audio/wav"},
             {".jsonl", "application/x-ndjson"},
             {".json", "application/json"}};

/* The media type of a file that may be shown; NULL of all others. A path has one part, or two. */
static const char *type_of(const char *path)
{
    const char *slash = strchr(path, '/');
    const size_t n = strlen(path);
    if (path[0] == '.' || path[0] == '/' ||
        (slash && (slash[1] == '.' || slash[1] == 0 || strchr(slash + 1, '/'))))
        return NULL;
    if (n > 255 || utf8_valid(path, n) != n || strchr(path, '\\'))
        return NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const size_t m = strlen(kinds[i].ending);
        if (n > m && strcmp(path + n - m, kinds[i].ending) == 0)
            return kinds[i].type;
    }
    return NULL;
}

int runs_file(Runs *r, Buf *out, const char **type, const char *name, const char *path, Err *err)
{
    Run *run;
    struct stat st;
    char shown[100];
    utf8_show(shown, sizeof shown, path);
    *type = type_of(path);
    if (!*type)
        return err_set(err, ERR_USAGE, "'%s' is not shown; only pictures, samples and logs of a training are",
                       shown);
    pthread_mutex_lock(&r->lock);
    int rc = find_run(r, &run, name, err);
    int fd = rc ? -1 : open_in_run(r, run, path, O_RDONLY);
    pthread_mutex_unlock(&r->lock);
    if (!rc && (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)))
        rc = err_set(err, ERR_MISSING, "there is no file '%s' in this training", shown);
    if (!rc && (uint64_t)st.st_size > MOST_FILE)
        rc = err_set(err, ERR_USAGE, "'%s' has %lld MB; only files of up to %zu MB are shown", shown,
                     (long long)st.st_size >> 20, MOST_FILE >> 20);
    if (!rc)
        rc = file_read_fd(out, fd, shown, MOST_FILE, err);
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Files of one folder that may be shown. dir is closed. */
static void list_files(json_t *list, int dir, const char *prefix)
{
    DIR *d = fdopendir(dir);
    if (!d) {
        close(dir);
        return;
    }
    struct dirent *e;
    while ((e = readdir(d)) && json_array_size(list) < MOST_FILES) {
        struct stat st;
        char path[300];
        snprintf(path, sizeof path, "%s%s", prefix, e->d_name);
        if (!type_of(path) || fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
            continue;
        json_array_append_new(
            list, json_pack("{s:o, s:I, s:o}", "path", json_from_text(path), "size", (json_int_t)st.st_size,
                            "changed",
                            json_from_double((double)st.st_mtim.tv_sec + 1e-9 * (double)st.st_mtim.tv_nsec)));
    }
    closedir(d);
}

int runs_files(Runs *r, Buf *out, const char *name, Err *err)
{
    Run *run;
    pthread_mutex_lock(&r->lock);
    int rc = find_run(r, &run, name, err);
    int dir = rc ? -1 : runs_open_below(r->root, run->path, O_RDONLY | O_DIRECTORY);
    int samples = rc ? -1 : open_in_run(r, run, "samples", O_RDONLY | O_DIRECTORY);
    pthread_mutex_unlock(&r->lock);
    json_t *list = rc ? NULL : json_array();
    if (dir >= 0)
        list_files(list, dir, "");
    if (samples >= 0)
        list_files(list, samples, "samples/");
    return rc ? rc : put_json(out, json_pack("{s:o}", "files", list), err);
}

/* The doctor reads the whole log, by the name that an open file has. */
static json_t *judge(Runs *r, const Run *run)
{
    Err err = {0};
    VoiceFacts facts;
    VoiceFinding found[VOICE_CAUSE_COUNT];
    char path[64];
    int fd = run->log.st_size <= MOST_JUDGED ? open_in_run(r, run, "log.jsonl", O_RDONLY) : -1;
    json_t *list = json_array();
    if (fd < 0)
        return list;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    voice_facts_clear(&facts);
    int n = voice_facts_from_log(&facts, path, &err) ? 0 : voice_doctor(found, VOICE_CAUSE_COUNT, &facts);
    for (int i = 0; i < n; i++)
        json_array_append_new(list,
                              json_pack("{s:s, s:o, s:o, s:I}", "cause", voice_cause_name(found[i].cause),
                                        "evidence", json_from_text(found[i].evidence), "advice",
                                        json_from_text(found[i].advice), "step", (json_int_t)found[i].step));
    voice_facts_free(&facts);
    close(fd);
    return list;
}

int runs_about(Runs *r, Buf *out, const char *name, Err *err)
{
    Run *run;
    pthread_mutex_lock(&r->lock);
    int rc = find_run(r, &run, name, err);
    if (!rc && (!run->findings || (run->findings_of != run->log.st_size &&
                                   (run->sum.end[0] || clock_now() - run->findings_when > JUDGE_EVERY)))) {
        json_t *list = judge(r, run);
        free(run->findings);
        run->findings = list ? json_dumps(list, JSON_COMPACT) : NULL;
        json_decref(list);
        run->findings_of = run->log.st_size;
        run->findings_when = clock_now();
    }
    if (!rc) {
        json_t *o = run_json(run);
        json_object_set_new(o, "findings", run->findings ? json_loads(run->findings, 0, NULL) : NULL);
        rc = put_json(out, o, err);
    }
    pthread_mutex_unlock(&r->lock);
    return rc;
}
