#!/usr/bin/env bash
# What somebody types who has not read the manual: info of anything there is, a voice that is asked for a language it never learned,
# how much synth says, files that are for other programs, a folder one level too high.
set -u
bin=${MYXTTS_BIN:-${MYXTTS_OUT:-build}/myxtts}
. tests/support/shell.sh
if [ ! -x "$bin" ] || [ ! -f bases/english-nano.safetensors ]; then
    echo "skip newcomer SKIPPED: $bin was not built, or there is no base"
    exit 0
fi
bin=$(realpath "$bin")
clips=$(realpath tests/data/ljspeech)
here=$PWD
mkdir "$dir/piper" "$dir/run" "$dir/begun" "$dir/empty" "$dir/wide" "$dir/here"
cp bases/english-nano.safetensors "$dir/run/best.safetensors"
echo '{"step": 1}' | tee "$dir/run/log.jsonl" >"$dir/begun/log.jsonl"
cp bases/english-nano.safetensors "$dir/me.safetensors"
ends_with onnx_is_made 0 "$bin" export --checkpoint base --output "$dir/me.onnx" --source x
ends_with a_plain_graph_with_a_name_of_pipers 0 "$bin" export --checkpoint base --output "$dir/en_US-anna-medium.onnx" --source x
log_has it_is_told_of_format_piper 'hint: .*--format piper makes a voice for Piper'
ends_with a_piper_voice_is_made 0 "$bin" export --checkpoint base --output "$dir/piper/en_US-anna-medium.onnx" --source x --format piper
log_lacks it_is_not_told_again 'hint: .*--format piper'

# ---- info of anything ----
cd "$dir/here" || exit 1
for what in "$dir/run" "$dir/me.safetensors" base; do
    ends_with "info_knows_${what##*/}" 0 "$bin" info "$what"
    log_has "${what##*/}_is_a_voice" ': a voice after [0-9]+ steps, .* parameters'
done
"$bin" info "$dir/run" --json >"$dir/plain" && "$bin" info --checkpoint "$dir/run" --json | cmp -s - "$dir/plain"
verdict json_is_that_of_checkpoint $?
for what in "$dir/me.onnx" "$dir/piper" "$dir/piper/en_US-anna-medium.onnx"; do
    ends_with "info_knows_${what##*/}" 0 "$bin" info "$what"
    log_has "${what##*/}_is_a_graph" 'a voice after 9195 steps as an ONNX graph'
    log_has "${what##*/}_in_sentences" '^  speakers +awb, kal16, rms, slt$'
    log_lacks "${what##*/}_without_json" '\[|\{'
done
log_has a_piper_voice_says_for_whom 'programs +Piper, Home Assistant'
ends_with the_folder_of_a_training_is_no_dataset 3 "$bin" info "$dir/begun"
log_has it_says_so 'is the folder of a training, not of recordings'
ends_with data_path_forces_a_dataset 3 "$bin" info --data-path "$dir/run"
ends_with nor_is_a_file 3 "$bin" info "$clips/metadata.csv"
log_lacks what_was_not_typed_is_not_named '--data-path'
ends_with info_of_nothing 3 "$bin" info "$dir/nowhere"
ends_with a_dataset_is_one_still 0 "$bin" info "$clips"
ends_with info_of_an_empty_folder 3 "$bin" info "$dir/empty"
log_has it_names_pairs 'ID\.wav and ID\.txt'
cp "$dir/piper/en_US-anna-medium.onnx" "$dir/piper/en_US-bert-medium.onnx"
cp "$dir/piper/en_US-anna-medium.onnx.json" "$dir/piper/en_US-bert-medium.onnx.json"
ends_with two_voices_in_a_folder 2 "$bin" info "$dir/piper"
log_has one_is_to_be_named 'name one: .*/en_US-anna-medium\.onnx'

# ---- speakers that are folders; findings before histograms ----
for who in one two; do
    mkdir "$dir/wide/$who"
    while IFS='|' read -r id text _; do
        cp "$clips/wavs/$id.wav" "$dir/wide/$who" && printf '%s' "$text" >"$dir/wide/$who/$id.txt"
    done <"$clips/metadata.csv"
done
"$bin" info "$dir/wide" >"$dir/log" 2>&1
log_has folders_are_a_remark '^  2 folders of clips are taken as 2 speakers'
log_has with_the_way_out 'if this is one person: --enable-multispeaker false'
log_has noise_in_a_word 'dB below the speech .*: (good|usable|noisy)'
awk '/^(findings|remarks)/ { first = NR } /^clip length/ { lengths = NR } END { exit !(first && first < lengths) }' "$dir/log"
verdict what_is_wrong_comes_first $?
"$bin" info "$dir/wide" --enable-multispeaker false >"$dir/log" 2>&1
log_lacks one_person_is_no_remark 'taken as'
"$bin" info "$dir/wide" --enable-multispeaker true >"$dir/log" 2>&1
log_lacks nor_are_several_who_were_announced '  2 folders of clips'
"$bin" train "$dir/wide" --max-steps 1 --model-size nano --batch-size 1 --listen-clips 0 --text2audio-interval-steps 0 --model-gpu cpu \
    --init-from none --checkpoint-dir "$dir/trained" >"$dir/log" 2>&1
log_has training_says_it_too 'warning: .*taken as 2 speakers'

# ---- a run that is resumed from another folder; a voice that does not speak yet ----
(cd "$dir" && "$bin" train wide --max-steps 2 --model-size nano --batch-size 1 --listen-clips 0 --text2audio-interval-steps 0 --model-gpu cpu \
    --init-from none --val-split 0.5 --val-step 1 --checkpoint-dir young >log 2>&1)
log_has a_mute_voice_is_trained_further '^  next +myxtts train --checkpoint-dir young --minutes 60$'
log_lacks it_is_not_served_yet 'myxtts (serve|export)'
ends_with it_knows_its_data_from_anywhere 0 "$bin" train --checkpoint-dir "$dir/young" --max-steps 3 --model-gpu cpu

# ---- synth ----
ends_with synth_speaks 0 "$bin" synth Hello. --checkpoint base

[ "$(wc -l <"$dir/log")" = 1 ] && grep -qE '^speech\.wav: [0-9.]+ s of speech$' "$dir/log"
verdict one_line_is_enough $?
ends_with griffin_lim_is_told_of 0 "$bin" synth Hello. --checkpoint base --vocoder griffin_lim
log_has in_the_same_line '^speech\.wav: [0-9.]+ s of speech, sound by Griffin-Lim$'
ends_with verbose_synth 0 "$bin" synth Hello. --checkpoint base --verbose
log_has it_has_the_speed 'real-time factor [0-9.]+: text'
log_has it_has_the_vocoder 'sound: by the vocoder'
if [ -e /dev/nvidia0 ] || [ -e /dev/nvidiactl ] || [ -e /dev/dxg ]; then
    echo "skip no_gpu_in_two_words SKIPPED: there is one"
else
    "$bin" synth Hello. --checkpoint base --verbose --model-gpu auto >"$dir/log" 2>&1
    log_has no_gpu_in_two_words '^device: cpu \(.*\), no GPU here$'
fi
ends_with an_onnx_file_does_not_speak 3 "$bin" synth Hello. --checkpoint "$dir/me.onnx"
log_has it_says_what_it_is 'is an ONNX file, for other programs'
log_has and_what_speaks 'the folder of the training, or from a \.safetensors file'
ends_with nor_does_the_folder_of_one 3 "$bin" synth Hello. --checkpoint "$dir/piper"
log_has it_says_the_same 'holds an ONNX file, for other programs'

# ---- languages ----
german='In den alten Zeiten, wo das Wünschen noch geholfen hat, lebte ein König.'
ends_with german_is_not_spoken_as_english 2 "$bin" synth "$german" --checkpoint base
log_has it_names_the_language "never trained on the language 'de', which this text is in: it speaks en"
log_has the_hint_is_an_option 'hint: --force-language speaks it anyway'
log_lacks and_only_that 'force_language'
ends_with force_speaks_it 0 "$bin" synth "$german" --checkpoint base --force-language
ends_with who_names_the_language_is_believed 0 "$bin" synth "$german" --checkpoint base --language en
printf '%s\n' "Good morning to all of you." "$german" >"$dir/lines"
ends_with a_line_of_many_fails_alone 1 "$bin" synth --lines "$dir/lines" --output-dir "$dir/spoken" --checkpoint base
[ -s "$dir/spoken/01.wav" ] && [ ! -e "$dir/spoken/02.wav" ]
verdict the_other_is_spoken $?
ends_with names_are_spoken 0 "$bin" synth "Johann Wolfgang von Goethe, Friedrich Schiller, Heinrich Heine, Theodor Fontane." --checkpoint base

# ---- texts of another language, and nobody has said so ----
mkdir "$dir/german" "$dir/mixed"
some=$(find "$clips/wavs" -name '*.wav' | sort | head -1)
n=0
grep -v '^#' "$here/tests/data/sentences-de.txt" | head -12 | while IFS= read -r text; do
    n=$((n + 1))
    for folder in german mixed; do ln "$some" "$dir/$folder/$n.wav" 2>/dev/null || cp "$some" "$dir/$folder/$n.wav"; done
    printf '%s' "$text" >"$dir/german/$n.txt"
    [ $((n % 2)) = 0 ] && printf '%s' "$text" >"$dir/mixed/$n.txt" || printf 'The old house by the river was sold to a friend of mine.' >"$dir/mixed/$n.txt"
done
"$bin" info "$dir/german" >"$dir/log" 2>&1
log_has info_sees_german "1[0-2] of 12 texts are in the language 'de', not 'en': name it with --language de"
ends_with german_is_not_learned_as_english 2 "$bin" prepare "$dir/german" --cache-dir "$dir/cache"
log_has both_ways_are_named "hint: --language de reads them .*--language en"
ends_with nor_by_train 2 "$bin" train "$dir/german" --cache-dir "$dir/cache" --max-steps 1 --checkpoint-dir "$dir/trained-german"
ends_with who_names_a_language_means_it 0 "$bin" prepare "$dir/german" --cache-dir "$dir/cache" --language de
ends_with even_another 0 "$bin" prepare "$dir/german" --cache-dir "$dir/cache-en" --language en
"$bin" info "$dir/german" --language en >"$dir/log" 2>&1
log_lacks info_believes_it_too 'name it with --language'
"$bin" info "$dir/mixed" >"$dir/log" 2>&1
log_lacks half_of_them_is_no_doubt 'name it with --language'
ends_with two_languages_are_learned 0 "$bin" prepare "$dir/mixed" --cache-dir "$dir/cache-mixed"

# ---- a name that is nearly right ----
(cd "$dir" && "$bin" info Germna >log 2>&1)
log_has a_misspelled_folder 'hint: did you mean german\?'
"$bin" info "$dir/here/../germann/" >"$dir/log" 2>&1
log_has with_its_path 'hint: did you mean .*/here/\.\./german\?'
"$bin" info "$dir/nothing like it" >"$dir/log" 2>&1
log_lacks nothing_is_near 'did you mean'

# ---- words that others use ----
ends_with say_is_no_command 2 "$bin" say Hello.
log_has but_it_is_known "hint: did you mean 'synth'"
HOME=$dir ends_with a_tilde_in_quotes_is_home 0 "$bin" info "~/run"
HOME=$dir ends_with and_behind_an_equals_sign 0 "$bin" info "--checkpoint=~/run"
HOME=$dir ends_with a_text_is_no_path 0 "$bin" synth "~/run" --checkpoint base --language en

# ---- export ----
ends_with pt_is_no_format 2 "$bin" export --checkpoint base --output "$dir/me.pt"
log_has it_names_those_there_are 'export writes no \.pt files'
ends_with no_such_language_in_it 2 "$bin" export --checkpoint base --format piper --language de --output "$dir/here/de_DE-x-medium.onnx"
log_lacks errors_come_before_the_licence 'licence|force'
ends_with a_wrong_name_too 2 "$bin" export --checkpoint base --format piper --output "$dir/here/de_DE-x-medium.onnx"
log_lacks before_the_licence_too 'does not say'
exit $failed
