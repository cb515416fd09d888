#!/usr/bin/env bash
# What an exported graph says in ONNX Runtime is what the program says: the base, and networks that are small and strange.
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
export PYTHONDONTWRITEBYTECODE=1
compare() { # name, checkpoint, vocoder, settings of phonemize...
    local name=$1 checkpoint=$2 vocoder=$3
    shift 3
    ends_with "export_$name" 0 "$bin" export --checkpoint "$checkpoint" --vocoder "$vocoder" --format onnx --output "$dir/$name.onnx"
    local piper=$dir/piper-$name/en_US-$name-low.onnx
    mkdir "${piper%/*}"
    ends_with "export_${name}_for_piper" 0 "$bin" export --checkpoint "$checkpoint" --vocoder "$vocoder" --format piper --output "$piper"
    "$python" tests/onnx/compare_onnx.py "$name" "$bin" "$checkpoint" "$vocoder" "$dir/$name.onnx" "$piper" "$@" || failed=1
}
base=bases/english-nano.safetensors
compare base $base $base

# Two languages, blanks between symbols, a hop that does not divide the transform, style tokens; then one voice without conditions.
PYTHONPATH=tests/python "$python" -c "
import corpus, json, os, sys
d = corpus.make(sys.argv[1], clips=24)
with open(os.path.join(d, 'metadata.csv'), encoding='utf-8') as f:
    rows = [line.strip().split('|') for line in f]
os.remove(os.path.join(d, 'metadata.csv'))
with open(os.path.join(d, 'manifest.jsonl'), 'w', encoding='utf-8') as f:
    for i, (name, text, _, who) in enumerate(rows):
        f.write(json.dumps({'audio_filepath': f'wavs/{name}.wav', 'text': text, 'speaker': who, 'language': ['en', 'de'][i // 3 % 2]}) + '\n')
" "$dir/data"
train() { # folder, settings...
    local run=$1
    shift
    ends_with "train_$(basename "$run")" 0 "$bin" train --network both --data-path "$dir/data" --checkpoint-dir "$run" --init-from none --model-size nano \
        --decoder-layers 1 --text-encoder-layers 1 --vocoder-dim 32 --vocoder-layers 2 --batch-size 8 --max-steps 6 --warmup-steps 0 --listen-clips 0 \
        --text2audio-interval-steps 0 --min-audio-length 0.05 --val-split 0 --n-mels 20 --critic-dim 0 --model-gpu cpu --data-gpu cpu --quiet "$@"
}
train "$dir/strange" --n-fft 512 --win-length 400 --hop-length 150 --add-blank true --enable-multispeaker true
compare strange "$dir/strange" "$dir/strange/vocoder" --add-blank true
train "$dir/plain" --use-voice-conditioning false
compare plain "$dir/plain" "$dir/plain/vocoder"
# The same network, as if a validation had found its mels too soft (voice.manner: pace, spread, sharpness).
mkdir "$dir/sharp"
"$python" -c "
import json, struct, sys
data = bytearray(open(sys.argv[1], 'rb').read())
size = struct.unpack('<Q', data[:8])[0]
header = json.loads(data[8:8 + size])
begin, end = (8 + size + at for at in header['voice.manner']['data_offsets'])
data[begin:end] = struct.pack('<3d', 1.1, 1.2, 0.3)
del header['__metadata__']['xxh128'], header['__metadata__']['written_by']
data[8:8 + size] = json.dumps(header, separators=(',', ':')).encode().ljust(size)
open(sys.argv[2], 'wb').write(data)
" "$dir/plain/step-00000006.safetensors" "$dir/sharp/step-00000006.safetensors" || failed=1
compare sharp "$dir/sharp" "$dir/plain/vocoder"
exit $failed
