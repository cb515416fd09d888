/* format.c - see format.h. */
#include "cmd/format.h"

#include <stdio.h>

void format_code_point(char out[8], uint32_t c)
{
    int n = 0;
    if (c < 0x20 || (c >= 0x7F && c < 0xA0) || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
        c = '?';
    if (c < 0x80)
        out[n++] = (char)c;
    else if (c < 0x800) {
        out[n++] = (char)(0xC0 | c >> 6);
        out[n++] = (char)(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        out[n++] = (char)(0xE0 | c >> 12);
        out[n++] = (char)(0x80 | (c >> 6 & 0x3F));
        out[n++] = (char)(0x80 | (c & 0x3F));
    } else {
        out[n++] = (char)(0xF0 | c >> 18);
        out[n++] = (char)(0x80 | (c >> 12 & 0x3F));
        out[n++] = (char)(0x80 | (c >> 6 & 0x3F));
        out[n++] = (char)(0x80 | (c & 0x3F));
    }
    out[n] = 0;
}

void format_bytes(char *out, size_t cap, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    double x = (double)bytes;
    int u = 0;
    while (x >= 1000 && u < 4) {
        x /= 1000;
        u++;
    }
    snprintf(out, cap, u ? "%.1f %s" : "%.0f %s", x, units[u]);
}
