#!/usr/bin/env bash
# Trains the digit voice and lets it speak: usage: tools/digits.sh BUILD_FOLDER FSDD_FOLDER OUT_FOLDER
# OUT_FOLDER gets 60 files <digit>_<speaker>.wav; the dataset, checkpoints and logs are in OUT_FOLDER/training.
# DIGITS_OPTIONS: more options for `myxtts train`, as "--max-steps 100".
set -eu
build=$1 data=$2 out=$3
myxtts=$build/myxtts
words=(zero one two three four five six seven eight nine)
speakers=(george jackson lucas nicolas theo yweweler)

if [ ! -d "$data" ]; then
    echo "digits: there is no folder '$data'; DIGITS_DATA=DIR names the folder of the recordings (fsdd)" >&2
    exit 3
fi
mkdir -p "$out/training"
tools/digits_data.sh "$data" "$out/training/data"
# shellcheck disable=SC2086
"$myxtts" train --config configs/digits.yaml --data-path "$out/training/data" --checkpoint-dir "$out/training/run" ${DIGITS_OPTIONS:-}
if tail -1 "$out/training/run/log.jsonl" | grep -q '"stopped"'; then
    echo "digits: the training was stopped before its end; run it again to go on" >&2
    exit 1
fi
checkpoint=$(ls "$out/training/run"/step-*.safetensors | sort | tail -1)
: >"$out/training/synth.txt"
printf '%s\n' "${words[@]}" >"$out/training/words.txt"
for speaker in "${speakers[@]}"; do
    "$myxtts" synth --quiet --json --checkpoint "$checkpoint" --lines "$out/training/words.txt" --speaker "$speaker" \
        --output-dir "$out/training/$speaker" >>"$out/training/synth.txt"
    for digit in {0..9}; do
        mv "$out/training/$speaker/$(printf %02d $((digit + 1))).wav" "$out/${digit}_$speaker.wav"
    done
done
echo "60 files in $out; what was said of each is in $out/training/synth.txt"
