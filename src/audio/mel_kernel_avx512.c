/* mel_kernel_avx512.c - eight frames at once. */
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define LANES 8
#define KERNEL mel_kernel_avx512
#define TARGET __attribute__((target("avx2,avx512f,avx512dq,avx512vl")))
/* GCC 12 makes three instructions of the generic conversion. */
#define WIDEN(v) ((Lanes)_mm512_cvtps_pd((__m256)(v)))
#include "audio/mel_kernel_body.h"
#endif
