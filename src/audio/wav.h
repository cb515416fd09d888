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

/* The same, written while it is made. Appears whole, with commit, or not at all; zero-initialise; abort is
 * always safe. */
typedef struct WavWriter {
    FileWriter file;
    Buf bytes; /* of the last add */
    int64_t count;
    int rate;
} WavWriter;
int wav_writer_open(WavWriter *w, const char *path, int rate, Err *err);
int wav_writer_add(WavWriter *w, const float *samples, int64_t n, Err *err);
int wav_writer_commit(WavWriter *w, Err *err);
void wav_writer_abort(WavWriter *w);

#endif
