#!/usr/bin/env bash
# The GPU's tests are built from lists of sources that only a machine with a GPU would miss one of: they link here.
set -u
cd "$(dirname "$0")/../.."
if tests/gpu/build.sh --link 2>&1; then echo "ok the tests of the GPU link"; else echo "not ok the tests of the GPU link"; fi
