#!/usr/bin/env bash
# Builds build/test_gpu, which stands beside build/libmyxtts_cuda.so and loads it. Needs gcc alone (and nvcc when the library is not there yet):
# no library but libc, so that the program built here also runs on a machine where nothing is installed.
set -eu
cd "$(dirname "$0")/../.."
mkdir -p build
sources=(
    tests/gpu/test_gpu.c
    src/base/{err,mem,clock,thread,log,progress,rng,stats}.c
    src/config/config.c # one function of it; the linker drops the rest
    src/device/{device,device_host,device_sim,sim,cuda_library}.c
    src/audio/{mel,fft,mel_kernel_plain,mel_kernel_avx2,mel_kernel_avx512}.c
    src/cache/half.c
    src/pipeline/{batch,preprocess,preprocess_host}.c
)
"${CC:-gcc}" -std=gnu11 -O2 -g -Wall -Wextra -Wshadow -Wno-unused-parameter -Wno-format-truncation -ffunction-sections -fdata-sections \
    -D_GNU_SOURCE -Isrc -Itests -o build/test_gpu "${sources[@]}" -Wl,--gc-sections -lm -ldl -pthread
echo "built build/test_gpu"
if [ ! -f build/libmyxtts_cuda.so ]; then
    nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc)
    mapfile -t kernels < <(find src -name '*.cu' | sort)
    "$nvcc" -O3 -std=c++17 -arch=sm_90 -Isrc -Xcompiler -fPIC -shared -o build/libmyxtts_cuda.so "${kernels[@]}"
    echo "built build/libmyxtts_cuda.so"
fi
