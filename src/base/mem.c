/* mem.c - see mem.h. */
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/check.h"

/* A size of 0 still gives memory, so that NULL always means failure. calloc checks the product itself. */
void *mem_calloc(size_t n, size_t size) { return calloc(n ? n : 1, size ? size : 1); }

void *mem_realloc(void *p, size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        return NULL;
    return realloc(p, bytes ? bytes : 1);
}

void *mem_aligned(size_t align, size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX - align)
        return NULL;
    /* aligned_alloc wants a multiple of the alignment. */
    bytes = (bytes + align - 1) & ~(align - 1);
    return aligned_alloc(align, bytes ? bytes : align);
}

/* ---- arrays ---- */

int mem_grow(void *items, size_t *cap, size_t need, size_t size)
{
    enum { MIN_CAP = 16 };
    if (need <= *cap)
        return 0;
    /* Doubling keeps a million appends at twenty reallocations. */
    size_t want = *cap < MIN_CAP ? MIN_CAP : *cap;
    while (want < need) {
        if (want > SIZE_MAX / 2)
            return ERR_NOMEM;
        want *= 2;
    }
    void *old;
    memcpy(&old, items, sizeof old); /* items is some T **; memcpy respects the aliasing rules */
    void *p = mem_realloc(old, want, size);
    if (!p)
        return ERR_NOMEM;
    memcpy(items, &p, sizeof p);
    *cap = want;
    return 0;
}

/* ---- blocks ----
 *
 * Small objects are cut from chunks; one larger than a chunk gets a chunk of its own. */
#define CHUNK_BYTES (64 * 1024)

struct BlockChunk {
    struct BlockChunk *next;
    size_t used, cap;
    _Alignas(16) char data[];
};

/* Objects cannot be freed one by one. */
void *block_alloc(Block *b, size_t size, size_t align)
{
    ASSERT(align >= 1 && align <= 16 && (align & (align - 1)) == 0);
    struct BlockChunk *c = b->head;
    size_t at = c ? (c->used + align - 1) & ~(align - 1) : 0;
    /* If the newest chunk has too little room, the rest of it stays unused and a new one is put first. */
    if (!c || at > c->cap || size > c->cap - at) {
        if (size > SIZE_MAX - sizeof *c)
            return NULL;
        size_t cap = size > CHUNK_BYTES ? size : CHUNK_BYTES;
        c = calloc(1, sizeof *c + cap);
        if (!c)
            return NULL;
        c->cap = cap;
        c->next = b->head;
        b->head = c;
        at = 0;
    }
    c->used = at + size;
    b->used += size;
    return c->data + at;
}

char *block_strndup(Block *b, const char *s, size_t n)
{
    if (n == SIZE_MAX)
        return NULL;
    char *p = block_alloc(b, n + 1, 1);
    if (p && n)
        memcpy(p, s, n);
    return p;
}

void block_free(Block *b)
{
    for (struct BlockChunk *c = b->head; c;) {
        struct BlockChunk *next = c->next;
        free(c);
        c = next;
    }
    *b = (Block){0};
}

/* ---- buffers ---- */

/* Makes room for n more bytes and a NUL. */
static int buf_reserve(Buf *b, size_t n)
{
    if (b->failed)
        return -1;
    if (n > SIZE_MAX - b->size - 1 || mem_grow(&b->data, &b->cap, b->size + n + 1, 1)) {
        b->failed = 1;
        return -1;
    }
    return 0;
}

/* Adds a NUL that size does not count, so that data can be used as a string. */
void buf_add(Buf *b, const void *p, size_t n)
{
    if (buf_reserve(b, n))
        return;
    if (n)
        memcpy(b->data + b->size, p, n);
    b->size += n;
    b->data[b->size] = 0;
}

void buf_str(Buf *b, const char *s) { buf_add(b, s, strlen(s)); }

void buf_zero(Buf *b, size_t n)
{
    if (buf_reserve(b, n))
        return;
    memset(b->data + b->size, 0, n + 1);
    b->size += n;
}

/* Measures first, then writes: the length of the result is not known before. */
void buf_printf(Buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0)
        b->failed = 1;
    else if (!buf_reserve(b, (size_t)n)) {
        vsnprintf(b->data + b->size, (size_t)n + 1, fmt, again);
        b->size += (size_t)n;
    }
    va_end(again);
}

/* Also forgets a failure: the next text may fit. */
void buf_clear(Buf *b)
{
    b->size = 0;
    b->failed = 0;
    if (b->data)
        b->data[0] = 0;
}

void buf_free(Buf *b)
{
    free(b->data);
    *b = (Buf){0};
}

uint64_t mem_left_of_limit(void)
{
    struct rlimit limit;
    unsigned long long pages = 0;
    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    FILE *f = fopen("/proc/self/statm", "re");
    const int known = f && fscanf(f, "%llu", &pages) == 1;
    if (f)
        fclose(f);
    const uint64_t used = known ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
    return used < limit.rlim_cur ? limit.rlim_cur - used : 0;
}

uint64_t mem_available(void)
{
    unsigned long long kb = 0;
    char line[200];
    FILE *f = fopen("/proc/meminfo", "re");
    while (f && kb == 0 && fgets(line, sizeof line, f))
        sscanf(line, "MemAvailable: %llu kB", &kb);
    if (f)
        fclose(f);
    const uint64_t left = mem_left_of_limit();
    return (uint64_t)kb << 10 < left ? (uint64_t)kb << 10 : left;
}
