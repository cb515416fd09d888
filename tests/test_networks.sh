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
mel_of() { "$bin" info --checkpoint "$1" --json | grep -o '"mel": *"[0-9a-f]*"'; }
[ -n "$(mel_of "$dir/run")" ] && [ "$(mel_of "$dir/run")" = "$(mel_of "$dir/run/vocoder")" ]
verdict both_have_one_mel $?
for command in "synth --text hello --output $dir/x.wav" "eval --data-path $dir/data" "align --data-path $dir/data --output $dir/aligned"; do
    # shellcheck disable=SC2086
    "$bin" $command --checkpoint "$dir/run/vocoder" --model-gpu cpu --data-gpu cpu >"$dir/said" 2>&1
    [ $? = 3 ] && grep -q "holds a vocoder" "$dir/said"
    verdict "${command%% *}_refuses_a_vocoder" $?
done
# shellcheck disable=SC2086
train_vocoder() { "$bin" train --network vocoder --data-path "$dir/data" --checkpoint-dir "$1" ${small% --quiet} "${@:2}" >"$dir/said" 2>&1; }
train_vocoder "$dir/little" && grep -q "augment_speed is 0.3, as [0-9.]* minutes of sound" "$dir/said"
verdict little_sound_is_varied $?
train_vocoder "$dir/plain" --augment-speed 0 && ! grep -q "augment_speed is" "$dir/said"
verdict but_not_against_the_wish_of_its_owner $?
# shellcheck disable=SC2086
"$bin" train --network vocoder --data-path "$dir/data" --checkpoint-dir "$dir/run" $small >"$dir/said" 2>&1
[ $? = 2 ] && grep -q "network voice, which cannot become vocoder" "$dir/said"
verdict a_folder_keeps_its_network $?
exit $failed
