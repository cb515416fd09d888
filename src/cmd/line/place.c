/* place.c - see place.h. */
#include "cmd/line/place.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "voice/safetensors.h"

enum { LOOK = 512 }; /* bytes from the beginning of a file that tell its kind */

static int begins(const char *head, size_t n, const char *with)
{
    const size_t m = strlen(with);
    return n >= m && memcmp(head, with, m) == 0;
}

static int is_sound(const char *head, size_t n)
{
    const int riff = begins(head, n, "RIFF") || begins(head, n, "RF64");
    const int mp3 = n > 2 && (unsigned char)head[0] == 0xFF && ((unsigned char)head[1] & 0xE0) == 0xE0;
    return (riff && n >= 12 && memcmp(head + 8, "WAVE", 4) == 0) || begins(head, n, "fLaC") ||
           begins(head, n, "OggS") || begins(head, n, "ID3") || mp3;
}

static int is_html(const char *head, size_t n)
{
    const size_t at = strspn(head, " \t\r\n");
    return n > at &&
           (strncasecmp(head + at, "<!doctype html", 14) == 0 || strncasecmp(head + at, "<html", 5) == 0);
}

/* A checkpoint has what training continues with; an exported voice has not. */
static int is_exported(const char *path)
{
    SafeTensors f;
    if (safetensors_open(&f, path, NULL))
        return 0;
    const int trains = safetensors_find(&f, "train.state") != NULL;
    safetensors_close(&f);
    return !trains;
}

/* An ONNX file of ours: its version, then who wrote it. */
static int is_own_graph(const char *head, size_t n) { return begins(head, n, "\x08\x07\x12\x06myxtts"); }

/* head ends with a zero byte. */
static int is_kind(PlaceKind kind, const char *path, const char *head, size_t n)
{
    switch (kind) {
    case WRITES_SOUND:
        return is_sound(head, n);
    case WRITES_PNG:
        return begins(head, n, "\x89PNG");
    case WRITES_NPY:
        return begins(head, n, "\x93NUMPY");
    case WRITES_HTML:
        return is_html(head, n);
    case WRITES_REPORT:
        return strstr(head, "myxtts") != NULL || strstr(head, "(step ") != NULL;
    case WRITES_VOICE:
        return is_own_graph(head, n) || is_exported(path);
    case WRITES_NOTHING:
        break;
    }
    return 1;
}

static const char *kind_name(PlaceKind kind)
{
    static const char *const names[] = {"",           "a sound file", "a PNG picture",    "a NumPy file",
                                        "a web page", "a report",     "an exported voice"};
    return names[kind];
}

/* 1: both are the same file. */
static int is_same(const struct stat *st, const char *path)
{
    struct stat other;
    return path && !stat(path, &other) && other.st_dev == st->st_dev && other.st_ino == st->st_ino;
}

/* 1: a name that training gives its own files, and would take for them. */
static int is_name_of_training(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return strncmp(name, "step-", 5) == 0 || strcmp(name, "best.safetensors") == 0;
}

int place_check(const char *option, const char *path, PlaceKind kind, const char *const *inputs, int count,
                int overwrite, Err *err)
{
    char head[LOOK + 1];
    struct stat st;
    if (!path || !kind || strcmp(path, "-") == 0)
        return 0;
    if (kind == WRITES_VOICE && !overwrite && is_name_of_training(path)) {
        err_set(err, ERR_USAGE, "--%s %s has a name that training uses for checkpoints", option, path);
        return err_hint(err, "name another file, or add --overwrite to write it anyway");
    }
    if (stat(path, &st) || !S_ISREG(st.st_mode))
        return 0;
    for (int i = 0; i < count; i++)
        if (is_same(&st, inputs[i])) {
            err_set(err, ERR_USAGE, "--%s %s would overwrite the input, %s", option, path, inputs[i]);
            return err_hint(err, "name another file or folder");
        }
    if (overwrite || !st.st_size)
        return 0;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read(fd, head, LOOK) : -1;
    if (fd >= 0)
        close(fd);
    head[n > 0 ? n : 0] = 0;
    if (n > 0 && is_kind(kind, path, head, (size_t)n))
        return 0;
    err_set(err, ERR_USAGE, "--%s %s exists already and is not %s", option, path, kind_name(kind));
    return err_hint(err, "name another file, or add --overwrite to replace it");
}
