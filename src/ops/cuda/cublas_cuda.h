/* cublas_cuda.h - cuBLASLt, loaded when the ops are opened, so that the CUDA part itself loads on machines
 * that lack it. The types are the toolkit's; the functions used have been the same in its versions 12 and 13.
 * Looked for, in this order: MYXTTS_CUBLAS_PATH (a folder or the file itself), the folder of
 * libmyxtts_cuda.so, where the system's loader looks, the folders of the CUDA toolkit, and the Python
 * packages beside a python3 on the PATH. */
#ifndef MYXTTS_CUBLAS_CUDA_H
#define MYXTTS_CUBLAS_CUDA_H

#include <cublasLt.h>

#include "base/err.h"

#define CUBLAS_FUNCTIONS(X) \
    X(cublasLtCreate) \
    X(cublasLtDestroy) \
    X(cublasLtMatmul) \
    X(cublasLtMatmulDescCreate) \
    X(cublasLtMatmulDescDestroy) \
    X(cublasLtMatmulDescSetAttribute) \
    X(cublasLtMatrixLayoutCreate) \
    X(cublasLtMatrixLayoutDestroy) \
    X(cublasLtMatrixLayoutSetAttribute) \
    X(cublasLtMatmulPreferenceCreate) \
    X(cublasLtMatmulPreferenceDestroy) \
    X(cublasLtMatmulPreferenceSetAttribute) \
    X(cublasLtMatmulAlgoGetHeuristic)

typedef struct Cublas {
#define X(name) decltype(&::name) name;
    CUBLAS_FUNCTIONS(X)
#undef X
} Cublas;

/* 0, or ERR_MISSING with what was tried. What is loaded stays loaded. Threads: any. */
int cublas_load(Cublas *api, Err *err);

#endif
