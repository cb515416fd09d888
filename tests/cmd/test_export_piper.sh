#!/usr/bin/env bash
# `myxtts export --format piper`: the four files of a voice, what is warned of and what is refused, and what info says of the graph.
# Whether Piper and sherpa-onnx speak with it is for bench/piper: their packages are no part of the tests.
set -u
out=${MYXTTS_OUT:-build}
bin=$out/myxtts
. tests/support/shell.sh
base=bases/english-nano.safetensors
if [ ! -x "$bin" ]; then
    echo "skip export_piper SKIPPED: $bin was not built"
    exit 0
fi
mkdir "$dir/anna" "$dir/otto"
voice=$dir/anna/en_US-anna-medium.onnx
ends_with piper_exports 0 "$bin" export --checkpoint $base --format piper --output "$voice" --source "CMU Flite" --note "a machine" --json
log_has its_json_has_the_format '"format": "piper"'
(cd "$dir/anna" && printf '%s ' *) >"$dir/log"
log_has four_files_are_there '^MODEL_CARD en_US-anna-medium.onnx en_US-anna-medium.onnx.json tokens.txt $'
ends_with info_reads_the_graph 0 "$bin" info --checkpoint "$voice"
log_has info_has_the_source 'source +CMU Flite'
log_has info_has_the_licence 'licence +Made of speech of CMU Flite'
log_has info_has_the_note 'note +a machine'
log_has info_says_for_whom_it_is 'programs +Piper, .* sherpa-onnx'
ends_with info_reads_it_as_json 0 "$bin" info --checkpoint "$voice" --json
log_has info_json_has_the_source '"source": "CMU Flite"'
cp "$voice" "$dir/before.onnx"
ends_with the_same_voice_again 0 "$bin" export --checkpoint $base --format piper --output "$voice" --source "CMU Flite" --note "a machine"
cmp -s "$voice" "$dir/before.onnx"
verdict the_same_voice_is_the_same_bytes $?

ends_with another_voice_is_refused 2 "$bin" export --checkpoint $base --format piper --output "$dir/anna/en_US-otto-medium.onnx" --source me
log_has it_says_why 'tokens\.txt or a MODEL_CARD of another voice'
[ ! -e "$dir/anna/en_US-otto-medium.onnx" ]
verdict nothing_was_written $?
ends_with overwrite_takes_the_place 0 "$bin" export --checkpoint $base --format piper --output "$dir/anna/en_US-otto-medium.onnx" --source me --overwrite
head -1 "$dir/anna/MODEL_CARD" >"$dir/log"
log_has the_card_is_of_the_new_voice 'en_US-otto-medium'

ends_with an_odd_name_is_warned_of 0 "$bin" export --checkpoint $base --format piper --output "$dir/otto/otto2.onnx" --source me
log_has the_warning_has_a_name "NVDA's add-on does not accept a voice called otto2; Piper, sherpa-onnx and Home Assistant, which lists it as otto2, do"
ends_with another_language_is_refused 2 "$bin" export --checkpoint $base --format piper --output "$dir/otto/de_DE-otto-medium.onnx" --source me
log_has it_names_both 'de_DE-otto-medium, but its voice speaks en'
ends_with a_language_it_does_not_speak 2 "$bin" export --checkpoint $base --format piper --language de --output "$dir/otto/de_DE-otto-medium.onnx" --source me
log_has it_was_never_trained_on_it "never trained on the language .de."
ends_with no_vocoder_no_voice 3 "$bin" export --checkpoint $base --format piper --vocoder griffin_lim --output "$dir/otto/otto2.onnx" --source me
printf 'no graph' >"$dir/text.onnx"
ends_with info_of_no_graph 3 "$bin" info --checkpoint "$dir/text.onnx"
log_has it_is_no_graph 'not an ONNX file, or is damaged'
exit $failed
