#!/usr/bin/env bash
# Steps that come unevenly, as train, diagnose and profile say it: one rule, one sentence. The times are those of a simulated machine.
set -u
bin=${MYXTTS_BIN:-build/myxtts}
. tests/support/shell.sh
if [ ! -x "$bin" ]; then
    echo "skip swings SKIPPED: $bin was not built"
    exit 0
fi

corpus=(--data-path tests/data/ljspeech --cache-dir "$dir/cache" --val-split 0 --batch-size 2 --data-gpu sim0 --model-gpu sim1)
network=(--model-size nano --decoder-layers 1)
jitter=(--sim "step_ms=30,jitter=step:1.5,seed=3")
# On a machine where other programs take the cores it says that instead.
busy='Too disturbed to judge'
# The real work of the step takes its time too: the simulated step is long enough to hide it.
slow=(--sim "step_ms=100,jitter=step:1.8,seed=3")
train=("$bin" train "${corpus[@]}" "${network[@]}" --max-steps 40 --log-step 20)

ends_with train_that_jitters 0 "${train[@]}" --verbose --checkpoint-dir "$dir/a" "${slow[@]}"
log_has train_warns_of_jitter 'warning: Step times vary by [0-9]+ %.*: the times of stage step jitter|'"$busy"
log_has train_says_it_at_the_end '^  swings +Step times vary by [0-9]+ %.*stage step jitter|'"$busy"
ends_with train_in_json 0 "${train[@]}" --checkpoint-dir "$dir/b" "${slow[@]}" --quiet --json
log_has train_has_the_swing '"kind": "jitter"|'"$busy"
ends_with train_that_is_even 0 "${train[@]}" --checkpoint-dir "$dir/c" --sim step_ms=100
log_lacks train_is_silent_about_even_steps 'warning: Step times vary|without a rule'

"$bin" diagnose "${corpus[@]}" "${jitter[@]}" --num-batches 100 >"$dir/log" 2>&1
log_has diagnose_finds_jitter 'warning: Step times vary by [0-9]+ %.*: the times of stage step jitter|'"$busy"
log_has diagnose_marks_it ' bad +step time variation|'"$busy"
# 40 % in the step itself are told; stages that vary in front of it are what buffers are for.
"$bin" diagnose "${corpus[@]}" --sim "step_ms=20,jitter=step:0.4,seed=5" --num-batches 200 >"$dir/log" 2>&1
log_has diagnose_finds_some_jitter 'Step times vary by [0-9]+ %.*: the times of stage step jitter|'"$busy"
log_lacks nothing_is_not_said 'Nothing slows the training down'
ends_with diagnose_of_hidden_jitter 0 "$bin" diagnose "${corpus[@]}" --sim "step_ms=20,preprocess_ms=5,jitter=preprocess:0.4,seed=5" --num-batches 60
log_lacks hidden_jitter_is_no_finding 'the times of stage'
# Validations, samples and checkpoints between the steps: named, and no reason for a warning.
ends_with train_with_pauses 0 "${train[@]}" --verbose --checkpoint-dir "$dir/d" --val-split 0.3 --val-step 5 --save-step 7 --log-step 8 --sim step_ms=60
log_has train_names_what_is_beside '^  beside +[0-9.]+ s outside the steps, [0-9.]+ % of the time: validation [0-9.]+'
log_lacks pauses_are_no_swings 'warning: Step times vary|without a rule|waited [0-9]+ % of the time'
"$bin" profile step "${corpus[@]}" "${jitter[@]}" --num-steps 100 >"$dir/log" 2>&1
log_has profile_finds_jitter 'warning: Step times vary by [0-9]+ %.*: the times of stage step jitter|'"$busy"
ends_with profile_of_sound_data 0 "$bin" profile data "${corpus[@]}" --sim decode_ms=6 --num-batches 60
log_lacks sound_data_are_not_bad 'variation .*\[bad\]'

# What the batch times have is named above the disk; what a step would not feel is neither good nor bad.
ends_with profile_of_stalls 0 "$bin" profile data "${corpus[@]}" --sim read_ms=5,stall=read:10:100 --num-batches 100
log_has stalls_are_what_limits_it '^verdict: .*it is limited by stalls of stage read, [0-9.]+ ms every 10 batches|'"$busy"
log_lacks uneven_is_not_good 'variation .*\[good\]'
"$bin" profile dual "${corpus[@]}" --sim step_ms=10,preprocess_ms=5 --num-steps 20 --native-loading false >"$dir/log" 2>&1
log_has one_device_is_not_said 'one device +not forecast: with native_loading off'
# A switch that is off is the cause, not the stage that it slows down.
for flag in prefetch_to_gpu optimize_cpu_gpu_overlap enhanced_gpu_prefetch; do
    "$bin" diagnose "${corpus[@]}" --sim step_ms=10,h2d_us=9000,preprocess_ms=9 --num-batches 40 "--${flag//_/-}" false >"$dir/log" 2>&1
    log_has "${flag}_is_named" "^  $flag is off: |$busy"
    log_lacks "${flag}_and_no_copy" 'is too slow'
done

# Devices that are not there are told before anything is prepared for them.
if ! command -v nvidia-smi >/dev/null && [ ! -e /dev/nvidia0 ]; then
    "$bin" train tests/data/ljspeech --cache-dir "$dir/none" --data-gpu 0 --model-gpu 1 --checkpoint-dir "$dir/e" "${network[@]}" --max-steps 2 >"$dir/log" 2>&1
    verdict train_without_gpus_ends_with_3 $(($? != 3))
    [ ! -e "$dir/none" ] && [ ! -e "$dir/e" ]
    verdict train_without_gpus_prepares_nothing $?
fi

# Nouns that are counted: one core, one worker.
if command -v taskset >/dev/null; then
    core=$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')
    for command in "profile data" diagnose; do
        # shellcheck disable=SC2086
        taskset -c "$core" "$bin" $command "${corpus[@]}" --num-workers 1 --num-batches 12 >"$dir/log" 2>&1
        log_has "one_of_each_in_${command%% *}" '\b1 core\b'
        log_lacks "no_ones_in_${command%% *}" '\b1 (cores|workers|host slots)\b'
    done
fi
exit $failed
