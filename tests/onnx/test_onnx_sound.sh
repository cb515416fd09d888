#!/usr/bin/env bash
# What an exported graph says in ONNX Runtime is what the program says.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/support/shell.sh disable=SC1091
. tests/support/shell.sh
bin=${MYXTTS_BIN:-build/myxtts}
python=$(python_with numpy onnxruntime)
if [ -z "$python" ]; then
    echo "skip onnx_sound SKIPPED: no Python with numpy and onnxruntime (\$MYXTTS_PYTHON names one)"
    exit 0
fi
base=bases/english-nano.safetensors
ends_with export_of_the_base 0 "$bin" export --checkpoint $base --format onnx --output "$dir/base.onnx"
PYTHONDONTWRITEBYTECODE=1 "$python" tests/onnx/compare_onnx.py "$bin" $base "$dir/base.onnx" || failed=1
exit $failed
