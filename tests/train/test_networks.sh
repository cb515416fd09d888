#!/usr/bin/env bash
# Both networks by one command, and what commands that want a voice say about a vocoder.
set -u
. tests/support/shell.sh
bin=${MYXTTS_BIN:-${MYXTTS_OUT:-build}/myxtts}
cp -r tests/data/ljspeech "$dir/data" && chmod -R u+w "$dir/data"
small="--model-size nano --decoder-layers 1 --text-encoder-layers 1 --vocoder-dim 32 --vocoder-layers 1 --batch-size 2 --max-steps 3
    --warmup-steps 0 --listen-clips 0 --text2audio-interval-steps 0 --model-gpu cpu --data-gpu cpu --quiet"
# shellcheck disable=SC2086 # the options are words
"$bin" train --network both --data-path "$dir/data" --checkpoint-dir "$dir/run" $small --json >"$dir/report" 2>"$dir/log"
verdict both_networks_are_trained $?
tr -d ' \n' <"$dir/report" | grep -q '^{"voice":{"network":"voice",.*"vocoder":{"network":"vocoder",'
verdict the_report_has_both $?
tr -d ' \n' <"$dir/report" | grep -q '"checkpoint":"[^"]*/run/vocoder/step-00000003.safetensors"'
verdict the_vocoder_lies_beside_the_voice $?
"$bin" info --checkpoint "$dir/run/vocoder" | grep -q "a vocoder after 3 steps"
verdict info_says_what_it_is $?
# A vocoder of three steps knows nothing: Griffin-Lim makes the sound, and it is said; asked for, the vocoder does.
"$bin" synth "hello" --checkpoint "$dir/run" --output "$dir/g.wav" --model-gpu cpu --verbose >"$dir/said" 2>&1
[ $? = 0 ] && grep -q "^Griffin-Lim makes the sound: copies by the vocoder .* train the vocoder longer" "$dir/said" && grep -q "sound: by Griffin-Lim" "$dir/said"
verdict a_poor_vocoder_is_not_taken $?
# Nor does a server take it for a new file.
timeout -s INT 3 "$bin" serve "$dir/run" --listen 127.0.0.1:0 --model-gpu cpu >"$dir/log" 2>&1
log_has a_server_says_where_and_how_it_ends '^listening: http://127\.0\.0\.1:[0-9]+/ \(open it in a browser; Ctrl-C ends it\)'
log_lacks what_did_not_change_is_not_new 'a new file is in use'
"$bin" synth "hello" --checkpoint "$dir/run" --vocoder "$dir/run/vocoder" --output "$dir/v.wav" --model-gpu cpu >"$dir/said" 2>&1
[ $? = 0 ] && ! grep -q "Griffin-Lim makes the sound" "$dir/said" && ! cmp -s "$dir/g.wav" "$dir/v.wav"
verdict but_it_is_when_asked_for $?
# Nor can Griffin-Lim make it outside of the program.
"$bin" export --checkpoint "$dir/run" --output "$dir/run.onnx" --licence none --source nobody >"$dir/said" 2>&1
[ $? = 0 ] && grep -q "will sound rougher than .myxtts synth., where Griffin-Lim makes the sound: copies by the vocoder" "$dir/said" && [ -s "$dir/run.onnx" ]
verdict and_where_nothing_else_can_make_the_sound $?
"$bin" train --resume-from "$dir/run" --max-steps 5 --quiet >"$dir/said" 2>&1
[ $? = 0 ] && [ -f "$dir/run/step-00000005.safetensors" ]
verdict resume_from_needs_nothing_else $?
mel_of() { "$bin" info --checkpoint "$1" --json | grep -o '"mel": *"[0-9a-f]*"'; }
[ -n "$(mel_of "$dir/run")" ] && [ "$(mel_of "$dir/run")" = "$(mel_of "$dir/run/vocoder")" ]
verdict both_have_one_mel $?
for command in "synth --text hello --output $dir/x.wav" "eval --data-path $dir/data" "align --data-path $dir/data --output $dir/aligned"; do
    # shellcheck disable=SC2086
    "$bin" $command --checkpoint "$dir/run/vocoder" --model-gpu cpu --data-gpu cpu >"$dir/said" 2>&1
    [ $? = 3 ] && grep -q "is a vocoder" "$dir/said"
    verdict "${command%% *}_refuses_a_vocoder" $?
done
# shellcheck disable=SC2086
train_vocoder() { "$bin" train --network vocoder --data-path "$dir/data" --checkpoint-dir "$1" ${small% --quiet} "${@:2}" >"$dir/said" 2>&1; }
train_vocoder "$dir/little" && grep -q "augment_speed is set to 0.3, because so little sound" "$dir/said"
verdict little_sound_is_varied $?
train_vocoder "$dir/plain" --augment-speed 0 && ! grep -q "augment_speed is" "$dir/said"
verdict but_not_against_the_wish_of_its_owner $?
# shellcheck disable=SC2086
"$bin" train --network vocoder --data-path "$dir/data" --checkpoint-dir "$dir/run" $small >"$dir/said" 2>&1
[ $? = 2 ] && grep -q "is of a voice, but network is vocoder" "$dir/said"
verdict a_folder_keeps_its_network $?

# What is unfinished is finished before the same command gives both more minutes.
timed="${small% --quiet}"
timed="${timed/--max-steps 3/} --minutes 0.02 --learning-rate 1e-5 --max-loss-spike-threshold 1000"
both() { # name, more settings; beside the voice: what --network both says and prints
    # shellcheck disable=SC2086
    "$bin" train --network "$1" --data-path "$dir/data" --checkpoint-dir "$dir/timed$3" $timed $2 >"$dir/said" 2>"$dir/log"
}
step_of() { find "$1" -maxdepth 1 -name 'step-*.safetensors' | sort | tail -1; }
both voice "" "" && both both "" ""
[ $? = 0 ] && grep -q "^the voice is finished; continuing with the vocoder$" "$dir/log" && ! grep -q "^network voice" "$dir/log"
verdict a_finished_voice_waits_for_its_vocoder $?
grep -q "^  next .*synth .*--checkpoint $dir/timed " "$dir/said" && grep -q "^  *myxtts serve $dir/timed$" "$dir/said" && grep -q "^  *myxtts export --checkpoint $dir/timed " "$dir/said"
verdict what_to_type_is_said $?
before=$(step_of "$dir/timed")
both both "" ""
[ $? = 0 ] && ! grep -q "is finished" "$dir/log" && [ "$(grep -c "^the run continues from step" "$dir/log")" = 2 ] && [ "$(step_of "$dir/timed")" != "$before" ]
verdict when_both_are_finished_both_get_more $?
timed="${timed/--minutes 0.02/--minutes 1}"
# shellcheck disable=SC2086
"$bin" train --network both --data-path "$dir/data" --checkpoint-dir "$dir/stopped" $timed >"$dir/said" 2>"$dir/log" &
pid=$!
for _ in $(seq 100); do grep -q "last step is\|a step takes" "$dir/log" && break; sleep 0.1; done
kill -TERM $pid
wait $pid
[ $? = 0 ] && grep -q "^stopped at step" "$dir/said" && grep -q "^  next  *the vocoder is not trained yet: the same command continues" "$dir/said"
verdict a_stop_during_the_voice_says_what_is_left $?
timed="${timed/--minutes 1/--minutes 0.02}"
both both "" ""
# shellcheck disable=SC2086
timeout 5 "$bin" train --network voice --data-path "$dir/data" --checkpoint-dir "$dir/stopped" $timed >"$dir/said" 2>"$dir/log"
grep -q "minutes 1 (the run is at step [0-9]* of the [0-9]* that these gave it, and ends there; --minutes 0.02 counts from then on)" "$dir/log"
verdict other_minutes_wait_for_the_end_of_the_first $?
"$bin" train --data-path "$dir/data" --checkpoint-dir "$dir/never" --minutes 0 >"$dir/said" 2>&1
[ $? = 2 ] && grep -q "^error: minutes is 0 (command line): in no time nothing is learned" "$dir/said" && [ ! -e "$dir/never" ]
verdict no_minutes_are_refused $?
printf 'training:\n  minutes: 0\n  max_steps: 2\n' >"$dir/zero.yaml"
# shellcheck disable=SC2086
"$bin" train --config "$dir/zero.yaml" --data-path "$dir/data" --checkpoint-dir "$dir/zero" ${small/--max-steps 3/} >"$dir/said" 2>&1
[ $? = 0 ] && grep -q "^done at step 2 of 2" "$dir/said"
verdict in_a_file_they_are_no_limit $?

# On two devices: side by side, a process for each.
two="${small% --quiet}"
two="${two%--model-gpu*} --model-gpu sim0 --data-gpu sim1 --sim step_ms=1"
figures() { tr -d ' \n' <"$1" | grep -o '"\(loss\|step\|network\)":[^,]*'; }
# shellcheck disable=SC2086
"$bin" train --network both --data-path "$dir/data" --checkpoint-dir "$dir/two" $two --json >"$dir/report2" 2>"$dir/log2"
verdict both_are_trained_side_by_side $?
grep -q "^network voice on sim0, into .*/two$" "$dir/log2" && grep -q "^network vocoder on sim1, into .*/two/vocoder$" "$dir/log2"
verdict each_has_a_device $?
[ -n "$(figures "$dir/report2")" ] && [ "$(figures "$dir/report")" = "$(figures "$dir/report2")" ]
verdict they_learn_what_they_learn_in_turn $?
grep -q "^voice step [1-3]/3.* | vocoder step [1-3]/3" "$dir/log2"
verdict one_line_shows_both $?
grep -q "^voice: training on " "$dir/log2" && grep -q "^vocoder: training on " "$dir/log2" && ! grep -q "^training on" "$dir/log2"
verdict other_lines_have_a_name $?

# Ends with what it has: one that is asked to, and one whose parent is killed.
has_steps() { grep -q '"event": *"step"' "$dir/$1/log.jsonl" 2>/dev/null && grep -q '"event": *"step"' "$dir/$1/vocoder/log.jsonl" 2>/dev/null; }
is_saved() { ls "$dir/$1"/step-*.safetensors "$dir/$1"/vocoder/step-*.safetensors >/dev/null 2>&1; }
runs() { pgrep -f -- "--checkpoint-dir $dir/$1 " >/dev/null; }
for signal in TERM KILL; do
    # shellcheck disable=SC2086
    "$bin" train --network both --data-path "$dir/data" --checkpoint-dir "$dir/$signal" ${two/--max-steps 3/--max-steps 1000000} --log-step 1 \
        >"$dir/said" 2>"$dir/log3" &
    pid=$!
    for _ in $(seq 600); do has_steps $signal && break; sleep 0.1; done
    kill -$signal $pid
    wait $pid 2>/dev/null
    [ $? = "$([ $signal = TERM ] && echo 0 || echo 137)" ]
    verdict "exit_code_after_$signal" $?
    for _ in $(seq 600); do runs $signal || break; sleep 0.1; done
    ! runs $signal && is_saved $signal
    verdict "both_are_saved_after_$signal" $?
done

# What stops one does not stop the other.
mkdir -p "$dir/half/vocoder" && cp "$dir/two"/step-*.safetensors "$dir/half/vocoder"
# shellcheck disable=SC2086
"$bin" train --network both --data-path "$dir/data" --checkpoint-dir "$dir/half" $two --quiet >"$dir/said" 2>"$dir/log4"
[ $? = 2 ] && grep -q "^error: vocoder: .*is of a voice, but network is vocoder" "$dir/log4"
verdict a_failure_has_its_name_and_code $?
ls "$dir/half"/step-00000003.safetensors >/dev/null 2>&1 && grep -q "^voice done at step 3 of 3" "$dir/said"
verdict the_other_network_is_trained $?
exit $failed
