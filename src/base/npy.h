/* npy.h - NumPy's .npy files of two dimensions. Threads: any. */
#ifndef MYXTTS_NPY_H
#define MYXTTS_NPY_H

#include <stdint.h>

#include "base/err.h"

/* Format 1.0, float32, C order, atomically. */
int npy_write(const char *path, const float *data, int64_t rows, int64_t cols, Err *err);

/* Any version, float32 or float64 in either order: *data [*rows, *cols] in C order, malloc'd. ERR_MISSING,
 * ERR_FORMAT: another kind of file, another type, not two dimensions, empty, cut off. */
int npy_read(const char *path, float **data, int64_t *rows, int64_t *cols, Err *err);

#endif
