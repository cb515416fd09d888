#!/usr/bin/env bash
# Every layout that a dataset folder may have gives the voice that metadata.csv gives, byte by byte; commands take the folder, or the
# text, as a plain argument; folders that are no dataset are told so.
set -u
bin=${MYXTTS_BIN:-build/myxtts}
. tests/support/shell.sh
if [ ! -x "$bin" ]; then
    echo "skip layouts SKIPPED: $bin was not built"
    exit 0
fi
bin=$(realpath "$bin")
clips=$PWD/tests/data/ljspeech

# ---- the same four clips, in every layout; in VCTK names begin with the speaker ----
cd "$dir" || exit 3
mkdir -p one/wavs many/wavs vctk-as-metadata/wavs pairs vctk/txt/anna vctk/wav48_silence_trimmed/anna libritts/anna/7 commonvoice/clips jsonl/wavs kaldi/sound
printf 'client_id\tpath\tsentence\n' >commonvoice/validated.tsv
while IFS='|' read -r id raw text; do
    wav=$clips/wavs/$id.wav
    echo "$id|$raw|$text" >>one/metadata.csv
    echo "$id|$raw|$text|anna" >>many/metadata.csv
    echo "$text" >pairs/"$id".txt
    echo "anna_$id|$raw|$text|anna" >>vctk-as-metadata/metadata.csv
    echo "$text" >vctk/txt/anna/anna_"$id".txt
    echo "$text" >libritts/anna/7/"$id".normalized.txt
    printf 'anna\t%s.wav\t%s\n' "$id" "$text" >>commonvoice/validated.tsv
    printf '{"audio_filepath": "wavs/%s.wav", "text": "%s", "duration": 1.0, "speaker": "anna"}\n' "$id" "$text" >>jsonl/manifest.jsonl
    echo "$id $text" >>kaldi/text
    echo "$id $PWD/kaldi/sound/$id.wav" >>kaldi/wav.scp
    echo "$id anna" >>kaldi/utt2spk
    for place in one/wavs many/wavs pairs libritts/anna/7 commonvoice/clips jsonl/wavs kaldi/sound; do ln -s "$wav" $place/; done
    ln -s "$wav" vctk-as-metadata/wavs/anna_"$id".wav
    ln -s "$wav" vctk/wav48_silence_trimmed/anna/anna_"$id"_mic1.wav
done <"$clips/metadata.csv"
cat >small.yaml <<'END'
model: {model_size: nano, text_encoder_dim: 32, text_encoder_layers: 1, audio_encoder_dim: 32, decoder_dim: 32, decoder_layers: 1, predictor_dim: 32}
data: {batch_size: 2, model_gpu: cpu, data_gpu: cpu}
training: {max_steps: 2, warmup_steps: 1, listen_clips: 0}
END
trained() { # folder: two steps, then the voice without the places it came from
    "$bin" train "$1" --config small.yaml --checkpoint-dir "run-$1" --val-split 0.25 >"$dir/log" 2>&1 &&
        "$bin" export --checkpoint "run-$1" --precision float32 --output "$1.safetensors" >>"$dir/log" 2>&1
}
for place in one many vctk-as-metadata; do
    trained $place
    verdict "trained_on_$place" $?
done
log_has the_layout_is_said 'layout ljspeech: metadata.csv with 4 columns'
same_voice() { # folder, layout, the metadata.csv of the same clips
    trained "$1" && grep -q "^layout $2: " "$dir/log" && cmp "$1.safetensors" "$3.safetensors" >>"$dir/log" 2>&1
    verdict "the_same_voice_from_$1" $?
}
same_voice pairs pairs one
same_voice vctk vctk vctk-as-metadata
same_voice libritts libritts many
same_voice commonvoice commonvoice many
same_voice jsonl jsonl many
same_voice kaldi kaldi many
! cmp -s one.safetensors vctk.safetensors
verdict other_ids_are_another_voice $?

# ---- plain arguments ----
cp pairs/LJ001-0002.txt pairs/take2.txt
cp "$clips/wavs/LJ001-0008.wav" pairs/take2.wav
ends_with info_of_a_folder 0 "$bin" info pairs --json
log_has clips_are_counted '"clips": 5,'
log_has texts_are_counted '"texts": 4,'
log_has repeated_texts_are_counted '"repeated_texts": 1,'
log_has the_layout_is_named '"layout": "pairs",'
: >pairs/take2.txt
ends_with an_empty_text_is_a_finding 1 "$bin" info pairs
log_has it_is_named_with_its_place 'pairs/take2\.txt:1 take2: empty_text'
ends_with prepare_of_a_folder 1 "$bin" prepare pairs
grep -q '^take2\.txt	1	take2	empty_text	$' pairs/myxtts-cache/rejected.tsv
verdict the_list_has_the_place_too $?
ends_with validate_of_a_folder 1 "$bin" validate pairs --config small.yaml
log_has it_looked_at_the_folder '5 lines|4 clips|clips +4'
ends_with a_folder_named_twice 2 "$bin" info pairs --data-path one
ends_with two_folders 2 "$bin" prepare pairs one
ends_with no_voice_here 2 "$bin" synth "Hello."
log_has the_newest_run_is_named 'newest run here is run-kaldi'
mv run-one checkpoints
ends_with a_plain_text_is_spoken 0 "$bin" synth "Hello there." --model-gpu cpu --iterations 2
[ "$(head -c 4 speech.wav)" = RIFF ]
verdict into_a_file_that_is_said $?
ends_with a_text_given_twice 2 "$bin" synth "Hello." --text "Hello."

# ---- no dataset ----
mkdir pictures
touch pictures/{1..9}.jpg
ends_with pictures_only 3 "$bin" train pictures
log_has what_is_there_is_said 'neither recordings nor texts, only 9 other files'
mkdir empty
(cd empty && seq 1 2000 | sed 's/$/.txt/' | xargs touch)
ends_with texts_only 3 "$bin" info empty
log_has the_texts_are_counted '2000 texts .* and no recording'
[ ! -e empty/myxtts-cache ]
verdict nothing_was_written $?
exit $failed
