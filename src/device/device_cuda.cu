/* device_cuda.cu - the CUDA part, a shared object that the program loads at run time where there is a GPU. */
extern "C" int myxtts_cuda_abi(void) { return 1; } /* raised whenever the functions exported here change */
