/* checkpoint_folder.c - the names in a folder of checkpoints, and finding the right one. */
#include "voice/checkpoint_folder_private.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "voice/base_file.h"

#define MOST_DIGITS 18 /* more do not fit into 63 bits */
#define MOST_LOOKS 10  /* at a folder whose files vanish */

/* ---- names ---- */

int folder_join(char out[CHECKPOINT_PATH_SIZE], const char *dir, const char *name, Err *err)
{
    int n = snprintf(out, CHECKPOINT_PATH_SIZE, "%s/%s", dir, name);
    if (n < 0 || n >= CHECKPOINT_PATH_SIZE) {
        out[0] = 0;
        return err_set(err, ERR_DATA, "the path of the folder %.200s... is too long for a checkpoint", dir);
    }
    return 0;
}

int64_t folder_step_of(const char *name, const char **end)
{
    if (strncmp(name, "step-", 5) != 0)
        return -1;
    int64_t step = 0;
    int digits = 0;
    const char *p = name + 5;
    for (; *p >= '0' && *p <= '9' && digits < MOST_DIGITS; p++, digits++)
        step = step * 10 + (*p - '0');
    if (digits < STEP_DIGITS || strncmp(p, SUFFIX, sizeof SUFFIX - 1) != 0)
        return -1;
    *end = p + sizeof SUFFIX - 1;
    return step;
}

/* For qsort: the highest step first. */
static int compare_steps(const void *a, const void *b)
{
    const StepFile *x = a, *y = b;
    return x->step > y->step ? -1 : x->step < y->step ? 1 : strcmp(x->name, y->name);
}

/* A folder that is read while a trainer works in it may show a file twice or not at all; callers look at each
 * file anyway. */
int folder_list_steps(StepList *list, const char *dir, Err *err)
{
    *list = (StepList){0};
    DIR *d = opendir(dir);
    if (!d)
        return err_set_errno(err, errno == ENOENT || errno == ENOTDIR ? ERR_MISSING : ERR_IO,
                             "cannot read the folder %s", dir);
    int rc = 0;
    struct dirent *e;
    while (!rc) {
        /* Only errno tells the end of a folder from an error. */
        errno = 0;
        e = readdir(d);
        if (!e)
            break;
        const char *end;
        int64_t step = folder_step_of(e->d_name, &end);
        if (step < 0 || *end)
            continue;
        rc = mem_grow(&list->items, &list->cap, list->count + 1, sizeof *list->items);
        if (rc) {
            err_set(err, rc, "no memory to list the folder %s", dir);
            break;
        }
        StepFile *f = &list->items[list->count++];
        f->step = step;
        snprintf(f->name, sizeof f->name, "%s", e->d_name);
    }
    if (!rc && errno)
        rc = err_set_errno(err, ERR_IO, "cannot read the folder %s", dir);
    closedir(d);
    if (rc) {
        free(list->items);
        *list = (StepList){0};
    } else if (list->count)
        qsort(list->items, list->count, sizeof *list->items, compare_steps);
    return rc;
}

/* ---- finding ---- */

/* Opening reads the whole file and its checksum. */
static int check_file(const char *path, Err *err)
{
    SafeTensors f;
    int rc = safetensors_open(&f, path, err);
    if (!rc)
        safetensors_close(&f);
    return rc;
}

static void warn_skipped(Log *log, const Err *e) { log_warn(log, "skipping this checkpoint: %s", e->msg); }

/* One pass over the folder. *vanished: steps that a trainer removed while we looked. */
static int newest_valid(char path[CHECKPOINT_PATH_SIZE], int *vanished, const char *dir, Log *log, Err *err)
{
    StepList list;
    int rc = folder_list_steps(&list, dir, err);
    if (rc)
        return rc;
    size_t bad = 0;
    Err reason = {0};
    *vanished = 0;
    rc = ERR_MISSING;
    for (size_t i = 0; i < list.count; i++) {
        Err e = {0};
        rc = folder_join(path, dir, list.items[i].name, err);
        if (rc)
            break;
        rc = check_file(path, &e);
        if (rc == 0)
            break;
        /* Without memory nothing is known of the file: an older one must not be taken instead. */
        if (rc == ERR_NOMEM) {
            if (err)
                *err = e;
            break;
        }
        if (rc == ERR_MISSING)
            (*vanished)++;
        else {
            warn_skipped(log, &e);
            if (bad++ == 0)
                reason = e;
        }
        rc = ERR_MISSING;
    }
    free(list.items);
    if (rc)
        path[0] = 0;
    if (rc == ERR_MISSING && bad) {
        rc = err_set(err, ERR_DAMAGED, "none of the %zu checkpoints in %s can be used; the newest: %s", bad,
                     dir, reason.msg);
        err_hint(err, "restore a copy, or start over in another folder");
    } else if (rc == ERR_MISSING) {
        err_set(err, rc, "no checkpoint in %s", dir);
        err_hint(err, "a checkpoint is a file step-00001000" SUFFIX " (or another number) or " BEST_NAME);
    }
    return rc;
}

/* Without a step that can be used the best one is the newest there is. Otherwise the error of the steps, rc,
 * stays. */
static int best_instead(char path[CHECKPOINT_PATH_SIZE], int rc, const char *dir, Log *log, Err *err)
{
    if (folder_join(path, dir, BEST_NAME, NULL) || check_file(path, NULL)) {
        path[0] = 0;
        return rc;
    }
    log_warn(log, "%s; using %s instead", err->msg, path);
    err_clear(err);
    return 0;
}

static int find_newest(char path[CHECKPOINT_PATH_SIZE], const char *dir, Log *log, Err *err)
{
    Err own = {0};
    int rc = 0, vanished = 1;
    err = err ? err : &own;
    /* A trainer at work removes old files only after it has written a newer one: look again. */
    for (int looks = 0; looks < MOST_LOOKS && vanished; looks++) {
        vanished = 0;
        rc = newest_valid(path, &vanished, dir, log, err);
        if (!rc)
            break;
    }
    return rc == ERR_MISSING || rc == ERR_DAMAGED ? best_instead(path, rc, dir, log, err) : rc;
}

/* 1: somebody has exported a voice for other programs there. */
static int has_onnx(const char *dir)
{
    static const char ending[] = ".onnx";
    int found = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e = d ? readdir(d) : NULL; e && !found; e = readdir(d)) {
        const size_t n = strlen(e->d_name);
        found = n >= sizeof ending && strcmp(e->d_name + n - (sizeof ending - 1), ending) == 0;
    }
    if (d)
        closedir(d);
    return found;
}

/* The best one, or the newest where there is no usable best. */
static int find_in_folder(char path[CHECKPOINT_PATH_SIZE], const char *dir, Log *log, Err *err)
{
    Err e = {0};
    int rc = folder_join(path, dir, BEST_NAME, err);
    if (rc)
        return rc;
    rc = check_file(path, &e);
    if (rc == 0)
        return 0;
    if (rc != ERR_MISSING)
        warn_skipped(log, &e);
    int found = find_newest(path, dir, log, err);
    if (found == ERR_MISSING && has_onnx(dir)) {
        err_set(err, ERR_MISSING, "%s holds an ONNX file, for other programs, but no checkpoint", dir);
        return err_hint(err, "myxtts speaks from the folder of the training, or from a .safetensors file");
    }
    /* There is one after all, and it is the damaged best. */
    if (found == ERR_MISSING && rc != ERR_MISSING) {
        if (err)
            *err = e;
        return rc;
    }
    return found;
}

int checkpoint_newest(char path[CHECKPOINT_PATH_SIZE], const char *dir, Err *err)
{
    StepList list;
    path[0] = 0;
    int rc = folder_list_steps(&list, dir, err);
    if (!rc)
        rc = list.count ? folder_join(path, dir, list.items[0].name, err)
                        : err_set(err, ERR_MISSING, "no checkpoint in %s", dir);
    free(list.items);
    return rc;
}

/* A file that is found here has been opened and checked once. */
int checkpoint_find(char path[CHECKPOINT_PATH_SIZE], const char *what, const char *dir, Log *log, Err *err)
{
    path[0] = 0;
    dir = dir && dir[0] ? dir : ".";
    if (!what || strcmp(what, "auto") == 0)
        return find_newest(path, dir, log, err);
    struct stat st;
    int rc;
    if (strcmp(what, "best") == 0) {
        rc = folder_join(path, dir, BEST_NAME, err);
    } else if (stat(what, &st) == 0 && S_ISDIR(st.st_mode)) {
        return find_in_folder(path, what, log, err);
    } else if (strcmp(what, "base") == 0 && !file_exists(what) && base_file_find(path)) {
        rc = 0;
    } else {
        int n = snprintf(path, CHECKPOINT_PATH_SIZE, "%s", what);
        rc = n >= CHECKPOINT_PATH_SIZE ? err_set(err, ERR_DATA, "the path %.200s... is too long", what) : 0;
    }
    if (!rc)
        rc = check_file(path, err);
    if (rc)
        path[0] = 0;
    if (rc == ERR_MISSING)
        err_hint(err,
                 "name a checkpoint by auto, best, its file, or a folder that contains step-00001000" SUFFIX
                 " or " BEST_NAME "; base is the voice that comes with the program");
    return rc;
}
