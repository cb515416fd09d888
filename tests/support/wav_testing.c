/* wav_testing.c - see wav_testing.h. */
#include "wav_testing.h"

#include <math.h>

#include "base/bytes.h"
#include "folder_testing.h"

void put_wav_header(uint8_t h[44], int format, int channels, int rate, int bits, uint32_t bytes)
{
    int block = channels * bits / 8;
    memcpy(h, "RIFF", 4);
    put_u32(h + 4, 36 + bytes);
    memcpy(h + 8, "WAVEfmt ", 8);
    put_u32(h + 16, 16);
    put_u16(h + 20, (uint16_t)format);
    put_u16(h + 22, (uint16_t)channels);
    put_u32(h + 24, (uint32_t)rate);
    put_u32(h + 28, (uint32_t)(rate * block));
    put_u16(h + 32, (uint16_t)block);
    put_u16(h + 34, (uint16_t)bits);
    memcpy(h + 36, "data", 4);
    put_u32(h + 40, bytes);
}

void write_sweep(const char *path, int kind, double seconds, int rate)
{
    uint32_t n = (uint32_t)(seconds * rate);
    uint8_t *b = calloc(1, 44 + 2 * (size_t)n);
    assert_non_null(b);
    put_wav_header(b, 1, 1, rate, 16, 2 * n);
    double phase = 0;
    for (uint32_t i = 0; i < n; i++) {
        phase += 6.283185307 * (120 + 23 * kind + 400.0 * i / n) / rate;
        put_u16(b + 44 + 2 * (size_t)i, (uint16_t)(int16_t)(9000 * sin(phase) + 3000 * sin(3.1 * phase)));
    }
    file_put(path, b, 44 + 2 * (size_t)n);
    free(b);
}
