/* storage.c - see storage.h. */
#include "diag/pipeline/storage.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "cache/prepare.h"

#define MOST_SECONDS 3.0
#define ALIGN 4096

/* Opens past the page cache; *direct says how. */
static int open_file(const char *path, int *direct)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_DIRECT);
    *direct = fd >= 0;
    if (fd < 0)
        fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && !*direct)
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    return fd;
}

/* A signal is not a failure. */
static ssize_t read_at(int fd, void *to, size_t bytes, off_t at)
{
    ssize_t n;
    do
        n = pread(fd, to, bytes, at);
    while (n < 0 && errno == EINTR);
    return n;
}

/* Scaled to one MiB: files may be shorter. */
static void add(StorageTest *t, double seconds, size_t bytes)
{
    if (t->count < STORAGE_READS && bytes > 0)
        t->seconds[t->count++] = seconds * (double)STORAGE_BYTES / (double)bytes;
}

/* Random places of one large file. */
static void read_places(StorageTest *t, const char *path, void *buffer, int reads, Rng *rng, double until)
{
    int direct, fd = open_file(path, &direct);
    off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    if (fd < 0)
        return;
    t->files++;
    t->direct = direct;
    for (int i = 0; i < reads && size >= (off_t)STORAGE_BYTES && clock_now() < until; i++) {
        /* Aligned, as O_DIRECT wants it. */
        off_t at = (off_t)rng_below(rng, (uint64_t)(size - (off_t)STORAGE_BYTES) / ALIGN + 1) * ALIGN;
        double start = clock_now();
        ssize_t n = read_at(fd, buffer, STORAGE_BYTES, at);
        if (n <= 0)
            break;
        add(t, clock_now() - start, (size_t)n);
    }
    close(fd);
}

/* Whole audio files, until 1 MiB is together. */
static void read_audio(StorageTest *t, const Corpus *corpus, void *buffer, Rng *rng, double until)
{
    while (t->count < STORAGE_READS && clock_now() < until) {
        /* Opening counts: with small files it is most of the time. */
        double seconds = 0;
        size_t bytes = 0;
        for (int tries = 0; tries < 256 && bytes < STORAGE_BYTES && clock_now() < until; tries++) {
            const CorpusItem *c = &corpus->items[rng_below(rng, corpus->count)];
            char path[PATH_MAX];
            Err ignored = {0};
            int direct, fd;
            if (dataset_audio_path(&corpus->dataset, &corpus->dataset.utterances[c->utterance], path,
                                   sizeof path, &ignored))
                continue;
            double start = clock_now();
            fd = open_file(path, &direct);
            if (fd < 0)
                continue;
            ssize_t n = read_at(fd, buffer, STORAGE_BYTES, 0);
            seconds += clock_now() - start;
            close(fd);
            t->direct = direct;
            t->files++;
            bytes += n > 0 ? (size_t)n : 0;
        }
        if (bytes == 0)
            return;
        add(t, seconds, bytes);
    }
}

/* The mean is judged; median and worst say how even it is. */
static void summarise(StorageTest *t)
{
    Stats s = {0};
    double sorted[STORAGE_READS];
    for (int i = 0; i < t->count; i++)
        stats_add(&s, t->seconds[i]);
    memcpy(sorted, t->seconds, sizeof sorted);
    t->median = stats_percentile(sorted, (size_t)t->count, 0.5);
    t->mean = s.mean;
    t->worst = s.max;
    t->bytes_per_s = s.mean > 0 ? (double)STORAGE_BYTES / s.mean : 0;
}

/* What training itself would read: cache segments, or audio files. */
void storage_measure(StorageTest *t, const Config *cfg, const Corpus *corpus)
{
    *t = (StorageTest){0};
    void *buffer = mem_aligned(ALIGN, STORAGE_BYTES, 1);
    char *dir = prepare_cache_dir(cfg);
    double until = clock_now() + MOST_SECONDS;
    Rng rng;
    /* Other places in every run: what was read last time may be in a cache below us. */
    rng_seed(&rng, (uint64_t)(clock_now() * 1e9));
    if (!buffer || !dir || corpus->count == 0)
        snprintf(t->why_not, sizeof t->why_not, "there is nothing to read");
    else if (corpus_on_the_fly(corpus, cfg))
        read_audio(t, corpus, buffer, &rng, until);
    else {
        const Store *store = corpus_store(corpus);
        uint32_t last = 0;
        /* Each segment once. */
        for (uint64_t k = 0; k < store->count && t->count < STORAGE_READS; k++) {
            StoreEntry e;
            store_entry(store, k, &e);
            if (e.segment == last)
                continue;
            last = e.segment;
            char *path = store_segment_path(store->dir, store->name, e.segment, 0);
            if (path)
                read_places(t, path, buffer, STORAGE_READS - t->count, &rng, until);
            free(path);
        }
        t->is_cache = t->count > 0;
        if (t->count == 0)
            read_audio(t, corpus, buffer, &rng, until);
    }
    if (t->count == 0 && !t->why_not[0])
        snprintf(t->why_not, sizeof t->why_not, "no file of the dataset could be read");
    summarise(t);
    free(dir);
    free(buffer);
}
