/* bf16.h - the upper half of a float, as exported voices store weights and as ranks may sum gradients.
 * Rounded to nearest even, as a GPU does it; NaN stays NaN. Threads: any. */
#ifndef MYXTTS_BF16_H
#define MYXTTS_BF16_H

#include <stdint.h>
#include <string.h>

static inline uint16_t bf16_from_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    /* Rounding would carry some of what is not a number into the sign. */
    uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16, kept = bits >> 16 | 0x40;
    return (uint16_t)((bits & 0x7FFFFFFF) > 0x7F800000 ? kept : rounded);
}

static inline float bf16_to_float(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#endif
