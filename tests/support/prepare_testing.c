/* prepare_testing.c - see prepare_testing.h. */
#include "prepare_testing.h"

#include "wav_testing.h"

#define MAX_CLIPS 20000

/* ---- files ---- */

const char *path_of(const char *dir, const char *name)
{
    static char ring[64][1024];
    static int at;
    char *out = ring[at++ % 64];
    size_t n = strlen(dir), m = strlen(name);
    assert_true(n + m + 2 <= sizeof ring[0]);
    memmove(out, dir, n);
    out[n] = '/';
    memcpy(out + n + 1, name, m + 1);
    return out;
}

void remove_folder(const char *path)
{
    char command[1100];
    snprintf(command, sizeof command, "chmod -R u+rwx '%s' 2>/dev/null; rm -rf '%s'", path, path);
    if (system(command) != 0)
        print_message("could not remove %s\n", path);
}

void copy_folder(const char *from, const char *to)
{
    char command[2200];
    snprintf(command, sizeof command, "cp -a '%s' '%s'", from, to);
    assert_int_equal(system(command), 0);
}

uint8_t *make_wav(size_t *size, int kind, double seconds, int rate, int channels)
{
    size_t frames = (size_t)(seconds * rate + 0.5), bytes = frames * 2 * (size_t)channels;
    uint8_t *out = malloc(44 + bytes);
    assert_non_null(out);
    put_wav_header(out, 1, channels, rate, 16, (uint32_t)bytes);
    double phase = 0;
    for (size_t i = 0; i < frames; i++) {
        double t = (double)i / (double)frames, hz = 150 + 37 * (kind % 41) + 900 * t;
        double level = t < 0.15 || t > 0.85 ? 0.0005 : 0.4;
        phase += 6.283185307179586 * hz / rate;
        for (int c = 0; c < channels; c++)
            put_u16(out + 44 + 2 * (i * (size_t)channels + (size_t)c),
                    (uint16_t)(int16_t)lrint(32000 * level * sin(phase + c)));
    }
    *size = 44 + bytes;
    return out;
}

void write_wav(const char *path, int kind, double seconds, int rate, int channels)
{
    size_t size;
    uint8_t *bytes = make_wav(&size, kind, seconds, rate, channels);
    file_put(path, bytes, size);
    free(bytes);
}

/* ---- a corpus ---- */

const char *clip_path(const Corpus *c, int i)
{
    char name[64];
    snprintf(name, sizeof name, "wavs/%s.wav", c->clips[i].id);
    return path_of(c->data, name);
}

void corpus_write_metadata(const Corpus *c)
{
    FILE *f = fopen(path_of(c->data, "metadata.csv"), "wb");
    assert_non_null(f);
    for (int i = 0; i < c->count; i++)
        if (!c->clips[i].removed)
            fprintf(f, "%s|%s\n", c->clips[i].id, c->clips[i].text);
    assert_int_equal(fclose(f), 0);
}

void corpus_add(Corpus *c, double seconds)
{
    static const char *const openings[] = {"The old lamp", "A small green boat", "My brother",
                                           "Every second morning", "The long road"};
    static const char *const verbs[] = {"turned slowly", "went over the hill", "was seen near the river",
                                        "stood still for a while"};
    static const char *const ends[] = {"before noon.", "and nobody said a word.", "in the quiet town!",
                                       "for seven days?", "again, and again."};
    int i = c->count++;
    assert_true(i < MAX_CLIPS);
    Clip *clip = &c->clips[i];
    *clip = (Clip){0};
    snprintf(clip->id, sizeof clip->id, "clip%05d", i);
    snprintf(clip->text, sizeof clip->text, "%s %s %s", openings[i % 5], verbs[i / 5 % 4], ends[i / 20 % 5]);
    if (seconds > 0)
        write_wav(clip_path(c, i), i, seconds + 0.01 * (i % 7), 22050, 1);
}

void corpus_fill(Corpus *c, int count, double seconds)
{
    for (int i = 0; i < count; i++)
        corpus_add(c, seconds);
    corpus_write_metadata(c);
}

int corpus_setup(void **state)
{
    Corpus *c = calloc(1, sizeof *c);
    const char *tmp = getenv("TMPDIR");
    if (!c || !(c->clips = calloc(MAX_CLIPS, sizeof *c->clips)))
        return -1;
    snprintf(c->root, sizeof c->root, "%s/myxtts-prepare-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(c->root))
        return -1;
    snprintf(c->data, sizeof c->data, "%s/data", c->root);
    snprintf(c->cache, sizeof c->cache, "%s/cache", c->root);
    *state = c;
    return file_make_dirs(path_of(c->data, "wavs"), NULL);
}

int corpus_teardown(void **state)
{
    Corpus *c = *state;
    remove_folder(c->root);
    free(c->clips);
    free(c);
    return 0;
}

/* ---- the program as a process ---- */

const char *program(void)
{
    const char *p = getenv("MYXTTS_BIN");
    return p && p[0] ? p : "build/myxtts";
}

void run_start_as(Run *r, uid_t uid, const char *binary, const char *const *args, const char *const *env)
{
    int out[2], err[2];
    *r = (Run){0};
    if (access(binary, X_OK))
        fail_msg("%s is not there: build it, or set MYXTTS_BIN", binary);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    const char *argv[MAX_ARGS] = {binary};
    int n = 1;
    while (args[n - 1]) {
        assert_true(n < MAX_ARGS - 1);
        argv[n] = args[n - 1];
        n++;
    }
    fflush(NULL);
    r->pid = fork();
    assert_true(r->pid >= 0);
    if (r->pid == 0) {
        setpgid(0, 0);
        dup2(out[1], 1);
        dup2(err[1], 2);
        for (int i = 0; env && env[i]; i++)
            putenv((char *)(uintptr_t)env[i]);
        if (uid && (setgroups(0, NULL) || setgid(uid) || setuid(uid)))
            _exit(125);
        execv(argv[0], (char *const *)(uintptr_t)argv);
        _exit(126);
    }
    setpgid(r->pid, r->pid);
    close(out[1]);
    close(err[1]);
    r->out = out[0];
    r->err = err[0];
}

void run_start(Run *r, const char *const *args, const char *const *env)
{
    run_start_as(r, 0, program(), args, env);
}

void run_wait(Run *r, double limit)
{
    struct pollfd fds[2] = {{.fd = r->out, .events = POLLIN}, {.fd = r->err, .events = POLLIN}};
    Buf *texts[2] = {&r->stdout_text, &r->stderr_text};
    const char *patience = getenv("MYXTTS_TEST_PATIENCE"); /* tools/run_tests.sh */
    double end = clock_now() + limit * (patience ? strtod(patience, NULL) : 1);
    int hung = 0;
    while (!hung && (fds[0].fd >= 0 || fds[1].fd >= 0)) {
        poll(fds, 2, 200);
        for (int i = 0; i < 2; i++) {
            char piece[65536];
            if (fds[i].fd < 0 || !fds[i].revents)
                continue;
            ssize_t n = read(fds[i].fd, piece, sizeof piece);
            if (n > 0)
                buf_add(texts[i], piece, (size_t)n);
            else if (n == 0)
                fds[i].fd = -1;
        }
        hung = clock_now() > end;
    }
    if (hung)
        kill(-r->pid, SIGKILL);
    int status;
    struct rusage usage;
    assert_int_equal(wait4(r->pid, &status, 0, &usage), r->pid);
    close(r->out);
    close(r->err);
    r->peak_kib = usage.ru_maxrss;
    r->code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    buf_add(&r->stdout_text, "", 0);
    buf_add(&r->stderr_text, "", 0);
    if (hung)
        fail_msg("the program hung; stderr so far: %s", r->stderr_text.data);
}

int find_processes(pid_t *pids, int cap, pid_t parent, pid_t group)
{
    DIR *d = opendir("/proc");
    assert_non_null(d);
    int n = 0;
    for (struct dirent *f; (f = readdir(d)) != NULL;) {
        char path[300], text[1024] = "", state = 0;
        int ppid = 0, pgrp = 0;
        if (f->d_name[0] < '1' || f->d_name[0] > '9')
            continue;
        snprintf(path, sizeof path, "/proc/%s/stat", f->d_name);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            continue;
        ssize_t got = read(fd, text, sizeof text - 1);
        close(fd);
        const char *after = got > 0 ? strrchr(text, ')') : NULL;
        if (!after || sscanf(after + 1, " %c %d %d", &state, &ppid, &pgrp) != 3 || state == 'Z' ||
            state == 'X')
            continue;
        if (((parent && ppid == parent) || (group && pgrp == group)) && n < cap)
            pids[n++] = atoi(f->d_name);
    }
    closedir(d);
    return n;
}

void run_kill(Run *r)
{
    int status;
    kill(r->pid, SIGKILL);
    assert_int_equal(waitpid(r->pid, &status, 0), r->pid);
    close(r->out);
    close(r->err);
    pid_t left[16];
    int n = 1;
    for (double end = clock_now() + 10; n > 0 && clock_now() < end; n > 0 ? clock_sleep(0.005) : (void)0)
        n = find_processes(left, 16, 0, r->pid);
    if (n > 0)
        fail_msg("%d processes live on after the program was killed, one is %d", n, (int)left[0]);
}

void run_free(Run *r)
{
    buf_free(&r->stdout_text);
    buf_free(&r->stderr_text);
}

int run_program_env(Run *r, const char *const *args, const char *const *env)
{
    run_start(r, args, env);
    run_wait(r, 120);
    return r->code;
}

int prepare_code(const char *report)
{
    json_t *o = json_loads(report, 0, NULL);
    int code = json_integer_value(json_object_get(o, "rejected")) > 0;
    size_t i;
    const json_t *f;
    json_array_foreach(json_object_get(o, "findings"), i, f)
    {
        const char *severity = json_string_value(json_object_get(f, "severity"));
        code |= severity && strcmp(severity, "finding") == 0;
    }
    json_decref(o);
    return code;
}

json_t *prepare_with(const Corpus *c, const char *cache, int code, const char *const *more)
{
    const char *args[MAX_ARGS] = {"prepare", "--data-path", c->data, "--cache-dir", cache, "--json"};
    int n = 6;
    for (int i = 0; more[i]; i++)
        args[n++] = more[i];
    Run r;
    run_program_env(&r, args, NULL);
    if (code == 0)
        code = prepare_code(r.stdout_text.data);
    if (r.code != code) {
        Buf reasons = {0};
        file_read(&reasons, path_of(cache, "rejected.tsv"), 4000, NULL);
        fail_msg("exit code %d where %d was expected; stderr: %s%s", r.code, code, r.stderr_text.data,
                 reasons.data ? reasons.data : "");
    }
    json_t *o = json_loads(r.stdout_text.data, 0, NULL);
    if (!json_is_object(o))
        fail_msg("stdout is no JSON object: %s", r.stdout_text.data);
    run_free(&r);
    return o;
}

const char *prepare_fresh(const Corpus *c, const char *name)
{
    const char *dir = path_of(c->root, name);
    json_decref(prepare_with(c, dir, 0, (const char *const[]){NULL}));
    return dir;
}

int64_t number_at(const json_t *o, const char *first, const char *second)
{
    const json_t *v = json_object_get(o, first);
    if (second)
        v = json_object_get(v, second);
    if (!json_is_integer(v))
        fail_msg("there is no number %s %s", first, second ? second : "");
    return json_integer_value(v);
}

/* ---- comparing ---- */

int is_kept(const struct dirent *f)
{
    return f->d_name[0] != '.' && strcmp(f->d_name, "lock") != 0 &&
           (strncmp(f->d_name, "prepared", 8) != 0 || strstr(f->d_name, ".tmp"));
}

void same_bytes(const char *a, const char *b, int expected)
{
    Buf x = file_bytes(a), y = file_bytes(b);
    int same = x.size == y.size && memcmp(x.data, y.data, x.size) == 0;
    buf_free(&x);
    buf_free(&y);
    if (same != expected)
        fail_msg("%s and %s are %s", a, b, same ? "the same" : "different");
}

void assert_same_folders(const char *a, const char *b)
{
    struct dirent **x, **y;
    char left[1024], right[1024];
    snprintf(left, sizeof left, "%s", a);
    snprintf(right, sizeof right, "%s", b);
    a = left; /* path_of is used below more often than it remembers */
    b = right;
    int n = scandir(a, &x, is_kept, alphasort), m = scandir(b, &y, is_kept, alphasort);
    assert_true(n >= 0 && m >= 0);
    for (int i = 0; i < n || i < m; i++) {
        const char *p = i < n ? x[i]->d_name : "(nothing)", *q = i < m ? y[i]->d_name : "(nothing)";
        if (strcmp(p, q) != 0)
            fail_msg("%s in %s, %s in %s", p, a, q, b);
        struct stat st;
        if (stat(path_of(a, p), &st) == 0 && S_ISDIR(st.st_mode)) { /* caches of other settings */
            assert_same_folders(path_of(a, p), path_of(b, q));
            free(x[i]);
            free(y[i]);
            continue;
        }
        Buf f = file_bytes(path_of(a, p)), g = file_bytes(path_of(b, q));
        size_t same = 0;
        while (same < f.size && same < g.size && f.data[same] == g.data[same])
            same++;
        if (f.size != g.size || same != f.size)
            fail_msg("%s differs at byte %zu (%zu and %zu bytes) in %s and %s", p, same, f.size, g.size, a,
                     b);
        buf_free(&f);
        buf_free(&g);
        free(x[i]);
        free(y[i]);
    }
    free(x);
    free(y);
}

void assert_same_stores(const char *a, const char *b, const char *name)
{
    Store s, t;
    Err err = {0};
    if (store_open(&s, a, name, &err) || store_open(&t, b, name, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(s.count, t.count);
    assert_int_equal(s.blob_size, t.blob_size);
    assert_memory_equal(s.blob, t.blob, s.blob_size);
    assert_true(hash_equal(s.settings, t.settings));
    for (uint64_t i = 0; i < s.count; i++) {
        StoreEntry e, f;
        store_entry(&s, i, &e);
        store_entry(&t, i, &f);
        if (e.id_size != f.id_size || memcmp(e.id, f.id, e.id_size) != 0 || !hash_equal(e.key, f.key) ||
            e.items != f.items || e.status != f.status || e.format != f.format || e.extra != f.extra ||
            e.payload_size != f.payload_size || memcmp(e.payload, f.payload, e.payload_size) != 0 ||
            memcmp(&e.stamp, &f.stamp, sizeof e.stamp) != 0)
            fail_msg("entry %llu of %s (%.*s) differs", (unsigned long long)i, name, (int)e.id_size, e.id);
    }
    store_close(&s);
    store_close(&t);
}

void assert_same_caches(const char *a, const char *b)
{
    assert_same_stores(a, b, TEXT_STORE);
    assert_same_stores(a, b, MEL_STORE);
    Buf x = file_bytes(path_of(a, "rejected.tsv")), y = file_bytes(path_of(b, "rejected.tsv"));
    assert_string_equal(x.data, y.data);
    buf_free(&x);
    buf_free(&y);
}

void assert_verified(const Corpus *c, const char *cache)
{
    json_t *o = prepare_with(c, cache, 0, (const char *const[]){"--verify", NULL});
    check_number(o, 0, "text", "damaged");
    check_number(o, 0, "mel", "damaged");
    json_decref(o);
}
