/* cuda_error.h - messages about CUDA calls that failed; for .cu files only. The CUDA part is a separate
 * library that links to nothing in the program, so it cannot use err_set. */
#ifndef MYXTTS_CUDA_ERROR_H
#define MYXTTS_CUDA_ERROR_H

#include <cuda_runtime.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"

/* As err_set. */
__attribute__((format(printf, 3, 4))) static inline int cuda_err(Err *err, int code, const char *fmt, ...)
{
    if (!err)
        return code;
    err->code = code;
    err->hint[0] = 0;
    err->subject = ERR_ABOUT_NOTHING;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->msg, sizeof err->msg, fmt, ap);
    va_end(ap);
    return code;
}

/* "GPU 0: copy to the device: an illegal memory access was encountered (cudaErrorIllegalAddress)" */
static inline int cuda_err_call(Err *err, int device, const char *operation, cudaError_t e)
{
    return cuda_err(err, ERR_DEVICE, "GPU %d: %s: %s (%s)", device, operation, cudaGetErrorString(e),
                    cudaGetErrorName(e));
}

#endif
