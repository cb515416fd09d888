#!/usr/bin/env bash
# Builds the program (without its CUDA part) and its tests for 64-bit ARM with Debian's cross compiler, in a Debian of its own, and runs the
# tests that are C programs with qemu-user. Vectors are NEON's there (REGISTER_BYTES=16). `make test-aarch64` calls it. usage:
#   tools/test_aarch64.sh [FOLDER [part of a name]]
# FOLDER: where the system is put, and kept, so that the next call is quicker; without it a temporary one (about 3 GB). Needs root, a network,
# and the packages debootstrap and qemu-user-static. What is committed is tried. The last line is the sum.
# tools/bare_debian.sh says which Debian, and from where.
set -eu
cd "$(dirname "$0")/.."
root=${1:-} part=${2:-}
. tools/bare_debian.sh
emulator=/usr/bin/qemu-aarch64-static
if [ ! -x $emulator ]; then
    echo "test_aarch64: $emulator is missing; apt-get install qemu-user-static" >&2
    exit 3
fi
# The kernel starts ARM's programs with it, those that tests start too. F: it is opened now, and so found from within.
emulate() {
    local formats=/proc/sys/fs/binfmt_misc
    [ -e $formats/register ] || mount -t binfmt_misc binfmt_misc $formats
    [ -e $formats/qemu-aarch64 ] ||
        printf '%s' ":qemu-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:$emulator:OCF" >$formats/register
}
# Built again are only sources that differ from those of the last call.
changed_sources() {
    mkdir -p "$root/home/new/myxtts" "$root/tmp/new"
    git archive HEAD | tar -x -C "$root/tmp/new"
    (cd "$root/tmp/new" && find . -type f) | while read -r f; do
        cmp -s "$root/tmp/new/$f" "$root/home/new/myxtts/$f" || install -D -p "$root/tmp/new/$f" "$root/home/new/myxtts/$f"
    done
    rm -rf "$root/tmp/new"
    find "$root/home/new/myxtts" -newermt tomorrow -exec touch {} +
}
libraries="espeak-ng sndfile1 soxr ebur128 yaml xxhash png icu cld2 jansson microhttpd cmocka"
packages="gcc-aarch64-linux-gnu g++-aarch64-linux-gnu make pkg-config git espeak-ng-data"
for l in $libraries; do packages="$packages lib$l-dev:arm64"; done
# GCC 12 fails on a loop of tests/audio/test_speed.c when it makes vectors of it: the tests' own code has none.
make="CC=aarch64-linux-gnu-gcc CXX=aarch64-linux-gnu-g++ AR=aarch64-linux-gnu-ar NVCC= make -e -s -j$(nproc)"
paths="export PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig"

step "a bare Debian ($suite)" bootstrap
step "the sources, as they are committed" changed_sources
step "cross compiler, and libraries for arm64" inside "export DEBIAN_FRONTEND=noninteractive; dpkg --add-architecture arm64; apt-get update -qq; apt-get install -y -qq --no-install-recommends $packages"
step "make" inside "$paths; $make built"
step "make programs" inside "$paths; $make CFLAGS=-fno-tree-vectorize programs"
step "programs for arm64 run here" emulate
# shellcheck disable=SC2016 # expanded inside
step "myxtts --version" inside 'build/myxtts --version && [ "$(od -An -tx1 -j18 -N2 build/myxtts | tr -d " ")" = b700 ]'
show 6
inside "MYXTTS_TEST_PATIENCE=10 tools/run_tests.sh --programs $part"
