/* whats_there.c - see whats_there.h. */
#include "dataset/whats_there.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/file.h"
#include "config/config.h"

#define MOST_NAMES 6       /* in a hint */
#define MOST_ENTRIES 10000 /* of a folder that are looked at */

typedef struct Listing {
    char names[220]; /* "a, b, c" */
    int count;       /* found; may exceed the names shown */
} Listing;

/* Counts every name, and shows as many as fit. */
static void listing_add(Listing *l, const char *name)
{
    size_t used = strlen(l->names), n = strlen(name);
    l->count++;
    if (l->count > MOST_NAMES || used + n + 3 > sizeof l->names)
        return;
    if (used) {
        memcpy(l->names + used, ", ", 2);
        used += 2;
    }
    memcpy(l->names + used, name, n + 1);
}

static int is_table(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && (!strcasecmp(dot, ".csv") || !strcasecmp(dot, ".txt") || !strcasecmp(dot, ".tsv") ||
                   !strcasecmp(dot, ".psv"));
}

static int is_kind(const char *dir, const char *name, mode_t kind)
{
    struct stat st;
    char *path = file_join(dir, name);
    int yes = path && !stat(path, &st) && (st.st_mode & S_IFMT) == kind;
    free(path);
    return yes;
}

/* Lists the visible entries of dir in the order the system gives: all, or only files that look like tables.
 * below (may be NULL) receives the name of a subfolder that holds `wanted`. Returns 0 when the folder cannot
 * be read. */
static int list_folder(Listing *l, const char *dir, int only_tables, const char *wanted, char *below,
                       size_t below_cap)
{
    *l = (Listing){0};
    DIR *folder = opendir(dir);
    if (!folder)
        return 0;
    struct dirent *e;
    for (int i = 0; i < MOST_ENTRIES && (e = readdir(folder)); i++) {
        if (e->d_name[0] == '.')
            continue;
        if (!only_tables || (is_table(e->d_name) && is_kind(dir, e->d_name, S_IFREG)))
            listing_add(l, e->d_name);
        if (below && !below[0] && (e->d_type == DT_DIR || e->d_type == DT_LNK || e->d_type == DT_UNKNOWN)) {
            char *sub = file_join(dir, e->d_name);
            if (sub && is_kind(sub, wanted, S_IFREG))
                snprintf(below, below_cap, "%s", e->d_name);
            free(sub);
        }
    }
    closedir(folder);
    return 1;
}

#define MISTYPED 3 /* letters that may be wrong in the name of a folder */

/* The folder in `dir` that is named nearly so; upper case does not matter. 0: there is none. */
static int nearest_folder(char *out, size_t cap, const char *dir, const char *name)
{
    int best = MISTYPED + 1;
    DIR *folder = opendir(dir);
    struct dirent *e;
    for (int i = 0; folder && i < MOST_ENTRIES && (e = readdir(folder)); i++) {
        const int away = strcasecmp(e->d_name, name) == 0 ? 0 : config_name_distance(name, e->d_name);
        if (e->d_name[0] == '.' || away >= best || (size_t)away * 2 >= strlen(name) ||
            !is_kind(dir, e->d_name, S_IFDIR))
            continue;
        best = away;
        snprintf(out, cap, "%s", e->d_name);
    }
    if (folder)
        closedir(folder);
    return best <= MISTYPED;
}

/* The three usual mistakes: no path, a file, a misspelled folder. */
int whats_there_no_root(const char *root, Err *err)
{
    struct stat st;
    Listing l;
    if (!root[0]) {
        err_set(err, ERR_MISSING, "no dataset was given");
        return err_hint(err, "use --data-path DIR, the folder with recordings and their texts");
    }
    /* It is there, but no folder: probably the metadata file itself. */
    if (!stat(root, &st)) {
        err_set(err, ERR_MISSING, "%s is not a folder", root);
        return err_hint(
            err, "name the folder with the recordings; --metadata-train-file names a metadata file in it");
    }
    err_set(err, ERR_MISSING, "the dataset folder %s does not exist", root);
    /* Climbs to the nearest folder that exists and shows what it holds. */
    char above[4096];
    if ((size_t)snprintf(above, sizeof above, "%s", root) >= sizeof above)
        return ERR_MISSING;
    do {
        char *slash = strrchr(above, '/');
        if (!slash)
            snprintf(above, sizeof above, ".");
        else
            slash[slash == above] = 0;
    } while (stat(above, &st) && strcmp(above, ".") && strcmp(above, "/"));
    char name[256], like[256];
    const char *below = root + (strcmp(above, ".") ? strlen(above) : 0);
    below += strspn(below, "./");
    snprintf(name, sizeof name, "%.*s", (int)strcspn(below, "/"), below);
    if (nearest_folder(like, sizeof like, above, name))
        return err_hint(err, "did you mean %.150s%s%.150s?", strcmp(above, ".") ? above : "",
                        strcmp(above, ".") && strcmp(above, "/") ? "/" : "", like);
    if (!list_folder(&l, above, 0, NULL, NULL, 0))
        return err_hint(err, "%.150s cannot be read", above);
    if (!l.count)
        return err_hint(err, "%.150s exists but is empty", above);
    return err_hint(err, "%.150s holds: %s%s", above, l.names, l.count > MOST_NAMES ? ", ..." : "");
}

/* Files that look like tables, else everything, so that the right name can be seen. */
int whats_there_instead(const char *root, const char *name, const char *option, Err *err)
{
    Listing l;
    char below[256] = "";
    err_set(err, ERR_MISSING, "%.200s not found in %.500s", name, root);
    if (!list_folder(&l, root, 1, name, below, sizeof below))
        return err_hint(err, "the folder cannot be read");
    /* An archive was unpacked one level deeper. */
    if (below[0])
        return err_hint(err, "it is in a subfolder: name %.180s/%.150s", root, below);
    if (l.count)
        return err_hint(err, "found: %s%s; use %s", l.names, l.count > MOST_NAMES ? ", ..." : "", option);
    list_folder(&l, root, 0, NULL, NULL, 0);
    if (!l.count) {
        err_set(err, ERR_MISSING, "the folder %.500s is empty", root);
        return err_hint(err, "it needs recordings and their texts: ID.wav and ID.txt side by side, or "
                             "metadata.csv with lines of ID|text and wavs/ID.wav");
    }
    return err_hint(err, "the folder has %s%s, but no text file with lines like id|text", l.names,
                    l.count > MOST_NAMES ? ", ..." : "");
}
