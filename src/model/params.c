/* params.c - the list of parameters and their first values. */
#include "model/params.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"

int64_t params_add(ParamList *l, const char *prefix, const char *name, ParamInit init, double value,
                   int decay, int64_t a, int64_t b, int64_t c)
{
    if (l->count == l->room) {
        int room = l->room ? 2 * l->room : 64;
        /* Grows by doubling. A failure is remembered in the list and tested once, when all are added. */
        Param *grown = mem_realloc(l->items, (size_t)room, sizeof *grown);
        if (!grown) {
            l->failed = 1;
            return 0;
        }
        l->items = grown;
        l->room = room;
    }
    Param *p = &l->items[l->count++];
    /* Up to three dimensions; those given as -1 are not there. */
    *p = (Param){.dims = b < 0 ? 1 : c < 0 ? 2 : 3, .shape = {a, b < 0 ? 1 : b, c < 0 ? 1 : c}};
    snprintf(p->name, sizeof p->name, "%s%s", prefix, name);
    p->count = p->shape[0] * p->shape[1] * p->shape[2];
    p->offset = l->size;
    p->init = init;
    p->value = value;
    p->decay = decay;
    /* Every parameter begins on a multiple of PARAM_ALIGN, so that vector loads need no special case. */
    l->size += (p->count + PARAM_ALIGN - 1) / PARAM_ALIGN * PARAM_ALIGN;
    l->numbers += p->count;
    return p->offset;
}

int64_t params_behind(const ParamList *l, int64_t offset)
{
    for (int i = 0; i + 1 < l->count; i++)
        if (l->items[i].offset == offset)
            return l->items[i + 1].offset;
    return l->size;
}

void params_close(ParamList *l)
{
    free(l->items);
    memset(l, 0, sizeof *l);
}

void param_initialise(const Param *p, float *numbers, uint64_t seed)
{
    Rng r;
    /* Seeded by name: a parameter has the same first values whatever else is in the list. */
    rng_seed(&r, rng_mix(seed, hash_bytes(p->name, strlen(p->name)).lo));
    for (int64_t k = 0; k < p->count; k++)
        numbers[k] = (float)(p->init == INIT_VALUE     ? p->value
                             : p->init == INIT_UNIFORM ? p->value * (2 * rng_uniform(&r) - 1)
                                                       : p->value * rng_normal(&r));
}

void params_initialise(const ParamList *l, float *flat, uint64_t seed)
{
    memset(flat, 0, (size_t)l->size * sizeof *flat);
    for (int i = 0; i < l->count; i++)
        param_initialise(&l->items[i], flat + l->items[i].offset, seed);
}

void params_decay(const ParamList *l, uint8_t *flags)
{
    /* The gaps between parameters never decay. */
    memset(flags, 0, (size_t)l->size);
    for (int i = 0; i < l->count; i++)
        memset(flags + l->items[i].offset, l->items[i].decay, (size_t)l->items[i].count);
}
