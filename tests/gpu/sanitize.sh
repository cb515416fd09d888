#!/usr/bin/env bash
# Every op case once under compute-sanitizer's memcheck. usage: tests/gpu/sanitize.sh [BUILD_FOLDER]
# Skipped, aloud, where there is no GPU, no compute-sanitizer or no test program. Kernels are many times slower under it: minutes.
set -u
build=${1:-build}
tool=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
if ! nvidia-smi -L >/dev/null 2>&1 || [ -z "$tool" ] || [ ! -x "$build/test_ops_gpu" ]; then
    echo "SKIPPED: compute-sanitizer (no GPU, no such tool, or no $build/test_ops_gpu)"
    exit 0
fi
"$tool" --tool memcheck --error-exitcode 9 --print-limit 5 "$build/test_ops_gpu" check
rc=$?
[ $rc = 0 ] && echo "ok: memcheck finds nothing in the ops"
exit $rc
