/* npy_testing.h - reads the .npy files that golden values come in: format 1.0, float32, C order, two
 * dimensions. */
#ifndef MYXTTS_NPY_TESTING_H
#define MYXTTS_NPY_TESTING_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/file.h"

/* *data is malloc'd, [*rows, *cols]. ERR_FORMAT for anything else. */
int npy_read(const char *path, float **data, int64_t *rows, int64_t *cols, Err *err);

#endif
