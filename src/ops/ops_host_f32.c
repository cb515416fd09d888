/* ops_host_f32.c - the host ops in single precision. */
#define REAL float
#define REAL_TYPE REAL_F32
#define GEMM cblas_sgemm
#define VECTOR f32
#define TABLE ops_host_f32
#include "ops/ops_host_body.h"
