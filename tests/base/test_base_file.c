/* test_base_file.c - files mapped, read, replaced, locked, stamped, hashed. */
#include "base/hash.h"
#include "support/folder_testing.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>

static void test_map(void **state)
{
    Folder f = folder_make();
    FileMap m;
    Err err = {0};
    file_put(folder_file(&f, "a"), "hello", 5);
    file_put(folder_file(&f, "empty"), "", 0);
    assert_int_equal(file_map(&m, folder_file(&f, "a"), &err), 0);
    assert_int_equal(m.size, 5);
    assert_memory_equal(m.data, "hello", 5);
    file_unmap(&m);
    file_unmap(&m);
    assert_int_equal(file_map(&m, folder_file(&f, "empty"), &err), 0);
    assert_true(m.data == NULL && m.size == 0);
    file_unmap(&m);
    assert_int_equal(file_map(&m, folder_file(&f, "none"), &err), ERR_MISSING);
    assert_non_null(strstr(err.msg, "/none"));
    assert_true(m.data == NULL);
    assert_int_equal(file_map(&m, f.path, &err), ERR_FORMAT);
    assert_int_equal(file_map(&m, folder_file(&f, "a/b"), &err), ERR_IO);
    mkfifo(folder_file(&f, "pipe"), 0666);
    assert_int_equal(file_map(&m, folder_file(&f, "pipe"), &err),
                     ERR_FORMAT); /* at once: nobody will ever write into it */
    folder_remove(&f);
}

static void test_read(void **state)
{
    Folder f = folder_make();
    Buf b = {0};
    Err err = {0};
    char *big = malloc(200000);
    memset(big, 'x', 200000);
    file_put(folder_file(&f, "big"), big, 200000);
    buf_str(&b, "<");
    assert_int_equal(file_read(&b, folder_file(&f, "big"), 200000, &err), 0);
    assert_int_equal(b.size, 200001);
    assert_memory_equal(b.data + 1, big, 200000);
    buf_clear(&b);
    assert_int_equal(file_read(&b, folder_file(&f, "big"), 199999, &err), ERR_FORMAT);
    assert_non_null(strstr(err.msg, "199999"));
    assert_int_equal(file_read(&b, folder_file(&f, "none"), 10, &err), ERR_MISSING);
    assert_int_equal(file_read(&b, f.path, 10, &err), ERR_IO);
    buf_free(&b);
    int fd = open(folder_file(&f, "big"), O_RDONLY);
    char four[4];
    assert_int_equal(file_pread_all(fd, four, 4, 199996, "big", &err), 0);
    assert_int_equal(file_pread_all(fd, four, 4, 199998, "big", &err), ERR_FORMAT);
    assert_non_null(strstr(err.msg, "ends at byte 200000, 2 bytes short"));
    close(fd);
    free(big);
    folder_remove(&f);
}

static void test_replace(void **state)
{
    Folder f = folder_make();
    Err err = {0};
    char path[512];
    snprintf(path, sizeof path, "%s", folder_file(&f, "x"));
    assert_int_equal(file_replace(path, "one", 3, &err), 0);
    assert_int_equal(file_replace(path, "second", 6, &err), 0);
    Buf b = file_bytes(path);
    assert_memory_equal(b.data, "second", 7);
    buf_free(&b);
    assert_string_equal(folder_names(&f), "x ");
    FileWriter w; /* nothing is there under its name before the commit */
    assert_int_equal(file_writer_open(&w, path, &err), 0);
    assert_int_equal(file_writer_write(&w, "third", 5, &err), 0);
    b = file_bytes(path);
    assert_memory_equal(b.data, "second", 7);
    buf_free(&b);
    file_writer_abort(&w);
    file_writer_abort(&w);
    assert_string_equal(folder_names(&f), "x ");
    assert_int_equal(file_replace(folder_file(&f, "no/where"), "x", 1, &err), ERR_IO);
    mkdir(folder_file(&f, "dir"), 0777); /* the rename fails */
    assert_int_equal(file_replace(folder_file(&f, "dir"), "x", 1, &err), ERR_IO);
    assert_non_null(strstr(err.msg, "rename"));
    assert_string_equal(folder_names(&f), "dir x ");
    folder_remove(&f);
}

static void test_replace_that_fails_leaves_the_old(void **state)
{
    Folder f = folder_make();
    Err err = {0};
    char path[512], *big = calloc(1, 100000);
    struct rlimit old, low;
    snprintf(path, sizeof path, "%s", folder_file(&f, "x"));
    assert_int_equal(file_replace(path, "old", 3, &err), 0);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    low = old;
    low.rlim_cur = 5000;
    setrlimit(RLIMIT_FSIZE, &low);
    int rc = file_replace(path, big, 100000, &err);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(rc, ERR_NOSPACE); /* a limit is a full disk */
    assert_non_null(strstr(err.msg, strerror(EFBIG)));
    Buf b = file_bytes(path);
    assert_memory_equal(b.data, "old", 4);
    buf_free(&b);
    assert_string_equal(folder_names(&f), "x ");
    int full = open("/dev/full", O_WRONLY);
    if (full >= 0) {
        assert_int_equal(file_write_all(full, "x", 1, "/dev/full", &err), ERR_NOSPACE);
        assert_true(err.hint[0] != 0);
        close(full);
    }
    free(big);
    folder_remove(&f);
}

static void test_folders_and_names(void **state)
{
    Folder f = folder_make();
    Err err = {0};
    assert_int_equal(file_make_dirs(folder_file(&f, "a/b//c/"), &err), 0);
    assert_int_equal(file_make_dirs(folder_file(&f, "a/b/c"), &err), 0);
    assert_true(file_exists(folder_file(&f, "a/b/c")));
    file_put(folder_file(&f, "a/file"), "", 0);
    assert_int_equal(file_make_dirs(folder_file(&f, "a/file/d"), &err), ERR_IO);
    assert_non_null(strstr(err.msg, strerror(EEXIST)));
    assert_int_equal(file_make_dirs("", &err), 0);
    static const char *const rows[][3] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"", "b", "b"}, {NULL, "b", "b"}, {"/", "b", "/b"}};
    for (size_t i = 0; i < 5; i++) {
        char *p = file_join(rows[i][0], rows[i][1]);
        assert_string_equal(p, rows[i][2]);
        free(p);
    }
    assert_int_equal(file_sync_dir_of("here", &err), 0);
    assert_int_equal(file_sync_dir_of("/there", &err), 0);
    assert_int_equal(file_sync_dir_of(folder_file(&f, "no/x"), &err), ERR_IO);
    folder_remove(&f);
}

static void test_stamp(void **state)
{
    Folder f = folder_make();
    FileStamp a, b;
    Err err = {0};
    char path[512];
    snprintf(path, sizeof path, "%s", folder_file(&f, "x"));
    assert_int_equal(file_stamp(&a, path, &err), ERR_MISSING);
    assert_int_equal(file_stamp(&a, f.path, &err), ERR_FORMAT);
    file_put(path, "abc", 3);
    assert_int_equal(file_stamp(&a, folder_file(&f, "x/y"), &err), ERR_MISSING);
    struct stat st;
    stat(path, &st);
    assert_int_equal(file_stamp(&a, path, &err), 0);
    assert_int_equal(file_stamp(&b, path, &err), 0);
    assert_memory_equal(&a, &b, sizeof a);
    /* The same size, in place, and the old time put back: a tick later, since clocks of file systems are
     * coarse. */
    usleep(20000);
    file_put_byte(path, 1, 'X');
    struct timespec times[2] = {st.st_atim, st.st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    assert_int_equal(file_stamp(&b, path, &err), 0);
    assert_true(a.size == b.size && a.mtime_ns == b.mtime_ns && a.inode == b.inode);
    assert_true(a.ctime_ns != b.ctime_ns);
    assert_int_equal(file_replace(path, "aXc", 3, &err), 0);
    assert_int_equal(file_stamp(&a, path, &err), 0);
    assert_true(a.inode != b.inode || a.ctime_ns != b.ctime_ns);
    folder_remove(&f);
}

/* A child that takes the lock, says so, and holds it until it is told to go or is killed. */
static pid_t start_holder(const char *path, int *said, int *told)
{
    int up[2], down[2];
    assert_int_equal(pipe(up) | pipe(down), 0);
    pid_t child = fork();
    if (child == 0) {
        FileLock l;
        char c = file_lock(&l, path, 0, NULL, NULL) == 0 ? 'y' : 'n';
        close(down[1]);
        if (write(up[1], &c, 1) != 1 || read(down[0], &c, 1) < 0)
            _exit(1);
        file_unlock(&l);
        _exit(0);
    }
    close(up[1]);
    close(down[0]);
    *said = up[0];
    *told = down[1];
    return child;
}

static void test_lock(void **state)
{
    Folder f = folder_make();
    FileLock l = {0};
    Err err = {0};
    char path[512], c = 0;
    long holder = 0;
    int said, told;
    snprintf(path, sizeof path, "%s", folder_file(&f, "lock"));
    file_unlock(&l); /* safe when not locked */
    pid_t child = start_holder(path, &said, &told);
    assert_true(read(said, &c, 1) == 1 && c == 'y');
    assert_int_equal(file_lock(&l, path, 0, &holder, &err), ERR_STOPPED);
    assert_int_equal(holder, child);
    assert_non_null(strstr(err.msg, "/lock"));
    assert_int_equal(file_lock(&l, path, 0, NULL, NULL), ERR_STOPPED);
    kill(child, SIGKILL); /* it dies without a word: waiting comes to an end */
    assert_int_equal(file_lock(&l, path, 1, &holder, &err), 0);
    waitpid(child, NULL, 0);
    close(said);
    close(told);
    child = start_holder(path, &said, &told); /* and the other way round */
    assert_true(read(said, &c, 1) == 1 && c == 'n');
    close(said);
    close(told);
    waitpid(child, NULL, 0);
    file_unlock(&l);
    assert_int_equal(file_lock(&l, folder_file(&f, "no/lock"), 0, NULL, &err), ERR_IO);
    folder_remove(&f);
}

typedef struct Taker {
    const char *path;
    int inside, most; /* atomic */
} Taker;

static void *take_the_lock(void *arg)
{
    Taker *t = arg;
    for (int i = 0; i < 200; i++) {
        FileLock l;
        int rc = file_lock(&l, t->path, i % 3 > 0, NULL, NULL);
        if (rc)
            continue;
        int now = __atomic_add_fetch(&t->inside, 1, __ATOMIC_ACQ_REL);
        if (now > __atomic_load_n(&t->most, __ATOMIC_ACQUIRE))
            __atomic_store_n(&t->most, now, __ATOMIC_RELEASE);
        sched_yield();
        __atomic_sub_fetch(&t->inside, 1, __ATOMIC_ACQ_REL);
        file_unlock(&l);
    }
    return NULL;
}

/* Threads of one process keep each other out too. */
static void test_lock_between_threads(void **state)
{
    Folder f = folder_make();
    char path[512];
    snprintf(path, sizeof path, "%s", folder_file(&f, "lock"));
    Taker t = {.path = path};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_the_lock, &t), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(t.most, 1);
    FileLock mine, second;
    long holder = 0;
    assert_int_equal(file_lock(&mine, path, 0, NULL, NULL), 0);
    assert_int_equal(file_lock(&second, path, 0, &holder, NULL), ERR_STOPPED);
    assert_int_equal(holder, getpid());
    file_unlock(&mine);
    assert_int_equal(file_lock(&second, path, 0, NULL, NULL), 0);
    file_unlock(&second);
    folder_remove(&f);
}

static void test_lock_is_not_inherited(void **state)
{
    Folder f = folder_make();
    FileLock l;
    char path[512];
    int ready[2], status;
    snprintf(path, sizeof path, "%s", folder_file(&f, "lock"));
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(file_lock(&l, path, 0, NULL, NULL), 0);
    pid_t child = fork();
    if (child == 0) { /* does not own it, and its end does not free it */
        FileLock mine;
        long holder = 0;
        int ok = file_lock(&mine, path, 0, &holder, NULL) == ERR_STOPPED && holder == getppid();
        _exit(ok ? 0 : 1);
    }
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    child = fork();
    if (child == 0) { /* still alive when the owner lets go: it does not keep the lock */
        char c;
        close(ready[1]);
        _exit(read(ready[0], &c, 1) < 0);
    }
    file_unlock(&l);
    pid_t other = fork();
    if (other == 0) {
        FileLock mine;
        _exit(file_lock(&mine, path, 0, NULL, NULL) ? 1 : 0);
    }
    waitpid(other, &status, 0);
    assert_int_equal(status, 0);
    close(ready[0]);
    close(ready[1]);
    waitpid(child, NULL, 0);
    folder_remove(&f);
}

static Hash128 hash_fields(const char *a, const char *b)
{
    Hasher h;
    assert_int_equal(hasher_open(&h), 0);
    hasher_str(&h, a);
    hasher_str(&h, b);
    return hasher_close(&h);
}

static Hash128 hash_number(double v)
{
    Hasher h;
    assert_int_equal(hasher_open(&h), 0);
    hasher_f64(&h, v);
    return hasher_close(&h);
}

static void test_hashes(void **state)
{
    Folder f = folder_make();
    enum { N = (1 << 20) * 2 + 77 };
    uint8_t *p = malloc(N);
    for (size_t i = 0; i < N; i++)
        p[i] = (uint8_t)(i * 31 >> 3);
    Hash128 h = hash_bytes(p, N);
    assert_true(hash_equal(h, hash_bytes(p, N)));
    p[N - 1] ^= 1;
    assert_false(hash_equal(h, hash_bytes(p, N)));
    for (size_t cut = 0; cut < 3000; cut += 97) {
        struct iovec parts[3] = {{p, cut}, {p + cut, 1}, {p + cut + 1, 5000 - cut - 1}};
        assert_true(hash64_parts(parts, 3) == hash64(p, 5000));
    }
    /* XXH3's published values for nothing at all. */
    assert_true(hash64("", 0) == 0x2D06800538D394C2u);
    assert_true(hash_bytes("", 0).lo == 0x6001C324468D497Fu && hash_bytes("", 0).hi == 0x99AA06D3014798D8u);
    assert_false(hash_equal(hash_fields("ab", "c"), hash_fields("a", "bc")));
    assert_false(hash_equal(hash_fields("ab", ""), hash_fields("", "ab")));
    assert_true(hash_equal(hash_fields(NULL, "x"), hash_fields("", "x")));
    assert_true(hash_equal(hash_number(0.0), hash_number(-0.0)));
    assert_false(hash_equal(hash_number(1.0), hash_number(2.0)));
    free(p);
    folder_remove(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map),
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_replace),
        cmocka_unit_test(test_replace_that_fails_leaves_the_old),
        cmocka_unit_test(test_folders_and_names),
        cmocka_unit_test(test_stamp),
        cmocka_unit_test(test_lock),
        cmocka_unit_test(test_lock_between_threads),
        cmocka_unit_test(test_lock_is_not_inherited),
        cmocka_unit_test(test_hashes),
    };
    return cmocka_run_group_tests_name("base_file", tests, NULL, NULL);
}
