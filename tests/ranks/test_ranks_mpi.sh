#!/usr/bin/env bash
# Ranks under the real mpirun: the same sums as over TCP, and one sentence when a rank is killed, stopped, hangs or fails. The ranks are
# workers of tests/ranks/test_ranks.c.
set -u
program=${MYXTTS_OUT:-build}/tests/test_ranks
. tests/support/shell.sh
if ! command -v mpirun >/dev/null; then
    echo "skip ranks_mpi SKIPPED: there is no mpirun here (apt-get install openmpi-bin)"
    exit 0
fi
if [ ! -x "$program" ]; then
    echo "skip ranks_mpi SKIPPED: $program was not built"
    exit 0
fi
export MYXTTS_RANK_SECONDS=2
# What MPI leaves behind is not ours, and its threads are not instrumented.
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
export TSAN_OPTIONS=${TSAN_OPTIONS:-}:ignore_noninstrumented_modules=1:report_signal_unsafe=0

mpi() { # ranks, arguments of the worker: what they say is in $dir/log
    local n=$1
    shift
    timeout -k 5 60 mpirun --allow-run-as-root --oversubscribe -n "$n" "$program" worker "$@" >"$dir/log" 2>&1 </dev/null
    echo $? >"$dir/code"
}
one_sentence() { # name, pattern: exactly one error, and mpirun failed
    [ "$(grep -c '^error: ' "$dir/log")" = 1 ] && grep -qE "^error: $2" "$dir/log" && [ "$(cat "$dir/code")" != 0 ] &&
        [ "$(cat "$dir/code")" != 124 ]
    verdict "$1" $?
}

for n in 2 3 4; do
    mpi $n check
    [ "$(cat "$dir/code")" = 0 ] && [ "$(grep -c '^sums ' "$dir/log")" = $n ] && [ "$(grep '^sums ' "$dir/log" | sort -u | wc -l)" = 1 ]
    verdict "calls_of_${n}_ranks" $?
    grep '^sums ' "$dir/log" | sort -u >"$dir/mpi.$n"
done
# Bit for bit what the star of TCP connections gives.
port=$((20000 + RANDOM % 10000))
for i in 0 1 2; do
    RANK=$i WORLD_SIZE=3 LOCAL_RANK=$i MASTER_ADDR=127.0.0.1 MASTER_PORT=$port "$program" worker check >"$dir/tcp.$i" 2>&1 &
done
wait
cat "$dir"/tcp.? >"$dir/log"
[ "$(sort -u "$dir/log")" = "$(cat "$dir/mpi.3")" ]
verdict sums_are_those_of_tcp $?
mpi 3 lanes
[ "$(cat "$dir/code")" = 0 ]
verdict two_threads_have_a_lane_each $?
mpi 4 wait 1.5
[ "$(awk '$1 == "waited" && $3 < 0.3' "$dir/log" | wc -l)" = 4 ]
verdict waiting_is_polite $?

for who in 0 2; do
    mpi 3 steps 1000000 kill $who
    one_sentence "rank_${who}_killed" "rank $who on .* ended without a message"
done
mpi 3 steps 1000000 fail 1
one_sentence a_rank_fails 'rank 1 on .*: no memory for 17 spoons'
mpi 2 steps 1000000 hang 1
one_sentence a_rank_hangs 'rank 1 on .* is stuck: it has been computing at step 20 for .* and 1 rank waits for it'
mpi 3 steps 1000000 stop 1
one_sentence a_rank_is_stopped 'rank 1 on .* has not answered'
mpi 2 agree seed 1 2
one_sentence settings_differ 'seed differs between ranks: 1 on rank 0 .*, 2 on rank 1'

# ---- the library ----
MYXTTS_MPI=/nowhere/libmpi.so.40 mpi 2 check
one_sentence without_the_library '2 ranks were started by mpirun, but /nowhere/libmpi.so.40 cannot be loaded'
grep -q 'hint: install libopenmpi3' "$dir/log"
verdict it_says_what_to_install $?
MYXTTS_RANKS=1 mpi 1 check
[ "$(cat "$dir/code")" = 0 ]
verdict one_rank_takes_the_same_way $?
MYXTTS_MPI=/nowhere mpi 1 steps 5
[ "$(cat "$dir/code")" = 0 ]
verdict one_rank_needs_no_library $?

# ---- Ctrl-C: mpirun kills its processes a second later ----
bin=${MYXTTS_BIN:-build/myxtts}
if [ -x "$bin" ]; then
    small=()
    for o in text-encoder audio-encoder decoder; do small+=("--$o-dim" 16 "--$o-layers" 1 "--$o-heads" 2); done
    env --default-signal=INT mpirun --allow-run-as-root --oversubscribe -n 2 "$bin" train --data-path tests/data/ljspeech --cache-dir "$dir/cache" \
        --checkpoint-dir "$dir/run" --init-from none --model-gpu cpu "${small[@]}" --speaker-embedding-dim 8 --predictor-dim 8 --batch-size 1 \
        --val-split 0 --listen-clips 0 --save-step 1000000 --max-steps 1000000 --epochs 1000000 --log-step 1 --verbose >"$dir/log" 2>&1 </dev/null &
    launcher=$!
    while kill -0 $launcher 2>/dev/null && ! grep -q '^\[rank 0\] step 5/' "$dir/log"; do sleep 0.1; done
    kill -INT $launcher
    wait $launcher
    looks=0
    while [ $looks -lt 600 ] && ! compgen -G "$dir/run/step-*.safetensors" >/dev/null; do
        looks=$((looks + 1))
        sleep 0.1
    done
    compgen -G "$dir/run/step-*.safetensors" >/dev/null
    verdict a_checkpoint_is_there_after_Ctrl_C $?
fi
exit $failed
