/* griffin_lim_kernel_plain.c - eight frames in two registers: SSE2, NEON, or whatever the compiler makes of
 * it. And the choice. */
#define INVERT griffin_lim_invert_plain
#define TURN griffin_lim_turn_plain
#define TARGET
#include "audio/griffin_lim_kernel_body.h"

static const GriffinLimVariant variants[] = {
#if defined(__x86_64__) && defined(__GNUC__)
    {"avx2", griffin_lim_invert_avx2, griffin_lim_turn_avx2},
#endif
    {"plain", griffin_lim_invert_plain, griffin_lim_turn_plain},
};

static int is_supported(const char *name)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (strcmp(name, "avx2") == 0)
        return __builtin_cpu_supports("avx2");
#endif
    return strcmp(name, "plain") == 0;
}

const GriffinLimVariant *griffin_lim_variant(const char *name)
{
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++)
        if ((!name || strcmp(variants[i].name, name) == 0) && is_supported(variants[i].name))
            return &variants[i];
    return NULL;
}
