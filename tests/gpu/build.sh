#!/usr/bin/env bash
# Builds build/test_gpu and build/test_ops_gpu, which stand beside build/libmyxtts_cuda.so and load it. Needs gcc alone (and nvcc when the library is
# not there yet): no library but libc is needed to run them, so that programs built here also run on a machine where nothing is installed. --link: the first alone, to see on any machine whether it links.
set -eu
cd "$(dirname "$0")/../.."
mkdir -p build
flags=(-std=gnu11 -O2 -g -Wall -Wextra -Wshadow -Wno-unused-parameter -Wno-format-truncation -ffunction-sections -fdata-sections
    -D_GNU_SOURCE -Isrc -Itests -Wl,--gc-sections)
common=(
    src/base/{err,mem,clock,file,utf8,thread,plain_locale,log,progress,rng,stage,stats,variant}.c
    src/config/{config,augmentations}.c # a function or two of them; the linker drops the rest
    src/device/{device,device_host,device_sim,links,sim,sim_event,sim_stream,cuda_library}.c
)
sources=(
    tests/gpu/test_gpu.c tests/support/preprocess_testing.c "${common[@]}"
    src/audio/{mel,normaliser,fft,mel_kernel}.c
    src/cache/half.c
    src/pipeline/{batch,policy,preprocess,preprocess_host}.c
)

# Compiles every source given, those of src as often and with the flags that the Makefile says; objects are then their names.
units=$(make -s --no-print-directory units)
objects=()
compile() {
    local source unit of more
    objects=()
    for source in "$@"; do
        while read -r unit of more; do
            mkdir -p "build/gpu/$(dirname "$unit")"
            # shellcheck disable=SC2086 # a list of flags
            "${CC:-gcc}" "${flags[@]}" $more -c -o "build/gpu/$unit.o" "$of"
            objects+=("build/gpu/$unit.o")
        done < <(printf '%s\n' "$units" | awk -v s="$source" '$2 == s { print; n++ } END { if (!n) print s, s }')
    done
}
compile "${sources[@]}"
"${CC:-gcc}" "${flags[@]}" -o build/test_gpu "${objects[@]}" -lm -ldl -pthread
echo "built build/test_gpu"
[ "${1:-}" != --link ] || exit 0

compile tests/gpu/test_ops_gpu.c tests/support/ops_{cases,cases_sound,cases_symbols,testing}.c "${common[@]}" src/ops/*.c src/ops/host/*.c
"${CC:-gcc}" "${flags[@]}" -o build/test_ops_gpu "${objects[@]}" -lm -ldl -pthread
echo "built build/test_ops_gpu"
if [ ! -f build/libmyxtts_cuda.so ]; then
    nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc)
    mapfile -t kernels < <(find src -name '*.cu' | sort)
    "$nvcc" -O3 -std=c++17 -gencode arch=compute_90a,code=sm_90a -Isrc -Xcompiler -fPIC -shared -o build/libmyxtts_cuda.so "${kernels[@]}"
    echo "built build/libmyxtts_cuda.so"
fi
