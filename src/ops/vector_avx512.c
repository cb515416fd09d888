/* vector_avx512.c - the inner loops for processors with AVX-512. */
#if defined(__x86_64__) && defined(__GNUC__)
#include "ops/vector.h"

#include <math.h>
#include <string.h>

#include "ops/philox.h"

#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,prefer-vector-width=512")
#define VECTORS vectors_avx512
#define VECTORS_NAME "avx512"
#include "ops/vector_set.h"
#endif
