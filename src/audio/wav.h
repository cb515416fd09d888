/* wav.h - mono WAV files, 16-bit PCM. Samples are float, full scale at -1 and 1, rounded to nearest; louder
 * ones are cut off, NaN is 0. Threads: any. */
#ifndef MYXTTS_WAV_H
#define MYXTTS_WAV_H

#include <stdint.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"

#define WAV_HEADER_BYTES 44
#define WAV_MAX_SAMPLES ((INT64_C(0xFFFFFFFF) - 36) / 2) /* the header counts bytes in 32 bits */

/* Appears whole or not at all. ERR_DATA for more than WAV_MAX_SAMPLES, ERR_IO, ERR_NOSPACE, ERR_NOMEM. */
int wav_write(const char *path, const float *samples, int64_t n, int rate, Err *err);
/* The bytes of the file, appended to out. ERR_DATA, ERR_NOMEM. */
int wav_bytes(Buf *out, const float *samples, int64_t n, int rate, Err *err);

/* Its parts, for what is written while it is made (audio_writer.h). n: WAV_UNKNOWN gives the largest sizes,
 * which readers of pipes take for "until the end". */
#define WAV_UNKNOWN INT64_C(-1)
void wav_header(uint8_t head[WAV_HEADER_BYTES], int64_t n, int rate);
/* Appends 16-bit samples, little-endian. ERR_NOMEM. */
int wav_samples(Buf *out, const float *samples, int64_t n, Err *err);

#endif
