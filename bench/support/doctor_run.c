/* doctor_run.c - see doctor_run.h. */
#include "doctor_run.h"

#define PATIENCE 180.0 /* s for one run of the program */

void call_add(Call *c, const char *word)
{
    ASSERT_CMP(c->argc, <, MOST_ARGS - 1);
    char *copy = strdup(word);
    ASSERT(copy != NULL);
    c->argv[c->argc++] = c->owned[c->owned_count++] = copy;
}

void call_set(Call *c, const char *key, const char *value)
{
    char word[160];
    snprintf(word, sizeof word, "--%s", key);
    for (char *p = word; *p; p++)
        *p = *p == '_' ? '-' : *p;
    call_add(c, word);
    call_add(c, value);
}

void call_set_int(Call *c, const char *key, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    call_set(c, key, text);
}

void call_free(Call *c)
{
    for (int i = 0; i < c->owned_count; i++)
        free(c->owned[i]);
    *c = (Call){0};
}

/* Reads both pipes until they end or the time is over. 0, or ERR_STOPPED when it is over. */
static int gather(Buf *out, Buf *complaints, int fds[2], double until)
{
    struct pollfd p[2] = {{fds[0], POLLIN, 0}, {fds[1], POLLIN, 0}};
    Buf *to[2] = {out, complaints};
    for (int left = 2; left > 0;) {
        double seconds = until - clock_now();
        if (seconds <= 0)
            return ERR_STOPPED;
        if (poll(p, 2, (int)(seconds * 1e3) + 1) < 0 && errno != EINTR)
            return ERR_IO;
        for (int i = 0; i < 2; i++) {
            char bytes[4096];
            if (p[i].fd < 0 || !(p[i].revents & (POLLIN | POLLHUP | POLLERR)))
                continue;
            ssize_t n = read(p[i].fd, bytes, sizeof bytes);
            if (n > 0)
                buf_add(to[i], bytes, (size_t)n);
            else if (n == 0 || errno != EINTR) {
                p[i].fd = -1;
                left--;
            }
        }
    }
    return 0;
}

static void child_main(Call *c, int out, int complaints)
{
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing < 0 || dup2(nothing, 0) < 0 || dup2(out, 1) < 0 || dup2(complaints, 2) < 0)
        _exit(126);
    if (c->folder && chdir(c->folder))
        _exit(126);
    execv(c->argv[0], c->argv);
    _exit(127);
}

int call_run(json_t **answer, Call *c, Err *err)
{
    *answer = NULL;
    c->argv[c->argc] = NULL;
    int a[2], b[2], status = 0;
    if (pipe2(a, O_CLOEXEC))
        return err_set_errno(err, ERR_IO, "no pipe");
    if (pipe2(b, O_CLOEXEC)) {
        close(a[0]);
        close(a[1]);
        return err_set_errno(err, ERR_IO, "no pipe");
    }
    pid_t pid = fork();
    if (pid == 0)
        child_main(c, a[1], b[1]);
    close(a[1]);
    close(b[1]);
    Buf out = {0}, complaints = {0};
    int fds[2] = {a[0], b[0]}, rc = pid < 0 ? err_set_errno(err, ERR_IO, "no process") : 0;
    if (!rc && (rc = gather(&out, &complaints, fds, clock_now() + PATIENCE))) {
        kill(pid, SIGKILL);
        rc = err_set(err, rc, "%s did not end within %.0f s", c->argv[1], PATIENCE);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    close(a[0]);
    close(b[0]);
    buf_str(&out, "");
    buf_str(&complaints, "");
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (!rc && (out.failed || complaints.failed))
        rc = err_set(err, ERR_NOMEM, "no memory for the output of %s", c->argv[1]);
    if (!rc && code > 1)
        rc = err_set(err, ERR_WORKER, "%s ended with %d: %.200s", c->argv[1], code, complaints.data);
    json_error_t where;
    if (!rc && !(*answer = json_loads(out.data, 0, &where)))
        rc = err_set(err, ERR_FORMAT, "%s printed no JSON (line %d: %s); it ended with %d: %.160s",
                     c->argv[1], where.line, where.text, code, complaints.data);
    buf_free(&out);
    buf_free(&complaints);
    return rc;
}

double json_at(const json_t *o, const char *key, const char *inner)
{
    const json_t *v = json_object_get(o, key);
    v = inner ? json_object_get(v, inner) : v;
    return json_is_number(v) ? json_number_value(v) : NAN;
}

const char *json_word(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

/* ---- the corpus ---- */

#define RATE 22050
#define MOST_CLIPS 256

/* A tone as a WAV file, 16 bits. */
static int tone_write(const char *path, double seconds, double hz, Err *err)
{
    uint32_t n = (uint32_t)(seconds * RATE), bytes = 2 * n,
             words[] = {36 + bytes, 16, 0x00010001, RATE, 2 * RATE, 0x00100002, bytes};
    Buf b = {0};
    buf_add(&b, "RIFF", 4);
    buf_add(&b, &words[0], 4);
    buf_add(&b, "WAVEfmt ", 8);
    buf_add(&b, &words[1], 20);
    buf_add(&b, "data", 4);
    buf_add(&b, &words[6], 4);
    for (uint32_t i = 0; i < n; i++) {
        int16_t x = (int16_t)lround(9000 * sin(2 * M_PI * hz * i / RATE) * sin(M_PI * i / n));
        buf_add(&b, &x, 2);
    }
    int rc =
        b.failed ? err_set(err, ERR_NOMEM, "no memory for a tone") : file_replace(path, b.data, b.size, err);
    buf_free(&b);
    return rc;
}

static int write_clips(const char *program, const char *dir, const double *seconds, int count, Err *err)
{
    char path[512];
    Buf lines = {0};
    snprintf(path, sizeof path, "%s/wavs", dir);
    int rc = file_make_dirs(path, err);
    for (int i = 0; i < count && !rc; i++) {
        snprintf(path, sizeof path, "%s/wavs/tone-%03d.wav", dir, i);
        rc = tone_write(path, seconds[i], 200 + 7.0 * i, err);
        buf_printf(&lines, "tone-%03d|a short tone sounds here|a short tone sounds here\n", i);
    }
    snprintf(path, sizeof path, "%s/metadata.csv", dir);
    if (!rc)
        rc = lines.failed ? err_set(err, ERR_NOMEM, "no memory for metadata")
                          : file_replace(path, lines.data, lines.size, err);
    buf_free(&lines);
    if (rc)
        return rc;
    Call c = {0};
    json_t *answer = NULL;
    call_add(&c, program);
    call_add(&c, "prepare");
    call_add(&c, "--quiet");
    call_add(&c, "--json");
    call_set(&c, "data-path", dir);
    call_set(&c, "val-split", "0");
    rc = call_run(&answer, &c, err);
    json_decref(answer);
    call_free(&c);
    return rc;
}

int corpus_write(const char *program, const char *dir, int count, double seconds, int more, double longer,
                 Err *err)
{
    double all[MOST_CLIPS];
    ASSERT_CMP(count + more, <=, MOST_CLIPS);
    for (int i = 0; i < count + more; i++)
        all[i] = i < count ? seconds : longer;
    return write_clips(program, dir, all, count + more, err);
}

int corpus_write_mixed(const char *program, const char *dir, int count, double shortest, double longest,
                       Err *err)
{
    double all[MOST_CLIPS];
    ASSERT_CMP(count, <=, MOST_CLIPS);
    for (int i = 0; i < count; i++)
        all[i] = shortest + (longest - shortest) * i / count;
    return write_clips(program, dir, all, count, err);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

void folder_remove(const char *dir) { nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS); }
