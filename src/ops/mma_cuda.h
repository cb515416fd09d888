/* mma_cuda.h - the matrix instructions of sm_80 and above, and tiles in shared memory to feed them.
 * Fragments of mma.m16n8k16 (PTX ISA, "Matrix Fragments for mma.m16n8k16"), with g = lane / 4 and t = lane %
 * 4: a[0] row g, columns 2t 2t+1; a[1] row g + 8; a[2] row g, columns + 8; a[3] row g + 8, columns + 8 b[0]
 * rows 2t 2t+1, column g; b[1] rows + 8            c[0] c[1] row g, columns 2t 2t+1; c[2] c[3] row g + 8 A
 * tile has rows of 64 bf16: eight pieces of 16 bytes, piece p of row r standing at p ^ (r % 8), so that eight
 * rows of one column of pieces lie in different banks. */
#ifndef MYXTTS_MMA_CUDA_H
#define MYXTTS_MMA_CUDA_H

#include <cuda_bf16.h>
#include <stdint.h>

#define TILE_WIDTH 64

__device__ __forceinline__ int tile_at(int row, int piece)
{
    return row * TILE_WIDTH + ((piece ^ (row & 7)) << 3);
}

__device__ __forceinline__ uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

/* c += a b */
__device__ __forceinline__ void mma_bf16(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* Four 8 x 8 matrices; lane l names row l % 8 of matrix l / 8. */
__device__ __forceinline__ void load_matrices(uint32_t r[4], const __nv_bfloat16 *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}

__device__ __forceinline__ void load_matrices_transposed(uint32_t r[4], const __nv_bfloat16 *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}

/* 16 or 4 bytes from global to shared memory, zeros when `valid` is 0; done after copy_wait. */
__device__ __forceinline__ void copy_async16_to(uint32_t to, const void *from, int valid)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid ? 16 : 0)
                 : "memory");
}

__device__ __forceinline__ void copy_async16(void *to, const void *from, int valid)
{
    copy_async16_to(shared_address(to), from, valid);
}

__device__ __forceinline__ void copy_async4(void *to, const void *from, int valid)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)), "l"(from),
                 "r"(valid ? 4 : 0)
                 : "memory");
}

__device__ __forceinline__ void copy_commit(void) { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ __forceinline__ void copy_wait(void)
{
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

__device__ __forceinline__ float exp2_fast(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* ---- fragments out of tiles ---- */

/* a of rows row0 ... + 15, columns 16 step ... + 15. */
__device__ __forceinline__ void tile_rows(uint32_t a[4], const __nv_bfloat16 *tile, int row0, int step,
                                          int lane)
{
    load_matrices(a, tile + tile_at(row0 + (lane & 15), 2 * step + (lane >> 4)));
}

/* b of two neighbouring products whose columns are the tile's rows row0 ... + 7 (b[0], b[1]) and row0 + 8 ...
 * + 15 (b[2], b[3]). */
__device__ __forceinline__ void tile_columns(uint32_t b[4], const __nv_bfloat16 *tile, int row0, int step,
                                             int lane)
{
    load_matrices(b, tile + tile_at(row0 + (lane & 7) + (lane >> 4) * 8, 2 * step + ((lane >> 3) & 1)));
}

/* b of two neighbouring products whose rows are the tile's rows row0 ... + 15 and whose columns are the
 * tile's 16 pair ... + 7 and + 8 ... + 15. */
__device__ __forceinline__ void tile_columns_transposed(uint32_t b[4], const __nv_bfloat16 *tile, int row0,
                                                        int pair, int lane)
{
    load_matrices_transposed(b, tile + tile_at(row0 + (lane & 15), 2 * pair + (lane >> 4)));
}

#endif
