/* cuda_library.h - what else libmyxtts_cuda.so exports, for the modules that have a CUDA half of their own.
 */
#ifndef MYXTTS_CUDA_LIBRARY_H
#define MYXTTS_CUDA_LIBRARY_H

#include "base/err.h"
#include "device/device.h"

/* The address of a symbol in the library that d came from; d must be a CUDA device. NULL and ERR_DEVICE when
 * it is not there. Threads: any. */
void *cuda_library_symbol(const Device *d, const char *name, Err *err);

#endif
