#!/usr/bin/env bash
# Prints docs/GUIDE.md: runs every command of the guide and puts its real output below it. usage: tools/guide.sh [BUILD] > docs/GUIDE.md
# Needs the corpus of `make demo` in build/demo. With --check it only runs the commands of docs/GUIDE.md and says whether each still works.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build=build
[ "${1:-}" = --check ] || build=${1:-build}
PATH=$PWD/$build:$PATH
[ -f build/demo/metadata.csv ] || { echo "guide: build/demo is not there; make demo makes it" >&2 && exit 3; }
cat >"$work/my.yaml" <<'Y'
# my voice
model:
  model_size: nano     # the smallest
  sample_rate: 16000
  n_fft: 1024
  win_length: 800
  hop_length: 200
data:
  data_path: build/demo
  batch_size: 16
  num_worker: 64       # there are never enough
  use_tf_native_loading: false
  pin_memory: "yes"
training:
  learning_rate: 1e-3
  mixed_precison: true
Y
cp "$work/my.yaml" my.yaml
trap 'rm -rf "$work" my.yaml my.yaml.bak.*' EXIT

if [ "${1:-}" = --check ]; then
    failed=0 count=0
    while read -r line; do
        count=$((count + 1))
        bash -c "$line" >"$work/out" 2>&1 || [ $? = 1 ] || { failed=$((failed + 1)) && echo "guide: '$line' failed:" && cat "$work/out"; }
    done < <(sed -n 's/^\$ \(myxtts .*\)$/\1/p' docs/GUIDE.md)
    echo "guide: $count commands, $failed failed"
    [ "$failed" = 0 ] && [ "$count" -gt 4 ]
    exit
fi

show() { # a command and what it says; long lines of progress are left out
    printf '```\n$ %s\n' "$*"
    bash -c "$*" 2>"$work/err" || true
    grep -v "observing\|^warning: no GPU\|^device\|no driver" "$work/err" | head -20 || true
    printf '```\n\n'
}

cat <<'T'
# Why does the GPU wait?

Five steps, in this order: see whether the settings make sense, mend them, look at the data alone, find better settings, look at the step. Every output below is real: `tools/guide.sh` ran
the commands (on the corpus of `make demo`, on a machine with two CPU cores and no GPU) and wrote this page; `tools/guide.sh --check` runs them again. The names of older tools are in [TOOLS.md](TOOLS.md).

The configuration of the example, `my.yaml`:

T
printf '```yaml\n%s\n```\n\n' "$(cat my.yaml)"
echo "## 1. Validate"
echo
echo "Settings against the schema, the machine and the data. Each finding says what, why it matters, what was measured, and the fix."
echo
show "myxtts validate --config my.yaml"
echo "## 2. Apply"
echo
echo "\`--fix\` changes the file at the very values, keeps comments and order, writes a numbered backup and shows the difference."
echo
show "myxtts validate --config my.yaml --fix"
echo "## 3. Profile the data"
echo
echo "The pipeline alone, with a consumer that takes no time: how evenly do batches come?"
echo
show "myxtts profile data --config my.yaml --num-batches 100"
echo "## 4. Find better settings"
echo
echo "A grid of batch sizes and numbers of workers, every cell measured several times, with how sure the winner is."
echo
show "myxtts profile data --config my.yaml --benchmark --num-batches 60"
echo "## 5. Profile the step"
echo
echo "The real network on real batches: waiting for data, forward, loss, backward, optimiser, and the verdict."
echo
show "myxtts profile step --config my.yaml --num-steps 20"
cat <<'T'
## When it does wait

`myxtts diagnose` does all of this in one go, eight sections and a verdict, as text, JSON or one HTML page (`--html`). Here on a simulated machine whose disk needs 30 ms for a batch while the step takes 10:

T
show "myxtts diagnose --config my.yaml --sim read_ms=30,step_ms=10 --data-gpu sim0 --model-gpu sim1 | sed -n '/^ISSUES/,\$p'"
echo "And one with too few workers, where \`--apply\` runs again with the best change and puts what it gives beside what was predicted:"
echo
show "myxtts diagnose --config my.yaml --sim decode_ms=40,step_ms=10 --num-workers 2 --data-gpu sim0 --model-gpu sim1 --apply | sed -n '/^VERDICT/,\$p'"
cat <<'T'
During training the same doctor looks on: a run that starves is told so with the cause, and every run ends with a verdict. Reports of an H200 are in [examples](examples).
T
