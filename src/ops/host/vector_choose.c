/* vector_choose.c - the instruction sets that vector.c and product.c are compiled for, and the choice between
 * them. */
#include "base/variant.h"
#include "ops/host/vector.h"

static const Vectors sets[] = {
/* The fastest first. */
#if VARIANT_X86
    {"avx512", &vector_avx512_f32, &vector_avx512_f64, {&product_avx512_f32, &product_avx512_f64}},
    {"avx2", &vector_avx2_f32, &vector_avx2_f64, {&product_avx2_f32, &product_avx2_f64}},
#endif
    {"plain", &vector_plain_f32, &vector_plain_f64, {&product_plain_f32, &product_plain_f64}},
};

const Vectors *vectors_choose(const char *name)
{
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
        if (variant_fits(sets[i].name, name))
            return &sets[i];
    return NULL;
}
