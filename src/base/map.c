/* map.c - see map.h. Open addressing with linear probing: an entry is in the slot of its hash or in the first
 * slot after it that was free. */
#include "base/map.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/err.h"
#include "base/mem.h"

#define MIN_SLOTS 16 /* a power of two, like every capacity: cap - 1 is the mask of a slot number */

struct MapSlot {
    uint32_t hash;        /* the low 32 bits of the key's hash */
    uint32_t index_plus1; /* 0: free, so that zeroed memory is an empty table */
};

/* The search ends because the table always has free slots. */
static void put(struct MapSlot *slots, size_t cap, struct MapSlot s)
{
    size_t at = s.hash & (cap - 1);
    while (slots[at].index_plus1)
        at = (at + 1) & (cap - 1);
    slots[at] = s;
}

/* The table is at most half full, so probes are short and always end. Growing it needs no keys, because the
 * slots hold the hashes. */
int map_reserve(Map *m, size_t count)
{
    size_t cap = m->cap ? m->cap : MIN_SLOTS;
    while (cap < count * 2)
        cap *= 2;
    if (cap == m->cap)
        return 0;
    struct MapSlot *slots = mem_calloc(cap, sizeof *slots);
    if (!slots)
        return ERR_NOMEM;
    for (size_t i = 0; i < m->cap; i++)
        if (m->slots[i].index_plus1)
            put(slots, cap, m->slots[i]);
    free(m->slots);
    m->slots = slots;
    m->cap = cap;
    return 0;
}

int map_add(Map *m, uint64_t hash, uint32_t index)
{
    ASSERT(index < UINT32_MAX); /* index_plus1 would be 0: free */
    if (map_reserve(m, m->count + 1))
        return ERR_NOMEM;
    put(m->slots, m->cap, (struct MapSlot){.hash = (uint32_t)hash, .index_plus1 = index + 1});
    m->count++;
    return 0;
}

void map_free(Map *m)
{
    free(m->slots);
    *m = (Map){0};
}

MapWalk map_walk(const Map *m, uint64_t hash)
{
    MapWalk w = {.map = m, .hash = (uint32_t)hash};
    if (m->cap)
        w.at = w.hash & (m->cap - 1);
    return w;
}

int map_next(MapWalk *w, uint32_t *index)
{
    const Map *m = w->map;
    while (m->cap && m->slots[w->at].index_plus1) {
        const struct MapSlot *s = &m->slots[w->at];
        w->at = (w->at + 1) & (m->cap - 1);
        if (s->hash == w->hash) {
            *index = s->index_plus1 - 1;
            return 1;
        }
    }
    return 0;
}
