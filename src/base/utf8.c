/* utf8.c - see utf8.h. */
#include "base/utf8.h"

#include <string.h>

/* Follows table 3-7 of the Unicode standard: the lead byte determines how many bytes follow it and the range
 * of the second byte. */
size_t utf8_valid(const char *s, size_t n)
{
    const uint8_t *p = (const uint8_t *)s;
    size_t i = 0;
    while (i < n) {
        /* Most text is ASCII: eight bytes at a time without a high bit. */
        if (n - i >= 8) {
            uint64_t eight;
            memcpy(&eight, p + i, 8);
            if (!(eight & 0x8080808080808080u)) {
                i += 8;
                continue;
            }
        }
        uint8_t c = p[i], low = 0x80, high = 0xBF;
        size_t more;
        if (c < 0x80) {
            i++;
            continue;
        } else if (c >= 0xC2 && c <= 0xDF) {
            more = 1;
        } else if (c >= 0xE0 && c <= 0xEF) {
            more = 2;
            low = c == 0xE0 ? 0xA0 : low;   /* below: overlong */
            high = c == 0xED ? 0x9F : high; /* above: surrogates */
        } else if (c >= 0xF0 && c <= 0xF4) {
            more = 3;
            low = c == 0xF0 ? 0x90 : low;
            high = c == 0xF4 ? 0x8F : high; /* above: over U+10FFFF */
        } else {
            return i;
        }
        if (more > n - i - 1 || p[i + 1] < low || p[i + 1] > high)
            return i;
        for (size_t k = 2; k <= more; k++)
            if (!utf8_continues(s[i + k]))
                return i;
        i += more + 1;
    }
    return n;
}

/* Steps back to the first byte of the character that would be cut. */
size_t utf8_cut(const char *s, size_t n, size_t max)
{
    if (n <= max)
        return n;
    while (max > 0 && utf8_continues(s[max]))
        max--;
    return max;
}

size_t utf8_count(const char *s, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += !utf8_continues(s[i]);
    return count;
}

size_t utf8_prefix(const char *s, size_t n, size_t characters)
{
    size_t seen = 0;
    for (size_t i = 0; i < n; i++)
        if (!utf8_continues(s[i]) && seen++ == characters)
            return i;
    return n;
}

/* The lead byte tells the length, each byte after it holds six bits. */
size_t utf8_put(char out[4], uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const uint8_t lead[] = {0, 0xC0, 0xE0, 0xF0};
    for (size_t i = more; i > 0; i--) { /* from the last byte */
        out[i] = (char)(0x80 | (c & 0x3F));
        c >>= 6;
    }
    out[0] = (char)(lead[more] | c);
    return more + 1;
}

void utf8_show(char *out, size_t cap, const char *s)
{
    size_t n = strlen(s), take = utf8_cut(s, n, cap - 4);
    for (size_t i = 0; i < take; i++)
        out[i] = (unsigned char)s[i] < 0x20 || s[i] == 0x7F ? '?' : s[i];
    strcpy(out + take, take < n ? "..." : "");
}

size_t utf8_tame(char *s, size_t n)
{
    size_t out = 0;
    for (size_t at = 0; at < n;) {
        size_t valid = utf8_valid(s + at, n - at), end = at + valid;
        while (at < end) {
            unsigned char c = (unsigned char)s[at];
            if (c == 0xC2 && (unsigned char)s[at + 1] < 0xA0) { /* U+0080 .. U+009F */
                s[out++] = '?';
                at += 2;
                continue;
            }
            s[out++] = (c < 0x20 && c != '\n' && c != '\t') || c == 0x7F ? '?' : s[at];
            at++;
        }
        if (at < n) { /* a stray byte */
            s[out++] = '?';
            at++;
        }
    }
    return out;
}
