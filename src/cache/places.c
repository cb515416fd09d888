/* places.c - see places.h. */
#include "cache/places.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "cache/features.h"
#include "cache/prepare.h"
#include "cache/store/store_private.h"
#include "text/text.h"

#define HASH_DIGITS 16 /* in the name of a folder; `inspect` shows them as the first of its settings */

static const char *const store_names[] = {TEXT_STORE, MEL_STORE, AUDIO_STORE, PREDICTED_STORE};
enum { STORES = sizeof store_names / sizeof *store_names };

/* ---- one place ---- */

/* The head of an index. 1: it is there and is one. */
static int read_head(IndexHeader *h, const char *dir, const char *name)
{
    char *path = store_index_path(dir, name);
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    int there = fd >= 0 && file_pread_all(fd, h, sizeof *h, 0, path, NULL) == 0 &&
                memcmp(h->magic, INDEX_MAGIC, sizeof h->magic) == 0 && h->version == STORE_VERSION;
    if (fd >= 0)
        close(fd);
    free(path);
    return there;
}

char *cache_own_folder(const char *dir, const char *name, Hash128 settings)
{
    char file[64];
    snprintf(file, sizeof file, "%s-%016llx", name, (unsigned long long)settings.hi);
    return file_join(dir, file);
}

/* A flipped byte can make settings look like others: only a whole index says whose place it is. */
static int is_whole(const char *dir, const char *name)
{
    FileMap m = {0};
    char *path = store_index_path(dir, name);
    int whole = path && file_load(&m, path, NULL) == 0 && m.size >= sizeof(IndexHeader);
    if (whole) {
        IndexHeader h;
        memcpy(&h, m.data, sizeof h);
        whole = h.file_size == m.size && h.checksum == index_checksum(m.data, m.size);
    }
    file_unmap(&m);
    free(path);
    return whole;
}

char *cache_place(const char *dir, const char *name, Hash128 settings)
{
    IndexHeader h;
    char *own = cache_own_folder(dir, name, settings);
    if (!own)
        return NULL;
    /* A damaged index belongs to no settings: its place is free. */
    if (!file_exists(own) &&
        (!read_head(&h, dir, name) || (h.settings[0] == settings.lo && h.settings[1] == settings.hi) ||
         !is_whole(dir, name))) {
        free(own);
        return strdup(dir);
    }
    return own;
}

int settings_unknown(const char *name, Err *err)
{
    err_set(err, ERR_IO, "cannot tell which %s cache belongs to these settings", name);
    return err_hint(err, "cannot read the data of espeak-ng, or too many files are open (ulimit -n)");
}

int cache_open(Store *s, const char *dir, const char *name, Hash128 settings, Err *err)
{
    *s = (Store){0};
    if (hash_equal(settings, (Hash128){0}))
        return settings_unknown(name, err);
    char *place = cache_place(dir, name, settings);
    if (!place)
        return err_set(err, ERR_NOMEM, "no memory for a path");
    int rc = store_open(s, place, name, err);
    if (rc == ERR_MISSING && strcmp(place, dir) != 0)
        err_set(err, ERR_MISSING, "the %s cache in %s was made with other settings", name, dir);
    free(place);
    return rc;
}

/* ---- all places ---- */

/* One of the files of a store: index, segment, part, or a draft of the index. */
static int is_file_of(const char *file, const char *name)
{
    size_t n = strlen(name);
    if (strncmp(file, name, n) != 0)
        return 0;
    unsigned number;
    int end = 0;
    if (strcmp(file + n, ".index") == 0 || strncmp(file + n, ".index.tmp", 10) == 0)
        return 1;
    if (sscanf(file + n, "-%u.%n", &number, &end) != 1 || !end)
        return 0;
    return strcmp(file + n + end, "seg") == 0 || strcmp(file + n + end, "part") == 0;
}

/* "mel-0123456789abcdef" */
static int is_folder_of(const char *file, const char *name)
{
    size_t n = strlen(name);
    return strncmp(file, name, n) == 0 && file[n] == '-' && strlen(file + n + 1) == HASH_DIGITS &&
           strspn(file + n + 1, "0123456789abcdef") == HASH_DIGITS;
}

/* Sums up the files of a store in a folder, or removes them. Returns how many there are, or an error. */
static int64_t each_file(const char *dir, const char *name, uint64_t *bytes, int remove, Err *err)
{
    int64_t count = 0;
    DIR *d = opendir(dir);
    for (struct dirent *f; d && (f = readdir(d)) != NULL;) {
        struct stat st;
        if (!is_file_of(f->d_name, name) || fstatat(dirfd(d), f->d_name, &st, 0) || !S_ISREG(st.st_mode))
            continue;
        count++;
        *bytes += (uint64_t)st.st_size;
        if (remove && unlinkat(dirfd(d), f->d_name, 0)) {
            count = err_set_errno(err, ERR_IO, "cannot remove %s/%s", dir, f->d_name);
            break;
        }
    }
    if (d)
        closedir(d);
    return count;
}

/* A sum, as the files come in any order. */
uint64_t cache_stamp(const char *dir, const char *name, Hash128 settings)
{
    uint64_t sum = 0;
    char *place = cache_place(dir, name, settings);
    DIR *d = place ? opendir(place) : NULL;
    for (struct dirent *f; d && (f = readdir(d)) != NULL;) {
        struct stat st;
        FileStamp stamp;
        if (!is_file_of(f->d_name, name))
            continue;
        if (fstatat(dirfd(d), f->d_name, &st, 0)) {
            sum = 0;
            break;
        }
        file_stamp_from(&stamp, &st);
        const uint64_t parts[2] = {hash64(f->d_name, strlen(f->d_name)), hash64(&stamp, sizeof stamp)};
        sum += hash64(parts, sizeof parts);
    }
    if (d)
        closedir(d);
    free(place);
    return sum;
}

/* Takes dir over. */
static int add_place(CacheList *l, const char *name, char *dir, const char *current, Err *err)
{
    IndexHeader h;
    CachePlace p = {.store = name, .dir = dir};
    if (!dir || mem_grow(&l->items, &l->cap, l->count + 1, sizeof *l->items)) {
        free(dir);
        return err_set(err, ERR_NOMEM, "no memory for the list of caches");
    }
    if (each_file(dir, name, &p.bytes, 0, NULL) <= 0) {
        free(dir);
        return 0;
    }
    if (read_head(&h, dir, name)) {
        p.settings = (Hash128){h.settings[0], h.settings[1]};
        p.records = h.count;
    }
    p.current = current && strcmp(dir, current) == 0;
    l->items[l->count++] = p;
    return 0;
}

static int compare_places(const void *a, const void *b)
{
    const CachePlace *x = a, *y = b;
    int by_store = strcmp(y->store, x->store); /* text, mel, audio */
    return by_store ? by_store : strcmp(x->dir, y->dir);
}

int cache_list(CacheList *l, const Config *cfg, Err *err)
{
    *l = (CacheList){0};
    /* Which voice made the predicted mels is not in the settings: none of these is current, and the run that
     * wants them again makes them. */
    const Hash128 settings[STORES] = {text_settings_hash(cfg), mel_settings_hash(cfg),
                                      audio_settings_hash(cfg)};
    char *dir = prepare_cache_dir(cfg);
    int rc = dir ? 0 : err_set(err, ERR_NOMEM, "no memory for a path");
    for (int i = 0; i < STORES && !rc; i++) {
        const int unknown = hash_equal(settings[i], (Hash128){0});
        char *current = unknown ? NULL : cache_place(dir, store_names[i], settings[i]);
        rc = add_place(l, store_names[i], strdup(dir), current, err);
        DIR *d = opendir(dir);
        for (struct dirent *f; d && !rc && (f = readdir(d)) != NULL;)
            if (is_folder_of(f->d_name, store_names[i]))
                rc = add_place(l, store_names[i], file_join(dir, f->d_name), current, err);
        if (d)
            closedir(d);
        free(current);
    }
    free(dir);
    if (rc)
        cache_list_free(l);
    else if (l->count)
        qsort(l->items, l->count, sizeof *l->items, compare_places);
    return rc;
}

void cache_list_free(CacheList *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->items[i].dir);
    free(l->items);
    *l = (CacheList){0};
}

uint64_t cache_list_unused(const CacheList *l, size_t *count)
{
    uint64_t bytes = 0;
    *count = 0;
    for (size_t i = 0; i < l->count; i++)
        if (!l->items[i].current) {
            bytes += l->items[i].bytes;
            ++*count;
        }
    return bytes;
}

json_t *cache_list_json(const CacheList *l)
{
    json_t *a = json_array();
    for (size_t i = 0; i < l->count; i++) {
        const CachePlace *p = &l->items[i];
        char hash[40];
        snprintf(hash, sizeof hash, "%016llx%016llx", (unsigned long long)p->settings.hi,
                 (unsigned long long)p->settings.lo);
        json_array_append_new(a, json_pack("{s:s, s:o, s:s, s:I, s:I, s:b}", "store", p->store, "folder",
                                           json_from_text(p->dir), "settings", hash, "records",
                                           (json_int_t)p->records, "bytes", (json_int_t)p->bytes, "current",
                                           p->current));
    }
    return a;
}

int cache_prune(const CacheList *l, Log *log, Err *err)
{
    int64_t rc = 0;
    for (size_t i = 0; i < l->count; i++)
        if (!l->items[i].current)
            log_info(log, "removing the %s cache of other settings in %s: %llu records, %.1f MB",
                     l->items[i].store, l->items[i].dir, (unsigned long long)l->items[i].records,
                     (double)l->items[i].bytes / 1e6);
    for (size_t i = 0; i < l->count && rc >= 0; i++) {
        const CachePlace *p = &l->items[i];
        uint64_t bytes = 0;
        if (p->current)
            continue;
        rc = each_file(p->dir, p->store, &bytes, 1, err);
        const char *slash = strrchr(p->dir, '/');
        if (rc >= 0 && slash && is_folder_of(slash + 1, p->store))
            rmdir(p->dir);
    }
    return rc < 0 ? (int)rc : 0;
}
