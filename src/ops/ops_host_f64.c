/* ops_host_f64.c - the host ops in double precision. */
#define REAL double
#define REAL_TYPE REAL_F64
#define GEMM cblas_dgemm
#define VECTOR f64
#define TABLE ops_host_f64
#include "ops/ops_host_body.h"
