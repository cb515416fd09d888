/* onnx_entries.h - reads the metadata of any ONNX file, even another program's. Threads: any. */
#ifndef MYXTTS_ONNX_ENTRIES_H
#define MYXTTS_ONNX_ENTRIES_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Adds an entry for each of the file's to an object; of a key that comes twice, the last. path: for the
 * message. ERR_FORMAT: it is not an ONNX file, or is damaged. */
int onnx_entries(json_t *entries, const void *data, size_t size, const char *path, Err *err);

#endif
