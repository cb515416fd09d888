#!/usr/bin/env bash
# Simulated clusters that really run: ranks in one process, each with a pipeline and devices of its own. Who is slow is named, what was
# forecast comes about, and a run without ranks knows nothing of them. The times are those of a simulated machine.
set -u
bin=${MYXTTS_BIN:-build/myxtts}
. tests/support/shell.sh
if [ ! -x "$bin" ]; then
    echo "skip cluster SKIPPED: $bin was not built"
    exit 0
fi

corpus=(--data-path tests/data/ljspeech --cache-dir "$dir/cache" --val-split 0 --batch-size 2 --num-workers 2)
"$bin" prepare "${corpus[@]}" --quiet >"$dir/log" 2>&1
verdict prepares $?
machine=decode_ms=4,preprocess_ms=3
step=$machine,step_ms=30
diagnose=("$bin" diagnose "${corpus[@]}" --num-batches 16 --quiet --json)

ends_with slow_rank 1 "${diagnose[@]}" --sim "$step,ranks=3,slow_rank=1:2"
log_has names_the_rank '"verdict": "Rank 1 on host-0 computes more slowly: the step.s own work takes [56][0-9]\.[0-9] ms'
log_has says_what_it_is '"fault": "rank"'
log_has has_every_rank '"rank": 2,'
log_has stage_of_the_rank '"bottleneck": "step"'
ends_with slow_disk_on_a_host 1 "${diagnose[@]}" --sim "$step,ranks=4,hosts=2,host=1:read_ms=45"
log_has names_the_host '"verdict": "The 2 ranks on host-1 wait for their disk: reading takes'
log_has cause_of_the_host '"cause": "storage"'
ends_with slow_rank_in_persian 1 "${diagnose[@]}" --messages fa --sim "$step,ranks=3,slow_rank=1:2"
log_has names_it_in_persian '"verdict": ".*rank .*کندتر حساب می‌کند.*برابر می‌شد'
log_has gains_in_persian '"change": "بدون rank'
log_has fault_stays_a_code '"fault": "rank"'
log_lacks nothing_of_ranks_in_english 'elsewhere|holds the others|instead of|not hidden'
ends_with slow_link 1 "${diagnose[@]}" --sim "$step,ranks=2,link_gbps=2"
log_has names_the_link '"verdict": "The link between the ranks holds them up'
log_has link_is_the_sum '"bottleneck": "sum"'
ends_with healthy 0 "${diagnose[@]}" --sim "$step,ranks=4,link_gbps=400"
log_has blames_nobody '"fault": "none"'
ends_with alone 0 "${diagnose[@]}" --sim "$step" --model-gpu sim0
log_lacks no_cluster_alone '"cluster"|"sum"|sum '

ends_with profile_step 0 "$bin" profile step "${corpus[@]}" --num-steps 16 --sim "$step,ranks=2,link_gbps=4"
log_has profile_shows_the_sum '^  sum +[0-9.]+ ms'
ends_with profile_dual 0 "$bin" profile dual "${corpus[@]}" --num-steps 16 --sim "$step,ranks=2" --data-gpu sim0 --model-gpu sim1
log_has dual_shows_the_sum '^  sum +[0-9.]+ ms'
ends_with broken_rank 3 "${diagnose[@]}" --sim "$step,ranks=3,rank=2:fail=step:9"
log_has names_the_broken_rank 'error: rank 2: device sim4: simulated failure of stage step at batch 9'
ends_with broken_link 3 "${diagnose[@]}" --sim "$step,ranks=2,fail=sum:9"
log_has names_the_broken_link 'error: device links: simulated failure of stage sum at batch 9'
ends_with train_refuses 2 "$bin" train "${corpus[@]}" --checkpoint-dir "$dir/run" --sim "$step,ranks=8"
log_has train_says_mpirun 'mpirun -n 8'
ends_with real_device_refuses 2 "${diagnose[@]}" --sim "$step,ranks=2" --model-gpu cpu
log_has says_which_device 'use --model-gpu sim0'

# A rank whose data were late although nothing in the machine is slow was disturbed by this computer: it is measured again. What came out
# plays no part in that.
scaling=("$bin" scaling --forecast 1,2,4 "${corpus[@]}" --num-steps 40 --quiet --json)
for _ in 1 2 3; do
    ends_with forecast 0 "${scaling[@]}" --check --model-gpu sim0 --sim "$machine,jitter=step:0.05,link_gbps=4,step_ms=50"
    python3 -c 'import json, sys; sys.exit(json.load(open(sys.argv[1]))["measured"]["wait_share"] > 0.01)' "$dir/log" && break
done
python3 - "$dir/log" <<'PY'
import json, sys
all = json.load(open(sys.argv[1]))
rows = all["forecast"]
assert [r["ranks"] for r in rows] == [1, 2, 4]
assert "simulated" not in rows[0] and abs(rows[0]["efficiency"] - 1) < 1e-6
disturbed = all["measured"]["wait_share"] > 0.01
for r in rows[1:]:
    assert abs(r["simulated"]["error"]) < (0.3 if disturbed else 0.05), r
    assert abs(r["exposed_share"] - r["simulated"]["exposed_share"]) < 0.05, r
assert rows[2]["bound"] == "link" and rows[2]["exposed_share"] > 0.1
assert len(all["assumptions"]) >= 6
PY
verdict forecast_comes_about $?
ends_with forecast_of_many 0 "$bin" scaling --forecast 8,64,1024 "${corpus[@]}" --num-steps 16 --model-gpu sim0 --sim "$step" --quiet
log_has it_has_a_thousand '^ +1024 +128 '
log_has it_says_what_it_assumes '^assumed:'
ends_with forecast_in_bf16 0 "$bin" scaling --forecast 8 "${corpus[@]}" --num-steps 12 --model-gpu sim0 --sim "$step" --rank-sum bf16 --quiet
log_has it_sends_half '58\.8 MB of gradients'
ends_with wrong_counts 2 "$bin" scaling --forecast 1,x "${corpus[@]}" --model-gpu sim0 --sim "$step"
log_has wrong_counts_are_shown "'1,x'"
ends_with check_needs_sim 2 "${scaling[@]}" --check --model-gpu cpu
exit $failed
