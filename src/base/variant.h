/* variant.h - sources that make compiles more than once: how their names are made, and which instruction
 * sets this processor has. The variants and their flags are listed in the Makefile.
 *   -DINSTRUCTIONS=plain|avx2|avx512 -DREGISTER_BYTES=16|32|64   one object per instruction set
 *   -DREAL=float|double                                          one object per precision
 * Threads: any. */
#ifndef MYXTTS_VARIANT_H
#define MYXTTS_VARIANT_H

#include <string.h>

/* name_variant, with both words expanded first: VARIANT(mel_kernel, INSTRUCTIONS) is mel_kernel_avx2. */
#define VARIANT(name, variant) VARIANT_JOIN(name, variant)
#define VARIANT_JOIN(name, variant) name##_##variant
#define VARIANT_STRING(variant) VARIANT_QUOTE(variant)
#define VARIANT_QUOTE(variant) #variant

/* Where this is 1, there are objects for avx2 and avx512 besides those for plain. */
#if defined(__x86_64__) && defined(__GNUC__)
#define VARIANT_X86 1
#else
#define VARIANT_X86 0
#endif

/* Whether this processor runs what was compiled for "plain", "avx2" or "avx512"; 0 for any other word. */
int variant_is_supported(const char *instructions);

/* A row of a table of variants is usable when it is the wanted one (NULL: any) and runs on this processor. */
static inline int variant_fits(const char *instructions, const char *wanted)
{
    return (!wanted || strcmp(instructions, wanted) == 0) && variant_is_supported(instructions);
}

#endif
