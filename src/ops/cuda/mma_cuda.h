/* mma_cuda.h - tensor-core products, matrix loads and asynchronous copies of sm_80 and above, the swizzled
 * shared-memory tiles that feed them, and the fast exp2 of attention's softmax. */
#ifndef MYXTTS_MMA_CUDA_H
#define MYXTTS_MMA_CUDA_H

#include <cuda_bf16.h>
#include <stdint.h>

/* clang-format off */
/* What lane l holds of the three matrices of mma.m16n8k16 (PTX ISA, "Matrix Fragments for mma.m16n8k16"),
 * with g = l / 4 and t = l % 4. Each a[i] and b[i] packs two bf16; each c[i] is one float.
 *
 *   A  16 x 16   a[0]        row  g           columns 2t,   2t+1
 *                a[1]        row  g+8         columns 2t,   2t+1
 *                a[2]        row  g           columns 2t+8, 2t+9
 *                a[3]        row  g+8         columns 2t+8, 2t+9
 *   B  16 x 8    b[0]        rows 2t,   2t+1  column  g
 *                b[1]        rows 2t+8, 2t+9  column  g
 *   C  16 x 8    c[0], c[1]  row  g           columns 2t,   2t+1
 *                c[2], c[3]  row  g+8         columns 2t,   2t+1
 */
/* clang-format on */

/* A row of a tile is 64 bf16 = 128 bytes: all 32 banks of shared memory once. Stored row after row, the same
 * 16 bytes of eight rows would share their banks. So a row is cut into eight pieces of 16 bytes, and piece p
 * of row r is stored where piece p ^ (r % 8) would be; eight rows are then read without a bank conflict. */
#define TILE_WIDTH 64 /* bf16 in a row */
#define TILE_PIECE 8  /* bf16 in a piece */

/* Index of the first element of a piece, in a tile. */
__device__ __forceinline__ int tile_at(int row, int piece)
{
    return row * TILE_WIDTH + (piece ^ (row & 7)) * TILE_PIECE;
}

/* The 32-bit address that instructions on shared memory take. */
__device__ __forceinline__ uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

/* C += A B, where b0 and b1 are B's b[0] and b[1]. */
__device__ __forceinline__ void mma_bf16(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* ldmatrix: loads four 8 x 8 matrices of bf16. Lane l passes the address of row l % 8 of matrix l / 8; its
 * r[i] becomes columns 2t and 2t+1 of row g of matrix i (g and t as above). */
__device__ __forceinline__ void load_matrices(uint32_t r[4], const __nv_bfloat16 *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}

/* The same with each matrix transposed: r[i] becomes rows 2t and 2t+1 of column g. */
__device__ __forceinline__ void load_matrices_transposed(uint32_t r[4], const __nv_bfloat16 *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}

/* cp.async: the copy_async functions start a copy of 16 or 4 bytes from global to shared memory, or fill with
 * zeros if !valid. copy_commit closes a group of copies; they have arrived after the copy_wait that covers
 * it. copy_async16_shared takes the result of shared_address, for loops that convert it once. */
__device__ __forceinline__ void copy_async16_shared(uint32_t shared, const void *from, int valid)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from), "r"(valid ? 16 : 0)
                 : "memory");
}

__device__ __forceinline__ void copy_async16(void *to, const void *from, int valid)
{
    copy_async16_shared(shared_address(to), from, valid);
}

__device__ __forceinline__ void copy_async4(void *to, const void *from, int valid)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)), "l"(from),
                 "r"(valid ? 4 : 0)
                 : "memory");
}

__device__ __forceinline__ void copy_commit(void) { asm volatile("cp.async.commit_group;" ::: "memory"); }

/* Waits until at most the N newest committed groups of this thread are still in flight. */
template <int N> __device__ __forceinline__ void copy_wait(void)
{
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

/* 2^x to about 2 ulp; subnormals count as zero. */
__device__ __forceinline__ float exp2_fast(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* ---- fragments out of tiles ---- */

/* m, n and k are the dimensions of C[m][n] += A[m][k] B[k][n]. In each function, lanes 0 to 7 pass the rows
 * of the matrix for register 0, lanes 8 to 15 those for register 1, and so on. */

/* Loads A from a tile that holds it as [m][k]: rows m0 to m0 + 15, columns 16 * step to 16 * step + 15. */
__device__ __forceinline__ void load_a(uint32_t a[4], const __nv_bfloat16 *tile, int m0, int step, int lane)
{
    load_matrices(a, tile + tile_at(m0 + (lane & 15), 2 * step + (lane >> 4)));
}

/* Loads B of two neighbouring products from a tile that holds it as [n][k]: a column of B is a row of the
 * tile. k runs from 16 * step to 16 * step + 15. Columns n0 to n0 + 7 go to b[0], b[1], the next eight to
 * b[2], b[3]. */
__device__ __forceinline__ void load_b_from_nk(uint32_t b[4], const __nv_bfloat16 *tile, int n0, int step,
                                               int lane)
{
    load_matrices(b, tile + tile_at(n0 + (lane & 7) + (lane >> 4) * 8, 2 * step + ((lane >> 3) & 1)));
}

/* The same from a tile that holds B as [k][n]. k runs from k0 to k0 + 15. Columns 16 * pair to 16 * pair + 7
 * go to b[0], b[1], the next eight to b[2], b[3]. */
__device__ __forceinline__ void load_b_from_kn(uint32_t b[4], const __nv_bfloat16 *tile, int k0, int pair,
                                               int lane)
{
    load_matrices_transposed(b, tile + tile_at(k0 + (lane & 15), 2 * pair + (lane >> 4)));
}

#endif
