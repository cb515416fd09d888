#!/usr/bin/env bash
# The Python package: its tests, its wheel, and the training loop of docs/PYTHON.md. An interpreter with PyTorch is taken where there is one
# ($MYXTTS_PYTHON names another); without one those parts are skipped.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/support/shell.sh disable=SC1091
. tests/support/shell.sh
out=${MYXTTS_OUT:-build}
export PYTHONDONTWRITEBYTECODE=1 MYXTTS_LIBRARY=$PWD/$out/libmyxtts.so
if [ "$out" != build ]; then
    echo "skip python_package SKIPPED: a sanitizer's library cannot be loaded into Python"
    exit 0
fi
python=$(python_with numpy torch)
[ -n "$python" ] || python=$(python_with numpy)
if [ -z "$python" ]; then
    echo "skip python_package SKIPPED: no Python with numpy (tools/deps.sh tests)"
    exit 0
fi
case $python in /*) ;; */*) python=$PWD/$python ;; esac

for t in loader voice; do PYTHONPATH=python:tests/python "$python" tests/python/test_$t.py || failed=1; done

# The wheel, made without a network, is all that a program needs.
ends_with wheel_is_built 0 "$python" -m pip wheel -q --no-deps --no-index -w "$dir/wheel" ./python
if "$python" -m pip install -q --no-deps --no-index --target "$dir/site" "$dir"/wheel/myxtts-*.whl >"$dir/log" 2>&1; then
    (cd "$dir" && env -u MYXTTS_LIBRARY PYTHONPATH="$dir/site" "$python" -c "
import myxtts, os
from myxtts._library import library
assert myxtts.library_version() == myxtts.__version__ == '$(cat "$OLDPWD/VERSION")' and os.path.dirname(library()._name) == os.path.dirname(myxtts.__file__), library()._name
assert os.path.exists(os.path.join(os.path.dirname(myxtts.__file__), 'py.typed'))") >"$dir/log" 2>&1
    verdict wheel_brings_its_library $?
else
    verdict wheel_is_installed 1
fi
MYXTTS_BUNDLE=0 "$python" -m pip wheel -q --no-deps --no-index -w "$dir/pure" ./python >"$dir/log" 2>&1 && ls "$dir"/pure/*-py3-none-any.whl >/dev/null
verdict wheel_without_library_is_for_any_machine $?

# The programs of the document: one that speaks, and a training loop on a small corpus.
program_of() { awk -v name="$1" '/^```python/ { inside = $2 == name; next } /^```/ { inside = 0 } inside' docs/PYTHON.md; }
program_of speak.py >"$dir/speak.py"
(cd "$dir" && PYTHONPATH=$OLDPWD/python "$python" speak.py "$OLDPWD/tests/golden/checkpoint.safetensors" said.wav) >"$dir/log" 2>&1
verdict python_program_of_the_document_speaks $?
log_has it_says_whose_voice_it_is 'said.wav: [0-9.]+ s in the voice of anna'
if ! "$python" -c "import torch" 2>/dev/null; then
    echo "skip python_training_loop_of_the_document SKIPPED: PyTorch is not installed"
    exit "$failed"
fi
program_of train.py >"$dir/train.py"
[ -s "$dir/train.py" ] || echo "no such program in docs/PYTHON.md" >"$dir/log"
PYTHONPATH=tests/python "$python" -c "import corpus, sys; corpus.make(sys.argv[1])" "$dir/data"
for part in begins resumes; do
    (cd "$dir" && PYTHONPATH=$OLDPWD/python "$python" train.py data run) >"$dir/log" 2>&1
    verdict "python_training_loop_of_the_document_$part" $?
done
log_has python_training_loop_goes_on 'resumed at epoch [1-9]'
exit "$failed"
