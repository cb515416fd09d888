/* mel_kernel_avx2.c - four frames at once. */
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define LANES 4
#define KERNEL mel_kernel_avx2
#define TARGET __attribute__((target("avx2")))
#define WIDEN(v) ((Lanes)_mm256_cvtps_pd((__m128)(v)))
#include "audio/mel_kernel_body.h"
#endif
