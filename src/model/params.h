/* params.h - THE list of parameters: name, shape, first values, decay. Pointers, initialisation, checkpoint
 * and count all come from it. All parameters lie in flat memory, in the order of the list, each at a multiple
 * of PARAM_ALIGN numbers; the gaps stay zero. Threads: read-only after it is built. */
#ifndef MYXTTS_PARAMS_H
#define MYXTTS_PARAMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define PARAM_ALIGN 64 /* numbers: 256 bytes of float, 128 of bf16 */

typedef enum { INIT_UNIFORM, INIT_NORMAL, INIT_VALUE } ParamInit;

typedef struct Param {
    char name[56]; /* decoder.layers.3.qkv.weight */
    int dims;
    int64_t shape[3];
    int64_t count;  /* numbers */
    int64_t offset; /* numbers from the start of flat memory */
    ParamInit init;
    double value; /* half width of the uniform, deviation of the normal, or the value itself */
    int decay;    /* weight decay applies */
} Param;

typedef struct ParamList {
    Param *items; /* [count] */
    int count, room;
    int64_t size;    /* numbers of flat memory, gaps included */
    int64_t numbers; /* of parameters, without gaps */
    int failed;      /* memory ran out while it was built */
} ParamList;

/* Adds one and returns its offset. Sizes from the first -1 on are not there. */
int64_t params_add(ParamList *l, const char *prefix, const char *name, ParamInit init, double value,
                   int decay, int64_t a, int64_t b, int64_t c);
/* The offset of the parameter behind the one at `offset`; size where that is the last. */
int64_t params_behind(const ParamList *l, int64_t offset);
void params_close(ParamList *l);
/* First values of all parameters into flat [size]; each tensor has its own random stream, derived from (seed,
 * name).
 * */
void param_initialise(const Param *p, float *numbers, uint64_t seed); /* numbers [p->count] */
void params_initialise(const ParamList *l, float *flat, uint64_t seed);
void params_decay(const ParamList *l, uint8_t *flags); /* [size] 1 where weight decay applies */

#endif
