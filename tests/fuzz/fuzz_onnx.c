/* fuzz_onnx.c - any bytes as an ONNX file: its entries are read, or it is refused with a sentence. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "onnx/onnx_entries.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Err err = {0};
    json_t *entries = json_object(), *value;
    const char *key;
    const int rc = onnx_entries(entries, data, size, "file.onnx", &err);
    ASSERT(rc == 0 || (rc == ERR_FORMAT && strstr(err.msg, "file.onnx") && err.hint[0]));
    json_object_foreach(entries, key, value) { ASSERT(json_is_string(value)); }
    json_decref(entries);
    return 0;
}
