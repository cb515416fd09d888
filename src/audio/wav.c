/* wav.c - RIFF/WAVE with one fmt chunk (format 1, PCM) and one data chunk. */
#include "audio/wav.h"

#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "base/file.h"

/* The sizes in the header have 32 bits. */
static int too_long(int64_t n, int rate, Err *err)
{
    if (n >= 0 && n <= WAV_MAX_SAMPLES && rate >= 1)
        return 0;
    return err_set(err, ERR_DATA, "a WAV file cannot have %lld samples at %d Hz", (long long)n, rate);
}

void wav_header(uint8_t head[WAV_HEADER_BYTES], int64_t n, int rate)
{
    const uint32_t bytes = n == WAV_UNKNOWN ? UINT32_MAX : (uint32_t)(2 * n);
    memcpy(head, "RIFF", 4);
    put_u32(head + 4, n == WAV_UNKNOWN ? UINT32_MAX : bytes + WAV_HEADER_BYTES - 8);
    memcpy(head + 8, "WAVEfmt ", 8);
    put_u32(head + 16, 16); /* bytes of this chunk */
    put_u16(head + 20, 1);  /* PCM */
    put_u16(head + 22, 1);  /* channels */
    put_u32(head + 24, (uint32_t)rate);
    put_u32(head + 28, (uint32_t)rate * 2); /* bytes per second */
    put_u16(head + 32, 2);                  /* bytes per frame */
    put_u16(head + 34, 16);                 /* bits */
    memcpy(head + 36, "data", 4);
    put_u32(head + 40, bytes);
}

int wav_samples(Buf *out, const float *samples, int64_t n, Err *err)
{
    size_t at = out->size;
    buf_zero(out, 2 * (size_t)n);
    if (out->failed)
        return err_set(err, ERR_NOMEM, "no memory for %lld samples of audio", (long long)n);
    for (int64_t i = 0; i < n; i++) {
        float v = samples[i] * 32768.0f; /* as readers divide by it */
        /* Limited, and a NaN is silence. */
        v = v >= -32768.0f ? (v <= 32767.0f ? v : 32767.0f) : isnan(v) ? 0.0f : -32768.0f;
        put_u16((uint8_t *)out->data + at + 2 * (size_t)i, (uint16_t)(int16_t)lrintf(v));
    }
    return 0;
}

int wav_bytes(Buf *out, const float *samples, int64_t n, int rate, Err *err)
{
    uint8_t head[WAV_HEADER_BYTES];
    int rc = too_long(n, rate, err);
    if (rc)
        return rc;
    wav_header(head, n, rate);
    buf_add(out, head, sizeof head);
    return wav_samples(out, samples, n, err);
}

int wav_write(const char *path, const float *samples, int64_t n, int rate, Err *err)
{
    Buf file = {0};
    int rc = wav_bytes(&file, samples, n, rate, err);
    if (rc)
        err_prefix(err, "%s", path);
    else
        rc = file_replace(path, file.data, file.size, err);
    buf_free(&file);
    return rc;
}
