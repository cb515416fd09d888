/* map.h - a hash table from keys to numbers. The keys stay with the caller: the map keeps their hashes and
 * offers every number whose hash fits, and the caller compares. A key may be added more than once.
 *   for (MapWalk w = map_walk(&m, hash); map_next(&w, &i);)
 *       if (items[i] is the one) ...
 * Zero-initialise; map_free is always safe. Threads: many may read. */
#ifndef MYXTTS_MAP_H
#define MYXTTS_MAP_H

#include <stddef.h>
#include <stdint.h>

typedef struct Map {
    struct MapSlot *slots; /* [cap], a power of two, at most half full */
    size_t count, cap;
} Map;

int map_reserve(Map *m, size_t count);               /* room for so many in all; 0 or ERR_NOMEM */
int map_add(Map *m, uint64_t hash, uint32_t number); /* 0 or ERR_NOMEM; never the latter where reserved */
void map_free(Map *m);

typedef struct MapWalk {
    const Map *map;
    uint32_t hash;
    size_t at;
} MapWalk;
MapWalk map_walk(const Map *m, uint64_t hash);
int map_next(MapWalk *w, uint32_t *number); /* 1, or 0 when there are no more; in the order of map_add where
                                             * room was reserved before */

#endif
