/* info_target.c - see info_target.h. */
#include "cmd/work/info_target.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "cmd/work/show_graph.h"

#define CARD ".onnx.json" /* beside the graph of a Piper voice */

static int ends_with(const char *text, const char *ending)
{
    const size_t n = strlen(text), m = strlen(ending);
    return n > m && strcmp(text + n - m, ending) == 0;
}

/* By the names that training gives its files. */
static int is_run(const char *dir)
{
    char path[CHECKPOINT_PATH_SIZE];
    Err none = {0};
    const int n = snprintf(path, sizeof path, "%s/" CHECKPOINT_BEST, dir);
    return (n < (int)sizeof path && file_exists(path)) || checkpoint_newest(path, dir, &none) == 0;
}

/* The graph of a Piper voice in the folder: 1; 0: there is none. */
static int find_graph(InfoTarget *t, const char *dir, Err *err)
{
    char first[256] = "";
    int count = 0;
    DIR *folder = opendir(dir);
    for (struct dirent *e = folder ? readdir(folder) : NULL; e; e = readdir(folder)) {
        char name[256];
        if (e->d_name[0] == '.' || !ends_with(e->d_name, CARD))
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(strlen(e->d_name) - strlen(".json")), e->d_name);
        snprintf(t->path, sizeof t->path, "%.3800s/%s", dir, name);
        if (!file_exists(t->path))
            continue;
        if (count++ == 0 || strcmp(name, first) < 0)
            memcpy(first, name, sizeof first);
    }
    if (folder)
        closedir(folder);
    if (count > 1) {
        err_set(err, ERR_USAGE, "%.1000s holds %d exported voices", dir, count);
        return err_hint(err, "name one: %.200s/%s", dir, first);
    }
    if (count)
        snprintf(t->path, sizeof t->path, "%.3800s/%s", dir, first);
    return count;
}

int info_target_find(InfoTarget *t, const char *typed, Err *err)
{
    struct stat st;
    const int is_there = !stat(typed, &st);
    *t = (InfoTarget){.kind = INFO_DATASET};
    if (is_there && S_ISDIR(st.st_mode)) {
        if (is_run(typed))
            t->kind = INFO_CHECKPOINT;
        else {
            const int found = find_graph(t, typed, err);
            if (found < 0)
                return found;
            if (found) {
                t->kind = INFO_GRAPH;
                return 0;
            }
        }
    } else if (show_graph_is(typed)) {
        t->kind = INFO_GRAPH;
    } else if (ends_with(typed, ".safetensors") || (!is_there && strcmp(typed, "base") == 0)) {
        t->kind = INFO_CHECKPOINT;
    }
    const int n = snprintf(t->path, sizeof t->path, "%s", typed);
    return n < (int)sizeof t->path ? 0 : err_set(err, ERR_USAGE, "the path %.200s... is too long", typed);
}
