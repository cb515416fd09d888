/* builder_share.c - the part of a builder that shares the work out among ranks. One process alone is a group
 * of one: it takes the same way, and nothing is sent. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/ordered.h"
#include "cache/builder/builder_private.h"
#include "cache/places.h"

#define ITEM_COST 4096    /* of an utterance, in bytes of audio, beside that of its size */
#define VISIBLE_AFTER 120 /* s that a network file system may take to show a new index */

static int no_memory(const Builder *b, Err *err)
{
    return err_set(err, ERR_NOMEM, "no memory to share out the work on the %s cache", b->producer->store);
}

/* ---- stamps ---- */

#define STAMPS_A_TURN 64 /* files that a thread looks at before it asks for more */
#define SLOTS_A_LOOKER 4

/* This process's share of the files, by threads: a server that keeps them answers many at once. */
typedef struct Stamping {
    Builder *b;
    size_t first, end; /* utterances */
    Buf *found;        /* [slots] Told of a turn */
    Buf *all;
} Stamping;

/* The file's stamp, or why there is none. */
static void stamp_one(const Builder *b, size_t i, Buf *out)
{
    const Utterance *u = &b->p->dataset->utterances[i];
    char path[PATH_MAX];
    FileStamp stamp;
    Err why = {0};
    if (!dataset_audio_stamp(b->p->dataset, u, path, sizeof path, &stamp, &why))
        told_add(out, i, REJECT_NONE, &stamp, sizeof stamp);
    else
        told_add(out, i, REJECT_AUDIO_MISSING, why.msg, strlen(why.msg));
}

static void stamp_turn(void *user, int thread, int slot, uint64_t turn)
{
    const Stamping *s = user;
    (void)thread;
    const size_t first = s->first + turn * STAMPS_A_TURN;
    for (size_t i = first; i < s->end && i < first + STAMPS_A_TURN; i++)
        stamp_one(s->b, i, &s->found[slot]);
}

static int stamped(void *user, int slot, uint64_t turn, Err *err)
{
    Stamping *s = user;
    (void)turn;
    buf_add(s->all, s->found[slot].data, s->found[slot].size);
    s->all->failed |= s->found[slot].failed;
    buf_clear(&s->found[slot]);
    share_alive(s->b->p->share);
    return s->all->failed ? no_memory(s->b, err) : 0;
}

/* Stamps of the utterances from first to end. */
static int stamp_some(Builder *b, size_t first, size_t end, Buf *out, Err *err)
{
    Stamping s = {.b = b, .first = first, .end = end, .all = out};
    const int lookers = preparation_lookers(b->p->workers), slots = lookers ? lookers * SLOTS_A_LOOKER : 1;
    const OrderedJob job = {.name = "stamps",
                            .items = (end - first + STAMPS_A_TURN - 1) / STAMPS_A_TURN,
                            .workers = end - first > STAMPS_A_TURN ? lookers : 0,
                            .slots = slots,
                            .user = &s,
                            .work = stamp_turn,
                            .finish = stamped};
    s.found = mem_calloc((size_t)slots, sizeof *s.found);
    int rc = s.found ? ordered_run(&job, err) : no_memory(b, err);
    for (int i = 0; s.found && i < slots; i++)
        buf_free(&s.found[i]);
    free(s.found);
    return rc;
}

/* An utterance as a member has found it. */
static int take_stamp(Builder *b, const Told *t, const void *data, Err *err)
{
    if (t->utterance >= b->p->dataset->count)
        return 0;
    if (t->reason == REJECT_NONE) {
        memcpy(&b->sources[t->utterance].stamp, data, sizeof(FileStamp));
        return 0;
    }
    return preparation_reject_told(b->p, t, data, err);
}

int builder_stamp(Builder *b, Err *err)
{
    Share *share = b->p->share;
    size_t count = b->p->dataset->count, members = (size_t)share_count(share), me = (size_t)share->rank;
    Buf mine = {0};
    SharePieces pieces;
    Told t;
    const void *data;
    int rc = stamp_some(b, count * me / members, count * (me + 1) / members, &mine, err);
    if (!rc)
        rc = share_exchange(share, &pieces, &mine, err);
    buf_free(&mine);
    if (rc)
        return rc;
    for (size_t k = 0; k < members; k++)
        while (!rc && told_next(&pieces.of[k], &t, &data))
            rc = take_stamp(b, &t, data, err);
    share_pieces_free(&pieces);
    return rc;
}

/* ---- the plan ---- */

typedef struct PlanHead {
    uint64_t work;       /* utterances that need work */
    uint32_t own_folder; /* the store has a folder of its own */
    uint32_t zero;
} PlanHead;
typedef struct PlanPart {
    uint64_t size;
    uint32_t number, zero;
} PlanPart;
typedef struct PlanWork {
    Hash128 old_key;
    uint64_t utterance;
} PlanWork;

static void write_plan(const Builder *b, Buf *plan)
{
    PlanHead head = {.work = b->work_count, .own_folder = strcmp(b->dir, b->p->dir) != 0};
    buf_add(plan, &head, sizeof head);
    for (int k = 0; k < share_count(b->p->share); k++) {
        PlanPart part = {0};
        store_build_part(b->build, k, &part.number, &part.size);
        buf_add(plan, &part, sizeof part);
    }
    for (size_t k = 0; k < b->work_count; k++) {
        PlanWork w = {b->sources[b->work[k]].old_key, b->work[k]};
        buf_add(plan, &w, sizeof w);
    }
}

/* The leader's own folder, as this rank calls it. */
static int take_place(Builder *b, int own_folder, Err *err)
{
    if (b->dir)
        return 0;
    b->dir = own_folder ? cache_own_folder(b->p->dir, b->producer->store, b->settings) : strdup(b->p->dir);
    return b->dir ? 0 : no_memory(b, err);
}

/* The leader too reads what it wrote: the part is opened here. */
static int read_plan(Builder *b, const Buf *plan, Err *err)
{
    PlanHead head;
    PlanPart part;
    size_t parts = (size_t)share_count(b->p->share), at = sizeof head;
    if (plan->size < sizeof head)
        return no_memory(b, err);
    memcpy(&head, plan->data, sizeof head);
    if (head.work > b->p->dataset->count ||
        plan->size != sizeof head + parts * sizeof part + head.work * sizeof(PlanWork))
        return err_set(err, ERR_DATA, "the plan of the %s cache is for another dataset", b->producer->store);
    memcpy(&part, plan->data + at + (size_t)b->p->share->rank * sizeof part, sizeof part);
    at += parts * sizeof part;
    b->work_count = head.work;
    for (size_t k = 0; k < head.work; k++, at += sizeof(PlanWork)) {
        PlanWork w;
        memcpy(&w, plan->data + at, sizeof w);
        b->work[k] = (uint32_t)w.utterance;
        b->sources[w.utterance].old_key = w.old_key;
        b->sources[w.utterance].from = FROM_WORK;
    }
    int rc = take_place(b, (int)head.own_folder, err);
    return rc ? rc
              : store_part_open(&b->part, b->dir, b->producer->store, part.number, part.size, b->settings,
                                err);
}

int builder_plan(Builder *b, Err *err)
{
    Buf plan = {0};
    if (share_leads(b->p->share))
        write_plan(b, &plan);
    int rc = share_follow(b->p->share, &plan, err);
    if (!rc)
        rc = read_plan(b, &plan, err);
    buf_free(&plan);
    return rc;
}

/* ---- shares ---- */

static uint64_t cost(const Builder *b, size_t i)
{
    return b->producer->from_audio ? b->sources[i].stamp.size + ITEM_COST
                                   : b->p->dataset->utterances[i].text.n + 1;
}

/* One after the other goes to the member that has least to do, so that kinds of recordings that are spread
 * unevenly over the corpus come to all. */
int builder_share_out(Builder *b, Err *err)
{
    int members = share_count(b->p->share);
    uint64_t *load = mem_calloc((size_t)members, sizeof *load);
    b->owners = mem_calloc(b->work_count, sizeof *b->owners);
    b->mine = mem_calloc(b->work_count, sizeof *b->mine);
    int rc = load && b->owners && b->mine ? 0 : no_memory(b, err);
    for (size_t k = 0; k < b->work_count && !rc; k++) {
        int least = 0;
        for (int m = 1; m < members; m++)
            least = load[m] < load[least] ? m : least;
        load[least] += cost(b, b->work[k]);
        b->owners[k] = least;
        if (least == b->p->share->rank)
            b->mine[b->mine_count++] = b->work[k];
    }
    free(load);
    return rc;
}

/* ---- results ---- */

int builder_tell(Builder *b, SharePieces *pieces, Err *err)
{
    Buf mine = {0};
    int rc = b->part.added ? store_part_finish(&b->part, err) : 0;
    uint64_t size = b->part.added ? b->part.size : 0;
    buf_add(&mine, &size, sizeof size);
    buf_add(&mine, b->told.data, b->told.size);
    mine.failed |= b->told.failed;
    buf_free(&b->told);
    if (!rc)
        rc = share_exchange(b->p->share, pieces, &mine, err);
    buf_free(&mine);
    for (int k = 0; k < share_count(b->p->share) && !rc; k++) {
        SharePiece *piece = &pieces->of[k];
        if (piece->size < sizeof size) {
            rc = no_memory(b, err);
            break;
        }
        memcpy(&size, piece->data, sizeof size);
        piece->data += sizeof size;
        piece->size -= sizeof size;
        if (size && b->build)
            store_build_finished(b->build, k, size);
    }
    return rc;
}

/* ---- after the commit ---- */

/* A network file system may show the old index for a while. */
static int wait_for_index(Builder *b, uint64_t expected, Err *err)
{
    uint64_t found = 0;
    double end = clock_now() + VISIBLE_AFTER;
    for (;;) {
        int rc = store_index_stamp(&found, b->dir, b->producer->store, err);
        if (!rc && found == expected)
            return 0;
        if (share_failed(b->p->share))
            return err_set(err, ERR_RANKS, "another rank has failed");
        if (clock_now() > end)
            return err_set(err, ERR_IO,
                           "the new index of the %s cache in %s, written by another rank, is still not "
                           "visible here after %d s",
                           b->producer->store, b->dir, VISIBLE_AFTER);
        share_alive(b->p->share);
        clock_sleep(0.02);
    }
}

int builder_follow_commit(Builder *b, Buf *rejections, Err *err)
{
    Share *share = b->p->share;
    if (!share->ranks)
        return 0;
    uint64_t stamp = 0;
    Buf news = {0};
    Told t;
    const void *data;
    int rc = share_leads(share) ? store_index_stamp(&stamp, b->dir, b->producer->store, err) : 0;
    buf_add(&news, &stamp, sizeof stamp);
    buf_add(&news, rejections->data, rejections->size);
    if (!rc)
        rc = share_follow(share, &news, err);
    if (!rc && !share_leads(share) && news.size >= sizeof stamp) {
        memcpy(&stamp, news.data, sizeof stamp);
        SharePiece piece = {news.data + sizeof stamp, news.size - sizeof stamp};
        while (!rc && told_next(&piece, &t, &data))
            rc = preparation_reject_told(b->p, &t, data, err);
        if (!rc)
            rc = wait_for_index(b, stamp, err);
    }
    buf_free(&news);
    return rc;
}
