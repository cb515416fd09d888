/* share.c - see share.h. */
#include "cache/builder/share.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

#define LOOK_EVERY_MS 200

static int no_memory(Err *err) { return err_set(err, ERR_NOMEM, "no memory to share the work"); }

/* ---- groups ---- */

static char *token_path(const char *dir, uint64_t run, int rank)
{
    char name[64];
    snprintf(name, sizeof name, SHARE_TOKEN "%016llx-%d", (unsigned long long)run, rank);
    return file_join(dir, name);
}

static int write_token(const char *path, Err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return err_set_errno(err, ERR_IO, "cannot create %s", path);
    close(fd);
    return 0;
}

/* The lowest rank whose token lies in this folder too. A new name is looked up on the server, even if a
 * network file system has cached the folder's contents. */
static int find_leader(const char *dir, uint64_t run, int rank)
{
    for (int k = 0; k < rank; k++) {
        char *path = token_path(dir, run, k);
        int there = path && file_exists(path);
        free(path);
        if (there)
            return k;
    }
    return rank;
}

/* Every rank leaves a token and looks for those of others. */
static int find_group(Share *s, const char *dir, Err *err)
{
    int me = ranks_rank(s->ranks), count = ranks_count(s->ranks), leader = me;
    uint64_t run = 0;
    if (me == 0 && getrandom(&run, sizeof run, 0) != (ssize_t)sizeof run)
        run = (uint64_t)(clock_now() * 1e9) ^ (uint64_t)getpid();
    int *leaders = mem_calloc((size_t)count, sizeof *leaders);
    s->members = mem_calloc((size_t)count, sizeof *s->members);
    s->before = mem_calloc((size_t)count, sizeof *s->before);
    s->items = mem_calloc((size_t)count, sizeof *s->items);
    int rc = leaders && s->members && s->before && s->items ? 0 : no_memory(err);
    if (!rc)
        rc = ranks_broadcast(s->ranks, &run, sizeof run, 0, err);
    char *own = rc ? NULL : token_path(dir, run, me);
    if (!rc)
        rc = own ? write_token(own, err) : no_memory(err);
    if (!rc)
        rc = ranks_barrier(s->ranks, err);
    if (!rc) {
        leader = find_leader(dir, run, me);
        rc = ranks_gather(s->ranks, leaders, &leader, sizeof leader, err);
    }
    if (own)
        unlink(own);
    int found = 0;
    for (int k = 0; k < count && !rc; k++)
        if (leaders[k] == leader) {
            s->rank = k == me ? found : s->rank;
            s->members[found++] = k;
        }
    s->others = found > 0 ? found - 1 : 0;
    free(own);
    free(leaders);
    return rc;
}

/* A launcher may have given each rank its own cores, or all cores to all ranks. */
static int find_cores(Share *s, Err *err)
{
    cpu_set_t mine;
    CPU_ZERO(&mine);
    sched_getaffinity(0, sizeof mine, &mine);
    int count = ranks_count(s->ranks), sharing = 0;
    cpu_set_t *all = mem_calloc((size_t)count, sizeof *all);
    int rc = all ? ranks_gather(s->ranks, all, &mine, sizeof mine, err) : no_memory(err);
    const char *host = ranks_host(s->ranks, ranks_rank(s->ranks));
    for (int k = 0; k < count && !rc; k++)
        sharing += strcmp(ranks_host(s->ranks, k), host) == 0 && CPU_EQUAL(&all[k], &mine);
    s->cores = sharing > 0 ? CPU_COUNT(&mine) / sharing : 1;
    s->cores = s->cores > 0 ? s->cores : 1;
    free(all);
    return rc;
}

int share_open(Share *s, Ranks *ranks, const char *dir, Err *err)
{
    *s = (Share){0};
    if (!ranks)
        return 0;
    s->ranks = ranks;
    int rc = find_group(s, dir, err);
    if (!rc)
        rc = find_cores(s, err);
    if (rc)
        share_close(s);
    return rc;
}

void share_close(Share *s)
{
    share_watch_end(s);
    free(s->members);
    free(s->before);
    free(s->items);
    *s = (Share){0};
}

const char *share_name(const Share *s, int k, char *out, size_t cap)
{
    int rank = s->members ? s->members[k] : 0;
    snprintf(out, cap, "rank %d on %s", rank, ranks_host(s->ranks, rank));
    return out;
}

/* ---- messages ---- */

void share_pieces_free(SharePieces *p)
{
    free(p->of);
    buf_free(&p->all);
    *p = (SharePieces){0};
}

/* Every rank gets everything, and picks out what is of its group. */
static int exchange_ranks(Share *s, SharePieces *out, const Buf *mine, Err *err)
{
    size_t count = (size_t)ranks_count(s->ranks), at = 0;
    size_t *sizes = mem_calloc(count, sizeof *sizes);
    int rc =
        sizes ? ranks_gather_any(s->ranks, &out->all, sizes, mine->data, mine->size, err) : no_memory(err);
    int member = 0;
    for (size_t k = 0; k < count && !rc; k++) {
        if (member <= s->others && s->members[member] == (int)k)
            out->of[member++] = (SharePiece){out->all.data + at, sizes[k]};
        at += sizes[k];
    }
    free(sizes);
    return rc;
}

int share_exchange(Share *s, SharePieces *out, Buf *mine, Err *err)
{
    *out = (SharePieces){.of = mem_calloc((size_t)share_count(s), sizeof *out->of)};
    int rc = mine->failed || !out->of ? no_memory(err) : 0;
    if (!rc && s->ranks)
        rc = exchange_ranks(s, out, mine, err);
    else if (!rc) {
        out->all = *mine;
        *mine = (Buf){0};
        out->of[0] = (SharePiece){out->all.data, out->all.size};
    }
    buf_clear(mine);
    if (rc)
        share_pieces_free(out);
    return rc;
}

int share_follow(Share *s, Buf *data, Err *err)
{
    if (!s->ranks)
        return data->failed ? no_memory(err) : 0;
    SharePieces pieces;
    Buf none = {0};
    int rc = share_exchange(s, &pieces, share_leads(s) ? data : &none, err);
    buf_clear(data);
    if (!rc) {
        buf_add(data, pieces.of[0].data, pieces.of[0].size);
        rc = data->failed ? no_memory(err) : 0;
        share_pieces_free(&pieces);
    }
    return rc;
}

int share_agree(Share *s, const char *what, uint64_t value, Err *err)
{
    char text[24];
    snprintf(text, sizeof text, "%016llx", (unsigned long long)value);
    return ranks_agree(s->ranks, what, text, err);
}

/* ---- progress ---- */

int share_begin(Share *s, uint64_t items, uint64_t *all, Err *err)
{
    *all = items;
    if (!s->ranks)
        return 0;
    int count = ranks_count(s->ranks);
    for (int k = 0; k < count; k++)
        s->before[k] += s->items[k];
    int rc = ranks_gather(s->ranks, s->items, &items, sizeof items, err);
    *all = 0;
    for (int k = 0; k < count && !rc; k++)
        *all += s->items[k];
    share_tell(s, 0);
    return rc;
}

void share_tell(Share *s, uint64_t done)
{
    if (!s->ranks)
        return;
    uint64_t told = s->before[ranks_rank(s->ranks)] + done;
    __atomic_store_n(&s->told, told, __ATOMIC_RELAXED);
    share_alive(s);
}

void share_alive(Share *s)
{
    ranks_doing(s->ranks, RANK_PREPARING, (int64_t)__atomic_load_n(&s->told, __ATOMIC_RELAXED));
}

/* Word of the work before this may be the last there is. */
uint64_t share_done(const Share *s)
{
    uint64_t sum = 0;
    int me = ranks_rank(s->ranks);
    for (int k = 0; s->ranks && k < ranks_count(s->ranks); k++) {
        uint64_t told = k == me ? 0 : (uint64_t)ranks_step(s->ranks, k);
        uint64_t done = told > s->before[k] ? told - s->before[k] : 0;
        sum += done < s->items[k] ? done : s->items[k];
    }
    return sum;
}

/* 1 when the end was asked for. */
static int wait_for_end(sem_t *end)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LOOK_EVERY_MS * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return sem_clockwait(end, CLOCK_MONOTONIC, &until) == 0;
}

static void *watch_main(void *user)
{
    Share *s = user;
    do {
        share_alive(s);
        if (s->watch.look)
            s->watch.look(s->watch.user);
    } while (!wait_for_end(&s->watch.end));
    return NULL;
}

/* Without the thread a line of progress stands still, and that is mostly all. */
void share_watch_begin(Share *s, void (*look)(void *user), void *user)
{
    if (!s->ranks)
        return;
    s->watch = (struct ShareWatch){.look = look, .user = user};
    sem_init(&s->watch.end, 0, 0);
    thread_start(&s->watch.thread, "sharing", watch_main, s, NULL);
}

void share_watch_end(Share *s)
{
    if (!s->watch.thread.running)
        return;
    sem_post(&s->watch.end);
    thread_join(&s->watch.thread);
    sem_destroy(&s->watch.end);
}

int share_failed(const Share *s) { return ranks_failed(s->ranks); }

/* ---- what members say about utterances ---- */

void told_add(Buf *out, size_t utterance, int reason, const void *data, size_t size)
{
    size = size > UINT16_MAX ? UINT16_MAX : size;
    Told t = {(uint32_t)utterance, (uint16_t)reason, (uint16_t)size};
    buf_add(out, &t, sizeof t);
    buf_add(out, data, size);
}

int told_next(SharePiece *p, Told *t, const void **data)
{
    if (p->size < sizeof *t)
        return 0;
    memcpy(t, p->data, sizeof *t);
    if (t->size > p->size - sizeof *t)
        return 0;
    *data = p->data + sizeof *t;
    p->data += sizeof *t + t->size;
    p->size -= sizeof *t + t->size;
    return 1;
}
