#!/usr/bin/env bash
# Training on a GPU: resume bit for bit, the CPU's losses, the caps. usage: tests/gpu/train_gpu.sh MYXTTS DATASET_FOLDER (a small one)
# Skipped, aloud, where there is no GPU.
set -u
myxtts=$1 data=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
check() { # name, status
    if [ "$2" = 0 ]; then passed=$((passed + 1)) && echo "ok: $1"; else failed=$((failed + 1)) && echo "FAILED: $1"; fi
}
nano=(--model-size nano --cache-dir "$work/cache" --batch-size 4 --val-split 0 --init-from none --val-step 1000000 --text2audio-interval-steps 0 --listen-clips 0 --quiet)
train() { "$myxtts" train --data-path "$data" "${nano[@]}" "$@"; }
numbers() { # the data behind the header of a checkpoint
    local n
    n=$(od -A n -t u8 -N 8 "$1" | tr -d ' ')
    tail -c +$((n + 9)) "$1" | sha256sum
}
if ! nvidia-smi -L >/dev/null 2>&1; then
    echo "SKIPPED: no GPU"
    exit 0
fi

for precision in true false; do
    go=(--model-gpu 0 --data-gpu 0 --deterministic true --mixed-precision $precision --max-steps 20 --save-step 10)
    train "${go[@]}" --checkpoint-dir "$work/whole$precision" >/dev/null
    mkdir -p "$work/parts$precision"
    cp "$work/whole$precision/step-00000010.safetensors" "$work/parts$precision/"
    train "${go[@]}" --checkpoint-dir "$work/parts$precision" >/dev/null
    a=$(numbers "$work/whole$precision/step-00000020.safetensors") b=$(numbers "$work/parts$precision/step-00000020.safetensors")
    [ -n "$a" ] && [ "$a" = "$b" ]
    check "20 steps = 10 + resume + 10, bit for bit (mixed precision $precision)" $?
done

for run in cpu:cpu:false gpu:0:false bf16:0:true; do
    IFS=: read -r name device mixed <<<"$run"
    train --warmup-steps 1000 --model-gpu "$device" --data-gpu "$device" --mixed-precision "$mixed" --max-steps 100 --save-step 100 --log-step 1 \
        --checkpoint-dir "$work/$name" >/dev/null
done
python3 - "$work" <<'P'
import json, sys
def losses(name):
    return [j["loss"] for j in map(json.loads, open(f"{sys.argv[1]}/{name}/log.jsonl")) if j.get("event") == "step"]
cpu, gpu, half = losses("cpu"), losses("gpu"), losses("bf16")
worst, at = max((abs(a - b) / a, i + 1) for i, (a, b) in enumerate(zip(cpu, gpu)))
noise = max(abs(a - b) / a for a, b in zip(cpu, half))
mean = sum(abs(a - b) / a for a, b in zip(cpu, gpu)) / len(cpu)
print(f"losses of {len(cpu)} steps, CPU against GPU: fp32 worst {worst:.2e} in step {at} (limit 1e-3), mean {mean:.2e}; bf16 worst {noise:.2e}, last {cpu[-1]:.4f} {gpu[-1]:.4f} {half[-1]:.4f}")
sys.exit(not (len(cpu) == len(gpu) == len(half) == 100 and worst < 1e-3 and noise < 0.05))
P
check "CPU and GPU give the same losses over 100 steps" $?

plan=$(train --model-gpu 0 --data-gpu 0 --max-steps 5 --checkpoint-dir "$work/plan" --json)
python3 - "$plan" <<'P'
import json, sys
j = json.loads(sys.argv[1])
off = abs(j["model_bytes"] - j["planned_model_bytes"]) / j["planned_model_bytes"]
print(f"planned {j['planned_model_bytes']} bytes, used {j['model_bytes']}: {100 * off:.2f} % apart")
sys.exit(off > 0.02)
P
check "the plan is within 2 % of what is used" $?
megabytes=$(python3 -c "import json,sys; print(-(-json.loads(sys.argv[1])['planned_model_bytes'] >> 20))" "$plan" | tr -d -)
train --model-gpu 0 --data-gpu 0 --max-steps 5 --checkpoint-dir "$work/enough" --model-gpu-memory $((megabytes + 1)) >/dev/null
check "a cap as large as the plan is enough" $?
said=$(train --model-gpu 0 --data-gpu 0 --max-steps 5 --checkpoint-dir "$work/little" --model-gpu-memory $((megabytes - 20)) 2>&1)
[ $? = 2 ] && grep -q -- "--batch-size" <<<"$said"
check "a cap 20 MB below the plan is refused before the first step, with the batch that fits" $?
grep -h -A1 error <<<"$said"
echo "$passed passed, $failed failed"
exit $((failed > 0))
