#!/usr/bin/env bash
# What the guides of the Python ancestor promised, each with the command that shows it here, run and checked. usage:
#   tools/promises.sh [BUILD [N...]]   run them all (or those numbers) on data made here, one line each, and `N kept, N broken, N skipped`
#   tools/promises.sh --break [BUILD [N...]]   where all are kept: break what each one checks (tools/promises_broken.sh), see its check fail
#   tools/promises.sh --table          print the table of docs/TOOLS.md
#   tools/promises.sh --check          compare that table with docs/TOOLS.md
# In the commands F is a configuration (the smallest network, and the folder of the data), DIR is that folder, RUN and RUN2 are folders of
# trainings. Commands with --model-gpu 0 need a GPU and are skipped without one. Exit 0: all kept, 1: some broken, 3: no flite, no program.
set -eu
cd "$(dirname "$0")/.."
export LC_ALL=C.UTF-8
mode=run
case ${1:-} in --table | --check) mode=${1#--} ;; esac
breaks=0
if [ "${1:-}" = --break ]; then
    breaks=1
    shift
    . tools/promises_broken.sh
fi
build=${1:-build} wanted=" ${*:2} "
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
kept=0 broken=0 skipped=0 number=0 one=1

# --- tools of the checks ---

# Runs a command as printed; $out has what it says, $rc how it ended.
out=$work/out rc=0 seconds=0 folder=.
run() {
    local line begun ended
    line=$(printf '%s\n' "$1" | sed -E "s#\bmyxtts\b#$program#; s#\bDIR\b#$work/data#g; s#\bRUN2\b#$work/run2#g; s#\bRUN\b#$work/run#g; s#\bOLD\b#$work/old.yaml#g; s#\bBAD\b#$work/bad.yaml#g; s#\bSLOW\b#$work/slow.yaml#g; s#\bF\b#$work/f.yaml#g; s#\bREPORT\b#$work/report#g; s#\bCACHE\b#$work/cache#g; s#\bLINES\b#$work/lines#g")
    rc=0
    begun=$(date +%s%N)
    (cd "$folder" && timeout 120 bash -c "$line") >"$out" 2>&1 </dev/null || rc=$?
    ended=$(date +%s%N)
    seconds=$(awk -v a="$begun" -v b="$ended" 'BEGIN { printf "%.3f", (b - a) / 1e9 }')
}
has() { grep -qE -- "$1" "$out" || { note="no '$1'" && return 1; }; }
lacks() { ! grep -qE -- "$1" "$out" || { note="'$1' is there" && return 1; }; }
ends() { [ "$rc" = "$1" ] || { note="exit code $rc, not $1" && return 1; }; }
value() { sed -n "s/^ *\"$1\": *\"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$out" | head -1; } # of a key, in JSON
is() { [ "$(value "$1")" = "$2" ] || { note="$1 is '$(value "$1")', not '$2'" && return 1; }; }
compare() { awk -v a="$1" -v b="$3" "BEGIN { exit !(a $2 b) }" || { note="$1 is not $2 $3" && return 1; }; }
checksum() { run "$1" && value checksum; }

# promise TEXT COMMAND CHECK: CHECK is a function; it sees the command's output and may run more. It returns 2 where it cannot tell, with a note.
promise() {
    number=$((number + 1))
    if [ "$mode" != run ]; then
        # shellcheck disable=SC2016
        printf '| %d | %s | `%s` |\n' "$number" "$1" "${2//|/\\|}"
        return 0
    fi
    [ "$wanted" = "  " ] || [[ $wanted == *" $number "* ]] || return 0
    local before after edit argedit extra second code ahead undo where
    if [ $breaks = 1 ]; then
        sabotage "$3" || { broken=$((broken + 1)) && printf 'BLIND   %2d  %s: nothing breaks it\n' "$number" "$1" && return 0; }
        declare -p before after edit argedit extra second code | sed 's/^declare -- //' >"$work/fault"
        rm -f "$work/calls"
        eval "$ahead"
        eval "folder=${where:-.}"
    fi
    note="" said=""
    if [[ $2 == *"--model-gpu 0"* ]] && [ "$gpu" = 0 ]; then
        skipped=$((skipped + 1))
        printf 'skipped %2d  %s (needs a GPU)\n' "$number" "$1"
        return 0
    fi
    run "$2"
    cp "$out" "$work/first"
    local verdict=0
    "$3" || verdict=$?
    if [ $breaks = 1 ]; then
        eval "$undo"
        folder=.
    fi
    if [ "$verdict" = 2 ]; then
        skipped=$((skipped + 1))
        printf 'skipped %2d  %s (%s)\n' "$number" "$1" "$note"
    elif [ $breaks = 1 ] && [ "$verdict" = 0 ]; then
        broken=$((broken + 1))
        printf 'BLIND   %2d  %s: its check does not notice the fault\n' "$number" "$1"
    elif [ $breaks = 1 ]; then
        kept=$((kept + 1))
        printf 'noticed %2d  %s (%s)\n' "$number" "$1" "${note:-a check of the shell}"
    elif [ "$verdict" = 0 ]; then
        kept=$((kept + 1))
        printf 'kept    %2d  %s%s\n' "$number" "$1" "${said:+ ($said)}"
    else
        broken=$((broken + 1))
        printf 'BROKEN  %2d  %s: %s\n            $ %s\n' "$number" "$1" "$note" "$2"
        tail -12 "$work/first" | sed 's/^/            /'
    fi
}

# --- the checks ---

parallel_text() { # as fast as the cores allow: the fastest of nine tries each, since others may use the machine
    local many=1e9 cores best=0 load
    one=1e9
    ends 0 && has 'text +built 13100' || return 1
    cores=$(nproc)
    for _ in 1 2 3 4 5 6 7 8 9; do
        run "rm -rf CACHE-some; myxtts prepare --data-path LINES --cache-dir CACHE-some --stages text"
        many=$(awk -v a="$seconds" -v b="$many" 'BEGIN { print (a < b ? a : b) }')
        run "rm -rf CACHE-some; myxtts prepare --data-path LINES --cache-dir CACHE-some --stages text --num-workers 1"
        one=$(awk -v a="$seconds" -v b="$one" 'BEGIN { print (a < b ? a : b) }')
        best=$(awk -v a="$one" -v b="$many" 'BEGIN { printf "%.2f", a / b }')
    done
    said="$best times as fast with $cores workers as with one"
    read -r load _ </proc/loadavg
    awk -v b="$best" -v l="$load" -v c="$cores" 'BEGIN { exit !(b <= 1.3 && (c < 2 || l > c / 2)) }' &&
        note="the machine is busy" && return 2
    compare "$best" ">" 1.3
}
stays_on_disk() { ends 0 && has 'text +built 0' && said="$seconds s" && compare "$seconds" "<" 2; }
far_faster() {
    said="$(awk -v a="$one" -v b="$seconds" 'BEGIN { printf "%.0f", a / b }') times as fast as the first time with one worker"
    ends 0 && has 'text +built 0, reused 13100' && compare "$one" ">" "$(awk -v s="$seconds" 'BEGIN { print 10 * s }')"
}
one_change() { # the folder has been prepared; one recording and one text change
    cp "$work/data/wavs/demo-0002.wav" "$work/data/wavs/demo-0001.wav"
    sed -i '3s/|[^|]*$/|Something else is said here./' "$work/data/metadata.csv"
    run "myxtts prepare --config F"
    ends 0 && has 'text +built 1, reused 119' && has 'mel +built 1, reused 119'
}
other_settings() {
    ends 0 && has 'mel +built 120' && has 'text +built 0' || return 1
    run "myxtts prepare --config F"
    has 'mel +built 0, reused 120'
}
damage_is_mended() {
    local file size
    file=$(find "$work/data/myxtts-cache" -maxdepth 1 -type f -size +100k | head -1)
    size=$(stat -c %s "$file")
    printf 'damaged' | dd of="$file" bs=1 seek=$((size / 2)) conv=notrunc status=none
    run "myxtts prepare --config F --verify"
    has 'mel +built 1, reused 119' || return 1
    run "myxtts prepare --config F --verify"
    ends 0 && has 'mel +built 0, reused 120'
}
language_once() {
    ends 0 && has 'text +built 120' || return 1
    run "myxtts prepare --config F --cache-dir CACHE-auto --language-detection-method auto"
    has 'text +built 0, reused 120'
}
same_for_workers() {
    local first
    first=$(value checksum)
    said=$first
    [ -n "$first" ] && [ "$first" = "$(checksum "myxtts bench pipeline --config F --checksum --num-batches 20 --num-workers 1 --json")" ]
}
many_workers() { ends 0 && has 'accepted 120'; }
unwritable_cache() { ends 3 && has 'f\.yaml' && lacks 'Segmentation'; }

all_checks() { ends 0 && has '^Loading' && has '^Shapes' && has '^Graph, fused' && has '^Devices' && has '^Memory plan' && has '^Dataset and caches' && has '^Disk space' && has 'data_gpu +sim0' && has 'model_gpu +sim1'; }
exit_codes() {
    ends 0 || return 1
    run "myxtts validate --config BAD"
    ends 1
}
repairs() {
    ends 0 && has 'bak\.1' && grep -q '# there are never enough' "$work/bad.yaml" && grep -q 'use_tf_native_loading: true' "$work/bad.yaml" && [ -f "$work/bad.yaml.bak.1" ]
}
old_names() {
    ends 0 && has ' 0 errors' || return 1
    run "myxtts config --config OLD --json"
    ends 0 && has '"native_loading"' && has 'old\.yaml'
}
old_options() { ends 0 && has 'pad_to_fixed_length +true +command line' && has 'enable_memory_isolation +true +command line' && has 'model_gpu_memory +20480'; }
no_config() { ends 2 && has 'nowhere.yaml' && has 'hint: .*--default-yaml'; }
slow_way_is_named() { has 'asynchronous pipeline is off|native_loading' && has 'fix +native_loading: true'; }
workers_and_cores() { has '64 workers on [0-9]+ cores'; }
gpu_or_why() { has '^Devices' && has 'GPUs +'; }
room() { has 'host memory +[0-9.]+ GB' && has 'checkpoints +[0-9.]+ [GT]B free' && has 'caches +[0-9.]+ [GT]B free'; }

eight_sections() {
    cp "$work/report" "$out"
    for i in 1 2 3 4 5 6 7 8; do has "^\[$i\] " || return 1; done
    has '^ISSUES' && has '^RECOMMENDATIONS' && has '^CONFIGURATION CHANGES' && has '^VERDICT'
}
one_page() {
    cp "$work/report.html" "$out"
    has '<html' && has '<svg' && lacks '<script' && lacks '(src|href)="http'
}
storage_speed() { has '1 MiB reads +[0-9.]+ ms' && has 'asynchronous, by worker threads'; }
slow_disk() { ends 1 && is bottleneck read && is cause storage; }
few_workers() { ends 1 && is bottleneck decode && is cause workers && has '"change": "num_workers: [0-9]+"'; }
step_is_limit() { is bottleneck step && is cause compute; }
stall_with_period() { ends 1 && is bottleneck read && is cause stall && is period_steps 10; }
two_walls() { # a disk that is slow alone gives little: preprocessing is as slow
    local stages
    stages=$(sed -n '/"walls": \[/,/^  \]/s/^ *"stage": "\(.*\)",*$/\1/p' "$out" | paste -sd' ')
    [ "$stages" = "read preprocess" ] || { note="the walls are '$stages'" && return 1; }
}
measured_gain() {
    local pair
    pair=$(sed -n 's/^ *num_workers: [0-9]* *\([0-9.]*\), measured \([0-9.]*\)$/\1 \2/p' "$out" | head -1)
    said="forecast ${pair/ /, measured }"
    [ -n "$pair" ] && awk -v p="$pair" 'BEGIN { split(p, x, " "); exit !(x[2] > 0.85 * x[1] && x[2] < 1.15 * x[1] && x[2] > 1.5) }'
}
one_table() { ends 0 && has 'model device busy' && has 'step time variation' && has 'storage, 1 MiB reads' && has 'transfer stage'; }

batch_statistics() { ends 0 && has 'mean, deviation' && has 'p95, p99' && has 'variation' && has 'cycle'; }
cycle_in_batches() { has '(lag|every|period)[^0-9]*10\b' && lacks 'cycle +none'; }
grid() { ends 0 && has 'batch 8, ' && has 'batch 16, ' && has 'batch 32, ' && has 'recommended' && has 'verdict: batch_size [0-9]+ with num_workers [0-9]+'; }
phases() { has '^ +data +' && has '^ +forward +' && has '^ +loss +' && has '^ +backward +' && has '^ +optimiser +' && has 'verdict:'; }
dual() { for p in load preprocess transfer training gaps; do has "^ +$p +[0-9.]+ ms" || return 1; done && has 'one device instead of two'; }
hidden() { # 20 + 10 + 15 beside 150: the longest stage, not the sum
    local overlapped
    overlapped=$(sed -n 's/^ *mean, deviation *\([0-9.]*\) ms.*/\1/p' "$out")
    run "myxtts profile dual --config F --sim read_ms=20,preprocess_ms=10,peer_us=15000,step_ms=150 --data-gpu sim0 --model-gpu sim1 --num-steps 20 --native-loading false"
    one_by_one=$(sed -n 's/^ *mean, deviation *\([0-9.]*\) ms.*/\1/p' "$out")
    said="$overlapped ms a step; one after the other $one_by_one ms"
    compare "$overlapped" "<" 153 && compare "$one_by_one" ">" 190
}
three_buffers() {
    has '3 device buffers' || return 1
    run "myxtts profile dual --config F --sim step_ms=8,peer_us=4000,stall=peer:20:60 --data-gpu sim0 --model-gpu sim1 --num-steps 160 --pipeline-buffer-size 9"
    has '9 device buffers' || return 1
    run "myxtts profile dual --config F --sim step_ms=8,peer_us=30000 --data-gpu sim0 --model-gpu sim1 --num-steps 120 --pipeline-buffer-size 9"
    said="9 where they hide a stall, 3 where the copy is too slow" && has ' 3 device buffers'
}
prefetch_depth() {
    has 'batch size 16.* 4 host slots' || return 1
    run "myxtts profile data --config F --batch-size 8 --num-batches 12" && has '8 host slots' || return 1
    run "myxtts profile data --config F --batch-size 32 --num-batches 12" && has '2 host slots'
}
steady() {
    said="waits $(value wait_share)"
    ends 0 && compare "$(value wait_share)" "<" 0.05 && lacks '"bottleneck": "(read|decode|h2d|preprocess|peer)"'
}
same_on_two() {
    local first
    first=$(value checksum)
    [ -n "$first" ] && [ "$first" = "$(checksum "myxtts bench pipeline --config F --checksum --num-batches 20 --data-gpu cpu --model-gpu cpu --json")" ]
}
same_on_the_fly() {
    local first
    first=$(value checksum)
    [ -n "$first" ] && [ "$first" = "$(checksum "myxtts bench pipeline --config F --checksum --num-batches 20 --preprocessing-mode precompute --json")" ]
}
one_shape() { has 'padding .*one fixed shape for every batch'; }

refused() { ends 2 && has 'hint: --batch-size [0-9]+ --global-batch-size [0-9]+ fits'; }
fits() { ends 0 && has 'good +device sim0' && has 'largest batch +([5-9][0-9]|[0-9]{3,})'; }
caps() { has 'device sim1 +[0-9.]+ MB of 419.4 MB' && has 'device sim0 +[0-9.]+ MB of 67.1 MB'; }

reads_config() { ends 0 && has 'model_size +nano \(.*f\.yaml:[0-9]+\)' && has 'done at step 30 of 30' && has '^ +verdict'; }
logged() { # the command prints the last line of training in the log
    for key in step_ms step_variation utterances_per_s wait_share busy_share padding_share; do has "\"$key\"" || return 1; done
}
starving() { has 'waited [0-9]+ % of the time for data'; }
says_the_way() { has '^warning: .*(native_loading|overlap)'; }
resumes() { ends 0 && has 'resuming from .*step-00000030' && has 'done at step 40 of 40'; }
compares() { [ "$rc" -le 1 ] && has 'step' && has '95 %|sure'; }
scales() { [ "$rc" -le 1 ] && has '\b8\b' && has '\b16\b'; }
live() { ends 0 && has '(step|40)' && has 'loss'; }
two_languages() { ends 0 && has 'the same commands'; }
gpu_step() { [ "$rc" -le 1 ] && has 'forward' && has 'device busy +(8|9|10)[0-9.]+ %'; }
gpu_graphs() { has 'step as CUDA graphs' && lacks 'step as CUDA graphs +not measured'; }
gpu_dual() { [ "$rc" -le 1 ] && has 'NVML' && has 'utilisation'; }

# --- the data ---

make_data() {
    program=$PWD/$build/myxtts
    [ -x "$program" ] || { echo "promises: there is no $program; make builds it" >&2 && exit 3; }
    command -v "${FLITE:-flite}" >/dev/null || { echo "promises: there is no flite (apt-get install flite)" >&2 && exit 3; }
    gpu=0
    "$program" validate --model-gpu 0 --data-gpu 0 >"$work/gpu" 2>&1 && gpu=1
    tools/demo_text.sh 120 >"$work/text.csv"
    tools/flite_corpus.sh "$work/data" "$work/text.csv" slt >"$work/log" 2>&1 || { cat "$work/log" && exit 3; }
    mkdir "$work/lines"
    tools/demo_text.sh 13100 >"$work/lines/metadata.csv"
    cat >"$work/f.yaml" <<Y
model:
  model_size: nano
  sample_rate: 16000
  n_fft: 1024
  win_length: 800
  hop_length: 200
data:
  data_path: $work/data
  batch_size: 16
training:
  listen_clips: 0
  text2audio_interval_steps: 0
Y
    sed 's/^data:$/&\n  use_tf_native_loading: false/' "$work/f.yaml" >"$work/slow.yaml"
    # The settings that the ancestor's documents tell users to write.
    cat >"$work/old.yaml" <<Y
data:
  data_path: $work/data
  use_tf_native_loading: true
  prefetch_to_gpu: true
  enhanced_gpu_prefetch: true
  optimize_cpu_gpu_overlap: true
  num_workers: 2
  prefetch_buffer_size: 16
  pipeline_buffer_size: 50
  pad_to_fixed_length: true
  max_text_length: 200
  max_mel_frames: 800
  enable_xla: true
  mixed_precision: true
  batch_size: 32
  data_gpu: sim0
  model_gpu: sim1
  pin_memory: true
  enable_memory_mapping: true
  preprocessing_mode: "precompute"
  cache_verification: true
training:
  enable_graph_mode: true
  enable_xla_compilation: true
  enable_eager_debug: false
Y
    cat >"$work/bad.yaml" <<Y
data:
  data_path: $work/data
  num_worker: 64 # there are never enough
  use_tf_native_loading: false
training:
  mixed_precison: true
Y
}

# --- the promises ---

all_promises() {
    promise "Texts are prepared by all cores at once" "myxtts prepare --data-path LINES --cache-dir CACHE --stages text" parallel_text
    promise "What was prepared stays on disk, and the next start takes at most 2 s" "myxtts prepare --data-path LINES --cache-dir CACHE --stages text" stays_on_disk
    promise "The next start is many times as fast as the first" "myxtts prepare --data-path LINES --cache-dir CACHE --stages text --quiet" far_faster
    promise "What changed is prepared again automatically, and nothing else" "myxtts prepare --config F" one_change
    promise "Other settings get caches of their own; the first ones stay" "myxtts prepare --config F --trim-top-db 30" other_settings
    promise "A damaged cache is noticed and mended" "myxtts prepare --config F --verify" damage_is_mended
    promise "The language of a line is found once and remembered" "myxtts prepare --config F --cache-dir CACHE-auto --language-detection-method auto" language_once
    promise "Batches are the same with any number of workers" "myxtts bench pipeline --config F --checksum --num-batches 20 --num-workers 4 --json" same_for_workers
    promise "Even many workers do not run out of memory" "ulimit -v 6000000; myxtts prepare --config F --cache-dir CACHE-many --num-workers 64" many_workers
    promise "A cache folder that cannot be written is named" "myxtts prepare --config F --cache-dir F/cache" unwritable_cache

    promise "One command checks loading, shapes, fused kernels, both devices, memory, data and disk" "myxtts validate --config F --data-gpu sim0 --model-gpu sim1" all_checks
    promise "Its exit code says whether training may begin" "myxtts validate --config F" exit_codes
    promise "It repairs the configuration, and keeps comments and a backup" "myxtts validate --config BAD --fix" repairs
    promise "The settings that the old documents recommend are understood under their old names" "myxtts validate --config OLD" old_names
    promise "So are the options of the old training command" "myxtts config --train-data DIR --model-size tiny --batch-size 16 --data-gpu 0 --model-gpu 1 --model-gpu-memory 20480 --enable-memory-isolation --enable-static-shapes" old_options
    promise "A missing configuration file is reported, with how to make one" "myxtts validate --config nowhere.yaml" no_config
    promise "Loading without overlap is found, with its fix" "myxtts validate --config SLOW" slow_way_is_named
    promise "More workers than the cores can carry are found" "myxtts validate --config F --num-workers 64" workers_and_cores
    promise "It says which GPUs there are, or why none can be used" "myxtts validate --config F" gpu_or_why
    promise "It says whether host memory and disk are enough" "myxtts validate --config F" room

    promise "One report has eight sections, issues, recommendations and changes to make, also as a file" "myxtts diagnose --config F --num-batches 12 --output REPORT" eight_sections
    promise "The report is also one page to send to somebody" "myxtts diagnose --config F --num-batches 12 --html REPORT.html" one_page
    promise "It measures the disk and says which way of loading is in use" "myxtts diagnose --config F --num-batches 12 --sim step_ms=5 --data-gpu sim0 --model-gpu sim1" storage_speed
    promise "A slow disk is named" "myxtts diagnose --config F --sim read_ms=60,step_ms=20 --data-gpu sim0 --model-gpu sim1 --num-batches 60 --json" slow_disk
    promise "Too few workers are named, with how many would do" "myxtts diagnose --config F --sim decode_ms=80,step_ms=20 --num-workers 2 --data-gpu sim0 --model-gpu sim1 --num-batches 60 --json" few_workers
    promise "Where the network itself is the limit, the report says that and nothing else" "myxtts diagnose --config F --sim step_ms=60 --data-gpu sim0 --model-gpu sim1 --num-batches 40 --json" step_is_limit
    promise "Oscillation is traced to a stage and its period" "myxtts diagnose --config F --sim step_ms=20,stall=read:10:300 --data-gpu sim0 --model-gpu sim1 --num-batches 120 --json" stall_with_period
    promise "Two faults at once are both named, in order" "myxtts diagnose --config F --sim read_ms=40,preprocess_ms=38,step_ms=10 --data-gpu sim0 --model-gpu sim1 --num-batches 80 --json" two_walls
    promise "It forecasts what a change gives, and measures it when asked" "myxtts diagnose --config F --sim decode_ms=40,step_ms=10 --num-workers 2 --data-gpu sim0 --model-gpu sim1 --num-batches 80 --apply" measured_gain
    promise "What counts as good and bad is one table" "myxtts diagnose --thresholds" one_table

    promise "The data alone: mean, deviation, variation, percentiles, cycle of batch times" "myxtts profile data --config F --num-batches 60" batch_statistics
    promise "A cycle in the batch times is found" "myxtts profile data --config F --sim read_ms=5,stall=read:10:100 --data-gpu sim0 --model-gpu sim1 --num-batches 100" cycle_in_batches
    promise "The best batch size and number of workers are found by trying them" "myxtts profile data --config F --benchmark --num-batches 20 --repeats 2" grid
    promise "The step is taken apart: data, forward, loss, backward, optimiser" "myxtts profile step --config F --num-steps 12" phases
    promise "Two GPUs: loading, preprocessing, transfer, training, gaps, and what one GPU would give" "myxtts profile dual --config F --sim preprocess_ms=10,step_ms=20 --data-gpu sim0 --model-gpu sim1 --num-steps 40" dual
    promise "Work before the step is hidden: a step takes as long as the slowest stage, not as long as all" "myxtts profile dual --config F --sim read_ms=20,preprocess_ms=10,peer_us=15000,step_ms=150 --data-gpu sim0 --model-gpu sim1 --num-steps 20" hidden
    promise "Three device buffers, more where they help" "myxtts profile dual --config F --sim step_ms=20 --data-gpu sim0 --model-gpu sim1 --num-steps 40" three_buffers
    promise "Batches prepared ahead: 64 clips' worth, 2 to 8 batches" "myxtts profile data --config F --batch-size 16 --num-batches 12" prefetch_depth
    promise "A healthy pair of GPUs is steady: nothing waits" "myxtts diagnose --config F --sim read_ms=5,decode_ms=8,preprocess_ms=10,peer_us=4000,step_ms=40 --batch-size 8 --data-gpu sim0 --model-gpu sim1 --num-batches 60 --json" steady
    promise "Two devices train on the same batches as one" "myxtts bench pipeline --config F --checksum --num-batches 20 --data-gpu sim0 --model-gpu sim1 --json" same_on_two
    promise "Mels from the cache and mels made on the fly are the same" "myxtts bench pipeline --config F --checksum --num-batches 20 --preprocessing-mode on_the_fly --json" same_on_the_fly
    promise "Fixed shapes: every batch has the same" "myxtts validate --config F --pad-to-fixed-length true --max-text-length 200 --max-mel-frames 800" one_shape

    promise "Memory is capped on each GPU" "myxtts validate --config F --data-gpu sim0 --model-gpu sim1 --data-gpu-memory 64 --model-gpu-memory 400" caps
    promise "A batch that does not fit is refused before the first step, with one that does" "myxtts train --config F --checkpoint-dir RUN --model-gpu-memory 150 --max-steps 10" refused
    promise "48 clips fit on a GPU of 24 GB" "myxtts validate --config F --model-size tiny --batch-size 48 --sim memory_gb=24 --data-gpu sim0 --model-gpu sim0" fits

    promise "Training reads the configuration file, says where each setting comes from, and ends with a verdict" "myxtts train --config F --checkpoint-dir RUN --max-steps 30 --log-step 15 --batch-size 8 --verbose" reads_config
    promise "Step time, variation, throughput and waiting are in the log" "grep '\"event\":\"step\"' RUN/log.jsonl | tail -1" logged
    promise "Training continues where it stopped" "myxtts train --config F --checkpoint-dir RUN --max-steps 40 --log-step 10 --batch-size 8" resumes
    promise "A run that starves for data says so, with the cause" "myxtts train --config F --checkpoint-dir RUN-slow --sim read_ms=300 --data-gpu sim0 --model-gpu sim1 --max-steps 32 --log-step 16 --batch-size 2" starving
    promise "A run that loads without overlap says so" "myxtts train --config F --checkpoint-dir RUN2 --native-loading false --max-steps 30 --log-step 15" says_the_way
    promise "Two runs can be compared" "myxtts compare RUN RUN2" compares
    promise "Throughput over batch size comes from the logs of runs" "myxtts scaling RUN RUN2" scales
    promise "A run can be watched from another terminal" "myxtts monitor RUN --once" live

    promise "On a GPU: the step as a graph, in bf16, busy 80 % of the time or more" "myxtts profile step --config F --data-gpu 0 --model-gpu 0 --num-steps 60" gpu_step
    promise "On a GPU: graphs and fused kernels are reported" "myxtts diagnose --config F --data-gpu 0 --model-gpu 0" gpu_graphs
    promise "On a GPU: utilisation, memory and power are sampled in the background" "myxtts profile dual --config F --data-gpu 0 --model-gpu 0 --num-steps 60" gpu_dual
    promise "Guides in English and Persian have the same commands and outputs" "tools/guide.sh --languages" two_languages
}

table() {
    printf '| | promise | shown by |\n|---|---|---|\n'
    all_promises
}
case $mode in
table) table ;;
check)
    table | diff - <(sed -n '/^| | promise /,/^$/p' docs/TOOLS.md | sed '/^$/d') >"$work/difference" ||
        { echo "promises: the table in docs/TOOLS.md is another one (tools/promises.sh --table prints it):" && head "$work/difference" && exit 1; }
    echo "promises: the table in docs/TOOLS.md is that of the script"
    ;;
run)
    make_data
    if [ $breaks = 1 ]; then
        write_saboteur "$work/myxtts-broken" "$program" "$work"
        program=$work/myxtts-broken
    fi
    all_promises
    [ $breaks = 1 ] && echo "$kept faults noticed, $broken not, $skipped skipped" || echo "$kept kept, $broken broken, $skipped skipped"
    [ "$broken" = 0 ]
    ;;
esac
