/* ops_open.h - the table of ops that belongs to a device. */
#ifndef MYXTTS_OPS_OPEN_H
#define MYXTTS_OPS_OPEN_H

#include "ops/ops.h"

/* The table of a CUDA device for one type, out of the library that d came from. NULL and ERR_DEVICE when the
 * library is of another build (OPS_ABI differs) or has no such table. Threads: any. */
const Ops *ops_cuda_table(Device *d, RealType real, Err *err);

/* The table a model uses on d: float on the CPU and on simulated GPUs; on CUDA bf16 with mixed_precision,
 * else float. NULL as above. */
const Ops *ops_table(Device *d, int mixed_precision, Err *err);

#endif
