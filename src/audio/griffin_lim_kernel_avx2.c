/* griffin_lim_kernel_avx2.c - eight frames in one register. */
#if defined(__x86_64__) && defined(__GNUC__)
#define INVERT griffin_lim_invert_avx2
#define TURN griffin_lim_turn_avx2
#define TARGET __attribute__((target("avx2")))
#include "audio/griffin_lim_kernel_body.h"
#endif
