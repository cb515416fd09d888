/* folder_testing.c - see folder_testing.h. */
#include "folder_testing.h"

#include <errno.h>

#include "long_tests.h"

Folder folder_make(void)
{
    Folder f;
    const char *tmp = getenv("TMPDIR");
    snprintf(f.path, sizeof f.path, "%s/myxtts-test-XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
    if (!mkdtemp(f.path))
        fail_msg("cannot make a folder %s", f.path);
    return f;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *w)
{
    return remove(path);
}

void folder_remove(Folder *f) { nftw(f->path, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

const char *folder_file(const Folder *f, const char *name)
{
    static char paths[4][512];
    static int next;
    char *p = paths[next++ % 4];
    snprintf(p, sizeof paths[0], "%s/%s", f->path, name);
    return p;
}

static int visible(const struct dirent *d) { return d->d_name[0] != '.'; }

const char *folder_names(const Folder *f)
{
    static char names[4096];
    struct dirent **list;
    int n = scandir(f->path, &list, visible, alphasort);
    size_t at = 0;
    names[0] = 0;
    for (int i = 0; i < n; i++) {
        at += (size_t)snprintf(names + at, sizeof names - at, "%s ", list[i]->d_name);
        free(list[i]);
    }
    if (n >= 0)
        free(list);
    return names;
}

int entries_of(const char *path)
{
    DIR *d = opendir(path);
    int n = 0;
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

Buf file_bytes(const char *path)
{
    Buf b = {0};
    Err err = {0};
    if (file_read(&b, path, (size_t)1 << 32, &err))
        fail_msg("%s", err.msg);
    buf_add(&b, "", 0); /* no NULL where it is empty */
    return b;
}

void file_put(const char *path, const void *p, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(p, 1, n, f) != n || fclose(f))
        fail_msg("cannot write %s: %s", path, strerror(errno));
}

void file_put_byte(const char *path, uint64_t at, uint8_t byte)
{
    int fd = open(path, O_WRONLY);
    if (fd < 0 || pwrite(fd, &byte, 1, (off_t)at) != 1)
        fail_msg("cannot write %s", path);
    close(fd);
}

void folder_copy(const Folder *to, const Folder *from)
{
    struct dirent **list;
    int n = scandir(from->path, &list, visible, alphasort);
    for (int i = 0; i < n; i++) {
        Buf b = file_bytes(folder_file(from, list[i]->d_name));
        file_put(folder_file(to, list[i]->d_name), b.data, b.size);
        buf_free(&b);
        free(list[i]);
    }
    free(list);
}

void assert_folders_equal(const Folder *a, const Folder *b)
{
    char names[4096];
    snprintf(names, sizeof names, "%s", folder_names(a));
    assert_string_equal(folder_names(b), names);
    for (char *save, *name = strtok_r(names, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
        Buf x = file_bytes(folder_file(a, name)), y = file_bytes(folder_file(b, name));
        if (x.size != y.size || memcmp(x.data, y.data, x.size) != 0)
            fail_msg("%s differs between %s (%zu bytes) and %s (%zu bytes)", name, a->path, x.size, b->path,
                     y.size);
        buf_free(&x);
        buf_free(&y);
    }
}

const char *fault_library(void)
{
    static char path[512], full[4096];
    const char *set = getenv("MYXTTS_FAULTS"), *out = getenv("MYXTTS_OUT");
    snprintf(path, sizeof path, "%s", set ? set : "");
    if (!set)
        snprintf(path, sizeof path, "%s/tests/faults.so", out ? out : "build");
    if (!SANITIZED && realpath(path, full))
        return full;
    print_message("SKIPPED: the fault library is not there, or does not go with a sanitizer\n");
    return NULL;
}

static ssize_t add_to_buf(void *cookie, const char *p, size_t n)
{
    buf_add(cookie, p, n);
    return (ssize_t)n;
}

FILE *buf_stream(Buf *b)
{
    FILE *f = fopencookie(b, "w", (cookie_io_functions_t){.write = add_to_buf});
    assert_non_null(f);
    setvbuf(f, NULL, _IONBF, 0);
    return f;
}
