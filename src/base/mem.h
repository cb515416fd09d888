/* mem.h - memory: checked allocation, blocks that die together, growable byte buffers.
 * Allocation failure is an ordinary error here: functions return NULL or ERR_NOMEM, never abort. */
#ifndef MYXTTS_MEM_H
#define MYXTTS_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* n * size bytes, zeroed; NULL when that overflows or there is no memory. Free with free(). */
void *mem_calloc(size_t n, size_t size);
/* As realloc for n * size bytes; NULL (old memory untouched) on overflow or no memory. */
void *mem_realloc(void *p, size_t n, size_t size);
/* n * size bytes aligned to `align` (a power of two, >= sizeof(void *)), not zeroed. Free with free(). */
void *mem_aligned(size_t align, size_t n, size_t size);
/* Grows *items (elements of `size` bytes, capacity *cap) to hold at least `need`, doubling. 0 or ERR_NOMEM.
 */
int mem_grow(void *items, size_t *cap, size_t need, size_t size);

/* Block: many small objects with one lifetime. Zero-initialise (Block b = {0}); block_free is always safe. */
typedef struct Block {
    struct BlockChunk *head;
    size_t used; /* bytes handed out, for reports */
} Block;
void *block_alloc(Block *b, size_t size, size_t align); /* zeroed; NULL on no memory */
char *block_strndup(Block *b, const char *s, size_t n); /* NUL-terminated copy; NULL on no memory */
void block_free(Block *b);

/* Buf: bytes that grow. Zero-initialise; buf_free is always safe. After a failed append `failed` stays set
 * and further appends do nothing, so a caller may append many times and test once. */
typedef struct Buf {
    char *data; /* NUL-terminated after buf_printf and buf_str, for use as a string */
    size_t size, cap;
    int failed;
} Buf;
void buf_add(Buf *b, const void *p, size_t n);
void buf_str(Buf *b, const char *s);
void buf_printf(Buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_zero(Buf *b, size_t n); /* appends n zero bytes */
void buf_clear(Buf *b);          /* size = 0, keeps the memory */
void buf_free(Buf *b);

#endif
