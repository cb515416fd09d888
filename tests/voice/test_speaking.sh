#!/usr/bin/env bash
# A voice of two steps and what is done with it: samples in the run's folder, synth into files and pipes, info and inspect of a checkpoint,
# a vocoder of two steps, and both in one exported file.
set -u
bin=${MYXTTS_BIN:-build/myxtts}
. tests/support/shell.sh
if [ ! -x "$bin" ]; then
    echo "skip speaking SKIPPED: $bin was not built"
    exit 0
fi
bin=$(realpath "$bin")
awk -F'|' -v OFS='|' '{ print $1, $2, $3, NR % 2 ? "anna" : "ben" }' tests/data/ljspeech/metadata.csv >"$dir/metadata.csv"
ln -s "$PWD/tests/data/ljspeech/wavs" "$dir/wavs"
run=$dir/run
ends_with training_of_two_steps 0 "$bin" train --data-path "$dir" --cache-dir "$dir/cache" --checkpoint-dir "$run" --model-size nano --model-gpu cpu \
    --batch-size 2 --max-steps 2 --val-split 0 --listen-clips 0 --text2audio-interval-steps 2 --text2audio-texts 'One.|Two.'
[ "$(cd "$run/samples" && echo *)" = "step-00000002-1.wav step-00000002-2.wav" ] && [ "$(head -c 4 "$run/samples/step-00000002-2.wav")" = RIFF ]
verdict samples_lie_in_the_runs_folder $?
synth=("$bin" synth --model-gpu cpu --checkpoint "$run" --iterations 2)

# ---- the ending chooses the kind ----
for kind in wav:RIFF flac:fLaC ogg:OggS; do
    name=speech.${kind%:*}
    ends_with "synth_writes_${kind%:*}" 0 "${synth[@]}" --text "Hello there." --output "$dir/$name"
    [ "$(head -c 4 "$dir/$name")" = "${kind#*:}" ]
    verdict "it_is_${kind%:*}" $?
    ends_with "${kind%:*}_can_be_read" 0 "$bin" mel "$dir/$name" --output "$dir/x.npy"
done
"${synth[@]}" --text "Hello there." --output "$dir/x.nothing" >"$dir/log" 2>&1
if grep -q '\.mp3' "$dir/log"; then
    ends_with synth_writes_mp3 0 "${synth[@]}" --text "Hello there." --output "$dir/speech.mp3"
    ends_with mp3_can_be_read 0 "$bin" mel "$dir/speech.mp3" --output "$dir/x.npy"
else
    echo "skip synth_writes_mp3 SKIPPED: this libsndfile writes no MP3"
fi
ends_with an_unknown_ending_is_wrong_use 2 "${synth[@]}" --text Hi --output "$dir/x.aiff"
log_has it_names_the_endings '\.wav, \.flac, \.ogg'

# ---- SSML ----
ends_with synth_speaks_ssml 0 "${synth[@]}" --json --output "$dir/marked.wav" "<speak>Hello <break time='2s'/><mark name='m'/> there.</speak>"
log_has its_marks_come_back '"name": "m"'
[ "$(stat -c %s "$dir/marked.wav")" -gt $(($(stat -c %s "$dir/speech.wav") + 44100 * 2)) ]
verdict a_break_is_heard $?
ends_with synth_takes_ssml_as_words 0 "${synth[@]}" --text-format plain --output "$dir/marked.wav" --overwrite "<speak>Hello"
ends_with broken_ssml_is_an_error 3 "${synth[@]}" --output "$dir/marked.wav" --overwrite "<speak>Hello"
log_has it_has_line_and_column 'line 1, column 1: the element <speak> is not closed'
ends_with ssml_without_speak_is_an_error 3 "${synth[@]}" --ssml --output "$dir/marked.wav" --overwrite "Hello"
log_has it_says_how_ssml_begins 'starts with <speak>'
ends_with an_unknown_text_format_is_wrong_use 2 "${synth[@]}" --text-format rtf --output "$dir/marked.wav" --overwrite "Hello"

# ---- the place is looked at before the voice is ----
ends_with a_folder_that_is_not_there 3 "$bin" synth --checkpoint "$dir/no-voice" --text Hi --output "$dir/nowhere/x.wav"
log_has it_is_the_folder_that_is_named 'nowhere/x\.wav'
mkdir "$dir/folder.wav"
ends_with a_folder_in_the_place_of_the_file 3 "$bin" synth --checkpoint "$dir/no-voice" --text Hi --output "$dir/folder.wav"
log_has it_says_that_it_is_a_folder 'is a folder'
ends_with a_picture_that_cannot_be_drawn 3 "$bin" synth --checkpoint "$dir/no-voice" --text Hi --output "$dir/x.wav" --png "$dir/nowhere/x.png"
log_has it_is_the_picture_that_is_named 'nowhere/x\.png'
[ ! -e "$dir/x.wav" ] && ! ls "$dir"/*.tmp* >/dev/null 2>&1
verdict nothing_is_left_behind $?

# ---- nothing is replaced that somebody else made, and nothing that is read ----
mine=$dir/mine
mkdir "$mine"
cp "$dir/speech.wav" "$mine/a.wav"
cp "$dir/speech.wav" "$mine/b.wav"
cp tests/data/ljspeech/metadata.csv "$mine"
cp "$run/best.safetensors" "$mine/a.safetensors" 2>/dev/null || cp "$run"/step-*.safetensors "$mine/a.safetensors"
(cd "$mine" && sha256sum ./*) >"$dir/sums"
gl=("$bin" vocode --vocoder griffin_lim --iterations 1 --model-gpu cpu)
refused() { ends_with "$1" 2 "${@:2}"; } # name, command...
refused vocode_into_its_own_folder "${gl[@]}" "$mine/a.wav" "$mine/b.wav" --output "$mine"
log_has it_says_what_is_read 'would overwrite the input, .*mine/[ab]\.wav'
refused vocode_onto_a_table "${gl[@]}" "$mine/a.wav" --output "$mine/metadata.csv"
refused mel_onto_its_clip "$bin" mel "$mine/a.wav" --output "$mine/a.wav"
refused a_picture_onto_a_clip "$bin" mel "$mine/a.wav" --png "$mine/b.wav"
log_has it_says_how 'add --overwrite to replace it'
refused a_picture_onto_a_table "${synth[@]}" --text Hi --output "$dir/x.wav" --png "$mine/metadata.csv"
refused speech_onto_its_reference "${synth[@]}" --text Hi --reference "$mine/a.wav" --output "$mine/a.wav"
refused two_outputs_of_one_name "${synth[@]}" --text Hi --output "$dir/y.wav" --png "$dir/y.wav"
refused a_page_onto_a_table "$bin" diagnose --data-path "$dir" --html "$mine/metadata.csv"
refused a_report_onto_a_table "$bin" profile data --data-path "$dir" --output "$mine/metadata.csv"
refused a_voice_onto_a_checkpoint "$bin" export --checkpoint "$run" --output "$mine/a.safetensors"
refused a_voice_with_the_name_of_one "$bin" export --checkpoint "$run" --output "$run/step-00000009.safetensors"
refused a_picture_onto_a_log "$bin" scaling "$run" --png "$run/log.jsonl"
(cd "$mine" && sha256sum ./*) | cmp -s - "$dir/sums"
verdict all_of_them_are_as_they_were $?
ends_with overwrite_replaces_it 0 "$bin" mel "$mine/a.wav" --output "$mine/metadata.csv" --overwrite
ends_with the_same_kind_is_replaced 0 "$bin" mel "$mine/a.wav" --output "$mine/metadata.csv"

# ---- pipes ----
echo "Hello there." | "${synth[@]}" --text-file - --output - 2>"$dir/log" | cat >"$dir/piped.wav"
[ "${PIPESTATUS[1]}" = 0 ] && cmp -s <(tail -c +45 "$dir/piped.wav") <(tail -c +45 "$dir/speech.wav")
verdict text_from_a_pipe_and_speech_into_one $?
log_has the_report_goes_elsewhere 'standard output: .* of speech'
[ "$(head -c 44 "$dir/piped.wav" | od -An -tx1 -j4 -N4 | tr -d ' ')" = ffffffff ]
verdict the_header_says_until_the_end $?
ends_with what_came_through_a_pipe_can_be_read 0 "$bin" mel "$dir/piped.wav" --output "$dir/x.npy"
"${synth[@]}" --text "Hello there." --output - >"$dir/redirected.wav" 2>"$dir/log"
cmp -s "$dir/redirected.wav" "$dir/speech.wav"
verdict a_redirected_file_has_its_sizes $?
{
    printf before
    "${synth[@]}" --text "Hello there." --output - 2>"$dir/log"
} >"$dir/second.wav"
cmp -s <(tail -c +7 "$dir/second.wav") "$dir/speech.wav" && [ "$(head -c 6 "$dir/second.wav")" = before ]
verdict what_stands_before_the_speech_stays $?
printf 'One.\nTwo.\n' | "${synth[@]}" --lines - --output-dir "$dir/lines" >"$dir/log" 2>&1
[ -s "$dir/lines/01.wav" ] && [ -s "$dir/lines/02.wav" ]
verdict lines_from_a_pipe $?
ends_with json_and_speech_want_the_same_place 2 "${synth[@]}" --text Hi --output - --json

# ---- what is in it ----
ends_with info_of_a_checkpoint 0 "$bin" info --checkpoint "$run"
log_has info_says_how_far_it_is 'a voice after 2 steps, [0-9.]+ million parameters'
log_has info_lists_a_speaker 'anna .* clips? of the voice'
log_has info_lists_all_speakers '  ben .* clips? of the voice'
ends_with a_speaker_that_is_listed_speaks 0 "${synth[@]}" --text Hi --speaker ben --output "$dir/ben.wav"
ends_with inspect_reads_a_folder_of_checkpoints 0 "$bin" inspect "$run"
log_has inspect_shows_settings 'model_size +nano'
log_has inspect_shows_tensors 'decoder\..*F32 +[0-9]+ x [0-9]+'
ends_with inspect_reads_one_checkpoint 0 "$bin" inspect "$run/step-00000002.safetensors" --json
log_has inspect_json_has_shapes '"shape": \['
ends_with inspect_still_reads_caches 0 "$bin" inspect "$dir/cache"
ends_with inspect_of_neither 3 "$bin" inspect "$dir/lines"
log_has inspect_says_that_it_is_neither 'neither a cache nor a checkpoint'

# ---- a vocoder that was trained, and one file with all of it ----
ends_with training_of_a_vocoder 0 "$bin" train --network vocoder --data-path "$dir" --cache-dir "$dir/cache" --checkpoint-dir "$run/vocoder" \
    --vocoder-dim 32 --vocoder-layers 2 --model-gpu cpu --batch-size 2 --max-steps 2 --val-split 0
ends_with it_makes_the_sound_now 0 "$bin" synth --model-gpu cpu --checkpoint "$run" --text "Hello there." --output "$dir/vocoded.wav" --verbose
log_has it_is_said_who_made_it 'sound: by the vocoder .*/vocoder/step-00000002\.safetensors \(step 2\)'
ends_with copy_synthesis 0 "$bin" vocode "$dir/speech.wav" --model-gpu cpu --checkpoint "$run/vocoder" --output "$dir/copy.wav"
[ "$(stat -c %s "$dir/copy.wav")" = "$(stat -c %s "$dir/speech.wav")" ]
verdict a_copy_is_as_long $?
ends_with export_into_one_file 0 "$bin" export --checkpoint "$run" --output "$dir/voice.safetensors" --precision float32 --licence CC0-1.0
rm -r "$run"
ends_with one_file_speaks 0 "$bin" synth --model-gpu cpu --checkpoint "$dir/voice.safetensors" --text "Hello there." --output "$dir/exported.wav"
cmp -s "$dir/exported.wav" "$dir/vocoded.wav"
verdict it_speaks_byte_for_byte_as_the_run $?
ends_with info_of_one_file 0 "$bin" info --checkpoint "$dir/voice.safetensors"
log_has info_shows_the_licence 'licence +CC0-1\.0'
log_has info_shows_the_vocoder 'vocoder +inside, after 2 steps'
exit $failed
