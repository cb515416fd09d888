/* base64.c - see base64.h. */
#include "base/base64.h"

#include <stdint.h>
#include <string.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Three bytes make four letters; the last ones are filled up. */
void base64_encode(Buf *out, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    for (size_t i = 0; i < n; i += 3) {
        const size_t left = n - i;
        uint32_t v = (uint32_t)p[i] << 16;
        v |= left > 1 ? (uint32_t)p[i + 1] << 8 : 0;
        v |= left > 2 ? p[i + 2] : 0;
        const char four[] = {letters[v >> 18], letters[v >> 12 & 63], left > 1 ? letters[v >> 6 & 63] : '=',
                             left > 2 ? letters[v & 63] : '='};
        buf_add(out, four, sizeof four);
    }
}

int base64_decode(Buf *out, const char *text, size_t n)
{
    uint32_t v = 0;
    int bits = 0, filled = 0;
    size_t count = 0;
    int8_t value[256];
    memset(value, -1, sizeof value);
    for (int i = 0; i < 64; i++)
        value[(uint8_t)letters[i]] = (int8_t)i;
    for (size_t i = 0; i < n; i++) {
        const uint8_t c = (uint8_t)text[i];
        if (c == '\n' || c == '\r' || c == ' ' || c == '\t')
            continue;
        if (c == '=') {
            filled++;
            continue;
        }
        if (value[c] < 0 || filled)
            return -1;
        v = v << 6 | (uint32_t)value[c];
        bits += 6;
        count++;
        if (bits >= 8) {
            bits -= 8;
            const uint8_t byte = (uint8_t)(v >> bits);
            buf_add(out, &byte, 1);
        }
    }
    return count % 4 == 1 || filled > 2 || (filled && (count + (size_t)filled) % 4) ? -1 : 0;
}
