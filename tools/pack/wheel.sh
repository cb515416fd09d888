#!/usr/bin/env bash
# Makes of BUILD/bundle a wheel in BUILD/wheel, with program, library, data and licences: nothing is compiled where it is installed. Its name
# says which glibc it needs at least, the newest that a file in it asks for. usage: tools/pack/wheel.sh BUILD
set -eu
cd "$(dirname "$0")/../.."
build=$(realpath "${1:?which folder was it built into?}")
glibc=$(objdump -T "$build/bundle/bin/myxtts" "$build"/bundle/lib/* 2>/dev/null | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -1)
platform=manylinux_$(echo "${glibc#GLIBC_}" | cut -d. -f1,2 | tr . _)_$(uname -m)
variant=
[ ! -f "$build/bundle/lib/libmyxtts_cuda.so" ] || variant=+cuda
mkdir -p "$build/wheel"
rm -f "$build/wheel"/myxtts-*"$([ -n "$variant" ] && echo + || echo [0-9])"-py3-none-*.whl
export MYXTTS_BUNDLE=$build/bundle MYXTTS_PLATFORM=$platform MYXTTS_VARIANT=$variant PYTHONDONTWRITEBYTECODE=1
name=$(cd python && python3 -c 'import backend, sys; print(backend.build_wheel(sys.argv[1]))' "$build/wheel")
echo "wheel: $build/wheel/$name, $(du -h "$build/wheel/$name" | cut -f1)B"
