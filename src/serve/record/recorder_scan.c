/* recorder_scan.c - what a folder of recordings has already: pairs whose text is in the list are done; of all
 * others the names are not used. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/utf8.h"
#include "dataset/audio_file.h"
#include "serve/recorder_private.h"

#define TEXT_BYTES 4096 /* of a text that may be one of ours */
#define MOST_FILES 1000000

typedef struct Stems {
    const char **names; /* file names without their endings, each once */
    size_t count, cap;
    Map map;
} Stems;

static int is_stem(const Stems *s, const char *name, size_t n)
{
    uint32_t i;
    for (MapWalk w = map_walk(&s->map, hash64(name, n)); map_next(&w, &i);)
        if (strlen(s->names[i]) == n && memcmp(s->names[i], name, n) == 0)
            return 1;
    return 0;
}

static int add_stem(Recorder *r, Stems *s, const char *name, size_t n, Err *err)
{
    if (is_stem(s, name, n))
        return 0;
    char *copy = block_strndup(&r->names, name, n);
    if (!copy || mem_grow(&s->names, &s->cap, s->count + 1, sizeof *s->names) ||
        map_reserve(&s->map, s->cap) || map_add(&s->map, hash64(name, n), (uint32_t)s->count))
        return err_set(err, ERR_NOMEM, "no memory for the files in %s", r->folder);
    s->names[s->count++] = copy;
    return 0;
}

/* What a server left that was killed while it wrote: "0001.wav.tmp4711". */
static int is_left_over(const char *name)
{
    const char *tmp = strstr(name, ".tmp");
    return tmp && tmp - name > 4 && (strncmp(tmp - 4, ".wav", 4) == 0 || strncmp(tmp - 4, ".txt", 4) == 0) &&
           tmp[4] && strspn(tmp + 4, "0123456789") == strlen(tmp + 4);
}

static int read_folder(Recorder *r, Stems *s, Err *err)
{
    int rc = 0;
    DIR *d = opendir(r->folder);
    if (!d)
        return err_set_errno(err, ERR_IO, "cannot read the folder %s", r->folder);
    for (struct dirent *e = readdir(d); e && !rc; e = readdir(d)) {
        const char *dot = strrchr(e->d_name, '.');
        if (e->d_name[0] == '.')
            continue;
        if (is_left_over(e->d_name))
            unlinkat(dirfd(d), e->d_name, 0);
        else if (s->count >= MOST_FILES)
            rc = err_set(err, ERR_DATA, "%s has more than %d files: record into a separate folder", r->folder,
                         MOST_FILES);
        else
            rc = add_stem(r, s, e->d_name, dot ? (size_t)(dot - e->d_name) : strlen(e->d_name), err);
    }
    closedir(d);
    return rc;
}

/* The sentence with this text, that has no ID yet; -1: none. */
static long sentence_of(const Recorder *r, const Map *texts, const char *text, size_t n)
{
    uint32_t i;
    for (MapWalk w = map_walk(texts, hash64(text, n)); map_next(&w, &i);)
        if (!r->items[i].id && strlen(r->sentences.texts[i]) == n &&
            memcmp(r->sentences.texts[i], text, n) == 0)
            return (long)i;
    return -1;
}

/* The take of a sentence; 1: there is none. A file that cannot be read as such is not ours. */
static int read_take(const Recorder *r, RecorderItem *k, const char *path, const char *text, Err *err)
{
    Buf wav = {0};
    Take take = {0};
    if (!file_exists(path))
        return 1;
    int rc = file_read(&wav, path, (size_t)64 << 20, err);
    if (!rc)
        rc = take_read(&take, wav.data ? wav.data : "", wav.size, err);
    if (!rc)
        rc = take_measure(&take, utf8_count(text, strlen(text)), err);
    buf_free(&wav);
    k->seconds = rc ? 0 : take.seconds;
    k->findings = take.findings;
    return rc;
}

/* A pair that was not recorded here counts with the length in its header. */
static void count_other(Recorder *r, const char *path)
{
    AudioInfo info;
    char detail[256];
    if (!file_exists(path) || audio_probe(&info, path, 0, 0, detail, sizeof detail) != REJECT_NONE)
        return;
    r->others++;
    r->other_seconds += (double)info.frames / info.rate;
}

static int look_at(Recorder *r, const Map *texts, const char *stem, Err *err)
{
    Buf text = {0};
    char *text_path = recorder_path(r, stem, ".txt"), *wav_path = recorder_path(r, stem, ".wav");
    int rc = text_path && wav_path ? 0 : err_set(err, ERR_NOMEM, "no memory for a path");
    if (rc || !file_exists(text_path))
        goto end;
    long i = -1;
    if (file_read(&text, text_path, TEXT_BYTES, NULL) == 0 &&
        utf8_valid(stem, strlen(stem)) == strlen(stem)) {
        while (text.size && strchr("\r\n\t ", text.data[text.size - 1]))
            text.size--;
        i = sentence_of(r, texts, text.data ? text.data : "", text.size);
    }
    if (i < 0) {
        count_other(r, wav_path);
        goto end;
    }
    RecorderItem *k = &r->items[i];
    rc = read_take(r, k, wav_path, r->sentences.texts[i], NULL);
    if (rc >= 0)
        k->id = stem;
    else if (rc != ERR_NOMEM)
        count_other(r, wav_path);
    rc = rc == ERR_NOMEM ? err_set(err, ERR_NOMEM, "no memory for the recordings in %s", r->folder) : 0;
    if (k->seconds > 0) {
        r->done++;
        r->seconds += k->seconds;
    }
end:
    buf_free(&text);
    free(text_path);
    free(wav_path);
    return rc;
}

/* Its place in the list, or the next number that is free. */
static int give_ids(Recorder *r, const Stems *s, Err *err)
{
    size_t further = r->sentences.count;
    for (size_t i = 0; i < r->sentences.count; i++) {
        char id[32];
        if (r->items[i].id)
            continue;
        int n = snprintf(id, sizeof id, "%04zu", i + 1);
        while (is_stem(s, id, (size_t)n))
            n = snprintf(id, sizeof id, "%04zu", ++further);
        r->items[i].id = block_strndup(&r->names, id, (size_t)n);
        if (!r->items[i].id)
            return err_set(err, ERR_NOMEM, "no memory for the sentences");
    }
    return 0;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

int recorder_scan(Recorder *r, Err *err)
{
    Stems s = {0};
    Map texts = {0};
    const size_t count = r->sentences.count;
    r->items = mem_calloc(count, sizeof *r->items);
    int rc = r->items && map_reserve(&texts, count) == 0
                 ? 0
                 : err_set(err, ERR_NOMEM, "no memory for %zu sentences", count);
    for (size_t i = 0; i < count && !rc; i++)
        rc = map_add(&texts, hash64(r->sentences.texts[i], strlen(r->sentences.texts[i])), (uint32_t)i);
    if (!rc)
        rc = read_folder(r, &s, err);
    if (!rc && s.count) { /* of two pairs with the same text the first by name is the one */
        char **sorted = mem_calloc(s.count, sizeof *sorted);
        if (sorted) {
            memcpy(sorted, s.names, s.count * sizeof *sorted);
            qsort(sorted, s.count, sizeof *sorted, by_name);
        } else {
            rc = err_set(err, ERR_NOMEM, "no memory for the files in %s", r->folder);
        }
        for (size_t i = 0; i < s.count && !rc; i++)
            rc = look_at(r, &texts, sorted[i], err);
        free(sorted);
    }
    if (!rc)
        rc = give_ids(r, &s, err);
    map_free(&texts);
    map_free(&s.map);
    free(s.names);
    return rc;
}
