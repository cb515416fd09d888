/* vector_plain.c - the inner loops with what every processor of this kind has. And the choice. */
#include "ops/vector.h"

#include <math.h>
#include <string.h>

#include "ops/philox.h"

#define VECTORS vectors_plain
#define VECTORS_NAME "plain"
#include "ops/vector_set.h"

static int is_supported(const Vectors *v)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (v == &vectors_avx512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("fma");
    if (v == &vectors_avx2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    return v == &vectors_plain;
}

const Vectors *vectors_choose(const char *name)
{
    static const Vectors *const all[] = {
#if defined(__x86_64__) && defined(__GNUC__)
        &vectors_avx512,
        &vectors_avx2,
#endif
        &vectors_plain,
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if ((!name || strcmp(all[i]->name, name) == 0) && is_supported(all[i]))
            return all[i];
    return NULL;
}
