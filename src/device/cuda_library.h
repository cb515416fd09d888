/* cuda_library.h - access to everything else that libmyxtts_cuda.so exports, for modules that have a CUDA
 * part. */
#ifndef MYXTTS_CUDA_LIBRARY_H
#define MYXTTS_CUDA_LIBRARY_H

#include "base/err.h"
#include "device/device.h"

/* The address of a symbol in the library that d, a CUDA device, came from. NULL, with ERR_DEVICE in err, if
 * there is no such symbol. Threads: any. */
void *cuda_library_symbol(const Device *d, const char *name, Err *err);

#endif
