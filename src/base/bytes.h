/* bytes.h - little-endian numbers in files, whatever the machine; rounding to alignments. */
#ifndef MYXTTS_BYTES_H
#define MYXTTS_BYTES_H

#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "file formats are mapped as little-endian; a big-endian machine needs byte swapping here"
#endif

static inline void put_u16(uint8_t *p, uint16_t v) { memcpy(p, &v, sizeof v); }
static inline void put_u32(uint8_t *p, uint32_t v) { memcpy(p, &v, sizeof v); }
static inline void put_u64(uint8_t *p, uint64_t v) { memcpy(p, &v, sizeof v); }
static inline uint16_t get_u16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline uint32_t get_u32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline uint64_t get_u64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
/* align is a power of two. */
static inline uint64_t round_up(uint64_t n, uint64_t align) { return (n + align - 1) & ~(align - 1); }
/* multiple is any positive number. */
static inline int round_to_multiple(int n, int multiple) { return (n + multiple - 1) / multiple * multiple; }

#endif
