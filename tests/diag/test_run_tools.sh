#!/usr/bin/env bash
# myxtts compare, scaling and monitor on logs made here: what they print, what they write, how they end; a terminal is left as it was.
set -u
bin=${MYXTTS_BIN:-build/myxtts}
. tests/support/shell.sh
if [ ! -x "$bin" ]; then
    echo "skip run_tools SKIPPED: $bin was not built"
    exit 0
fi

bin=$(realpath "$bin")

make_run() { # folder, batch size, ms of a batch, steps written, steps planned
    mkdir -p "$1"
    awk -v batch="$2" -v ms="$3" -v steps="$4" -v total="$5" 'BEGIN {
        srand(batch)
        printf "{\"event\":\"start\",\"step\":0,\"batch_size\":%d,\"model_gpu\":\"cpu\",\"model_size\":\"nano\",\"total_steps\":%d}\n", batch, total
        for (step = 50; step <= steps; step += 50) {
            times = ""; sum = 0
            for (i = 0; i < 50; i++) { t = ms * (0.97 + 0.06 * rand()); sum += t; times = times (i ? "," : "") sprintf("%.3f", t) }
            seconds += sum / 1000
            printf "{\"event\":\"step\",\"step\":%d,\"seconds\":%.3f,\"loss\":%.4f,\"step_ms\":%.3f,\"wait_share\":0.02,\"busy_share\":0.98,\"padding_share\":0.01,\"utterances_per_s\":%.1f,\"frames_per_s\":5000,\"model_bytes\":%d,\"step_times_ms\":[%s]}\n",
                step, seconds, 3 - step / 1000, sum / 50, batch * 50000 / sum, 100000000 + 1000000 * batch, times
        }
    }' >"$1/log.jsonl"
}
make_run "$dir/checkpoints/a" 16 40 1000 1000
make_run "$dir/checkpoints/b" 16 32 1000 1000
make_run "$dir/checkpoints/c" 32 78 1000 2000
a=$dir/checkpoints/a b=$dir/checkpoints/b c=$dir/checkpoints/c

ends_with compare_names_the_faster 0 "$bin" compare "$a/log.jsonl" "$b" --html "$dir/c.html" --png "$dir/c.png"
log_has compare_says_how_sure 'B is 25 % faster than A \(95 % sure: 2[0-9.]+ to 2[0-9.]+ %\)'
[ -s "$dir/c.html" ] && [ "$(head -c 4 "$dir/c.png" | tail -c 3)" = PNG ]
verdict compare_writes_page_and_picture $?
ends_with compare_with_itself 0 "$bin" compare "$a" "$a"
log_has compare_sees_no_difference 'No clear difference in speed'
ends_with compare_json 0 "$bin" compare "$b" "$c" --json
log_has compare_json_names_the_faster '"faster": "a"'
ends_with compare_needs_two 2 "$bin" compare "$a"
ends_with compare_misses_a_log 3 "$bin" compare "$a" "$dir/none"
log_has compare_names_the_missing_log "$dir/none"
printf 'Epoch 1/100 | Step 1 | loss 3.21 | data 41 ms\nEpoch 1/100 | Step 2 | loss 3.20\n' >"$dir/old.log"
for command in "compare $dir/old.log $a" "compare $a $dir/old.log" "scaling $dir/old.log" "monitor --once $dir/old.log" "diagnose $dir/old.log"; do
    # shellcheck disable=SC2086
    ends_with "old_log_is_refused_by_${command%% *}" 3 "$bin" $command
    log_has "old_log_is_named_by_${command%% *}" "old.log is not a log of .myxtts train.: it starts with .Epoch 1/100 .*log.jsonl"
done
ends_with compare_refuses_a_skip 2 "$bin" compare "$a" "$b" --skip x
ends_with compare_cannot_write 3 "$bin" compare "$a" "$b" --html "$dir/no/such/folder/c.html"

ends_with compare_in_persian 0 "$bin" compare "$a" "$b" --messages fa --html "$dir/fa.html"
log_has the_verdict_in_persian '^سرعت B .*٪ بیشتر از.* سرعت A است .*با ۹۵٪ اطمینان'
log_has the_settings_in_persian 'زمان گام .*میلی‌ثانیه'
log_lacks nothing_in_english 'faster|higher|lower|sure:|step time|Memory'
grep -q 'مقایسهٔ دو آموزش' "$dir/fa.html"
verdict the_page_in_persian $?
ends_with compare_json_stays_english 0 env LANG=fa_IR.UTF-8 LC_ALL= LC_MESSAGES= "$bin" compare "$a" "$b" --json
log_has as_it_was '"verdict": "B is 25 % faster than A'
ends_with thresholds_in_persian 0 "$bin" diagnose --thresholds --messages fa
log_has measures_in_persian '^مشغولی دستگاه مدل .*از .*۸۰.*٪'
log_lacks and_none_in_english 'model device busy|beyond|acceptable|points'
ends_with monitor_in_persian 0 "$bin" monitor --once "$a" --messages fa
log_has the_state_in_persian 'log.jsonl +\(پایان یافته، .*پیش'
log_has the_numbers_in_persian 'انتظار +.*۲٫۰.*٪ +.*مشغول'
log_lacks none_in_english 'step  |waits|clips/s|ago|busy'

ends_with scaling_over_two 0 "$bin" scaling "$c" "$a" --png "$dir/s.png"
log_has scaling_says_what_is_enough 'Batches of 16 are enough|Batches of 32 are the fastest'
log_has scaling_knows_memory 'about 1\.0 MB'
[ -s "$dir/s.png" ]
verdict scaling_writes_a_picture $?
ends_with scaling_json 0 "$bin" scaling "$a" "$b" "$c" --json
log_has scaling_json_has_runs '"batch_size": 32'
ends_with scaling_needs_a_run 2 "$bin" scaling

touch "$c/log.jsonl"
(cd "$dir" && "$bin" monitor --once) >"$dir/log" 2>&1
verdict monitor_finds_the_newest_run $?
log_has monitor_shows_the_run 'checkpoints/c/log.jsonl  \(running'
log_has monitor_shows_progress '1 000 of 2 000 .* 50 %'
log_has monitor_shows_step_times '^batch +7[0-9]\.[0-9]+ ms'
ends_with monitor_once_json 0 "$bin" monitor "$c" --once --json
log_has monitor_json_is_running '"state":"running","step":1000,"total_steps":2000'
ends_with monitor_ends_with_the_run 0 timeout 20 "$bin" monitor "$a"
log_has monitor_prints_lines 'step 1000/1000  loss 2\.0000'
mkdir -p "$dir/empty"
ends_with monitor_without_a_run 3 "$bin" monitor "$dir/empty"
log_has monitor_says_where_it_looked "neither $dir/empty/log.jsonl nor $dir/empty/\*/log.jsonl exists"
ends_with monitor_refuses_an_interval 2 "$bin" monitor "$a" --interval 0

# Follows a log that grows, without a terminal: a line for each, and the end by itself.
make_run "$dir/grows" 16 40 1000 1000
head -4 "$dir/grows/log.jsonl" >"$dir/part" && tail -n +5 "$dir/grows/log.jsonl" >"$dir/rest" && mv "$dir/part" "$dir/grows/log.jsonl"
timeout 20 "$bin" monitor "$dir/grows" --interval 0.1 >"$dir/log" 2>&1 </dev/null &
watcher=$!
for _ in $(seq 100); do
    grep -q 'step 150/1000' "$dir/log" && break
    sleep 0.1
done
cat "$dir/rest" >>"$dir/grows/log.jsonl"
wait $watcher
verdict monitor_follows_to_the_end $?
[ "$(grep -c '^step ' "$dir/log")" -ge 2 ] && grep -q 'step 1000/1000' "$dir/log"
verdict monitor_prints_what_came $?

# Ctrl-C in a terminal: the cursor is there again, and frames were drawn over each other.
if ! command -v script >/dev/null; then
    echo "skip monitor_in_a_terminal SKIPPED: there is no script(1)"
elif ! timeout 20 script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    echo "skip monitor_in_a_terminal SKIPPED: no pseudo-terminal can be made here"
else
    timeout 20 script -qec "timeout -s INT 2 $bin monitor $c --interval 0.2; echo ended with \$?" /dev/null >"$dir/log" 2>&1 </dev/null
    tail -c 200 "$dir/log" | grep -q $'\033\[?25h'
    verdict monitor_gives_the_cursor_back $?
    grep -q $'\033\[[0-9]*A\033\[J' "$dir/log"
    verdict monitor_draws_in_place $?
fi
exit $failed
