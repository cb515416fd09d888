/* map.c - see map.h. Open addressing: a number lies in the slot of its hash or in the first free one behind.
 */
#include "base/map.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"

#define LEAST_SLOTS 16

struct MapSlot {
    uint32_t hash;         /* the low bits of the key's */
    uint32_t number_plus1; /* 0: free */
};

/* The table always has free slots, so the search ends. */
static void put(struct MapSlot *slots, size_t cap, struct MapSlot s)
{
    size_t at = s.hash & (cap - 1);
    while (slots[at].number_plus1)
        at = (at + 1) & (cap - 1);
    slots[at] = s;
}

/* The old slots are put into a larger table; hashes are kept, so no key is needed. */
int map_reserve(Map *m, size_t count)
{
    size_t cap = m->cap ? m->cap : LEAST_SLOTS;
    while (cap < count * 2)
        cap *= 2;
    if (cap == m->cap)
        return 0;
    struct MapSlot *slots = mem_calloc(cap, sizeof *slots);
    if (!slots)
        return ERR_NOMEM;
    for (size_t i = 0; i < m->cap; i++)
        if (m->slots[i].number_plus1)
            put(slots, cap, m->slots[i]);
    free(m->slots);
    m->slots = slots;
    m->cap = cap;
    return 0;
}

int map_add(Map *m, uint64_t hash, uint32_t number)
{
    if (map_reserve(m, m->count + 1))
        return ERR_NOMEM;
    put(m->slots, m->cap, (struct MapSlot){(uint32_t)hash, number + 1});
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
    return (MapWalk){m, (uint32_t)hash, m->cap ? (uint32_t)hash & (m->cap - 1) : 0};
}

int map_next(MapWalk *w, uint32_t *number)
{
    const Map *m = w->map;
    while (m->cap && m->slots[w->at].number_plus1) {
        const struct MapSlot *s = &m->slots[w->at];
        w->at = (w->at + 1) & (m->cap - 1);
        if (s->hash == w->hash) {
            *number = s->number_plus1 - 1;
            return 1;
        }
    }
    return 0;
}
