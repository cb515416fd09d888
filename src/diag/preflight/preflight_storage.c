/* preflight_storage.c - where a run writes: rights and room; and the limits that the shell set. Looks, never
 * writes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "cache/prepare.h"
#include "diag/preflight/preflight_private.h"
#include "voice/checkpoint_folder.h"

/* The folder itself, or the nearest one above it that is there; malloc'd. */
static char *nearest_folder(const char *path)
{
    char *copy = strdup(path[0] ? path : ".");
    struct stat st;
    while (copy && stat(copy, &st)) {
        char *slash = strrchr(copy, '/');
        if (slash == copy)
            copy[1] = 0;
        else if (slash)
            *slash = 0;
        else
            strcpy(copy, ".");
        if (strcmp(copy, "/") == 0 || strcmp(copy, ".") == 0)
            break;
    }
    return copy;
}

/* 1 and *room when the folder can be written to; else the finding. */
static int check_folder(Survey *s, const char *key, const char *path, uint64_t *room)
{
    Preflight *p = s->p;
    struct stat st;
    struct statvfs fs;
    char *there = nearest_folder(path);
    if (!there) {
        p->failed = 1;
        return 0;
    }
    const char *wrong = NULL;
    if (stat(there, &st) || !S_ISDIR(st.st_mode))
        wrong = preflight_say(p, SAY_CHECK_NOT_A_FOLDER, there);
    else if (access(there, W_OK | X_OK))
        wrong = errno == EROFS ? preflight_say(p, SAY_CHECK_READ_ONLY, there)
                               : preflight_say(p, SAY_CHECK_FORBIDDEN, there);
    if (wrong)
        preflight_finding(s, (Finding){.severity = FINDING_ERROR,
                                       .area = AREA_STORAGE,
                                       .key = key,
                                       .what = wrong,
                                       .why = word(SAY_CHECK_FOLDER_WHY),
                                       .value = preflight_keep(p, path),
                                       .fix = preflight_say(p, SAY_CHECK_FOLDER_FIX, key)});
    *room = 0;
    if (!wrong && statvfs(there, &fs) == 0)
        *room = (uint64_t)fs.f_bavail * fs.f_frsize;
    free(there);
    return !wrong;
}

/* Free space against what the run will write. */
static void check_room(Survey *s, const char *key, const char *what, uint64_t room, uint64_t need,
                       const char *how)
{
    Preflight *p = s->p;
    const char *have = preflight_bytes(p, room);
    int enough = room >= need;
    preflight_row(s, AREA_STORAGE, what, preflight_say(p, SAY_CHECK_FREE, have),
                  enough ? STATUS_GOOD : STATUS_BAD,
                  need ? preflight_say(p, SAY_CHECK_NEEDED_FOR, preflight_bytes(p, need), how) : "");
    if (!enough)
        preflight_finding(
            s, (Finding){.severity = FINDING_ERROR,
                         .area = AREA_STORAGE,
                         .key = key,
                         .what = preflight_say(p, SAY_CHECK_FULL, what, preflight_bytes(p, need), have),
                         .why = preflight_say(p, SAY_CHECK_FULL_WHY, how),
                         .fix = preflight_say(p, SAY_CHECK_FULL_FIX, key)});
}

/* A checkpoint that was asked for must be there and whole. */
static void check_resume(Survey *s)
{
    const Config *c = s->cfg;
    char path[CHECKPOINT_PATH_SIZE];
    Err err = {0};
    int is_auto = strcmp(c->resume, "auto") == 0;
    if (strcmp(c->resume, "none") == 0 || (is_auto && !file_exists(c->checkpoint_dir)))
        return;
    int rc = checkpoint_find(path, is_auto ? NULL : c->resume, c->checkpoint_dir, NULL, &err);
    if (rc == 0)
        preflight_row(s, AREA_STORAGE, "resume", preflight_keep(s->p, path), STATUS_GOOD,
                      word(SAY_CHECK_INTACT));
    else if (!is_auto || rc != ERR_MISSING)
        preflight_finding(s, (Finding){.severity = FINDING_ERROR,
                                       .area = AREA_STORAGE,
                                       .key = "resume",
                                       .what = preflight_say(s->p, SAY_CHECK_NO_RESUME, err.msg),
                                       .why = word(SAY_CHECK_NO_FIRST_STEP),
                                       .fix = preflight_say(s->p, SAY_CHECK_NO_RESUME_FIX)});
}

/* Weights that a run is to begin with must be there and whole. */
static void check_init_from(Survey *s)
{
    char path[CHECKPOINT_PATH_SIZE];
    Err err = {0};
    if (!config_begins_with(s->cfg))
        return;
    if (checkpoint_find(path, s->cfg->init_from, s->cfg->checkpoint_dir, NULL, &err) == 0)
        preflight_row(s, AREA_STORAGE, "init_from", preflight_keep(s->p, path), STATUS_GOOD,
                      word(SAY_CHECK_INTACT));
    else
        preflight_finding(s, (Finding){.severity = FINDING_ERROR,
                                       .area = AREA_STORAGE,
                                       .key = "init_from",
                                       .what = preflight_say(s->p, SAY_CHECK_NO_INIT, err.msg),
                                       .why = word(SAY_CHECK_NO_FIRST_STEP),
                                       .fix = word(SAY_CHECK_NO_INIT_FIX)});
}

/* Rights first: room on a disk that cannot be written to means nothing. */
void preflight_storage(Survey *s)
{
    const Config *c = s->cfg;
    uint64_t room = 0, one = (uint64_t)s->plan.parameters * 3 * sizeof(float);
    if (check_folder(s, "checkpoint_dir", c->checkpoint_dir, &room)) {
        /* The best, and the one being written. */
        uint64_t files = (uint64_t)c->keep_checkpoints + 2;
        check_room(
            s, "checkpoint_dir", word(SAY_CHECK_CHECKPOINTS), room, one * files,
            preflight_say(s->p, SAY_CHECK_FILES, (unsigned long long)files, preflight_bytes(s->p, one)));
    }
    check_resume(s);
    check_init_from(s);
    if (!c->data_path[0] && !c->cache_dir[0])
        return;
    char *cache = prepare_cache_dir(c);
    if (!cache)
        s->p->failed = 1;
    else if (check_folder(s, "cache_dir", cache, &room))
        check_room(s, "cache_dir", word(SAY_CHECK_CACHES), room, s->cache_estimate,
                   word(s->cache_estimate ? SAY_CHECK_FROM_HEADERS : SAY_CHECK_NOTHING_TO_BUILD));
    free(cache);
}

/* ---- ulimit ---- */

/* As ulimit shows it. */
static const char *limit_text(Preflight *p, rlim_t x, int bytes)
{
    if (x == RLIM_INFINITY)
        return word(SAY_CHECK_UNLIMITED);
    return bytes ? preflight_bytes(p, (uint64_t)x) : preflight_format(p, "%llu", (unsigned long long)x);
}

/* A limit that has to leave `need`. */
static void check_limit(Survey *s, int resource, Word which, const char *option, uint64_t need, int bytes,
                        Severity severity, Word why)
{
    Preflight *p = s->p;
    const char *name = word(which);
    struct rlimit r;
    if (getrlimit((__rlimit_resource_t)resource, &r))
        return;
    int low = r.rlim_cur != RLIM_INFINITY && (uint64_t)r.rlim_cur < need;
    const char *value = limit_text(p, r.rlim_cur, bytes);
    preflight_row(s, AREA_LIMITS, name, value, low ? STATUS_BAD : STATUS_GOOD,
                  need ? preflight_say(p, SAY_CHECK_NEEDED, limit_text(p, (rlim_t)need, bytes)) : "");
    if (!low)
        return;
    /* ulimit counts in KiB where the limit is in bytes. */
    uint64_t unit = bytes ? (need + 1023) / 1024 : need;
    int allowed = r.rlim_max == RLIM_INFINITY || (uint64_t)r.rlim_max >= need;
    preflight_finding(
        s, (Finding){.severity = severity,
                     .area = AREA_LIMITS,
                     .what = preflight_say(p, SAY_CHECK_LOW, name, value, limit_text(p, (rlim_t)need, bytes)),
                     .why = word(why),
                     .value = value,
                     .fix = preflight_format(p, "ulimit %s %llu%s", option, (unsigned long long)unit,
                                             allowed ? "" : word(SAY_CHECK_HARD))});
}

/* Limits that a shell or a cluster sets, and that end a run hours later. */
void preflight_limits(Survey *s)
{
    int workers = s->workers;
    uint64_t checkpoint = (uint64_t)s->plan.parameters * 3 * sizeof(float);
    uint64_t largest = checkpoint > s->cache_estimate ? checkpoint : s->cache_estimate;
    struct rlimit r;
    check_limit(s, RLIMIT_NOFILE, SAY_CHECK_OPEN_FILES, "-n", 128 + s->segments + 8 * (uint64_t)workers, 0,
                FINDING_ERROR, SAY_CHECK_OPEN_FILES_WHY);
    check_limit(s, RLIMIT_STACK, SAY_CHECK_STACK, "-s", 512 * 1024, 1, FINDING_WARNING, SAY_CHECK_STACK_WHY);
    check_limit(s, RLIMIT_FSIZE, SAY_CHECK_FILE_SIZE, "-f", largest, 1, FINDING_ERROR,
                SAY_CHECK_FILE_SIZE_WHY);
    check_limit(s, RLIMIT_NPROC, SAY_CHECK_PROCESSES, "-u", 64 + 2 * (uint64_t)workers, 0, FINDING_WARNING,
                SAY_CHECK_PROCESSES_WHY);
    /* Addresses, not memory: mappings count in full. */
    uint64_t address = s->on_gpu ? (uint64_t)64 << 30 : s->plan.model_total * 2;
    check_limit(s, RLIMIT_AS, SAY_CHECK_ADDRESSES, "-v", address, 1, FINDING_WARNING,
                s->on_gpu ? SAY_CHECK_ADDRESSES_GPU : SAY_CHECK_ADDRESSES_CPU);
    if (getrlimit(RLIMIT_MEMLOCK, &r) == 0)
        preflight_row(s, AREA_LIMITS, word(SAY_CHECK_LOCKED), limit_text(s->p, r.rlim_cur, 1), STATUS_INFO,
                      s->on_gpu
                          ? preflight_say(s->p, SAY_CHECK_LOCKED_GPU, preflight_bytes(s->p, s->plan.pinned))
                          : word(SAY_CHECK_LOCKED_CPU));
    if (getrlimit(RLIMIT_CPU, &r) == 0 && r.rlim_cur != RLIM_INFINITY)
        preflight_finding(
            s, (Finding){.severity = FINDING_WARNING,
                         .area = AREA_LIMITS,
                         .what = preflight_say(s->p, SAY_CHECK_TIME, (unsigned long long)r.rlim_cur),
                         .why = word(SAY_CHECK_TIME_WHY),
                         .value = preflight_say(s->p, SAY_CHECK_SECONDS, (unsigned long long)r.rlim_cur),
                         .fix = "ulimit -t unlimited"});
}
