/* rank_numbers.c - the arithmetic of sums over ranks: adding in order, bf16. */
#include <string.h>

#include "base/bf16.h"
#include "ranks/rank_numbers.h"

#pragma GCC optimize("O3") /* vector loops; nothing here depends on the order in which a compiler adds */

enum { PIECE = 1024 }; /* numbers that stay in the cache while rank after rank is added */

static void add_wide(float *restrict acc, const float *restrict x, int n)
{
    for (int i = 0; i < n; i++)
        acc[i] += x[i];
}

static void add_narrow(float *restrict acc, const uint16_t *restrict x, int n)
{
    for (int i = 0; i < n; i++)
        acc[i] += bf16_to_float(x[i]);
}

void rank_numbers_add(float *sum, const void *const *parts, int count, int64_t n, SumType type)
{
    float acc[PIECE];
    for (int64_t at = 0; at < n; at += PIECE) {
        int piece = n - at < PIECE ? (int)(n - at) : PIECE;
        if (type == SUM_BF16)
            rank_numbers_widen(acc, (const uint16_t *)parts[0] + at, piece);
        else
            memcpy(acc, (const float *)parts[0] + at, (size_t)piece * sizeof *acc);
        for (int k = 1; k < count; k++) {
            if (type == SUM_BF16)
                add_narrow(acc, (const uint16_t *)parts[k] + at, piece);
            else
                add_wide(acc, (const float *)parts[k] + at, piece);
        }
        memcpy(sum + at, acc, (size_t)piece * sizeof *acc);
    }
}

void rank_numbers_round(uint16_t *restrict to, const float *restrict from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = bf16_from_float(from[i]);
}

void rank_numbers_widen(float *restrict to, const uint16_t *restrict from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = bf16_to_float(from[i]);
}
