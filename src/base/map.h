/* map.h - a hash table from keys to indices of the caller's items. The keys are not stored: the map returns
 * every index whose hash matches, and the caller compares the keys. A key may be added more than once.
 *
 *     for (MapWalk w = map_walk(&m, hash); map_next(&w, &i);)
 *         if (items[i] has the key) ...
 *
 * Zero-initialise. Freeing a zeroed or freed map is allowed. Threads: several may read at the same time. */
#ifndef MYXTTS_MAP_H
#define MYXTTS_MAP_H

#include <stddef.h>
#include <stdint.h>

typedef struct Map {
    struct MapSlot *slots; /* [cap], a power of two, at most half full */
    size_t count, cap;
} Map;

/* Makes room for `count` entries in all. Returns 0 or ERR_NOMEM. */
int map_reserve(Map *m, size_t count);
/* index must be below UINT32_MAX. Returns 0, or ERR_NOMEM if no room was reserved for the entry. */
int map_add(Map *m, uint64_t hash, uint32_t index);
void map_free(Map *m);

typedef struct MapWalk {
    const Map *map;
    uint32_t hash;
    size_t at; /* the next slot to look at */
} MapWalk;
MapWalk map_walk(const Map *m, uint64_t hash);
/* Returns 1 and the next index, or 0 if there are no more. Indices come in the order of map_add, provided
 * that room for all of them was reserved before the first. */
int map_next(MapWalk *w, uint32_t *index);

#endif
