/* half.c - see half.h. The arithmetic trick of multiplying by a power of two lets the FPU do the rounding of
 * subnormals. */
#include "cache/half.h"

#include <string.h>

static uint32_t bits_of(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static float float_of(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

/* Rounds to nearest even. float: 8 bits of exponent, 23 of fraction; half: 5 and 10. */
static uint16_t half_bits(float f)
{
    uint32_t u = bits_of(f), sign = u >> 16 & 0x8000u, a = u & 0x7FFFFFFFu;
    if (a > 0x7F800000u)
        return (uint16_t)(sign | 0x7E00u); /* NaN */
    if (a >= 0x477FF000u)
        return (uint16_t)(sign | 0x7C00u); /* rounds to 65536 or more */
    /* Below 2^-14: adding 0.5 lines the bits up and rounds them. */
    if (a < 0x38800000u)
        return (uint16_t)(sign | (bits_of(float_of(a) + 0.5f) - bits_of(0.5f)));
    return (uint16_t)(sign | ((a - 0x38000000u + 0xFFFu + (a >> 13 & 1u)) >> 13));
}

void half_from_float(uint16_t *out, const float *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = half_bits(in[i]);
}

void half_to_float(float *out, const uint16_t *in, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t sign = (uint32_t)(in[i] & 0x8000u) << 16, a = in[i] & 0x7FFFu;
        /* Infinity and NaN, then normal numbers, then subnormal ones. */
        if (a >= 0x7C00u)
            out[i] = float_of(sign | 0x7F800000u | (a & 0x3FFu) << 13);
        else if (a >= 0x400u)
            out[i] = float_of(sign | ((a << 13) + 0x38000000u));
        else
            out[i] = float_of(sign | bits_of((float)a * 0x1p-24f));
    }
}
