/* npy.h - writes NumPy's .npy files: format 1.0, float32, C order, two dimensions, atomically.
 * Threads: any. */
#ifndef MYXTTS_NPY_H
#define MYXTTS_NPY_H

#include <stdint.h>

#include "base/err.h"

int npy_write(const char *path, const float *data, int64_t rows, int64_t cols, Err *err);

#endif
