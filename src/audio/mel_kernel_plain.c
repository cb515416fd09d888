/* mel_kernel_plain.c - two frames at once: SSE2, NEON, or whatever the compiler makes of 16-byte vectors. And
 * the choice. */
#define LANES 2
#define KERNEL mel_kernel_plain
#define TARGET
#include "audio/mel_kernel_body.h"

static const MelVariant variants[] = {
#if defined(__x86_64__) && defined(__GNUC__)
    {"avx512", 8, mel_kernel_avx512},
    {"avx2", 4, mel_kernel_avx2},
#endif
    {"plain", LANES, mel_kernel_plain},
};

static int is_supported(const char *name)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (strcmp(name, "avx512") == 0)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl");
    if (strcmp(name, "avx2") == 0)
        return __builtin_cpu_supports("avx2");
#endif
    return strcmp(name, "plain") == 0;
}

const MelVariant *mel_variant(const char *name)
{
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++)
        if ((!name || strcmp(variants[i].name, name) == 0) && is_supported(variants[i].name))
            return &variants[i];
    return NULL;
}
