#!/usr/bin/env bash
# diagnose under the real mpirun: which rank is slow, and why. Ranks with simulated devices of different speed, and ranks that really
# train on this computer.
set -u
bin=${MYXTTS_BIN:-build/myxtts}
. tests/support/shell.sh
if ! command -v mpirun >/dev/null; then
    echo "skip ranks_diagnose SKIPPED: there is no mpirun here (apt-get install openmpi-bin)"
    exit 0
fi
if [ ! -x "$bin" ]; then
    echo "skip ranks_diagnose SKIPPED: $bin was not built"
    exit 0
fi
# What MPI leaves behind is not ours, and its threads are not instrumented.
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
export TSAN_OPTIONS=${TSAN_OPTIONS:-}:ignore_noninstrumented_modules=1:report_signal_unsafe=0

diagnose=("$bin" diagnose --data-path tests/data/ljspeech --cache-dir "$dir/cache" --val-split 0 --batch-size 2 --num-workers 1
    --num-batches 16 --quiet)
machine=decode_ms=4,preprocess_ms=3
step=$machine,step_ms=30
mpi=(timeout -k 5 60 mpirun --allow-run-as-root --oversubscribe)
# shellcheck disable=SC2317 # ends_with calls it
ranks() { # the machine of each rank
    local all=() machine
    for machine; do
        all+=(${all[0]+:} -n 1 "${diagnose[@]}" --json --model-gpu sim0 --sim "$machine")
    done
    "${mpi[@]}" "${all[@]}"
}

ends_with slow_disk_of_a_rank 1 ranks $step $step,read_ms=45 $step
log_has names_the_rank '"verdict": "Rank 1 on [^ ]+ waits for its disk: reading takes'
log_has names_the_cause '"cause": "storage"'
[ "$(grep -c '"cluster"' "$dir/log")" = 1 ]
verdict only_rank_0_prints $?
ends_with slow_step_of_rank_0 1 ranks $machine,step_ms=60 $step
log_has names_rank_0 '"verdict": "Rank 0 on [^ ]+ computes more slowly: the step.s own work takes'
ends_with healthy_ranks 0 ranks $step $step
log_has blames_nobody '"fault": "none"'
log_has has_both_ranks '"rank": 1,'

# Each rank has its share of every batch, and the gradients are really summed.
"${mpi[@]}" -n 2 "${diagnose[@]}" --json --model-gpu cpu --model-size nano --output "$dir/text" >"$dir/log" 2>"$dir/said"
[ $? -le 1 ] && grep -q ' rank 1 on .* own work .* sum ' "$dir/text" && python3 - "$dir/log" <<'PY'
import json, sys
cluster = json.load(open(sys.argv[1]))["cluster"]
assert cluster["ranks"] == 2 and cluster["steps"] >= 8, cluster
for r in cluster["per_rank"]:
    assert r["own_ms"] > 0 and r["sum_ms"] > 0, r
PY
verdict ranks_that_train $?

ends_with a_rank_fails 3 ranks $step $step,fail=step:9
log_has names_who_failed '^error: rank 1 on .*simulated failure of stage step at batch 9'
ends_with no_change_is_tried 2 "${mpi[@]}" -n 2 "${diagnose[@]}" --apply
log_has says_why '^error: --apply works with one rank only, but 2 were started'
[ "$(grep -c '^error: ' "$dir/log")" = 1 ]
verdict says_it_once $?
ends_with no_data_path 2 "${mpi[@]}" -n 2 "$bin" diagnose
log_has asks_for_data '^error: diagnose needs --data-path'
ends_with simulated_ranks_alone 3 ranks $step,ranks=4 $step,ranks=4
log_has says_to_run_alone 'this command cannot simulate ranks'
ends_with thresholds 0 "${mpi[@]}" -n 2 "$bin" diagnose --thresholds --json
[ "$(grep -c '"voice_minutes"' "$dir/log")" = 1 ]
verdict thresholds_once $?
exit $failed
