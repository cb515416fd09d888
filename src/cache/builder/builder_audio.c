/* builder_audio.c - the part of a builder that makes records from audio files, on many threads. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/ordered.h"
#include "cache/builder/builder_private.h"

#define MAX_AUDIO_FILE ((size_t)1 << 30) /* bytes; no clip within max_audio_length comes near it */

/* The file's bytes, and a check that they did not change while being read. 0, or a negative code with the
 * reason in detail. */
static int read_audio(Buf *bytes, const char *path, const FileStamp *expected, char *detail, size_t cap)
{
    Err err = {0};
    FileStamp after;
    buf_clear(bytes);
    int rc = file_read(bytes, path, MAX_AUDIO_FILE, &err);
    if (!rc)
        rc = file_stamp(&after, path, &err);
    if (rc)
        snprintf(detail, cap, "%s", err.msg);
    else if (memcmp(&after, expected, sizeof after) != 0) {
        snprintf(detail, cap, "the file changed while it was being read");
        rc = ERR_DATA;
    }
    return rc;
}

/* In any thread: reads the file, and has a record made when the old one does not hold. */
static void work(void *user, int thread, int slot, uint64_t item)
{
    Builder *b = user;
    Worker *w = &b->workers[thread];
    Produced *r = &b->results[slot];
    size_t i = b->mine[item];
    const Utterance *u = &b->p->dataset->utterances[i];
    const Source *s = &b->sources[i];
    char path[PATH_MAX];
    Err err = {0};
    *r = (Produced){.payload = r->payload};
    int rc = dataset_audio_path(b->p->dataset, u, path, sizeof path, &err);
    if (rc)
        snprintf(r->detail, sizeof r->detail, "%s", err.msg);
    else
        rc = read_audio(&w->bytes, path, &s->stamp, r->detail, sizeof r->detail);
    if (rc) {
        r->reason = rc == ERR_MISSING ? REJECT_AUDIO_MISSING
                    : rc == ERR_NOMEM ? REJECT_NO_MEMORY
                                      : REJECT_AUDIO_UNREADABLE;
        return;
    }
    r->key = b->producer->key(b->settings, u, hash_bytes(w->bytes.data, w->bytes.size));
    /* The stamp has changed; have the bytes? */
    r->is_old = !hash_equal(s->old_key, (Hash128){0}) && hash_equal(s->old_key, r->key);
    if (!r->is_old)
        b->producer->produce(w->state, r, &(ProducerInput){path, w->bytes.data, w->bytes.size});
}

/* In the caller's thread, in order. */
static int finish(void *user, int slot, uint64_t item, Err *err)
{
    Builder *b = user;
    return builder_place(b, &b->results[slot], err);
}

/* The first worker holds what the others share. */
static int open_workers(Builder *b, Err *err)
{
    int rc = 0;
    b->workers = mem_calloc((size_t)b->threads, sizeof *b->workers);
    b->results = mem_calloc((size_t)b->slots, sizeof *b->results);
    if (!b->workers || !b->results)
        return err_set(err, ERR_NOMEM, "no memory for %d workers", b->threads);
    for (int i = 0; i < b->threads && !rc; i++)
        rc = b->producer->open(&b->workers[i].state, i ? b->workers[0].state : NULL, b->p->cfg, err);
    return rc;
}

/* The first one last. */
static void close_workers(Builder *b)
{
    for (int i = b->threads - 1; i >= 0 && b->workers; i--) {
        b->producer->close(b->workers[i].state);
        buf_free(&b->workers[i].bytes);
    }
    for (int i = 0; i < b->slots && b->results; i++)
        buf_free(&b->results[i].payload);
    free(b->workers);
    free(b->results);
    b->workers = NULL;
    b->results = NULL;
}

/* Memory is bounded by the slots, not by the corpus. */
int builder_run_audio(Builder *b, Err *err)
{
    OrderedJob job = {.name = b->producer->store,
                      .items = b->mine_count,
                      .workers = b->p->workers,
                      .slots = b->slots,
                      .user = b,
                      .work = work,
                      .finish = finish};
    int rc = open_workers(b, err);
    if (!rc)
        rc = ordered_run(&job, err);
    close_workers(b);
    return rc;
}
