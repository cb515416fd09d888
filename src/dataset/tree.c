/* tree.c - see tree.h. */
#include "dataset/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "dataset/audio_endings.h"

#define MOST_DEPTH 12
#define MOST_SKIPPED 4

typedef struct Identity { /* of a folder, whatever leads to it */
    dev_t device;
    ino_t inode;
} Identity;

typedef struct Walk {
    Tree *tree;
    Block *block;
    Identity above[MOST_DEPTH + 1], skip[MOST_SKIPPED];
    int depth, skips;
} Walk;

static int is_one_of(Identity id, const Identity *list, int count)
{
    for (int i = 0; i < count; i++)
        if (list[i].device == id.device && list[i].inode == id.inode)
            return 1;
    return 0;
}

/* The bytes of the ending of a text; 0: it is none. */
static size_t text_ending(const char *name, size_t n, int *rank)
{
    static const struct {
        const char *ending;
        int rank;
    } endings[] = {{".normalized.txt", TREE_NORMALISED},
                   {".original.txt", TREE_ORIGINAL},
                   {".txt", TREE_TXT},
                   {".lab", TREE_LAB}};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t k = strlen(endings[i].ending);
        if (n <= k || strcasecmp(name + n - k, endings[i].ending) != 0)
            continue;
        *rank = endings[i].rank;
        return k;
    }
    return 0;
}

/* Files beside a corpus that are not part of it. */
static int is_about_the_corpus(const char *name)
{
    static const char *const names[] = {"readme",    "license",      "licence", "copying",
                                        "changelog", "speaker-info", "speakers"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);
        if (!strncasecmp(name, names[i], n) && name[n] == '.')
            return 1;
    }
    return 0;
}

static int is_table(const char *name)
{
    const char *const endings[] = {".csv", ".tsv", ".psv", ".json", ".jsonl"}, *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (strcasecmp(dot, endings[i]) == 0)
            return 1;
    return 0;
}

static int add_file(Walk *w, const char *folder, const char *name)
{
    Tree *t = w->tree;
    size_t a = strlen(folder), n = strlen(name);
    int rank = 0;
    size_t ending = audio_ending(name, n, &rank);
    int is_audio = ending > 0;
    if (!is_audio)
        ending = text_ending(name, n, &rank);
    if (!ending || (!is_audio && is_about_the_corpus(name))) {
        int table = is_table(name);
        t->tables += table;
        t->others += !table;
        if (!table && !t->other && !(t->other = block_strndup(w->block, name, n)))
            return ERR_NOMEM;
        return 0;
    }
    char *path = block_alloc(w->block, a + n + 1, 1);
    if (!path || mem_grow(&t->files, &t->cap, t->count + 1, sizeof *t->files))
        return ERR_NOMEM;
    memcpy(path, folder, a);
    memcpy(path + a, name, n);
    t->files[t->count++] =
        (TreeFile){.path = path, .folder = (uint32_t)a, .stem = (uint32_t)(a + n - ending), .rank = rank};
    t->audio += is_audio;
    t->texts += !is_audio;
    return 0;
}

/* One folder, given open; `folder` is its path below the root, with a slash behind it. */
static int walk(Walk *w, int fd, const char *folder)
{
    DIR *dir = fdopendir(fd);
    struct stat st;
    if (!dir) {
        close(fd);
        return 0;
    }
    int rc = 0;
    for (struct dirent *e = readdir(dir); e && !rc; e = readdir(dir)) {
        if (e->d_name[0] == '.' || strcmp(e->d_name, "myxtts-cache") == 0)
            continue;
        int is_file = e->d_type == DT_REG, is_folder = e->d_type == DT_DIR;
        if ((e->d_type == DT_LNK || e->d_type == DT_UNKNOWN) && !fstatat(fd, e->d_name, &st, 0)) {
            is_file = S_ISREG(st.st_mode);
            is_folder = S_ISDIR(st.st_mode);
        }
        if (is_file)
            rc = add_file(w, folder, e->d_name);
        if (!is_folder || w->depth == MOST_DEPTH)
            continue;
        int below = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        Identity id = {0};
        if (below >= 0 && !fstat(below, &st))
            id = (Identity){st.st_dev, st.st_ino};
        if (below < 0 || is_one_of(id, w->above, w->depth + 1) || is_one_of(id, w->skip, w->skips)) {
            if (below >= 0)
                close(below);
            continue;
        }
        char *path = block_alloc(w->block, strlen(folder) + strlen(e->d_name) + 2, 1);
        if (path) {
            stpcpy(stpcpy(stpcpy(path, folder), e->d_name), "/");
            w->above[++w->depth] = id;
            rc = walk(w, below, path);
            w->depth--;
        } else {
            close(below);
            rc = ERR_NOMEM;
        }
    }
    closedir(dir);
    return rc;
}

/* By bytes, so that the order is the same on every machine. */
static int compare_files(const void *a, const void *b)
{
    const TreeFile *x = a, *y = b;
    uint32_t n = x->stem < y->stem ? x->stem : y->stem;
    int order = memcmp(x->path, y->path, n);
    if (order)
        return order;
    if (x->stem != y->stem)
        return x->stem < y->stem ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return strcmp(x->path, y->path);
}

int tree_read(Tree *t, Block *b, const char *root, const char *const *skip, int skips, Err *err)
{
    struct stat st;
    Walk w = {.tree = t, .block = b};
    *t = (Tree){0};
    for (int i = 0; i < skips && w.skips < MOST_SKIPPED; i++)
        if (skip[i] && skip[i][0] && !stat(skip[i], &st))
            w.skip[w.skips++] = (Identity){st.st_dev, st.st_ino};
    int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st)) {
        int rc = err_set_errno(err, ERR_IO, "cannot read the folder %s", root);
        if (fd >= 0)
            close(fd);
        return rc;
    }
    w.above[0] = (Identity){st.st_dev, st.st_ino};
    if (walk(&w, fd, "")) {
        size_t n = t->count;
        tree_free(t);
        return err_set(err, ERR_NOMEM, "no memory for a list of more than %zu files", n);
    }
    if (t->count)
        qsort(t->files, t->count, sizeof *t->files, compare_files);
    return 0;
}

void tree_free(Tree *t)
{
    free(t->files);
    *t = (Tree){0};
}
