/* variant.c - see variant.h. */
#include "base/variant.h"

int variant_is_supported(const char *instructions)
{
#if VARIANT_X86
    /* All that the Makefile's flags allow the compiler to use. */
    if (strcmp(instructions, "avx512") == 0)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (strcmp(instructions, "avx2") == 0)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    return strcmp(instructions, "plain") == 0;
}
