/* vector_avx2.c - the inner loops for processors with AVX2 and FMA. */
#if defined(__x86_64__) && defined(__GNUC__)
#include "ops/vector.h"

#include <math.h>
#include <string.h>

#include "ops/philox.h"

#pragma GCC target("avx2,fma")
#define VECTORS vectors_avx2
#define VECTORS_NAME "avx2"
#include "ops/vector_set.h"
#endif
