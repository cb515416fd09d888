/* mem.h - memory: checked allocation, blocks of objects that are freed together, growable byte buffers.
 * A failed allocation is an ordinary error: functions return NULL or ERR_NOMEM, they never abort. */
#ifndef MYXTTS_MEM_H
#define MYXTTS_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* n * size bytes, zeroed; NULL if that overflows or memory is short. Free with free(). */
void *mem_calloc(size_t n, size_t size);
/* As realloc, for n * size bytes; NULL (old memory untouched) if that overflows or memory is short. */
void *mem_realloc(void *p, size_t n, size_t size);
/* n * size bytes aligned to `align` (a power of two, >= sizeof(void *)), not zeroed. Free with free(). */
void *mem_aligned(size_t align, size_t n, size_t size);
/* Makes room for at least `need` elements in an array. items points to the pointer to the array, *cap is its
 * capacity, which is doubled as needed; elements have `size` bytes. 0 or ERR_NOMEM. */
int mem_grow(void *items, size_t *cap, size_t need, size_t size);

/* Bytes that processes may still take without swapping, as the system estimates it; 0 if it does not say. */
uint64_t mem_available(void);
uint64_t mem_left_of_limit(void); /* bytes that ulimit -v leaves; UINT64_MAX: there is no limit */

/* Block: many small objects that are freed together. Zero-initialise (Block b = {0}). Freeing a zeroed or
 * freed one is allowed. */
typedef struct Block {
    struct BlockChunk *head;
    size_t used; /* bytes handed out, for reports */
} Block;
void *block_alloc(Block *b, size_t size, size_t align); /* zeroed; NULL if out of memory */
char *block_strndup(Block *b, const char *s, size_t n); /* NUL-terminated copy; NULL if out of memory */
void block_free(Block *b);

/* Buf: a byte buffer that grows. Zero-initialise. Freeing a zeroed or freed one is allowed. After a failed
 * append `failed` stays set and further appends do nothing, so a caller can check once at the end. */
typedef struct Buf {
    char *data; /* NULL, or followed by a NUL that size does not count */
    size_t size, cap;
    int failed;
} Buf;
void buf_add(Buf *b, const void *p, size_t n);
void buf_str(Buf *b, const char *s);
void buf_printf(Buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_zero(Buf *b, size_t n); /* appends n zero bytes */
void buf_clear(Buf *b);          /* size = 0, failed = 0; keeps the memory */
void buf_free(Buf *b);

#endif
