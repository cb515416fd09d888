#!/usr/bin/env bash
# bench/digits and tools/digits_data.sh: the judge on its own sounds; then on a part of the recordings, with real takes in the place
# of made clips, right, shuffled, silent, missing.
set -u
out=${MYXTTS_OUT:-build}
digits=$out/bench/digits
. tests/support/shell.sh

if [ ! -x "$digits" ]; then
    echo "skip digits SKIPPED: $digits was not built"
    exit 0
fi
ends_with digits_self_check 0 "$digits" --self-check
ends_with digits_needs_data 2 "$digits"
ends_with digits_refuses_unknown_options 2 "$digits" --data "$dir" --frobnicate
ends_with digits_refuses_a_share_over_1 2 "$digits" --data "$dir" --baseline --require 90
ends_with digits_says_that_data_is_missing 3 "$digits" --data "$dir/nowhere" --baseline
ends_with digits_data_needs_two_folders 2 tools/digits_data.sh "$dir"
ends_with digits_data_says_that_recordings_are_missing 3 tools/digits_data.sh "$dir" "$dir/made"

fsdd=${MYXTTS_DATA:-../shared/data}/fsdd/wavs
if [ ! -d "$fsdd" ]; then
    echo "skip digits_on_recordings SKIPPED: there is no $fsdd"
    exit $failed
fi
mkdir -p "$dir/in/recordings" "$dir/right" "$dir/shuffled"
cp "$fsdd"/?_*_[0-3].wav "$dir/in/recordings"
ends_with digits_data_makes_a_folder 0 tools/digits_data.sh "$dir/in" "$dir/data"
ends_with digits_data_again_makes_the_same 0 tools/digits_data.sh "$dir/in" "$dir/data"
[ "$(sort "$dir/data/metadata.csv" | md5sum)" = "$(grep -E '^[0-9]_[a-z]*_[0-3]\|' "$fsdd/../metadata.csv" | sort | md5sum)" ]
verdict digits_data_names_text_and_speaker $?

# Take 9 is in none of the neighbours.
for f in "$fsdd"/?_*_9.wav; do
    name=$(basename "$f" _9.wav)
    cp "$f" "$dir/right/$name.wav"
    cp "$f" "$dir/shuffled/$(((${name%%_*} + 3) % 10))_${name#*_}.wav"
done
ends_with digits_hears_unseen_takes 0 "$digits" --data "$dir/data" --synth "$dir/right" --cap-seconds 2 --json
log_has digits_json_says_passed '"passed": true'
ends_with digits_fails_shuffled_names 1 "$digits" --data "$dir/data" --synth "$dir/shuffled"
log_has digits_names_the_wrong_ones '^  3_george +heard as 0, nearest is 0_george_'
ends_with digits_names_clips_at_the_cap 0 "$digits" --data "$dir/data" --synth "$dir/right" --cap-seconds 0.3
log_has digits_says_they_did_not_stop '7_theo .*did not stop'
head -c 44 "$dir/right/7_theo.wav" >"$dir/silent.wav"
size=$(stat -c %s "$dir/right/7_theo.wav")
head -c $((size - 44)) /dev/zero >>"$dir/silent.wav"
cp "$dir/silent.wav" "$dir/right/7_theo.wav"
ends_with digits_counts_silence_as_wrong 1 "$digits" --data "$dir/data" --synth "$dir/right" --require 1
log_has digits_names_the_silent_one '7_theo +silent'
rm "$dir/right/4_lucas.wav"
ends_with digits_misses_a_clip 3 "$digits" --data "$dir/data" --synth "$dir/right"
log_has digits_names_the_missing_clip '4_lucas.wav'
exit $failed
