/* wgmma_cuda.h - the matrix instructions of a warpgroup (sm_90a; PTX ISA, "Asynchronous Warpgroup Level
 * Matrix Instructions"): 128 threads make 64 x 64 sums, the right side and often the left one straight out of
 * shared memory. The tiles are those of mma_cuda.h at addresses that are multiples of 1024: rows of 128 bytes
 * whose pieces are exchanged as the instruction's 128-byte swizzle wants it. Sums: warp w of the group has
 * rows 16 w ... + 15, in fragments c[n] as those of mma_cuda.h, columns 8 n ... + 7. Sums must not be touched
 * between wgmma_begin and wgmma_finish. */
#ifndef MYXTTS_WGMMA_CUDA_H
#define MYXTTS_WGMMA_CUDA_H

#include "ops/cuda/mma_cuda.h"

#define WGMMA_GROUP 128 /* threads */

#define WGMMA_SUMS(c) \
    "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]), "+f"(c[1][0]), "+f"(c[1][1]), "+f"(c[1][2]), \
        "+f"(c[1][3]), "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]), "+f"(c[3][0]), \
        "+f"(c[3][1]), "+f"(c[3][2]), "+f"(c[3][3]), "+f"(c[4][0]), "+f"(c[4][1]), "+f"(c[4][2]), \
        "+f"(c[4][3]), "+f"(c[5][0]), "+f"(c[5][1]), "+f"(c[5][2]), "+f"(c[5][3]), "+f"(c[6][0]), \
        "+f"(c[6][1]), "+f"(c[6][2]), "+f"(c[6][3]), "+f"(c[7][0]), "+f"(c[7][1]), "+f"(c[7][2]), \
        "+f"(c[7][3])
#define WGMMA_NAMES \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, " \
    "%22, %23, %24, %25, " \
    "%26, " \
    "%27, %28, %29, %30, %31}"

__device__ __forceinline__ void wgmma_begin(void) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* Until all products but the newest N groups are done. */
template <int N> __device__ __forceinline__ void wgmma_wait(void)
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

/* The compiler must not read the sums before this place. */
template <int N> __device__ __forceinline__ void wgmma_finish(float (&c)[N][4])
{
#pragma unroll
    for (int n = 0; n < N; n++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            asm volatile("" : "+f"(c[n][i])::"memory");
}

/* What this thread wrote to shared memory becomes visible to the matrix units (a barrier must follow). */
__device__ __forceinline__ void wgmma_publish(void)
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* A tile's place: the lower half of its descriptor, address and distances in units of 16 bytes. Further
 * columns (16 of them: + 2), further rows (16 of them: + 128) and further tiles (+ WGMMA_TILE) are added to
 * it. Should be the same expression in all threads, not one with threadIdx in it: the instruction takes it
 * from a register that all threads share. */
#define WGMMA_TILE (64 * TILE_WIDTH * 2 / 16)
__device__ __forceinline__ uint32_t wgmma_tile(const __nv_bfloat16 *tile)
{
    return (shared_address(tile) & 0x3FFFF) >> 4 | 1u << 16;
}

/* With the upper half: eight rows are 1024 bytes, swizzle of 128 bytes. */
__device__ __forceinline__ uint64_t wgmma_descriptor(uint32_t place)
{
    return (uint64_t)(1024 >> 4 | 1u << 30) << 32 | place;
}

/* c [64, 64] = (add: +=) a [64 rows, 16 columns] b [64 rows, 16 columns]^T, both tiles. */
__device__ __forceinline__ void wgmma_rows(float c[8][4], uint32_t a, uint32_t b, int add)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " WGMMA_NAMES
                 ", %32, %33, p, 1, 1, 0, 0;\n}\n"
                 : WGMMA_SUMS(c)
                 : "l"(wgmma_descriptor(a)), "l"(wgmma_descriptor(b)), "r"(add));
}

/* c [64, 64] += a [64, 16], in registers as mma_cuda.h has them, times b [16 rows, 64 columns], a tile. */
__device__ __forceinline__ void wgmma_left(float c[8][4], const uint32_t a[4], uint32_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " WGMMA_NAMES
                 ", {%32, %33, %34, %35}, %36, 1, 1, 1, 1;\n"
                 : WGMMA_SUMS(c)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(wgmma_descriptor(b)));
}

/* c = rows of two tiles multiplied along all 64 columns; enqueued as one group. */
__device__ __forceinline__ void wgmma_dot(float c[8][4], uint32_t a, uint32_t b)
{
#pragma unroll
    for (int step = 0; step < 4; step++)
        wgmma_rows(c, a + 2 * step, b + 2 * step, step > 0);
    wgmma_commit();
}

/* c += left [64, 16 STEPS] times that many rows of a tile; enqueued as one group. */
template <int STEPS>
__device__ __forceinline__ void wgmma_add(float c[8][4], const uint32_t (&left)[STEPS][4], uint32_t b)
{
#pragma unroll
    for (int step = 0; step < STEPS; step++)
        wgmma_left(c, left[step], b + 128 * step);
    wgmma_commit();
}

#endif
