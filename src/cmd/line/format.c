/* format.c - see format.h. */
#include "cmd/line/format.h"

#include <stdio.h>

#include "base/utf8.h"

void format_code_point(char out[8], uint32_t c)
{
    if (c < 0x20 || (c >= 0x7F && c < 0xA0) || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
        c = '?';
    out[utf8_put(out, c)] = 0;
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
